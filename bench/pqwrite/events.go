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

	"pipe/pipeline"
	"pipe/stages"
	"pipe/stages/generate"
)

// input is the rows in memory.
type input struct {
	schema  *arrow.Schema
	batches []arrow.RecordBatch
	rows    int64
}

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

func generateOnly(ctx context.Context, project string, rows int64) (*line, error) {
	var s sink
	c := start()
	err := generated(ctx, project, rows, func(*arrow.Schema) (stages.Writer, error) { return &s, nil })
	return c.stop(s.rows.Load()), err
}

// makeFile writes an Arrow file that Python reads too.
func makeFile(ctx context.Context, project string, rows int64, file string) (*line, error) {
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
	c := start()
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
	return c.stop(s.rows.Load()), f.Close()
}

func read(file string) (*input, error) {
	f, err := os.Open(filepath.Clean(file))
	if err != nil {
		return nil, err
	}
	defer f.Close()
	r, err := ipc.NewFileReader(f)
	if err != nil {
		return nil, err
	}
	in := &input{schema: r.Schema()}
	for i := range r.NumRecords() {
		b, err := r.RecordBatchAt(i)
		if err != nil {
			return nil, err
		}
		in.batches = append(in.batches, b)
		in.rows += b.NumRows()
	}
	return in, nil
}

// each hands the batches to two workers.
func (in *input) each(do func(worker int, b arrow.RecordBatch) error) error {
	work := make(chan arrow.RecordBatch)
	errs := make(chan error, writers)
	for i := range writers {
		go func() {
			var err error
			for b := range work {
				if err == nil {
					err = do(i, b)
				}
			}
			errs <- err
		}()
	}
	for _, b := range in.batches {
		work <- b
	}
	close(work)
	var first error
	for range writers {
		if err := <-errs; first == nil {
			first = err
		}
	}
	return first
}

const writers = 2

// size gives the megabytes of the files below a folder.
func size(dir string) (float64, error) {
	var n int64
	err := filepath.WalkDir(dir, func(_ string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		info, err := d.Info()
		if err == nil && filepath.Ext(d.Name()) == ".parquet" {
			n += info.Size()
		}
		return err
	})
	return float64(n) / (1 << 20), err
}
