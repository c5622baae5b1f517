package plan

import (
	"fmt"

	"pipe/lockfile"
	"pipe/pipeline"
	"pipe/pipeline/fingerprint"
	"pipe/sinks"
)

// run finds the base of a stage that is not up to date, then what can be reused for it.
func (d *decision) run(same, outsOK, must bool) {
	base := map[TableKey]sinks.SnapshotID{}
	for _, o := range d.step.Outs {
		base[o.Key] = d.locked[o.Key]
	}
	parents := map[TableKey]fingerprint.Digest{}
	ok := true
	switch {
	case !d.appends():
	case d.entry != nil && same && !must && (!d.alive || !outsOK):
		ok = d.again(base, parents)
	case d.entry != nil:
		ok = d.next(base, parents)
	default:
		ok = d.first(base, parents)
	}
	if !ok || d.step.Status != "" {
		return
	}
	d.step.Inputs = withParents(d.want.inputs, parents)
	d.step.Fingerprint = d.step.Inputs.Sum()
	if !must && !d.c.NoReuse && d.reuse() {
		return
	}
	d.step.Status = Stale
	for i := range d.step.Outs {
		o := &d.step.Outs[i]
		if o.Out.Mode == pipeline.Append {
			o.Base = base[o.Key]
			o.BaseDigest, o.BaseRows, _ = d.w.baseDigest(o.Key, o.Base)
		} else {
			o.Base = o.Head
			o.BaseDigest = fingerprint.None
		}
	}
	if d.blocked(true) {
		return
	}
	d.repeats()
}

func (d *decision) appends() bool {
	for _, o := range d.step.Outs {
		if o.Out.Mode == pipeline.Append {
			return true
		}
	}
	return false
}

// again does the entry's own run once more, on its own parent: a snapshot of it is gone, or a file out is.
func (d *decision) again(base map[TableKey]sinks.SnapshotID, parents map[TableKey]fingerprint.Digest) bool {
	for _, o := range d.step.Outs {
		if o.Out.Mode != pipeline.Append {
			continue
		}
		p, _ := d.entry.Inputs.Get(fingerprint.Parent, o.Key.String())
		parents[o.Key] = fingerprint.Digest(p)
		id, ok := d.w.withDigest(o.Key, fingerprint.Digest(p))
		if !ok {
			msg := fmt.Sprintf("%s is gone and so is the snapshot that it was appended to", o.Key)
			if d.w.Tables[o.Key] == nil {
				msg = fmt.Sprintf("the table %s does not exist, and its rows came from earlier runs", o.Key)
			}
			d.stop(o.Key, msg, "delete the entry of stage "+d.s.Name+" from pipeline.lock to begin with an empty table")
			return false
		}
		base[o.Key] = id
		if had := tableOut(d.entry, o.Key); had != nil && d.locked[o.Key] != "" {
			d.keep(o.Key, d.locked[o.Key], had.Digest)
		}
	}
	return true
}

// withDigest finds a live snapshot with the digest that a parent had; the empty table needs none.
func (w *World) withDigest(key TableKey, p fingerprint.Digest) (sinks.SnapshotID, bool) {
	if p == fingerprint.None || p == "" {
		return "", true
	}
	t := w.Tables[key]
	if t == nil {
		return "", false
	}
	for i := len(t.Snapshots) - 1; i >= 0; i-- {
		if c, ok := w.content(key, t.Snapshots[i].ID); ok && c.Digest == p {
			return t.Snapshots[i].ID, true
		}
	}
	return "", false
}

func (d *decision) keep(key TableKey, id sinks.SnapshotID, digest fingerprint.Digest) {
	for i := range d.step.Outs {
		if d.step.Outs[i].Key == key {
			d.step.Outs[i].Keep, d.step.Outs[i].KeepDigest = id, digest
		}
	}
}

