package stages_test

import (
	"context"
	"iter"
	"os"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/google/go-cmp/cmp"

	"pipe/pipeline"
	"pipe/stages"
)

// What stands between the two lines is what docs/go-stages.md shows.
// doc: begin

// large keeps the rows whose amount is at least `min`.
func large() stages.Kind {
	return stages.Kind{Version: 1, Check: checkLarge, Run: runLarge}
}

func checkLarge(s *pipeline.Stage) stages.Problems {
	w := stages.Args(s)
	w.Need("min")
	w.Float("min", 0, 0, 1e12)
	if len(s.Deps) != 1 || s.Deps[0].Table == "" || len(s.Outs) != 1 || s.Outs[0].Table == "" {
		w.Errorf(nil, "large reads one table and makes one table").With("write deps: [{table: ...}] and outs: [{table: ...}]")
	}
	return w.Done()
}

func runLarge(ctx context.Context, t *stages.Task) error {
	least := stages.Args(t.Stage).Float("min", 0, 0, 1e12)
	_, rows, err := t.Tables[0].Scan(ctx)
	if err != nil {
		return err
	}
	columns := arrow.NewSchema([]arrow.Field{
		{Name: "id", Type: arrow.PrimitiveTypes.Int64},
		{Name: "amount", Type: arrow.PrimitiveTypes.Float64},
	}, nil)
	w, err := t.Outs[0].Open(ctx, columns) // exactly once for each out, also if no row follows
	if err != nil {
		return err
	}
	out := array.NewRecordBuilder(memory.DefaultAllocator, columns)
	defer out.Release()
	done := int64(0)
	for batch, err := range rows {
		if err != nil {
			return err
		}
		ids := batch.Column(0).(*array.Int64)
		amounts := batch.Column(1).(*array.Float64)
		for i := range ids.Len() {
			if amounts.IsValid(i) && amounts.Value(i) >= least {
				out.Field(0).(*array.Int64Builder).Append(ids.Value(i))
				out.Field(1).(*array.Float64Builder).Append(amounts.Value(i))
			}
		}
		done += batch.NumRows()
		batch.Release() // what Scan gives is the stage's to release
		made := out.NewRecordBatch()
		err := w.Write(ctx, made)
		made.Release() // what Write takes stays the stage's
		if err != nil {
			return err
		}
		t.Progress(done)
	}
	return nil
}

// doc: end

type rowsOf struct{ text []string }

func (r *rowsOf) Write(_ context.Context, b arrow.RecordBatch) error {
	for i := range int(b.NumRows()) {
		r.text = append(r.text, b.Column(0).ValueStr(i)+" "+b.Column(1).ValueStr(i))
	}
	return nil
}

func TestTheStageOfTheDocumentation(t *testing.T) {
	input := arrow.NewSchema([]arrow.Field{
		{Name: "id", Type: arrow.PrimitiveTypes.Int64}, {Name: "amount", Type: arrow.PrimitiveTypes.Float64, Nullable: true},
	}, nil)
	rec, _, err := array.RecordFromJSON(memory.DefaultAllocator, input, strings.NewReader(`[{"id": 1, "amount": 99.5}, {"id": 2, "amount": 100}, {"id": 3}]`))
	if err != nil {
		t.Fatal(err)
	}
	s := &pipeline.Stage{
		Name: "s", Kind: "large",
		Deps: []pipeline.Dep{{Table: "shop.orders"}}, Outs: []pipeline.Out{{Table: "shop.large"}},
		With: &pipeline.Value{Kind: pipeline.Map, Keys: []pipeline.Key{{Name: "min", Value: &pipeline.Value{Kind: pipeline.Int, Text: "100"}}}},
	}
	if all := stages.Check(&pipeline.Graph{Stages: []*pipeline.Stage{s}}, stages.Registry{"large": large()}); len(all) > 0 {
		t.Fatal(all)
	}
	var got rowsOf
	task := &stages.Task{
		Stage: s, Progress: func(int64) {},
		Tables: []stages.TableIn{{Scan: func(context.Context) (*arrow.Schema, iter.Seq2[arrow.RecordBatch, error], error) {
			return input, func(yield func(arrow.RecordBatch, error) bool) { yield(rec, nil) }, nil
		}}},
		Outs: []*stages.TableOut{{Open: func(context.Context, *arrow.Schema) (stages.Writer, error) { return &got, nil }}},
	}
	if err := large().Run(t.Context(), task); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"2 100"}, got.text); diff != "" {
		t.Error(diff)
	}

	s.Outs = nil
	all := large().Check(s)
	if len(all) != 1 || all[0].Msg != "large reads one table and makes one table" {
		t.Errorf("got %v", all)
	}
}

func TestTheDocumentationShowsCodeThatRuns(t *testing.T) {
	own, err := os.ReadFile("example_test.go")
	if err != nil {
		t.Fatal(err)
	}
	_, code, _ := strings.Cut(string(own), "// doc: begin\n\n")
	code, _, ok := strings.Cut(code, "\n// doc: end\n")
	if !ok {
		t.Fatal("no code between the lines")
	}
	doc, err := os.ReadFile("../docs/go-stages.md")
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(doc), code) {
		t.Error("docs/go-stages.md does not show the code between the lines of example_test.go")
	}
}
