package command

import (
	"bytes"
	"context"
	"errors"
	"iter"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/google/go-cmp/cmp"

	"pipe/internal/diag"
	"pipe/pipeline"
	"pipe/pipeline/schema"
	"pipe/stages"
)

func opt(name string, t arrow.DataType) arrow.Field {
	return arrow.Field{Name: name, Type: t, Nullable: true}
}

var events = arrow.NewSchema([]arrow.Field{
	opt("id", arrow.PrimitiveTypes.Int64), opt("kind", arrow.BinaryTypes.String),
}, nil)

func batch(t *testing.T, s *arrow.Schema, json string) arrow.RecordBatch {
	t.Helper()
	rec, _, err := array.RecordFromJSON(memory.DefaultAllocator, s, strings.NewReader(json))
	if err != nil {
		t.Fatal(err)
	}
	return rec
}

// all gives the batches the way that a sink does.
func all(batches ...arrow.RecordBatch) iter.Seq2[arrow.RecordBatch, error] {
	return func(yield func(arrow.RecordBatch, error) bool) {
		for _, b := range batches {
			b.Retain()
			if !yield(b, nil) {
				return
			}
		}
	}
}

func parquetFile(t *testing.T, path string, s *arrow.Schema, batches ...arrow.RecordBatch) string {
	t.Helper()
	var b bytes.Buffer
	if err := writeParquet(&b, s, all(batches...)); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, b.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

func (g *given) in(dep pipeline.Dep, s *arrow.Schema, files []string, exact bool, batches ...arrow.RecordBatch) {
	g.Tables = append(g.Tables, stages.TableIn{
		Dep: dep,
		Scan: func(context.Context) (*arrow.Schema, iter.Seq2[arrow.RecordBatch, error], error) {
			return s, all(batches...), nil
		},
		Files: func(context.Context) ([]string, bool, error) { return files, exact, nil },
	})
}

func (g *given) sees(t *testing.T, name string, want ...string) {
	t.Helper()
	if diff := cmp.Diff(want, g.tables[name].rows); diff != "" {
		t.Errorf("rows of %s:\n%s", name, diff)
	}
}

func TestExactParquetFilesAreLent(t *testing.T) {
	dir := t.TempDir()
	f1 := parquetFile(t, filepath.Join(dir, "b.parquet"), events, batch(t, events, `[{"id": 1, "kind": "x"}]`))
	f2 := parquetFile(t, filepath.Join(dir, "a.parquet"), events, batch(t, events, `[{"id": 2, "kind": null}]`))
	g := stage(t, `ls "$PIPE_IN_PROD_EVENTS"; cp "$PIPE_IN_PROD_EVENTS"/*.parquet "$PIPE_OUT_PROD_COPY"`)
	g.in(pipeline.Dep{Table: "prod.events"}, events, []string{f1, f2}, true)
	g.out("prod.copy")
	g.Threads = 1
	g.ok(t)
	if g.log.String() != "part-00000.parquet\npart-00001.parquet\n" {
		t.Errorf("the program saw %q", g.log)
	}
	g.sees(t, "prod.copy", "id=1 kind=x", "id=2 kind=NULL")
	lent, err := os.Stat(filepath.Join(g.Scratch, "in", "PROD_EVENTS", "part-00000.parquet"))
	if err != nil {
		t.Fatal(err)
	}
	own, err := os.Stat(f1)
	if err != nil || !os.SameFile(lent, own) || own.Mode().Perm() != 0o444 {
		t.Errorf("not the table's own file, read-only: %v %v", own.Mode(), err)
	}
}

func TestInexactFilesOrSomeColumnsAreWrittenAnew(t *testing.T) {
	narrow := arrow.NewSchema(events.Fields()[:1], nil)
	f := parquetFile(t, filepath.Join(t.TempDir(), "a.parquet"), events, batch(t, events, `[{"id": 1}, {"id": 2}]`))
	for _, c := range []struct {
		name  string
		dep   pipeline.Dep
		exact bool
	}{
		{"deletes apply", pipeline.Dep{Table: "a.b"}, false},
		{"some columns", pipeline.Dep{Table: "a.b", Columns: []string{"id"}}, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			g := stage(t, `cp "$PIPE_IN_A_B"/part-00000.parquet "$PIPE_OUT_C_D"`)
			g.in(c.dep, narrow, []string{f}, c.exact, batch(t, narrow, `[{"id": 2}]`))
			g.out("c.d")
			g.ok(t)
			g.sees(t, "c.d", "id=2")
		})
	}
}

func TestAnEmptyTableHasAFileToo(t *testing.T) {
	g := stage(t, `cp "$PIPE_IN_A_B"/*.parquet "$PIPE_OUT_C_D"`)
	g.in(pipeline.Dep{Table: "a.b"}, events, nil, true)
	g.out("c.d")
	g.ok(t)
	g.sees(t, "c.d")
	if got := g.tables["c.d"].schema; got == nil || got.NumFields() != 2 || got.Field(1).Name != "kind" {
		t.Errorf("columns %v", got)
	}
}

