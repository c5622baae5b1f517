package pipeline

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"strings"
	"unicode/utf8"

	"pipe/internal/diag"
)

// paramFile reads a file of params once. asked is what names it; nil: it may be absent. A file that is not there gives nil; it is
// reported later, when it is known whether a stage makes it.
func (l *loader) paramFile(name string, asked *Value) *Value {
	if v, ok := l.params[name]; ok {
		return v
	}
	if !fs.ValidPath(name) {
		l.errorAt(asked, "%s lies outside the project, so that git would not keep it", name).With("copy it into the project")
		return nil
	}
	data, err := fs.ReadFile(l.fsys, name)
	if errors.Is(err, fs.ErrNotExist) {
		if asked != nil {
			l.absent = append(l.absent, absentFile{name, asked})
		}
		return nil
	}
	l.params[name] = nil
	if err != nil {
		e := diag.Errorf(diag.Pos{File: name}, "cannot be read: %s", reason(err))
		e.Err = err
		l.errs = append(l.errs, e)
		l.scope.broken = true
		return nil
	}
	l.graph.Files = append(l.graph.Files, name)
	var v *Value
	before := len(l.errs)
	switch path.Ext(name) {
	case ".json":
		v = l.parseJSON(name, data)
	case ".toml":
		v = l.parseTOML(name, data)
	case ".py":
		l.errs = append(l.errs, diag.Errorf(diag.Pos{File: name}, "params in Python are not supported yet").With("write them as YAML, JSON or TOML"))
	default:
		var src *source
		v, src = parseYAML(name, data, &l.errs)
		l.sources[name] = src
		if v == nil && len(l.errs) == before {
			v = &Value{Kind: Map, Pos: diag.Pos{File: name, Line: 1, Col: 1}}
		}
	}
	if v == nil {
		l.scope.broken = true
	}
	l.params[name] = v
	return v
}

// absentFile is a params file that is not there, and what names it.
type absentFile struct {
	name  string
	asked *Value
}

// stageParams resolves the params that a stage tracks.
func (l *loader) stageParams(s *Stage, v *Value) {
	seen := map[[2]string]bool{}
	add := func(file string, leaves []namedValue, pos diag.Pos) {
		for _, leaf := range leaves {
			if k := [2]string{file, leaf.name}; !seen[k] {
				seen[k] = true
				s.Params = append(s.Params, Param{File: file, Name: leaf.name, Value: leaf.value, Pos: pos})
			}
		}
	}
	file := path.Join(s.Dir, "params.yaml")
	for _, x := range l.list(v, "params", "[lr, {other.yaml: [seed]}]") {
		if x.Kind != Map {
			add(file, l.param(file, l.paramFile(file, x), x), x.Pos)
			continue
		}
		for _, k := range x.Keys {
			file := path.Join(s.Dir, k.Name)
			root := l.paramFile(file, &Value{Kind: String, Text: k.Name, Pos: k.Pos})
			switch {
			case k.Value.Kind != Null && k.Value.Kind != List:
				l.errorAt(k.Value, "params of %s: expected a list of names, not %s", k.Name, describe(k.Value)).
					With("%s: [%s], or %s: alone for the whole file", k.Name, k.Value.Text, k.Name)
			case root == nil:
			case root.Kind != Map:
				l.sourceOf(k.Pos).errorf(k.Pos, 0, "%s holds %s, expected a map of params", file, describe(root))
			case len(k.Value.Items) == 0:
				add(file, tracked("", root), k.Pos)
			default:
				for _, n := range k.Value.Items {
					add(file, l.param(file, root, n), n.Pos)
				}
			}
		}
	}
}

// Path gives the steps of a param's name: ["a", "b"] for a.b, ["l", "0"] for l[0], ["a.b"] for ["a.b"].
func (p Param) Path() []string {
	steps, _ := splitPath(p.Name)
	out := make([]string, len(steps))
	for i, s := range steps {
		out[i] = s.name
	}
	return out
}

// param resolves one name in a file.
func (l *loader) param(file string, root, x *Value) []namedValue {
	name, ok := l.scalar(x, "params")
	if !ok || root == nil {
		return nil
	}
	steps, bad := splitPath(name)
	if bad >= 0 {
		l.errorAt(x, "cannot read %q as the name of a param", name).With("write it as a.b or a[0]")
		return nil
	}
	got, at := root, ""
	for _, st := range steps {
		next, canon := got.step(st.name)
		if next == nil {
			e := l.errorAt(x, "param %s is not in %s", name, file)
			if c := diag.Closest(name, names(root, "")); c != "" {
				e.With("did you mean %s?", c)
			} else {
				e.With("add it to %s", file)
			}
			return nil
		}
		if at != "" && canon[0] != '[' {
			at += "."
		}
		got, at = next, at+canon
	}
	return tracked(at, got)
}

