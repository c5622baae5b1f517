package iceberg_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"

	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/apache/arrow-go/v18/parquet/file"
	"github.com/apache/arrow-go/v18/parquet/pqarrow"
	iceio "github.com/apache/iceberg-go/io"
	"github.com/apache/iceberg-go/table"

	"pipe/pipeline/schema"
	"pipe/sinks"
)

// The partition values are those of the format's own text: appendix B gives the hashes of 34 and "iceberg", the dates are counted by
// hand from 1970.
func TestPartitionValues(t *testing.T) {
	const line = `{"id":34,"n":-1,"s":"iceberg","d":"2017-11-16","ts":"2017-11-16 22:31:08","tz":"2017-11-16T22:31:08Z","b":true}`
	decls := []string{"id: long", "n: int", "s: string", "d: date", "ts: timestamp", "tz: timestamptz", "b: boolean"}
	for _, c := range []struct{ by, want string }{
		{"id", "34"},
		{"s", "iceberg"},
		{"b", "true"},
		{"d", "2017-11-16"},
		{"bucket(16, id)", "3"}, // 2017239379 mod 16
		{"bucket(16, s)", "9"},  // 1210000089 mod 16
		{"truncate(10, n)", "-10"},
		{"truncate(3, s)", "ice"},
		{"year(d)", "47"},
		{"month(d)", "574"},
		{"day(d)", "2017-11-16"},
		{"year(ts)", "47"},
		{"month(tz)", "574"},
		{"day(ts)", "2017-11-16"},
		{"hour(ts)", "419686"}, // 17486 days of 24, and 22
		{"hour(tz)", "419686"},
	} {
		t.Run(c.by, func(t *testing.T) {
			l := newLake(t)
			cat := l.open(t)
			spec := sinks.Spec{Table: "prod.t", Schema: columns(t, decls...), PartitionBy: transforms(t, c.by)}
			none := `{"id":null,"n":null,"s":null,"d":null,"ts":null,"tz":null,"b":null}`
			one := stage(t, cat, spec, sinks.Base{Run: "r1"}, line, none)
			publish(t, cat, sinks.Move{Table: "prod.t", To: one.ID})
			got := map[string]bool{}
			for _, task := range tasks(t, l, "prod.t") {
				for _, v := range task.File.Partition() {
					got[fmt.Sprint(v)] = true
				}
			}
			if len(got) != 2 || !got["<nil>"] {
				t.Fatalf("partition values %v, want NULL and %s", got, c.want)
			}
			if !got[c.want] && !(c.want == "2017-11-16" && got["17486"]) {
				t.Errorf("partition values %v, want %s", got, c.want)
			}
			if n := len(scan(t, cat, "prod.t", one.ID)); n != 2 {
				t.Errorf("%d rows, want 2", n)
			}
		})
	}
}

