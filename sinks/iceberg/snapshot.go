package iceberg

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"time"

	ice "github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/table"
	"github.com/google/uuid"
)

// draft is one snapshot in the making: its id, its files, and what was written of it. The library's own producers are not used,
// since they name files by an encoded URL, move the table's current schema along, and make no snapshot at all where nothing changes.
type draft struct {
	io     *noted
	id     int64 // known before the commit, so that a lost answer can be looked up
	schema *ice.Schema
	spec   ice.PartitionSpec
	files  []ice.DataFile

	attempt  uuid.UUID
	manifest ice.ManifestFile // of files; it hangs on no parent, so a commit that is built again takes it as it is
	count    int
}

func newDraft(io *noted) *draft {
	return &draft{io: io, id: rand.Int64N(1<<62) + 1, attempt: uuid.New()}
}

// over makes the snapshot on top of parent, of whose rows it keeps all or none, and writes what it needs. meta is the table as it is.
func (d *draft) over(ctx context.Context, meta table.Metadata, parent *table.Snapshot, keep bool, props map[string]string, now time.Time) (*table.Snapshot, error) {
	if meta.Version() < 2 {
		return nil, fmt.Errorf("the table has format version %d, expected 2", meta.Version())
	}
	if err := d.writeManifest(meta); err != nil {
		return nil, err
	}
	sum := newTally(d.files)
	var list []ice.ManifestFile
	if d.manifest != nil {
		list = append(list, d.manifest)
	}
	op := table.OpAppend
	if parent != nil {
		old, err := parent.Manifests(fileIO{})
		if err != nil {
			return nil, err
		}
		if keep {
			old, err = d.merged(ctx, meta, old)
			sum.onto(parent, old)
		} else {
			op = table.OpOverwrite
			old, err = d.dropped(ctx, meta, old, sum)
		}
		if err != nil {
			return nil, err
		}
		list = append(list, old...)
	}
	s := &table.Snapshot{
		SnapshotID: d.id, SequenceNumber: meta.LastSequenceNumber() + 1, TimestampMs: max(now.UnixMilli(), meta.LastUpdatedMillis()),
		SchemaID: &d.schema.ID, Summary: &table.Summary{Operation: op, Properties: sum.properties(props)},
	}
	if parent != nil {
		s.ParentSnapshotID = &parent.SnapshotID
	}
	return s, d.writeList(meta, s, list)
}

// writeManifest writes the manifest of the new files.
func (d *draft) writeManifest(meta table.Metadata) error {
	if len(d.files) == 0 || d.manifest != nil {
		return nil
	}
	m, err := d.write(meta, d.schema, d.spec, ice.ManifestContentData, func(w *ice.ManifestWriter) error {
		for _, f := range d.files {
			if err := w.Add(ice.NewManifestEntry(ice.EntryStatusADDED, &d.id, nil, nil, f)); err != nil {
				return err
			}
		}
		return nil
	})
	d.manifest = m
	return err
}

func (d *draft) write(meta table.Metadata, s *ice.Schema, spec ice.PartitionSpec, content ice.ManifestContent, fill func(*ice.ManifestWriter) error) (ice.ManifestFile, error) {
	at := fmt.Sprintf("%s/metadata/%s-m%d.avro", meta.Location(), d.attempt, d.count)
	d.count++
	out, err := d.io.Create(at)
	if err != nil {
		return nil, err
	}
	counted := &counter{Writer: out}
	m, err := func() (ice.ManifestFile, error) {
		w, err := ice.NewManifestWriter(meta.Version(), counted, spec, s, d.id, ice.WithManifestWriterContent(content))
		if err != nil {
			return nil, err
		}
		if err := fill(w); err != nil {
			_ = w.Close()
			return nil, err
		}
		if err := w.Close(); err != nil {
			return nil, err
		}
		return w.ToManifestFile(at, counted.n)
	}()
	if cerr := out.Close(); err == nil {
		err = cerr
	}
	return m, err
}

