package pipeline

import (
	"errors"
	"path"
	"sort"
	"strings"

	"pipe/internal/diag"
	"pipe/pipeline/schema"
)

func sortLeaves(l []Leaf) { sort.SliceStable(l, func(i, j int) bool { return l[i].Name < l[j].Name }) }

func (l *loader) outs(s *Stage, v *Value) {
	for _, x := range items(v) {
		o := Out{Pos: x.Pos, Cache: true}
		if x.Kind != Map {
			if t, ok := l.scalar(x, "outs"); ok {
				o.Path = l.place(s, x, t)
				l.fileOut(s, x, o)
			}
			continue
		}
		l.keys(x, "an out of stage "+s.Name, outKeys)
		p, t := x.Get("path"), x.Get("table")
		if (p == nil) == (t == nil) {
			l.errorAt(x, "an out has either path or table").With("{path: report.html} or {table: prod.events}")
			continue
		}
		if p != nil {
			text, ok := l.scalar(p, "path")
			if !ok {
				continue
			}
			o.Path = l.place(s, p, text)
			if c := x.Get("cache"); c != nil {
				o.Cache = l.boolean(c, "cache")
			}
			o.Persist = l.boolean(x.Get("persist"), "persist")
			for _, k := range x.Keys {
				switch k.Name {
				case "sink", "mode", "schema", "partition_by", "sort_by", "key", "properties", "on_diverge":
					l.src.errorf(k.Pos, len(k.Name), "%s belongs to a table, and this out is a path", k.Name)
				}
			}
			l.fileOut(s, p, o)
			continue
		}
		o.Table, _ = l.table(t)
		o.Sink, o.Mode, o.OnDiverge, o.Cache = l.defaults.sink, Replace, "fail", false
		for _, k := range x.Keys {
			switch k.Name {
			case "sink":
				o.Sink = l.sink(k.Value)
			case "mode":
				o.Mode = Mode(l.word(k.Value, "mode", "replace", "append", "partitions", "merge", "scd2"))
				if o.Mode != Replace && o.Mode != Append {
					l.errorAt(k.Value, "mode %s is not supported yet", o.Mode).With("mode: replace, or mode: append")
					o.Mode = Replace
				}
			case "schema":
				o.Schema = l.schema(k.Value)
			case "on_diverge":
				o.OnDiverge = l.word(k.Value, "on_diverge", "fail", "rebase", "overwrite")
			case "properties":
				o.Properties = l.properties(k.Value)
			case "cache", "persist":
				l.src.errorf(k.Pos, len(k.Name), "%s belongs to a path, and this out is a table", k.Name)
			}
		}
		if o.OnDiverge == "overwrite" && o.Mode == Append {
			l.errorAt(x.Get("on_diverge"), "on_diverge: overwrite is for replace; an append would lose the rows that it overwrites").With("on_diverge: rebase")
		}
		l.layout(&o, x)
		s.Outs = append(s.Outs, o)
	}
}

func (l *loader) fileOut(s *Stage, v *Value, o Out) {
	if o.Path == "" || l.own(v, o.Path, "an out") {
		return
	}
	switch {
	case isGlob(o.Path):
		l.errorAt(v, "an out is one file or folder, and %s is a pattern", o.Path)
	case o.Path == "." || o.Path == "..":
		l.errorAt(v, "the project's folder cannot be an out")
	case (path.IsAbs(o.Path) || strings.HasPrefix(o.Path, "../")) && o.Cache:
		l.errorAt(v, "the out %s lies outside the project, so it cannot be kept", o.Path).With("{path: %s, cache: false} hashes it and leaves it alone", o.Path)
	}
	s.Outs = append(s.Outs, o)
}

