package cli

import (
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"

	"pipe/internal/diag"
	"pipe/internal/repo"
	"pipe/pipeline"
)

// sinkConfig is one sink of a graph, its options resolved for this machine.
type sinkConfig struct {
	name      string
	format    string
	pos       diag.Pos
	database  string // absolute path of the SQLite file of an sql catalog
	warehouse string // absolute
}

// sinkOptions gives the configuration of each sink that the graph uses, by name: as pipeline.yaml has it, overridden by
// pipe.local.yaml, with ${env:NAME} replaced.
func (a *app) sinkOptions(d *definition) ([]sinkConfig, error) {
	local, err := readLocal(d)
	if err != nil {
		return nil, err
	}
	var out []sinkConfig
	var list diag.List
	for _, name := range slices.Sorted(maps.Keys(usedSinks(d.graph))) {
		s := d.graph.Sinks[name]
		if s == nil {
			continue // the graph is checked: every sink that is used is there
		}
		c, errs := a.configure(d.layout, s, local[name])
		list = append(list, errs...)
		out = append(out, c)
	}
	return out, list.Err()
}

// usedSinks gives the names of the sinks that hold a table of the graph.
func usedSinks(g *pipeline.Graph) map[string]bool {
	used := map[string]bool{}
	for _, s := range g.Stages {
		for _, d := range s.Deps {
			if d.Table != "" {
				used[d.Sink] = true
			}
		}
		for _, o := range s.Outs {
			if o.Table != "" {
				used[o.Sink] = true
			}
		}
	}
	return used
}

// option is one key of a sink, with its place.
type option struct {
	value string
	pos   diag.Pos
}

func (a *app) configure(l repo.Layout, s *pipeline.Sink, local map[string]option) (sinkConfig, diag.List) {
	c := sinkConfig{name: s.Name, format: s.Format, pos: s.Pos}
	options := map[string]option{"format": {s.Format, s.Pos}, "catalog": {s.Catalog, s.Pos}}
	for k, v := range s.Options {
		pos := s.OptionPos[k]
		if pos.Line == 0 {
			pos = s.Pos
		}
		options[k] = option{v, pos}
	}
	maps.Copy(options, local)
	var list diag.List
	get := func(key, otherwise string) option {
		o, ok := options[key]
		if !ok || o.value == "" {
			return option{otherwise, s.Pos}
		}
		value, err := a.expand(o)
		if err != nil {
			list = append(list, err)
		}
		return option{value, o.pos}
	}
	c.format = get("format", "iceberg").value
	if c.format != "iceberg" {
		return c, list
	}
	if kind := get("catalog", "sql"); kind.value != "sql" {
		list = append(list, diag.Errorf(kind.pos, "sink %s: catalog %s is not supported yet", s.Name, kind.value).With("catalog: sql"))
		return c, list
	}
	uri := get("uri", "sqlite:"+repo.Folder+"/catalog.db")
	path, ok := strings.CutPrefix(uri.value, "sqlite:")
	if ok {
		// Also as SQLAlchemy writes it, three slashes before the path.
		path = strings.TrimPrefix(path, "///")
	}
	if !ok || path == "" || strings.HasPrefix(path, "//") {
		if len(list) == 0 {
			list = append(list, diag.Errorf(uri.pos, "sink %s: uri is %q, expected sqlite: and a path", s.Name, uri.value).
				With(`uri: "sqlite:%s/catalog.db"`, repo.Folder))
		}
		return c, list
	}
	c.database = within(l.Root, path)
	c.warehouse = within(l.Root, strings.TrimPrefix(get("warehouse", repo.Folder+"/warehouse").value, "file://"))
	return c, list
}

func within(root, path string) string {
	if filepath.IsAbs(path) {
		return filepath.Clean(path)
	}
	return filepath.Join(root, filepath.FromSlash(path))
}

// expand puts the caller's variables in place of ${env:NAME}. What it gives never goes into a lock, a fingerprint or a message.
func (a *app) expand(o option) (string, *diag.Error) {
	var b strings.Builder
	rest := o.value
	for {
		before, after, found := strings.Cut(rest, "${env:")
		b.WriteString(before)
		if !found {
			return b.String(), nil
		}
		name, tail, closed := strings.Cut(after, "}")
		if !closed {
			return "", diag.Errorf(o.pos, "${env: has no }")
		}
		value, set := a.lookup(name)
		if !set {
			return "", diag.Errorf(o.pos, "the variable %s is not set", name).With("export %s=...", name)
		}
		b.WriteString(value)
		rest = tail
	}
}

