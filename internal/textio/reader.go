package textio

import (
	"context"
	"errors"
	"io"
	"iter"

	"github.com/apache/arrow-go/v18/arrow"
)

// Reader reads a text file as batches, in the order of the file. It is for one goroutine.
type Reader struct{}

// Open starts to read.
func Open(ctx context.Context, r io.Reader, name string, opts Options) (*Reader, error) {
	return nil, errors.New("not written yet")
}

// Schema gives the columns: the declared types, and the inferred ones.
func (r *Reader) Schema() *arrow.Schema { return nil }

// Next gives the next batch, which the caller releases; io.EOF after the last.
func (r *Reader) Next() (arrow.RecordBatch, error) { return nil, io.EOF }

// Close frees what the reader holds. It does not close the io.Reader.
func (r *Reader) Close() error { return nil }

// WriteCSV writes rows as CSV with a header.
func WriteCSV(w io.Writer, s *arrow.Schema, rows iter.Seq2[arrow.RecordBatch, error]) error {
	return errors.New("not written yet")
}

// WriteJSONL writes rows as JSON objects, one a line.
func WriteJSONL(w io.Writer, s *arrow.Schema, rows iter.Seq2[arrow.RecordBatch, error]) error {
	return errors.New("not written yet")
}
