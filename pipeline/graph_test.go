package pipeline_test

import (
	"fmt"
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"pipe/internal/diag"
	"pipe/pipeline"
)

// Row 36 of the conformance table: a diamond and an unrelated stage run depth first, independents in file order.
func TestOrderIsThatOfDVC(t *testing.T) {
	g := load(t, map[string]string{"pipeline.yaml": `
stages:
  D: {cmd: x, deps: [B.txt, C.txt], outs: [D.txt]}
  A: {cmd: x, deps: [in.txt], outs: [A.txt]}
  C: {cmd: x, deps: [A.txt], outs: [C.txt]}
  B: {cmd: x, deps: [A.txt], outs: [B.txt]}
  X: {cmd: x, outs: [X.txt]}
`})
	// D is first in the file, so all that it needs comes first, in file order; then what is left.
	if diff := cmp.Diff([]string{"A", "C", "B", "D", "X"}, g.Order()); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"C", "B"}, g.Upstream("D")); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"C", "B"}, g.Downstream("A")); diff != "" {
		t.Error(diff)
	}
	if g.Upstream("X") != nil || g.Downstream("X") != nil || g.Stage("nope") != nil || g.Producer("lake", "x.y") != nil {
		t.Error("a stage without edges has some")
	}
}

func TestEdges(t *testing.T) {
	for _, c := range []struct {
		name, out, dep string
		edge           bool
	}{
		{"same file", "a.csv", "a.csv", true},
		{"same file, written otherwise", "./d/../a.csv", "a.csv", true},
		{"file below a folder out", "d", "d/e/a.csv", true},
		{"folder that holds an out", "d/e/a.csv", "d", true},
		{"neighbour with the same beginning", "data", "database.csv", false},
		{"neighbour of a folder", "data-2/x", "data", false},
		{"glob over outs", "d/a.csv", "d/*.csv", true},
		{"glob of another kind", "d/a.csv", "d/*.json", false},
		{"glob into a folder out", "d", "d/*.csv", true},
		{"glob into a deeper folder out", "d/e", "d/**/*.csv", true},
		{"glob above a folder out", "d/e/f", "d/*", true},
		{"glob with two stars", "d/e/f/a.csv", "d/**/*.csv", true},
		{"glob with two stars of another kind", "src/out.csv", "src/**/*.py", false},
		{"glob one level too few", "d/e.csv", "d/*/x.csv", false},
		{"glob of alternatives", "d/b.csv", "d/{a,b}.csv", true},
		{"glob of other alternatives", "d/c.csv", "d/{a,b}.csv", false},
		{"glob from the root", "a.csv", "*.csv", true},
		{"absolute", "{path: /abs/a, cache: false}", "/abs/a/b", true},
		{"outside", "{path: ../a, cache: false}", "../a", true},
		{"table", "{table: a.b}", "{table: a.b}", true},
		{"pinned table", "{table: a.b}", "{table: a.b, at: 1}", false},
		{"table of another case", "{table: a.b}", "{table: a.B}", false},
		{"path with a table's name", "{table: a.b}", "a.b", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			quote := func(s string) string {
				if s[0] == '{' {
					return s
				}
				return "'" + s + "'"
			}
			g := load(t, map[string]string{"pipeline.yaml": "stages:\n  use: {cmd: x, deps: [" + quote(c.dep) + "]}\n  make: {cmd: x, outs: [" + quote(c.out) + "]}\n"})
			if got := slices.Equal(g.Upstream("use"), []string{"make"}); got != c.edge {
				t.Errorf("edge %v, want %v", got, c.edge)
			}
		})
	}
}

func TestAStageMayReadAPinnedSnapshotOfItsOwnTable(t *testing.T) {
	g := load(t, map[string]string{"pipeline.yaml": "stages:\n  s: {cmd: x, deps: [{table: a.b, at: 7}], outs: [{table: a.b}]}\n"})
	if g.Upstream("s") != nil {
		t.Errorf("%q", g.Upstream("s"))
	}
}

type drawnStage struct {
	name       string
	deps, outs []string // "t:a.b" is a table
}

