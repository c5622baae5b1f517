package plan

import (
	"fmt"
	"path"
	"sort"
	"strings"

	"pipe/internal/diag"
	"pipe/pipeline"
)

// Selection says which stages a run is about, and what was asked for each.
type Selection struct {
	Stages  map[string]bool
	Force   map[string]bool
	Accept  map[string]bool
	NoReuse bool
	Targets map[string]bool // the targets themselves; empty: all
}

// Choice gives what was asked for one stage.
func (s Selection) Choice(stage string) Choice {
	return Choice{Force: s.Force[stage], Accept: s.Accept[stage], NoReuse: s.NoReuse}
}

// Request is a selection in the user's words.
type Request struct {
	Targets    []string
	Single     bool
	Downstream bool
	Force      bool
	NoReuse    bool
	Accept     []string
}

// Select resolves targets (stage, group, group@key, table, out path, pipeline.yaml:STAGE) to stages. An unknown one is an error
// with the closest names.
func Select(g *pipeline.Graph, r Request) (Selection, error) {
	sel := Selection{Stages: map[string]bool{}, Force: map[string]bool{}, Accept: map[string]bool{}, Targets: map[string]bool{}, NoReuse: r.NoReuse}
	var errs diag.List
	for _, t := range r.Targets {
		names, err := resolve(g, t)
		if err != nil {
			errs = append(errs, err)
		}
		for _, n := range names {
			sel.Targets[n] = true
		}
	}
	for _, t := range r.Accept {
		names, err := resolve(g, t)
		if err != nil {
			errs = append(errs, err)
		}
		for _, n := range names {
			sel.Accept[n] = true
		}
	}
	if err := errs.Err(); err != nil {
		return sel, err
	}
	next := g.Upstream
	if r.Downstream {
		next = g.Downstream
	}
	var grow func(n string)
	grow = func(n string) {
		if sel.Stages[n] {
			return
		}
		sel.Stages[n] = true
		if r.Single {
			return
		}
		// A frozen stage is not looked behind: what is above it stays as it is.
		if !r.Downstream && g.Stage(n).Frozen {
			return
		}
		for _, m := range next(n) {
			grow(m)
		}
	}
	for _, n := range g.Order() {
		if len(r.Targets) == 0 || sel.Targets[n] {
			grow(n)
		}
	}
	if r.Force {
		for n := range sel.Stages {
			// Rows are appended again only where the user named the append, or named nothing.
			if len(r.Targets) == 0 || sel.Targets[n] || !appends(g.Stage(n)) {
				sel.Force[n] = true
			}
		}
	}
	return sel, nil
}

func appends(s *pipeline.Stage) bool {
	for _, o := range s.Outs {
		if o.Table != "" && o.Mode == pipeline.Append {
			return true
		}
	}
	return false
}

func resolve(g *pipeline.Graph, target string) ([]string, *diag.Error) {
	name := strings.TrimPrefix(target, "pipeline.yaml:")
	if g.Stage(name) != nil {
		return []string{name}, nil
	}
	var group []string
	var words []string
	for _, s := range g.Stages {
		words = append(words, s.Name)
		if s.Group != "" && s.Group == name {
			group = append(group, s.Name)
		}
		for _, o := range s.Outs {
			if o.Table != "" {
				words = append(words, o.Table)
				if o.Table == target || (TableKey{o.Sink, o.Table}).String() == target {
					return []string{s.Name}, nil
				}
			} else {
				words = append(words, o.Path)
				if o.Path == path.Clean(target) {
					return []string{s.Name}, nil
				}
			}
		}
	}
	if len(group) > 0 {
		return group, nil
	}
	e := diag.Errorf(diag.Pos{}, "no stage, table or out is called %q", target)
	if c := diag.Closest(target, words); c != "" {
		return nil, e.With("did you mean %s?", c)
	}
	sort.Strings(words)
	if len(words) > 5 {
		words = append(words[:5], "...")
	}
	return nil, e.With("%s", fmt.Sprintf("there are: %s", strings.Join(words, ", ")))
}
