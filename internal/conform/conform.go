// Package conform makes the batches of a stage fit the schema of its table: columns are matched by name, put in the table's order
// and cast where nothing is lost.
//
// It never rounds, truncates or guesses: a value that does not fit is an error that names its column and row. It never changes the
// batches that it is given, and never keeps them.
package conform

import (
	"fmt"
	"sync/atomic"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"pipe/internal/diag"
)

// Plan turns batches of one schema into batches of another. Safe for concurrent use.
type Plan struct {
	from, to *arrow.Schema
	root     *step
	rows     atomic.Int64 // rows seen, so that an error can name one
}

// New compares two schemas. The error is a diag.List with every difference that no cast can bridge: a column of one side only, a
// required column that is missing, a type that would lose something. A column of to that is optional and missing becomes NULLs.
func New(from, to *arrow.Schema) (*Plan, error) {
	m := matcher{}
	root := m.fields("", from.Fields(), to.Fields())
	if len(m.problems) > 0 {
		return nil, m.problems
	}
	return &Plan{from: from, to: to, root: root}, nil
}

// Schema is the schema of the batches that Batch gives.
func (p *Plan) Schema() *arrow.Schema { return p.to }

// Batch gives rec under the plan's schema; buffers are shared where no cast is needed. The caller releases the result. The error is
// a *diag.Error that names the first value that does not fit: a NULL in a required column, a number out of range, text that is no
// UUID or no UTF-8. Rows are numbered from 1 over all batches, in the order in which they came.
func (p *Plan) Batch(rec arrow.RecordBatch) (arrow.RecordBatch, error) {
	if err := p.sameColumns(rec); err != nil {
		return nil, err
	}
	first := p.rows.Add(rec.NumRows()) - rec.NumRows()
	cols := make([]arrow.Array, 0, len(p.root.children))
	defer func() {
		for _, c := range cols {
			c.Release()
		}
	}()
	for i, s := range p.root.children {
		var col arrow.Array
		var f *fault
		if src := p.root.source[i]; src < 0 {
			col = array.MakeArrayOfNull(memory.DefaultAllocator, s.to, int(rec.NumRows()))
		} else {
			col, f = s.column(rec.Column(src))
		}
		if f != nil {
			return nil, f.error(first)
		}
		cols = append(cols, col)
	}
	return array.NewRecordBatch(p.to, cols, rec.NumRows()), nil
}

func (p *Plan) sameColumns(rec arrow.RecordBatch) error {
	s := rec.Schema()
	if s == p.from {
		return nil
	}
	wrong := s.NumFields() != p.from.NumFields()
	for i := 0; i < s.NumFields() && !wrong; i++ {
		a, b := s.Field(i), p.from.Field(i)
		wrong = a.Name != b.Name || !arrow.TypeEqual(a.Type, b.Type)
	}
	if !wrong {
		return nil
	}
	return (&diag.Error{
		Exit: diag.Failed,
		Msg:  fmt.Sprintf("a batch has other columns than the stage announced: %s; announced were %s", typedNames(s.Fields()), typedNames(p.from.Fields())),
	}).With("give Open the schema of the batches that are written")
}

// fault is a value that does not fit, by its place in the column that is looked at.
type fault struct {
	path  string
	index int
	msg   string
	hint  string
}

func (f *fault) error(first int64) error {
	return &diag.Error{
		Exit: diag.Failed,
		Msg:  fmt.Sprintf("column %q, row %d: %s", f.path, first+int64(f.index)+1, f.msg),
		Hint: f.hint,
	}
}
