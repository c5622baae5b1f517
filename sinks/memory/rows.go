package memory

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strconv"
	"sync"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"pipe/pipeline/schema"
	"pipe/sinks"
)

var errDone = errors.New("the write is over")

// Begin implements sinks.Writer.
func (c *Catalog) Begin(ctx context.Context, spec sinks.Spec, base sinks.Base) (sinks.Tx, error) {
	x := &tx{c: c, spec: spec, base: base}
	err := c.do(ctx, "Begin", func() error {
		if base.Parent != "" {
			t, _, err := c.live(sinks.Target{Table: spec.Table, Snapshot: base.Parent})
			if err != nil {
				return err
			}
			if base.Append {
				have := t.schemas[base.Parent]
				if err := sinks.CheckSchema(spec.Table, have, spec.Schema); err != nil {
					return err
				}
				x.spec.Schema = have // the table's order of columns stays
			}
		}
		x.schema = sinks.ArrowSchema(x.spec.Schema)
		return nil
	})
	if err != nil {
		return nil, err
	}
	return x, nil
}

type tx struct {
	c      *Catalog
	spec   sinks.Spec
	base   sinks.Base
	schema *arrow.Schema

	mu      sync.Mutex
	batches []arrow.RecordBatch
	rows    int64
	done    bool
}

// Schema implements sinks.Tx.
func (x *tx) Schema() *arrow.Schema { return x.schema }

// Write implements sinks.Tx.
func (x *tx) Write(ctx context.Context, b arrow.RecordBatch) error {
	if err := sinks.CheckBatch(x.schema, b); err != nil {
		return fmt.Errorf("table %s: %w", x.spec.Table, err)
	}
	return x.c.do(ctx, "Write", func() error {
		x.mu.Lock()
		defer x.mu.Unlock()
		if x.done {
			return errDone
		}
		x.batches = append(x.batches, array.NewRecordBatch(x.schema, b.Columns(), b.NumRows()))
		x.rows += b.NumRows()
		return nil
	})
}

// Stage implements sinks.Tx.
func (x *tx) Stage(ctx context.Context, stamp sinks.Stamp) (sinks.Snapshot, error) {
	var s sinks.Snapshot
	err := x.c.do(ctx, "Stage", func() error {
		x.mu.Lock()
		defer x.mu.Unlock()
		if x.done {
			return errDone
		}
		s = sinks.Snapshot{Parent: x.base.Parent, Op: sinks.OpOverwrite, Rows: x.rows, Stamp: &stamp}
		data := x.batches
		if x.base.Parent == "" {
			s.Op = sinks.OpAppend // as Iceberg calls the first snapshot of a table, however it is made
		} else {
			t, parent, err := x.c.live(sinks.Target{Table: x.spec.Table, Snapshot: x.base.Parent})
			if err != nil {
				return err
			}
			if x.base.Append {
				s.Op = sinks.OpAppend
				s.Rows += parent.Rows
				data = append(slices.Clone(t.data[parent.ID]), data...)
			}
		}
		t := x.c.create(x.spec)
		s = x.c.add(t, s, data, x.spec.Schema)
		t.set(sinks.RunRef(x.base.Run), s.ID)
		x.done = true
		return nil
	})
	return s, err
}

// Abort implements sinks.Tx.
func (x *tx) Abort(context.Context) error {
	x.mu.Lock()
	defer x.mu.Unlock()
	if !x.done {
		release(x.batches)
		x.batches, x.done = nil, true
	}
	return nil
}

func release(batches []arrow.RecordBatch) {
	for _, b := range batches {
		b.Release()
	}
}

// create gives the table, made if it does not exist. Callers hold mu.
func (c *Catalog) create(spec sinks.Spec) *table {
	if c.tables == nil {
		c.tables = map[string]*table{}
	}
	t := c.tables[spec.Table]
	if t == nil {
		c.next++
		t = &table{
			uuid: "uuid-" + strconv.Itoa(c.next), data: map[sinks.SnapshotID][]arrow.RecordBatch{}, schemas: map[sinks.SnapshotID]schema.Schema{},
			refs: map[string]sinks.SnapshotID{}, published: map[string]sinks.SnapshotID{}, project: spec.Project, schema: spec.Schema,
		}
		c.tables[spec.Table] = t
	}
	return t
}

// add gives the snapshot an id and makes it live. Callers hold mu.
func (c *Catalog) add(t *table, s sinks.Snapshot, data []arrow.RecordBatch, sc schema.Schema) sinks.Snapshot {
	c.next++
	s.ID = sinks.SnapshotID(strconv.Itoa(1000 + c.next))
	t.snapshots = append(t.snapshots, s)
	t.data[s.ID], t.schemas[s.ID] = data, sc
	t.version++
	return s
}

// Scan implements sinks.Reader.
func (c *Catalog) Scan(ctx context.Context, at sinks.Target, opts sinks.ScanOptions) (*arrow.Schema, iter.Seq2[arrow.RecordBatch, error], error) {
	var out *arrow.Schema
	var columns []int
	var data []arrow.RecordBatch
	err := c.do(ctx, "Scan", func() error {
		t, _, err := c.live(at)
		if err != nil {
			return err
		}
		full := sinks.ArrowSchema(t.schemas[at.Snapshot])
		if out, columns, err = choose(at.Table, full, opts.Columns); err != nil {
			return err
		}
		data = slices.Clone(t.data[at.Snapshot])
		return nil
	})
	if err != nil {
		return nil, nil, err
	}
	return out, func(yield func(arrow.RecordBatch, error) bool) {
		left := opts.Limit
		for _, b := range data {
			n := b.NumRows()
			if opts.Limit > 0 {
				if left == 0 {
					return
				}
				n = min(n, left)
				left -= n
			}
			if err := ctx.Err(); err != nil {
				yield(nil, err)
				return
			}
			if !yield(cut(b, out, columns, n), nil) {
				return
			}
		}
	}, nil
}

// choose finds the columns of a scan; no names are all columns.
func choose(table string, full *arrow.Schema, names []string) (*arrow.Schema, []int, error) {
	if names == nil {
		names = make([]string, full.NumFields())
		for i, f := range full.Fields() {
			names[i] = f.Name
		}
	}
	var columns []int
	var fields []arrow.Field
	for _, n := range names {
		i := full.FieldIndices(n)
		if len(i) == 0 {
			return nil, nil, fmt.Errorf("table %s has no column %q", table, n)
		}
		columns = append(columns, i[0])
		fields = append(fields, full.Field(i[0]))
	}
	return arrow.NewSchema(fields, nil), columns, nil
}

// cut gives the first n rows of the chosen columns.
func cut(b arrow.RecordBatch, out *arrow.Schema, columns []int, n int64) arrow.RecordBatch {
	arrays := make([]arrow.Array, len(columns))
	for i, c := range columns {
		arrays[i] = array.NewSlice(b.Column(c), 0, n)
		defer arrays[i].Release()
	}
	return array.NewRecordBatch(out, arrays, n)
}

// Files implements sinks.Reader: the rows are in no file, so there is none, and what there is is not exact.
func (c *Catalog) Files(ctx context.Context, at sinks.Target) ([]string, bool, error) {
	err := c.do(ctx, "Files", func() error {
		_, _, err := c.live(at)
		return err
	})
	return nil, false, err
}
