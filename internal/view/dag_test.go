package view_test

import (
	"strings"
	"testing"
	"testing/fstest"

	"pgregory.net/rapid"

	"pipe/internal/view"
	"pipe/pipeline"
)

func load(t interface{ Fatal(...any) }, text string) (*pipeline.Graph, map[string]bool) {
	g, err := pipeline.Load(fstest.MapFS{"pipeline.yaml": {Data: []byte(text)}}, "pipeline.yaml")
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]bool{}
	for _, n := range g.Order() {
		all[n] = true
	}
	return g, all
}

func TestDagOutsFollowWhatIsRead(t *testing.T) {
	for name, c := range map[string]struct{ deps, want string }{
		"one of two files": {"[b.csv]", "b.csv --> z\n"},
		"a table":          {"[{table: p.t}]", "p.t --> z\n"},
		"a folder's file":  {"[dir/x/y.txt]", "dir --> z\n"},
		"the folder above": {"[d2]", "d2/in --> z\n"},
		"a pattern":        {"['*.csv']", "a.csv --> z\nb.csv --> z\n"},
		"any depth":        {"['**/i?']", "d2/in --> z\n"},
	} {
		t.Run(name, func(t *testing.T) {
			g, all := load(t, "stages:\n  make: {cmd: echo, outs: [a.csv, b.csv, dir, d2/in, {table: p.t}]}\n  z: {cmd: echo, deps: "+c.deps+"}\n")
			got := draw(t, func(b *strings.Builder) error { return view.DagDot(b, view.Outs(g, all)) })
			var edges string
			for line := range strings.Lines(got) {
				if from, to, ok := strings.Cut(strings.TrimSpace(line), " -> "); ok {
					edges += strings.Trim(from, `"`) + " --> " + strings.Trim(to, `";`) + "\n"
				}
			}
			want(t, edges, c.want)
		})
	}
}

func TestDagQuotesNames(t *testing.T) {
	g, all := load(t, "stages:\n  a: {cmd: echo, outs: ['q\"uo.txt']}\n")
	drawing := view.Outs(g, all)
	want(t, draw(t, func(b *strings.Builder) error { return view.DagDot(b, drawing) }), "strict digraph {\n\t\"q\\\"uo.txt\";\n}\n")
	want(t, draw(t, func(b *strings.Builder) error { return view.DagMermaid(b, drawing) }), "flowchart TD\n\tnode1[\"q#quot;uo.txt\"]\n")
}

// TestDagTextDrawsEveryStageOnceAndEveryEdge reads the drawing of random graphs back.
func TestDagTextDrawsEveryStageOnceAndEveryEdge(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 12).Draw(t, "stages")
		var text strings.Builder
		edges := map[string]bool{}
		text.WriteString("stages:\n")
		for i := range n {
			name := string(rune('a' + i))
			text.WriteString("  " + name + ": {cmd: echo, outs: [" + name + ".txt], deps: [")
			for j := range i {
				if rapid.Bool().Draw(t, "edge") {
					up := string(rune('a' + j))
					text.WriteString(up + ".txt, ")
					edges[up+name] = true
				}
			}
			text.WriteString("in.txt]}\n")
		}
		g, all := load(t, text.String())
		var b strings.Builder
		if err := view.DagText(&b, view.Stages(g, all)); err != nil {
			t.Fatal(err)
		}
		whole := map[string]int{}
		var path []string
		for line := range strings.Lines(b.String()) {
			line = strings.TrimSuffix(line, "\n")
			runes := []rune(line)
			depth := 0
			for strings.ContainsRune(" │├└─", runes[depth*3]) {
				depth++
			}
			name, again := strings.CutSuffix(string(runes[depth*3:]), " ...")
			path = append(path[:depth], name)
			if depth > 0 {
				edge := path[depth-1] + name
				if !edges[edge] {
					t.Fatalf("edge %s is drawn twice or is none\n%s", edge, b.String())
				}
				delete(edges, edge)
			}
			if !again {
				whole[name]++
			}
		}
		if len(edges) > 0 {
			t.Fatalf("edges %v are not drawn\n%s", edges, b.String())
		}
		for name := range all {
			if whole[name] != 1 {
				t.Fatalf("stage %s is drawn %d times\n%s", name, whole[name], b.String())
			}
		}
	})
}