type namedValue struct {
	name  string
	value *Value
}

// tracked gives what is compared of a param: the leaves of a map each under its name, anything else as a whole.
func tracked(name string, v *Value) []namedValue {
	if v.Kind != Map || len(v.Keys) == 0 {
		return []namedValue{{name, v}}
	}
	var out []namedValue
	for _, k := range v.Keys {
		out = append(out, tracked(under(name, k.Name), k.Value)...)
	}
	return out
}

// names gives all dotted names of a map, for suggestions.
func names(v *Value, prefix string) []string {
	var out []string
	for _, k := range v.Keys {
		n := under(prefix, k.Name)
		out = append(append(out, n), names(k.Value, n)...)
	}
	return out
}

// jsonReader makes Values of a JSON text. It reads by itself because encoding/json tells neither places nor keys that stand twice,
// and YAML, of which JSON is almost a part, reads some escapes and numbers otherwise.
type jsonReader struct {
	*source
	dec  *json.Decoder
	text string
	at   int // how far line and col have been counted
	line int
	col  int
}

func (l *loader) parseJSON(name string, data []byte) *Value {
	src := newSource(name, data, &l.errs)
	text := src.text
	l.sources[name] = src
	r := &jsonReader{source: src, dec: json.NewDecoder(strings.NewReader(text)), text: text, line: 1, col: 1}
	r.dec.UseNumber()
	v, err := r.value(0)
	pos := r.pos()
	if err == nil {
		if _, err = r.dec.Token(); errors.Is(err, io.EOF) {
			return v
		}
	}
	msg := "unexpected text after the end"
	var syn *json.SyntaxError
	switch {
	case errors.As(err, &syn) && !strings.Contains(syn.Error(), "end of JSON"):
		at := max(int(syn.Offset)-1, r.at)
		for at < len(text) && strings.IndexByte(" \t\n", text[at]) >= 0 {
			at++
		}
		pos = r.posAt(at)
		c, _ := utf8.DecodeRuneInString(text[min(at, len(text)):])
		msg = fmt.Sprintf("unexpected %q", c)
	case err != nil && strings.Contains(err.Error(), "EOF"), syn != nil:
		pos, msg = r.posAt(len(text)), "the file ends inside of a value"
	case err != nil:
		msg = err.Error()
	}
	src.errorf(pos, 1, "this is no JSON: %s", msg)
	return nil
}

// pos is the place of the token that comes next.
func (r *jsonReader) pos() diag.Pos {
	at := int(r.dec.InputOffset())
	for at < len(r.text) && strings.IndexByte(" \t\n,:", r.text[at]) >= 0 {
		at++
	}
	return r.posAt(at)
}

func (r *jsonReader) posAt(at int) diag.Pos {
	for _, c := range r.text[min(r.at, len(r.text)):min(at, len(r.text))] {
		if r.col++; c == '\n' {
			r.line, r.col = r.line+1, 1
		}
	}
	r.at = max(r.at, at)
	return diag.Pos{File: r.name, Line: r.line, Col: r.col}
}

func (r *jsonReader) value(depth int) (*Value, error) {
	v := &Value{Pos: r.pos()}
	tok, err := r.dec.Token()
	if err != nil {
		return nil, err
	}
	switch tok := tok.(type) {
	case bool:
		v.Kind, v.Text = Bool, fmt.Sprint(tok)
	case json.Number:
		v.Kind, v.Text = resolveScalar(tok.String()), tok.String()
	case string:
		v.Kind, v.Text = String, tok
	case json.Delim:
		if depth > 1000 {
			return nil, errors.New("values nest deeper than 1000")
		}
		if tok == '[' {
			v.Kind = List
			for r.dec.More() {
				item, err := r.value(depth + 1)
				if err != nil {
					return nil, err
				}
				v.Items = append(v.Items, item)
			}
		} else if err := r.object(v, depth); err != nil {
			return nil, err
		}
		if _, err := r.dec.Token(); err != nil {
			return nil, err
		}
	default:
		v.Text = "null"
	}
	return v, nil
}

func (r *jsonReader) object(v *Value, depth int) error {
	v.Kind = Map
	first := map[string]int{}
	for r.dec.More() {
		pos := r.pos()
		tok, err := r.dec.Token()
		if err != nil {
			return err
		}
		name, _ := tok.(string) // the decoder allows nothing else
		item, err := r.value(depth + 1)
		if err != nil {
			return err
		}
		if line, twice := first[name]; twice {
			r.errorf(pos, 0, "key %q stands twice, first in line %d", name, line).With("remove one of them")
			continue
		}
		first[name] = pos.Line
		v.Keys = append(v.Keys, Key{Name: name, Pos: pos, Value: item})
	}
	return nil
}
