// Package generate is the stage kind "generate": made-up rows for tests, examples and load.
//
//	use: generate
//	with:
//	  rows: 500
//	  seed: 42                                    # 0 if left out
//	  columns:
//	    id: uuid
//	    n: {seq: 1}                               # 1, 2, 3 ...
//	    user: {int: [1000, 5000]}                 # both ends are possible
//	    score: {float: [0, 1]}                    # from 0, below 1
//	    price: {decimal: [1, 500, 2]}             # two digits after the point, both ends are possible
//	    active: {bool: 0.3}                       # true in 3 of 10 rows
//	    kind: {oneof: [login, logout]}            # texts, numbers or booleans
//	    plan: {weighted: {free: 8, paid: 2}}      # texts
//	    at: {timestamp: [2025-01-01, 2025-02-01]} # from the first, before the second; microseconds, no zone
//	    day: {date: [2025-01-01, 2025-01-31]}     # both ends are possible
//	    name: {fake: name}                        # a function of gofakeit
//	    pin: {fake: {digitn: {count: 4}}}         # with arguments
//	    payload: {json: {page: {fake: url}}}      # JSON text, keys in alphabetical order
//	    note: {fake: word, nulls: 0.1}            # NULL in 1 of 10 rows; goes with every type
//
// Rows are those of one endless stream that seed, column name and column definition fix: the same on every machine, at any number
// of threads, in any order of the columns. An append goes on in the stream where the rows that were generated before end.
// An uuid column has Arrow's uuid type, int and seq make a long, float a double, decimal a decimal(18, s), fake what the function
// makes. What depends on the day or on the processor is refused.
//
// It never reads a clock or a source of randomness.
package generate

import (
	"context"
	"fmt"
	"math"
	"strconv"
	"sync/atomic"

	"github.com/apache/arrow-go/v18/arrow"
	"golang.org/x/sync/errgroup"

	"pipe/internal/diag"
	"pipe/pipeline"
	"pipe/stages"
)

const (
	// chunkRows is how many rows of a column one stream of random numbers makes. Another number makes other rows.
	chunkRows = 8192
	// batchChunks is how many chunks one batch holds at most; it changes no row.
	batchChunks = 8
	// carried is the property that says where the next append goes on.
	carried = "pipe.generated"
)

// Kind is the kind "generate". Its version is raised when a release makes other rows of the same definition; a new gofakeit may be
// a reason, which the test vectors show.
func Kind() stages.Kind {
	return stages.Kind{
		Version: 1,
		Check: func(s *pipeline.Stage) diag.List {
			_, problems := parse(s)
			return problems
		},
		Run: run,
	}
}

func run(ctx context.Context, t *stages.Task) error {
	spec, problems := parse(t.Stage)
	if len(problems) > 0 {
		return problems
	}
	out := t.Outs[0]
	from, err := goOn(t, out)
	if err != nil {
		return err
	}
	if from > math.MaxInt64-spec.rows {
		return &diag.Error{Exit: diag.Failed, Pos: t.Stage.Pos, Stage: t.Stage.Name, Msg: "the stream of rows is at its end", Hint: "start anew with mode: replace, and another seed"}
	}
	if err := spec.fits(from); err != nil {
		return err
	}
	w, err := out.Open(ctx, spec.schema)
	if err != nil {
		return err
	}
	if err := write(ctx, t, spec, w, from); err != nil {
		return err
	}
	if out.Carry != nil {
		out.Carry(carried, strconv.FormatInt(from+spec.rows, 10))
	}
	return nil
}

// goOn gives the first row of the stream that is not in the table yet.
func goOn(t *stages.Task, out *stages.TableOut) (int64, error) {
	text := out.Base[carried]
	if out.Out.Mode != pipeline.Append || text == "" {
		return 0, nil
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < 0 {
		return 0, &diag.Error{
			Exit: diag.Failed, Pos: out.Out.Pos, Stage: t.Stage.Name, Err: err,
			Msg:  fmt.Sprintf("the snapshot that %s is appended to says %s: %q, which is no number of rows", out.Out.Table, carried, text),
			Hint: "append to a snapshot that pipe made, or start anew with mode: replace",
		}
	}
	return n, nil
}

// write makes the rows [from, from+rows) of the stream, batch by batch, on as many goroutines as the task may have.
func write(ctx context.Context, t *stages.Task, spec *spec, w stages.Writer, from int64) error {
	end := from + spec.rows
	first := from / chunkRows // the chunk that the first row is in
	var next, done atomic.Int64
	group, ctx := errgroup.WithContext(ctx)
	for range max(1, t.Threads) {
		group.Go(func() error {
			for {
				chunk := first + (next.Add(1)-1)*batchChunks
				if chunk > (end-1)/chunkRows || spec.rows == 0 {
					return nil
				}
				if ctx.Err() != nil {
					return context.Cause(ctx)
				}
				batch, err := spec.batch(chunk, from, end)
				if err != nil {
					return err
				}
				err = w.Write(ctx, batch)
				rows := batch.NumRows()
				batch.Release()
				if err != nil {
					return err
				}
				if rows = done.Add(rows); t.Progress != nil {
					t.Progress(rows)
				}
			}
		})
	}
	return group.Wait()
}

// batch makes the rows of batchChunks chunks that lie in [from, end). A chunk's rows are always made from its first one on, so that
// where a run begins and ends changes none of them.
func (s *spec) batch(chunk, from, end int64) (arrow.RecordBatch, error) {
	start := chunk * chunkRows
	stop := min(start+batchChunks*chunkRows, end)
	cols := make([]cells, len(s.columns))
	for i, c := range s.columns {
		cols[i].grow(c.gen, int(stop-start))
	}
	for at := start; at < stop; at += chunkRows {
		part := part{seed: s.seed, chunk: at / chunkRows, rows: int(min(chunkRows, stop-at))}
		for i, c := range s.columns {
			if err := c.fill(&cols[i], part); err != nil {
				return nil, err
			}
			if at == start && c.gen.arrow().ID() == arrow.STRING {
				cols[i].expect(part.rows, int(stop-start))
			}
		}
	}
	batch := s.record(cols, stop-start)
	if start >= from {
		return batch, nil
	}
	defer batch.Release()
	return batch.NewSlice(from-start, stop-start), nil
}
