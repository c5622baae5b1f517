package generate

import (
	"context"
	"runtime"
	"sort"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"gopkg.in/yaml.v3"

	"pipe/internal/diag"
	"pipe/pipeline"
	"pipe/stages"
)

// value reads YAML as the loader does, as far as these tests need it.
func value(t testing.TB, n *yaml.Node) *pipeline.Value {
	t.Helper()
	v := &pipeline.Value{Text: n.Value, Pos: diag.Pos{File: "pipeline.yaml", Line: n.Line, Col: n.Column}}
	switch n.Kind {
	case yaml.DocumentNode:
		return value(t, n.Content[0])
	case yaml.MappingNode:
		v.Kind = pipeline.Map
		for i := 0; i < len(n.Content); i += 2 {
			k := n.Content[i]
			v.Keys = append(v.Keys, pipeline.Key{
				Name: k.Value, Pos: diag.Pos{File: "pipeline.yaml", Line: k.Line, Col: k.Column}, Value: value(t, n.Content[i+1]),
			})
		}
		return v
	case yaml.SequenceNode:
		v.Kind = pipeline.List
		for _, item := range n.Content {
			v.Items = append(v.Items, value(t, item))
		}
		return v
	}
	v.Kind = map[string]pipeline.ValueKind{
		"!!int": pipeline.Int, "!!float": pipeline.Float, "!!bool": pipeline.Bool, "!!null": pipeline.Null,
	}[n.ShortTag()]
	if v.Kind == pipeline.Null && n.ShortTag() != "!!null" {
		v.Kind = pipeline.String
	}
	return v
}

func stageOf(t testing.TB, with string) *pipeline.Stage {
	t.Helper()
	var n yaml.Node
	if err := yaml.Unmarshal([]byte(with), &n); err != nil {
		t.Fatal(err)
	}
	return &pipeline.Stage{
		Name: "s", Kind: "generate", With: value(t, &n), Pos: diag.Pos{File: "pipeline.yaml", Line: 1, Col: 1},
		Outs: []pipeline.Out{{Table: "a.b", Mode: pipeline.Append}},
	}
}

// rows keeps what was written, in any order.
type rows struct {
	mu     sync.Mutex
	schema *arrow.Schema
	cells  [][]string // by column
	sizes  []int64    // of the batches
	carry  string
}

func (w *rows) Write(_ context.Context, b arrow.RecordBatch) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.sizes = append(w.sizes, b.NumRows())
	for j, c := range b.Columns() {
		for i := range c.Len() {
			text := c.ValueStr(i)
			if c.IsNull(i) {
				text = "NULL"
			}
			w.cells[j] = append(w.cells[j], text)
		}
	}
	return nil
}

// lines gives the rows, sorted: tables have no order.
func (w *rows) lines() []string {
	if len(w.cells) == 0 {
		return nil
	}
	out := make([]string, len(w.cells[0]))
	for i := range out {
		var parts []string
		for j := range w.cells {
			parts = append(parts, w.cells[j][i])
		}
		out[i] = strings.Join(parts, " | ")
	}
	sort.Strings(out)
	return out
}

// make runs the stage with some threads, after what an earlier run carried on.
func generated(t testing.TB, with string, threads int, base string) *rows {
	t.Helper()
	w := &rows{}
	if err := Kind().Run(t.Context(), task(t, w, with, threads, base)); err != nil {
		t.Fatal(err)
	}
	return w
}

func task(t testing.TB, w *rows, with string, threads int, base string) *stages.Task {
	s := stageOf(t, with)
	out := &stages.TableOut{
		Out: s.Outs[0],
		Open: func(_ context.Context, sc *arrow.Schema) (stages.Writer, error) {
			w.schema, w.cells = sc, make([][]string, sc.NumFields())
			return w, nil
		},
		Carry: func(k, v string) { w.carry = k + "=" + v },
	}
	if base != "" {
		out.Base = map[string]string{"pipe.generated": base}
	}
	return &stages.Task{Stage: s, Outs: []*stages.TableOut{out}, Threads: threads}
}

const events = `{rows: %d, seed: 42, columns: {event_id: uuid, user_id: {int: [1000, 5000]}, event_type: {oneof: [login, click, purchase, logout]},
  event_timestamp: {timestamp: [2025-01-01, 2025-02-01]}, payload: {json: {page: {fake: url}, amount: {decimal: [1, 500, 2]}}}}}`

type nowhere struct{}

func (nowhere) Write(context.Context, arrow.RecordBatch) error { return nil }

func BenchmarkEvents(b *testing.B) {
	const n = 1 << 20
	t := task(b, &rows{}, strings.Replace(events, "%d", strconv.Itoa(n), 1), runtime.GOMAXPROCS(0), "")
	t.Outs[0].Open = func(context.Context, *arrow.Schema) (stages.Writer, error) { return nowhere{}, nil }
	for b.Loop() {
		if err := Kind().Run(b.Context(), t); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(n*float64(b.N)/b.Elapsed().Seconds()/1e6, "Mrows/s")
}