func (l *loader) properties(v *Value) map[string]string {
	if v.Kind != Map {
		l.errorAt(v, "properties: expected a map, not %s", describe(v))
		return nil
	}
	out := map[string]string{}
	var walk func(prefix string, v *Value)
	walk = func(prefix string, v *Value) {
		for _, k := range v.Keys {
			name := strings.TrimPrefix(prefix+"."+k.Name, ".")
			if k.Value.Kind == Map {
				walk(name, k.Value)
			} else if t, ok := l.scalar(k.Value, "property "+name); ok {
				if strings.HasPrefix(name, "pipe.") {
					l.src.errorf(k.Pos, len(k.Name), "property %s: names that begin with pipe. are pipe's own", name)
				}
				out[name] = t
			}
		}
	}
	walk("", v)
	return out
}

// typeError reports what package schema found in a text.
func (l *loader) typeError(v *Value, what string, err error) {
	e := l.errorAt(v, "%s: %s", what, err)
	var se *schema.Error
	if errors.As(err, &se) && se.Hint != "" {
		e.With("%s", se.Hint)
	}
}

func (l *loader) schema(v *Value) *schema.Schema {
	if v.Kind != Map || len(v.Keys) == 0 {
		l.errorAt(v, "schema: expected a map from a column to its type, not %s", describe(v)).With("schema: {id: long required, name: string}")
		return nil
	}
	s := &schema.Schema{}
	for _, k := range v.Keys {
		f := schema.Field{Name: k.Name}
		x := k.Value
		if x.Kind == Map {
			l.keys(x, "column "+k.Name, []keyDef{{name: "type"}, {name: "required"}, {name: "doc"}})
			f.Required = l.boolean(x.Get("required"), "required")
			if d := x.Get("doc"); d != nil {
				f.Doc, _ = l.scalar(d, "doc")
			}
			if x = x.Get("type"); x == nil {
				l.errorAt(k.Value, "column %s has no type", k.Name).With("%s: {type: long}", k.Name)
				continue
			}
		}
		t, ok := l.scalar(x, "column "+k.Name)
		if !ok {
			continue
		}
		got, err := schema.ParseField(t)
		if err != nil {
			l.typeError(x, "column "+k.Name, err)
			continue
		}
		f.Type, f.Required = got.Type, f.Required || got.Required
		s.Fields = append(s.Fields, f)
	}
	return s
}

// layout reads partition_by, sort_by and key, whose columns must be in the schema where there is one.
func (l *loader) layout(o *Out, x *Value) {
	column := func(v *Value, what, name string) *schema.Field {
		if o.Schema == nil {
			return nil
		}
		f := o.Schema.Field(name)
		if f == nil {
			e := l.errorAt(v, "%s: no column is called %q", what, name)
			if c := diag.Closest(name, o.Schema.Names()); c != "" {
				e.With("did you mean %s?", c)
			}
		}
		return f
	}
	texts, at := l.texts(x.Get("partition_by"), "partition_by")
	for i, t := range texts {
		tr, err := schema.ParseTransform(t)
		if err != nil {
			l.typeError(at[i], "partition_by", err)
			continue
		}
		if f := column(at[i], "partition_by", tr.Column); f != nil {
			if err := tr.Check(f.Type); err != nil {
				l.typeError(at[i], "partition_by", err)
			}
		}
		o.PartitionBy = append(o.PartitionBy, tr)
	}
	texts, at = l.texts(x.Get("sort_by"), "sort_by")
	for i, t := range texts {
		f, err := schema.ParseSort(t)
		if err != nil {
			l.typeError(at[i], "sort_by", err)
			continue
		}
		column(at[i], "sort_by", f.Column)
		o.SortBy = append(o.SortBy, f)
	}
	texts, at = l.texts(x.Get("key"), "key")
	for i, t := range texts {
		if f := column(at[i], "key", t); f != nil && !f.Required {
			l.errorAt(at[i], "key: column %s may be NULL, and a key may not", t).With("%s: %s required", t, f.Type)
		}
		o.Key = append(o.Key, t)
	}
}
