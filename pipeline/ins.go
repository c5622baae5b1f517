package pipeline

import (
	"path"
	"strconv"
	"strings"

	"pipe/internal/diag"
)

// place gives a path of a stage relative to the root, cleaned, with slashes; absolute stays absolute.
func (l *loader) place(s *Stage, v *Value, text string) string {
	p := strings.ReplaceAll(text, `\`, "/")
	if p == "" {
		l.errorAt(v, "expected a path, not nothing")
		return ""
	}
	if path.IsAbs(p) {
		return path.Clean(p)
	}
	return path.Join(s.Dir, p)
}

// own reports a path that is the project's own file.
func (l *loader) own(v *Value, p, as string) bool {
	switch p {
	case l.file, "pipeline.lock", "pipe.local.yaml":
		l.errorAt(v, "%s cannot be %s: it is the project's own file", p, as)
		return true
	}
	if p == ".pipe" || strings.HasPrefix(p, ".pipe/") {
		l.errorAt(v, "%s cannot be %s: pipe keeps its own files there", p, as)
		return true
	}
	return false
}

func isGlob(p string) bool { return strings.ContainsAny(p, "*?[{") }

// items gives the entries of a list; a single one may stand alone, and lists within it (from a template) are flattened.
func items(v *Value) []*Value {
	if v.Kind == Null {
		return nil
	}
	if v.Kind != List {
		return []*Value{v}
	}
	var out []*Value
	for _, x := range v.Items {
		if x.Kind == List {
			out = append(out, items(x)...)
		} else {
			out = append(out, x)
		}
	}
	return out
}

func (l *loader) table(v *Value) (string, bool) {
	t, ok := l.scalar(v, "table")
	if !ok {
		return "", false
	}
	if !tableForm.MatchString(t) {
		hint := "write it as namespace.name, in letters, digits, _ and -"
		if !strings.Contains(t, ".") && t != "" {
			hint = "give it a namespace, as in main_data." + t
		}
		l.errorAt(v, "%q cannot be a table's name", t).With("%s", hint)
		return t, false
	}
	switch ns := t[:strings.LastIndexByte(t, '.')]; ns {
	case "main", "temp", "system", "pg_catalog", "information_schema":
		l.errorAt(v, "%q cannot be a namespace: query engines use it for themselves", ns).With("choose another, as in prod.%s", t[len(ns)+1:])
		return t, false
	}
	return t, true
}

func (l *loader) deps(s *Stage, v *Value) {
	for _, x := range items(v) {
		d := Dep{Pos: x.Pos}
		if x.Kind != Map {
			if t, ok := l.scalar(x, "deps"); ok {
				d.Path = l.place(s, x, t)
				d.Glob = isGlob(d.Path)
				if d.Path != "" && !l.own(x, d.Path, "a dep") {
					s.Deps = append(s.Deps, d)
				}
			}
			continue
		}
		l.keys(x, "a dep of stage "+s.Name, depKeys)
		p, t := x.Get("path"), x.Get("table")
		if (p == nil) == (t == nil) {
			l.errorAt(x, "a dep has either path or table").With("{path: data.csv} or {table: prod.events}")
			continue
		}
		if p != nil {
			if text, ok := l.scalar(p, "path"); ok {
				d.Path = l.place(s, p, text)
				d.Glob = isGlob(d.Path)
				if d.Path != "" && !l.own(p, d.Path, "a dep") {
					s.Deps = append(s.Deps, d)
				}
			}
			for _, k := range x.Keys {
				if k.Name != "path" && k.Name != "table" {
					l.src.errorf(k.Pos, len(k.Name), "%s belongs to a table, and this dep is a path", k.Name)
				}
			}
			continue
		}
		name, _ := l.table(t)
		d.Table, d.Sink = name, l.defaults.sink
		if sk := x.Get("sink"); sk != nil {
			d.Sink = l.sink(sk)
		}
		if at := x.Get("at"); at != nil {
			d.At, _ = l.scalar(at, "at")
		}
		if f := x.Get("format"); f != nil {
			d.Format = l.word(f, "format", "parquet", "arrow", "csv", "jsonl")
		}
		if d.Format == "" {
			d.Format = "parquet"
		}
		if c := x.Get("columns"); c != nil {
			d.Columns, _ = l.texts(c, "columns")
		}
		s.Deps = append(s.Deps, d)
	}
}

func (l *loader) stageParams(s *Stage, v *Value) {
	file := path.Join(s.Dir, "params.yaml")
	seen := map[string]bool{}
	add := func(p Param) {
		if k := p.File + "\x00" + p.Name; !seen[k] {
			seen[k] = true
			s.Params = append(s.Params, p)
		}
	}
	one := func(file string, root *Value, x *Value) {
		name, ok := l.scalar(x, "params")
		if !ok || root == nil {
			return
		}
		steps, bad := splitPath(name)
		if bad >= 0 {
			l.errorAt(x, "cannot read %q as the name of a param", name).With("write it as a.b or a[0]")
			return
		}
		got := root
		for _, st := range steps {
			if got, _ = step(got, st.name); got == nil {
				break
			}
		}
		if got == nil {
			e := l.errorAt(x, "param %s is not in %s", name, file)
			if c := diag.Closest(name, names(root, "")); c != "" {
				e.With("did you mean %s?", c)
			} else {
				e.With("add it to %s", file)
			}
			return
		}
		for _, leaf := range tracked(name, got) {
			add(Param{File: file, Name: leaf.name, Value: leaf.value, Pos: x.Pos})
		}
	}
	for _, x := range items(v) {
		if x.Kind != Map {
			one(file, l.paramFile(file, x), x)
			continue
		}
		for _, k := range x.Keys {
			name := path.Join(s.Dir, k.Name)
			at := &Value{Kind: String, Text: k.Name, Pos: k.Pos}
			root := l.paramFile(name, at)
			if root == nil {
				continue
			}
			if k.Value.Kind != Null && k.Value.Kind != List {
				l.errorAt(k.Value, "params of %s: expected a list of names, not %s", k.Name, describe(k.Value)).With("%s: [%s], or %s: alone for the whole file", k.Name, k.Value.Text, k.Name)
				continue
			}
			if len(k.Value.Items) == 0 {
				for _, leaf := range tracked("", root) {
					add(Param{File: name, Name: leaf.name, Value: leaf.value, Pos: k.Pos})
				}
				continue
			}
			for _, n := range k.Value.Items {
				one(name, root, n)
			}
		}
	}
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
		out = append(out, tracked(strings.TrimPrefix(name+"."+k.Name, "."), k.Value)...)
	}
	return out
}

// define flattens what counts of the definition. Everything is written with its default, so that leaving one out is no change.
func (l *loader) define(s *Stage, v *Value) {
	add := func(name, value, from string, pos diag.Pos) {
		s.Def = append(s.Def, Leaf{Name: name, Value: value, From: from, Pos: pos})
	}
	text := func(t string) string { return (&Value{Kind: String, Text: t}).Canonical() }
	switch s.Kind {
	case "cmd":
		x := v.Get("cmd")
		if x.Kind != List {
			add("cmd", text(x.Text), joinReads(x.Reads), x.Pos)
			break
		}
		for i, item := range x.Items {
			add("cmd["+strconv.Itoa(i)+"]", text(item.Text), joinReads(append(append([]string(nil), x.Reads...), item.Reads...)), item.Pos)
		}
	case "sql":
		add("sql", text(s.SQL), "", s.Pos)
	case "":
	default:
		add("use", text(s.Kind), "", s.Pos)
		if s.With != nil && len(s.With.Keys) > 0 {
			s.Def = append(s.Def, s.With.Flatten("with")...)
		}
	}
	if s.Dir != "." {
		add("wdir", text(s.Dir), "", s.Pos)
	}
	for i, w := range s.Shell {
		add("shell["+strconv.Itoa(i)+"]", text(w), "", s.Pos)
	}
	for _, e := range s.Env {
		if !e.Inherit {
			x := v.Get("env").Get(e.Name)
			add("env "+e.Name, x.Canonical(), joinReads(x.Reads), x.Pos)
		}
	}
	for _, d := range s.Deps {
		if d.Table == "" {
			continue
		}
		if s.Kind == "cmd" {
			add("dep "+label(d.Sink, d.Table)+" format", d.Format, "", d.Pos)
		}
		for i, c := range d.Columns {
			add("dep "+label(d.Sink, d.Table)+" columns["+strconv.Itoa(i)+"]", text(c), "", d.Pos)
		}
		if d.At != "" {
			add("dep "+label(d.Sink, d.Table)+" at", text(d.At), "", d.Pos)
		}
	}
	for _, o := range s.Outs {
		if o.Path != "" {
			add("out "+o.Path, "file", "", o.Pos)
			continue
		}
		at := "out " + label(o.Sink, o.Table)
		add(at+" mode", string(o.Mode), "", o.Pos)
		if o.Schema != nil {
			for _, f := range o.Schema.Fields {
				add(at+" schema "+f.Name, f.Decl(), "", o.Pos)
			}
		}
		for i, p := range o.PartitionBy {
			add(at+" partition_by["+strconv.Itoa(i)+"]", p.String(), "", o.Pos)
		}
		for i, p := range o.SortBy {
			add(at+" sort_by["+strconv.Itoa(i)+"]", p.String(), "", o.Pos)
		}
		for i, p := range o.Key {
			add(at+" key["+strconv.Itoa(i)+"]", text(p), "", o.Pos)
		}
	}
	sortLeaves(s.Def)
}

// label names a table in a definition: the default sink is not said.
func label(sink, table string) string {
	if sink == defaultSink {
		return table
	}
	return sink + "/" + table
}
