package plan

import (
	"fmt"

	"pipe/lockfile"
	"pipe/pipeline"
	"pipe/pipeline/fingerprint"
	"pipe/sinks"
)

// Choice is what the user asked for one stage.
type Choice struct {
	Force   bool // run though nothing changed
	Accept  bool // the heads as they are become the entry's snapshots
	NoReuse bool
}

// decision is one Decide in the making.
type decision struct {
	w      *World
	s      *pipeline.Stage
	c      Choice
	step   *Step
	entry  *lockfile.Entry // the lock's; with Accept, over the heads
	want   wanted
	locked set // what the entry stands for in this catalog
	alive  bool
}

// Decide gives the step of one stage; everything above it must be in w.Entries, in the lock or in w.Unknown.
func (w *World) Decide(s *pipeline.Stage, c Choice) *Step {
	d := &decision{w: w, s: s, c: c, step: &Step{Stage: s}, entry: w.Lock.Stages[s.Name]}
	for _, o := range s.Outs {
		if o.OnDiverge == "rebase" && o.Table != "" {
			d.c.Accept = d.c.Accept || w.relation(s, d.entry, o) == Foreign
		}
	}
	d.want = w.inputs(s)
	d.step.Inputs = d.want.inputs
	d.step.Missing = d.want.missing
	d.look()
	d.decide()
	return d.step
}

// relation says where the head of one out is.
func (w *World) relation(s *pipeline.Stage, e *lockfile.Entry, o pipeline.Out) Relation {
	key := TableKey{o.Sink, o.Table}
	return relate(w.Tables[key], w.lockedAt(s, e, key), w.Tables[key].Head(w.Ref))
}

// lockedAt gives the snapshot that an entry stands for in this catalog, or, where it is gone, the one that the lock names.
func (w *World) lockedAt(s *pipeline.Stage, e *lockfile.Entry, key TableKey) sinks.SnapshotID {
	if id := w.standing(s, e)[key]; id != "" {
		return id
	}
	if o := tableOut(e, key); o != nil {
		return sinks.SnapshotID(o.Snapshot)
	}
	return ""
}

// look notes where the heads are.
func (d *decision) look() {
	d.locked = d.w.standing(d.s, d.entry)
	d.alive = d.entry != nil
	for _, o := range d.s.Outs {
		if o.Table == "" {
			continue
		}
		key := TableKey{o.Sink, o.Table}
		t := d.w.Tables[key]
		x := OutStep{Out: o, Key: key, Locked: d.w.lockedAt(d.s, d.entry, key), Head: t.Head(d.w.Ref)}
		x.Rel = relate(t, x.Locked, x.Head)
		if st := stampOf(t, x.Head); st != nil {
			x.HeadBy = "run " + st.Run
			if st.Revision != "" && st.Revision != "none" {
				x.HeadBy += " of revision " + short(st.Revision)
			}
		}
		if d.locked[key] == "" {
			d.alive = false
		}
		d.step.Outs = append(d.step.Outs, x)
	}
}

func stampOf(t *sinks.Table, id sinks.SnapshotID) *sinks.Stamp {
	if s := belowCompactions(t, id); s != nil {
		return s.Stamp
	}
	return nil
}

// short cuts a revision to what people type, keeping "+dirty".
func short(rev string) string {
	if len(rev) > 40 {
		return rev[:10] + rev[40:]
	}
	if len(rev) == 40 {
		return rev[:10]
	}
	return rev
}

func (d *decision) decide() {
	if d.s.Frozen {
		d.step.Status, d.step.Done = Frozen, d.entry
		return
	}
	if d.c.Accept && d.accept() {
		return
	}
	if d.foreign() {
		return
	}
	before := fingerprint.Inputs(nil)
	if d.entry != nil {
		before = d.entry.Inputs.Without(fingerprint.Parent)
		d.step.Why = reasons(before, d.known())
	}
	same := d.entry != nil && len(d.step.Why) == 0
	d.step.Why = append(d.step.Why, d.outsChanged()...)
	outsOK := len(d.step.Why) == 0
	if d.entry == nil {
		d.step.Why = []Reason{{Kind: "entry", Name: d.s.Name, Text: "no entry in pipeline.lock"}}
	}
	if d.s.Always {
		d.step.Why = append(d.step.Why, Reason{Kind: "always", Name: d.s.Name, Text: "always runs"})
	}
	if d.c.Force {
		d.step.Why = append(d.step.Why, Reason{Kind: "force", Name: d.s.Name, Text: "forced"})
	}
	if len(d.want.unknown) > 0 || len(d.want.missing) > 0 {
		d.open(same && outsOK)
		return
	}
	must := d.c.Force || d.s.Always
	if same && outsOK && d.alive && !must {
		d.step.Status, d.step.Fingerprint, d.step.Done = UpToDate, d.entry.Fingerprint, d.entry
		d.step.Inputs = d.entry.Inputs
		d.headMoves()
		return
	}
	if same && !d.alive && !d.c.Accept {
		d.step.Why = append(d.step.Why, d.goneReasons()...)
	}
	d.run(same, outsOK, must)
}

