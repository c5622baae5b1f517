package iceberg

import (
	"context"
	"errors"
	"io"
	"os"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/file"
	"github.com/apache/arrow-go/v18/parquet/pqarrow"
	"github.com/apache/iceberg-go/table"
)

// batchRows is how many rows a batch has that is read or written here: big enough that what is done once a batch does not show,
// small enough that some of them fit into memory many times over.
const batchRows = 1 << 16

// dataFile is one data file of a snapshot, with the tasks that the library made of its parts.
type dataFile struct {
	path  string
	tasks []table.FileScanTask
}

// gather puts together the tasks of one file: the library splits big ones.
func gather(tasks []table.FileScanTask) []*dataFile {
	var out []*dataFile
	at := map[string]*dataFile{}
	for _, t := range tasks {
		path := local(t.File.FilePath())
		f := at[path]
		if f == nil {
			f = &dataFile{path: path}
			at[path] = f
			out = append(out, f)
		}
		f.tasks = append(f.tasks, t)
	}
	return out
}

// deletes reports whether rows of the file are deleted by other files.
func (f *dataFile) deletes() bool {
	return slices.ContainsFunc(f.tasks, func(t table.FileScanTask) bool {
		return len(t.DeleteFiles)+len(t.EqualityDeleteFiles)+len(t.DeletionVectorFiles) > 0
	})
}

// open opens the file if it holds exactly the columns of a schema with field ids: the same names in the same order, the same ids and
// types, at any depth. Else it gives nil, and only the library knows how to read it.
func (f *dataFile) open(want *arrow.Schema) (*pqarrow.FileReader, error) {
	if f.deletes() {
		return nil, nil
	}
	r, err := os.Open(f.path)
	if err != nil {
		return nil, err
	}
	pf, err := file.NewParquetReader(r, file.WithReadProps(parquet.NewReaderProperties(memory.DefaultAllocator)))
	if err != nil {
		return nil, errorsFirst(err, r.Close())
	}
	fr, err := pqarrow.NewFileReader(pf, pqarrow.ArrowReadProperties{BatchSize: batchRows, Parallel: true}, memory.DefaultAllocator)
	if err != nil {
		return nil, errorsFirst(err, pf.Close())
	}
	have, err := fr.Schema()
	if err != nil || !sameColumns(want.Fields(), have.Fields()) {
		return nil, errorsFirst(err, pf.Close())
	}
	return fr, nil
}

// sameColumns compares fields by name, field id and type; whether a part may be NULL does not count.
func sameColumns(want, have []arrow.Field) bool {
	return slices.EqualFunc(want, have, func(a, b arrow.Field) bool {
		if a.Name != b.Name || fieldID(a) != fieldID(b) {
			return false
		}
		x, nested := storage(a.Type).(arrow.NestedType)
		y, alsoNested := storage(b.Type).(arrow.NestedType)
		if nested && alsoNested && a.Type.ID() == b.Type.ID() {
			return sameColumns(x.Fields(), y.Fields())
		}
		return !nested && !alsoNested && arrow.TypeEqual(a.Type, b.Type)
	})
}

func fieldID(f arrow.Field) string {
	id, _ := f.Metadata.GetValue("PARQUET:field_id")
	return id
}

// stream reads some top-level columns of an open file, batch by batch, and closes it. It reads no further than it is asked to.
func stream(ctx context.Context, fr *pqarrow.FileReader, columns *arrow.Schema, yield func(arrow.RecordBatch, error) bool) (goOn bool) {
	pf := fr.ParquetReader()
	defer func() { _ = pf.Close() }()
	var leaves []int
	for i := range pf.MetaData().Schema.NumColumns() {
		if columns.HasField(pf.MetaData().Schema.Column(i).ColumnPath()[0]) {
			leaves = append(leaves, i)
		}
	}
	rr, err := fr.GetRecordReader(ctx, leaves, nil)
	if err != nil {
		return yield(nil, err)
	}
	defer rr.Release()
	for {
		b, err := rr.Read()
		switch {
		case errors.Is(err, io.EOF):
			return true
		case err != nil:
			yield(nil, err)
			return false
		}
		b.Retain() // the reader gives it up at its next step
		if !yield(b, nil) {
			return false
		}
	}
}
