package pipeline

import (
	"encoding/json"
	"math"
	"math/big"
	"sort"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Canonical gives one text for each typed value: equal values give equal texts however they were written (1e-4 and 0.0001), values
// of different types give different ones ("1" and 1, 1 and 1.0). A string stands bare unless it could be read as something else,
// begins like a list or map, holds a quote or a control character, or has white space at an end; then it is quoted as in Go. Lists
// and maps are written like JSON, the keys sorted.
//
// The text is hashed, so it depends on nothing that changes with a release, Unicode's tables of printable characters included.
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
			parts[i] = x.part()
		}
		return "[" + strings.Join(parts, ", ") + "]"
	default:
		parts := make([]string, len(v.Keys))
		for i, k := range v.Keys {
			parts[i] = quote(k.Name) + ": " + k.Value.part()
		}
		sort.Strings(parts)
		return "{" + strings.Join(parts, ", ") + "}"
	}
}

// part is Canonical within a list or map, where a bare string could hold the punctuation.
func (v *Value) part() string {
	if v != nil && v.Kind == String {
		return quote(v.Text)
	}
	return v.Canonical()
}

func canonicalString(s string) string {
	if s == "" || s[0] == ' ' || s[len(s)-1] == ' ' || s[0] == '[' || s[0] == '{' || resolveScalar(s) != String {
		return quote(s)
	}
	for i, r := range s {
		if r == '"' || mustEscape(s, i, r) {
			return quote(s)
		}
	}
	return s
}

// mustEscape reports characters that are no text: controls, the line breaks of Unicode, the byte order mark, broken UTF-8.
func mustEscape(s string, i int, r rune) bool {
	switch {
	case r < ' ', r >= 0x7f && r < 0xa0, r == 0x2028, r == 0x2029, r == 0xfeff:
		return true
	case r == utf8.RuneError:
		_, n := utf8.DecodeRuneInString(s[i:])
		return n == 1
	}
	return false
}

// quote writes a string that strconv.Unquote reads back. strconv.Quote would also escape what the running Go release does not know
// as printable yet, so that the text of one value could change with the compiler.
func quote(s string) string {
	b := []byte{'"'}
	for i, r := range s {
		switch {
		case r == '"' || r == '\\':
			b = append(b, '\\', byte(r))
		case r == '\n':
			b = append(b, `\n`...)
		case r == '\t':
			b = append(b, `\t`...)
		case r == '\r':
			b = append(b, `\r`...)
		case !mustEscape(s, i, r):
			b = utf8.AppendRune(b, r)
		case r == utf8.RuneError:
			b = append(b, '\\', 'x', hexDigits[s[i]>>4], hexDigits[s[i]&15])
		default:
			b = append(b, '\\', 'u', hexDigits[r>>12&15], hexDigits[r>>8&15], hexDigits[r>>4&15], hexDigits[r&15])
		}
	}
	return string(append(b, '"'))
}

const hexDigits = "0123456789abcdef"

// canonicalFloat gives the shortest decimal form that reads back to the same double, always unlike an int.
func canonicalFloat(text string) string {
	switch t := strings.TrimPrefix(strings.ToLower(text), "+"); t {
	case ".nan", ".inf", "-.inf":
		return t
	}
	f, err := strconv.ParseFloat(text, 64)
	if err != nil || math.IsInf(f, 0) {
		return strings.ToLower(text) // beyond a double: only its text names it
	}
	s := strconv.FormatFloat(f, 'g', -1, 64)
	if !strings.ContainsAny(s, ".e") {
		s += ".0"
	}
	return s
}

func parseInt(text string) (*big.Int, bool) {
	t := strings.TrimPrefix(text, "+")
	if len(t) < 19 {
		if i, err := strconv.ParseInt(t, 10, 64); err == nil {
			return big.NewInt(i), true
		}
	}
	switch {
	case strings.HasPrefix(t, "0x"):
		return new(big.Int).SetString(t[2:], 16)
	case strings.HasPrefix(t, "0o"):
		return new(big.Int).SetString(t[2:], 8)
	}
	return new(big.Int).SetString(t, 10)
}

// Go gives the value as encoding/json understands it: nil, bool, json.Number (so that neither the digits of a big integer nor the
// point of 1.0 are lost), string, []any, map[string]any. Infinities and NaN, which JSON lacks, are their text.
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
		if strings.HasSuffix(c, "inf") || c == ".nan" {
			return c
		}
		if n := strings.TrimPrefix(c, "+"); n[0] != '.' && !strings.HasSuffix(n, ".") && !strings.Contains(n, ".e") {
			return json.Number(n)
		}
		return c // beyond a double, and not as JSON writes it
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

// Flatten gives the leaves of a value, in its order: "with.columns.user_id.int[0]" for the prefix "with". An empty list or map is a
// leaf. A key that is no plain word stands in brackets and quotes, with["a.b"], as templates write it.
func (v *Value) Flatten(prefix string) []Leaf {
	var out []Leaf
	v.flatten(prefix, nil, &out)
	return out
}

func (v *Value) flatten(at string, reads []string, out *[]Leaf) {
	if len(v.Reads) > 0 {
		reads = append(reads[:len(reads):len(reads)], v.Reads...)
	}
	switch {
	case v.Kind == List && len(v.Items) > 0:
		for i, x := range v.Items {
			x.flatten(at+"["+strconv.Itoa(i)+"]", reads, out)
		}
	case v.Kind == Map && len(v.Keys) > 0:
		for _, k := range v.Keys {
			k.Value.flatten(under(at, k.Name), reads, out)
		}
	default:
		*out = append(*out, Leaf{Name: at, Value: v.Canonical(), From: joinReads(reads), Pos: v.Pos})
	}
}

// under is the dotted name of a key below a name.
func under(at, key string) string {
	switch {
	case key == "" || strings.ContainsAny(key, ".[]{}\"'\\ \t\n"):
		return at + "[" + quote(key) + "]"
	case at == "":
		return key
	}
	return at + "." + key
}

// joinReads gives each name once, in order.
func joinReads(reads []string) string {
	switch len(reads) {
	case 0:
		return ""
	case 1:
		return reads[0]
	}
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
