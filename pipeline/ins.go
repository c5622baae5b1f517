package pipeline

import (
	"path"
	"strconv"
	"strings"

	"github.com/bmatcuk/doublestar/v4"
)

// place gives a path of a stage relative to the root, cleaned, with slashes; absolute stays absolute; "" if it is none.
func (l *loader) place(s *Stage, v *Value, text string) string {
	switch {
	case strings.ContainsRune(text, '\\'):
		l.errorAt(v, "%s: paths are written with /, on every system", text).With("%s", strings.ReplaceAll(text, `\`, "/"))
		return ""
	case strings.ContainsRune(text, 0):
		l.errorAt(v, "a path cannot hold the character NUL")
		return ""
	case strings.Contains(text, "://"):
		l.errorAt(v, "%s: files that are not local are not supported yet", text).With("fetch it in a stage of its own, whose out it is")
		return ""
	case path.IsAbs(text):
		return path.Clean(text)
	}
	if s.Dir == "." {
		return path.Clean(text)
	}
	return path.Join(s.Dir, text)
}

// outside reports whether a cleaned path leads out of the project.
func outside(p string) bool { return p == ".." || strings.HasPrefix(p, "../") || path.IsAbs(p) }

// reserved reports a path that is the project's own.
func (l *loader) reserved(v *Value, p, as string) bool {
	first, _, _ := strings.Cut(p, "/")
	switch {
	case p == l.file, p == "pipeline.lock", p == "pipe.local.yaml":
		l.errorAt(v, "%s cannot be %s: it is the project's own file", p, as).With("remove it")
	case first == ".pipe":
		l.errorAt(v, "%s cannot be %s: pipe keeps its own files there", p, as).With("choose another place")
	case first == ".git":
		l.errorAt(v, "%s cannot be %s: git keeps its own files there", p, as).With("choose another place")
	default:
		return false
	}
	return true
}

func isGlob(p string) bool { return strings.ContainsAny(p, "*?[{") }

func (l *loader) table(v *Value) (string, bool) {
	t, ok := l.filled(v, "table")
	if !ok {
		return "", false
	}
	if !tableForm.MatchString(t) {
		hint := "write it as namespace.name, in letters, digits, _ and -"
		if envName.MatchString(t) {
			hint = "give it a namespace, as in prod." + t
		}
		l.errorAt(v, "%q cannot be a table's name", t).With("%s", hint)
		return t, false
	}
	switch ns := t[:strings.LastIndexByte(t, '.')]; strings.ToLower(ns) {
	case "main", "temp", "system", "pg_catalog", "information_schema":
		l.errorAt(v, "%q cannot be a namespace: query engines use it for themselves", ns).With("choose another, as in prod.%s", t[len(ns)+1:])
		return t, false
	}
	return t, true
}

func (l *loader) deps(s *Stage, v *Value) {
	for _, x := range l.list(v, "deps", "[data.csv, {table: prod.events}]") {
		if x.Kind != Map {
			if t, ok := l.filled(x, "deps"); ok {
				l.pathDep(s, x, t)
			}
			continue
		}
		l.keys(x, "in a dep of stage "+s.Name, depKeys)
		p, t := x.Get("path"), x.Get("table")
		if (p == nil) == (t == nil) {
			l.errorAt(x, "a dep has either path or table").With("{path: data.csv} or {table: prod.events}")
			continue
		}
		if t != nil {
			l.tableDep(s, x, t)
			continue
		}
		if text, ok := l.filled(p, "path"); ok {
			l.pathDep(s, p, text)
		}
		for _, k := range x.Keys {
			switch k.Name {
			case "sink", "at", "format", "columns":
				l.sourceOf(k.Pos).errorf(k.Pos, 0, "%s belongs to a table, and this dep is a path", k.Name).With("remove it")
			}
		}
	}
}

func (l *loader) pathDep(s *Stage, v *Value, text string) {
	d := Dep{Path: l.place(s, v, text), Pos: v.Pos}
	d.Glob = isGlob(d.Path)
	switch {
	case d.Path == "" || l.reserved(v, d.Path, "a dep"):
		return
	case d.Path == "." || d.Path == "..":
		l.errorAt(v, "the project's folder cannot be a dep: it holds pipeline.lock, which each run changes").With("name the files or folders that the stage reads")
		return
	case d.Glob && !doublestar.ValidatePattern(d.Path):
		l.errorAt(v, "%s is no pattern that can be read", d.Path).With("close each [ and {")
		return
	}
	s.Deps = append(s.Deps, d)
}

func (l *loader) tableDep(s *Stage, x, t *Value) {
	d := Dep{Format: "parquet", Pos: x.Pos}
	if d.Table, _ = l.table(t); d.Table == "" {
		return
	}
	if sk := x.Get("sink"); sk != nil {
		d.Sink = l.sink(sk)
	} else {
		d.Sink = l.defaultSinkFor(x)
	}
	var at, format *Value
	var columns []*Value
	if at = x.Get("at"); at != nil {
		d.At, _ = l.filled(at, "at")
	}
	if format = x.Get("format"); format != nil {
		d.Format = l.word(format, "format", "parquet", "arrow", "csv", "jsonl")
	}
	if c := x.Get("columns"); c != nil && c.Kind != Null {
		if d.Columns, columns = l.unique(c, "columns", "[id, name]"); c.Kind == List && len(c.Items) == 0 {
			l.errorAt(c, "columns: expected one at least").With("leave it out for all columns")
		}
	}
	for _, o := range s.Deps {
		if o.Table == d.Table && o.Sink == d.Sink {
			l.errorAt(x, "the table %s stands twice in deps", d.Table).With("remove one of them")
			return
		}
	}
	s.Deps = append(s.Deps, d)
	// Each default is written, so that leaving it out is no change. Only a program sees a format.
	if s.Kind == "cmd" {
		s.define("dep "+label(d.Sink, d.Table)+" format", d.Format, readsOf(format), d.Pos)
	}
	if d.At != "" {
		s.define("dep "+label(d.Sink, d.Table)+" at", canonicalString(d.At), readsOf(at), d.Pos)
	}
	for i, c := range d.Columns {
		s.define("dep "+label(d.Sink, d.Table)+" "+indexed("columns", i), canonicalString(c), columns[i].Reads, columns[i].Pos)
	}
}

func readsOf(v *Value) []string {
	if v == nil {
		return nil
	}
	return v.Reads
}

// label names a table in a definition: the default sink is not said.
func label(sink, table string) string {
	if sink == defaultSink {
		return table
	}
	return sink + "/" + table
}

func indexed(name string, i int) string { return name + "[" + strconv.Itoa(i) + "]" }
