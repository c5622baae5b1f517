package memory

import (
	"slices"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"pipe/sinks"
)

// FailOn makes every later operation ask f first, by the name of its method ("Publish", "Stage", "Write"; not Abort and Close); an
// error is given to the caller and nothing is done. nil ends it. f must not call the catalog.
func (c *Catalog) FailOn(f func(op string) error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.before = f
}

// LoseAnswers makes every later operation that succeeded ask f last: an error is given to the caller although the thing was done, as
// when the answer to a commit is lost. nil ends it. f must not call the catalog.
func (c *Catalog) LoseAnswers(f func(op string) error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.after = f
}

// Create makes a table without a snapshot, as another engine does; a table that exists stays as it is.
func (c *Catalog) Create(spec sinks.Spec) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.create(spec)
}

// Foreign commits to a table's main ref as an engine that knows nothing of pipe does: without a stamp. OpAppend and OpReplace (a
// compaction) keep the rows that are there, the others drop them. The table must exist.
func (c *Catalog) Foreign(name string, op sinks.Op, batches ...arrow.RecordBatch) sinks.SnapshotID {
	c.mu.Lock()
	defer c.mu.Unlock()
	t := c.tables[name]
	head := t.refs[sinks.Main]
	s := sinks.Snapshot{Parent: head, Op: op}
	var data []arrow.RecordBatch
	if op == sinks.OpAppend || op == sinks.OpReplace {
		data = slices.Clone(t.data[head])
	}
	as := sinks.ArrowSchema(t.schema)
	for _, b := range batches {
		data = append(data, array.NewRecordBatch(as, b.Columns(), b.NumRows()))
	}
	for _, b := range data {
		s.Rows += b.NumRows()
	}
	s = c.add(t, s, data, t.schema)
	t.set(sinks.Main, s.ID)
	return s.ID
}

// SetHead moves main by hand, as an operator would: without the property that pipe sets. "" drops the ref.
func (c *Catalog) SetHead(name string, id sinks.SnapshotID) {
	c.mu.Lock()
	defer c.mu.Unlock()
	t := c.tables[name]
	if id == "" {
		delete(t.refs, sinks.Main)
		t.version++
		return
	}
	t.set(sinks.Main, id)
}

// DropRef removes a ref or a tag of a table.
func (c *Catalog) DropRef(name, ref string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.tables[name].refs, ref)
	c.tables[name].version++
}

// Expire drops every snapshot of a table that no ref names. Refs protect what they name, not its ancestors, as an expiry does that
// retains one snapshot a branch.
func (c *Catalog) Expire(name string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	t := c.tables[name]
	keep := map[sinks.SnapshotID]bool{}
	for _, id := range t.refs {
		keep[id] = true
	}
	t.snapshots = slices.DeleteFunc(t.snapshots, func(s sinks.Snapshot) bool { return !keep[s.ID] })
	for id := range t.data {
		if !keep[id] {
			delete(t.data, id)
			delete(t.schemas, id)
		}
	}
	t.version++
}

// Drop removes a table.
func (c *Catalog) Drop(name string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.tables, name)
}
