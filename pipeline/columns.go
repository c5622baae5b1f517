package pipeline

import (
	"errors"
	"strings"

	"pipe/pipeline/schema"
)

// badType reports a text that package schema does not understand.
func (l *loader) badType(v *Value, what string, err error) {
	var e *schema.Error
	if !errors.As(err, &e) {
		e = &schema.Error{Msg: err.Error()}
	}
	hint := ""
	line := l.sourceOf(v.Pos).line(v.Pos.Line)
	switch before := line[:len(line)-len(after(line, v.Pos.Col))]; {
	case e.Open && open(v.Text) && strings.ContainsAny(before, "[{"):
		hint = "quote it: between brackets YAML ends a value at its first comma"
	case e.Open && open(v.Text):
		hint = "close its bracket"
	case e.Hint != "":
		hint = "write " + e.Hint
	}
	if err := l.errorAt(v, "%s: %s", what, e.Msg); hint != "" {
		err.With("%s", hint)
	}
}

// open reports whether a text ends inside ( or <.
func open(text string) bool {
	return strings.Count(text, "(") > strings.Count(text, ")") || strings.Count(text, "<") > strings.Count(text, ">")
}

// rejoinItems puts together what YAML cut at a comma: [bucket(16, id)] is a list of "bucket(16" and "id)" to it.
func rejoinItems(items []*Value) []*Value {
	var out []*Value
	for _, x := range items {
		if n := len(out) - 1; n >= 0 && out[n].Kind == String && open(out[n].Text) && x.Kind != List && x.Kind != Map {
			joined := *out[n]
			joined.Text += ", " + x.Text
			joined.Reads = append(append([]string(nil), joined.Reads...), x.Reads...)
			out[n] = &joined
			continue
		}
		out = append(out, x)
	}
	return out
}

// rejoinKeys does the same for {n: decimal(10,2)}, which is "decimal(10" under n and nothing under "2)".
func rejoinKeys(keys []Key) []Key {
	var out []Key
	for _, k := range keys {
		if n := len(out) - 1; n >= 0 && out[n].Value.Kind == String && open(out[n].Value.Text) && k.Value.Kind == Null {
			joined := *out[n].Value
			joined.Text += ", " + k.Name
			out[n].Value = &joined
			continue
		}
		out = append(out, k)
	}
	return out
}

func (l *loader) schema(s *Stage, at string, v *Value) *schema.Schema {
	switch {
	case v.bad:
		return nil
	case v.Kind != Map || len(v.Keys) == 0:
		l.errorAt(v, "schema: expected a map from a column to its type, not %s", describe(v)).With("schema: {id: long required, name: string}")
		return nil
	}
	out, whole := &schema.Schema{}, true
	for _, k := range rejoinKeys(v.Keys) {
		f, ok := l.column(k)
		if !ok {
			whole = false
			continue
		}
		out.Fields = append(out.Fields, f)
		s.define(at+" schema "+f.Name, f.Decl(), k.Value.Reads, k.Value.Pos)
	}
	if !whole {
		return nil // or a key or partition by the column that is wrong would be reported too
	}
	return out
}

// column reads "type [required]" or {type, required, doc}.
func (l *loader) column(k Key) (f schema.Field, ok bool) {
	f.Name = k.Name
	what := "column " + k.Name
	x := k.Value
	if k.Name == "" {
		l.sourceOf(k.Pos).errorf(k.Pos, 0, "a column's name is empty").With("name it")
		return f, false
	}
	if x.Kind == Map {
		l.keys(x, "in "+what, columnKeys)
		f.Required = l.boolean(x.Get("required"), "required")
		if d := x.Get("doc"); d != nil {
			f.Doc, _ = l.scalar(d, "doc")
		}
		t := x.Get("type")
		if t == nil {
			l.errorAt(x, "%s has no type", what).With("%s: {type: long}", k.Name)
			return f, false
		}
		x = t
	}
	if x.Kind == Null {
		l.sourceOf(k.Pos).errorf(k.Pos, 0, "%s has no type", what).With("%s: string", k.Name)
		return f, false
	}
	t, ok := l.scalar(x, what)
	if !ok {
		return f, false
	}
	got, err := schema.ParseField(t)
	if err != nil {
		l.badType(x, what, err)
		return f, false
	}
	f.Type, f.Required = got.Type, f.Required || got.Required
	return f, true
}

// layout reads partition_by, sort_by and key, whose columns must be in the schema where there is one.
func (l *loader) layout(s *Stage, at string, o *Out, x *Value) {
	column := func(v *Value, what, name string) *schema.Field {
		if o.Schema == nil {
			return nil
		}
		f := o.Schema.Field(name)
		if f == nil {
			suggest(l.errorAt(v, "%s: no column is called %q", what, name), name, o.Schema.Names(), "the columns are "+strings.Join(o.Schema.Names(), ", "))
		}
		return f
	}
	// each reads one of the three lists, and notes what counts.
	each := func(what, example string, read func(v *Value, text string) (canonical string, ok bool)) {
		v := x.Get(what)
		if v == nil {
			return
		}
		if v.Kind == List {
			c := *v
			c.Items = rejoinItems(v.Items)
			v = &c
		}
		texts, places := l.unique(v, what, example)
		n := 0
		for i, t := range texts {
			if c, ok := read(places[i], t); ok {
				s.define(at+" "+indexed(what, n), c, append(append([]string(nil), v.Reads...), places[i].Reads...), places[i].Pos)
				n++
			}
		}
	}
	each("partition_by", "[day(ts), country]", func(v *Value, text string) (string, bool) {
		tr, err := schema.ParseTransform(text)
		if err != nil {
			l.badType(v, "partition_by", err)
			return "", false
		}
		if f := column(v, "partition_by", tr.Column); f != nil {
			if err := tr.Check(f.Type); err != nil {
				l.badType(v, "partition_by", err)
			}
		}
		o.PartitionBy = append(o.PartitionBy, tr)
		return tr.String(), true
	})
	each("sort_by", "[ts, id desc]", func(v *Value, text string) (string, bool) {
		f, err := schema.ParseSort(text)
		if err != nil {
			l.badType(v, "sort_by", err)
			return "", false
		}
		if c := column(v, "sort_by", f.Column); c != nil && !c.Type.Primitive() {
			l.errorAt(v, "sort_by: column %s is a %s, which has no order", f.Column, c.Type.Kind)
		}
		o.SortBy = append(o.SortBy, f)
		return f.String(), true
	})
	each("key", "[id]", func(v *Value, text string) (string, bool) {
		switch f := column(v, "key", text); {
		case f == nil:
		case !f.Type.Primitive():
			l.errorAt(v, "key: column %s is a %s, and a key is made of single values", text, f.Type.Kind)
		case !f.Required:
			l.errorAt(v, "key: column %s may be NULL, and a key may not", text).With("%s: %s required", text, f.Type)
		case f.Type.Kind == schema.Float || f.Type.Kind == schema.Double:
			l.errorAt(v, "key: column %s is a %s, and a key may not be one", text, f.Type.Kind).With("use a decimal, or another column")
		}
		o.Key = append(o.Key, text)
		return canonicalString(text), true
	})
}
