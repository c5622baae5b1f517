package run

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"time"

	"pipe/internal/diag"
	"pipe/internal/fsx"
	"pipe/lockfile"
	"pipe/pipeline"
	"pipe/pipeline/plan"
	"pipe/sinks"
)

// tries is how often a run decides again after another writer moved a table first.
const tries = 4

// attempt is one pass of a run: observed once, decided, done. A lost race begins a new one under the same run id, which then
// reuses what this one staged.
type attempt struct {
	p       *Project
	opts    Options
	id      string
	project string
	threads int
	sel     plan.Selection
	save    *saver
	emit    func(Event)
	rev     func() string
	heads   map[plan.TableKey]sinks.SnapshotID // as the decisions of this attempt saw them

	mu      sync.Mutex // guards what follows
	w       *plan.World
	ran     map[string]bool // stages whose file outs may have changed
	touched map[plan.TableKey]bool
}

func (a *attempt) revision() string { return a.rev() }

func (o Options) request() plan.Request {
	return plan.Request{Targets: o.Targets, Single: o.Single, Downstream: o.Downstream, Force: o.Force, NoReuse: o.NoReuse, Accept: o.Accept}
}

// Repro brings the selected stages up to date and publishes. It takes the project's mutex; a second process waits. The Result is
// complete also where an error comes with it: a stage failed (exit status 1), a head is not what the lock says (4), the environment
// is broken (5), the context was cancelled (130).
func (p *Project) Repro(ctx context.Context, opts Options) (*Result, error) {
	began := p.Now()
	res := &Result{Run: newID(began)}
	var events sync.Mutex
	emit := func(e Event) {
		if opts.OnEvent == nil {
			return
		}
		events.Lock()
		defer events.Unlock()
		e.Time, e.Run = p.Now(), res.Run
		opts.OnEvent(e)
	}
	sel, err := plan.Select(p.Graph, opts.request())
	if err != nil {
		return res, err
	}
	unlock, err := p.enter(ctx, emit)
	if err != nil {
		return res, err
	}
	defer unlock()
	lock, err := ReadLock(p.Root)
	if err != nil {
		return res, err
	}
	if lock, err = p.recover(ctx, lock, emit); err != nil {
		return res, err
	}
	rev := sync.OnceValue(func() string {
		if p.Revision == nil {
			return "none"
		}
		return p.Revision()
	})
	for n := 1; ; n++ {
		err = p.attempt(ctx, opts, sel, lock, res, emit, rev)
		var moved *plan.Conflict
		var again *again
		if !errors.As(err, &moved) && !errors.As(err, &again) {
			break
		}
		if n == tries {
			err = (&diag.Error{Exit: diag.Conflict, Msg: fmt.Sprintf("another writer was first %d times: %v", tries, err), Err: err}).With("pipe repro")
			break
		}
		emit(Event{Kind: EventNote, Text: err.Error() + "; deciding again"})
		pause(ctx, time.Duration(rand.IntN(20*n)+1)*time.Millisecond)
		if lock, err = ReadLock(p.Root); err != nil {
			return res, err
		}
	}
	// Every stage has ended, so no group of this run is left for the next one to end.
	_ = os.Remove(filepath.Join(p.Root, ".pipe", groupsName))
	res.Seconds = p.Now().Sub(began).Seconds()
	if err := p.Files.Save(); err != nil {
		emit(Event{Kind: EventNote, Text: "the cache of file digests was not saved: " + err.Error()})
	}
	if ctx.Err() != nil {
		err = &diag.Error{Exit: diag.Interrupted, Msg: "interrupted; what was finished is kept", Err: ctx.Err()}
	}
	emit(Event{Kind: EventDone, Err: err, Seconds: res.Seconds})
	return res, err
}

func pause(ctx context.Context, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
	case <-t.C:
	}
}

// enter makes .pipe ready and takes the mutex.
func (p *Project) enter(ctx context.Context, emit func(Event)) (func(), error) {
	if p.Prepare != nil {
		if err := p.Prepare(); err != nil {
			return nil, err
		}
	}
	m, err := fsx.Lock(ctx, filepath.Join(p.Root, ".pipe", "mutex"), func(holder string) {
		emit(Event{Kind: EventWaiting, Text: holder})
	})
	if err != nil {
		if ctx.Err() != nil {
			return nil, &diag.Error{Exit: diag.Interrupted, Msg: "interrupted while waiting for another pipe", Err: err}
		}
		return nil, environment(err, "take the project's mutex")
	}
	// A kill in the midst of a write leaves a temporary file beside the lock. What cannot be removed now is removed another time.
	_ = fsx.RemoveTemps(p.Root)
	return func() { _ = m.Unlock() }, nil
}

