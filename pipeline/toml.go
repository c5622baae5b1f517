package pipeline

import (
	"errors"
	"fmt"
	"strings"

	"github.com/BurntSushi/toml"

	"pipe/internal/diag"
)

func (l *loader) parseTOML(name string, data []byte) *Value {
	src := newSource(name, data, &l.errs)
	l.sources[name] = src
	var m map[string]any
	md, err := toml.Decode(src.text, &m)
	if err != nil {
		pos := diag.Pos{File: name, Line: 1, Col: 1}
		msg := err.Error()
		var pe toml.ParseError
		if errors.As(err, &pe) {
			pos.Line, pos.Col = pe.Position.Line, max(1, pe.Position.Col)
			msg = pe.Message
		}
		src.errorf(pos, 0, "this is no TOML: %s", msg)
		return nil
	}
	return fromTOML(m, md.Keys(), "", diag.Pos{File: name})
}

// fromTOML keeps the order of the file where the library tells it. It tells no places.
func fromTOML(x any, order []toml.Key, at string, pos diag.Pos) *Value {
	switch x := x.(type) {
	case map[string]any:
		v := &Value{Kind: Map, Pos: pos}
		seen := map[string]bool{}
		add := func(k string) {
			if c, ok := x[k]; ok && !seen[k] {
				seen[k] = true
				v.Keys = append(v.Keys, Key{Name: k, Pos: pos, Value: fromTOML(c, order, at+k+"\x00", pos)})
			}
		}
		for _, k := range order {
			if p := strings.Join(k, "\x00"); strings.HasPrefix(p, at) {
				add(strings.SplitN(p[len(at):], "\x00", 2)[0])
			}
		}
		for _, k := range sortedKeys(x) {
			add(k)
		}
		return v
	case []any:
		v := &Value{Kind: List, Pos: pos}
		for _, c := range x {
			v.Items = append(v.Items, fromTOML(c, nil, "", pos))
		}
		return v
	case []map[string]any:
		v := &Value{Kind: List, Pos: pos}
		for _, c := range x {
			v.Items = append(v.Items, fromTOML(c, nil, "", pos))
		}
		return v
	case bool:
		return &Value{Kind: Bool, Text: fmt.Sprint(x), Pos: pos}
	case int64:
		return &Value{Kind: Int, Text: fmt.Sprint(x), Pos: pos}
	case float64:
		// The library keeps no source text: a template inserts the shortest form.
		v := &Value{Kind: Float, Text: strings.NewReplacer("+Inf", ".inf", "-Inf", "-.inf", "NaN", ".nan").Replace(fmt.Sprint(x)), Pos: pos}
		v.Text = canonicalFloat(v.Text)
		return v
	case string:
		return &Value{Kind: String, Text: x, Pos: pos}
	}
	// Dates and times: text, as in YAML. Only the library's encoder knows which of them have no zone or no time.
	text, err := toml.Marshal(map[string]any{"x": x})
	if err != nil {
		return &Value{Kind: String, Text: fmt.Sprint(x), Pos: pos}
	}
	return &Value{Kind: String, Text: strings.TrimSpace(strings.TrimPrefix(string(text), "x = ")), Pos: pos}
}
