package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"sync"
	"sync/atomic"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/ipc"

	"pipe/bench/plain"
	"pipe/pipeline"
	"pipe/stages"
	"pipe/stages/generate"
)

// generated runs the stage `events` of a project with another number of rows; do takes each batch.
func generated(ctx context.Context, project string, rows int64, open func(*arrow.Schema) (stages.Writer, error)) error {
	graph, err := pipeline.Load(os.DirFS(project), "pipeline.yaml")
	if err != nil {
		return err
	}
	stage := graph.Stage("events")
	if stage == nil {
		return fmt.Errorf("no stage events in %s", project)
	}
	for _, k := range stage.With.Keys {
		if k.Name == "rows" {
			k.Value.Kind, k.Value.Text = pipeline.Int, strconv.FormatInt(rows, 10)
		}
	}
	task := &stages.Task{
		Stage: stage, Root: project, Log: io.Discard, Getenv: os.Getenv, Progress: func(int64) {}, Threads: runtime.GOMAXPROCS(0),
		Outs: []*stages.TableOut{{
			Out:   stage.Outs[0],
			Open:  func(_ context.Context, columns *arrow.Schema) (stages.Writer, error) { return open(columns) },
			Carry: func(string, string) {},
		}},
	}
	return generate.Kind().Run(ctx, task)
}

// sink takes batches and counts them.
type sink struct {
	rows atomic.Int64
	do   func(arrow.RecordBatch) error
}

func (s *sink) Write(_ context.Context, b arrow.RecordBatch) error {
	s.rows.Add(b.NumRows())
	if s.do == nil {
		return nil
	}
	return s.do(b)
}

func generateOnly(ctx context.Context, project string, rows int64) (*plain.Line, error) {
	var s sink
	c := plain.Start()
	err := generated(ctx, project, rows, func(*arrow.Schema) (stages.Writer, error) { return &s, nil })
	return c.Stop(s.rows.Load()), err
}

// makeFile writes an Arrow file that Python reads too.
func makeFile(ctx context.Context, project string, rows int64, file string) (*plain.Line, error) {
	f, err := os.Create(filepath.Clean(file))
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var (
		s  sink
		mu sync.Mutex
		w  *ipc.FileWriter
	)
	c := plain.Start()
	err = generated(ctx, project, rows, func(columns *arrow.Schema) (stages.Writer, error) {
		var err error
		w, err = ipc.NewFileWriter(f, ipc.WithSchema(columns))
		s.do = func(b arrow.RecordBatch) error {
			mu.Lock()
			defer mu.Unlock()
			return w.Write(b)
		}
		return &s, err
	})
	if err != nil {
		return nil, err
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	return c.Stop(s.rows.Load()), f.Close()
}