func TestAProgramThatWritesIntoALentFileIsFoundOut(t *testing.T) {
	for _, c := range []struct{ name, script string }{
		{"longer", `echo more >> "$PIPE_IN_A_B"/part-00000.parquet`},
		{"as long as before", `printf X | dd conv=notrunc status=none of="$PIPE_IN_A_B"/part-00000.parquet`},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := parquetFile(t, filepath.Join(t.TempDir(), "a.parquet"), events, batch(t, events, `[{"id": 1}]`))
			g := stage(t, `chmod +w "$PIPE_IN_A_B"/*; `+c.script)
			g.in(pipeline.Dep{Table: "a.b"}, events, []string{f}, true)
			err := g.do(t)
			if diag.ExitOf(err) != diag.Broken || !strings.Contains(err.Error(), "the program changed a file of the table a.b: "+f) {
				t.Errorf("got %v", err)
			}
		})
	}
}

func TestArrowBothWays(t *testing.T) {
	g := stage(t, `cp "$PIPE_IN_A_B" "$PIPE_OUT_C_D"/x.arrow`)
	g.in(pipeline.Dep{Table: "a.b", Format: "arrow"}, events, nil, false, batch(t, events, `[{"id": 1, "kind": "x"}]`), batch(t, events, `[{"id": 2, "kind": "y"}]`))
	g.out("c.d")
	g.ok(t)
	g.sees(t, "c.d", "id=1 kind=x", "id=2 kind=y")
}

