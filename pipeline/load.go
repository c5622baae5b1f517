package pipeline

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"

	"github.com/BurntSushi/toml"

	"pipe/internal/diag"
)

// Load reads pipeline.yaml and the files that its templates and params name, and gives the checked graph. The error is a diag.List
// of all mistakes, in file order; the graph that comes with it holds what could be understood, and is nil only if the file has no
// stages at all.
func Load(fsys fs.FS, file string) (*Graph, error) {
	l := &loader{fsys: fsys, file: file, params: map[string]*Value{}, stageNames: map[string]diag.Pos{}}
	g := l.load()
	l.errs.Sort()
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
	fsys       fs.FS
	file       string
	src        *source
	errs       diag.List
	graph      *Graph
	scope      scope
	x          *expander
	params     map[string]*Value // param files that were read; nil: not there or broken
	stageNames map[string]diag.Pos
	defaults   defaults
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
	l.src = src
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
	l.keys(root, "the top level of "+l.file, topKeys)
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
		l.stageNames[k.Name] = k.Pos
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

// errorAt reports a mistake at a value.
func (l *loader) errorAt(v *Value, format string, args ...any) *diag.Error {
	return l.src.errorf(v.Pos, max(1, len(strings.SplitN(v.Text, "\n", 2)[0])), format, args...)
}

// keys reports keys that a map may not have, each with the closest that it may; known false: reserved for later.
func (l *loader) keys(v *Value, where string, known []keyDef) {
	words := make([]string, 0, len(known))
	for _, k := range known {
		words = append(words, k.name)
	}
next:
	for _, k := range v.Keys {
		for _, d := range known {
			if d.name == k.Name {
				if d.later {
					l.src.errorf(k.Pos, len(k.Name), "%s is not supported yet", k.Name).With("remove it")
				}
				continue next
			}
		}
		if strings.HasPrefix(k.Name, "x-") && where == "the top level of "+l.file {
			continue
		}
		e := l.src.errorf(k.Pos, len(k.Name), "unknown key %q in %s", k.Name, where)
		if c := diag.Closest(k.Name, words); c != "" {
			e.With("did you mean %s?", c)
		} else {
			e.With("known are: %s", strings.Join(words, ", "))
		}
	}
}

// readScope reads params.yaml and vars.
func (l *loader) readScope(vars *Value) {
	l.scope.root = &Value{Kind: Map}
	if v := l.paramFile("params.yaml", nil); v != nil && v.Kind == Map {
		l.scope.merge(l.src, v)
	}
	if vars == nil || vars.Kind == Null {
		return
	}
	if vars.Kind != List {
		l.errorAt(vars, "vars: expected a list of files and maps, not %s", describe(vars)).With("vars: [config.yaml, {env: dev}]")
		return
	}
	for _, item := range vars.Items {
		if strings.Contains(item.Text, "${") {
			l.errorAt(item, "vars: templates are not replaced here")
			continue
		}
		switch item.Kind {
		case Map:
			l.scope.merge(l.src, item)
		case String:
			file, sel, only := strings.Cut(item.Text, ":")
			v := l.paramFile(path.Clean(file), item)
			switch {
			case v == nil:
			case v.Kind != Map:
				l.errorAt(item, "vars: %s holds %s, expected a map", file, describe(v))
			case only:
				part := &Value{Kind: Map, Pos: v.Pos}
				for _, name := range strings.Split(sel, ",") {
					name = strings.TrimSpace(name)
					if x := v.Get(name); x != nil {
						part.Keys = append(part.Keys, Key{Name: name, Pos: x.Pos, Value: x})
					} else {
						e := l.errorAt(item, "vars: %s has no key %q", file, name)
						if c := diag.Closest(name, names(v, "")); c != "" {
							e.With("did you mean %s?", c)
						}
					}
				}
				l.scope.merge(l.src, part)
			default:
				l.scope.merge(l.src, v)
			}
		default:
			l.errorAt(item, "vars: expected a file or a map, not %s", describe(item))
		}
	}
}

// paramFile reads a file of params once. asked is what names it; nil: it may be absent.
func (l *loader) paramFile(name string, asked *Value) *Value {
	if v, ok := l.params[name]; ok {
		return v
	}
	data, err := fs.ReadFile(l.fsys, name)
	if err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			if asked != nil {
				l.errorAt(asked, "%s does not exist", name)
			} else {
				l.params[name] = nil
			}
			return nil
		}
		l.errs = append(l.errs, diag.Errorf(diag.Pos{File: name}, "cannot be read: %s", reason(err)))
		l.params[name] = nil
		return nil
	}
	l.graph.Files = append(l.graph.Files, name)
	var v *Value
	switch path.Ext(name) {
	case ".json":
		v = l.parseJSON(name, data)
	case ".toml":
		v = l.parseTOML(name, data)
	default:
		before := len(l.errs)
		v, _ = parseYAML(name, data, &l.errs)
		if v == nil && len(l.errs) == before {
			v = &Value{Kind: Map, Pos: diag.Pos{File: name, Line: 1, Col: 1}}
		}
	}
	l.params[name] = v
	return v
}

func (l *loader) parseJSON(name string, data []byte) *Value {
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.UseNumber()
	var x any
	if err := dec.Decode(&x); err != nil {
		pos := diag.Pos{File: name, Line: 1, Col: 1}
		var syn *json.SyntaxError
		if errors.As(err, &syn) {
			before := data[:min(int(syn.Offset), len(data))]
			pos.Line = 1 + bytes.Count(before, []byte("\n"))
			pos.Col = max(1, len(before)-bytes.LastIndexByte(before, '\n')-1)
		}
		newSource(name, data, &l.errs).errorf(pos, 1, "this is no JSON: %s", err)
		return nil
	}
	// JSON is YAML, so that reading it as such gives the places; the strict reading above has ruled out the rest.
	v, _ := parseYAML(name, data, &l.errs)
	return v
}

func (l *loader) parseTOML(name string, data []byte) *Value {
	var m map[string]any
	md, err := toml.Decode(string(data), &m)
	if err != nil {
		pos := diag.Pos{File: name, Line: 1, Col: 1}
		msg := err.Error()
		var pe toml.ParseError
		if errors.As(err, &pe) {
			pos.Line, pos.Col = pe.Position.Line, max(1, pe.Position.Col)
			msg = pe.Message
		}
		newSource(name, data, &l.errs).errorf(pos, 1, "this is no TOML: %s", msg)
		return nil
	}
	return fromTOML(m, md.Keys(), "", diag.Pos{File: name})
}

// fromTOML keeps the order of the file where the library tells it.
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
		v := &Value{Kind: Float, Text: fmt.Sprint(x), Pos: pos}
		if !strings.ContainsAny(v.Text, ".eIN") {
			v.Text += ".0"
		}
		v.Text = strings.NewReplacer("+Inf", ".inf", "-Inf", "-.inf", "NaN", ".nan").Replace(v.Text)
		return v
	case string:
		return &Value{Kind: String, Text: x, Pos: pos}
	}
	return &Value{Kind: String, Text: fmt.Sprint(x), Pos: pos} // dates and times: text, as in YAML
}
