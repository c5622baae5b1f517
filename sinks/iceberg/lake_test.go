package iceberg_test

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	ice "github.com/apache/iceberg-go"
	icesql "github.com/apache/iceberg-go/catalog/sql"
	"github.com/apache/iceberg-go/table"

	"pipe/pipeline/fingerprint"
	"pipe/pipeline/schema"
	"pipe/sinks"
	"pipe/sinks/iceberg"
)

// lake is a project's folder with the default sink in it, as pipe lays it out.
type lake struct{ root string }

func newLake(t *testing.T) lake {
	t.Helper()
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return lake{root: root}
}

func (l lake) options() iceberg.Options {
	return iceberg.Options{
		Name: "lake", URI: "sqlite:" + filepath.Join(l.root, ".pipe", "catalog.db"), Warehouse: l.warehouse(), Root: l.root,
		CacheDir: filepath.Join(l.root, ".pipe", "cache"),
	}
}

func (l lake) warehouse() string { return filepath.Join(l.root, ".pipe", "warehouse") }

func (l lake) open(t testing.TB) *iceberg.Catalog {
	t.Helper()
	c, err := iceberg.Open(t.Context(), l.options())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	})
	return c
}

// db opens the catalog's database, as an operator with the sqlite3 command would.
func (l lake) db(t testing.TB) *sql.DB {
	t.Helper()
	db, err := sql.Open("sqlite", "file:"+filepath.Join(l.root, ".pipe", "catalog.db")+"?_pragma=busy_timeout(10000)")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	return db
}

// foreign opens a table as another engine does: with the library alone, nothing of pipe.
func (l lake) foreign(t testing.TB, name string) *table.Table {
	t.Helper()
	cat, err := icesql.NewCatalog("lake", l.db(t), icesql.SQLite, ice.Properties{"warehouse": "file://" + l.warehouse()})
	if err != nil {
		t.Fatal(err)
	}
	tbl, err := cat.LoadTable(t.Context(), strings.Split(name, "."))
	if err != nil {
		t.Fatal(err)
	}
	return tbl
}

// metadata reads the metadata.json that the catalog's pointer names, without any library.
func (l lake) metadata(t testing.TB, name string) map[string]any {
	t.Helper()
	i := strings.LastIndexByte(name, '.')
	var loc string
	if err := l.db(t).QueryRow(`SELECT metadata_location FROM iceberg_tables WHERE table_namespace=? AND table_name=?`, name[:i], name[i+1:]).Scan(&loc); err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(strings.TrimPrefix(loc, "file://"))
	if err != nil {
		t.Fatal(err)
	}
	var m map[string]any
	if err := json.Unmarshal(b, &m); err != nil {
		t.Fatal(err)
	}
	return m
}

// dataFiles reads the newest snapshot's manifests, taking every location as it stands, and gives the data files that they name.
func dataFiles(t testing.TB, metadata map[string]any) []string {
	t.Helper()
	open := func(location string) *os.File {
		f, err := os.Open(strings.TrimPrefix(location, "file://"))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = f.Close() })
		return f
	}
	snapshots := metadata["snapshots"].([]any)
	newest := snapshots[len(snapshots)-1].(map[string]any)
	manifests, err := ice.ReadManifestList(open(newest["manifest-list"].(string)))
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, m := range manifests {
		entries, err := ice.ReadManifest(m, open(m.FilePath()), true)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range entries {
			out = append(out, e.DataFile().FilePath())
		}
	}
	return out
}

