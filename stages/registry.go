package stages

import (
	"fmt"
	"sort"
	"strings"

	"pipe/internal/diag"
	"pipe/pipeline"
)

// Registry holds the kinds that a program knows, by the name that stands in pipeline.yaml: "cmd", or what follows use:.
type Registry map[string]Kind

// Check reports every stage of a graph whose kind is unknown, and all that the kinds themselves find wrong. Nothing is run, and
// nothing is changed.
func Check(g *pipeline.Graph, kinds map[string]Kind) diag.List {
	var all diag.List
	for _, s := range g.Stages {
		kind, ok := kinds[s.Kind]
		if !ok {
			all = append(all, unknownKind(s, kinds))
			continue
		}
		if kind.Check == nil {
			continue
		}
		for _, e := range kind.Check(s) {
			if e.Stage == "" {
				e.Stage = s.Name
			}
			all = append(all, e)
		}
	}
	all.Sort()
	return all
}

func unknownKind(s *pipeline.Stage, kinds map[string]Kind) *diag.Error {
	var names []string
	for name := range kinds {
		if name != "cmd" && name != "sql" { // keys of their own, never after use:
			names = append(names, name)
		}
	}
	sort.Strings(names)
	e := &diag.Error{
		Exit: diag.Usage, Pos: s.Pos, Stage: s.Name,
		Msg: fmt.Sprintf("no stage kind is called %q", s.Kind), Width: len(s.Kind),
	}
	for _, leaf := range s.Def {
		if leaf.Name == "use" {
			e.Pos = leaf.Pos
		}
	}
	switch near := diag.Closest(s.Kind, names); {
	case near != "":
		e.Hint = fmt.Sprintf("did you mean %q?", near)
	case len(names) > 0:
		e.Hint = "there are " + strings.Join(names, ", ") + "; more come from a main of your own, see docs/go-stages.md"
	default:
		e.Hint = "kinds come from a main of your own, see docs/go-stages.md"
	}
	return e
}
