package plan

import (
	"pipe/lockfile"
	"pipe/pipeline"
	"pipe/pipeline/fingerprint"
	"pipe/sinks"
)

// chain gives the snapshots from id down to, not including, stop. reached tells whether stop was met; with stop "" the chain ends
// at the first snapshot or where the ancestry expired.
func chain(t *sinks.Table, id, stop sinks.SnapshotID) (snaps []*sinks.Snapshot, reached bool) {
	for id != stop && id != "" {
		s := t.Snapshot(id)
		if s == nil {
			return snaps, stop == ""
		}
		snaps = append(snaps, s)
		id = s.Parent
	}
	return snaps, id == stop
}

// descends reports whether a is an ancestor of id, or id itself.
func descends(t *sinks.Table, id, a sinks.SnapshotID) bool {
	if a == "" || id == "" {
		return false
	}
	_, ok := chain(t, id, a)
	return ok
}

// belowCompactions gives the newest snapshot at or below id that is not a foreign compaction; id's own if the ancestry expired.
func belowCompactions(t *sinks.Table, id sinks.SnapshotID) *sinks.Snapshot {
	s := t.Snapshot(id)
	for s != nil && s.Stamp == nil && s.Op == sinks.OpReplace {
		p := t.Snapshot(s.Parent)
		if p == nil {
			return s
		}
		s = p
	}
	return s
}

// relate says where the head h is, seen from the lock's snapshot l (docs/identity.md, section 1).
func relate(t *sinks.Table, l, h sinks.SnapshotID) Relation {
	switch {
	case h == "":
		if l == "" {
			return NoHead
		}
		return Behind
	case h == l:
		return Same
	}
	up, reached := chain(t, h, l)
	if reached {
		only := l != ""
		for _, s := range up {
			if s.Stamp != nil || s.Op != sinks.OpReplace {
				only = false
			}
		}
		if only {
			return Same
		}
		// What lies below a run of pipe was accepted by that run, so the newest snapshot that is no compaction decides.
		for _, s := range up {
			if s.Stamp != nil {
				return Ahead
			}
			if s.Op != sinks.OpReplace {
				return Foreign
			}
		}
		return Foreign
	}
	if t.Snapshot(l) != nil && descends(t, l, h) {
		return Behind
	}
	if s := belowCompactions(t, h); s != nil && s.Stamp != nil {
		return Aside
	}
	return Foreign
}

// content gives what is known of a snapshot's rows: from its stamp, through compactions, or from a scan.
func (w *World) content(key TableKey, id sinks.SnapshotID) (Content, bool) {
	if id == "" {
		return Content{Digest: fingerprint.None}, true
	}
	if c, ok := w.Content[sinks.Target{Table: key.String(), Snapshot: id}]; ok {
		return c, true
	}
	t := w.Tables[key]
	s := belowCompactions(t, id)
	if s == nil {
		return Content{}, false
	}
	if c, ok := w.Content[sinks.Target{Table: key.String(), Snapshot: s.ID}]; ok {
		return c, true
	}
	if s.Stamp != nil {
		return Content{Digest: s.Stamp.Digest, Sum: s.Stamp.Sum, Rows: s.Stamp.Rows}, true
	}
	if o := w.takenOver(key, s.ID); o != nil {
		return Content{Digest: o.Digest, Rows: o.Rows}, true
	}
	return Content{Rows: s.Rows}, s.Rows == 0
}

// takenOver gives the out of the lock that stands for a snapshot of another writer, once the user accepted it; nil if none does. Its
// sum is not in the lock.
func (w *World) takenOver(key TableKey, id sinks.SnapshotID) *lockfile.Out {
	if w.Lock == nil {
		return nil
	}
	for _, s := range w.Graph.Stages {
		if o := tableOut(w.Lock.Stages[s.Name], key); o != nil && o.Accepted && o.Snapshot == string(id) {
			return o
		}
	}
	return nil
}

// baseDigest is what the fingerprint of an append holds of its base: a table without rows counts as no table.
func (w *World) baseDigest(key TableKey, id sinks.SnapshotID) (fingerprint.Digest, int64, bool) {
	c, ok := w.content(key, id)
	if ok && c.Rows == 0 {
		return fingerprint.None, 0, true
	}
	return c.Digest, c.Rows, ok
}

// set is one live snapshot for each table out of a stage, all of one run.
type set map[TableKey]sinks.SnapshotID

