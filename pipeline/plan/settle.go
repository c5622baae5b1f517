package plan

import (
	"maps"

	"pipe/lockfile"
	"pipe/pipeline/fingerprint"
	"pipe/sinks"
)

// Settle decides what the journal of a run that was cut off means, after its publish was sent again: the entries to write, or nil.
// They are written if every move is done and the lock still has the old ones, except when a stage's present inputs are those of its
// old entry: then the user went back, the lock stays and the head is ahead (docs/identity.md, section 5).
func (w *World) Settle(j *lockfile.Journal) map[string]*lockfile.Entry {
	for _, c := range j.Catalogs {
		for _, m := range c.Moves {
			t := w.Tables[TableKey{c.Sink, m.Table}]
			if h := t.Head(j.Ref); h != sinks.SnapshotID(m.To) && !descends(t, h, sinks.SnapshotID(m.To)) {
				return nil
			}
		}
	}
	out := map[string]*lockfile.Entry{}
	for _, e := range j.Entries {
		if w.Lock.Stages[e.Stage].Equal(e.New) {
			continue // it came so far
		}
		if !w.Lock.Stages[e.Stage].Equal(e.Old) {
			return nil
		}
		out[e.Stage] = e.New
		s := w.Graph.Stage(e.Stage)
		if s == nil {
			continue
		}
		if len(w.standing(s, e.New)) < len(tableKeys(s)) {
			return nil
		}
		if e.Old != nil {
			now := own(w.inputs(s).inputs)
			if fingerprint.Equal(now, own(e.Old.Inputs)) && !fingerprint.Equal(now, own(e.New.Inputs)) {
				return nil
			}
		}
	}
	return out
}

// own gives the inputs that a user edits: not what the run found above the stage or in its table.
func own(in fingerprint.Inputs) fingerprint.Inputs {
	return in.Without(fingerprint.Parent).Without(fingerprint.Table)
}

// Apply gives the world as it will be once a journal's publish was sent again, for a look that must change nothing.
func (w *World) Apply(j *lockfile.Journal) *World {
	x := *w
	x.Tables = maps.Clone(w.Tables)
	for _, c := range j.Catalogs {
		pending := true
		for _, m := range c.Moves {
			t := w.Tables[TableKey{c.Sink, m.Table}]
			pending = pending && t.Head(j.Ref) == sinks.SnapshotID(m.From) && t.Snapshot(sinks.SnapshotID(m.To)) != nil
		}
		if !pending {
			continue
		}
		for _, m := range c.Moves {
			k := TableKey{c.Sink, m.Table}
			t := *w.Tables[k]
			t.Refs, t.Published = maps.Clone(t.Refs), maps.Clone(t.Published)
			if t.Refs == nil {
				t.Refs = map[string]sinks.SnapshotID{}
			}
			if t.Published == nil {
				t.Published = map[string]sinks.SnapshotID{}
			}
			t.Refs[j.Ref], t.Published[j.Ref] = sinks.SnapshotID(m.To), sinks.SnapshotID(m.To)
			x.Tables[k] = &t
		}
	}
	if entries := x.Settle(j); len(entries) > 0 {
		x.Lock = w.Lock.Clone()
		maps.Copy(x.Lock.Stages, entries)
	}
	return &x
}
