// Package memory is a sink that keeps its tables in the process: the same promises as a real catalog, for tests of what is built on
// sinks. It never touches a disk and forgets everything when the process ends.
package memory

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"sync"

	"github.com/apache/arrow-go/v18/arrow"

	"pipe/pipeline/schema"
	"pipe/sinks"
)

// Catalog is an open memory sink; safe for several goroutines. The zero value is ready.
type Catalog struct {
	mu     sync.Mutex
	tables map[string]*table
	next   int
	before func(op string) error // see FailOn
	after  func(op string) error // see LoseAnswers
}

type table struct {
	uuid      string
	version   int // counts changes, as metadata files do
	snapshots []sinks.Snapshot
	data      map[sinks.SnapshotID][]arrow.RecordBatch
	schemas   map[sinks.SnapshotID]schema.Schema
	refs      map[string]sinks.SnapshotID
	published map[string]sinks.SnapshotID
	project   string
	schema    schema.Schema
}

var _ sinks.Catalog = (*Catalog)(nil)

// do runs one operation alone, between the two hooks.
func (c *Catalog) do(ctx context.Context, op string, f func() error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.before != nil {
		if err := c.before(op); err != nil {
			return err
		}
	}
	if err := f(); err != nil {
		return err
	}
	if c.after != nil {
		return c.after(op)
	}
	return nil
}

func (t *table) snapshot(id sinks.SnapshotID) *sinks.Snapshot {
	if t == nil {
		return nil
	}
	for i := range t.snapshots {
		if t.snapshots[i].ID == id {
			return &t.snapshots[i]
		}
	}
	return nil
}

// live finds a snapshot, or says that it is gone.
func (c *Catalog) live(at sinks.Target) (*table, *sinks.Snapshot, error) {
	t := c.tables[at.Table]
	s := t.snapshot(at.Snapshot)
	if s == nil {
		return nil, nil, fmt.Errorf("table %s: %w: %s", at.Table, sinks.ErrExpired, at.Snapshot)
	}
	return t, s, nil
}

// Observe implements sinks.Observer.
func (c *Catalog) Observe(ctx context.Context, names []string) (map[string]*sinks.Table, error) {
	out := map[string]*sinks.Table{}
	err := c.do(ctx, "Observe", func() error {
		for _, n := range names {
			if t := c.tables[n]; t != nil {
				out[n] = &sinks.Table{
					Name: n, UUID: t.uuid, Location: "memory:" + n, Metadata: strconv.Itoa(t.version), Snapshots: slices.Clone(t.snapshots),
					Refs: maps.Clone(t.refs), Published: maps.Clone(t.published), Project: t.project, Schema: t.schema,
				}
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}

// Hold implements sinks.Writer.
func (c *Catalog) Hold(ctx context.Context, run string, targets []sinks.Target) error {
	return c.tag(ctx, "Hold", targets, func(sinks.SnapshotID) string { return sinks.RunRef(run) })
}

// Pin implements sinks.Writer.
func (c *Catalog) Pin(ctx context.Context, targets []sinks.Target) error {
	return c.tag(ctx, "Pin", targets, sinks.PinTag)
}

func (c *Catalog) tag(ctx context.Context, op string, targets []sinks.Target, name func(sinks.SnapshotID) string) error {
	return c.do(ctx, op, func() error {
		for _, x := range targets {
			if _, _, err := c.live(x); err != nil {
				return err
			}
		}
		for _, x := range targets {
			c.tables[x.Table].set(name(x.Snapshot), x.Snapshot)
		}
		return nil
	})
}

func (t *table) set(ref string, id sinks.SnapshotID) {
	if t.refs[ref] != id {
		t.refs[ref] = id
		t.version++
	}
}

// Publish implements sinks.Writer.
func (c *Catalog) Publish(ctx context.Context, p sinks.Publication) error {
	return c.do(ctx, "Publish", func() error {
		for _, m := range p.Moves {
			t := c.tables[m.Table]
			switch head := t.head(p.Ref); {
			case t == nil:
				return fmt.Errorf("table %s: %w", m.Table, sinks.ErrNoTable)
			case head == m.To:
			case head != m.From:
				return fmt.Errorf("table %s: %w: %s is at %q, expected %q", m.Table, sinks.ErrConflict, p.Ref, head, m.From)
			case t.snapshot(m.To) == nil:
				return fmt.Errorf("table %s: %w: %s", m.Table, sinks.ErrExpired, m.To)
			}
		}
		for _, m := range p.Moves {
			t := c.tables[m.Table]
			t.set(p.Ref, m.To)
			t.set(sinks.PinTag(m.To), m.To)
			t.published[p.Ref] = m.To
			if p.Ref == sinks.Main {
				t.schema = t.schemas[m.To]
			}
		}
		return nil
	})
}

func (t *table) head(ref string) sinks.SnapshotID {
	if t == nil {
		return ""
	}
	return t.refs[ref]
}

// Release implements sinks.Writer.
func (c *Catalog) Release(ctx context.Context, run string, tables []string) error {
	return c.do(ctx, "Release", func() error {
		for _, n := range tables {
			if t := c.tables[n]; t.head(sinks.RunRef(run)) != "" {
				delete(t.refs, sinks.RunRef(run))
				t.version++
			}
		}
		return nil
	})
}

// Atomic implements sinks.Writer.
func (c *Catalog) Atomic() bool { return true }

// Close implements sinks.Catalog. The tables stay.
func (c *Catalog) Close() error { return nil }
