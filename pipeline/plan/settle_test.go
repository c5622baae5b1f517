package plan

import (
	"testing"
	"testing/fstest"

	"pipe/lockfile"
	"pipe/pipeline"
	"pipe/pipeline/fingerprint"
	"pipe/sinks"
)

// cutOff is a run of two stages that was killed after its publish: both heads are moved, the lock is as it was before.
func cutOff(t *testing.T) (*World, *lockfile.Journal) {
	t.Helper()
	g, err := pipeline.Load(fstest.MapFS{"pipeline.yaml": {Data: []byte(`
stages:
  a: {use: x, with: {n: 2}, outs: [{table: m.a}]}
  b: {use: x, with: {n: 2}, outs: [{table: m.b}]}
`)}}, "pipeline.yaml")
	if err != nil {
		t.Fatal(err)
	}
	w := &World{Graph: g, Ref: sinks.Main, Tables: map[TableKey]*sinks.Table{}, Lock: &lockfile.Lock{Stages: map[string]*lockfile.Entry{}}}
	j := &lockfile.Journal{Run: "r2", Ref: sinks.Main, Catalogs: []lockfile.JournalMoves{{Sink: DefaultSink}}}
	for _, s := range g.Stages {
		now := w.inputs(s).inputs
		before := append(fingerprint.Inputs(nil), now...)
		for i := range before {
			if before[i].Name == "with.n" {
				before[i].Value = "1"
			}
		}
		entry := func(in fingerprint.Inputs, id string) *lockfile.Entry {
			return &lockfile.Entry{Fingerprint: in.Sum(), Inputs: in, Outs: []lockfile.Out{{Table: s.Outs[0].Table, Sink: DefaultSink, Snapshot: id}}}
		}
		old, fresh := entry(before, "1"), entry(now, "2")
		w.Lock.Stages[s.Name] = old
		w.Tables[TableKey{DefaultSink, s.Outs[0].Table}] = &sinks.Table{
			Snapshots: []sinks.Snapshot{{ID: "1"}, {ID: "2", Parent: "1"}}, Refs: map[string]sinks.SnapshotID{sinks.Main: "2"},
		}
		j.Catalogs[0].Moves = append(j.Catalogs[0].Moves, lockfile.JournalMove{Table: s.Outs[0].Table, From: "1", To: "2"})
		j.Entries = append(j.Entries, lockfile.JournalEntry{Stage: s.Name, Old: old, New: fresh})
	}
	return w, j
}

func TestSettle(t *testing.T) {
	tests := []struct {
		name string
		but  func(w *World, j *lockfile.Journal)
		want int // entries that are written
	}{
		{"all heads moved", func(*World, *lockfile.Journal) {}, 2},
		{"the lock has one of the entries already", func(w *World, j *lockfile.Journal) { w.Lock.Stages["a"] = j.Entries[0].New }, 1},
		{"the lock has something else", func(w *World, _ *lockfile.Journal) { delete(w.Lock.Stages, "a") }, 0},
		{"a head did not move", func(w *World, _ *lockfile.Journal) { w.Tables[TableKey{DefaultSink, "m.b"}].Refs[sinks.Main] = "1" }, 0},
		{"a head has moved on since", func(w *World, _ *lockfile.Journal) {
			tab := w.Tables[TableKey{DefaultSink, "m.b"}]
			tab.Snapshots = append(tab.Snapshots, sinks.Snapshot{ID: "3", Parent: "2"})
			tab.Refs[sinks.Main] = "3"
		}, 2},
		{"a new snapshot is gone", func(w *World, _ *lockfile.Journal) {
			tab := w.Tables[TableKey{DefaultSink, "m.b"}]
			tab.Snapshots, tab.Refs[sinks.Main] = []sinks.Snapshot{{ID: "3", Parent: "2"}}, "3"
		}, 0},
		{"the user went back to what the lock says", func(w *World, j *lockfile.Journal) {
			// The present definition says 2, so the old entry must be the one that says so.
			j.Entries[0].Old, j.Entries[0].New = j.Entries[0].New, j.Entries[0].Old
			w.Lock.Stages["a"] = j.Entries[0].Old
		}, 0},
		{"a stage of it is no longer defined", func(w *World, j *lockfile.Journal) {
			j.Entries[1].Stage = "gone"
			w.Lock.Stages["gone"] = j.Entries[1].Old
		}, 2},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			w, j := cutOff(t)
			tt.but(w, j)
			if got := w.Settle(j); len(got) != tt.want {
				t.Errorf("%d entries are written, want %d", len(got), tt.want)
			}
		})
	}
}