func TestAnArrowStreamIsReadToo(t *testing.T) {
	var b bytes.Buffer
	w := ipc.NewWriter(&b, ipc.WithSchema(events))
	if err := w.Write(batch(t, events, `[{"id": 7, "kind": "s"}]`)); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	g := stage(t, `cp stream "$PIPE_OUT_C_D"/x.arrow`)
	if err := os.WriteFile(filepath.Join(g.Root, "stream"), b.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
	g.out("c.d")
	g.ok(t)
	g.sees(t, "c.d", "id=7 kind=s")
}

func TestTextBothWays(t *testing.T) {
	for _, format := range []string{"csv", "jsonl"} {
		t.Run(format, func(t *testing.T) {
			g := stage(t, `cp "$PIPE_IN_A_B" "$PIPE_OUT_C_D"/x.`+format)
			g.in(pipeline.Dep{Table: "a.b", Format: format}, events, nil, false, batch(t, events, `[{"id": 1, "kind": "a,\"b\"\n"}, {"id": 2, "kind": null}, {"id": 3, "kind": ""}]`))
			g.out("c.d")
			g.ok(t)
			g.sees(t, "c.d", "id=1 kind=a,\"b\"\n", "id=2 kind=NULL", "id=3 kind=")
			if got := g.tables["c.d"].schema.Field(0).Type; got.ID() != arrow.INT64 {
				t.Errorf("id was inferred as %s", got)
			}
		})
	}
}

func TestTextIsReadAgainstTheDeclaredSchema(t *testing.T) {
	declared := &schema.Schema{Fields: []schema.Field{
		{Name: "zip", Type: schema.Type{Kind: schema.String}, Required: true},
		{Name: "n", Type: schema.Type{Kind: schema.Long}},
	}}
	g := stage(t, `printf 'zip,n\n01234,5\n' > "$PIPE_OUT_C_D/a.csv"`, `printf 'zip,n\n99,\n' | gzip > "$PIPE_OUT_C_D/b.csv.gz"`)
	g.out("c.d").Out.Schema = declared
	g.Threads = 1
	g.ok(t)
	g.sees(t, "c.d", "zip=01234 n=5", "zip=99 n=NULL")

	g = stage(t, `printf 'zip,n\n01234,five\n' > "$PIPE_OUT_C_D/a.csv"`)
	g.out("c.d").Out.Schema = declared
	err := g.do(t)
	e := diag.All(err)[0]
	if e.Pos.File != "$PIPE_OUT_C_D/a.csv" || e.Pos.Line != 2 || diag.ExitOf(err) != diag.Failed {
		t.Errorf("got %v", err)
	}
}

func TestSeveralFilesWiden(t *testing.T) {
	g := stage(t, `cd "$PIPE_OUT_C_D"; printf 'a,b\n1,x\n' > 1.csv; printf 'b,a\ny,2.5\n' > 2.csv`)
	g.out("c.d")
	g.Threads = 1
	g.ok(t)
	g.sees(t, "c.d", "a=1 b=x", "a=2.5 b=y")

	g = stage(t, `cd "$PIPE_OUT_C_D"; echo '{"a": 1}' > 1.jsonl; echo '{"a": 2, "b": "x"}' > 2.jsonl`)
	g.out("c.d")
	g.Threads = 1
	g.ok(t)
	g.sees(t, "c.d", "a=1 b=NULL", "a=2 b=x")
}

func TestFilesThatDoNotGoTogether(t *testing.T) {
	for _, c := range []struct{ name, script, want string }{
		{"no file", `true`, "made no file for table c.d in $PIPE_OUT_C_D"},
		{"foreign file", `touch x.txt part.csv _SUCCESS`, "$PIPE_OUT_C_D holds what is no file of rows: _SUCCESS, x.txt"},
		{"folder", `mkdir x.csv`, "$PIPE_OUT_C_D holds what is no file of rows: x.csv"},
		{"two kinds", `echo a > x.csv; echo '{}' > y.jsonl`, "$PIPE_OUT_C_D holds files of two kinds: x.csv and y.jsonl"},
		{"no Parquet", `echo a > x.parquet`, "$PIPE_OUT_C_D/x.parquet cannot be read as parquet: "},
		{"no Arrow", `echo a > x.arrow`, "$PIPE_OUT_C_D/x.arrow cannot be read as arrow: "},
		{"empty Arrow", `touch x.arrow`, "$PIPE_OUT_C_D/x.arrow cannot be read as arrow: "},
		{"types differ", `printf 'a\n1\n' > 1.csv; printf 'a\nx\n' > 2.csv`, `column "a" is long in $PIPE_OUT_C_D/1.csv and string in $PIPE_OUT_C_D/2.csv`},
		{"columns differ", `printf 'a,b\n1,2\n' > 1.csv; printf 'a\n1\n' > 2.csv`, `$PIPE_OUT_C_D/2.csv lacks the column "b", unlike $PIPE_OUT_C_D/1.csv`},
		{"one column more", `printf 'a\n1\n' > 1.csv; printf 'a,b\n1,2\n' > 2.csv`, `$PIPE_OUT_C_D/2.csv has a column "b", unlike $PIPE_OUT_C_D/1.csv`},
	} {
		t.Run(c.name, func(t *testing.T) {
			g := stage(t, `cd "$PIPE_OUT_C_D"; `+c.script)
			g.out("c.d").Out.Pos = diag.Pos{File: "pipeline.yaml", Line: 9, Col: 7}
			e := g.fails(t)
			if !strings.Contains(e.Msg, c.want) || e.Exit != diag.Failed || e.Hint == "" {
				t.Errorf("got exit %d, %q, hint %q", e.Exit, e.Msg, e.Hint)
			}
		})
	}
}

func TestFilesWithoutRowsMakeAnEmptyTable(t *testing.T) {
	g := stage(t, `echo a,b > "$PIPE_OUT_C_D"/x.csv`)
	g.out("c.d")
	g.ok(t)
	g.sees(t, "c.d")
	if got := g.tables["c.d"].schema; got == nil || got.NumFields() != 2 {
		t.Errorf("columns %v", got)
	}
}

func TestEveryOutIsLookedForBeforeTheFirstIsRead(t *testing.T) {
	g := stage(t, `echo a > "$PIPE_OUT_A_A"/x.csv`)
	g.out("a.a")
	g.out("b.b")
	if e := g.fails(t); e.Msg != "made no file for table b.b in $PIPE_OUT_B_B" {
		t.Errorf("got %q", e.Msg)
	}
	if g.tables["a.a"].schema != nil {
		t.Error("the first table was opened")
	}
}

func TestProgressCountsTheRowsOfAllOuts(t *testing.T) {
	f := parquetFile(t, filepath.Join(t.TempDir(), "a.parquet"), events, batch(t, events, `[{"id": 1}, {"id": 2}]`))
	g := stage(t, `for o in "$PIPE_OUT_A_A" "$PIPE_OUT_B_B"; do cp `+f+` "$o"; done`)
	g.out("a.a")
	g.out("b.b")
	var last int64
	g.Progress = func(rows int64) { last = rows }
	g.ok(t)
	if last != 4 {
		t.Errorf("told of %d rows, want 4", last)
	}
}

func TestErrorsOfTheSinkComeBackAsTheyAre(t *testing.T) {
	f := parquetFile(t, filepath.Join(t.TempDir(), "a.parquet"), events, batch(t, events, `[{"id": 1}]`))
	full := errors.New("no space left")
	g := stage(t, `cp `+f+` "$PIPE_OUT_A_A"`)
	g.out("a.a").Open = func(context.Context, *arrow.Schema) (stages.Writer, error) { return nil, full }
	if err := g.do(t); !errors.Is(err, full) {
		t.Errorf("got %v", err)
	}
	// A mismatch with the declared schema gets the stage and its place.
	g = stage(t, `cp `+f+` "$PIPE_OUT_A_A"`)
	g.out("a.a").Open = func(context.Context, *arrow.Schema) (stages.Writer, error) {
		return nil, diag.List{{Exit: diag.Failed, Msg: `column "kind" is not in the schema`}}
	}
	if e := g.fails(t); e.Pos.Line != 3 {
		t.Errorf("at %s", e.Pos)
	}
}

func TestVarName(t *testing.T) {
	for in, want := range map[string]string{"prod.events": "PROD_EVENTS", "a-b.c_d.E1": "A_B_C_D_E1"} {
		if got := VarName(in); got != want {
			t.Errorf("%s is %s, want %s", in, got, want)
		}
	}
}
