package run

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/fstest"

	"pgregory.net/rapid"

	"pipe/pipeline"
)

// graph loads stages given as "name: deps...", each making a file of its own name.
func graph(t interface{ Fatalf(string, ...any) }, lines ...string) *pipeline.Graph {
	var b strings.Builder
	b.WriteString("stages:\n")
	for _, l := range lines {
		name, deps, _ := strings.Cut(l, ":")
		fmt.Fprintf(&b, "  %s:\n    cmd: make it\n    outs: [%s.out]\n", name, name)
		if d := strings.Fields(deps); len(d) > 0 {
			fmt.Fprintf(&b, "    deps: [%s.out]\n", strings.Join(d, ".out, "))
		}
	}
	g, err := pipeline.Load(fstest.MapFS{"pipeline.yaml": {Data: []byte(b.String())}}, "pipeline.yaml")
	if err != nil {
		t.Fatalf("%s\n%v", b.String(), err)
	}
	return g
}

func all(g *pipeline.Graph) map[string]bool {
	m := map[string]bool{}
	for _, s := range g.Stages {
		m[s.Name] = true
	}
	return m
}

func outcomes(rs []StageResult) string {
	var out []string
	for _, r := range rs {
		out = append(out, r.Name+" "+string(r.Outcome))
	}
	return strings.Join(out, ", ")
}

var diamond = []string{"a:", "b: a", "c: a", "d: b c", "x:"}

func TestSchedule(t *testing.T) {
	broken := errors.New("broken")
	tests := []struct {
		name      string
		graph     []string
		fails     string
		keepGoing bool
		want      string
		order     string
	}{
		{"file order with one job", diamond, "", false, "a ran, b ran, c ran, d ran, x ran", "a b c d x"},
		{"nothing starts after a failure", diamond, "b", false, "a ran, b failed", "a b"},
		{"keep going skips only what hangs below", diamond, "b", true, "a ran, b failed, c ran, d skipped, x ran", "a b c x"},
		{"a chain is skipped to its end", []string{"a:", "b: a", "c: b"}, "a", true, "a failed, b skipped, c skipped", "a"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			g := graph(t, tt.graph...)
			var order []string
			roots := map[string]string{}
			got := schedule(t.Context(), g, all(g), 1, tt.keepGoing, func(_ context.Context, s *pipeline.Stage) *StageResult {
				order = append(order, s.Name)
				if s.Name == tt.fails {
					return &StageResult{Name: s.Name, Outcome: Failed, Err: broken}
				}
				return &StageResult{Name: s.Name, Outcome: Ran}
			}, func(s *pipeline.Stage, root string) *StageResult {
				roots[s.Name] = root
				return &StageResult{Name: s.Name, Outcome: Skipped}
			})
			if o := outcomes(got); o != tt.want {
				t.Errorf("outcomes: %s\nwant:     %s", o, tt.want)
			}
			if o := strings.Join(order, " "); o != tt.order {
				t.Errorf("order %s, want %s", o, tt.order)
			}
			for s, root := range roots {
				if root != tt.fails {
					t.Errorf("%s was skipped because of %s, want the stage that failed first, %s", s, root, tt.fails)
				}
			}
		})
	}
}

// Two independent stages that wait for each other end only if both are in the air at once.
func TestScheduleRunsSideBySide(t *testing.T) {
	g := graph(t, "a:", "b:")
	var meet sync.WaitGroup
	meet.Add(2)
	got := schedule(t.Context(), g, all(g), 2, false, func(_ context.Context, s *pipeline.Stage) *StageResult {
		meet.Done()
		meet.Wait()
		return &StageResult{Name: s.Name, Outcome: Ran}
	}, nil)
	if o := outcomes(got); o != "a ran, b ran" {
		t.Error(o)
	}
}

// After a cancel the running stage finishes and is reported; nothing new starts.
func TestScheduleCancelled(t *testing.T) {
	g := graph(t, "a:", "b: a", "c:")
	ctx, cancel := context.WithCancel(t.Context())
	got := schedule(ctx, g, all(g), 1, false, func(_ context.Context, s *pipeline.Stage) *StageResult {
		cancel()
		return &StageResult{Name: s.Name, Outcome: Ran}
	}, nil)
	if o := outcomes(got); o != "a ran" {
		t.Error(o)
	}
}

// On any graph and at any -j each stage runs once, after all above it, and never more than -j at once.
func TestScheduleOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 12).Draw(t, "stages")
		var lines []string
		for i := range n {
			l := fmt.Sprintf("s%d:", i)
			for j := range i {
				if rapid.IntRange(0, 3).Draw(t, "edge") == 0 {
					l += fmt.Sprintf(" s%d", j)
				}
			}
			lines = append(lines, l)
		}
		g := graph(t, lines...)
		jobs := rapid.IntRange(1, 4).Draw(t, "jobs")
		var mu sync.Mutex
		var done []string
		running, most := 0, 0
		schedule(context.Background(), g, all(g), jobs, false, func(_ context.Context, s *pipeline.Stage) *StageResult {
			mu.Lock()
			running++
			most = max(most, running)
			for _, up := range g.Upstream(s.Name) {
				if !slices.Contains(done, up) {
					t.Errorf("%s ran before %s", s.Name, up)
				}
			}
			mu.Unlock()
			mu.Lock()
			running--
			done = append(done, s.Name)
			mu.Unlock()
			return &StageResult{Name: s.Name, Outcome: Ran}
		}, nil)
		slices.Sort(done)
		if len(slices.Compact(done)) != n || most > jobs {
			t.Errorf("%d of %d stages ran, %d at once with -j %d", len(done), n, most, jobs)
		}
	})
}