func (a *app) lookup(name string) (string, bool) {
	for _, v := range slices.Backward(a.env.Environ) {
		if k, value, ok := strings.Cut(v, "="); ok && k == name {
			return value, true
		}
	}
	return "", false
}

// readLocal reads the overrides of pipe.local.yaml, by sink and key; nothing if there is no such file.
func readLocal(d *definition) (map[string]map[string]option, error) {
	data, err := os.ReadFile(filepath.Join(d.layout.Root, repo.LocalFile))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, &diag.Error{Exit: diag.Usage, Pos: diag.Pos{File: repo.LocalFile}, Msg: err.Error(), Err: err}
	}
	r := localReader{lines: strings.Split(string(data), "\n"), sinks: d.graph.Sinks}
	var doc yaml.Node
	if err := yaml.Unmarshal(data, &doc); err != nil {
		return nil, diag.Errorf(diag.Pos{File: repo.LocalFile}, "not YAML: %s", strings.TrimPrefix(err.Error(), "yaml: "))
	}
	if len(doc.Content) == 0 {
		return nil, nil
	}
	out := r.file(doc.Content[0])
	return out, r.list.Err()
}

// localReader reads the nodes of pipe.local.yaml and collects what is wrong with them.
type localReader struct {
	lines []string
	sinks map[string]*pipeline.Sink
	list  diag.List
}

// sinkKeys are the options that a machine may have of its own.
var sinkKeys = []string{"catalog", "format", "location", "uri", "warehouse"}

func (r *localReader) file(top *yaml.Node) map[string]map[string]option {
	out := map[string]map[string]option{}
	r.each(top, "a map with the key sinks", func(key, value *yaml.Node) {
		if key.Value != "sinks" {
			r.mistake(key, "unknown key %q, expected sinks", key.Value).suggest(key.Value, []string{"sinks"})
			return
		}
		r.each(value, "a map of sinks", func(key, value *yaml.Node) {
			if r.sinks[key.Value] == nil {
				names := slices.Sorted(maps.Keys(r.sinks))
				r.mistake(key, "%s has no sink %q", repo.PipelineFile, key.Value).suggest(key.Value, names)
				return
			}
			options := map[string]option{}
			r.each(value, "a map of options", func(k, v *yaml.Node) {
				switch {
				case !slices.Contains(sinkKeys, k.Value):
					r.mistake(k, "unknown key %q of a sink", k.Value).suggest(k.Value, sinkKeys)
				case v.Kind != yaml.ScalarNode:
					r.mistake(v, "expected a text")
				default:
					options[k.Value] = option{v.Value, r.pos(v)}
				}
			})
			out[key.Value] = options
		})
	})
	return out
}

// each calls do for the entries of a map, and reports another kind of node and keys that stand twice.
func (r *localReader) each(n *yaml.Node, expected string, do func(key, value *yaml.Node)) {
	if n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	if n.Kind != yaml.MappingNode {
		r.mistake(n, "expected %s", expected)
		return
	}
	seen := map[string]bool{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key := n.Content[i]
		if seen[key.Value] {
			r.mistake(key, "the key %q stands twice", key.Value)
			continue
		}
		seen[key.Value] = true
		do(key, n.Content[i+1])
	}
}

func (r *localReader) pos(n *yaml.Node) diag.Pos {
	return diag.Pos{File: repo.LocalFile, Line: n.Line, Col: n.Column}
}

type localError struct{ *diag.Error }

func (r *localReader) mistake(n *yaml.Node, format string, args ...any) localError {
	e := diag.Errorf(r.pos(n), format, args...)
	if n.Line >= 1 && n.Line <= len(r.lines) {
		e.Line, e.Width = r.lines[n.Line-1], len(n.Value)
	}
	r.list = append(r.list, e)
	return localError{e}
}

func (e localError) suggest(word string, words []string) {
	if c := diag.Closest(word, words); c != "" {
		e.Hint = "did you mean " + c + "?"
	} else if len(words) > 0 {
		e.Hint = "there are: " + strings.Join(words, ", ")
	}
}
