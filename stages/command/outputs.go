package command

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sort"
	"strings"
	"sync/atomic"

	"github.com/apache/arrow-go/v18/arrow"
	"golang.org/x/sync/errgroup"

	"pipe/internal/conform"
	"pipe/internal/diag"
	"pipe/stages"
)

// out is a table out and the folder that the program writes it into.
type out struct {
	table *stages.TableOut
	dir   string
}

func (o out) variable() string { return "$PIPE_OUT_" + VarName(o.table.Out.Table) }

func makeOutFolders(t *stages.Task) ([]out, error) {
	outs := make([]out, 0, len(t.Outs))
	for _, table := range t.Outs {
		o := out{table: table, dir: filepath.Join(t.Scratch, "out", VarName(table.Out.Table))}
		if err := os.MkdirAll(o.dir, 0o755); err != nil {
			return nil, err
		}
		outs = append(outs, o)
	}
	return outs, nil
}

// collect reads what the program wrote into the tables.
func collect(ctx context.Context, t *stages.Task, outs []out) error {
	// What is missing or foreign is known before the first row is read.
	kinds := make([][]*source, len(outs))
	for i, o := range outs {
		var err error
		if kinds[i], err = sources(t, o); err != nil {
			return err
		}
	}
	var rows atomic.Int64
	for i, o := range outs {
		if err := o.read(ctx, t, kinds[i], &rows); err != nil {
			return located(t, err)
		}
	}
	return nil
}

// located adds the stage and its place to an error that a file of the program has no place for.
func located(t *stages.Task, err error) error {
	var e *diag.Error
	if !errors.As(err, &e) || e.Pos.File != "" {
		return err
	}
	all := diag.All(err)
	for i, e := range all {
		c := *e
		c.Pos, c.Stage = t.Stage.Pos, t.Stage.Name
		all[i] = &c
	}
	return all.Err()
}

// sources lists the files of one out: at least one, all of one kind, sorted by name.
func sources(t *stages.Task, o out) ([]*source, error) {
	entries, err := os.ReadDir(o.dir)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", o.variable(), err)
	}
	pos := o.table.Out.Pos
	if pos.File == "" {
		pos = t.Stage.Pos
	}
	fail := func(hint, format string, args ...any) error {
		return &diag.Error{Exit: diag.Failed, Pos: pos, Stage: t.Stage.Name, Msg: fmt.Sprintf(format, args...), Hint: hint}
	}
	var files []*source
	var foreign []string
	for _, e := range entries {
		path := filepath.Join(o.dir, e.Name())
		kind := fileKind(e.Name())
		info, err := os.Stat(path) // a link to a file is one
		if err != nil || !info.Mode().IsRegular() || kind == "" {
			foreign = append(foreign, e.Name())
			continue
		}
		files = append(files, &source{path: path, name: o.variable() + "/" + e.Name(), kind: kind, scratch: t.Scratch, threads: t.Threads, declared: o.table.Out.Schema})
	}
	if len(foreign) > 0 {
		return nil, fail("write other files elsewhere; the folder takes .parquet, .arrow, .csv or .jsonl, the last two also with .gz or .zst",
			"%s holds what is no file of rows: %s", o.variable(), strings.Join(foreign, ", "))
	}
	if len(files) == 0 {
		return nil, fail("write a file into the folder, such as "+o.variable()+"/part.csv; one without rows makes an empty table",
			"made no file for table %s in %s", o.table.Out.Table, o.variable())
	}
	sort.Slice(files, func(i, j int) bool { return files[i].path < files[j].path })
	for _, f := range files[1:] {
		if f.kind != files[0].kind {
			return nil, fail("write one kind", "%s holds files of two kinds: %s and %s", o.variable(), filepath.Base(files[0].path), filepath.Base(f.path))
		}
	}
	return files, nil
}

// read writes the rows of all files into the table. Files may differ in the order and width of their columns.
func (o out) read(ctx context.Context, t *stages.Task, files []*source, done *atomic.Int64) error {
	s, err := common(ctx, files)
	if err != nil {
		return err
	}
	w, err := o.table.Open(ctx, s)
	if err != nil {
		return err
	}
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(max(1, t.Threads))
	for _, f := range files {
		group.Go(func() error { return f.copy(ctx, s, w, t.Progress, done) })
	}
	return group.Wait()
}

// copy writes the rows of one file.
func (f *source) copy(ctx context.Context, to *arrow.Schema, w stages.Writer, progress func(int64), done *atomic.Int64) error {
	if err := ctx.Err(); err != nil {
		return context.Cause(ctx)
	}
	r, err := f.open(ctx)
	if err != nil {
		return err
	}
	defer r.close()
	var plan *conform.Plan
	if !r.schema.Equal(to) {
		if plan, err = conform.New(r.schema, to); err != nil {
			return err
		}
	}
	for {
		batch, err := r.next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return f.unreadable(err)
		}
		if err := write(ctx, w, plan, batch); err != nil {
			return err
		}
		if rows := done.Add(batch.NumRows()); progress != nil {
			progress(rows)
		}
		batch.Release()
	}
}

func write(ctx context.Context, w stages.Writer, plan *conform.Plan, batch arrow.RecordBatch) error {
	if plan == nil {
		return w.Write(ctx, batch)
	}
	fitted, err := plan.Batch(batch)
	if err != nil {
		return err
	}
	defer fitted.Release()
	return w.Write(ctx, fitted)
}
