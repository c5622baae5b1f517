package run

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"pipe/internal/diag"
	"pipe/lockfile"
	"pipe/pipeline"
	"pipe/pipeline/plan"
	"pipe/sinks"
)

// stage decides one stage, now that all above it is known, and does what was decided.
func (a *attempt) stage(ctx context.Context, s *pipeline.Stage) *StageResult {
	began := a.p.Now()
	r := &StageResult{Name: s.Name}
	step, err := a.decide(ctx, s)
	if err == nil {
		switch step.Status {
		case plan.UpToDate:
			r.Outcome = UpToDate
			a.finish(r, step, s, step.Done, nil)
		case plan.Frozen:
			r.Outcome = Frozen
			a.finish(r, step, s, step.Done, nil)
		case plan.Reuse:
			r.Outcome = Reused
			if err = a.reuse(ctx, step); err == nil {
				a.finish(r, step, s, step.Done, nil)
			}
		default:
			err = a.run(ctx, step, r)
		}
	}
	r.Seconds = a.p.Now().Sub(began).Seconds()
	if err != nil {
		r.Outcome, r.Err = Failed, err
		a.emit(Event{Kind: EventFailed, Stage: s.Name, Step: step, Err: err, Seconds: r.Seconds, Result: r})
		return r
	}
	a.emit(Event{Kind: EventFinished, Stage: s.Name, Step: step, Seconds: r.Seconds, Result: r})
	return r
}

// decide looks again at files that a stage above may have made, then asks plan.
func (a *attempt) decide(ctx context.Context, s *pipeline.Stage) (*plan.Step, error) {
	a.mu.Lock()
	made := false
	for _, up := range a.p.Graph.Upstream(s.Name) {
		made = made || a.ran[up]
	}
	a.mu.Unlock()
	if made {
		var names []string
		for _, d := range s.Deps {
			if d.Path != "" {
				names = append(names, d.Path)
			}
		}
		if len(names) > 0 {
			seen, err := a.p.Files.Observe(ctx, names)
			if err != nil {
				return nil, err
			}
			a.mu.Lock()
			for n, f := range seen {
				a.w.Files[n] = asFile(f)
			}
			a.mu.Unlock()
		}
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	step := a.w.Decide(s, a.sel.Choice(s.Name))
	if err := step.Missing.Err(); err != nil {
		return step, err
	}
	if step.Stop != nil {
		return step, stopped(step)
	}
	return step, nil
}

func stopped(step *plan.Step) *diag.Error {
	return (&diag.Error{Exit: diag.Conflict, Stage: step.Stage.Name, Pos: step.Stage.Pos, Msg: step.Stop.Msg}).With("%s", step.Stop.Hint)
}

// finish records what stands for a stage. staged are the snapshots that this run made.
func (a *attempt) finish(r *StageResult, step *plan.Step, s *pipeline.Stage, e *lockfile.Entry, added map[plan.TableKey]int64) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if e == nil {
		return
	}
	for _, o := range e.Outs {
		out := OutResult{Out: o}
		if o.Table != "" {
			out.Added = added[plan.TableKey{Sink: o.Sink, Table: o.Table}]
		}
		r.Outs = append(r.Outs, out)
	}
	old := a.w.Lock.Stages[s.Name]
	if e == old || step.Status == plan.UpToDate || step.Status == plan.Frozen {
		return
	}
	if e.Equal(old) {
		a.w.Entries[s.Name] = old
		return
	}
	a.w.Entries[s.Name] = e
	if !hasTables(s) {
		a.save.set(s.Name, e)
	}
}

func hasTables(s *pipeline.Stage) bool {
	for _, o := range s.Outs {
		if o.Table != "" {
			return true
		}
	}
	return false
}

// reuse puts this run's ref on every snapshot of the set first, so that none can expire before the lock names it.
func (a *attempt) reuse(ctx context.Context, step *plan.Step) error {
	bySink := map[string][]sinks.Target{}
	for _, o := range step.Outs {
		if o.Reuse != "" {
			bySink[o.Key.Sink] = append(bySink[o.Key.Sink], sinks.Target{Table: o.Key.Table, Snapshot: o.Reuse})
		}
	}
	for sink, targets := range bySink {
		if err := a.p.Catalogs[sink].Hold(ctx, a.id, targets); err != nil {
			if errors.Is(err, sinks.ErrExpired) || errors.Is(err, sinks.ErrConflict) {
				return &again{err}
			}
			return environment(err, "hold a snapshot of stage "+step.Stage.Name)
		}
		for _, t := range targets {
			a.touch(plan.TableKey{Sink: sink, Table: t.Table})
		}
	}
	return nil
}

// again asks for a new decision from the start: the world moved.
type again struct{ err error }

func (e *again) Error() string { return e.err.Error() }
func (e *again) Unwrap() error { return e.err }

// run runs a stage: as often as its retries allow, each attempt from nothing.
func (a *attempt) run(ctx context.Context, step *plan.Step, r *StageResult) error {
	s := step.Stage
	for _, n := range step.Notes {
		a.emit(Event{Kind: EventNote, Stage: s.Name, Text: n})
	}
	a.emit(Event{Kind: EventStarted, Stage: s.Name, Step: step})
	log, err := a.openLog(s.Name)
	if err != nil {
		return err
	}
	defer log.Close()
	for try := 0; ; try++ {
		err = a.try(ctx, step, r, io.MultiWriter(log, a.output(s.Name)), try)
		if err == nil || try >= s.Retries || ctx.Err() != nil {
			return err
		}
		a.emit(Event{Kind: EventNote, Stage: s.Name, Text: fmt.Sprintf("attempt %d of %d failed: %v", try+1, s.Retries+1, err)})
	}
}

func (a *attempt) output(stage string) io.Writer {
	if a.opts.Output == nil {
		return io.Discard
	}
	return a.opts.Output(stage)
}

func (a *attempt) openLog(stage string) (*os.File, error) {
	dir := filepath.Join(a.p.Root, ".pipe", "runs", a.id)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, environment(err, "make the log of stage "+stage)
	}
	f, err := os.Create(filepath.Join(dir, fileName(stage)+".log"))
	if err != nil {
		return nil, environment(err, "make the log of stage "+stage)
	}
	return f, nil
}

// fileName makes a stage's name fit for a file: slashes are the only characters of names that no file may hold.
func fileName(stage string) string { return strings.ReplaceAll(stage, "/", "_") }
