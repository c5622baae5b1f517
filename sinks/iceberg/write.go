package iceberg

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"

	"github.com/apache/arrow-go/v18/arrow"
	ice "github.com/apache/iceberg-go"
	iceio "github.com/apache/iceberg-go/io"
	"github.com/apache/iceberg-go/table"

	"pipe/sinks"
)

// tx is one write in the making: encoders that take batches from one queue, each making files of its own.
type tx struct {
	c      *Catalog
	spec   sinks.Spec
	base   sinks.Base
	schema *arrow.Schema
	files  *noted
	target *table.Table // the table as it will be, in memory only, under the alias: what the encoders write for

	batches chan arrow.RecordBatch
	ctx     context.Context
	stop    context.CancelCauseFunc
	limit   int // of encoders

	running sync.WaitGroup // encoders
	writing sync.WaitGroup // calls of Write

	mu       sync.Mutex
	encoders int
	rows     int64
	made     []ice.DataFile
	err      error
	closed   bool // no more batches
	over     bool // a snapshot names the files, or may, or they are deleted

	layout sync.Once
	props  ice.Properties // of the table, and what the first rows taught about them
}

var errOver = errors.New("the write is over")

// Begin implements sinks.Writer.
func (c *Catalog) Begin(ctx context.Context, spec sinks.Spec, base sinks.Base) (sinks.Tx, error) {
	now, err := c.load(ctx, spec.Table)
	if err != nil {
		return nil, err
	}
	_, parent := find(now, base.Parent)
	if base.Append && parent != nil {
		have := fromSchema(schemaOf(now, parent))
		if err := sinks.CheckSchema(spec.Table, have, spec.Schema); err != nil {
			return nil, err
		}
		spec.Schema = have // the table's order of columns stays
	}
	target, err := c.target(now, spec, base)
	if err != nil {
		return nil, err
	}
	x := &tx{
		c: c, spec: spec, base: base, schema: sinks.ArrowSchema(spec.Schema), files: &noted{location: target.Location()},
		batches: make(chan arrow.RecordBatch, 1), limit: max(1, runtime.GOMAXPROCS(0)),
	}
	b, err := table.MetadataBuilderFromBase(target.Metadata(), "")
	if err != nil {
		return nil, err
	}
	if err := b.SetLoc(alias); err != nil {
		return nil, err
	}
	if err := b.RemoveProperties([]string{table.WriteDataPathKey, table.WriteMetadataPathKey}); err != nil { // files lie below the location
		return nil, err
	}
	meta, err := b.Build()
	if err != nil {
		return nil, err
	}
	// The files of an attempt are made under its own handle of the file system, so that an abort knows them all.
	x.target = table.New(target.Identifier(), meta, "", func(context.Context) (iceio.IO, error) { return x.files, nil }, nil)
	if len(spec.PartitionBy) > 0 {
		x.limit = 1 // the library's partitioned writer fans out by itself
	}
	x.ctx, x.stop = context.WithCancelCause(context.WithoutCancel(ctx))
	return x, nil
}

// Schema implements sinks.Tx.
func (x *tx) Schema() *arrow.Schema { return x.schema }

// Write implements sinks.Tx. Another encoder begins only when those that run cannot keep up with many rows, so that a small table is
// one file.
func (x *tx) Write(ctx context.Context, batch arrow.RecordBatch) error {
	if err := sinks.CheckBatch(x.schema, batch); err != nil {
		return fmt.Errorf("table %s: %w", x.spec.Table, err)
	}
	x.mu.Lock()
	if x.closed {
		x.mu.Unlock()
		return fmt.Errorf("table %s: %w", x.spec.Table, errOver)
	}
	if batch.NumRows() == 0 {
		x.mu.Unlock()
		return nil
	}
	x.writing.Add(1)
	defer x.writing.Done()
	x.mu.Unlock()
	for at := int64(0); at < batch.NumRows(); at += batchRows {
		part := batch.NewSlice(at, min(at+batchRows, batch.NumRows()))
		if err := x.send(ctx, part); err != nil {
			part.Release()
			return err
		}
	}
	return nil
}

// send gives a part of a batch to the encoders.
func (x *tx) send(ctx context.Context, part arrow.RecordBatch) error {
	x.mu.Lock()
	x.rows += part.NumRows()
	if x.encoders == 0 {
		x.encode()
	}
	x.mu.Unlock()
	select {
	case x.batches <- part:
		return nil
	default:
	}
	x.mu.Lock()
	if x.encoders < x.limit && x.rows > int64(x.encoders)*groupRows/2 {
		x.encode()
	}
	x.mu.Unlock()
	select {
	case x.batches <- part:
		return nil
	case <-x.ctx.Done():
		return x.failed(context.Cause(x.ctx))
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (x *tx) failed(err error) error {
	return x.c.broken(x.files.first(err), "write the files of "+x.spec.Table)
}

// finish ends the encoders and waits for them. The second call has nothing to give.
func (x *tx) finish() ([]ice.DataFile, error) {
	x.mu.Lock()
	if x.closed {
		x.mu.Unlock()
		x.running.Wait()
		return nil, fmt.Errorf("table %s: %w", x.spec.Table, errOver)
	}
	x.closed = true
	x.mu.Unlock()
	x.writing.Wait()
	close(x.batches)
	x.running.Wait()
	for b := range x.batches { // what nobody took, after an error
		b.Release()
	}
	if x.err != nil {
		return nil, x.failed(x.err)
	}
	return x.made, nil
}

// Abort implements sinks.Tx.
func (x *tx) Abort(context.Context) error {
	x.stop(errOver)
	_, _ = x.finish()
	if !x.end() {
		return nil
	}
	if err := x.files.removeFrom(0); err != nil {
		return x.c.broken(err, "delete the files of a write that was given up")
	}
	return nil
}

// end says that the files are no longer the write's to delete; false if it was said before.
func (x *tx) end() bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	was := x.over
	x.over = true
	return !was
}
