package plan

import "pipe/lockfile"

// Make decides every selected stage in order, as a preview: what hangs below a stage that will run is pending. Stages outside the
// selection are taken as the lock has them.
func (w *World) Make(sel Selection) *Plan {
	p := &Plan{Ref: w.Ref}
	x := *w
	x.Unknown, x.Entries = map[string]bool{}, map[string]*lockfile.Entry{}
	for k, e := range w.Entries {
		x.Entries[k] = e
	}
	for _, name := range w.Graph.Order() {
		if !sel.Stages[name] {
			continue
		}
		st := x.Decide(w.Graph.Stage(name), sel.Choice(name))
		p.Steps = append(p.Steps, st)
		switch st.Status {
		case Stale, Pending:
			x.Unknown[name] = true
		case Reuse:
			if st.Done != w.Lock.Stages[name] {
				x.Entries[name] = st.Done
			}
		case Diverged:
			// What would be missing below it is not the point: the run stops here.
			x.Unknown[name] = x.entry(name) == nil
		case UpToDate, Frozen:
		}
	}
	return p
}