// open is the answer while something above is still running or missing.
func (d *decision) open(same bool) {
	d.step.Status = Stale
	if same && !d.c.Force && !d.s.Always && len(d.want.missing) == 0 {
		d.step.Status = Pending
	}
	seen := map[string]bool{}
	for _, up := range d.want.unknown {
		if !seen[up] {
			seen[up] = true
			d.step.Why = append(d.step.Why, Reason{Kind: "upstream", Name: up, Text: "runs first"})
		}
	}
	for _, m := range d.want.missing {
		d.step.Why = append(d.step.Why, Reason{Kind: "missing", Name: d.s.Name, Text: m.Msg})
	}
}

// known gives the wanted inputs, with the entry's own values where they are not known yet, so that only real changes are told.
func (d *decision) known() fingerprint.Inputs {
	if len(d.want.unknown) == 0 && len(d.want.missing) == 0 {
		return d.want.inputs
	}
	out := append(fingerprint.Inputs(nil), d.want.inputs...)
	for _, dep := range d.s.Deps {
		kind, name := fingerprint.Dep, dep.Path
		if dep.Table != "" {
			kind, name = fingerprint.Table, TableKey{dep.Sink, dep.Table}.String()
		}
		if _, ok := out.Get(kind, name); ok {
			continue
		}
		if v, ok := d.entry.Inputs.Get(kind, name); ok {
			out = append(out, fingerprint.Input{Kind: kind, Name: name, Value: v})
		}
	}
	out.Sort()
	return out
}

// outsChanged tells file outs that are not as the entry has them, and outs that the entry lacks.
func (d *decision) outsChanged() []Reason {
	if d.entry == nil {
		return nil
	}
	var why []Reason
	for _, o := range d.s.Outs {
		if o.Path == "" {
			continue
		}
		had := fileOut(d.entry, o.Path)
		f := d.w.Files[o.Path]
		switch {
		case had == nil:
			why = append(why, Reason{Kind: "out", Name: o.Path, Text: "new"})
		case f.Digest == "":
			why = append(why, Reason{Kind: "out", Name: o.Path, Text: "missing"})
		case f.Digest != had.Digest:
			why = append(why, Reason{Kind: "out", Name: o.Path, Text: "changed by hand"})
		}
	}
	return why
}

func (d *decision) goneReasons() []Reason {
	var why []Reason
	for _, o := range d.step.Outs {
		if d.locked[o.Key] != "" {
			continue
		}
		text := "snapshot " + string(o.Locked) + " is gone"
		if d.w.Tables[o.Key] == nil {
			text = "the table does not exist"
		}
		why = append(why, Reason{Kind: "out", Name: o.Key.String(), Text: text})
	}
	return why
}

// foreign stops where someone else's rows, or a roll-back by hand, are on a head.
func (d *decision) foreign() bool {
	for _, o := range d.step.Outs {
		if d.w.Held[o.Key] {
			continue
		}
		if o.Rel == Foreign && !(o.Out.OnDiverge == "overwrite" && o.Out.Mode != pipeline.Append) {
			d.stop(o.Key, fmt.Sprintf("the head of %s, snapshot %s, was not made by pipe", o.Key, o.Head),
				"pipe show "+o.Key.Table+" to look at it; pipe repro --accept "+d.s.Name+" takes it over")
			return true
		}
		if t := d.w.Tables[o.Key]; d.entry != nil && !d.c.Accept && o.Rel == Behind && o.Head != "" && t.Published[d.w.Ref] != o.Head {
			d.stop(o.Key, fmt.Sprintf("someone rolled the head of %s back to snapshot %s", o.Key, o.Head),
				"pipe checkout "+o.Key.Table+" moves it to what the lock says; pipe repro --accept "+d.s.Name+" takes it over")
			for i := range d.step.Outs {
				if d.step.Outs[i].Key == o.Key {
					d.step.Outs[i].Rel = Foreign
				}
			}
			return true
		}
	}
	return false
}

