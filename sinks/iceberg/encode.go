package iceberg

import (
	"context"
	"errors"
	"iter"
	"runtime"
	"strconv"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	ice "github.com/apache/iceberg-go"
	iceio "github.com/apache/iceberg-go/io"
	"github.com/apache/iceberg-go/table"
	"github.com/google/uuid"
)

// groupRows is how many rows a row group has where the table does not say. An encoder holds one in memory, encoded; a partitioned
// write holds one for each partition, and a sorted one holds its rows besides.
const groupRows = 1 << 18

// partitionPage is how big, in bytes, a page of a partitioned write becomes where the table does not say: each column of each open
// partition holds one.
const partitionPage = 1 << 17

// rowGroup is how many rows a row group of this write has.
func (x *tx) rowGroup() int {
	usual := groupRows
	switch {
	case len(x.spec.PartitionBy) > 0:
		usual = groupRows / 4
	case len(x.spec.SortBy) > 0:
		usual = groupRows / 2
	}
	return x.target.Properties().GetInt(table.ParquetRowGroupLimitKey, usual)
}

// encode begins one more encoder. Callers hold mu.
func (x *tx) encode() {
	x.encoders++
	x.running.Go(func() {
		files, err := x.write()
		if err != nil {
			x.stop(err)
		}
		x.mu.Lock()
		defer x.mu.Unlock()
		x.made = append(x.made, files...)
		x.err = errors.Join(x.err, err)
	})
}

// write makes files of what the queue gives until it ends.
func (x *tx) write() ([]ice.DataFile, error) {
	withIDs, err := table.SchemaToArrowSchema(x.target.Schema(), nil, true, false)
	if err != nil {
		return nil, err
	}
	next, end := iter.Pull2(x.chunks(withIDs))
	defer end()
	first, err, ok := next()
	if !ok || err != nil {
		return nil, err
	}
	x.layout.Do(func() { x.props = x.encoding(first) })
	rows := func(yield func(arrow.RecordBatch, error) bool) {
		for b, err, ok := first, error(nil), true; ok; b, err, ok = next() {
			if !yield(b, err) || err != nil {
				return
			}
		}
	}
	target, err := x.withProps()
	if err != nil {
		first.Release()
		return nil, err
	}
	opts := []table.WriteRecordOption{table.WithRecordBatchBufferSize(1), table.WithWriteUUID(uuid.New())}
	if len(x.spec.PartitionBy) > 0 {
		opts = append(opts, table.WithMaxWriteWorkers(max(1, runtime.GOMAXPROCS(0))))
	}
	var out []ice.DataFile
	for f, err := range table.WriteRecords(x.ctx, target, withIDs, rows, opts...) {
		if err != nil {
			return out, err
		}
		out = append(out, f)
	}
	return out, context.Cause(x.ctx)
}

// withProps is the target with the properties that the encoders are to follow.
func (x *tx) withProps() (*table.Table, error) {
	b, err := table.MetadataBuilderFromBase(x.target.Metadata(), "")
	if err != nil {
		return nil, err
	}
	if err := b.SetProperties(x.props); err != nil {
		return nil, err
	}
	meta, err := b.Build()
	if err != nil {
		return nil, err
	}
	return table.New(x.target.Identifier(), meta, "", func(context.Context) (iceio.IO, error) { return x.files, nil }, nil), nil
}

