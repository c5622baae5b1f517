package main

import (
	"context"
	"path/filepath"
	"sync"

	"github.com/apache/arrow-go/v18/arrow"

	"pipe/bench/plain"
	"pipe/internal/tabledigest"
	"pipe/sinks"
	"pipe/sinks/iceberg"
)

func digestOnly(in *plain.Input) (*plain.Line, error) {
	h, err := tabledigest.New(in.Schema)
	if err != nil {
		return nil, err
	}
	c := plain.Start()
	err = in.Each(func(_ int, b arrow.RecordBatch) error { h.Batch(b); return nil })
	return c.Stop(in.Rows), err
}

func open(ctx context.Context, dir string) (*iceberg.Catalog, error) {
	return iceberg.Open(ctx, iceberg.Options{
		Name: "lake", URI: "sqlite:" + filepath.Join(dir, "catalog.db"), Warehouse: filepath.Join(dir, "warehouse"), Root: dir, CacheDir: filepath.Join(dir, "cache"),
	})
}

// writePipe is what a run does with the rows of a stage, from the first batch to the published head.
func writePipe(ctx context.Context, in *plain.Input, dir string) (*plain.Line, error) {
	cat, err := open(ctx, dir)
	if err != nil {
		return nil, err
	}
	defer cat.Close()
	columns, err := sinks.FromArrow(in.Schema)
	if err != nil {
		return nil, err
	}
	c := plain.Start()
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
	err = in.Each(func(_ int, b arrow.RecordBatch) error {
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
		Stage: "events", Fingerprint: "1:00", Digest: tabledigest.Digest(sum, columns), Sum: sum.String(), Rows: in.Rows, Run: "bench", ParentDigest: "none",
	})
	if err != nil {
		return nil, err
	}
	if err := cat.Publish(ctx, sinks.Publication{Ref: sinks.Main, Moves: []sinks.Move{{Table: "bench.events", To: snapshot.ID}}}); err != nil {
		return nil, err
	}
	return plain.Finish(c, in, dir)
}
