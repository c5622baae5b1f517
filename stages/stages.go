// Package stages is how a stage does its work: the contract between the run and a kind of stage. The built-in kinds are packages
// below; a program of one's own adds more (docs/go-stages.md).
//
// A kind never sees the lock, a ref or a commit: it gets inputs at fixed snapshots and writers that nobody reads yet.
package stages

import (
	"context"
	"io"
	"iter"

	"github.com/apache/arrow-go/v18/arrow"

	"pipe/internal/diag"
	"pipe/pipeline"
)

// Kind is one kind of stage, registered under its name: "cmd", or what stands after use:.
type Kind struct {
	// Version counts in the fingerprint of every stage of the kind. Raise it only when the rows that it makes change.
	Version int
	// Check looks at a definition before anything runs and reports all that is wrong with it, with places. It may be nil.
	Check func(s *pipeline.Stage) diag.List
	// Run does one attempt. An error leaves nothing behind: what was written is thrown away by the caller.
	Run func(ctx context.Context, t *Task) error
}

// Task is one attempt of one stage.
type Task struct {
	Stage    *pipeline.Stage
	Run      string         // the run's id
	Root     string         // the project's folder, absolute
	Scratch  string         // an empty folder of this attempt, absolute; removed by the caller
	Params   map[string]any // the stage's params as typed values: file's name left out for params.yaml, dotted names nested
	Tables   []TableIn      // table deps, in the definition's order
	Outs     []*TableOut    // table outs, in the definition's order
	Log      io.Writer      // what the stage prints
	Getenv   func(string) string
	Environ  []string // the caller's environment
	Started  func(pid int, start string)
	Progress func(rows int64) // rows done so far; may be called often and from several goroutines
	Threads  int              // how many goroutines may work at once
}

// TableIn is a table dep at a fixed snapshot.
type TableIn struct {
	Dep      pipeline.Dep
	Snapshot string
	Rows     int64
	// Scan reads the rows. The caller releases the batches.
	Scan func(ctx context.Context) (*arrow.Schema, iter.Seq2[arrow.RecordBatch, error], error)
	// Files gives local Parquet files, and whether they hold exactly the rows.
	Files func(ctx context.Context) (paths []string, exact bool, err error)
}

// TableOut is a table out of this attempt.
type TableOut struct {
	Out      pipeline.Out
	BaseRows int64             // append: rows that the table has before this run
	Base     map[string]string // append: what the kind carried on in the base's summary (see Carry)
	// Open says which columns will come and gives the writer. The columns are matched by name with the declared schema, cast
	// where nothing is lost, and reported otherwise. To be called exactly once; no rows is legal.
	Open func(ctx context.Context, columns *arrow.Schema) (Writer, error)
	// Carry puts a property into the new snapshot's summary, for the next append. Keys start with "pipe.".
	Carry func(key, value string)
}

// Writer takes rows of one table out.
type Writer interface {
	// Write takes a batch whose columns are those given to Open. Safe for several goroutines; the batch stays the caller's.
	Write(ctx context.Context, batch arrow.RecordBatch) error
}
