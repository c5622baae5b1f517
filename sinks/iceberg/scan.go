package iceberg

import (
	"context"
	"fmt"
	"iter"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	ice "github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/table"

	"pipe/sinks"
)

// at loads a table for reading one of its snapshots.
func (c *Catalog) at(ctx context.Context, t sinks.Target) (*table.Table, *table.Snapshot, error) {
	tbl, err := c.load(ctx, t.Table)
	if err != nil {
		return nil, nil, err
	}
	_, snap := find(tbl, t.Snapshot)
	if snap == nil {
		return nil, nil, fmt.Errorf("%s at %s: %w", t.Table, t.Snapshot, sinks.ErrExpired)
	}
	return tbl, snap, nil
}

// Scan implements sinks.Reader.
func (c *Catalog) Scan(ctx context.Context, t sinks.Target, opts sinks.ScanOptions) (*arrow.Schema, iter.Seq2[arrow.RecordBatch, error], error) {
	tbl, snap, err := c.at(ctx, t)
	if err != nil {
		return nil, nil, err
	}
	sc := schemaOf(tbl, snap)
	withIDs, err := table.SchemaToArrowSchema(sc, nil, true, false)
	if err != nil {
		return nil, nil, c.broken(err, "read "+t.Table)
	}
	out := sinks.ArrowSchema(fromSchema(sc))
	scan := []table.ScanOption{table.WithSnapshotID(snap.SnapshotID), table.WithArrowBatchSize(batchRows)}
	if opts.Columns != nil {
		if out, err = pick(t.Table, out, opts.Columns); err != nil {
			return nil, nil, err
		}
		scan = append(scan, table.WithSelectedFields(opts.Columns...))
	}
	tasks, err := tbl.Scan(scan...).PlanFiles(ctx)
	if err != nil {
		return nil, nil, c.broken(err, "read the manifests of "+t.Table)
	}
	return out, func(yield func(arrow.RecordBatch, error) bool) {
		left := opts.Limit
		give := func(b arrow.RecordBatch, err error) bool {
			if err == nil && opts.Limit > 0 && b.NumRows() > left {
				whole := b
				b = whole.NewSlice(0, left)
				whole.Release()
			}
			if err == nil {
				left -= b.NumRows()
				whole := b
				b, err = retype(whole, out)
				whole.Release()
			}
			if err != nil {
				yield(nil, c.broken(err, "read "+t.Table))
				return false
			}
			return yield(b, nil) && (opts.Limit == 0 || left > 0)
		}
		var rest []table.FileScanTask
		for _, f := range gather(tasks) {
			if err := ctx.Err(); err != nil {
				yield(nil, err)
				return
			}
			fr, err := f.open(withIDs)
			if err != nil {
				yield(nil, c.broken(err, "read "+c.rel(f.path)))
				return
			}
			if fr == nil {
				rest = append(rest, f.tasks...)
			} else if !stream(ctx, fr, out, give) {
				return
			}
		}
		if len(rest) == 0 {
			return
		}
		// The library reads what needs its care: deleted rows, and files of another schema. It holds a whole file in memory.
		_, rows, err := tbl.Scan(scan...).ReadTasks(ctx, rest)
		if err != nil {
			yield(nil, c.broken(err, "read "+t.Table))
			return
		}
		for b, err := range rows {
			if !give(b, err) {
				return
			}
		}
	}, nil
}

// schemaOf is the schema that a snapshot was written under.
func schemaOf(tbl *table.Table, snap *table.Snapshot) *ice.Schema {
	if snap.SchemaID != nil {
		if s := tbl.Schemas()[*snap.SchemaID]; s != nil {
			return s
		}
	}
	return tbl.Schema()
}

// pick chooses columns by name, in the order asked for.
func pick(name string, full *arrow.Schema, columns []string) (*arrow.Schema, error) {
	fields := make([]arrow.Field, len(columns))
	for i, n := range columns {
		at := full.FieldIndices(n)
		if len(at) == 0 {
			return nil, fmt.Errorf("table %s has no column %q", name, n)
		}
		fields[i] = full.Field(at[0])
	}
	return arrow.NewSchema(fields, nil), nil
}

