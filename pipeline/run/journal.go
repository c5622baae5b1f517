package run

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"pipe/internal/diag"
	"pipe/internal/fsx"
	"pipe/lockfile"
	"pipe/pipeline/plan"
	"pipe/sinks"
)

const (
	journalName = "journal"
	groupsName  = "groups" // process groups of the run that is going on: "<pid> <start time>", one a line
)

func (p *Project) journalPath() string { return filepath.Join(p.Root, ".pipe", journalName) }

// readJournal gives the journal that a run left, or nil.
func (p *Project) readJournal() (*lockfile.Journal, error) {
	data, err := os.ReadFile(p.journalPath())
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, environment(err, "read the journal")
	}
	return lockfile.ParseJournal(".pipe/"+journalName, data)
}

// recover finishes what a run that died had begun. It holds the project's mutex. The lock that it gives is the one to plan with.
func (p *Project) recover(ctx context.Context, lock *lockfile.Lock, emit func(Event)) (*lockfile.Lock, error) {
	if err := p.endStrays(); err != nil {
		return nil, err
	}
	back, err := p.Files.RestoreLeft()
	if err != nil {
		return nil, environment(err, "put back the outs of a run that was killed")
	}
	for _, path := range back {
		emit(Event{Kind: EventNote, Text: "put back " + path + ", left aside by a run that was killed"})
	}
	if err := os.RemoveAll(filepath.Join(p.Root, ".pipe", "scratch")); err != nil {
		return nil, environment(err, "clear the scratch folder")
	}
	j, err := p.readJournal()
	if err != nil || j == nil {
		return lock, err
	}
	// The very same publish once more: it finishes the first one, and fences a late request of it.
	for _, c := range j.Catalogs {
		cat := p.Catalogs[c.Sink]
		if cat == nil {
			continue
		}
		err := cat.Publish(ctx, publication(j.Ref, c))
		if err != nil && !errors.Is(err, sinks.ErrConflict) && !errors.Is(err, sinks.ErrExpired) && !errors.Is(err, sinks.ErrNoTable) {
			return nil, unclear(err, "publish again what run "+j.Run+" had begun")
		}
	}
	all := plan.Selection{Stages: map[string]bool{}}
	for _, s := range p.Graph.Stages {
		all.Stages[s.Name] = true
	}
	w, err := p.world(ctx, lock, all, Options{Ref: j.Ref})
	if err != nil {
		return nil, err
	}
	if entries := w.Settle(j); len(entries) > 0 {
		lock = lock.Clone()
		for name, e := range entries {
			lock.Stages[name] = e
		}
		if err := p.writeLock(lock); err != nil {
			return nil, err
		}
		emit(Event{Kind: EventRecovered, Text: "finished run " + j.Run + ", which was cut off"})
	} else {
		emit(Event{Kind: EventRecovered, Text: "found run " + j.Run + ", which was cut off; the lock stays as it is"})
	}
	if err := fsx.RemoveSynced(p.journalPath()); err != nil {
		return nil, environment(err, "remove the journal")
	}
	p.release(ctx, j.Run, j.Catalogs, emit)
	return lock, nil
}

// release drops the run ref of a finished run. A ref that stays costs disk, not truth, so trouble is only told.
func (p *Project) release(ctx context.Context, run string, in []lockfile.JournalMoves, emit func(Event)) {
	for _, c := range in {
		if p.Catalogs[c.Sink] == nil {
			continue
		}
		var tables []string
		for _, m := range c.Moves {
			tables = append(tables, m.Table)
		}
		if err := p.Catalogs[c.Sink].Release(ctx, run, tables); err != nil {
			emit(Event{Kind: EventNote, Text: fmt.Sprintf("the ref of run %s stays on %s: %v", run, strings.Join(tables, ", "), err)})
		}
	}
}

func (p *Project) writeLock(lock *lockfile.Lock) error {
	if err := fsx.WriteAtomic(filepath.Join(p.Root, LockName), lock.Encode(), 0o644); err != nil {
		return unsaved(err)
	}
	return nil
}

// endStrays ends the process groups that a killed run left running, then forgets them.
func (p *Project) endStrays() error {
	name := filepath.Join(p.Root, ".pipe", groupsName)
	data, err := os.ReadFile(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return environment(err, "read the record of running stages")
	}
	for _, line := range strings.Split(strings.TrimSpace(string(data)), "\n") {
		pid, start, _ := strings.Cut(line, " ")
		n, err := strconv.Atoi(pid)
		if err != nil || p.EndGroup == nil {
			continue // a line that was cut off by the kill
		}
		if err := p.EndGroup(n, start); err != nil {
			return environment(err, "end the processes that a killed run left")
		}
	}
	if err := os.Remove(name); err != nil {
		return environment(err, "remove the record of running stages")
	}
	return nil
}

func publication(ref string, c lockfile.JournalMoves) sinks.Publication {
	pub := sinks.Publication{Ref: ref}
	for _, m := range c.Moves {
		pub.Moves = append(pub.Moves, sinks.Move{Table: m.Table, From: sinks.SnapshotID(m.From), To: sinks.SnapshotID(m.To)})
	}
	return pub
}

// unclear is an error after which the journal must stay.
func unclear(err error, doing string) error {
	return (&diag.Error{Exit: diag.Broken, Msg: doing + ": " + err.Error(), Err: err}).With("pipe repro finishes it once the catalog answers again")
}
