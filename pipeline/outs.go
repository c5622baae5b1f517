package pipeline

import (
	"sort"
	"strings"
)

func sortLeaves(l []Leaf) { sort.SliceStable(l, func(i, j int) bool { return l[i].Name < l[j].Name }) }

func (l *loader) outs(s *Stage, v *Value) {
	for _, x := range l.list(v, "outs", "[report.html, {table: prod.events}]") {
		if x.Kind != Map {
			if t, ok := l.filled(x, "outs"); ok {
				l.fileOut(s, x, Out{Path: l.place(s, x, t), Cache: true, Pos: x.Pos})
			}
			continue
		}
		l.keys(x, "in an out of stage "+s.Name, outKeys)
		p, t := x.Get("path"), x.Get("table")
		switch {
		case (p == nil) == (t == nil):
			l.errorAt(x, "an out has either path or table").With("{path: report.html} or {table: prod.events}")
		case t != nil:
			l.tableOut(s, x, t)
		default:
			l.pathOut(s, x, p)
		}
	}
}

func (l *loader) pathOut(s *Stage, x, p *Value) {
	o := Out{Cache: true, Pos: p.Pos}
	if text, ok := l.filled(p, "path"); ok {
		o.Path = l.place(s, p, text)
	}
	for _, k := range x.Keys {
		switch k.Name {
		case "cache":
			o.Cache = l.boolean(k.Value, "cache")
		case "persist":
			o.Persist = l.boolean(k.Value, "persist")
		case "sink", "mode", "schema", "partition_by", "sort_by", "key", "properties", "on_diverge":
			l.sourceOf(k.Pos).errorf(k.Pos, 0, "%s belongs to a table, and this out is a path", k.Name).With("remove it")
		}
	}
	l.fileOut(s, p, o)
}

func (l *loader) fileOut(s *Stage, v *Value, o Out) {
	switch {
	case o.Path == "" || l.reserved(v, o.Path, "an out"):
		return
	case isGlob(o.Path):
		l.errorAt(v, "an out is one file or folder, and %s is a pattern", o.Path).With("name the folder")
		return
	case o.Path == "." || o.Path == ".." || strings.HasSuffix(o.Path, "/.."):
		l.errorAt(v, "the project's folder cannot be an out").With("name a file or a folder in it")
		return
	case outside(o.Path) && o.Cache:
		l.errorAt(v, "the out %s lies outside the project, so it cannot be kept", o.Path).With("{path: %s, cache: false} hashes it and leaves it alone", o.Path)
	}
	s.Outs = append(s.Outs, o)
	name := o.Path
	if strings.ContainsAny(name, " \"") { // or it could be read as the name of a table and one of its keys
		name = quote(name)
	}
	s.define("out "+name, "file", v.Reads, o.Pos)
}

func (l *loader) tableOut(s *Stage, x, t *Value) {
	o := Out{Sink: l.defaults.sink, Mode: Replace, OnDiverge: "fail", Pos: x.Pos}
	if o.Table, _ = l.table(t); o.Table == "" {
		return
	}
	if sk := x.Get("sink"); sk != nil {
		o.Sink = l.sink(sk)
	} else {
		o.Sink = l.defaultSinkFor(x)
	}
	at := "out " + label(o.Sink, o.Table)
	var mode, diverge *Value
	for _, k := range x.Keys {
		switch k.Name {
		case "mode":
			mode = k.Value
			switch mode.Text {
			case "partitions", "merge", "scd2":
				l.errorAt(mode, "mode %s is not supported yet", mode.Text).With("mode: replace, or mode: append")
			default:
				o.Mode = Mode(l.word(mode, "mode", string(Replace), string(Append)))
			}
		case "schema":
			o.Schema = l.schema(s, at, k.Value)
		case "on_diverge":
			diverge = k.Value
			o.OnDiverge = l.word(diverge, "on_diverge", "fail", "rebase", "overwrite")
		case "properties":
			o.Properties = l.properties(k.Value)
		case "cache", "persist":
			l.sourceOf(k.Pos).errorf(k.Pos, 0, "%s belongs to a path, and this out is a table", k.Name).With("remove it")
		}
	}
	if o.OnDiverge == "overwrite" && o.Mode == Append {
		l.errorAt(diverge, "on_diverge: overwrite is for replace; an append would lose the rows that it overwrites").With("on_diverge: rebase")
	}
	// Each default is written, so that leaving it out is no change.
	s.define(at+" mode", string(o.Mode), readsOf(mode), o.Pos)
	l.layout(s, at, &o, x)
	s.Outs = append(s.Outs, o)
}

func (l *loader) properties(v *Value) map[string]string {
	if v.Kind == Null || v.bad {
		return nil
	}
	if v.Kind != Map {
		l.errorAt(v, "properties: expected a map, not %s", describe(v)).With("properties: {write.parquet.compression-codec: zstd}")
		return nil
	}
	out := map[string]string{}
	var walk func(prefix string, v *Value)
	walk = func(prefix string, v *Value) {
		for _, k := range v.Keys {
			name := k.Name
			if prefix != "" {
				name = prefix + "." + name
			}
			if k.Value.Kind == Map {
				walk(name, k.Value)
				continue
			}
			t, ok := l.scalar(k.Value, "property "+name)
			switch {
			case !ok:
			case strings.HasPrefix(name, "pipe."):
				l.sourceOf(k.Pos).errorf(k.Pos, 0, "property %s: names that begin with pipe. are pipe's own", name).With("remove it")
			default:
				out[name] = t
			}
		}
	}
	walk("", v)
	return out
}

// sameButForCase warns of tables that one folder would hold where the file system does not tell cases apart.
func (l *loader) sameButForCase(seen map[tableName]string, o Out) {
	k := tableName{o.Sink, strings.ToLower(o.Table)}
	if other, ok := seen[k]; ok && other != o.Table {
		l.warn(o.Pos, "the tables %s and %s differ in case alone: macOS and Windows hold both in one folder", other, o.Table).With("rename one of them")
	}
	seen[k] = o.Table
}
