package iceberg_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/apache/arrow-go/v18/parquet/pqarrow"
	ice "github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/table"

	"pipe/pipeline/schema"
	"pipe/sinks"
)

// Another reader skips files by their partition values and bounds. It must find every row all the same, and it must skip.
func TestOthersPruneRightly(t *testing.T) {
	var lines []string
	for i := range 48 { // two days, an hour apart
		lines = append(lines, fmt.Sprintf(`{"at":"2025-01-%02dT%02d:30:00","id":%d,"k":"%c"}`, 1+i/24, i%24, i, 'a'+i%5))
	}
	newYear := ice.Timestamp(1735776000_000000) // 2025-01-02 00:00:00
	filters := map[string]struct {
		expr ice.BooleanExpression
		want func(i int) bool
	}{
		"second day": {ice.GreaterThanEqual(ice.Reference("at"), newYear), func(i int) bool { return i >= 24 }},
		"one id":     {ice.EqualTo(ice.Reference("id"), int64(17)), func(i int) bool { return i == 17 }},
		"one word":   {ice.EqualTo(ice.Reference("k"), "c"), func(i int) bool { return i%5 == 2 }},
	}
	for by, prunes := range map[string]string{
		"": "", "k": "one word", "bucket(8, id)": "one id", "truncate(10, id)": "one id", "day(at)": "second day", "hour(at)": "second day",
		"bucket(3, k)": "one word", "truncate(1, k)": "one word",
	} {
		t.Run("by "+by, func(t *testing.T) {
			l := newLake(t)
			c := l.open(t)
			spec := sinks.Spec{Table: "prod.t", Schema: columns(t, "id: long", "at: timestamp", "k: string")}
			if by != "" {
				spec.PartitionBy = transforms(t, by)
			}
			s := stage(t, c, spec, sinks.Base{Run: "r1"}, lines...)
			publish(t, c, sinks.Move{Table: "prod.t", To: s.ID})
			tbl := l.foreign(t, "prod.t")
			all, err := tbl.Scan().PlanFiles(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			for name, f := range filters {
				sc := tbl.Scan(table.WithRowFilter(f.expr))
				got, err := sc.ToArrowTable(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				want := int64(0)
				for i := range lines {
					if f.want(i) {
						want++
					}
				}
				if got.NumRows() != want {
					t.Errorf("%s: %d rows, want %d", name, got.NumRows(), want)
				}
				got.Release()
				tasks, err := sc.PlanFiles(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				if name == prunes && len(tasks) >= len(all) {
					t.Errorf("%s: all %d files are read", name, len(all))
				}
			}
		})
	}
}

// sort_by holds within a batch of rows as they are written: a file of one batch is sorted throughout.
func TestRowsAreSorted(t *testing.T) {
	l := newLake(t)
	c := l.open(t)
	spec := sinks.Spec{Table: "prod.t", Schema: columns(t, "id: long", "k: string"), SortBy: []schema.SortField{{Column: "k", Descending: true, NullsLast: true}, {Column: "id"}}}
	r := rand.New(rand.NewPCG(3, 4))
	var lines []string
	for range 500 {
		k := fmt.Sprintf(`"%c"`, 'a'+r.IntN(4))
		if r.IntN(10) == 0 {
			k = "null"
		}
		lines = append(lines, fmt.Sprintf(`{"id":%d,"k":%s}`, r.IntN(1000), k))
	}
	s := stage(t, c, spec, sinks.Base{Run: "r1"}, lines...)
	paths, _, err := c.Files(t.Context(), sinks.Target{Table: "prod.t", Snapshot: s.ID})
	if err != nil || len(paths) != 1 {
		t.Fatalf("%v, %v; want one file", paths, err)
	}
	f, err := os.Open(paths[0])
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	tbl, err := pqarrow.ReadTable(t.Context(), f, nil, pqarrow.ArrowReadProperties{}, memory.DefaultAllocator)
	if err != nil {
		t.Fatal(err)
	}
	defer tbl.Release()
	type key struct {
		null bool
		k    string
		id   int64
	}
	var got []key
	tr := array.NewTableReader(tbl, 0)
	defer tr.Release()
	for tr.Next() {
		b := tr.RecordBatch()
		ids, ks := b.Column(0).(*array.Int64), b.Column(1).(*array.String)
		for i := range int(b.NumRows()) {
			x := key{null: ks.IsNull(i), id: ids.Value(i)}
			if !x.null {
				x.k = ks.Value(i)
			}
			got = append(got, x)
		}
	}
	if len(got) != len(lines) {
		t.Fatalf("%d rows, want %d", len(got), len(lines))
	}
	if !slices.IsSortedFunc(got, func(a, b key) int {
		switch {
		case a.null != b.null:
			return map[bool]int{true: 1, false: -1}[a.null]
		case a.k != b.k:
			return strings.Compare(b.k, a.k)
		}
		return int(a.id - b.id)
	}) {
		t.Errorf("rows are not in order: %v ...", got[:20])
	}
	order := l.metadata(t, "prod.t")["sort-orders"]
	if text := fmt.Sprint(order); !strings.Contains(text, "desc") || !strings.Contains(text, "nulls-last") {
		t.Errorf("the table does not tell its order: %s", text)
	}
}

// A replace may divide the rows in another way. Until it is published, and after going back, the table's own layout is the old one.
func TestLayoutFollowsTheHead(t *testing.T) {
	l := newLake(t)
	c := l.open(t)
	spec := sinks.Spec{Table: "prod.t", Schema: columns(t, "id: long", "k: string"), PartitionBy: transforms(t, "k")}
	first := stage(t, c, spec, sinks.Base{Run: "r1"}, `{"id":1,"k":"a"}`, `{"id":2,"k":"b"}`)
	publish(t, c, sinks.Move{Table: "prod.t", To: first.ID})
	layout := func() string {
		t.Helper()
		m := l.metadata(t, "prod.t")
		for _, s := range m["partition-specs"].([]any) {
			if s.(map[string]any)["spec-id"] == m["default-spec-id"] {
				return fmt.Sprint(s.(map[string]any)["fields"])
			}
		}
		return "none"
	}
	before := layout()
	if !strings.Contains(before, "identity") {
		t.Fatalf("the table is divided by %s", before)
	}
	spec.PartitionBy = transforms(t, "bucket(2, id)")
	second := stage(t, c, spec, sinks.Base{Parent: first.ID, Run: "r2"}, `{"id":3,"k":"a"}`, `{"id":4,"k":"b"}`)
	if now := layout(); now != before {
		t.Errorf("a staged layout is the table's own: %s", now)
	}
	wantRows(t, scan(t, c, "prod.t", first.ID), `{"id":1,"k":"a"}`, `{"id":2,"k":"b"}`)
	wantRows(t, scan(t, c, "prod.t", second.ID), `{"id":3,"k":"a"}`, `{"id":4,"k":"b"}`)
	publish(t, c, sinks.Move{Table: "prod.t", From: first.ID, To: second.ID})
	if now := layout(); !strings.Contains(now, "bucket[2]") {
		t.Errorf("after the publish the table is divided by %s", now)
	}
	spec.PartitionBy = transforms(t, "k")
	more := stage(t, c, spec, sinks.Base{Parent: second.ID, Append: true, Run: "r3"}, `{"id":5,"k":"c"}`)
	wantRows(t, scan(t, c, "prod.t", more.ID), `{"id":3,"k":"a"}`, `{"id":4,"k":"b"}`, `{"id":5,"k":"c"}`)
	publish(t, c, sinks.Move{Table: "prod.t", From: second.ID, To: first.ID})
	if now := layout(); now != before {
		t.Errorf("after going back the table is divided by %s, want %s", now, before)
	}
	if n := len(l.metadata(t, "prod.t")["partition-specs"].([]any)); n != 2 {
		t.Errorf("%d partition specs, want 2: the third write is divided as the first", n)
	}
}
