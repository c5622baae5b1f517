package pipeline

import (
	"fmt"
	"sort"
	"strconv"
	"strings"

	"pipe/internal/diag"
)

// scope is what templates read: params.yaml, then vars, merged deeply. Each value knows its file.
type scope struct {
	root *Value
}

// expander replaces ${} in the values of one file.
type expander struct {
	*source
	scope *scope
	warn  *diag.List
}

// expand gives the value with its templates replaced; the value itself is not changed. Keys of maps are not templated.
func (x *expander) expand(v *Value) *Value {
	switch v.Kind {
	case String:
		if !strings.Contains(v.Text, "${") {
			return v
		}
		return x.text(v)
	case List:
		c := *v
		c.Items = make([]*Value, len(v.Items))
		for i, item := range v.Items {
			c.Items[i] = x.expand(item)
		}
		return &c
	case Map:
		c := *v
		c.Keys = make([]Key, len(v.Keys))
		for i, k := range v.Keys {
			c.Keys[i] = Key{Name: k.Name, Pos: k.Pos, Value: x.expand(k.Value)}
		}
		return &c
	}
	return v
}

// text expands one string. A string that is one template keeps the type of what it names.
func (x *expander) text(v *Value) *Value {
	var b strings.Builder
	var reads []string
	rest, n := v.Text, 0
	for {
		i := strings.Index(rest, "${")
		if i < 0 {
			b.WriteString(rest)
			break
		}
		if i > 0 && rest[i-1] == '\\' {
			b.WriteString(rest[:i-1] + "${")
			rest, n = rest[i+2:], n+1
			continue
		}
		end := strings.IndexAny(rest[i:], "}\n")
		if end < 0 || rest[i+end] == '\n' {
			e := diag.Errorf(x.inside(v, n), "${ is not closed, so it is left as it is")
			e.Line, e.Width = x.line(e.Pos.Line), 2
			*x.warn = append(*x.warn, e.With(`close it with }, or write \${ for the shell`))
			b.WriteString(rest[:i+2])
			rest, n = rest[i+2:], n+1
			continue
		}
		expr := rest[i+2 : i+end]
		got, read, err := x.scope.look(expr)
		if err != nil {
			pos := x.inside(v, n)
			pos.Col += 2 + err.at
			x.errorf(pos, max(1, err.width), "%s", err.msg).With("%s", err.hint)
			return &Value{Kind: String, Text: v.Text, Pos: v.Pos}
		}
		reads = append(reads, read)
		if i == 0 && i+end+1 == len(rest) && b.Len() == 0 {
			c := *got
			c.Pos, c.Reads = v.Pos, append(append([]string(nil), got.Reads...), reads...)
			return &c
		}
		switch got.Kind {
		case List, Map:
			x.errorf(x.inside(v, n), len(expr)+3, "%s is %s and cannot stand inside text", expr, describe(got)).With("name one of its values, or let ${%s} stand alone", strings.TrimSpace(expr))
			return &Value{Kind: String, Text: v.Text, Pos: v.Pos}
		case Null:
			x.errorf(x.inside(v, n), len(expr)+3, "%s has no value and cannot stand inside text", expr).With("give it a value in its file")
			return &Value{Kind: String, Text: v.Text, Pos: v.Pos}
		case Bool:
			b.WriteString(rest[:i] + strings.ToLower(got.Text))
		default:
			b.WriteString(rest[:i] + got.Text)
		}
		rest, n = rest[i+end+1:], n+1
	}
	return &Value{Kind: String, Text: b.String(), Pos: v.Pos, Reads: reads}
}

// inside finds the n-th "${" of a string in the file's text: whatever the style of the scalar, it holds them in the same order.
func (x *expander) inside(v *Value, n int) diag.Pos {
	col := v.Pos.Col - 1
	for l := v.Pos.Line; l <= len(x.lines); l++ {
		line := x.line(l)
		for at := min(max(col, 0), len(line)); ; {
			i := strings.Index(line[at:], "${")
			if i < 0 {
				break
			}
			if n == 0 {
				return diag.Pos{File: x.name, Line: l, Col: at + i + 1}
			}
			n--
			at += i + 2
		}
		col = 0
	}
	return v.Pos
}

type lookError struct {
	at, width int // within the expression
	msg, hint string
}

