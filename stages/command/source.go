package command

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/apache/arrow-go/v18/parquet/file"
	"github.com/apache/arrow-go/v18/parquet/pqarrow"

	"pipe/internal/diag"
	"pipe/internal/textio"
	"pipe/pipeline/schema"
)

const batchRows = 65_536

// source is one file that a program wrote.
type source struct {
	path     string
	name     string // as errors name it: $PIPE_OUT_X/part.csv
	kind     string
	scratch  string
	threads  int
	declared *schema.Schema
	ready    *reader // opened to see its schema, and not yet read
}

// reader gives the rows of one file.
type reader struct {
	schema *arrow.Schema
	next   func() (arrow.RecordBatch, error) // io.EOF after the last
	close  func()
}

// fileKind gives "parquet", "arrow", "csv" or "jsonl"; "" if a name means none.
func fileKind(name string) string {
	switch ext := filepath.Ext(name); {
	case ext == ".parquet", ext == ".arrow":
		return ext[1:]
	}
	return string(textio.FormatOf(name))
}

func (f *source) open(ctx context.Context) (*reader, error) {
	if r := f.ready; r != nil {
		f.ready = nil
		return r, nil
	}
	var r *reader
	var err error
	switch f.kind {
	case "parquet":
		r, err = f.parquet(ctx)
	case "arrow":
		r, err = f.arrow()
	default:
		r, err = f.text(ctx)
	}
	if err != nil {
		return nil, f.unreadable(err)
	}
	return r, nil
}

// unreadable is an error of a library, told with the file. What has a place already is passed on.
func (f *source) unreadable(err error) error {
	var e *diag.Error
	if errors.As(err, &e) || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	return &diag.Error{
		Exit: diag.Failed, Err: err, Msg: fmt.Sprintf("%s cannot be read as %s: %v", f.name, f.kind, err),
		Hint: "see whether the program closed the file, and that its name says what it holds",
	}
}

func (f *source) parquet(ctx context.Context) (*reader, error) {
	pf, err := file.OpenParquetFile(f.path, false)
	if err != nil {
		return nil, err
	}
	props := pqarrow.ArrowReadProperties{BatchSize: batchRows, Parallel: f.threads > 1}
	pr, err := pqarrow.NewFileReader(pf, props, memory.DefaultAllocator)
	if err != nil {
		pf.Close()
		return nil, err
	}
	rr, err := pr.GetRecordReader(ctx, nil, nil)
	if err != nil {
		pf.Close()
		return nil, err
	}
	return &reader{
		schema: rr.Schema(),
		next: func() (arrow.RecordBatch, error) {
			if !rr.Next() {
				if err := rr.Err(); err != nil {
					return nil, err
				}
				return nil, io.EOF
			}
			batch := rr.RecordBatch()
			batch.Retain()
			return batch, nil
		},
		close: func() { rr.Release(); pf.Close() },
	}, nil
}

// arrow reads the file format, or the stream that many programs write under the same name.
func (f *source) arrow() (*reader, error) {
	osf, err := os.Open(f.path)
	if err != nil {
		return nil, err
	}
	magic := make([]byte, len(ipc.Magic))
	n, _ := io.ReadFull(osf, magic)
	if _, err := osf.Seek(0, io.SeekStart); err != nil {
		osf.Close()
		return nil, err
	}
	if !bytes.Equal(magic[:n], ipc.Magic) {
		rr, err := ipc.NewReader(osf)
		if err != nil {
			osf.Close()
			return nil, err
		}
		return &reader{
			schema: rr.Schema(),
			next: func() (arrow.RecordBatch, error) {
				batch, err := rr.Read()
				if err == nil {
					batch.Retain()
				}
				return batch, err
			},
			close: func() { rr.Release(); osf.Close() },
		}, nil
	}
	fr, err := ipc.NewFileReader(osf)
	if err != nil {
		osf.Close()
		return nil, err
	}
	at := 0
	return &reader{
		schema: fr.Schema(),
		next: func() (arrow.RecordBatch, error) {
			if at == fr.NumRecords() {
				return nil, io.EOF
			}
			at++
			return fr.RecordBatchAt(at - 1)
		},
		close: func() { fr.Close(); osf.Close() },
	}, nil
}

func (f *source) text(ctx context.Context) (*reader, error) {
	osf, err := os.Open(f.path)
	if err != nil {
		return nil, err
	}
	opts := textio.Options{Format: textio.Format(f.kind), BatchRows: batchRows, Threads: f.threads, Scratch: f.scratch}
	if f.declared != nil {
		opts.Columns = *f.declared
	}
	tr, err := textio.Open(ctx, osf, f.name, opts)
	if err != nil {
		osf.Close()
		return nil, err
	}
	return &reader{schema: tr.Schema(), next: tr.Next, close: func() { tr.Close(); osf.Close() }}, nil
}
