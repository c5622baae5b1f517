package stages

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"pipe/internal/diag"
	"pipe/pipeline"
)

func at(line, col int) diag.Pos { return diag.Pos{File: "pipeline.yaml", Line: line, Col: col} }

func TestCheckFindsUnknownKindsAndAsksTheKnown(t *testing.T) {
	kinds := Registry{
		"cmd":      {},
		"generate": {Check: func(s *pipeline.Stage) diag.List { return diag.List{diag.Errorf(at(2, 1), "rows is missing")} }},
		"ingest":   {},
	}
	g := &pipeline.Graph{Stages: []*pipeline.Stage{
		{Name: "a", Kind: "generat", Pos: at(9, 3), Def: []pipeline.Leaf{{Name: "use", Value: "generat", Pos: at(9, 10)}}},
		{Name: "b", Kind: "cmd"},
		{Name: "c", Kind: "generate"},
		{Name: "d", Kind: "spark", Pos: at(7, 3)},
	}}
	var got []string
	for _, e := range Check(g, kinds) {
		got = append(got, e.Stage+" "+e.Error()+" / "+e.Hint)
	}
	want := []string{
		"c pipeline.yaml:2:1: rows is missing / ",
		`d pipeline.yaml:7:3: no stage kind is called "spark" / there are generate, ingest; more come from a main of your own, see docs/go-stages.md`,
		`a pipeline.yaml:9:10: no stage kind is called "generat" / did you mean "generate"?`,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
