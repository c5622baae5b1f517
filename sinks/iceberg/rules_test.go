package iceberg_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/parquet/file"
	ice "github.com/apache/iceberg-go"
	iceio "github.com/apache/iceberg-go/io"
	"github.com/apache/iceberg-go/table"

	"pipe/sinks"
)

// Other writers move refs and properties of a table all the time. None of that is a conflict for a stage, which owns its run's ref.
func TestStagesOfManyProcessesAllLand(t *testing.T) {
	l := newLake(t)
	base := stage(t, l.open(t), people(t), sinks.Base{Run: "r0"}, row(0))
	const processes, each = 3, 4
	errs := make([]error, processes)
	var wg sync.WaitGroup
	for p := range processes {
		c := l.open(t)
		wg.Go(func() {
			for i := range each {
				run := fmt.Sprintf("p%d-%d", p, i)
				if _, err := write(t, c, people(t), sinks.Base{Parent: base.ID, Append: true, Run: run}, row(1+p*each+i)); err != nil {
					errs[p] = errors.Join(errs[p], err)
				}
			}
		})
	}
	wg.Wait()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
	c := l.open(t)
	tab := look(t, c, "prod.people")
	if n := len(tab.Snapshots); n != 1+processes*each {
		t.Errorf("%d snapshots, want %d", n, 1+processes*each)
	}
	for p := range processes {
		for i := range each {
			id := tab.Head(sinks.RunRef(fmt.Sprintf("p%d-%d", p, i)))
			wantRows(t, scan(t, c, "prod.people", id), row(0), row(1+p*each+i))
		}
	}
}

// A publish wins against all that does not concern its head: runs that stage, pin and release on the same table meanwhile.
func TestPublishIsNotDisturbedByOtherRuns(t *testing.T) {
	l := newLake(t)
	c := l.open(t)
	first := stage(t, c, people(t), sinks.Base{Run: "r0"}, row(0))
	publish(t, c, sinks.Move{Table: "prod.people", To: first.ID})
	ctx, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	var noise error
	other := l.open(t)
	wg.Go(func() {
		for i := 0; ctx.Err() == nil; i++ {
			run := fmt.Sprintf("noise%d", i)
			if err := other.Hold(context.WithoutCancel(ctx), run, []sinks.Target{{Table: "prod.people", Snapshot: first.ID}}); err != nil {
				noise = err
				return
			}
			if err := other.Release(context.WithoutCancel(ctx), run, []string{"prod.people"}); err != nil {
				noise = err
				return
			}
		}
	})
	head := first.ID
	for i := range 10 {
		next := stage(t, c, people(t), sinks.Base{Parent: head, Append: true, Run: fmt.Sprintf("r%d", i+1)}, row(i+1))
		publish(t, c, sinks.Move{Table: "prod.people", From: head, To: next.ID})
		head = next.ID
	}
	cancel()
	wg.Wait()
	if noise != nil {
		t.Error(noise)
	}
	if n := len(scan(t, c, "prod.people", head)); n != 11 {
		t.Errorf("%d rows, want 11", n)
	}
}

// The library writes 0 and "" for NULL in a required column and says nothing.
func TestNullInRequiredColumnIsRefused(t *testing.T) {
	l := newLake(t)
	c := l.open(t)
	loose := columns(t, "id: long", "at: struct<x: long, y: string>")
	spec := sinks.Spec{Table: "prod.t", Schema: columns(t, "id: long required", "at: struct<x: long required, y: string>")}
	for _, c2 := range []struct{ name, row, column string }{
		{"top level", `{"id":null,"at":{"x":1,"y":null}}`, `"id"`},
		{"in a struct", `{"id":1,"at":{"x":null,"y":"a"}}`, `"at.x"`},
	} {
		t.Run(c2.name, func(t *testing.T) {
			tx, err := c.Begin(t.Context(), spec, sinks.Base{Run: "r1"})
			if err != nil {
				t.Fatal(err)
			}
			b := rows(t, sinks.ArrowSchema(loose), c2.row)
			defer b.Release()
			if err := tx.Write(t.Context(), b); err == nil || !strings.Contains(err.Error(), c2.column) {
				t.Errorf("%v, want an error that names %s", err, c2.column)
			}
			if err := tx.Abort(t.Context()); err != nil {
				t.Error(err)
			}
			if left := files(t, l.warehouse(), ".parquet"); len(left) > 0 {
				t.Errorf("files %v are left", left)
			}
		})
	}
}