// files lists what lies under a folder, relative to it.
func files(t testing.TB, dir, suffix string) []string {
	t.Helper()
	var out []string
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if os.IsNotExist(err) {
			return nil
		}
		if err == nil && !d.IsDir() && strings.HasSuffix(path, suffix) {
			rel, _ := filepath.Rel(dir, path)
			out = append(out, rel)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func columns(t testing.TB, decls ...string) schema.Schema {
	t.Helper()
	var s schema.Schema
	for _, d := range decls {
		name, decl, _ := strings.Cut(d, ": ")
		f, err := schema.ParseField(decl)
		if err != nil {
			t.Fatal(err)
		}
		f.Name = name
		s.Fields = append(s.Fields, f)
	}
	return s
}

func transforms(t testing.TB, texts ...string) []schema.Transform {
	t.Helper()
	var out []schema.Transform
	for _, x := range texts {
		tr, err := schema.ParseTransform(x)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, tr)
	}
	return out
}

func rows(t testing.TB, s *arrow.Schema, lines ...string) arrow.RecordBatch {
	t.Helper()
	b, _, err := array.RecordFromJSON(memory.DefaultAllocator, s, strings.NewReader("["+strings.Join(lines, ",")+"]"))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func stamp(run string) sinks.Stamp {
	return sinks.Stamp{Stage: "s", Fingerprint: "1:aa", Digest: "1:bb", Sum: "cc", Run: run, ParentDigest: fingerprint.None, Revision: "none", Version: "test"}
}

// write stages rows and tells what went wrong; the files of a write that failed are removed.
func write(t testing.TB, c sinks.Catalog, spec sinks.Spec, base sinks.Base, lines ...string) (sinks.Snapshot, error) {
	t.Helper()
	tx, err := c.Begin(t.Context(), spec, base)
	if err != nil {
		return sinks.Snapshot{}, err
	}
	if len(lines) > 0 {
		b := rows(t, tx.Schema(), lines...)
		defer b.Release()
		if err := tx.Write(t.Context(), b); err != nil {
			_ = tx.Abort(context.WithoutCancel(t.Context()))
			return sinks.Snapshot{}, err
		}
	}
	s, err := tx.Stage(t.Context(), stamp(base.Run))
	if err != nil {
		_ = tx.Abort(context.WithoutCancel(t.Context()))
	}
	return s, err
}

func stage(t testing.TB, c sinks.Catalog, spec sinks.Spec, base sinks.Base, lines ...string) sinks.Snapshot {
	t.Helper()
	s, err := write(t, c, spec, base, lines...)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func publish(t testing.TB, c sinks.Catalog, moves ...sinks.Move) {
	t.Helper()
	if err := c.Publish(t.Context(), sinks.Publication{Ref: sinks.Main, Moves: moves}); err != nil {
		t.Fatal(err)
	}
}

func look(t testing.TB, c sinks.Catalog, name string) *sinks.Table {
	t.Helper()
	got, err := c.Observe(t.Context(), []string{name})
	if err != nil {
		t.Fatal(err)
	}
	return got[name]
}

// scan gives the rows of a snapshot as sorted JSON lines.
func scan(t testing.TB, c sinks.Catalog, name string, id sinks.SnapshotID) []string {
	t.Helper()
	_, seq, err := c.Scan(t.Context(), sinks.Target{Table: name, Snapshot: id}, sinks.ScanOptions{})
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for b, err := range seq {
		if err != nil {
			t.Fatal(err)
		}
		var text strings.Builder
		if err := array.RecordToJSON(b, &text); err != nil {
			t.Fatal(err)
		}
		b.Release()
		out = append(out, strings.Split(strings.TrimSpace(text.String()), "\n")...)
	}
	out = slices.DeleteFunc(out, func(s string) bool { return s == "" })
	slices.Sort(out)
	return out
}

func wantRows(t testing.TB, got []string, want ...string) {
	t.Helper()
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("rows %v, want %v", got, want)
	}
}

func row(id int) string { return fmt.Sprintf(`{"id":%d,"name":"n%d"}`, id, id) }

func people(t testing.TB) sinks.Spec {
	t.Helper()
	return sinks.Spec{Table: "prod.people", Schema: columns(t, "id: long required", "name: string"), Project: "p1"}
}

type arrowBatch = arrow.RecordBatch

func (l lake) openErr(t testing.TB) (*iceberg.Catalog, error) {
	return iceberg.Open(t.Context(), l.options())
}