func tasks(t *testing.T, l lake, name string) []table.FileScanTask {
	t.Helper()
	out, err := l.foreign(t, name).Scan().PlanFiles(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// Each row group is sorted as one, over all the batches that it was made of.
func TestRowGroupsAreSorted(t *testing.T) {
	l := newLake(t)
	c := l.open(t)
	spec := sinks.Spec{Table: "prod.t", Schema: columns(t, "id: long", "s: string"), SortBy: []schema.SortField{{Column: "id", Descending: true, NullsLast: true}}}
	spec.Properties = map[string]string{"write.parquet.row-group-limit": "5000"}
	tx, err := c.Begin(t.Context(), spec, sinks.Base{Run: "r1"})
	if err != nil {
		t.Fatal(err)
	}
	r := rand.New(rand.NewPCG(1, 2))
	for range 20 {
		b := array.NewRecordBuilder(memory.DefaultAllocator, tx.Schema())
		for i := range 700 {
			id := r.Int64N(1e6)
			b.Field(0).(*array.Int64Builder).Append(id)
			b.Field(1).(*array.StringBuilder).Append(strconv.FormatInt(id, 10))
			if i == 0 {
				b.Field(0).AppendNull()
				b.Field(1).AppendNull()
			}
		}
		if err := tx.Write(t.Context(), b.NewRecordBatch()); err != nil {
			t.Fatal(err)
		}
	}
	s, err := tx.Stage(t.Context(), stamp("r1"))
	if err != nil {
		t.Fatal(err)
	}
	paths, _, err := c.Files(t.Context(), sinks.Target{Table: "prod.t", Snapshot: s.ID})
	if err != nil || len(paths) != 1 {
		t.Fatalf("%v, %v; want one file", paths, err)
	}
	pf, err := file.OpenParquetFile(paths[0], false)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = pf.Close() }()
	if pf.NumRowGroups() != 3 {
		t.Errorf("%d row groups of 14,020 rows, want 3", pf.NumRowGroups())
	}
	fr, err := pqarrow.NewFileReader(pf, pqarrow.ArrowReadProperties{}, memory.DefaultAllocator)
	if err != nil {
		t.Fatal(err)
	}
	for g := range pf.NumRowGroups() {
		tab, err := fr.ReadRowGroups(t.Context(), []int{0, 1}, []int{g})
		if err != nil {
			t.Fatal(err)
		}
		ids := tab.Column(0).Data().Chunk(0).(*array.Int64)
		names := tab.Column(1).Data().Chunk(0).(*array.String)
		for i := range ids.Len() {
			if ids.IsValid(i) && names.Value(i) != strconv.FormatInt(ids.Value(i), 10) {
				t.Fatalf("row %d: %d stands beside %q", i, ids.Value(i), names.Value(i))
			}
			if i > 0 && (ids.IsNull(i-1) && ids.IsValid(i) || ids.IsValid(i) && ids.Value(i) > ids.Value(i-1)) {
				t.Fatalf("row group %d: row %d is out of order", g, i)
			}
		}
		tab.Release()
	}
}

// A table that is appended to again and again does not collect manifests without end, and loses no row over it.
func TestManyAppendsMergeTheirManifests(t *testing.T) {
	l := newLake(t)
	c := l.open(t)
	spec := people(t)
	spec.Properties = map[string]string{"commit.manifest.min-count-to-merge": "5"}
	var base sinks.SnapshotID
	var want []string
	for i := range 23 {
		s := stage(t, c, spec, sinks.Base{Parent: base, Append: true, Run: "r1"}, row(i))
		base = s.ID
		want = append(want, row(i))
		if s.Rows != int64(i+1) {
			t.Fatalf("%d rows after %d appends of one", s.Rows, i+1)
		}
	}
	publish(t, c, sinks.Move{Table: "prod.people", To: base})
	wantRows(t, scan(t, c, "prod.people", base), want...)
	ms, err := l.foreign(t, "prod.people").CurrentSnapshot().Manifests(iceio.LocalFS{})
	if err != nil {
		t.Fatal(err)
	}
	if len(ms) > 6 {
		t.Errorf("%d manifests after 23 appends, want at most 6", len(ms))
	}
	if n := len(tasks(t, l, "prod.people")); n != 23 {
		t.Errorf("another engine sees %d files, want 23", n)
	}
}

func TestSummariesAddUp(t *testing.T) {
	l := newLake(t)
	c := l.open(t)
	one := stage(t, c, people(t), sinks.Base{Run: "r1"}, row(1), row(2))
	two := stage(t, c, people(t), sinks.Base{Parent: one.ID, Append: true, Run: "r1"}, row(3))
	three := stage(t, c, people(t), sinks.Base{Parent: two.ID, Run: "r1"}, row(4))
	four := stage(t, c, people(t), sinks.Base{Parent: three.ID, Run: "r1"})
	want := map[sinks.SnapshotID]map[string]string{
		one.ID:   {"operation": "append", "added-records": "2", "total-records": "2", "total-data-files": "1"},
		two.ID:   {"operation": "append", "added-records": "1", "total-records": "3", "total-data-files": "2"},
		three.ID: {"operation": "overwrite", "added-records": "1", "deleted-records": "3", "deleted-data-files": "2", "total-records": "1", "total-data-files": "1"},
		four.ID:  {"operation": "overwrite", "deleted-records": "1", "total-records": "0", "total-data-files": "0", "total-files-size": "0"},
	}
	sizes := map[string]string{}
	for _, s := range l.metadata(t, "prod.people")["snapshots"].([]any) {
		m := s.(map[string]any)
		summary := m["summary"].(map[string]any)
		id := sinks.SnapshotID(strconv.FormatInt(l.foreign(t, "prod.people").Metadata().Snapshots()[len(sizes)].SnapshotID, 10))
		sizes[string(id)] = fmt.Sprint(summary["total-files-size"])
		for k, v := range want[id] {
			if summary[k] != v {
				t.Errorf("snapshot %s: %s is %v, want %s", id, k, summary[k], v)
			}
		}
	}
	if len(sizes) != 4 {
		t.Errorf("%d snapshots, want 4", len(sizes))
	}
}

// A replace may divide the table in another way, by columns that the old rows did not have, and go back again.
func TestReplaceChangesTheLayout(t *testing.T) {
	l := newLake(t)
	c := l.open(t)
	byDay := sinks.Spec{Table: "prod.t", Schema: columns(t, "id: long", "at: timestamp"), PartitionBy: transforms(t, "day(at)")}
	byName := sinks.Spec{Table: "prod.t", Schema: columns(t, "id: long", "name: string"), PartitionBy: transforms(t, "name"), SortBy: []schema.SortField{{Column: "id"}}}
	oldRows := []string{`{"at":"2020-01-01T00:00:00","id":1}`, `{"at":"2020-01-02T00:00:00","id":2}`}
	newRows := []string{`{"id":1,"name":"a"}`, `{"id":2,"name":"b"}`, `{"id":3,"name":"b"}`}
	one := stage(t, c, byDay, sinks.Base{Run: "r1"}, oldRows...)
	publish(t, c, sinks.Move{Table: "prod.t", To: one.ID})
	two := stage(t, c, byName, sinks.Base{Parent: one.ID, Run: "r2"}, newRows...)
	m := l.metadata(t, "prod.t")
	wantRows(t, scan(t, c, "prod.t", one.ID), oldRows...)
	publish(t, c, sinks.Move{Table: "prod.t", From: one.ID, To: two.ID})
	after := l.metadata(t, "prod.t")
	if m["default-spec-id"] == after["default-spec-id"] || m["default-sort-order-id"] == after["default-sort-order-id"] {
		t.Errorf("the default layout did not move with the head: %v, %v", after["default-spec-id"], after["default-sort-order-id"])
	}
	if n := len(tasks(t, l, "prod.t")); n != 2 {
		t.Errorf("another engine sees %d files, want 2", n)
	}
	wantRows(t, scan(t, c, "prod.t", two.ID), newRows...)
	wantRows(t, scan(t, c, "prod.t", one.ID), oldRows...)
	three := stage(t, c, byDay, sinks.Base{Parent: two.ID, Run: "r3"}, oldRows[0])
	publish(t, c, sinks.Move{Table: "prod.t", From: two.ID, To: three.ID})
	publish(t, c, sinks.Move{Table: "prod.t", From: three.ID, To: one.ID}) // and back by a ref alone
	end := l.metadata(t, "prod.t")
	if end["default-spec-id"] != m["default-spec-id"] || end["default-sort-order-id"] != m["default-sort-order-id"] || end["current-schema-id"] != m["current-schema-id"] {
		t.Errorf("the layout did not go back with the head: %v, %v, schema %v", end["default-spec-id"], end["default-sort-order-id"], end["current-schema-id"])
	}
	if specs, schemas, orders := len(end["partition-specs"].([]any)), len(end["schemas"].([]any)), len(end["sort-orders"].([]any)); specs > 2 || schemas > 2 || orders > 2 {
		t.Errorf("%d partition specs, %d schemas, %d sort orders for two layouts", specs, schemas, orders)
	}
	var got []string
	for _, task := range tasks(t, l, "prod.t") {
		got = append(got, task.File.FilePath())
	}
	slices.Sort(got)
	if len(slices.Compact(got)) != 2 {
		t.Errorf("another engine sees %v, want the two files of the first snapshot", got)
	}
}
