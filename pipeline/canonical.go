package pipeline

import (
	"encoding/json"
	"math"
	"math/big"
	"sort"
	"strconv"
	"strings"
	"unicode"
)

// Canonical gives one text for each typed value: equal values give equal texts however they were written (1e-4 and 0.0001), values
// of different types give different ones ("1" and 1). Strings stand bare unless they could be read as something else.
func (v *Value) Canonical() string {
	if v == nil {
		return "null"
	}
	switch v.Kind {
	case Null:
		return "null"
	case Bool:
		return strings.ToLower(v.Text)
	case Int:
		if i, ok := parseInt(v.Text); ok {
			return i.String()
		}
		return v.Text
	case Float:
		return canonicalFloat(v.Text)
	case String:
		return canonicalString(v.Text)
	case List:
		parts := make([]string, len(v.Items))
		for i, x := range v.Items {
			parts[i] = x.quoted()
		}
		return "[" + strings.Join(parts, ", ") + "]"
	default:
		parts := make([]string, len(v.Keys))
		for i, k := range v.Keys {
			parts[i] = strconv.Quote(k.Name) + ": " + k.Value.quoted()
		}
		sort.Strings(parts)
		return "{" + strings.Join(parts, ", ") + "}"
	}
}

// quoted is Canonical for a part of a list or map, where a bare string could hold the punctuation.
func (v *Value) quoted() string {
	if v != nil && v.Kind == String {
		return strconv.Quote(v.Text)
	}
	return v.Canonical()
}

func canonicalString(s string) string {
	if s == "" || s != strings.TrimSpace(s) || strings.ContainsAny(s, "\"\\\n\r\t") || s[0] == '[' || s[0] == '{' {
		return strconv.Quote(s)
	}
	for _, r := range s {
		if unicode.IsControl(r) || r == unicode.ReplacementChar {
			return strconv.Quote(s)
		}
	}
	if k, _ := resolveScalar(s); k != String {
		return strconv.Quote(s)
	}
	return s
}

func canonicalFloat(text string) string {
	f, err := strconv.ParseFloat(strings.Trim(strings.ToLower(text), "."), 64)
	switch t := strings.ToLower(text); {
	case t == ".nan":
		return ".nan"
	case t == ".inf" || t == "+.inf":
		return ".inf"
	case t == "-.inf":
		return "-.inf"
	}
	if g, err2 := strconv.ParseFloat(text, 64); err2 == nil {
		f, err = g, nil
	}
	if err != nil || math.IsInf(f, 0) {
		return text // beyond a double: only its text names it
	}
	s := strconv.FormatFloat(f, 'g', -1, 64)
	if !strings.ContainsAny(s, ".e") {
		s += ".0"
	}
	return s
}

func parseInt(text string) (*big.Int, bool) {
	t := strings.TrimPrefix(text, "+")
	switch {
	case strings.HasPrefix(t, "0x"):
		return new(big.Int).SetString(t[2:], 16)
	case strings.HasPrefix(t, "0o"):
		return new(big.Int).SetString(t[2:], 8)
	}
	return new(big.Int).SetString(t, 10)
}

// Go gives the value as encoding/json understands it: nil, bool, json.Number, string, []any, map[string]any. Infinities and NaN,
// which JSON lacks, are their text.
func (v *Value) Go() any {
	if v == nil {
		return nil
	}
	switch v.Kind {
	case Null:
		return nil
	case Bool:
		return strings.EqualFold(v.Text, "true")
	case Int:
		return json.Number(v.Canonical())
	case Float:
		c := v.Canonical()
		if strings.HasSuffix(c, "inf") || strings.HasSuffix(c, "nan") {
			return c
		}
		return json.Number(c)
	case String:
		return v.Text
	case List:
		out := make([]any, len(v.Items))
		for i, x := range v.Items {
			out[i] = x.Go()
		}
		return out
	default:
		out := make(map[string]any, len(v.Keys))
		for _, k := range v.Keys {
			out[k.Name] = k.Value.Go()
		}
		return out
	}
}

// Flatten gives the leaves of a value: "with.columns.user_id.int[0]". An empty list or map is a leaf. A key that holds a dot, a
// bracket or nothing is quoted.
func (v *Value) Flatten(prefix string) []Leaf {
	var out []Leaf
	v.flatten(prefix, nil, &out)
	return out
}

func (v *Value) flatten(at string, reads []string, out *[]Leaf) {
	reads = append(reads[:len(reads):len(reads)], v.Reads...)
	switch {
	case v.Kind == List && len(v.Items) > 0:
		for i, x := range v.Items {
			x.flatten(at+"["+strconv.Itoa(i)+"]", reads, out)
		}
	case v.Kind == Map && len(v.Keys) > 0:
		for _, k := range v.Keys {
			name := k.Name
			if name == "" || strings.ContainsAny(name, ".[]\" \n") {
				name = strconv.Quote(name)
			}
			k.Value.flatten(at+"."+name, reads, out)
		}
	default:
		*out = append(*out, Leaf{Name: at, Value: v.Canonical(), From: joinReads(reads), Pos: v.Pos})
	}
}

func joinReads(reads []string) string {
	seen := map[string]bool{}
	var out []string
	for _, r := range reads {
		if !seen[r] {
			seen[r] = true
			out = append(out, r)
		}
	}
	return strings.Join(out, ", ")
}
