package command

import (
	"context"
	"path/filepath"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"

	"pipe/internal/conform"
	"pipe/sinks"
	"pipe/stages"
)

// asTable fits the rows into a table's columns, as a run does.
type asTable struct {
	plan *conform.Plan
	to   *table
}

func (w asTable) Write(ctx context.Context, b arrow.RecordBatch) error {
	fitted, err := w.plan.Batch(b)
	if err != nil {
		return err
	}
	defer fitted.Release()
	return w.to.Write(ctx, fitted)
}

// The values are those of testdata/pyarrow/make.py.
func TestWhatPyArrowWrites(t *testing.T) {
	for _, file := range []string{"every.parquet", "every.arrow", "stream.arrow"} {
		t.Run(file, func(t *testing.T) {
			path, err := filepath.Abs(filepath.Join("testdata", "pyarrow", file))
			if err != nil {
				t.Fatal(err)
			}
			g := stage(t, `cp "`+path+`" "$PIPE_OUT_A_B"`)
			g.out("a.b").Open = func(_ context.Context, s *arrow.Schema) (stages.Writer, error) {
				columns, err := sinks.FromArrow(s)
				if err != nil {
					return nil, err
				}
				plan, err := conform.New(s, sinks.ArrowSchema(columns))
				return asTable{plan, g.tables["a.b"]}, err
			}
			g.ok(t)
			const id = " uuid=00000000-0000-0000-0000-000000000001"
			g.sees(
				t, "a.b",
				"dict=a large=x view=x i8=1 u32=1 f32=1.5 half=1.5 dec=1.25 ns=2025-01-02T03:04:05.000006 utc=1970-01-01T00:00:00Z time=01:02:03.000000"+
					` list=[1,2] map=[{"key":"k","value":1}] struct={"a":1,"b":"x"}`+id+" bytes=eA==",
				"dict=b large=NULL view=NULL i8=2 u32=2 f32=NULL half=NULL dec=NULL ns=2025-01-02T03:04:05.000006 utc=1970-01-01T00:00:00.001Z time=01:02:03.000000"+
					" list=NULL map=NULL struct=NULL"+id+" bytes=NULL",
				"dict=NULL large=y view=y i8=NULL u32=3 f32=2 half=2 dec=-3 ns=2025-01-02T03:04:05.000006 utc=NULL time=01:02:03.000000"+
					` list=[] map=[] struct={"a":null,"b":"y"}`+id+" bytes=",
				"dict=a large=z view=longer than twelve bytes i8=-4 u32=4294967295 f32=3 half=3 dec=0.01 ns=2025-01-02T03:04:05.000006 utc=1970-01-01T00:00:00.002Z time=01:02:03.000000"+
					` list=[null] map=[{"key":"z","value":null}] struct={"a":3,"b":null}`+id+" bytes=eXo=",
			)
		})
	}
}
