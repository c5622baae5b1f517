package run

import (
	"bytes"
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
	"pipe/internal/failpoint"
	"pipe/lockfile"
	"pipe/pipeline"
	"pipe/pipeline/fingerprint"
	"pipe/pipeline/plan"
	"pipe/sinks"
	"pipe/stages"
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

// params nests the dotted names of a stage's params; those of other files than params.yaml stand under the file's name.
func params(s *pipeline.Stage) map[string]any {
	out := map[string]any{}
	for _, p := range s.Params {
		at := out
		if p.File != "params.yaml" {
			sub, ok := at[p.File].(map[string]any)
			if !ok {
				sub = map[string]any{}
				at[p.File] = sub
			}
			at = sub
		}
		parts := strings.Split(p.Name, ".")
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

// lookAgain checks that no dep changed while the stage ran, and digests its file outs.
func (a *attempt) lookAgain(ctx context.Context, s *pipeline.Stage) (map[string]plan.File, error) {
	var deps, outs []string
	for _, d := range s.Deps {
		if d.Path != "" {
			deps = append(deps, d.Path)
		}
	}
	for _, o := range s.Outs {
		if o.Path != "" {
			outs = append(outs, o.Path)
		}
	}
	if len(deps)+len(outs) == 0 {
		return nil, nil
	}
	// Fresh: an edit within the clock's granularity of the first look must be seen.
	seen, err := a.p.Files.Fresh(ctx, append(append([]string(nil), deps...), outs...))
	if err != nil {
		return nil, err
	}
	var errs diag.List
	a.mu.Lock()
	for _, n := range deps {
		if seen[n].Digest != a.w.Files[n].Digest {
			errs = append(errs, (&diag.Error{Exit: diag.Failed, Stage: s.Name, Pos: s.Pos, Msg: n + " changed while the stage ran, so nothing was recorded"}).With("pipe repro"))
		}
	}
	a.mu.Unlock()
	files := map[string]plan.File{}
	for _, n := range outs {
		f := asFile(seen[n])
		switch {
		case f.Missing:
			errs = append(errs, &diag.Error{Exit: diag.Failed, Stage: s.Name, Pos: s.Pos, Msg: "output '" + n + "' does not exist"})
		case f.Err != "":
			errs = append(errs, &diag.Error{Exit: diag.Failed, Stage: s.Name, Pos: s.Pos, Msg: n + ": " + f.Err})
		}
		files[n] = f
	}
	return files, errs.Err()
}

// commit stages the snapshots of an attempt that went well, unless its rows are those that stand already, and makes the entry.
func (a *attempt) commit(ctx context.Context, step *plan.Step, outs []*tableOut, files map[string]plan.File) (*lockfile.Entry, Outcome, map[plan.TableKey]int64, error) {
	s := step.Stage
	e := &lockfile.Entry{Fingerprint: step.Fingerprint, Inputs: step.Inputs}
	fileDigests := map[string]fingerprint.Digest{}
	for _, o := range s.Outs {
		if o.Path != "" {
			f := files[o.Path]
			fileDigests[o.Path] = f.Digest
			e.Outs = append(e.Outs, lockfile.Out{Path: o.Path, Digest: f.Digest, Size: f.Size})
		}
	}
	if len(outs) > 0 {
		failpoint.Hit(failpoint.RowsWritten)
	}
	// From here on the attempt is finished or thrown away as a whole; a cancel waits.
	ctx = context.WithoutCancel(ctx)
	added := map[plan.TableKey]int64{}
	digests := make([]fingerprint.Digest, len(outs))
	stamps := make([]sinks.Stamp, len(outs))
	for i, o := range outs {
		base, err := a.base(ctx, o.step)
		if err != nil {
			return nil, "", nil, err
		}
		d, sum, err := o.digest(base)
		if err != nil {
			return nil, "", nil, err
		}
		digests[i] = d
		if o.step.Out.Mode == pipeline.Append {
			added[o.step.Key] = o.sum.Rows()
		}
		stamps[i] = sinks.Stamp{
			Stage: s.Name, Fingerprint: step.Fingerprint, Digest: d, Sum: sum.String(), Rows: sum.Rows(), Run: a.id,
			ParentDigest: o.step.BaseDigest, ParentRows: o.step.BaseRows, Outs: fileDigests, Revision: a.revision(), Version: a.p.Version,
			Extra: o.carry,
		}
		if o.columns != nil {
			if stamps[i].Extra == nil {
				stamps[i].Extra = map[string]string{}
			}
			stamps[i].Extra[plan.ColumnsProperty] = plan.JoinColumns(o.columns)
		}
	}
	a.mu.Lock()
	keep := a.w.Kept(step, digests)
	a.mu.Unlock()
	outcome := Ran
	if len(outs) > 0 && len(keep) == len(outs) {
		outcome = RanSame
	}
	for i, o := range outs {
		out := lockfile.Out{
			Table: o.step.Key.Table, Sink: o.step.Key.Sink, Digest: digests[i], Rows: stamps[i].Rows, Columns: o.columns,
		}
		if id, ok := keep[o.step.Key]; ok {
			o.abort(ctx)
			out.Snapshot = string(id)
			added[o.step.Key] = 0
			e.Outs = append(e.Outs, out)
			continue
		}
		snap, err := o.tx.Stage(ctx, stamps[i])
		if err != nil {
			return nil, "", nil, o.failed(err)
		}
		failpoint.Hit(failpoint.Staged)
		a.touch(o.step.Key)
		out.Snapshot = string(snap.ID)
		e.Outs = append(e.Outs, out)
	}
	e.Sort()
	if err := a.see(ctx, step); err != nil {
		return nil, "", nil, err
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.w.KeepIDs(step, e), outcome, added, nil
}

// see looks at the stage's tables again, so that what hangs below finds the snapshots that were just staged.
func (a *attempt) see(ctx context.Context, step *plan.Step) error {
	for _, o := range step.Outs {
		got, err := a.p.Catalogs[o.Key.Sink].Observe(ctx, []string{o.Key.Table})
		if err != nil {
			return environment(err, "look at "+o.Key.String())
		}
		a.mu.Lock()
		if t := got[o.Key.Table]; t != nil {
			a.w.Tables[o.Key] = t
		}
		a.mu.Unlock()
	}
	return nil
}

// base gives the content that an append adds to; it is read where no stamp tells.
func (a *attempt) base(ctx context.Context, o plan.OutStep) (plan.Content, error) {
	if o.Out.Mode != pipeline.Append || o.Base == "" {
		return plan.Content{}, nil
	}
	a.mu.Lock()
	c, ok := a.w.BaseContent(o.Key, o.Base)
	a.mu.Unlock()
	if ok && (c.Rows == 0 || strings.HasPrefix(c.Sum, "1:")) {
		return c, nil
	}
	return a.p.scanContent(ctx, o.Key, o.Base)
}

// touch notes a table whose run ref this run has set.
func (a *attempt) touch(k plan.TableKey) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.touched[k] = true
}

// started records a process group, so that the next run can end it if this one is killed.
func (a *attempt) started(pid int, start string) {
	var b bytes.Buffer
	fmt.Fprintf(&b, "%d %s\n", pid, start)
	f, err := os.OpenFile(filepath.Join(a.p.Root, ".pipe", groupsName), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return // the record only helps to end strays sooner
	}
	defer f.Close()
	_, _ = f.Write(b.Bytes())
}
