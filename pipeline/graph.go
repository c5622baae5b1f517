package pipeline

import (
	"path"
	"slices"
	"sort"
	"strings"

	"github.com/bmatcuk/doublestar/v4"
)

type tableName struct{ sink, table string }

// connect checks outs against each other, finds the edges, and puts the stages in order. It is linear in stages and edges.
func (l *loader) connect() {
	m := l.makers()
	l.edges(m)
	l.paramsMade(m)
	l.sortStages()
}

// makers is who makes which path.
type makers struct {
	paths  map[string]*Stage
	sorted []string // the paths, so that those below a folder stand together
}

// makers notes who makes what, and reports tables and paths that are made twice.
func (l *loader) makers() *makers {
	m := &makers{paths: map[string]*Stage{}}
	cases := map[tableName]string{}
	for _, s := range l.graph.Stages {
		for _, o := range s.Outs {
			if o.Table != "" {
				l.makesTable(s, o, cases)
				continue
			}
			if other := m.paths[o.Path]; other != nil {
				e := l.sourceOf(o.Pos).errorf(o.Pos, 0, "stages %s and %s both make %s", other.Name, s.Name, o.Path).With("give each stage an out of its own")
				if other == s {
					e.Msg, e.Hint = "stage "+s.Name+" makes "+o.Path+" twice", "remove one of them"
				}
				continue
			}
			m.paths[o.Path] = s
		}
	}
	m.sorted = sortedKeys(m.paths)
	for _, s := range l.graph.Stages {
		for _, o := range s.Outs {
			if o.Path == "" {
				continue
			}
			for dir := path.Dir(o.Path); dir != "." && dir != "/" && dir != ".."; dir = path.Dir(dir) {
				if other := m.paths[dir]; other != nil {
					l.sourceOf(o.Pos).errorf(o.Pos, 0, "the out %s of stage %s lies inside %s, which stage %s makes", o.Path, s.Name, dir, other.Name).
						With("move one of them elsewhere")
				}
			}
		}
	}
	return m
}

func (l *loader) makesTable(s *Stage, o Out, cases map[tableName]string) {
	k := tableName{o.Sink, o.Table}
	if other := l.graph.producers[k]; other != nil {
		e := l.sourceOf(o.Pos).errorf(o.Pos, 0, "stages %s and %s both make the table %s", other.Name, s.Name, o.Table).With("write to two tables, or do both in one stage")
		if other == s {
			e.Msg, e.Hint = "stage "+s.Name+" makes the table "+o.Table+" twice", "remove one of them"
		}
		return
	}
	l.graph.producers[k] = s
	l.sameButForCase(cases, o)
	if s.Always && o.Mode == Append {
		l.warn(o.Pos, "stage %s always runs and appends, so %s grows with each run", s.Name, o.Table).
			With("leave always out: a changed dep or param runs it too")
	}
}

// edges connects each dep to what makes it.
func (l *loader) edges(m *makers) {
	index := make(map[*Stage]int, len(l.graph.Stages))
	for i, s := range l.graph.Stages {
		index[s] = i
	}
	for _, s := range l.graph.Stages {
		var ups []*Stage
		seen := map[*Stage]bool{}
		add := func(p *Stage) {
			if !seen[p] {
				seen[p] = true
				ups = append(ups, p)
			}
		}
		for _, d := range s.Deps {
			if d.Table != "" {
				if p := l.graph.producers[tableName{d.Sink, d.Table}]; p == s && d.At == "" {
					l.sourceOf(d.Pos).errorf(d.Pos, 0, "stage %s reads the table %s that it makes", s.Name, d.Table).
						With("mode: append keeps the rows that are there; a stage does not read its own out")
				} else if p != nil && d.At == "" {
					add(p)
				}
				continue
			}
			for _, p := range m.of(d) {
				if p == s {
					l.ownDep(s, d)
					continue
				}
				add(p)
			}
			l.looksLikeTable(s, d)
		}
		if len(ups) == 0 {
			continue
		}
		sort.Slice(ups, func(i, j int) bool { return index[ups[i]] < index[ups[j]] })
		for _, p := range ups {
			l.graph.ups[s.Name] = append(l.graph.ups[s.Name], p.Name)
		}
	}
	for _, s := range l.graph.Stages {
		for _, up := range l.graph.ups[s.Name] {
			l.graph.downs[up] = append(l.graph.downs[up], s.Name)
		}
	}
}