// Another engine deleted rows by position. They must stay deleted under an append, and a replace must leave no delete file behind
// that would hit its own rows.
func TestDeletedRowsStayDeleted(t *testing.T) {
	l := newLake(t)
	c := l.open(t)
	spec := people(t)
	spec.Properties = map[string]string{"write.delete.mode": "merge-on-read"}
	one := stage(t, c, spec, sinks.Base{Run: "r1"}, row(1), row(2), row(3))
	publish(t, c, sinks.Move{Table: "prod.people", To: one.ID})
	if _, err := l.foreign(t, "prod.people").Delete(t.Context(), ice.EqualTo(ice.Reference("id"), int64(2)), nil); err != nil {
		t.Fatal(err)
	}
	deleted := look(t, c, "prod.people").Head(sinks.Main)
	if deleted == one.ID {
		t.Fatal("the delete made no snapshot")
	}
	wantRows(t, scan(t, c, "prod.people", deleted), row(1), row(3))
	if n := look(t, c, "prod.people").Snapshot(deleted).Rows; n != -1 {
		t.Errorf("the metadata cannot tell how many rows are left, and %d are told", n)
	}
	if _, exact, err := c.Files(t.Context(), sinks.Target{Table: "prod.people", Snapshot: deleted}); err != nil || exact {
		t.Errorf("files with deletes are called exact (%v)", err)
	}
	more := stage(t, c, spec, sinks.Base{Parent: deleted, Append: true, Run: "r2"}, row(4))
	wantRows(t, scan(t, c, "prod.people", more.ID), row(1), row(3), row(4))
	fresh := stage(t, c, spec, sinks.Base{Parent: more.ID, Run: "r3"}, row(2), row(5))
	if fresh.Rows != 2 {
		t.Errorf("%d rows after a replace, want 2", fresh.Rows)
	}
	wantRows(t, scan(t, c, "prod.people", fresh.ID), row(2), row(5))
	publish(t, c, sinks.Move{Table: "prod.people", From: deleted, To: fresh.ID})
	tasks, err := l.foreign(t, "prod.people").Scan().PlanFiles(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, task := range tasks {
		if n := len(task.DeleteFiles) + len(task.EqualityDeleteFiles); n > 0 {
			t.Errorf("%d delete files apply to %s after a replace", n, task.File.FilePath())
		}
	}
	ms, err := l.foreign(t, "prod.people").CurrentSnapshot().Manifests(iceio.LocalFS{})
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range ms {
		if m.ManifestContent() == ice.ManifestContentDeletes && (m.HasAddedFiles() || m.HasExistingFiles()) {
			t.Errorf("delete files stay referenced by %s after a replace", m.FilePath())
		}
	}
}

// Refs protect snapshots from expiry by any engine; what is neither published, pinned nor held goes, and pipe says so.
func TestExpiryByAnotherEngine(t *testing.T) {
	l := newLake(t)
	c := l.open(t)
	spec := people(t)
	one := stage(t, c, spec, sinks.Base{Run: "r1"}, row(1))
	publish(t, c, sinks.Move{Table: "prod.people", To: one.ID})
	two := stage(t, c, spec, sinks.Base{Parent: one.ID, Run: "r2"}, row(2))
	publish(t, c, sinks.Move{Table: "prod.people", From: one.ID, To: two.ID})
	held := stage(t, c, spec, sinks.Base{Parent: two.ID, Append: true, Run: "r3"}, row(3))
	lost := stage(t, c, spec, sinks.Base{Parent: two.ID, Append: true, Run: "r4"}, row(4))
	for _, run := range []string{"r1", "r2", "r4"} {
		if err := c.Release(t.Context(), run, []string{"prod.people"}); err != nil {
			t.Fatal(err)
		}
	}
	tx := l.foreign(t, "prod.people").NewTransaction()
	if err := tx.ExpireSnapshots(table.WithOlderThan(0), table.WithRetainLast(1), table.WithPostCommit(false)); err != nil {
		t.Fatal(err)
	}
	if _, err := tx.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	tab := look(t, c, "prod.people")
	for name, id := range map[string]sinks.SnapshotID{"pinned": one.ID, "head": two.ID, "held": held.ID} {
		if tab.Snapshot(id) == nil {
			t.Errorf("the %s snapshot is gone", name)
		}
	}
	if tab.Snapshot(lost.ID) != nil {
		t.Fatal("the expiry took nothing")
	}
	at := sinks.Target{Table: "prod.people", Snapshot: lost.ID}
	_, _, scanErr := c.Scan(t.Context(), at, sinks.ScanOptions{})
	_, _, filesErr := c.Files(t.Context(), at)
	_, beginErr := c.Begin(t.Context(), spec, sinks.Base{Parent: lost.ID, Append: true, Run: "r5"})
	for name, err := range map[string]error{
		"scan": scanErr, "files": filesErr, "begin": beginErr,
		"hold": c.Hold(t.Context(), "r5", []sinks.Target{at}), "pin": c.Pin(t.Context(), []sinks.Target{at}),
		"publish": c.Publish(t.Context(), sinks.Publication{Ref: sinks.Main, Moves: []sinks.Move{{Table: "prod.people", From: two.ID, To: lost.ID}}}),
	} {
		if !errors.Is(err, sinks.ErrExpired) {
			t.Errorf("%s: %v, want ErrExpired", name, err)
		}
	}
}

// The project's folder and partition values hold what percent-encoding would touch. What the metadata names must be, byte for byte,
// what lies on the disk, since other engines do not decode it.
func TestPathsAreRaw(t *testing.T) {
	l := newLake(t)
	l.root = filepath.Join(l.root, "my proj+ect ünï")
	if err := os.Mkdir(l.root, 0o755); err != nil {
		t.Fatal(err)
	}
	c := l.open(t)
	spec := sinks.Spec{Table: "a.b.t", Schema: columns(t, "id: long", "k: string"), PartitionBy: transforms(t, "k")}
	lines := []string{`{"id":1,"k":"a+b/c=d"}`, `{"id":2,"k":"x y"}`, `{"id":3,"k":"ünï %41"}`, `{"id":4,"k":null}`}
	s := stage(t, c, spec, sinks.Base{Run: "r1"}, lines...)
	publish(t, c, sinks.Move{Table: "a.b.t", To: s.ID})
	wantRows(t, scan(t, c, "a.b.t", s.ID), lines...)
	paths, exact, err := c.Files(t.Context(), sinks.Target{Table: "a.b.t", Snapshot: s.ID})
	if err != nil || !exact || len(paths) != 4 {
		t.Fatalf("%v, exact %v, %v; want four files", paths, exact, err)
	}
	for _, p := range paths {
		if _, err := os.Stat(p); err != nil {
			t.Error(err)
		}
	}
	where := filepath.Join(l.warehouse(), "a.b", "t")
	if loc := l.metadata(t, "a.b.t")["location"]; loc != "file://"+where {
		t.Errorf("location %q, want %q", loc, "file://"+where)
	}
	named := dataFiles(t, l.metadata(t, "a.b.t"))
	if len(named) != 4 {
		t.Errorf("the manifests name %v, want four files", named)
	}
	for _, n := range named {
		if _, err := os.Stat(strings.TrimPrefix(n, "file://")); err != nil {
			t.Error(err)
		}
	}
	// Spark writes the same place with one slash.
	if _, err := l.db(t).Exec(`UPDATE iceberg_tables SET metadata_location = replace(metadata_location, 'file:///', 'file:/')`); err != nil {
		t.Fatal(err)
	}
	again := l.open(t)
	if h := look(t, again, "a.b.t").Head(sinks.Main); h != s.ID {
		t.Errorf("head %q under a pointer with one slash, want %q", h, s.ID)
	}
	more := stage(t, again, spec, sinks.Base{Parent: s.ID, Append: true, Run: "r2"}, `{"id":5,"k":"x y"}`)
	wantRows(t, scan(t, again, "a.b.t", more.ID), append(lines, `{"id":5,"k":"x y"}`)...)
}

func TestWarehousePathsThatOtherEnginesMisread(t *testing.T) {
	for _, bad := range []string{"50%", "a#b", "what?"} {
		t.Run(bad, func(t *testing.T) {
			l := newLake(t)
			l.root = filepath.Join(l.root, bad)
			c, err := openLake(t, l)
			if err == nil {
				_, err = write(t, c, people(t), sinks.Base{Run: "r1"}, row(1))
			}
			if err == nil || !strings.Contains(err.Error(), strings.Trim(bad, "0123456789abcdefghijklmnopqrstuvwxyz")) {
				t.Errorf("%v, want an error that shows the character", err)
			}
			if _, err := os.Stat(l.root); err == nil {
				t.Error("the folder was made all the same")
			}
		})
	}
}

func openLake(t *testing.T, l lake) (sinks.Catalog, error) {
	t.Helper()
	c, err := l.openErr(t)
	if err != nil {
		return nil, err
	}
	t.Cleanup(func() { _ = c.Close() })
	return c, nil
}

// A write that is given up removes every file that it made, those that were closed because they were full too.
func TestAbortRemovesRolledFiles(t *testing.T) {
	for _, partitioned := range []bool{false, true} {
		t.Run(fmt.Sprintf("partitioned=%v", partitioned), func(t *testing.T) {
			l := newLake(t)
			c := l.open(t)
			keep := stage(t, c, people(t), sinks.Base{Run: "r0"}, row(0))
			before := files(t, l.warehouse(), ".parquet")
			spec := people(t)
			// a row group of 1000 rows, and a file of not more than one of them
			spec.Properties = map[string]string{"write.target-file-size-bytes": "1", "write.parquet.row-group-limit": "1000"}
			spec.Table = "prod.other"
			if partitioned {
				spec.PartitionBy = transforms(t, "bucket(4, id)")
			}
			tx, err := c.Begin(t.Context(), spec, sinks.Base{Run: "r1"})
			if err != nil {
				t.Fatal(err)
			}
			var lines []string
			for i := range 1000 {
				lines = append(lines, row(i))
			}
			b := rows(t, tx.Schema(), lines...)
			defer b.Release()
			// Encoders work behind Write, which blocks when they are behind: sooner or later a file is full.
			most := 0
			for range 5000 {
				if err := tx.Write(t.Context(), b); err != nil {
					t.Fatal(err)
				}
				if most = len(files(t, l.warehouse(), ".parquet")) - len(before); most >= 8 {
					break
				}
			}
			if most < 8 {
				t.Errorf("%d files while the write went on: nothing rolled", most)
			}
			if err := tx.Abort(t.Context()); err != nil {
				t.Fatal(err)
			}
			if after := files(t, l.warehouse(), ".parquet"); !slices.Equal(after, before) {
				t.Errorf("%d files are left: %v", len(after)-len(before), after)
			}
			wantRows(t, scan(t, c, "prod.people", keep.ID), row(0))
			if err := tx.Abort(t.Context()); err != nil {
				t.Errorf("a second Abort: %v", err)
			}
			if _, err := tx.Stage(t.Context(), stamp("r1")); err == nil {
				t.Error("an aborted write could be staged")
			}
		})
	}
}

// A cancelled write ends with the context's error and leaves nothing.
func TestCancelledWrite(t *testing.T) {
	l := newLake(t)
	c := l.open(t)
	ctx, cancel := context.WithCancel(t.Context())
	tx, err := c.Begin(ctx, people(t), sinks.Base{Run: "r1"})
	if err != nil {
		t.Fatal(err)
	}
	b := rows(t, tx.Schema(), row(1))
	defer b.Release()
	if err := tx.Write(ctx, b); err != nil {
		t.Fatal(err)
	}
	cancel()
	werr := tx.Write(ctx, b)
	_, serr := tx.Stage(ctx, stamp("r1"))
	if serr == nil || werr != nil && !errors.Is(werr, context.Canceled) {
		t.Errorf("write %v, stage %v", werr, serr)
	}
	if err := tx.Abort(context.WithoutCancel(ctx)); err != nil {
		t.Error(err)
	}
	if left := files(t, l.warehouse(), ".parquet"); len(left) > 0 {
		t.Errorf("files %v are left", left)
	}
	if tab := look(t, c, "prod.people"); tab != nil && len(tab.Snapshots) > 0 {
		t.Errorf("%+v", tab)
	}
}

func TestNewTablesProperties(t *testing.T) {
	l := newLake(t)
	spec := people(t)
	spec.Properties = map[string]string{"write.parquet.compression-level": "6", "owner": "me"}
	spec.Key = []string{"id"}
	stage(t, l.open(t), spec, sinks.Base{Run: "r1"}, row(1))
	m := l.metadata(t, "prod.people")
	if m["format-version"] != 2.0 {
		t.Errorf("format version %v, want 2", m["format-version"])
	}
	props := m["properties"].(map[string]any)
	for k, want := range map[string]string{
		"commit.retry.num-retries": "20", "commit.retry.min-wait-ms": "10", "commit.retry.max-wait-ms": "1000",
		"commit.manifest-merge.enabled": "true", "write.metadata.delete-after-commit.enabled": "true",
		"write.metadata.previous-versions-max": "10", "write.parquet.compression-codec": "zstd",
		"write.parquet.compression-level": "6", "owner": "me", "pipe.project": "p1", // the declared ones win
	} {
		if props[k] != want {
			t.Errorf("property %s is %v, want %s", k, props[k], want)
		}
	}
	sc := m["schemas"].([]any)[0].(map[string]any)
	for _, x := range m["schemas"].([]any) {
		if x.(map[string]any)["schema-id"] == m["current-schema-id"] {
			sc = x.(map[string]any)
		}
	}
	if !reflect.DeepEqual(sc["identifier-field-ids"], []any{1.0}) {
		t.Errorf("identifier fields %v, want the one of id", sc["identifier-field-ids"])
	}
	if m["refs"].(map[string]any)["main"] != nil {
		t.Error("staging made a main ref")
	}
}

// Every metadata file that is older than the last ten goes, also after commits that only move refs.
func TestOldMetadataFilesGo(t *testing.T) {
	l := newLake(t)
	c := l.open(t)
	s := stage(t, c, people(t), sinks.Base{Run: "r1"}, row(1))
	for i := range 15 {
		if err := c.Hold(t.Context(), fmt.Sprintf("h%d", i), []sinks.Target{{Table: "prod.people", Snapshot: s.ID}}); err != nil {
			t.Fatal(err)
		}
	}
	if n := len(files(t, l.warehouse(), ".metadata.json")); n > 11 {
		t.Errorf("%d metadata files after 16 commits, want at most 11", n)
	}
	wantRows(t, scan(t, l.open(t), "prod.people", s.ID), row(1))
}

// Every column of a file, parts of nested ones too, carries the id that the table's schema has for it.
func TestFilesCarryTheTablesFieldIDs(t *testing.T) {
	l := newLake(t)
	c := l.open(t)
	spec := sinks.Spec{Table: "prod.t", Schema: columns(t, "id: long required", "at: struct<x: long, y: list<string>>", "m: map<string, double>")}
	one := stage(t, c, spec, sinks.Base{Run: "r1"}, `{"id":1,"at":{"x":2,"y":["a"]},"m":[{"key":"k","value":1}]}`)
	publish(t, c, sinks.Move{Table: "prod.t", To: one.ID})
	spec.Schema = columns(t, "m: map<string, double>", "id: string", "at: struct<x: long, y: list<string>>")
	two := stage(t, c, spec, sinks.Base{Parent: one.ID, Run: "r2"}, `{"m":null,"id":"x","at":{"x":2,"y":["a"]}}`)
	idsOf := map[sinks.SnapshotID]map[string]int32{}
	for _, id := range []sinks.SnapshotID{one.ID, two.ID} {
		paths, exact, err := c.Files(t.Context(), sinks.Target{Table: "prod.t", Snapshot: id})
		if err != nil || len(paths) != 1 || !exact {
			t.Fatalf("%v, exact %v, %v; want one file", paths, exact, err)
		}
		idsOf[id] = fieldIDs(t, paths[0])
		schemas := l.foreign(t, "prod.t").Metadata().Schemas()
		found := false
		for _, s := range schemas {
			want := map[string]int32{}
			for _, f := range s.Fields() {
				want[f.Name] = int32(f.ID)
			}
			got := map[string]int32{}
			for p, n := range idsOf[id] {
				if !strings.Contains(p, ".") {
					got[p] = n
				}
			}
			found = found || reflect.DeepEqual(got, want)
		}
		if !found {
			t.Errorf("the ids %v are those of no schema of the table", idsOf[id])
		}
	}
	a, b := idsOf[one.ID], idsOf[two.ID]
	for p, n := range a {
		if n <= 0 {
			t.Errorf("column %s has no id", p)
		}
		if changed := p == "id"; (b[p] == n) == changed {
			t.Errorf("column %s: id %d, then %d", p, n, b[p])
		}
	}
}

func fieldIDs(t *testing.T, path string) map[string]int32 {
	t.Helper()
	r, err := file.OpenParquetFile(path, false)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = r.Close() }()
	out := map[string]int32{}
	sc := r.MetaData().Schema
	for i := range sc.NumColumns() {
		leaf := sc.Column(i)
		out[leaf.Path()] = leaf.SchemaNode().FieldID()
	}
	root := sc.Root()
	for i := range root.NumFields() {
		out[root.Field(i).Name()] = root.Field(i).FieldID()
	}
	return out
}

