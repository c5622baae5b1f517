package pipeline

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"pipe/internal/diag"
)

// expander replaces ${} in the values of one file.
type expander struct {
	*source
	scope *scope
	warn  *diag.List
}

// expand gives the value with the templates of its strings and keys replaced; the value itself is not changed.
func (x *expander) expand(v *Value) *Value {
	switch v.Kind {
	case String:
		if strings.Contains(v.Text, "${") {
			return x.text(v)
		}
	case List:
		var items []*Value
		for i, item := range v.Items {
			got := x.expand(item)
			if got != item && items == nil {
				items = append(make([]*Value, 0, len(v.Items)), v.Items[:i]...)
			}
			if items != nil {
				items = append(items, got)
			}
		}
		if items != nil {
			c := *v
			c.Items = items
			return &c
		}
	case Map:
		return x.expandMap(v)
	}
	return v
}

func (x *expander) expandMap(v *Value) *Value {
	var keys []Key
	for i, k := range v.Keys {
		got := Key{Name: k.Name, Pos: k.Pos, Value: x.expand(k.Value)}
		if strings.Contains(k.Name, "${") {
			got.Name = x.key(k)
		}
		if keys == nil && (got.Value != k.Value || got.Name != k.Name) {
			keys = append(make([]Key, 0, len(v.Keys)), v.Keys[:i]...)
		}
		if keys != nil {
			keys = append(keys, got)
		}
		if got.Name == k.Name {
			continue
		}
		for _, other := range keys[:i] {
			if other.Name == got.Name {
				x.errorf(k.Pos, 0, "key %q stands twice, first in line %d", got.Name, other.Pos.Line).With("remove one of them")
			}
		}
	}
	if keys == nil {
		return v
	}
	c := *v
	c.Keys = keys
	return &c
}

// key expands the name of a key, which must become text.
func (x *expander) key(k Key) string {
	v := &Value{Kind: String, Text: k.Name, Pos: k.Pos}
	got := x.text(v)
	switch {
	case got.bad:
		return k.Name
	case got.Kind == List || got.Kind == Map || got.Kind == Null:
		x.errorf(x.inside(v, 0), 0, "%s is %s and cannot be a key", k.Name, describe(got)).With("name one of its values")
		return k.Name
	case got.Kind == Bool:
		return strings.ToLower(got.Text)
	}
	return got.Text
}

// text expands one string. A string that is one template keeps the type of what it names. All mistakes of the string are told.
func (x *expander) text(v *Value) *Value {
	var b strings.Builder
	out := &Value{Kind: String, Pos: v.Pos}
	rest := v.Text
	for n := 0; ; n++ { // the n-th "${" of the string
		i := strings.Index(rest, "${")
		if i < 0 {
			break
		}
		expr, tail, closed := cutTemplate(rest[i+2:])
		switch {
		case i > 0 && rest[i-1] == '\\':
			b.WriteString(rest[:i-1] + "${")
			rest = rest[i+2:]
			continue
		case !closed:
			e := diag.Errorf(x.inside(v, n), "${ is not closed, so it is left as it is")
			e.Line, e.Width = x.line(e.Pos.Line), 2
			*x.warn = append(*x.warn, e.With(`close it with }, or write \${ for the shell`))
			b.WriteString(rest[:i+2])
			rest = rest[i+2:]
			continue
		}
		got, read := x.named(v, n, expr)
		switch {
		case got == nil:
			out.bad = true
		case i == 0 && tail == "" && b.Len() == 0 && n == 0:
			c := readFrom(got, read)
			c.Pos = v.Pos
			return c
		default:
			out.bad = !x.insert(&b, rest[:i], got, func() (diag.Pos, string) { return x.inside(v, n), expr }) || out.bad
			out.Reads = append(out.Reads, read+" in "+got.Pos.File)
		}
		rest = tail
	}
	b.WriteString(rest)
	out.Text = b.String()
	return out
}

// named looks up what the n-th template of a string names, and reports what is wrong with it.
func (x *expander) named(v *Value, n int, expr string) (got *Value, read string) {
	got, read, err := x.scope.look(expr)
	if err == nil {
		return got, read
	}
	if !x.scope.broken || err.syntax {
		pos := x.inside(v, n)
		pos.Col += 2 + utf8.RuneCountInString(expr[:min(err.at, len(expr))])
		x.errorf(pos, max(1, err.width), "%s", err.msg).With("%s", err.hint)
	}
	return nil, ""
}

// insert writes a value into text after what stands before it.
func (x *expander) insert(b *strings.Builder, before string, got *Value, at func() (diag.Pos, string)) bool {
	b.WriteString(before)
	switch got.Kind {
	case List, Map:
		pos, expr := at()
		name := strings.TrimSpace(expr)
		x.errorf(pos, diag.Columns(expr)+3, "%s is %s and cannot stand inside text", name, describe(got)).
			With("name one of its values, or let ${%s} stand alone", name)
		return false
	case Null:
		pos, expr := at()
		x.errorf(pos, diag.Columns(expr)+3, "%s is null and cannot stand inside text", strings.TrimSpace(expr)).
			With("give it a value in %s", got.Pos.File)
		return false
	case Bool:
		b.WriteString(strings.ToLower(got.Text))
	default:
		b.WriteString(got.Text)
	}
	return true
}

// cutTemplate splits what follows "${" at the brace that closes it, which must stand on the same line.
func cutTemplate(s string) (expr, tail string, ok bool) {
	end := strings.IndexAny(s, "}\n")
	if end < 0 || s[end] == '\n' {
		return "", "", false
	}
	return s[:end], s[end+1:], true
}

// readFrom gives a copy of a value that says, of each leaf, which param it is.
func readFrom(v *Value, name string) *Value {
	c := *v
	switch {
	case v.Kind == List && len(v.Items) > 0:
		c.Items = make([]*Value, len(v.Items))
		for i, item := range v.Items {
			c.Items[i] = readFrom(item, fmt.Sprintf("%s[%d]", name, i))
		}
	case v.Kind == Map && len(v.Keys) > 0:
		c.Keys = make([]Key, len(v.Keys))
		for i, k := range v.Keys {
			c.Keys[i] = Key{Name: k.Name, Pos: k.Pos, Value: readFrom(k.Value, under(name, k.Name))}
		}
	default:
		c.Reads = []string{name + " in " + v.Pos.File}
	}
	return &c
}

// inside finds the n-th "${" of a string in the file's text: whatever the style of the scalar, it holds them in the same order.
func (x *expander) inside(v *Value, n int) diag.Pos {
	for l := v.Pos.Line; l <= len(x.lines()); l++ {
		line := x.line(l)
		at := 0
		if l == v.Pos.Line {
			at = len(line) - len(after(line, v.Pos.Col))
		}
		for {
			i := strings.Index(line[at:], "${")
			if i < 0 {
				break
			}
			if n == 0 {
				return diag.Pos{File: x.name, Line: l, Col: utf8.RuneCountInString(line[:at+i]) + 1}
			}
			n--
			at += i + 2
		}
	}
	return v.Pos
}
