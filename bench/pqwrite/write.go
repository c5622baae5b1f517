package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"sync"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/compress"
	"github.com/apache/arrow-go/v18/parquet/pqarrow"

	"pipe/internal/tabledigest"
	"pipe/sinks"
	"pipe/sinks/iceberg"
)

// writePlain is what a Go program does without a table format: one Parquet file a core.
func writePlain(ctx context.Context, in *input, dir string, ownCodec bool) (*line, error) {
	if ownCodec {
		// Opening a catalog registers the codec of package iceberg in the whole process.
		cat, err := open(ctx, dir)
		if err != nil {
			return nil, err
		}
		defer cat.Close()
	}
	props := parquet.NewWriterProperties(
		parquet.WithCompression(compress.Codecs.Zstd), parquet.WithCompressionLevel(1), parquet.WithMaxRowGroupLength(1<<20), parquet.WithStats(true))
	files := make([]*pqarrow.FileWriter, writers)
	c := start()
	for i := range files {
		f, err := os.Create(filepath.Join(dir, fmt.Sprintf("%d.parquet", i)))
		if err != nil {
			return nil, err
		}
		if files[i], err = pqarrow.NewFileWriter(in.schema, f, props, pqarrow.DefaultWriterProps()); err != nil {
			return nil, err
		}
	}
	if err := in.each(func(i int, b arrow.RecordBatch) error { return files[i].WriteBuffered(b) }); err != nil {
		return nil, err
	}
	for _, f := range files {
		if err := f.Close(); err != nil {
			return nil, err
		}
	}
	return finish(c, in, dir)
}

func digestOnly(in *input) (*line, error) {
	h, err := tabledigest.New(in.schema)
	if err != nil {
		return nil, err
	}
	c := start()
	err = in.each(func(_ int, b arrow.RecordBatch) error { h.Batch(b); return nil })
	return c.stop(in.rows), err
}

func open(ctx context.Context, dir string) (*iceberg.Catalog, error) {
	return iceberg.Open(ctx, iceberg.Options{
		Name: "lake", URI: "sqlite:" + filepath.Join(dir, "catalog.db"), Warehouse: filepath.Join(dir, "warehouse"), Root: dir, CacheDir: filepath.Join(dir, "cache"),
	})
}

// writePipe is what a run does with the rows of a stage, from the first batch to the published head.
func writePipe(ctx context.Context, in *input, dir string) (*line, error) {
	cat, err := open(ctx, dir)
	if err != nil {
		return nil, err
	}
	defer cat.Close()
	columns, err := sinks.FromArrow(in.schema)
	if err != nil {
		return nil, err
	}
	c := start()
	tx, err := cat.Begin(ctx, sinks.Spec{Table: "bench.events", Schema: columns}, sinks.Base{Append: true, Run: "bench"})
	if err != nil {
		return nil, err
	}
	h, err := tabledigest.New(tx.Schema())
	if err != nil {
		return nil, err
	}
	var mu sync.Mutex
	var sum tabledigest.Sum
	err = in.each(func(_ int, b arrow.RecordBatch) error {
		s := h.Batch(b)
		mu.Lock()
		sum = sum.Add(s)
		mu.Unlock()
		return tx.Write(ctx, b)
	})
	if err != nil {
		return nil, err
	}
	snapshot, err := tx.Stage(ctx, sinks.Stamp{
		Stage: "events", Fingerprint: "1:00", Digest: tabledigest.Digest(sum, columns), Sum: sum.String(), Rows: in.rows, Run: "bench", ParentDigest: "none",
	})
	if err != nil {
		return nil, err
	}
	if err := cat.Publish(ctx, sinks.Publication{Ref: sinks.Main, Moves: []sinks.Move{{Table: "bench.events", To: snapshot.ID}}}); err != nil {
		return nil, err
	}
	return finish(c, in, dir)
}

func finish(c clock, in *input, dir string) (*line, error) {
	l := c.stop(in.rows)
	var err error
	l.MB, err = size(dir)
	return l, err
}