// ownDep reports a dep that a stage's own out would change.
func (l *loader) ownDep(s *Stage, d Dep) {
	for _, o := range s.Outs {
		if o.Path == d.Path {
			l.sourceOf(d.Pos).errorf(d.Pos, 0, "stage %s has %s both as dep and as out", s.Name, d.Path).With("leave it out of deps")
			return
		}
	}
	l.sourceOf(d.Pos).errorf(d.Pos, 0, "the dep %s of stage %s overlaps with an out of its own", d.Path, s.Name).
		With("name the files that the stage reads, or move the out elsewhere")
}

// looksLikeTable warns of a path that is the name of a table.
func (l *loader) looksLikeTable(s *Stage, d Dep) {
	if l.graph.producers[tableName{l.defaults.sink, d.Path}] != nil {
		l.warn(d.Pos, "the dep %s of stage %s is the path of a file, and also the name of a table", d.Path, s.Name).With("for the table write {table: %s}", d.Path)
	}
}

// of gives the stages whose file outs a dep is, lies under, contains or matches; one may come twice.
func (m *makers) of(d Dep) []*Stage {
	var out []*Stage
	base, pattern := d.Path, []string(nil)
	if d.Glob {
		b, rest := doublestar.SplitPattern(d.Path)
		base, pattern = b, strings.Split(rest, "/")
	}
	for at := base; at != "." && at != "/" && at != ".."; at = path.Dir(at) {
		if p := m.paths[at]; p != nil {
			out = append(out, p)
		}
	}
	prefix := base + "/"
	if base == "." {
		prefix = ""
	}
	for i := sort.SearchStrings(m.sorted, prefix); i < len(m.sorted) && strings.HasPrefix(m.sorted[i], prefix); i++ {
		p := m.sorted[i]
		if pattern == nil || reaches(pattern, strings.Split(p[len(prefix):], "/")) {
			out = append(out, m.paths[p])
		}
	}
	return out
}

// reaches reports whether a pattern can match the path of an out, a folder above it, or something below it: an out without an
// extension may be a folder.
func reaches(pattern, p []string) bool {
	file := strings.LastIndexByte(p[len(p)-1], '.') > 0
	for i, part := range p {
		switch {
		case i == len(pattern):
			return true
		case strings.Count(pattern[i], "{") != strings.Count(pattern[i], "}"):
			return true // alternatives that hold slashes; an edge too many does less harm than one too few
		case pattern[i] == "**":
			ok, err := doublestar.Match(strings.Join(pattern[i:], "/"), strings.Join(p[i:], "/"))
			return !file || ok || err != nil
		}
		if ok, err := doublestar.Match(pattern[i], part); err != nil || !ok {
			return false
		}
	}
	return len(p) == len(pattern) || !file
}

// paramsMade reports params files that are not there, and those that a stage makes: they are read before anything runs.
func (l *loader) paramsMade(m *makers) {
	maker := func(file string) *Stage {
		for at := file; at != "." && at != "/"; at = path.Dir(at) {
			if s := m.paths[at]; s != nil {
				return s
			}
		}
		return nil
	}
	for _, a := range l.absent {
		if s := maker(a.name); s != nil {
			l.errorAt(a.asked, "%s is made by stage %s: not supported yet", a.name, s.Name).With("name it in deps and read it in the stage")
		} else {
			l.errorAt(a.asked, "%s does not exist", a.name).With("write it, or remove it here")
		}
	}
	for _, file := range l.graph.Files {
		s := maker(file)
		if s == nil {
			continue
		}
		i := slices.IndexFunc(s.Outs, func(o Out) bool { return o.Path == file || strings.HasPrefix(file, o.Path+"/") && o.Path != "" })
		pos := s.Outs[i].Pos
		l.sourceOf(pos).errorf(pos, 0, "%s is made by stage %s and holds params that are read before: not supported yet", file, s.Name).
			With("name it in deps and read it in the stage")
	}
}

// sortStages puts each stage after what it needs, depth first in file order, and reports cycles.
func (l *loader) sortStages() {
	const (
		open = 1
		done = 2
	)
	state := make(map[string]int, len(l.graph.Stages))
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
				l.cycle(trail[slices.Index(trail, up):])
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

// cycle reports stages each of which needs the next, and the last the first.
func (l *loader) cycle(needs []string) {
	names := slices.Clone(needs)
	last := names[len(names)-1]
	slices.Reverse(names) // from what is made to what needs it, as the user thinks of it
	names = append(names, names[0])
	const shown = 12 // of a long cycle
	if len(names) > shown {
		names = append(append(names[:shown/2:shown/2], "..."), names[len(names)-shown/2:]...)
	}
	pos := l.graph.byName[last].Pos
	l.sourceOf(pos).errorf(pos, 0, "a cycle: %s", strings.Join(names, " -> ")).With("break it: no stage may need what is made from its own out")
}
