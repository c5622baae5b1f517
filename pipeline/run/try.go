package run

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"path"
	"path/filepath"
	"strings"
	"time"

	"github.com/apache/arrow-go/v18/arrow"

	"pipe/internal/diag"
	"pipe/pipeline"
	"pipe/pipeline/plan"
	"pipe/sinks"
	"pipe/stages"
)

// try is one attempt of one stage.
func (a *attempt) try(ctx context.Context, step *plan.Step, r *StageResult, log io.Writer, n int) (err error) {
	s := step.Stage
	scratch := filepath.Join(a.p.Root, ".pipe", "scratch", a.id, fmt.Sprintf("%s.%d", fileName(s.Name), n))
	if err := os.MkdirAll(scratch, 0o755); err != nil {
		return environment(err, "make a scratch folder")
	}
	defer os.RemoveAll(scratch)

	var paths []string
	for _, o := range s.Outs {
		if o.Path != "" && !o.Persist && !path.IsAbs(o.Path) {
			paths = append(paths, o.Path)
		}
	}
	aside, err := a.p.Files.Aside(a.id, s.Name, paths)
	if err != nil {
		return environment(err, "move the outs of stage "+s.Name+" aside")
	}
	settled := false
	defer func() {
		if !settled {
			err = errors.Join(err, aside.Restore())
		}
	}()

	outs := a.tableOuts(step)
	defer func() {
		if err != nil {
			for _, o := range outs {
				o.abort(ctx)
			}
		}
	}()
	t := a.task(step, outs, scratch, log)
	runCtx := ctx
	if s.Timeout > 0 {
		var cancel context.CancelFunc
		runCtx, cancel = context.WithTimeout(ctx, time.Duration(s.Timeout*float64(time.Second)))
		defer cancel()
	}
	if err := a.p.Kinds[s.Kind].Run(runCtx, t); err != nil {
		if runCtx.Err() != nil && ctx.Err() == nil {
			return overtime(s, err)
		}
		return failure(s, err)
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	for _, o := range outs {
		if o.tx == nil {
			return &diag.Error{Exit: diag.Failed, Stage: s.Name, Pos: o.step.Out.Pos, Msg: "made nothing for the table " + o.step.Key.String()}
		}
	}
	files, err := a.lookAgain(ctx, s)
	if err != nil {
		return err
	}
	e, outcome, added, err := a.commit(ctx, step, outs, files)
	if err != nil {
		return err
	}
	settled = true
	if err := aside.Drop(); err != nil {
		return environment(err, "drop the old outs of stage "+s.Name)
	}
	a.mu.Lock()
	a.ran[s.Name] = true
	for name, f := range files {
		a.w.Files[name] = f
	}
	a.mu.Unlock()
	r.Outcome = outcome
	a.finish(r, step, s, e, added)
	return nil
}

// overtime is the error of a stage that its timeout ended: what the kind says of it, where it knows that this is why.
func overtime(s *pipeline.Stage, err error) error {
	var told *diag.Error
	if errors.As(err, &told) && told.Exit == diag.Failed && errors.Is(told.Err, context.DeadlineExceeded) {
		return failure(s, told)
	}
	e := diag.Error{Exit: diag.Failed, Stage: s.Name, Pos: s.Pos, Msg: fmt.Sprintf("ran longer than its timeout of %gs", s.Timeout), Err: err}
	return e.With("give the stage a longer timeout")
}

// failure gives a kind's error the stage's name and place, once.
func failure(s *pipeline.Stage, err error) error {
	var list diag.List
	for _, e := range diag.All(err) {
		c := *e
		c.Stage = s.Name
		if c.Exit == 0 || errors.Is(err, e) && c.Err == err {
			c.Exit = diag.Failed
		}
		list = append(list, &c)
	}
	return list.Err()
}

func (a *attempt) tableOuts(step *plan.Step) []*tableOut {
	a.mu.Lock()
	defer a.mu.Unlock()
	var outs []*tableOut
	for _, o := range step.Outs {
		var recorded []string
		if o.Out.Schema == nil {
			recorded = a.w.Recorded(step.Stage, o)
		}
		outs = append(outs, &tableOut{
			step: o, catalog: a.p.Catalogs[o.Key.Sink], run: a.id, project: a.project, recorded: recorded,
			progress: func(rows int64) { a.emit(Event{Kind: EventProgress, Stage: step.Stage.Name, Rows: rows}) },
		})
	}
	return outs
}

// task is what the kind sees.
func (a *attempt) task(step *plan.Step, outs []*tableOut, scratch string, log io.Writer) *stages.Task {
	s := step.Stage
	t := &stages.Task{
		Stage: s, Run: a.id, Root: a.p.Root, Scratch: scratch, Params: params(s), Log: log, Environ: a.p.Environ, Threads: a.threads,
		Getenv:   a.getenv,
		Progress: func(rows int64) { a.emit(Event{Kind: EventProgress, Stage: s.Name, Rows: rows}) },
		Started:  a.started,
	}
	a.mu.Lock()
	for _, d := range s.Deps {
		if d.Table == "" {
			continue
		}
		cat, at := a.p.Catalogs[d.Sink], sinks.Target{Table: d.Table, Snapshot: a.w.ReadAt(d)}
		in := stages.TableIn{Dep: d, Snapshot: string(at.Snapshot)}
		if c, ok := a.w.BaseContent(plan.TableKey{Sink: d.Sink, Table: d.Table}, at.Snapshot); ok {
			in.Rows = c.Rows
		}
		in.Scan = func(ctx context.Context) (*arrow.Schema, iter.Seq2[arrow.RecordBatch, error], error) {
			return cat.Scan(ctx, at, sinks.ScanOptions{Columns: d.Columns})
		}
		in.Files = func(ctx context.Context) ([]string, bool, error) { return cat.Files(ctx, at) }
		t.Tables = append(t.Tables, in)
	}
	for _, o := range outs {
		t.Outs = append(t.Outs, &stages.TableOut{
			Out: o.step.Out, BaseRows: o.step.BaseRows, Base: a.w.Carried(o.step.Key, o.step.Base), Open: o.open, Carry: o.carryOn,
		})
	}
	a.mu.Unlock()
	return t
}

func (a *attempt) getenv(name string) string {
	for i := len(a.p.Environ) - 1; i >= 0; i-- {
		if k, v, ok := strings.Cut(a.p.Environ[i], "="); ok && k == name {
			return v
		}
	}
	return ""
}

// params nests the dotted names of a stage's params; those of other files than the params.yaml of its wdir stand under the file's
// name, as the project's folder has it.
func params(s *pipeline.Stage) map[string]any {
	out := map[string]any{}
	for _, p := range s.Params {
		at := out
		if p.File != path.Join(s.Dir, "params.yaml") {
			sub, ok := at[p.File].(map[string]any)
			if !ok {
				sub = map[string]any{}
				at[p.File] = sub
			}
			at = sub
		}
		parts := p.Path()
		if len(parts) == 0 {
			continue
		}
		for _, part := range parts[:len(parts)-1] {
			sub, ok := at[part].(map[string]any)
			if !ok {
				sub = map[string]any{}
				at[part] = sub
			}
			at = sub
		}
		at[parts[len(parts)-1]] = p.Value.Go()
	}
	return out
}