// sets gives the candidates with a fingerprint, the heads' first, then the newest (docs/identity.md, section 4).
func (w *World) sets(s *pipeline.Stage, fp fingerprint.Fingerprint) []set {
	keys := tableKeys(s)
	if len(keys) == 0 {
		return nil
	}
	var runs []string
	seen := map[string]bool{}
	note := func(x *sinks.Snapshot) {
		if x != nil && x.Stamp != nil && x.Stamp.Fingerprint == fp && !seen[x.Stamp.Run] {
			seen[x.Stamp.Run] = true
			runs = append(runs, x.Stamp.Run)
		}
	}
	first := w.Tables[keys[0]]
	if first == nil {
		return nil
	}
	note(belowCompactions(first, first.Head(w.Ref)))
	for i := len(first.Snapshots) - 1; i >= 0; i-- {
		note(&first.Snapshots[i])
	}
	var out []set
	for _, run := range runs {
		g := set{}
		for _, k := range keys {
			if id := newest(w.Tables[k], fp, run); id != "" {
				g[k] = id
			}
		}
		if len(g) == len(keys) {
			out = append(out, g)
		}
	}
	return out
}

func newest(t *sinks.Table, fp fingerprint.Fingerprint, run string) sinks.SnapshotID {
	if t == nil {
		return ""
	}
	for i := len(t.Snapshots) - 1; i >= 0; i-- {
		if st := t.Snapshots[i].Stamp; st != nil && st.Fingerprint == fp && st.Run == run {
			return t.Snapshots[i].ID
		}
	}
	return ""
}

// standing gives the live snapshots that an entry stands for: its own, or, where this catalog lacks one (a clone with a catalog of
// its own), those of any live set with its fingerprint and digests. A table that has neither is left out.
func (w *World) standing(s *pipeline.Stage, e *lockfile.Entry) set {
	out := set{}
	if e == nil {
		return out
	}
	all := true
	for _, k := range tableKeys(s) {
		o := tableOut(e, k)
		if o == nil {
			continue
		}
		if w.Tables[k].Snapshot(sinks.SnapshotID(o.Snapshot)) != nil {
			out[k] = sinks.SnapshotID(o.Snapshot)
		} else {
			all = false
		}
	}
	if all {
		return out
	}
next:
	for _, g := range w.sets(s, e.Fingerprint) {
		for k, id := range g {
			o := tableOut(e, k)
			if o == nil || w.Tables[k].Snapshot(id).Stamp.Digest != o.Digest {
				continue next
			}
		}
		return g
	}
	return out
}

func tableKeys(s *pipeline.Stage) []TableKey {
	var keys []TableKey
	for _, o := range s.Outs {
		if o.Table != "" {
			keys = append(keys, TableKey{o.Sink, o.Table})
		}
	}
	return keys
}

// move is the question whether a head may move.
type move struct {
	stage   string
	key     TableKey
	mode    pipeline.Mode
	l, h, n sinks.SnapshotID
	rel     Relation
	running bool // n is not made yet: an append's n is its base
	over    bool // on_diverge: overwrite
}

// may reports whether a run may move the head (docs/identity.md, section 2).
func (w *World) may(m move) bool {
	if m.h == "" || m.h == m.n || m.rel == Same {
		return true
	}
	if m.n != "" && (!m.running || m.mode == pipeline.Append) && descends(w.Tables[m.key], m.n, m.h) {
		return true
	}
	if m.mode == pipeline.Append {
		return m.rel == Ahead && w.known(m) != unknown
	}
	return m.over || w.known(m) != unknown || m.l == "" && m.rel == Ahead
}

type knowledge int

const (
	unknown    knowledge = iota
	byRevision           // made at a clean revision of HEAD's history
	byHistory            // named by a lock of HEAD's history (replace), or turned away from by it (append)
)

// known says whether this repository's own history has been at the head.
func (w *World) known(m move) knowledge {
	if w.History == nil {
		return unknown
	}
	if m.mode == pipeline.Append {
		if w.History.TurnedAway(m.stage, m.key, m.h) {
			return byHistory
		}
		return unknown
	}
	if w.History.Names(m.key, m.h) {
		return byHistory
	}
	if s := w.Tables[m.key].Snapshot(m.h); s != nil && s.Stamp != nil && s.Stamp.Revision != "" && s.Stamp.Revision != "none" && w.History.Contains(s.Stamp.Revision) {
		return byRevision
	}
	return unknown
}

// Known reports whether the digest of a snapshot's rows is known without reading them.
func (w *World) Known(key TableKey, id sinks.SnapshotID) bool {
	_, ok := w.content(key, id)
	return ok
}

// BaseContent gives what is known of the rows that an append is built on.
func (w *World) BaseContent(key TableKey, id sinks.SnapshotID) (Content, bool) {
	return w.content(key, id)
}

// Carried gives what the base's snapshot carries on for its stage kind; nil if pipe did not make it.
func (w *World) Carried(key TableKey, id sinks.SnapshotID) map[string]string {
	if st := stampOf(w.Tables[key], id); st != nil {
		return st.Extra
	}
	return nil
}

// Standing gives the live snapshots that an entry stands for in its catalogs.
func (w *World) Standing(s *pipeline.Stage, e *lockfile.Entry) map[TableKey]sinks.SnapshotID {
	return w.standing(s, e)
}