// writeList writes the manifest list and names it in the snapshot.
func (d *draft) writeList(meta table.Metadata, s *table.Snapshot, list []ice.ManifestFile) error {
	s.ManifestList = fmt.Sprintf("%s/metadata/snap-%d-%d-%s.avro", meta.Location(), d.id, d.count, d.attempt)
	d.count++
	out, err := d.io.Create(s.ManifestList)
	if err != nil {
		return err
	}
	err = func() error {
		if meta.Version() == 2 {
			return ice.WriteManifestList(2, out, d.id, s.ParentSnapshotID, &s.SequenceNumber, 0, list)
		}
		first := meta.NextRowID()
		w, err := ice.NewManifestListWriterV3(out, d.id, s.SequenceNumber, first, s.ParentSnapshotID)
		if err != nil {
			return err
		}
		if err := w.AddManifests(list); err != nil {
			_ = w.Close()
			return err
		}
		rows := *w.NextRowID() - first
		s.FirstRowID, s.AddedRows = &first, &rows
		return w.Close()
	}()
	if cerr := out.Close(); err == nil {
		err = cerr
	}
	return err
}

type counter struct {
	io.Writer
	n int64
}

func (c *counter) Write(p []byte) (int, error) {
	n, err := c.Writer.Write(p)
	c.n += int64(n)
	return n, err
}

// dropped gives the manifests that say that every file of the parent, data and deletes, is gone: cleaners of other engines look for
// them there. One is written for each kind of content and each partition spec.
func (d *draft) dropped(ctx context.Context, meta table.Metadata, old []ice.ManifestFile, sum *tally) ([]ice.ManifestFile, error) {
	type kind struct {
		spec    int32
		content ice.ManifestContent
	}
	groups := map[kind][]ice.ManifestEntry{}
	var order []kind
	for _, m := range old {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		k := kind{m.PartitionSpecID(), m.ManifestContent()}
		for e, err := range m.Entries(fileIO{}, true) {
			if err != nil {
				return nil, err
			}
			if groups[k] == nil {
				order = append(order, k)
			}
			groups[k] = append(groups[k], e)
		}
	}
	var out []ice.ManifestFile
	for _, k := range order {
		spec := meta.PartitionSpecByID(int(k.spec))
		if spec == nil {
			return nil, fmt.Errorf("the metadata lacks the partition spec %d of its own files", k.spec)
		}
		m, err := d.write(meta, schemaFor(meta, spec), *spec, k.content, func(w *ice.ManifestWriter) error {
			for _, e := range groups[k] {
				if err := w.Delete(e); err != nil {
					return err
				}
				sum.drop(e.DataFile())
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
		out = append(out, m)
	}
	return out, nil
}

// schemaFor finds a schema that has every column that a partition spec divides by: the current one may have lost it.
func schemaFor(meta table.Metadata, spec *ice.PartitionSpec) *ice.Schema {
	has := func(s *ice.Schema) bool {
		for _, f := range spec.Fields() {
			if _, ok := s.FindFieldByID(f.SourceID()); !ok {
				return false
			}
		}
		return true
	}
	best := meta.CurrentSchema()
	for _, s := range meta.Schemas() {
		if has(s) && (!has(best) || s.ID > best.ID) {
			best = s
		}
	}
	return best
}

// merged gives the manifests of the parent that have live files. Where the table asks for it and there are many small ones, they
// become few: a scan opens each.
func (d *draft) merged(ctx context.Context, meta table.Metadata, old []ice.ManifestFile) ([]ice.ManifestFile, error) {
	props := meta.Properties()
	target := int64(props.GetInt(table.ManifestTargetSizeBytesKey, table.ManifestTargetSizeBytesDefault))
	least := props.GetInt(table.ManifestMinMergeCountKey, table.ManifestMinMergeCountDefault)
	var keep, small []ice.ManifestFile
	for _, m := range old {
		switch {
		case !m.HasAddedFiles() && !m.HasExistingFiles():
		case m.ManifestContent() == ice.ManifestContentData && m.Length() < target/2 && m.PartitionSpecID() == int32(d.spec.ID()) && meta.Version() == 2:
			small = append(small, m)
		default:
			keep = append(keep, m)
		}
	}
	if len(small) < max(2, least) || !props.GetBool(table.ManifestMergeEnabledKey, table.ManifestMergeEnabledDefault) {
		return append(small, keep...), nil
	}
	for len(small) > 0 {
		n, size := 0, int64(0)
		for n < len(small) && (n == 0 || size+small[n].Length() <= target) {
			size += small[n].Length()
			n++
		}
		part := small[:n]
		small = small[n:]
		m, err := d.write(meta, d.schema, d.spec, ice.ManifestContentData, func(w *ice.ManifestWriter) error {
			for _, one := range part {
				if err := ctx.Err(); err != nil {
					return err
				}
				for e, err := range one.Entries(fileIO{}, true) {
					if err != nil {
						return err
					}
					if err := w.Existing(e); err != nil {
						return err
					}
				}
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
		keep = append(keep, m)
	}
	return keep, nil
}
