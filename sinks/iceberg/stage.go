package iceberg

import (
	"context"
	"errors"
	"fmt"

	ice "github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/table"

	"pipe/sinks"
)

// Stage implements sinks.Tx: one commit that adds the snapshot, and what it needs of schemas and layouts, and puts the run's branch
// on it. Nothing of it is made current: readers of the head see the table as it was.
func (x *tx) Stage(ctx context.Context, stamp sinks.Stamp) (sinks.Snapshot, error) {
	files, err := x.finish()
	if err != nil {
		return sinks.Snapshot{}, err
	}
	if err := ctx.Err(); err != nil {
		return sinks.Snapshot{}, err
	}
	d := newDraft(x.files)
	if d.files, err = x.place(files); err != nil {
		return sinks.Snapshot{}, err
	}
	mark := -1
	var made sinks.Snapshot
	err = x.c.commit(ctx, []change{{x.spec.Table, func(now *table.Table) (table.Metadata, error) {
		if mark >= 0 {
			_ = x.files.removeFrom(mark) // what the last try hung on a parent's manifests
		}
		target, err := x.check(now)
		if err != nil {
			return nil, err
		}
		d.schema, d.spec = target.Schema(), target.Spec()
		if err := d.writeManifest(target.Metadata()); err != nil {
			return nil, x.c.broken(err, "write the manifests of "+x.spec.Table)
		}
		mark = x.files.mark()
		meta, s, err := x.snapshot(ctx, now, target, d, stamp)
		if err == nil {
			made = snapshot(*s)
		}
		return meta, err
	}}})
	switch {
	case err == nil:
		x.end()
		return made, nil
	case errors.Is(err, sinks.ErrUnknown):
		x.end() // a pointer may name the files
	}
	return sinks.Snapshot{}, err
}

// check looks whether the rows, as they were written, still fit the table as it is now.
func (x *tx) check(now *table.Table) (*table.Table, error) {
	target, err := x.c.target(now, x.spec, x.base)
	if err != nil {
		return nil, err
	}
	spec, wrote := target.Spec(), x.target.Spec()
	if !target.Schema().Equals(x.target.Schema()) || !spec.Equals(wrote) || target.Location() != x.files.location {
		return nil, fmt.Errorf("%w: %s was changed while its rows were written", sinks.ErrConflict, x.spec.Table)
	}
	return target, nil
}

// snapshot makes the snapshot, and the metadata that holds it: the table as it is, with the schema and layout of the rows added.
func (x *tx) snapshot(ctx context.Context, now, target *table.Table, d *draft, stamp sinks.Stamp) (table.Metadata, *table.Snapshot, error) {
	meta := target.Metadata()
	at := ""
	if now != nil {
		meta, at = now.Metadata(), now.MetadataLocation()
	}
	b, err := table.MetadataBuilderFromBase(meta, at)
	if err != nil {
		return nil, nil, err
	}
	if now != nil {
		if err := addLayout(b, target); err != nil {
			return nil, nil, err
		}
	}
	props := stamp.Properties()
	props[layoutProperty] = fmt.Sprintf("%d,%d", target.Metadata().DefaultPartitionSpec(), target.Metadata().DefaultSortOrder())
	_, parent := find(now, x.base.Parent)
	s, err := d.over(ctx, meta, parent, x.base.Append, props, x.c.now())
	if err != nil {
		return nil, nil, x.c.broken(err, "write the manifests of "+x.spec.Table)
	}
	if err := b.AddSnapshot(s); err != nil {
		return nil, nil, err
	}
	if err := b.SetSnapshotRef(sinks.RunRef(x.base.Run), s.SnapshotID, table.BranchRef); err != nil {
		return nil, nil, err
	}
	built, err := b.Build()
	return built, s, err
}

// addLayout adds the schema, the partition spec and the sort order of the target. The last two are checked against the current schema,
// so that of the target is current for as long.
func addLayout(b *table.MetadataBuilder, target *table.Table) error {
	current, spec, order := b.CurrentSchema().ID, target.Spec(), target.SortOrder()
	if err := b.AddSchema(target.Schema()); err != nil {
		return err
	}
	if err := b.SetCurrentSchemaID(target.Schema().ID); err != nil {
		return err
	}
	if err := b.AddPartitionSpec(&spec, false); err != nil {
		return err
	}
	if err := b.AddSortOrder(&order); err != nil {
		return err
	}
	return b.SetCurrentSchemaID(current)
}

// place gives the files that the encoders made their real names.
func (x *tx) place(files []ice.DataFile) ([]ice.DataFile, error) {
	spec := x.target.Spec()
	out := make([]ice.DataFile, len(files))
	for i, f := range files {
		b, err := ice.NewDataFileBuilder(spec, f.ContentType(), placed(x.files.location, f.FilePath()), f.FileFormat(), f.Partition(), nil, nil, f.Count(), f.FileSizeBytes())
		if err != nil {
			return nil, err
		}
		out[i] = b.ColumnSizes(f.ColumnSizes()).ValueCounts(f.ValueCounts()).NullValueCounts(f.NullValueCounts()).NaNValueCounts(f.NaNValueCounts()).
			LowerBoundValues(f.LowerBoundValues()).UpperBoundValues(f.UpperBoundValues()).SplitOffsets(f.SplitOffsets()).Build()
	}
	return out, nil
}
