package iceberg

import (
	"context"
	"errors"
	"io/fs"
	"runtime"
	"strconv"
	"strings"
	"sync"

	ice "github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/table"
	"golang.org/x/sync/errgroup"

	"pipe/sinks"
)

const (
	headProperty    = "pipe.head."   // and the ref: what pipe last moved it to
	projectProperty = "pipe.project" // the project that made the table
	layoutProperty  = "pipe.layout"  // in a summary: "<spec id>,<sort order id>" that the snapshot's files have
)

// Observe implements sinks.Observer: one query for all pointers, and metadata is parsed only where a pointer moved.
func (c *Catalog) Observe(ctx context.Context, names []string) (map[string]*sinks.Table, error) {
	for gone := ""; ; {
		at, err := c.pointers(ctx, names...)
		if err != nil {
			return nil, err
		}
		out, missing, err := c.states(at, names)
		if err == nil {
			return out, nil
		}
		// A file that is gone although its pointer named it was superseded and pruned in between: look again, at all of them.
		if missing == gone || !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
		gone = missing
	}
}

// states gives what the metadata at each pointer says; or where it could not be read.
func (c *Catalog) states(at map[string]string, names []string) (out map[string]*sinks.Table, failed string, err error) {
	out = make(map[string]*sinks.Table, len(names))
	var moved []string
	for _, n := range names {
		loc, ok := at[n]
		if !ok || out[n] != nil {
			continue
		}
		if t := c.cache.get(n, loc); t != nil {
			out[n] = t
		} else {
			moved = append(moved, n)
		}
	}
	var mu sync.Mutex
	var g errgroup.Group
	g.SetLimit(2 * runtime.GOMAXPROCS(0))
	for _, n := range moved {
		g.Go(func() error {
			tbl, err := c.read(n, at[n])
			mu.Lock()
			defer mu.Unlock()
			if err != nil {
				failed = at[n]
				return err
			}
			out[n] = state(n, at[n], tbl.Metadata())
			c.cache.put(n, out[n])
			return nil
		})
	}
	return out, failed, g.Wait()
}

// state is what a table's metadata says.
func state(name, at string, m table.Metadata) *sinks.Table {
	t := &sinks.Table{
		Name: name, UUID: m.TableUUID().String(), Location: m.Location(), Metadata: at, Refs: map[string]sinks.SnapshotID{},
		Published: map[string]sinks.SnapshotID{}, Schema: fromSchema(m.CurrentSchema()),
	}
	for ref, r := range m.Refs() {
		t.Refs[ref] = id(r.SnapshotID)
	}
	for k, v := range m.Properties() {
		if ref, ok := strings.CutPrefix(k, headProperty); ok {
			t.Published[ref] = sinks.SnapshotID(v)
		}
	}
	t.Project = m.Properties()[projectProperty]
	for _, s := range m.Snapshots() {
		t.Snapshots = append(t.Snapshots, snapshot(s))
	}
	return t
}

func id(n int64) sinks.SnapshotID { return sinks.SnapshotID(strconv.FormatInt(n, 10)) }

func number(s sinks.SnapshotID) (int64, bool) {
	n, err := strconv.ParseInt(string(s), 10, 64)
	return n, err == nil
}

func snapshot(s table.Snapshot) sinks.Snapshot {
	out := sinks.Snapshot{ID: id(s.SnapshotID), Rows: -1}
	if s.ParentSnapshotID != nil {
		out.Parent = id(*s.ParentSnapshotID)
	}
	if s.Summary == nil {
		return out
	}
	out.Op = sinks.Op(s.Summary.Operation)
	props := make(map[string]string, len(s.Summary.Properties))
	for k, v := range s.Summary.Properties {
		if k != layoutProperty {
			props[k] = v
		}
	}
	// The format counts the rows of the data files; how many of them delete files take away it does not say.
	if n, err := strconv.ParseInt(props["total-records"], 10, 64); err == nil && (props["total-delete-files"] == "0" || props["total-delete-files"] == "") {
		out.Rows = n
	}
	out.Stamp = sinks.ParseStamp(props)
	return out
}

// layoutOf gives the partition spec and sort order that a snapshot was written under; the defaults if it does not say.
func layoutOf(m table.Metadata, s *table.Snapshot) (spec, sort int) {
	spec, sort = m.DefaultPartitionSpec(), m.DefaultSortOrder()
	if s.Summary == nil {
		return spec, sort
	}
	a, b, ok := strings.Cut(s.Summary.Properties[layoutProperty], ",")
	if !ok {
		return spec, sort
	}
	if n, err := strconv.Atoi(a); err == nil && m.PartitionSpecByID(n) != nil {
		spec = n
	}
	if n, err := strconv.Atoi(b); err == nil {
		sort = n
	}
	return spec, sort
}

func properties(m map[string]string) ice.Properties { return ice.Properties(m) }