// chunks gives the batches of the queue under the file's schema, put together or cut to about batchRows rows: the encoder works best
// on as many, and a chunk is what it holds of the input. Where the table is sorted, a chunk is what makes one row group, since a chunk
// is sorted as one.
func (x *tx) chunks(to *arrow.Schema) iter.Seq2[arrow.RecordBatch, error] {
	return func(yield func(arrow.RecordBatch, error) bool) {
		most := int64(batchRows)
		if len(x.spec.SortBy) > 0 {
			most = int64(max(1, x.rowGroup()))
		}
		var held []arrow.RecordBatch
		n := int64(0)
		defer func() { releaseAll(held) }()
		flush := func() bool {
			if n == 0 {
				return true
			}
			b, err := join(to, held)
			releaseAll(held)
			held, n = held[:0], 0
			return yield(b, err) && err == nil
		}
		for whole := range x.batches {
			if x.ctx.Err() != nil {
				whole.Release()
				continue // drain: nobody is to wait for a queue that no one reads
			}
			b, err := retype(whole, to)
			whole.Release()
			if err != nil {
				yield(nil, err)
				return
			}
			for at := int64(0); at < b.NumRows(); {
				take := min(most-n, b.NumRows()-at)
				held = append(held, b.NewSlice(at, at+take))
				at, n = at+take, n+take
				if n >= most && !flush() {
					b.Release()
					return
				}
			}
			b.Release()
		}
		flush()
	}
}

func releaseAll(bs []arrow.RecordBatch) {
	for _, b := range bs {
		b.Release()
	}
}

// join makes one batch of several.
func join(s *arrow.Schema, bs []arrow.RecordBatch) (arrow.RecordBatch, error) {
	if len(bs) == 1 {
		bs[0].Retain()
		return bs[0], nil
	}
	cols := make([]arrow.Array, s.NumFields())
	defer func() {
		for _, c := range cols {
			if c != nil {
				c.Release()
			}
		}
	}()
	rows := int64(0)
	for _, b := range bs {
		rows += b.NumRows()
	}
	for i := range cols {
		parts := make([]arrow.Array, len(bs))
		for j, b := range bs {
			parts[j] = b.Column(i)
		}
		var err error
		if cols[i], err = array.Concatenate(parts, memory.DefaultAllocator); err != nil {
			return nil, err
		}
	}
	return array.NewRecordBatch(s, cols, rows), nil
}

// encoding gives what the encoders are told beside the table's own properties: the row group, and no dictionary for columns of which
// the first rows hardly repeat a value.
func (x *tx) encoding(first arrow.RecordBatch) ice.Properties {
	props := x.target.Properties()
	out := ice.Properties{}
	if _, ok := props[table.ParquetRowGroupLimitKey]; !ok {
		out[table.ParquetRowGroupLimitKey] = strconv.Itoa(x.rowGroup())
	}
	if _, ok := props[table.ParquetPageSizeBytesKey]; !ok && len(x.spec.PartitionBy) > 0 {
		out[table.ParquetPageSizeBytesKey] = strconv.Itoa(partitionPage)
	}
	if _, ok := props["parquet.enable.dictionary"]; ok {
		return out
	}
	for i, f := range first.Schema().Fields() {
		key := "write.parquet.dict-encoding-enabled.column." + f.Name
		if _, ok := props[key]; !ok && !repeats(first.Column(i)) {
			out[key] = "false"
		}
	}
	return out
}

// sample is how many rows are looked at before a column's encoding is chosen.
const sample = 4096

// repeats reports whether a dictionary pays: at most half of the first values are new ones. What is not simple counts as repeating,
// which leaves the library's choice.
func repeats(a arrow.Array) bool {
	n := min(a.Len(), sample)
	if n < 64 {
		return true
	}
	switch x := a.(type) {
	case *array.String:
		return few(n, x.IsNull, x.Value)
	case *array.Binary:
		return few(n, x.IsNull, x.ValueString)
	case *array.Int64:
		return few(n, x.IsNull, x.Value)
	case *array.Int32:
		return few(n, x.IsNull, x.Value)
	case *array.Float64:
		return few(n, x.IsNull, x.Value)
	case *array.Float32:
		return few(n, x.IsNull, x.Value)
	case *array.Timestamp:
		return few(n, x.IsNull, x.Value)
	}
	return true
}

func few[T comparable](n int, null func(int) bool, value func(int) T) bool {
	seen := make(map[T]struct{}, n)
	values := 0
	for i := range n {
		if !null(i) {
			seen[value(i)] = struct{}{}
			values++
		}
	}
	return 2*len(seen) <= values
}