func (d *decision) stop(key TableKey, msg, hint string) {
	d.step.Status, d.step.Stop = Diverged, &Stop{Table: key.String(), Msg: msg, Hint: hint}
	d.step.Why = append(d.step.Why, Reason{Kind: "head", Name: key.String(), Text: msg})
}

// accept takes the heads over (docs/identity.md, section 8). It reports whether the step is decided; else d.entry stands over the
// heads and the decision goes on from there.
func (d *decision) accept() bool {
	all := len(d.step.Outs) > 0
	over := &lockfile.Entry{}
	if d.entry != nil {
		*over = *d.entry
		over.Outs = append([]lockfile.Out(nil), d.entry.Outs...)
	}
	foreign := false
	for i := range d.step.Outs {
		o := &d.step.Outs[i]
		if o.Head == "" {
			all = false
			continue
		}
		c, ok := d.w.content(o.Key, o.Head)
		if !ok {
			all = false
			continue
		}
		taken := lockfile.Out{Table: o.Key.Table, Sink: o.Key.Sink, Snapshot: string(o.Head), Digest: c.Digest, Rows: c.Rows}
		if had := tableOut(over, o.Key); had != nil {
			taken.Columns = had.Columns
			taken.Accepted = had.Snapshot != taken.Snapshot || had.Accepted
			*had = taken
		} else {
			taken.Accepted = true
			over.Outs = append(over.Outs, taken)
		}
		foreign = foreign || o.Rel == Foreign
		o.Locked, o.Rel = o.Head, Same
		d.locked[o.Key] = o.Head
	}
	if len(d.want.unknown) > 0 || len(d.want.missing) > 0 {
		d.open(false)
		return true
	}
	if d.entry != nil && fingerprint.Equal(d.entry.Inputs.Without(fingerprint.Parent), d.want.inputs) && all {
		d.take(over)
		return true
	}
	if all {
		if fp, parents, ok := d.doneBelow(); ok {
			over.Fingerprint, over.Inputs = fp, withParents(d.want.inputs, parents)
			d.take(over)
			return true
		}
	}
	if d.entry != nil || all {
		d.entry, d.alive = over, all
	}
	d.c.Force = false
	return false
}

func (d *decision) take(e *lockfile.Entry) {
	d.step.Status, d.step.Done, d.step.Fingerprint, d.step.Inputs = Reuse, e, e.Fingerprint, e.Inputs
	d.step.Why = append(d.step.Why, Reason{Kind: "head", Name: d.s.Name, Text: "accepted"})
	for i := range d.step.Outs {
		d.step.Outs[i].Reuse = d.step.Outs[i].Head
	}
}

// doneBelow asks whether the newest snapshot of pipe at or below the heads of the appends was made from the present inputs on its
// own parent: then that run is done.
func (d *decision) doneBelow() (fingerprint.Fingerprint, map[TableKey]fingerprint.Digest, bool) {
	for _, o := range d.step.Outs {
		if o.Out.Mode != pipeline.Append {
			continue
		}
		snaps, _ := chain(d.w.Tables[o.Key], o.Head, "")
		for _, s := range snaps {
			if s.Stamp == nil {
				continue
			}
			parents, ok := d.parentsOf(s.Stamp.Fingerprint, s.Stamp.Run)
			fp := withParents(d.want.inputs, parents).Sum()
			return fp, parents, ok && fp == s.Stamp.Fingerprint
		}
	}
	return "", nil, false
}

// parentsOf gives the parents' digests of the appends as one run's snapshots carry them.
func (d *decision) parentsOf(fp fingerprint.Fingerprint, run string) (map[TableKey]fingerprint.Digest, bool) {
	parents := map[TableKey]fingerprint.Digest{}
	for _, o := range d.step.Outs {
		if o.Out.Mode != pipeline.Append {
			continue
		}
		s := d.w.Tables[o.Key].Snapshot(newest(d.w.Tables[o.Key], fp, run))
		if s == nil {
			return nil, false
		}
		parents[o.Key] = s.Stamp.ParentDigest
	}
	return parents, true
}