// look resolves a.b, a[0], a.0, a[-1]; spaces around it do not count. read is what is told of it: "a.b in params.yaml".
func (s *scope) look(expr string) (v *Value, read string, err *lookError) {
	lead := len(expr) - len(strings.TrimLeft(expr, " "))
	name := strings.TrimSpace(expr)
	if name == "" {
		return nil, "", &lookError{0, 1, "${} names nothing", "write the name of a param, as in ${a.b}"}
	}
	if strings.HasPrefix(name, "env:") {
		return nil, "", &lookError{lead, len(name), "${" + name + "} stands only in sinks", "use env: of the stage, which counts, or a param"}
	}
	steps, bad := splitPath(name)
	if bad >= 0 {
		return nil, "", &lookError{lead + bad, 1, fmt.Sprintf("cannot read %q as the name of a param", name), "write it as a.b, a[0] or a.b[0].c"}
	}
	v = s.root
	var path strings.Builder
	for _, st := range steps {
		next, words := step(v, st.name)
		if next == nil {
			msg := fmt.Sprintf("no param is called %q", name)
			if path.Len() > 0 {
				msg = fmt.Sprintf("%s has no %q", path.String(), st.name)
			}
			hint := "add it to params.yaml"
			if c := diag.Closest(st.name, words); c != "" {
				hint = fmt.Sprintf("did you mean %s?", strings.TrimPrefix(path.String()+"."+c, "."))
			}
			return nil, "", &lookError{lead + st.at, len(st.name), msg, hint}
		}
		if path.Len() > 0 {
			path.WriteByte('.')
		}
		path.WriteString(st.name)
		v = next
	}
	return v, path.String() + " in " + v.Pos.File, nil
}

type pathStep struct {
	name string
	at   int
}

// splitPath cuts a name into its steps; bad is the offset of what does not fit, or -1.
func splitPath(s string) (steps []pathStep, bad int) {
	at := 0
	for at <= len(s) {
		end := at
		for end < len(s) && s[end] != '.' && s[end] != '[' {
			end++
		}
		if end == at && (len(steps) == 0 || end == len(s) || s[end] == '.') {
			return nil, min(at, max(0, len(s)-1))
		}
		if end > at {
			steps = append(steps, pathStep{s[at:end], at})
		}
		for end < len(s) && s[end] == '[' {
			c := strings.IndexByte(s[end:], ']')
			if c < 2 {
				return nil, end
			}
			steps = append(steps, pathStep{s[end+1 : end+c], end + 1})
			end += c + 1
		}
		if end == len(s) {
			return steps, -1
		}
		if s[end] != '.' {
			return nil, end
		}
		at = end + 1
	}
	return steps, -1
}

// step goes down by one name; words are what would have been possible.
func step(v *Value, name string) (next *Value, words []string) {
	if v == nil {
		return nil, nil
	}
	switch v.Kind {
	case Map:
		for _, k := range v.Keys {
			words = append(words, k.Name)
		}
		return v.Get(name), words
	case List:
		i, err := strconv.Atoi(name)
		if err != nil {
			return nil, nil
		}
		if i < 0 {
			i += len(v.Items)
		}
		if i >= 0 && i < len(v.Items) {
			return v.Items[i], nil
		}
	}
	return nil, words
}

// merge puts the keys of a map into the scope; a value that is there already may only be a map on both sides.
func (s *scope) merge(src *source, v *Value) {
	if s.root == nil {
		s.root = &Value{Kind: Map}
	}
	s.root = deepMerge(src, "", s.root, v)
}

func deepMerge(src *source, path string, a, b *Value) *Value {
	out := &Value{Kind: Map, Pos: a.Pos, Keys: append([]Key(nil), a.Keys...)}
	at := map[string]int{}
	for i, k := range out.Keys {
		at[k.Name] = i
	}
	for _, k := range b.Keys {
		i, ok := at[k.Name]
		if !ok {
			at[k.Name] = len(out.Keys)
			out.Keys = append(out.Keys, k)
			continue
		}
		had := out.Keys[i]
		name := strings.TrimPrefix(path+"."+k.Name, ".")
		if had.Value.Kind == Map && k.Value.Kind == Map {
			out.Keys[i].Value = deepMerge(src, name, had.Value, k.Value)
			continue
		}
		if had.Value.Pos == k.Value.Pos {
			continue // the same file twice
		}
		src.errorf(k.Pos, len(k.Name), "%s is defined in %s already", name, had.Pos).With("remove one of them, or give it another name")
	}
	return out
}

// names gives all dotted names of leaves, sorted, for suggestions.
func names(v *Value, prefix string) []string {
	var out []string
	for _, k := range v.Keys {
		n := strings.TrimPrefix(prefix+"."+k.Name, ".")
		out = append(out, n)
		if k.Value.Kind == Map {
			out = append(out, names(k.Value, n)...)
		}
	}
	sort.Strings(out)
	return out
}