// Files implements sinks.Reader. That the files hold exactly the rows is found by looking at the columns of each: other engines add
// files, and a table changes its schema without touching them.
func (c *Catalog) Files(ctx context.Context, t sinks.Target) ([]string, bool, error) {
	tbl, snap, err := c.at(ctx, t)
	if err != nil {
		return nil, false, err
	}
	tasks, err := tbl.Scan(table.WithSnapshotID(snap.SnapshotID)).PlanFiles(ctx)
	if err != nil {
		return nil, false, c.broken(err, "read the manifests of "+t.Table)
	}
	withIDs, err := table.SchemaToArrowSchema(schemaOf(tbl, snap), nil, true, false)
	if err != nil {
		return nil, false, c.broken(err, "read "+t.Table)
	}
	exact, paths := true, []string(nil)
	for _, f := range gather(tasks) {
		paths = append(paths, f.path)
		if !exact {
			continue
		}
		fr, err := f.open(withIDs)
		if err != nil {
			return nil, false, c.broken(err, "read "+c.rel(f.path))
		}
		if exact = fr != nil; exact {
			_ = fr.ParquetReader().Close()
		}
	}
	return paths, exact, nil
}

// retype gives a batch's columns under a schema that holds the same values: names of list elements, field ids and whether a part may
// be NULL are all that differ. Columns are matched by name.
func retype(b arrow.RecordBatch, to *arrow.Schema) (arrow.RecordBatch, error) {
	cols := make([]arrow.Array, to.NumFields())
	defer func() {
		for _, c := range cols {
			if c != nil {
				c.Release()
			}
		}
	}()
	for i, f := range to.Fields() {
		at := b.Schema().FieldIndices(f.Name)
		if len(at) != 1 {
			return nil, fmt.Errorf("column %q stands %d times in a batch", f.Name, len(at))
		}
		data, err := recast(b.Column(at[0]).Data(), f.Type)
		if err != nil {
			return nil, fmt.Errorf("column %q: %w", f.Name, err)
		}
		cols[i] = array.MakeFromData(data)
		data.Release()
	}
	return array.NewRecordBatch(to, cols, b.NumRows()), nil
}

// recast gives array data another type of the same buffers.
func recast(d arrow.ArrayData, to arrow.DataType) (arrow.ArrayData, error) {
	if layoutKind(d.DataType()) != layoutKind(to) {
		return nil, fmt.Errorf("%s is not %s", d.DataType(), to)
	}
	var parts []arrow.DataType
	switch t := storage(to).(type) {
	case *arrow.StructType:
		for _, f := range t.Fields() {
			parts = append(parts, f.Type)
		}
	case *arrow.MapType:
		parts = []arrow.DataType{t.Elem()}
	case *arrow.ListType:
		parts = []arrow.DataType{t.Elem()}
	}
	if len(parts) != len(d.Children()) {
		return nil, fmt.Errorf("%s is not %s", d.DataType(), to)
	}
	children := make([]arrow.ArrayData, len(parts))
	for i, p := range parts {
		c, err := recast(d.Children()[i], p)
		if err != nil {
			return nil, err
		}
		children[i] = c
		defer c.Release()
	}
	return array.NewData(to, d.Len(), d.Buffers(), children, d.NullN(), d.Offset()), nil
}

func storage(t arrow.DataType) arrow.DataType {
	if e, ok := t.(arrow.ExtensionType); ok {
		return e.StorageType()
	}
	return t
}

// layoutKind names how a type's buffers are laid out and what they mean.
func layoutKind(t arrow.DataType) string {
	switch x := storage(t).(type) {
	case *arrow.TimestampType:
		return "timestamp " + x.Unit.String()
	case *arrow.StructType, *arrow.MapType, *arrow.ListType:
		return x.ID().String()
	case *arrow.Decimal128Type:
		return fmt.Sprintf("decimal %d", x.Scale)
	case *arrow.FixedSizeBinaryType:
		return fmt.Sprintf("fixed %d", x.ByteWidth)
	default:
		return x.ID().String()
	}
}
