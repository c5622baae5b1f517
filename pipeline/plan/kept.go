package plan

import (
	"pipe/lockfile"
	"pipe/pipeline"
	"pipe/pipeline/fingerprint"
	"pipe/sinks"
)

// Recorded gives the columns that an earlier run of an out without a schema had; nil if there was none.
func (w *World) Recorded(s *pipeline.Stage, o OutStep) []string {
	if had := tableOut(w.Lock.Stages[s.Name], o.Key); had != nil && had.Columns != nil {
		return had.Columns
	}
	if st := stampOf(w.Tables[o.Key], o.Head); st != nil && o.Out.Mode == pipeline.Append {
		return SplitColumns(st.Extra[ColumnsProperty])
	}
	return nil
}

// Kept gives the snapshots that stand though the stage ran, because the rows are equal (docs/identity.md, section 6): those of the
// logical run that was repeated, or a single replace out's old one, or, if all outs are replaces and equal, all old ones. With
// several outs it is all or none. digests are those of step.Outs, in order.
func (w *World) Kept(step *Step, digests []fingerprint.Digest) map[TableKey]sinks.SnapshotID {
	keep := map[TableKey]sinks.SnapshotID{}
	for i, o := range step.Outs {
		if o.Keep != "" && o.KeepDigest == digests[i] {
			keep[o.Key] = o.Keep
		}
	}
	if len(keep) == len(step.Outs) {
		return keep
	}
	clear(keep)
	old := w.Lock.Stages[step.Stage.Name]
	live := w.standing(step.Stage, old)
	for i, o := range step.Outs {
		had := tableOut(old, o.Key)
		if had == nil || o.Out.Mode == pipeline.Append || had.Digest != digests[i] || live[o.Key] == "" {
			return map[TableKey]sinks.SnapshotID{}
		}
		keep[o.Key] = live[o.Key]
	}
	return keep
}

// KeepIDs gives the entry that is written after a run: where every digest is the old entry's and its snapshots are not in this
// catalog, the old ids stay, so that clones with catalogs of their own do not churn them.
func (w *World) KeepIDs(step *Step, e *lockfile.Entry) *lockfile.Entry {
	old := w.Lock.Stages[step.Stage.Name]
	// Under another fingerprint the old ids would not be found again: what stands in for them carries the old one.
	if old == nil || old.Fingerprint != e.Fingerprint || len(old.Outs) != len(e.Outs) {
		return e
	}
	for i := range e.Outs {
		x, y := old.Outs[i], e.Outs[i]
		if x.Table != y.Table || x.Sink != y.Sink || x.Path != y.Path || x.Digest != y.Digest {
			return e
		}
		if x.Table != "" && w.Tables[TableKey{x.Sink, x.Table}].Snapshot(sinks.SnapshotID(x.Snapshot)) != nil && x.Snapshot != y.Snapshot {
			return e
		}
	}
	c := *e
	c.Outs = append([]lockfile.Out(nil), e.Outs...)
	for i := range c.Outs {
		c.Outs[i].Snapshot = old.Outs[i].Snapshot
	}
	return &c
}