// attempt is one pass.
func (p *Project) attempt(ctx context.Context, opts Options, sel plan.Selection, lock *lockfile.Lock, res *Result, emit func(Event), rev func() string) error {
	w, err := p.world(ctx, lock, sel, opts)
	if err != nil {
		return err
	}
	preview := w.Make(sel)
	if err := before(preview); err != nil {
		return err
	}
	a := &attempt{
		p: p, opts: opts, id: res.Run, sel: sel, save: newSaver(p.Root, lock.Clone(), p.Now), emit: emit, rev: rev, w: w,
		ran: map[string]bool{}, touched: map[plan.TableKey]bool{}, threads: runtime.GOMAXPROCS(0), heads: heads(w),
	}
	if p.ID != nil {
		if a.project, err = p.ID(); err != nil {
			return environment(err, "read the project's id")
		}
	}
	jobs := opts.Jobs
	if jobs <= 0 {
		jobs = runtime.GOMAXPROCS(0)
	}
	res.Stages = schedule(ctx, p.Graph, sel.Stages, jobs, opts.KeepGoing, a.stage, a.skipped)
	defer removeScratch(p.Root, a.id)

	var failed diag.List
	for _, r := range res.Stages {
		var again *again
		if errors.As(r.Err, &again) {
			return again
		}
		if r.Outcome == Failed {
			for _, e := range diag.All(r.Err) {
				if e.Stage == "" {
					c := *e
					c.Stage = r.Name
					e = &c
				}
				failed = append(failed, e)
			}
		}
	}
	if ctx.Err() != nil || len(failed) > 0 {
		if err := a.save.flush(); err != nil {
			return err
		}
		if len(failed) == 0 {
			return ctx.Err()
		}
		return failed
	}
	if opts.NoPublish {
		res.Held = true
		return a.save.flush()
	}
	moves, err := a.publish(ctx)
	if err != nil {
		return err
	}
	for i := range res.Stages {
		s := p.Graph.Stage(res.Stages[i].Name)
		for k := range res.Stages[i].Outs {
			o := &res.Stages[i].Outs[k]
			if o.Table == "" {
				continue
			}
			key := plan.TableKey{Sink: o.Sink, Table: o.Table}
			o.Head = a.w.Relation(s, a.save.lock.Stages[s.Name], key)
			for _, m := range moves {
				if m.TableKey == key {
					o.Head = plan.Same
				}
			}
			res.Held = res.Held || a.w.Held[key]
		}
	}
	if res.Published = len(moves) > 0; res.Published {
		emit(Event{Kind: EventPublished, Moves: moves})
	}
	return nil
}

// before stops a run whose end is known: something must be there and is not (exit status 2), or a head is not what the lock says (4).
func before(pl *plan.Plan) error {
	var missing, diverged diag.List
	for _, st := range pl.Steps {
		missing = append(missing, st.Missing...)
		if st.Stop != nil {
			diverged = append(diverged, stopped(st))
		}
	}
	if err := missing.Err(); err != nil {
		return err
	}
	return diverged.Err()
}

func (a *attempt) skipped(s *pipeline.Stage, root string) *StageResult {
	r := &StageResult{Name: s.Name, Outcome: Skipped}
	a.emit(Event{Kind: EventSkipped, Stage: s.Name, Text: root, Result: r})
	return r
}

// Status is the preview of a Repro with the same options; it changes nothing. What a run that was cut off left is shown as the next
// run will finish it.
func (p *Project) Status(ctx context.Context, opts Options) (*plan.Plan, error) {
	sel, err := plan.Select(p.Graph, opts.request())
	if err != nil {
		return nil, err
	}
	lock, err := ReadLock(p.Root)
	if err != nil {
		return nil, err
	}
	w, err := p.world(ctx, lock, sel, opts)
	if err != nil {
		return nil, err
	}
	j, err := p.readJournal()
	if err != nil {
		return nil, err
	}
	if j != nil {
		w = w.Apply(j)
		w.History = nil
		if err := p.askHistory(w); err != nil {
			return nil, err
		}
	}
	return w.Make(sel), nil
}

// Checkout moves the heads to what the lock says, because the user says so: all table outs, or those named.
func (p *Project) Checkout(ctx context.Context, tables []string, on func(Event)) ([]MoveInfo, error) {
	emit := func(e Event) {
		if on != nil {
			e.Time = p.Now()
			on(e)
		}
	}
	sel, err := plan.Select(p.Graph, plan.Request{Targets: tables, Single: true})
	if err != nil {
		return nil, err
	}
	unlock, err := p.enter(ctx, emit)
	if err != nil {
		return nil, err
	}
	defer unlock()
	lock, err := ReadLock(p.Root)
	if err != nil {
		return nil, err
	}
	if lock, err = p.recover(ctx, lock, emit); err != nil {
		return nil, err
	}
	w, err := p.world(ctx, lock, plan.Selection{Stages: map[string]bool{}}, Options{})
	if err != nil {
		return nil, err
	}
	mv, err := w.Back(sel.Stages)
	if err != nil {
		return nil, err
	}
	a := &attempt{p: p, w: w}
	for sink, list := range mv {
		if err := p.Catalogs[sink].Publish(ctx, sinks.Publication{Ref: w.Ref, Moves: list}); err != nil {
			return nil, environment(err, "move the heads of sink "+sink)
		}
	}
	out := a.told(mv)
	if len(out) > 0 {
		emit(Event{Kind: EventPublished, Moves: out})
	}
	return out, nil
}

func removeScratch(root, id string) {
	_ = os.RemoveAll(filepath.Join(root, ".pipe", "scratch", id)) // what stays is removed by the next run
}