// graphs draws stages whose outs are distinct files, folders or tables, and whose deps are outs, files below or folders above them.
func graphs() *rapid.Generator[[]drawnStage] {
	return rapid.Custom(func(t *rapid.T) []drawnStage {
		n := rapid.IntRange(1, 9).Draw(t, "stages")
		stages := make([]drawnStage, n)
		var all []string
		for i := range stages {
			stages[i].name = fmt.Sprintf("s%d", i)
			for j := range rapid.IntRange(0, 2).Draw(t, "outs") {
				out := rapid.SampledFrom([]string{"f%d_%d", "dir/g%d_%d", "dir/sub/h%d_%d", "t:ns.t%d_%d"}).Draw(t, "out")
				out = fmt.Sprintf(out, i, j)
				stages[i].outs = append(stages[i].outs, out)
				all = append(all, out)
			}
		}
		all = append(all, "elsewhere", "t:other.t")
		for i := range stages {
			for range rapid.IntRange(0, 3).Draw(t, "deps") {
				dep := rapid.SampledFrom(all).Draw(t, "dep")
				if dep[1] != ':' {
					switch rapid.IntRange(0, 3).Draw(t, "how") {
					case 0:
						dep += "/below"
					case 1:
						if d := path.Dir(dep); d != "." {
							dep = d
						}
					}
				}
				if !slices.Contains(stages[i].deps, dep) && !slices.ContainsFunc(stages[i].outs, func(o string) bool { return touches(dep, o) }) {
					stages[i].deps = append(stages[i].deps, dep)
				}
			}
		}
		return stages
	})
}

func touches(dep, out string) bool {
	return dep == out || strings.HasPrefix(dep, out+"/") || strings.HasPrefix(out, dep+"/")
}

func text(stages []drawnStage) string {
	item := func(s string) string {
		if table, ok := strings.CutPrefix(s, "t:"); ok {
			return "{table: " + table + "}"
		}
		return s
	}
	var b strings.Builder
	b.WriteString("stages:\n")
	for _, s := range stages {
		var deps, outs []string
		for _, d := range s.deps {
			deps = append(deps, item(d))
		}
		for _, o := range s.outs {
			outs = append(outs, item(o))
		}
		fmt.Fprintf(&b, "  %s: {use: x, deps: [%s], outs: [%s]}\n", s.name, strings.Join(deps, ", "), strings.Join(outs, ", "))
	}
	return b.String()
}

func TestAnyGraphIsOrderedOrHasACycle(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		stages := graphs().Draw(t, "graph")
		n := len(stages)
		// By hand: who needs whom, and who reaches whom.
		needs := make([][]bool, n)
		reach := make([][]bool, n)
		for i := range stages {
			needs[i], reach[i] = make([]bool, n), make([]bool, n)
			for j := range stages {
				for _, d := range stages[i].deps {
					for _, o := range stages[j].outs {
						needs[i][j] = needs[i][j] || touches(d, o)
					}
				}
				reach[i][j] = needs[i][j]
			}
		}
		for k := range n {
			for i := range n {
				for j := range n {
					reach[i][j] = reach[i][j] || reach[i][k] && reach[k][j]
				}
			}
		}
		cyclic := false
		for i := range n {
			cyclic = cyclic || reach[i][i]
		}

		g, err := pipeline.Load(project(map[string]string{"pipeline.yaml": text(stages)}), "pipeline.yaml")
		if (err != nil) != cyclic {
			t.Fatalf("a cycle: %v, but Load says %v", cyclic, err)
		}
		for _, e := range diag.All(err) {
			checkCycle(t, e.Msg, needs)
		}
		for i, s := range stages {
			var ups, downs []string
			for j := range stages {
				if needs[i][j] {
					ups = append(ups, stages[j].name)
				}
				if needs[j][i] {
					downs = append(downs, stages[j].name)
				}
			}
			if !slices.Equal(g.Upstream(s.name), ups) || !slices.Equal(g.Downstream(s.name), downs) {
				t.Fatalf("%s: upstream %q, want %q; downstream %q, want %q", s.name, g.Upstream(s.name), ups, g.Downstream(s.name), downs)
			}
		}
		if cyclic {
			return
		}
		var want []string
		var visit func(i int)
		visit = func(i int) {
			if slices.Contains(want, stages[i].name) {
				return
			}
			for j := range n {
				if needs[i][j] {
					visit(j)
				}
			}
			want = append(want, stages[i].name)
		}
		for i := range n {
			visit(i)
		}
		if diff := cmp.Diff(want, g.Order()); diff != "" {
			t.Fatal(diff)
		}
	})
}

// checkCycle follows "a cycle: a -> b -> a": each is needed by the next.
func checkCycle(t *rapid.T, msg string, needs [][]bool) {
	names, ok := strings.CutPrefix(msg, "a cycle: ")
	if !ok {
		t.Fatal(msg)
	}
	var at []int
	for _, name := range strings.Split(names, " -> ") {
		var i int
		if _, err := fmt.Sscanf(name, "s%d", &i); err != nil {
			t.Fatalf("%s: %v", msg, err)
		}
		at = append(at, i)
	}
	for i := 1; i < len(at); i++ {
		if !needs[at[i]][at[i-1]] {
			t.Fatalf("%s: s%d does not need s%d", msg, at[i], at[i-1])
		}
	}
	if len(at) < 2 || at[0] != at[len(at)-1] {
		t.Fatal(msg)
	}
}