// next finds what an append of new inputs is built on (docs/identity.md, section 3).
func (d *decision) next(base map[TableKey]sinks.SnapshotID, parents map[TableKey]fingerprint.Digest) bool {
	for _, o := range d.step.Outs {
		if o.Out.Mode != pipeline.Append {
			continue
		}
		switch o.Rel {
		case Aside:
			d.stop(o.Key, fmt.Sprintf("the head of %s (%s) and the lock's snapshot %s are siblings", o.Key, o.HeadBy, o.Locked),
				"git pull, or pipe repro --accept "+d.s.Name+" to append to the head")
			return false
		case Same:
			base[o.Key] = o.Head
		case Ahead:
			if d.w.known(move{stage: d.s.Name, key: o.Key, mode: pipeline.Append, l: o.Locked, h: o.Head, rel: o.Rel}) == byHistory {
				break // reverted, then edited: the lock's snapshot it is
			}
			if !d.c.Force && d.doneAbove(o) {
				return true
			}
			base[o.Key] = o.Head
		}
		if base[o.Key] == "" {
			if had := tableOut(d.entry, o.Key); had != nil && had.Rows > 0 {
				d.stop(o.Key, fmt.Sprintf("snapshot %s of %s, to which rows would be appended, is gone", had.Snapshot, o.Key),
					"pipe repro --accept "+d.s.Name+" appends to the head as it is")
				return false
			}
		}
		dg, _, ok := d.w.baseDigest(o.Key, base[o.Key])
		if !ok {
			d.stop(o.Key, fmt.Sprintf("the rows of %s at snapshot %s are not known", o.Key, base[o.Key]), "pipe repro --accept "+d.s.Name)
			return false
		}
		parents[o.Key] = dg
	}
	return true
}

// doneAbove looks from the head down to the lock's snapshot for a run of these very inputs; it is reused and no head moves.
func (d *decision) doneAbove(o OutStep) bool {
	n := 0
	for _, x := range d.step.Outs {
		if x.Out.Mode == pipeline.Append {
			n++
		}
	}
	if n != 1 {
		return false
	}
	snaps, _ := chain(d.w.Tables[o.Key], o.Head, o.Locked)
	for _, s := range snaps {
		if s.Stamp == nil {
			continue
		}
		in := withParents(d.want.inputs, map[TableKey]fingerprint.Digest{o.Key: s.Stamp.ParentDigest})
		if in.Sum() != s.Stamp.Fingerprint {
			continue
		}
		for _, g := range d.w.sets(d.s, s.Stamp.Fingerprint) {
			if d.adopt(g, in) {
				return true
			}
		}
	}
	return false
}

// first decides an append without an entry: a lost lock, or a new clone on an old catalog.
func (d *decision) first(base map[TableKey]sinks.SnapshotID, parents map[TableKey]fingerprint.Digest) bool {
	var lead OutStep
	for _, o := range d.step.Outs {
		if o.Out.Mode == pipeline.Append {
			lead = o
			break
		}
	}
	t := d.w.Tables[lead.Key]
	if t != nil && !d.c.Force {
		for i := len(t.Snapshots) - 1; i >= 0; i-- {
			s := &t.Snapshots[i]
			head := belowCompactions(t, lead.Head)
			if s.Stamp == nil || !(s.ID == lead.Head || head != nil && s.ID == head.ID || s.Parent == lead.Head) {
				continue
			}
			ps, ok := d.parentsOf(s.Stamp.Fingerprint, s.Stamp.Run)
			if !ok {
				continue
			}
			in := withParents(d.want.inputs, ps)
			if in.Sum() != s.Stamp.Fingerprint {
				continue
			}
			for _, g := range d.w.sets(d.s, s.Stamp.Fingerprint) {
				if d.adopt(g, in) {
					return true
				}
			}
		}
	}
	for _, o := range d.step.Outs {
		if o.Out.Mode != pipeline.Append {
			continue
		}
		_, rows, known := d.w.baseDigest(o.Key, o.Head)
		if o.Head != "" && (rows > 0 || !known) && !d.w.Held[o.Key] {
			d.stop(o.Key, fmt.Sprintf("no entry in pipeline.lock for %s, which has rows", o.Key), "git checkout pipeline.lock, or pipe repro --accept "+d.s.Name+" to append to the head")
			return false
		}
		base[o.Key] = o.Head
		parents[o.Key] = fingerprint.None
	}
	return true
}

// reuse takes the first whole set with the wanted fingerprint.
func (d *decision) reuse() bool {
	for _, g := range d.w.sets(d.s, d.step.Fingerprint) {
		if d.adopt(g, d.step.Inputs) {
			return true
		}
	}
	return false
}

