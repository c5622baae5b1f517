package run

import (
	"context"
	"errors"
	"sort"

	"pipe/internal/failpoint"
	"pipe/internal/fsx"
	"pipe/lockfile"
	"pipe/pipeline"
	"pipe/pipeline/plan"
	"pipe/sinks"
)

// publish moves the heads and writes the entries, in the one order that a kill cannot hurt: journal, heads (with their pins), other
// pins, lock, journal removed, run ref dropped.
func (a *attempt) publish(ctx context.Context) ([]MoveInfo, error) {
	ctx = context.WithoutCancel(ctx)
	if len(a.touched) > 0 || a.hasTables() {
		if err := a.p.lookAtTables(ctx, a.w); err != nil {
			return nil, err
		}
	}
	for k, h := range a.heads {
		if now := a.w.Tables[k].Head(a.w.Ref); now != h && a.touched[k] {
			return nil, &plan.Conflict{Table: k}
		}
	}
	mv, err := a.w.Moves(a.sel.Stages, a.sel.Accept)
	if err != nil {
		return nil, err
	}
	if err := a.w.Assert(mv, a.sel.Stages); err != nil {
		return nil, err
	}
	j := a.journal(mv)
	if len(j.Catalogs) > 0 {
		if err := fsx.WriteAtomic(a.p.journalPath(), lockfile.EncodeJournal(j), 0o644); err != nil {
			return nil, environment(err, "write the journal")
		}
		failpoint.Hit(failpoint.Journaled)
		for _, c := range j.Catalogs {
			if err := a.p.Catalogs[c.Sink].Publish(ctx, publication(j.Ref, c)); err != nil {
				if errors.Is(err, sinks.ErrConflict) || errors.Is(err, sinks.ErrExpired) {
					if err := fsx.RemoveSynced(a.p.journalPath()); err != nil {
						return nil, environment(err, "remove the journal")
					}
					return nil, &again{err}
				}
				return nil, unclear(err, "publish run "+a.id)
			}
			failpoint.Hit(failpoint.Published)
		}
	}
	if err := a.pin(ctx, mv); err != nil {
		return nil, err
	}
	a.save.hold(j.Entries)
	if err := a.save.flush(); err != nil {
		return nil, err
	}
	failpoint.Hit(failpoint.LockSaved)
	if len(j.Catalogs) > 0 {
		if err := fsx.RemoveSynced(a.p.journalPath()); err != nil {
			return nil, environment(err, "remove the journal")
		}
		failpoint.Hit(failpoint.JournalRemoved)
	}
	a.drop(ctx)
	failpoint.Hit(failpoint.RunReleased)
	return a.told(mv), nil
}

func heads(w *plan.World) map[plan.TableKey]sinks.SnapshotID {
	out := map[plan.TableKey]sinks.SnapshotID{}
	for _, s := range w.Graph.Stages {
		for _, o := range s.Outs {
			if o.Table != "" {
				k := plan.TableKey{Sink: o.Sink, Table: o.Table}
				out[k] = w.Tables[k].Head(w.Ref)
			}
		}
	}
	return out
}

func (a *attempt) hasTables() bool {
	for name := range a.sel.Stages {
		if hasTables(a.p.Graph.Stage(name)) {
			return true
		}
	}
	return false
}

// journal is what is about to be published, in a fixed order.
func (a *attempt) journal(mv map[string][]sinks.Move) *lockfile.Journal {
	j := &lockfile.Journal{Run: a.id, Ref: a.w.Ref}
	var names []string
	for sink := range mv {
		names = append(names, sink)
	}
	sort.Strings(names)
	for _, sink := range names {
		c := lockfile.JournalMoves{Sink: sink}
		for _, m := range mv[sink] {
			c.Moves = append(c.Moves, lockfile.JournalMove{Table: m.Table, From: string(m.From), To: string(m.To)})
		}
		j.Catalogs = append(j.Catalogs, c)
	}
	for _, name := range a.p.Graph.Order() {
		e, old := a.w.Entries[name], a.w.Lock.Stages[name]
		if e == nil || e.Equal(old) || !hasTables(a.p.Graph.Stage(name)) {
			continue
		}
		j.Entries = append(j.Entries, lockfile.JournalEntry{Stage: name, Old: old, New: e})
	}
	return j
}

// pin tags what new entries stand for and no move has pinned: reused and kept snapshots, and all of them on a detached HEAD.
func (a *attempt) pin(ctx context.Context, mv map[string][]sinks.Move) error {
	moved := map[plan.TableKey]bool{}
	for sink, list := range mv {
		for _, m := range list {
			moved[plan.TableKey{Sink: sink, Table: m.Table}] = true
		}
	}
	bySink := map[string][]sinks.Target{}
	for _, name := range a.p.Graph.Order() {
		e := a.w.Entries[name]
		if e == nil || e.Equal(a.w.Lock.Stages[name]) {
			continue
		}
		for k, id := range a.w.Standing(a.p.Graph.Stage(name), e) {
			if !moved[k] {
				bySink[k.Sink] = append(bySink[k.Sink], sinks.Target{Table: k.Table, Snapshot: id})
			}
		}
	}
	for sink, targets := range bySink {
		sort.Slice(targets, func(i, j int) bool { return targets[i].Table < targets[j].Table })
		if err := a.p.Catalogs[sink].Pin(ctx, targets); err != nil {
			if errors.Is(err, sinks.ErrExpired) {
				return &again{err}
			}
			return environment(err, "pin the snapshots that the lock will name")
		}
	}
	if len(bySink) > 0 {
		failpoint.Hit(failpoint.Pinned)
	}
	return nil
}

// drop releases this run's ref wherever it was set.
func (a *attempt) drop(ctx context.Context) {
	bySink := map[string]*lockfile.JournalMoves{}
	for k := range a.touched {
		if bySink[k.Sink] == nil {
			bySink[k.Sink] = &lockfile.JournalMoves{Sink: k.Sink}
		}
		bySink[k.Sink].Moves = append(bySink[k.Sink].Moves, lockfile.JournalMove{Table: k.Table})
	}
	for _, c := range bySink {
		sort.Slice(c.Moves, func(i, j int) bool { return c.Moves[i].Table < c.Moves[j].Table })
		a.p.release(ctx, a.id, []lockfile.JournalMoves{*c}, a.emit)
	}
}

// told gives the moves as the user hears of them, in the graph's order.
func (a *attempt) told(mv map[string][]sinks.Move) []MoveInfo {
	var out []MoveInfo
	for _, name := range a.p.Graph.Order() {
		for _, o := range a.p.Graph.Stage(name).Outs {
			for _, m := range mv[o.Sink] {
				if o.Table == "" || m.Table != o.Table {
					continue
				}
				k := plan.TableKey{Sink: o.Sink, Table: o.Table}
				info := MoveInfo{TableKey: k, From: m.From, To: m.To}
				now, _ := a.w.BaseContent(k, m.To)
				info.Rows = now.Rows
				if was, _ := a.w.BaseContent(k, m.From); o.Mode == pipeline.Append {
					info.Added = now.Rows - was.Rows
				}
				out = append(out, info)
			}
		}
	}
	return out
}
