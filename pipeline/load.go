package pipeline

import (
	"errors"
	"io/fs"
	"slices"
	"strings"

	"pipe/internal/diag"
)

// Load reads pipeline.yaml and the files that its templates and params name, and gives the checked graph. The error is a diag.List
// of all mistakes, in file order; the graph that comes with it holds what could be understood, and is nil only if the file has no
// stages at all.
func Load(fsys fs.FS, file string) (*Graph, error) {
	l := &loader{fsys: fsys, file: file, params: map[string]*Value{}, sources: map[string]*source{}, folders: map[string]bool{}, told: map[diag.Pos]bool{}}
	g := l.load()
	if g != nil {
		g.Warn.Sort()
	}
	return g, dedupe(l.errs).Err()
}

// dedupe drops mistakes that were found twice at one place: an alias shows its anchor's mistakes at each use.
func dedupe(errs diag.List) diag.List {
	seen := map[string]bool{}
	var out diag.List
	for _, e := range errs {
		if k := e.Error(); !seen[k] {
			seen[k] = true
			out = append(out, e)
		}
	}
	return out
}

type loader struct {
	fsys     fs.FS
	file     string
	src      *source // of the file
	sources  map[string]*source
	errs     diag.List
	graph    *Graph
	scope    scope
	x        *expander
	params   map[string]*Value // param files that were read; nil: broken
	absent   []absentFile
	folders  map[string]bool   // of wdir: whether they are there
	told     map[diag.Pos]bool // unknown keys that were reported
	defaults defaults
}

type defaults struct {
	sink    string
	publish string
	timeout float64
	retries int
}

func (l *loader) load() *Graph {
	data, err := fs.ReadFile(l.fsys, l.file)
	if err != nil {
		e := diag.Errorf(diag.Pos{File: l.file}, "cannot be read: %s", reason(err))
		if errors.Is(err, fs.ErrNotExist) {
			e = diag.Errorf(diag.Pos{File: l.file}, "does not exist").With("pipe init writes a small project to start from")
		}
		l.errs = append(l.errs, e)
		return nil
	}
	root, src := parseYAML(l.file, data, &l.errs)
	l.src, l.sources[l.file] = src, src
	l.graph = &Graph{
		Sinks: map[string]*Sink{}, Publish: "run", Files: []string{l.file}, byName: map[string]*Stage{}, ups: map[string][]string{}, downs: map[string][]string{},
		producers: map[tableName]*Stage{},
	}
	l.x = &expander{source: src, scope: &l.scope, warn: &l.graph.Warn}
	if root == nil {
		if len(l.errs) == 0 {
			l.errs = append(l.errs, diag.Errorf(diag.Pos{File: l.file, Line: 1, Col: 1}, "the file is empty, expected stages").With("pipe init writes a small project to start from"))
		}
		return nil
	}
	if root.Kind != Map {
		l.errorAt(root, "expected a map with stages, not %s", describe(root))
		return nil
	}
	l.keys(root, topLevel, topKeys)
	l.readScope(root.Get("vars"))
	l.readSinks(root.Get("sinks"))
	l.readDefaults(root.Get("defaults"))
	stages := root.Get("stages")
	if stages == nil || stages.Kind != Map {
		pos := root
		if stages != nil {
			pos = stages
		}
		l.errorAt(pos, "expected stages: a map from a stage's name to its definition").With("add\n  stages:\n    first: {cmd: echo hello > hello.txt, outs: [hello.txt]}")
		return nil
	}
	for _, k := range stages.Keys {
		l.readStage(k)
	}
	l.connect()
	return l.graph
}

// reason is an error of the file system without the path, which the position tells.
func reason(err error) string {
	var p *fs.PathError
	if errors.As(err, &p) {
		return p.Err.Error()
	}
	return err.Error()
}

// errorAt reports a mistake at a value. Of a value that has one already nothing more is said.
func (l *loader) errorAt(v *Value, format string, args ...any) *diag.Error {
	if v.bad {
		return &diag.Error{}
	}
	src := l.sourceOf(v.Pos)
	return src.errorf(v.Pos, src.span(v), format, args...)
}

// sourceOf gives the file of a place: what a template took from a params file keeps its place there.
func (l *loader) sourceOf(pos diag.Pos) *source {
	if s := l.sources[pos.File]; s != nil {
		return s
	}
	return l.src
}

// suggest hints at the closest of the known words, or at all of them.
func suggest(e *diag.Error, word string, known []string, otherwise string) {
	if c := diag.Closest(word, known); c != "" {
		e.With("did you mean %s?", c)
	} else if otherwise != "" {
		e.With("%s", otherwise)
	}
}

const topLevel = "at the top level"

// keys reports keys that a map may not have, each with the closest that it may, and those that are reserved for later.
// where is "in stage a".
func (l *loader) keys(v *Value, where string, known []keyDef) {
	for _, k := range v.Keys {
		i := slices.IndexFunc(known, func(d keyDef) bool { return d.name == k.Name })
		switch {
		case i >= 0 && known[i].later:
			l.sourceOf(k.Pos).errorf(k.Pos, 0, "%s is not supported yet", k.Name).With("remove it")
		case i >= 0, strings.HasPrefix(k.Name, "x-") && where == topLevel:
		case l.told[k.Pos]: // an alias shows its anchor's mistakes at each use
		default:
			l.told[k.Pos] = true
			var words []string
			for _, d := range known {
				if !d.later {
					words = append(words, d.name)
				}
			}
			suggest(l.sourceOf(k.Pos).errorf(k.Pos, 0, "unknown key %q %s", k.Name, where), k.Name, words, "known are: "+strings.Join(words, ", "))
		}
	}
}