// adopt makes the step reuse a set, unless bytes of a file out are not there: then the stage runs again on the set's own parent.
func (d *decision) adopt(g set, in fingerprint.Inputs) bool {
	var stamp *sinks.Stamp
	for _, k := range tableKeys(d.s) {
		stamp = d.w.Tables[k].Snapshot(g[k]).Stamp
	}
	if stamp == nil {
		return false
	}
	var outs []lockfile.Out
	complete := true
	for _, o := range d.s.Outs {
		if o.Path == "" {
			continue
		}
		f := d.w.Files[o.Path]
		if f.Digest == "" || f.Digest != stamp.Outs[o.Path] {
			complete = false
		}
		outs = append(outs, lockfile.Out{Path: o.Path, Digest: f.Digest, Size: f.Size})
	}
	for i := range d.step.Outs {
		o := &d.step.Outs[i]
		s := d.w.Tables[o.Key].Snapshot(g[o.Key])
		if !complete {
			o.Keep, o.KeepDigest = s.ID, s.Stamp.Digest
			continue
		}
		o.Reuse = s.ID
		outs = append(outs, lockfile.Out{
			Table: o.Key.Table, Sink: o.Key.Sink, Snapshot: string(s.ID), Digest: s.Stamp.Digest, Rows: s.Stamp.Rows,
			Columns: d.columns(o.Key, s.Stamp),
		})
	}
	if !complete {
		return false
	}
	e := &lockfile.Entry{Fingerprint: in.Sum(), Inputs: in, Outs: outs}
	e.Sort()
	// An entry whose snapshots are not in this catalog, and that this set satisfies, stays as it is, so that clones with catalogs
	// of their own do not churn ids.
	if d.entry != nil && sameContent(d.entry, e) && !d.w.anyLive(d.entry) {
		e = d.entry
	}
	d.step.Status, d.step.Done, d.step.Fingerprint, d.step.Inputs, d.step.Run = Reuse, e, in.Sum(), in, stamp.Run
	if !d.blocked(false) {
		d.headMoves()
	}
	return true
}

// columns gives the inferred columns that a reused out carries on.
func (d *decision) columns(key TableKey, st *sinks.Stamp) []string {
	if had := tableOut(d.entry, key); had != nil && had.Columns != nil {
		return had.Columns
	}
	return SplitColumns(st.Extra[ColumnsProperty])
}

func sameContent(a, b *lockfile.Entry) bool {
	if a.Fingerprint != b.Fingerprint || len(a.Outs) != len(b.Outs) {
		return false
	}
	for i := range a.Outs {
		x, y := a.Outs[i], b.Outs[i]
		if x.Table != y.Table || x.Sink != y.Sink || x.Path != y.Path || x.Digest != y.Digest {
			return false
		}
	}
	return true
}

func (w *World) anyLive(e *lockfile.Entry) bool {
	for _, o := range e.Outs {
		if o.Table != "" && w.Tables[TableKey{o.Sink, o.Table}].Snapshot(sinks.SnapshotID(o.Snapshot)) != nil {
			return true
		}
	}
	return false
}

// blocked stops a stage that would run or be reused and whose head may not move then.
func (d *decision) blocked(running bool) bool {
	for _, o := range d.step.Outs {
		if d.w.Held[o.Key] || d.c.Accept {
			continue
		}
		m := move{
			stage: d.s.Name, key: o.Key, mode: o.Out.Mode, l: o.Locked, h: o.Head, rel: o.Rel, running: running,
			n: o.Reuse, over: o.Out.OnDiverge == "overwrite",
		}
		if running {
			m.n = ""
			if o.Out.Mode == pipeline.Append {
				m.n = o.Base
			}
		}
		if d.w.may(m) {
			continue
		}
		if !running && o.Rel == Ahead && descends(d.w.Tables[o.Key], o.Head, o.Reuse) {
			continue // done, and superseded since: the head is ahead, nothing moves
		}
		d.step.Done = nil
		d.stop(o.Key, fmt.Sprintf("the head of %s is %s: %s", o.Key, o.Rel, o.HeadBy), "git pull, or pipe repro --accept "+d.s.Name)
		return true
	}
	return false
}

// repeats warns of inputs that the table was given before.
func (d *decision) repeats() {
	for _, o := range d.step.Outs {
		if o.Out.Mode != pipeline.Append || d.c.Force {
			continue
		}
		snaps, _ := chain(d.w.Tables[o.Key], o.Base, "")
		for _, s := range snaps {
			if s.Stamp == nil {
				continue
			}
			if withParents(d.want.inputs, map[TableKey]fingerprint.Digest{o.Key: s.Stamp.ParentDigest}).Sum() == s.Stamp.Fingerprint {
				d.step.Notes = append(d.step.Notes, fmt.Sprintf("these inputs were appended to %s before, run %s", o.Key, s.Stamp.Run))
				break
			}
		}
	}
}

// headMoves notes which heads an up-to-date or reused step moves.
func (d *decision) headMoves() {
	for i := range d.step.Outs {
		o := &d.step.Outs[i]
		n := o.Reuse
		if n == "" {
			n = d.locked[o.Key]
		}
		verdict := d.w.headMove(d.s, o.Out, o.Locked, n, d.step.Status == UpToDate)
		o.Moves = verdict == moves && !d.w.Held[o.Key]
	}
}
