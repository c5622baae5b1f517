package pipeline

import (
	"path"
	"sort"
	"strings"

	"github.com/bmatcuk/doublestar/v4"

	"pipe/internal/diag"
)

type tableName struct{ sink, table string }

// connect checks outs against each other, finds the edges, and puts the stages in order.
func (l *loader) connect() {
	paths := l.ownOuts()
	l.edges(paths)
	l.sortStages()
}

// ownOuts notes who makes what, and reports tables and paths that two stages make.
func (l *loader) ownOuts() map[string]*Stage {
	paths := map[string]*Stage{}
	for _, s := range l.graph.Stages {
		for _, o := range s.Outs {
			if o.Table != "" {
				k := tableName{o.Sink, o.Table}
				if other := l.graph.producers[k]; other != nil {
					l.src.errorf(o.Pos, 0, "stages %s and %s both make the table %s", other.Name, s.Name, o.Table).With("write to two tables, or do both in one stage")
					continue
				}
				l.graph.producers[k] = s
				if s.Always && o.Mode == Append {
					e := diag.Errorf(o.Pos, "stage %s always runs and appends, so %s grows with each run", s.Name, o.Table)
					e.Line = l.src.line(o.Pos.Line)
					l.graph.Warn = append(l.graph.Warn, e)
				}
				continue
			}
			if other := paths[o.Path]; other != nil {
				l.src.errorf(o.Pos, 0, "stages %s and %s both make %s", other.Name, s.Name, o.Path).With("give each stage an out of its own")
				continue
			}
			paths[o.Path] = s
		}
	}
	for _, s := range l.graph.Stages {
		for _, o := range s.Outs {
			if o.Path == "" {
				continue
			}
			for dir := path.Dir(o.Path); dir != "." && dir != "/"; dir = path.Dir(dir) {
				if other := paths[dir]; other != nil {
					l.src.errorf(o.Pos, 0, "the out %s of stage %s lies inside %s, which stage %s makes", o.Path, s.Name, dir, other.Name).With("move one of them elsewhere")
				}
			}
		}
	}
	return paths
}

// edges connects each dep to what makes it.
func (l *loader) edges(paths map[string]*Stage) {
	sorted := sortedKeys(paths)
	index := map[string]int{}
	for i, s := range l.graph.Stages {
		index[s.Name] = i
	}
	for _, s := range l.graph.Stages {
		ups := map[string]bool{}
		for _, d := range s.Deps {
			if d.Table != "" {
				if p := l.graph.producers[tableName{d.Sink, d.Table}]; p != nil && d.At == "" {
					if p == s {
						l.src.errorf(d.Pos, 0, "stage %s reads the table %s that it makes", s.Name, d.Table).With("mode: append keeps the rows that are there; a stage does not read its own out")
						continue
					}
					ups[p.Name] = true
				}
				continue
			}
			for _, p := range l.makers(d, paths, sorted) {
				if p == s {
					l.src.errorf(d.Pos, 0, "stage %s has %s both as dep and as out", s.Name, d.Path).With("leave it out of deps")
					continue
				}
				ups[p.Name] = true
			}
		}
		for _, p := range s.Params {
			if m := paths[p.File]; m != nil && m != s {
				l.src.errorf(p.Pos, 0, "the params file %s is made by stage %s: not supported yet", p.File, m.Name).With("name it in deps and read it in the stage")
			}
		}
		list := make([]string, 0, len(ups))
		for up := range ups {
			list = append(list, up)
		}
		sort.Slice(list, func(i, j int) bool { return index[list[i]] < index[list[j]] })
		if len(list) > 0 {
			l.graph.ups[s.Name] = list
		}
	}
	for _, s := range l.graph.Stages {
		for _, up := range l.graph.ups[s.Name] {
			l.graph.downs[up] = append(l.graph.downs[up], s.Name)
		}
	}
}

// makers gives the stages whose file outs a dep is, lies under, contains or matches.
func (l *loader) makers(d Dep, paths map[string]*Stage, sorted []string) []*Stage {
	var out []*Stage
	if d.Glob {
		for _, p := range sorted {
			if ok, err := doublestar.Match(d.Path, p); err == nil && ok {
				out = append(out, paths[p])
			}
		}
		return out
	}
	for at := d.Path; at != "." && at != "/"; at = path.Dir(at) {
		if p := paths[at]; p != nil {
			out = append(out, p)
		}
	}
	prefix := d.Path + "/"
	if d.Path == "." {
		prefix = ""
	}
	for i := sort.SearchStrings(sorted, prefix); i < len(sorted) && strings.HasPrefix(sorted[i], prefix); i++ {
		out = append(out, paths[sorted[i]])
	}
	return out
}

// sortStages puts each stage after what it needs, depth first in file order, and reports cycles.
func (l *loader) sortStages() {
	const (
		open = 1
		done = 2
	)
	state := map[string]int{}
	var trail []string
	var visit func(name string)
	visit = func(name string) {
		state[name] = open
		trail = append(trail, name)
		for _, up := range l.graph.ups[name] {
			switch state[up] {
			case 0:
				visit(up)
			case open:
				i := len(trail) - 1
				for trail[i] != up {
					i--
				}
				// From what is made to what needs it, as the user thinks of it.
				cycle := append([]string(nil), trail[i:]...)
				for a, b := 0, len(cycle)-1; a < b; a, b = a+1, b-1 {
					cycle[a], cycle[b] = cycle[b], cycle[a]
				}
				cycle = append(cycle, cycle[0])
				l.src.errorf(l.graph.byName[name].Pos, len(name), "a cycle: %s", strings.Join(cycle, " -> ")).With("break it: no stage may need what is made from its own out")
			}
		}
		trail = trail[:len(trail)-1]
		state[name] = done
		l.graph.order = append(l.graph.order, name)
	}
	for _, s := range l.graph.Stages {
		if state[s.Name] == 0 {
			visit(s.Name)
		}
	}
}
