package iceberg

import (
	"context"
	"fmt"

	"github.com/apache/iceberg-go/table"

	"pipe/sinks"
)

// Publish implements sinks.Writer.
func (c *Catalog) Publish(ctx context.Context, p sinks.Publication) error {
	var changes []change
	for _, m := range p.Moves {
		changes = append(changes, change{m.Table, func(now *table.Table) (table.Metadata, error) { return publish(now, p.Ref, m) }})
	}
	return c.commit(ctx, changes)
}

// publish moves one head: the ref, the pin, what pipe last published, and the schema and layout of the snapshot, which readers of
// the head expect to be the table's own.
func publish(now *table.Table, ref string, m sinks.Move) (table.Metadata, error) {
	if now == nil {
		return nil, fmt.Errorf("%s: %w", m.Table, sinks.ErrNoTable)
	}
	meta := now.Metadata()
	var head sinks.SnapshotID
	for name, r := range meta.Refs() {
		if name == ref {
			head = id(r.SnapshotID)
		}
	}
	to, snap := find(now, m.To)
	switch {
	case snap == nil:
		return nil, fmt.Errorf("%s at %s: %w", m.Table, m.To, sinks.ErrExpired)
	case head == m.To:
	case head != m.From:
		return nil, fmt.Errorf("%s: its head is %q, not %q: %w", m.Table, head, m.From, sinks.ErrConflict)
	}
	b, err := table.MetadataBuilderFromBase(meta, now.MetadataLocation())
	if err != nil {
		return nil, err
	}
	if err := branch(b, meta, ref, to); err != nil {
		return nil, err
	}
	if err := pin(b, to); err != nil {
		return nil, err
	}
	if ref == sinks.Main {
		if snap.SchemaID != nil && *snap.SchemaID != meta.CurrentSchema().ID {
			if err := b.SetCurrentSchemaID(*snap.SchemaID); err != nil {
				return nil, err
			}
		}
		spec, sort := layoutOf(meta, snap)
		if spec != meta.DefaultPartitionSpec() {
			if err := b.SetDefaultSpecID(spec); err != nil {
				return nil, err
			}
		}
		if sort != meta.DefaultSortOrder() {
			if err := b.SetDefaultSortOrderID(sort); err != nil {
				return nil, err
			}
		}
	}
	if key := headProperty + ref; meta.Properties()[key] != string(m.To) {
		if err := b.SetProperties(properties(map[string]string{key: string(m.To)})); err != nil {
			return nil, err
		}
	}
	return finish(b)
}

// branch moves a branch, which keeps the retention that somebody gave it.
func branch(b *table.MetadataBuilder, meta table.Metadata, ref string, to int64) error {
	for name, r := range meta.Refs() {
		if name != ref {
			continue
		}
		keep := table.NewSetSnapshotRefUpdate(ref, to, table.BranchRef, value(r.MaxRefAgeMs), value(r.MaxSnapshotAgeMs), value(r.MinSnapshotsToKeep))
		return keep.Apply(b)
	}
	return b.SetSnapshotRef(ref, to, table.BranchRef)
}

func value[T any](p *T) (v T) {
	if p != nil {
		v = *p
	}
	return v
}

// forever is the longest time, in milliseconds, that no JSON reader rounds: 285,000 years.
const forever = 1<<53 - 1

// pin keeps a snapshot from expiry by any engine: expiry never takes what a ref names, and this ref never grows old.
func pin(b *table.MetadataBuilder, snap int64) error {
	return b.SetSnapshotRef(sinks.PinTag(id(snap)), snap, table.TagRef, table.WithMaxRefAgeMs(forever))
}

// finish builds the metadata; nil if nothing changed.
func finish(b *table.MetadataBuilder) (table.Metadata, error) {
	if !b.HasChanges() {
		return nil, nil
	}
	return b.Build()
}

func find(t *table.Table, want sinks.SnapshotID) (int64, *table.Snapshot) {
	n, ok := number(want)
	if !ok || t == nil {
		return 0, nil
	}
	return n, t.SnapshotByID(n)
}

// Hold implements sinks.Writer.
func (c *Catalog) Hold(ctx context.Context, run string, targets []sinks.Target) error {
	return c.point(ctx, targets, func(b *table.MetadataBuilder, snap int64) error {
		return b.SetSnapshotRef(sinks.RunRef(run), snap, table.BranchRef)
	})
}

// Pin implements sinks.Writer.
func (c *Catalog) Pin(ctx context.Context, targets []sinks.Target) error {
	return c.point(ctx, targets, pin)
}

// point sets a ref on live snapshots, all in one commit.
func (c *Catalog) point(ctx context.Context, targets []sinks.Target, set func(b *table.MetadataBuilder, snap int64) error) error {
	var names []string
	byTable := map[string][]sinks.SnapshotID{}
	for _, t := range targets {
		if byTable[t.Table] == nil {
			names = append(names, t.Table)
		}
		byTable[t.Table] = append(byTable[t.Table], t.Snapshot)
	}
	var changes []change
	for _, name := range names {
		changes = append(changes, change{name, func(now *table.Table) (table.Metadata, error) {
			var b *table.MetadataBuilder
			for _, want := range byTable[name] {
				n, snap := find(now, want)
				if snap == nil {
					return nil, fmt.Errorf("%s at %s: %w", name, want, sinks.ErrExpired)
				}
				if b == nil {
					var err error
					if b, err = table.MetadataBuilderFromBase(now.Metadata(), now.MetadataLocation()); err != nil {
						return nil, err
					}
				}
				if err := set(b, n); err != nil {
					return nil, err
				}
			}
			return finish(b)
		}})
	}
	return c.commit(ctx, changes)
}

// Release implements sinks.Writer.
func (c *Catalog) Release(ctx context.Context, run string, tables []string) error {
	var changes []change
	for _, name := range tables {
		changes = append(changes, change{name, func(now *table.Table) (table.Metadata, error) {
			if now == nil || now.SnapshotByName(sinks.RunRef(run)) == nil {
				return nil, nil
			}
			b, err := table.MetadataBuilderFromBase(now.Metadata(), now.MetadataLocation())
			if err != nil {
				return nil, err
			}
			if err := b.RemoveSnapshotRef(sinks.RunRef(run)); err != nil {
				return nil, err
			}
			return finish(b)
		}})
	}
	return c.commit(ctx, changes)
}