// What another engine commits carries nothing of pipe. It is found by the branch's head, and stops a publish.
func TestForeignCommits(t *testing.T) {
	l := newLake(t)
	c := l.open(t)
	one := stage(t, c, people(t), sinks.Base{Run: "r1"}, row(1))
	publish(t, c, sinks.Move{Table: "prod.people", To: one.ID})
	staged := stage(t, c, people(t), sinks.Base{Parent: one.ID, Append: true, Run: "r2"}, row(2))
	as := sinks.ArrowSchema(people(t).Schema)
	b := rows(t, as, row(9))
	defer b.Release()
	rdr, err := array.NewRecordReader(as, []arrowBatch{b})
	if err != nil {
		t.Fatal(err)
	}
	defer rdr.Release()
	theirs, err := l.foreign(t, "prod.people").Append(t.Context(), rdr, nil)
	if err != nil {
		t.Fatal(err)
	}
	id := sinks.SnapshotID(strconv.FormatInt(theirs.CurrentSnapshot().SnapshotID, 10))
	tab := look(t, c, "prod.people")
	if tab.Head(sinks.Main) != id {
		t.Errorf("head %s, want theirs, %s", tab.Head(sinks.Main), id)
	}
	if s := tab.Snapshot(id); s == nil || s.Stamp != nil || s.Parent != one.ID || s.Op != sinks.OpAppend || s.Rows != 2 {
		t.Errorf("their snapshot reads as %+v", s)
	}
	if tab.Published[sinks.Main] != one.ID {
		t.Errorf("pipe published %s last, the table says %s", one.ID, tab.Published[sinks.Main])
	}
	err = c.Publish(t.Context(), sinks.Publication{Ref: sinks.Main, Moves: []sinks.Move{{Table: "prod.people", From: one.ID, To: staged.ID}}})
	if !errors.Is(err, sinks.ErrConflict) || !strings.Contains(err.Error(), "prod.people") {
		t.Errorf("%v, want ErrConflict that names the table", err)
	}
	wantRows(t, scan(t, c, "prod.people", id), row(1), row(9))
	wantRows(t, scan(t, c, "prod.people", staged.ID), row(1), row(2))
	// and back: the other engine goes on from what pipe publishes now
	publish(t, c, sinks.Move{Table: "prod.people", From: id, To: staged.ID})
	if _, err := l.foreign(t, "prod.people").Delete(t.Context(), ice.EqualTo(ice.Reference("id"), int64(1)), nil); err != nil {
		t.Fatal(err)
	}
	wantRows(t, scan(t, c, "prod.people", look(t, c, "prod.people").Head(sinks.Main)), row(2))
}

// Looking makes nothing.
func TestObserveMakesNothing(t *testing.T) {
	l := newLake(t)
	c := l.open(t)
	if tab := look(t, c, "prod.people"); tab != nil {
		t.Errorf("%+v", tab)
	}
	at := sinks.Target{Table: "prod.people", Snapshot: "7"}
	_, _, scanErr := c.Scan(t.Context(), at, sinks.ScanOptions{})
	for name, err := range map[string]error{
		"scan": scanErr, "pin": c.Pin(t.Context(), []sinks.Target{at}), "hold": c.Hold(t.Context(), "r", []sinks.Target{at}),
	} {
		if !errors.Is(err, sinks.ErrExpired) && !errors.Is(err, sinks.ErrNoTable) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := c.Release(t.Context(), "r", []string{"prod.people"}); err != nil {
		t.Error(err)
	}
	left, err := os.ReadDir(l.root)
	if err != nil || len(left) > 0 {
		t.Errorf("%v, %v in the project's folder after looking", left, err)
	}
}
