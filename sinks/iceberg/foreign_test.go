package iceberg_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pipe/internal/diag"
	"pipe/sinks"
)

// A database that an engine made before there were views has no column for the type of a row.
func TestCatalogWithoutViews(t *testing.T) {
	l := newLake(t)
	if err := os.Mkdir(filepath.Join(l.root, ".pipe"), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, q := range []string{
		`CREATE TABLE iceberg_tables (catalog_name VARCHAR(255) NOT NULL, table_namespace VARCHAR(255) NOT NULL, table_name VARCHAR(255) NOT NULL,
			metadata_location VARCHAR(1000), previous_metadata_location VARCHAR(1000), PRIMARY KEY (catalog_name, table_namespace, table_name))`,
		`CREATE TABLE iceberg_namespace_properties (catalog_name VARCHAR(255) NOT NULL, namespace VARCHAR(255) NOT NULL, property_key VARCHAR(255) NOT NULL,
			property_value VARCHAR(1000) NOT NULL, PRIMARY KEY (catalog_name, namespace, property_key))`,
	} {
		if _, err := l.db(t).Exec(q); err != nil {
			t.Fatal(err)
		}
	}
	c := l.open(t)
	if tab := look(t, c, "prod.people"); tab != nil {
		t.Errorf("%+v", tab)
	}
	one := stage(t, c, people(t), sinks.Base{Run: "r1"}, row(1))
	publish(t, c, sinks.Move{Table: "prod.people", To: one.ID})
	wantRows(t, scan(t, l.open(t), "prod.people", look(t, c, "prod.people").Head(sinks.Main)), row(1))
}

func TestViewsAreNoTables(t *testing.T) {
	l := newLake(t)
	c := l.open(t)
	stage(t, c, people(t), sinks.Base{Run: "r1"}, row(1))
	const view = `INSERT INTO iceberg_tables (catalog_name, table_namespace, table_name, iceberg_type, metadata_location) VALUES ('lake', 'prod', 'v', 'VIEW', 'file:///nowhere')`
	if _, err := l.db(t).Exec(view); err != nil {
		t.Fatal(err)
	}
	got, err := c.Observe(t.Context(), []string{"prod.people", "prod.v"})
	if err != nil || got["prod.people"] == nil || got["prod.v"] != nil {
		t.Errorf("%v, %v; want the table alone", got, err)
	}
}

// The library takes a codec that it does not know for none, and says so to nobody.
func TestPropertiesThatWouldBeIgnored(t *testing.T) {
	l := newLake(t)
	c := l.open(t)
	spec := people(t)
	spec.Properties = map[string]string{"write.parquet.compression-codec": "zst", "write.parquet.row-group-limit": "many", "write.format.default": "orc"}
	_, err := c.Begin(t.Context(), spec, sinks.Base{Run: "r1"})
	if n := len(diag.All(err)); n != 3 || diag.ExitOf(err) != diag.Usage {
		t.Fatalf("%d errors with status %d, want 3 with %d: %v", n, diag.ExitOf(err), diag.Usage, err)
	}
	for _, w := range []string{`"zst"`, "zstd, snappy", `"many"`, `"orc"`, "prod.people"} {
		if !strings.Contains(err.Error(), w) {
			t.Errorf("%v does not say %s", err, w)
		}
	}
	if left := files(t, l.root, ""); len(left) > 0 {
		t.Errorf("%v were made", left)
	}
}

// A table of format version 3 counts its rows: appends go on where the last one ended.
func TestFormatVersion3(t *testing.T) {
	l := newLake(t)
	c := l.open(t)
	spec := people(t)
	spec.Properties = map[string]string{"format-version": "3"}
	one := stage(t, c, spec, sinks.Base{Run: "r1"}, row(1), row(2))
	two := stage(t, c, spec, sinks.Base{Parent: one.ID, Append: true, Run: "r1"}, row(3))
	publish(t, c, sinks.Move{Table: "prod.people", To: two.ID})
	wantRows(t, scan(t, c, "prod.people", two.ID), row(1), row(2), row(3))
	m := l.metadata(t, "prod.people")
	last := m["snapshots"].([]any)[1].(map[string]any)
	if m["format-version"] != 3.0 || m["next-row-id"] != 3.0 || last["first-row-id"] != 2.0 || last["added-rows"] != 1.0 {
		t.Errorf("version %v, next row %v, first row of the append %v of %v", m["format-version"], m["next-row-id"], last["first-row-id"], last["added-rows"])
	}
	three := stage(t, c, spec, sinks.Base{Parent: two.ID, Run: "r1"}, row(4))
	wantRows(t, scan(t, c, "prod.people", three.ID), row(4))
}
