package plan

import (
	"fmt"
	"strings"

	"pipe/internal/diag"
	"pipe/lockfile"
	"pipe/pipeline"
	"pipe/sinks"
)

// ColumnsProperty is the summary property in which a snapshot of an out without a schema carries the columns that were inferred.
const ColumnsProperty = "pipe.columns"

// JoinColumns and SplitColumns are its form: one column a line.
func JoinColumns(cols []string) string { return strings.Join(cols, "\n") }

// SplitColumns is the inverse of JoinColumns.
func SplitColumns(s string) []string {
	if s == "" {
		return nil
	}
	return strings.Split(s, "\n")
}

type verdict int

const (
	stays    verdict = iota // the head is there already, has the same rows, or is ahead
	moves                   // the head moves
	conflict                // the world moved since the decision
)

// headMove decides what becomes of one head once the entry is known. upToDate: the entry is the lock's own.
func (w *World) headMove(s *pipeline.Stage, o pipeline.Out, l, n sinks.SnapshotID, upToDate bool) verdict {
	key := TableKey{o.Sink, o.Table}
	t := w.Tables[key]
	h := t.Head(w.Ref)
	if n == "" || n == h {
		return stays
	}
	if h != "" && (upToDate || o.Mode != pipeline.Append) {
		a, ok := w.content(key, h)
		b, ok2 := w.content(key, n)
		if ok && ok2 && a.Digest == b.Digest {
			return stays
		}
	}
	rel := relate(t, l, h)
	if rel == Same && upToDate {
		return stays
	}
	m := move{stage: s.Name, key: key, mode: o.Mode, l: l, h: h, n: n, rel: rel, over: o.OnDiverge == "overwrite"}
	if w.may(m) && !(upToDate && rel == Ahead && w.known(m) != byHistory) {
		return moves
	}
	if upToDate || h != "" && descends(t, h, n) {
		return stays
	}
	return conflict
}

// Conflict says that a head moved between the decision and the publish.
type Conflict struct{ Table TableKey }

func (c *Conflict) Error() string { return fmt.Sprintf("the head of %s moved meanwhile", c.Table) }

// Moves gives the heads that a run moves, by sink, once its entries are known (w.Entries) and its snapshots are in w.Tables. Only
// stages in the selection move heads. accepted names the stages whose heads the user took over. A *Conflict asks for a new
// decision.
func (w *World) Moves(selected map[string]bool, accepted map[string]bool) (map[string][]sinks.Move, error) {
	out := map[string][]sinks.Move{}
	for _, name := range w.Graph.Order() {
		s := w.Graph.Stage(name)
		e := w.entry(name)
		if !selected[name] || s.Frozen || e == nil {
			continue
		}
		now := w.standing(s, e)
		old := w.Lock.Stages[name]
		upToDate := w.Entries[name] == nil || w.Entries[name] == old
		for _, o := range s.Outs {
			key := TableKey{o.Sink, o.Table}
			if o.Table == "" || w.Held[key] {
				continue
			}
			h := w.Tables[key].Head(w.Ref)
			l := w.lockedAt(s, old, key)
			if accepted[name] {
				l = h
			}
			switch w.headMove(s, o, l, now[key], upToDate) {
			case moves:
				out[key.Sink] = append(out[key.Sink], sinks.Move{Table: key.Table, From: h, To: now[key]})
			case conflict:
				return nil, &Conflict{key}
			}
		}
	}
	return out, nil
}

// Assert checks that what was read is still what readers will see: for each table dep of this pipeline, read by a stage whose out
// moves, the dep's head after the moves has the digest that was read. Deps of stages outside the selection are exempt where the
// user asked for a part of the graph on purpose.
func (w *World) Assert(mv map[string][]sinks.Move, selected map[string]bool) error {
	to := map[TableKey]sinks.SnapshotID{}
	for sink, list := range mv {
		for _, m := range list {
			to[TableKey{sink, m.Table}] = m.To
		}
	}
	for _, name := range w.Graph.Order() {
		s := w.Graph.Stage(name)
		moving := false
		for _, k := range tableKeys(s) {
			moving = moving || to[k] != ""
		}
		if !moving {
			continue
		}
		for _, d := range s.Deps {
			p := w.Graph.Producer(d.Sink, d.Table)
			if d.Table == "" || d.At != "" || p == nil || !selected[p.Name] {
				continue
			}
			key := TableKey{d.Sink, d.Table}
			h := to[key]
			if h == "" {
				h = w.Tables[key].Head(w.Ref)
			}
			read := tableOut(w.entry(p.Name), key)
			if h == "" || read == nil || w.Held[key] {
				continue
			}
			if c, ok := w.content(key, h); !ok || c.Digest != read.Digest {
				return (&diag.Error{
					Exit: diag.Conflict, Stage: name,
					Msg: fmt.Sprintf("stage %s read %s as the lock has it, but its head is ahead: nothing was published", name, key),
				}).With("git pull, or pipe repro --accept %s", p.Name)
			}
		}
	}
	return nil
}

// Outs gives where each head of the graph's tables is, for results and status.
func (w *World) Relation(s *pipeline.Stage, e *lockfile.Entry, key TableKey) Relation {
	return relate(w.Tables[key], w.lockedAt(s, e, key), w.Tables[key].Head(w.Ref))
}

// Back gives the moves that put the heads of the stages' tables where the lock says, whatever they are now.
func (w *World) Back(stages map[string]bool) (map[string][]sinks.Move, error) {
	out := map[string][]sinks.Move{}
	var errs diag.List
	for _, name := range w.Graph.Order() {
		s := w.Graph.Stage(name)
		e := w.Lock.Stages[name]
		if !stages[name] || e == nil {
			continue
		}
		at := w.standing(s, e)
		for _, k := range tableKeys(s) {
			had := tableOut(e, k)
			if had == nil {
				continue
			}
			if at[k] == "" {
				errs = append(errs, (&diag.Error{
					Exit: diag.Conflict, Stage: name, Msg: fmt.Sprintf("snapshot %s of %s, which the lock names, is gone", had.Snapshot, k),
				}).With("pipe repro %s makes it again where it can", name))
				continue
			}
			if h := w.Tables[k].Head(w.Ref); h != at[k] {
				out[k.Sink] = append(out[k.Sink], sinks.Move{Table: k.Table, From: h, To: at[k]})
			}
		}
	}
	return out, errs.Err()
}
