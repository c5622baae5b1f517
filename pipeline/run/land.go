package run

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"pipe/internal/diag"
	"pipe/internal/failpoint"
	"pipe/lockfile"
	"pipe/pipeline"
	"pipe/pipeline/fingerprint"
	"pipe/pipeline/plan"
	"pipe/sinks"
)

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
