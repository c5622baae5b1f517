package iceberg

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	ice "github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/table"

	"pipe/internal/diag"
	"pipe/pipeline/schema"
	"pipe/sinks"
)

// target is the table's metadata as a write onto base needs it: the schema and layout of the rows are current. It lives in memory; what
// of it is committed, Stage decides.
func (c *Catalog) target(now *table.Table, spec sinks.Spec, base sinks.Base) (*table.Table, error) {
	_, parent := find(now, base.Parent)
	if base.Parent != "" && parent == nil {
		return nil, fmt.Errorf("%s at %s: %w", spec.Table, base.Parent, sinks.ErrExpired)
	}
	if now == nil {
		meta, err := c.create(spec)
		if err != nil {
			return nil, err
		}
		return c.table(spec.Table, meta, ""), nil
	}
	meta := now.Metadata()
	b, err := table.MetadataBuilderFromBase(meta, now.MetadataLocation())
	if err != nil {
		return nil, err
	}
	old := meta.CurrentSchema()
	if parent != nil {
		old = schemaOf(now, parent)
	}
	want := old
	if parent == nil || !base.Append {
		want = wanted(meta, old, spec)
	}
	if err := b.AddSchema(want); err != nil {
		return nil, err
	}
	if err := b.SetCurrentSchemaID(-1); err != nil {
		return nil, err
	}
	current := b.CurrentSchema()
	first := 1000
	if last := meta.LastPartitionSpecID(); last != nil {
		first = *last + 1
	}
	parts, err := reusedPartitions(meta, current, spec.PartitionBy, first)
	if err != nil {
		return nil, err
	}
	if err := b.AddPartitionSpec(&parts, false); err != nil {
		return nil, err
	}
	if err := b.SetDefaultSpecID(-1); err != nil {
		return nil, err
	}
	order, err := sortOrder(current, spec.SortBy)
	if err != nil {
		return nil, err
	}
	if err := b.AddSortOrder(&order); err != nil {
		return nil, err
	}
	if err := b.SetDefaultSortOrderID(-1); err != nil {
		return nil, err
	}
	meta, err = b.Build()
	if err != nil {
		return nil, err
	}
	return c.table(spec.Table, meta, now.MetadataLocation()), nil
}

// wanted gives the schema that a replace has: one that the table had before if it is the same, else a new one, of which the columns
// keep the ids that they have in old.
func wanted(meta table.Metadata, old *ice.Schema, spec sinks.Spec) *ice.Schema {
	fields := &ids{next: meta.LastColumnID()}
	fresh := withKey(ice.NewSchema(0, fields.columns(spec.Schema.Fields, old.Fields())...), spec.Key)
	if fresh.Equals(old) {
		return old
	}
	key := keyNames(fresh)
	for _, s := range slices.Backward(meta.Schemas()) {
		if fromSchema(s).Equal(spec.Schema) && slices.Equal(keyNames(s), key) {
			return s
		}
	}
	return fresh
}

func keyNames(s *ice.Schema) []string {
	var out []string
	for _, id := range s.IdentifierFieldIDs {
		if f, ok := s.FindFieldByID(id); ok {
			out = append(out, f.Name)
		}
	}
	slices.Sort(out)
	return out
}

func withKey(s *ice.Schema, key []string) *ice.Schema {
	if len(key) == 0 {
		return s
	}
	var fields []int
	for _, k := range key {
		if f, ok := s.FindFieldByName(k); ok && f.Required {
			fields = append(fields, f.ID)
		}
	}
	return ice.NewSchemaWithIdentifiers(s.ID, fields, s.Fields()...)
}

// reusedPartitions gives the spec of the table that divides by the same fields, so that equal declarations make one spec.
func reusedPartitions(meta table.Metadata, s *ice.Schema, by []schema.Transform, first int) (ice.PartitionSpec, error) {
	want, err := partitions(s, by, first)
	if err != nil {
		return want, err
	}
	for _, have := range meta.PartitionSpecs() {
		if have.CompatibleWith(&want) {
			return have, nil
		}
	}
	return want, nil
}

// create is the metadata of a table that does not exist yet.
func (c *Catalog) create(spec sinks.Spec) (table.Metadata, error) {
	fields := &ids{}
	s := withKey(ice.NewSchema(0, fields.columns(spec.Schema.Fields, nil)...), spec.Key)
	parts, err := partitions(s, spec.PartitionBy, 1000)
	if err != nil {
		return nil, err
	}
	order, err := sortOrder(s, spec.SortBy)
	if err != nil {
		return nil, err
	}
	props := ice.Properties{
		table.PropertyFormatVersion:               "2",
		"commit.retry.num-retries":                "20",
		"commit.retry.min-wait-ms":                "10",
		"commit.retry.max-wait-ms":                "1000",
		"commit.manifest-merge.enabled":           "true",
		"commit.manifest.min-count-to-merge":      "50",
		table.MetadataDeleteAfterCommitEnabledKey: "true",
		table.MetadataPreviousVersionsMaxKey:      "10",
		"write.parquet.compression-codec":         "zstd",
		"write.parquet.compression-level":         "1",
	}
	for k, v := range spec.Properties {
		props[k] = v
	}
	if err := checkProperties(spec.Table, props); err != nil {
		return nil, err
	}
	if spec.Project != "" {
		props[projectProperty] = spec.Project
	}
	ns, tbl := split(spec.Table)
	return table.NewMetadata(s, &parts, order, fileScheme+c.warehouse+"/"+ns+"/"+tbl, props)
}

// choices are the properties of which the library takes any value, and goes on with another one if it does not know it.
var choices = map[string][]string{
	"write.parquet.compression-codec": {"zstd", "snappy", "gzip", "lz4raw", "brotli", "uncompressed"},
	"write.parquet.page-version":      {"1", "2"},
	"write.format.default":            {"parquet"},
	table.PropertyFormatVersion:       {"2", "3"},
}

// numbers are the properties that must be numbers greater than zero.
var numbers = []string{
	table.ParquetRowGroupLimitKey, "write.parquet.row-group-size-bytes", table.ParquetPageSizeBytesKey, "write.parquet.page-row-limit",
	"write.parquet.dict-size-bytes", table.WriteTargetFileSizeBytesKey, table.ManifestMinMergeCountKey, table.ManifestTargetSizeBytesKey,
	table.MetadataPreviousVersionsMaxKey,
}

// checkProperties refuses values that would be ignored.
func checkProperties(name string, props ice.Properties) error {
	var bad diag.List
	for _, key := range slices.Sorted(maps.Keys(choices)) {
		v, ok := props[key]
		if known := choices[key]; ok && !slices.Contains(known, v) {
			e := diag.Errorf(diag.Pos{}, "table %s: property %s is %q, expected one of %s", name, key, v, strings.Join(known, ", "))
			if near := diag.Closest(v, known); near != "" {
				e = e.With("did you mean %s", near)
			}
			bad = append(bad, e)
		}
	}
	for _, key := range numbers {
		v, ok := props[key]
		if n, err := strconv.ParseInt(v, 10, 64); ok && (err != nil || n <= 0) {
			bad = append(bad, diag.Errorf(diag.Pos{}, "table %s: property %s is %q, expected a number above zero", name, key, v))
		}
	}
	return bad.Err()
}
