// Package sinktest is the conformance suite of package sinks: what every sink must hold, shown through its public face only. It never
// looks at how a sink does it.
package sinktest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"pipe/pipeline/fingerprint"
	"pipe/pipeline/schema"
	"pipe/sinks"
)

// Open makes a catalog without tables; each call of the function that it returns opens the same one again, as another process would.
type Open func(t *testing.T) (again func() sinks.Catalog)

// Run runs the suite.
func Run(t *testing.T, open Open) {
	for name, f := range map[string]func(*testing.T, *suite){
		"nothing is seen before the publish":            stagedIsUnseen,
		"append keeps the rows of its base":             appendKeeps,
		"append builds on an older snapshot":            appendOnOlder,
		"replace leaves only its own rows":              replaceReplaces,
		"no rows make a snapshot all the same":          emptyIsLegal,
		"an aborted write leaves nothing":               abortLeavesNothing,
		"one of several writers on one parent wins":     oneWins,
		"the same publish may be sent again":            publishAgain,
		"a publish moves all heads or none":             allOrNone,
		"readers never see half a publish":              readersSeeWhole,
		"a head moves back to an older snapshot":        movesBack,
		"hold and pin need a live snapshot":             holdNeedsLive,
		"a pin and a run ref name their snapshots":      refsNameSnapshots,
		"the stamp comes back":                          stampComesBack,
		"a replaced schema leaves old snapshots as is":  schemaReplaced,
		"an append with other columns is refused":       appendOtherColumns,
		"columns and a limit narrow a scan":             scanNarrows,
		"every type comes back":                         everyType,
		"a table that does not exist is left out":       absentTable,
		"many goroutines write one table":               manyWriters,
		"a second look sees what another process wrote": seenAgain,
		"partitioned and sorted tables hold the same":   laidOut,
		"a NULL in a required column is refused":        nullsRefused,
		"a batch of other columns is refused":           othersRefused,
		"equal rows are two snapshots":                  equalRows,
		"a stage may be tried again in one run":         stagedAgain,
		"a write that is over takes no more":            overIsOver,
		"a publish names what is not there":             publishErrors,
		"a publish to another ref leaves main alone":    otherRefs,
	} {
		t.Run(strings.ReplaceAll(name, " ", "_"), func(t *testing.T) {
			again := open(t)
			f(t, &suite{again: again, c: again()})
		})
	}
}

type suite struct {
	again func() sinks.Catalog
	c     sinks.Catalog
}

var people = schema.Schema{Fields: []schema.Field{
	{Name: "id", Type: schema.Type{Kind: schema.Long}, Required: true},
	{Name: "name", Type: schema.Type{Kind: schema.String}},
}}

// batch makes rows of a schema from JSON, one object a row.
func batch(t *testing.T, s *arrow.Schema, rows ...string) arrow.RecordBatch {
	t.Helper()
	b, _, err := array.RecordFromJSON(memory.DefaultAllocator, s, strings.NewReader("["+strings.Join(rows, ",")+"]"))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func row(id int) string { return fmt.Sprintf(`{"id":%d,"name":"n%d"}`, id, id) }

func stamp(run string) sinks.Stamp {
	return sinks.Stamp{Stage: "s", Fingerprint: "1:aa", Digest: "1:bb", Sum: "1:cc", Run: run, ParentDigest: fingerprint.None, Revision: "none", Version: "test"}
}

// stage writes rows on a base and stages them on the run's ref.
func (s *suite) stage(t *testing.T, table string, base sinks.Base, rows ...string) sinks.Snapshot {
	t.Helper()
	return s.stageAs(t, table, people, base, rows...)
}

func (s *suite) stageAs(t *testing.T, table string, sc schema.Schema, base sinks.Base, rows ...string) sinks.Snapshot {
	t.Helper()
	tx, err := s.c.Begin(t.Context(), sinks.Spec{Table: table, Schema: sc, Project: "p1"}, base)
	if err != nil {
		t.Fatal(err)
	}
	if len(rows) > 0 {
		b := batch(t, tx.Schema(), rows...)
		defer b.Release()
		if err := tx.Write(t.Context(), b); err != nil {
			t.Fatal(err)
		}
	}
	snap, err := tx.Stage(t.Context(), stamp(base.Run))
	if err != nil {
		t.Fatal(err)
	}
	return snap
}

func (s *suite) publish(t *testing.T, moves ...sinks.Move) {
	t.Helper()
	if err := s.c.Publish(t.Context(), sinks.Publication{Ref: sinks.Main, Moves: moves}); err != nil {
		t.Fatal(err)
	}
}

func observe(t *testing.T, c sinks.Catalog, table string) *sinks.Table {
	t.Helper()
	got, err := c.Observe(t.Context(), []string{table})
	if err != nil {
		t.Fatal(err)
	}
	return got[table]
}

// read gives the rows of a snapshot as sorted JSON lines.
func read(t *testing.T, c sinks.Catalog, table string, id sinks.SnapshotID, opts sinks.ScanOptions) []string {
	t.Helper()
	_, rows, err := c.Scan(t.Context(), sinks.Target{Table: table, Snapshot: id}, opts)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for b, err := range rows {
		if err != nil {
			t.Fatal(err)
		}
		var text strings.Builder
		if err := array.RecordToJSON(b, &text); err != nil {
			t.Fatal(err)
		}
		b.Release()
		for _, l := range strings.Split(strings.TrimSpace(text.String()), "\n") {
			if l != "" {
				out = append(out, l)
			}
		}
	}
	slices.Sort(out)
	return out
}

func same(t *testing.T, got []string, want ...string) {
	t.Helper()
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("rows %v, want %v", got, want)
	}
}

func (s *suite) head(t *testing.T, table string) sinks.SnapshotID {
	t.Helper()
	return observe(t, s.c, table).Head(sinks.Main)
}

func (s *suite) wantHead(t *testing.T, table string, id sinks.SnapshotID) {
	t.Helper()
	if h := s.head(t, table); h != id {
		t.Errorf("head of %s is %q, want %q", table, h, id)
	}
}

func stagedIsUnseen(t *testing.T, s *suite) {
	one := s.stage(t, "m.t", sinks.Base{Run: "r1"}, row(1))
	s.wantHead(t, "m.t", "")
	same(t, read(t, s.c, "m.t", one.ID, sinks.ScanOptions{}), row(1))
	s.publish(t, sinks.Move{Table: "m.t", To: one.ID})
	s.wantHead(t, "m.t", one.ID)
	two := s.stage(t, "m.t", sinks.Base{Parent: one.ID, Append: true, Run: "r2"}, row(2))
	s.wantHead(t, "m.t", one.ID)
	if two.Parent != one.ID || two.Op != sinks.OpAppend || two.Rows != 2 {
		t.Errorf("staged %+v, want an append of one row to %s", two, one.ID)
	}
	same(t, read(t, s.c, "m.t", one.ID, sinks.ScanOptions{}), row(1))
}

func appendKeeps(t *testing.T, s *suite) {
	one := s.stage(t, "m.t", sinks.Base{Append: true, Run: "r1"}, row(1), row(2))
	two := s.stage(t, "m.t", sinks.Base{Parent: one.ID, Append: true, Run: "r2"}, row(3))
	same(t, read(t, s.c, "m.t", two.ID, sinks.ScanOptions{}), row(1), row(2), row(3))
}

func appendOnOlder(t *testing.T, s *suite) {
	one := s.stage(t, "m.t", sinks.Base{Append: true, Run: "r1"}, row(1))
	two := s.stage(t, "m.t", sinks.Base{Parent: one.ID, Append: true, Run: "r2"}, row(2))
	s.publish(t, sinks.Move{Table: "m.t", To: two.ID})
	other := s.stage(t, "m.t", sinks.Base{Parent: one.ID, Append: true, Run: "r3"}, row(9))
	if other.Parent != one.ID {
		t.Errorf("parent %s, want the older %s", other.Parent, one.ID)
	}
	same(t, read(t, s.c, "m.t", other.ID, sinks.ScanOptions{}), row(1), row(9))
	same(t, read(t, s.c, "m.t", two.ID, sinks.ScanOptions{}), row(1), row(2))
	s.wantHead(t, "m.t", two.ID)
}

func replaceReplaces(t *testing.T, s *suite) {
	one := s.stage(t, "m.t", sinks.Base{Run: "r1"}, row(1), row(2))
	s.publish(t, sinks.Move{Table: "m.t", To: one.ID})
	two := s.stage(t, "m.t", sinks.Base{Parent: one.ID, Run: "r2"}, row(3))
	same(t, read(t, s.c, "m.t", two.ID, sinks.ScanOptions{}), row(3))
	same(t, read(t, s.c, "m.t", one.ID, sinks.ScanOptions{}), row(1), row(2))
	if two.Rows != 1 {
		t.Errorf("%d rows, want 1", two.Rows)
	}
}

func emptyIsLegal(t *testing.T, s *suite) {
	zero := s.stage(t, "m.t", sinks.Base{Run: "r0"})
	s.publish(t, sinks.Move{Table: "m.t", To: zero.ID})
	same(t, read(t, s.c, "m.t", zero.ID, sinks.ScanOptions{}))
	one := s.stage(t, "m.t", sinks.Base{Parent: zero.ID, Append: true, Run: "r1"}, row(1))
	two := s.stage(t, "m.t", sinks.Base{Parent: one.ID, Append: true, Run: "r2"})
	if two.ID == one.ID || two.ID == "" {
		t.Errorf("an append of nothing gave snapshot %q", two.ID)
	}
	same(t, read(t, s.c, "m.t", two.ID, sinks.ScanOptions{}), row(1))
	three := s.stage(t, "m.t", sinks.Base{Parent: two.ID, Run: "r3"})
	same(t, read(t, s.c, "m.t", three.ID, sinks.ScanOptions{}))
	if three.Rows != 0 || two.Rows != 1 {
		t.Errorf("rows %d and %d, want 0 and 1", three.Rows, two.Rows)
	}
}

func abortLeavesNothing(t *testing.T, s *suite) {
	tx, err := s.c.Begin(t.Context(), sinks.Spec{Table: "m.t", Schema: people}, sinks.Base{Run: "r1"})
	if err != nil {
		t.Fatal(err)
	}
	b := batch(t, tx.Schema(), row(1))
	defer b.Release()
	if err := tx.Write(t.Context(), b); err != nil {
		t.Fatal(err)
	}
	if err := tx.Abort(t.Context()); err != nil {
		t.Fatal(err)
	}
	if tab := observe(t, s.c, "m.t"); tab != nil && len(tab.Snapshots) > 0 {
		t.Errorf("table %+v after an abort", tab)
	}
}

func oneWins(t *testing.T, s *suite) {
	base := s.stage(t, "m.t", sinks.Base{Append: true, Run: "r0"}, row(0))
	s.publish(t, sinks.Move{Table: "m.t", To: base.ID})
	const writers = 4
	var snaps []sinks.Snapshot
	for i := range writers {
		snaps = append(snaps, s.stage(t, "m.t", sinks.Base{Parent: base.ID, Append: true, Run: fmt.Sprintf("w%d", i)}, row(i+1)))
	}
	errs := make([]error, writers)
	var wg sync.WaitGroup
	for i := range writers {
		c := s.again()
		wg.Go(func() {
			errs[i] = c.Publish(t.Context(), sinks.Publication{Ref: sinks.Main, Moves: []sinks.Move{{Table: "m.t", From: base.ID, To: snaps[i].ID}}})
		})
	}
	wg.Wait()
	won := -1
	for i, err := range errs {
		switch {
		case err == nil && won < 0:
			won = i
		case err == nil:
			t.Errorf("writers %d and %d both won", won, i)
		case !errors.Is(err, sinks.ErrConflict):
			t.Errorf("writer %d: %v, want ErrConflict", i, err)
		}
	}
	if won < 0 {
		t.Fatal("nobody won")
	}
	s.wantHead(t, "m.t", snaps[won].ID)
	same(t, read(t, s.c, "m.t", snaps[won].ID, sinks.ScanOptions{}), row(0), row(won+1))
}

func publishAgain(t *testing.T, s *suite) {
	one := s.stage(t, "m.t", sinks.Base{Run: "r1"}, row(1))
	s.publish(t, sinks.Move{Table: "m.t", To: one.ID})
	s.publish(t, sinks.Move{Table: "m.t", To: one.ID})
	s.wantHead(t, "m.t", one.ID)
	two := s.stage(t, "m.t", sinks.Base{Parent: one.ID, Run: "r2"}, row(2))
	s.publish(t, sinks.Move{Table: "m.t", From: one.ID, To: two.ID})
	err := s.c.Publish(t.Context(), sinks.Publication{Ref: sinks.Main, Moves: []sinks.Move{{Table: "m.t", To: one.ID}}})
	if !errors.Is(err, sinks.ErrConflict) {
		t.Errorf("a publish that came too late gave %v, want ErrConflict", err)
	}
	s.wantHead(t, "m.t", two.ID)
}

func allOrNone(t *testing.T, s *suite) {
	a := s.stage(t, "m.a", sinks.Base{Run: "r1"}, row(1))
	b := s.stage(t, "m.b", sinks.Base{Run: "r1"}, row(2))
	err := s.c.Publish(t.Context(), sinks.Publication{Ref: sinks.Main, Moves: []sinks.Move{
		{Table: "m.a", To: a.ID}, {Table: "m.b", From: "12345", To: b.ID},
	}})
	if !errors.Is(err, sinks.ErrConflict) {
		t.Errorf("%v, want ErrConflict", err)
	}
	s.wantHead(t, "m.a", "")
	s.wantHead(t, "m.b", "")
	s.publish(t, sinks.Move{Table: "m.a", To: a.ID}, sinks.Move{Table: "m.b", To: b.ID})
	s.wantHead(t, "m.a", a.ID)
	s.wantHead(t, "m.b", b.ID)
}

func readersSeeWhole(t *testing.T, s *suite) {
	const rounds = 10
	var a, b []sinks.SnapshotID
	for i := range rounds {
		base := sinks.Base{Run: fmt.Sprintf("r%d", i)}
		a = append(a, s.stage(t, "m.a", base, row(i)).ID)
		b = append(b, s.stage(t, "m.b", base, row(i)).ID)
	}
	ctx, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	reader := s.again()
	looked := make(chan struct{}) // the first publish waits for the first look
	seen := sync.OnceFunc(func() { close(looked) })
	wg.Go(func() {
		defer seen()
		for first := true; first || ctx.Err() == nil; first = false {
			got, err := reader.Observe(context.WithoutCancel(ctx), []string{"m.a", "m.b"})
			if err != nil {
				t.Error(err)
				return
			}
			seen()
			i, k := slices.Index(a, got["m.a"].Head(sinks.Main)), slices.Index(b, got["m.b"].Head(sinks.Main))
			if i != k {
				t.Errorf("a reader saw m.a of publish %d beside m.b of publish %d", i, k)
				return
			}
		}
	})
	<-looked
	var fa, fb sinks.SnapshotID
	for i := range rounds {
		s.publish(t, sinks.Move{Table: "m.a", From: fa, To: a[i]}, sinks.Move{Table: "m.b", From: fb, To: b[i]})
		fa, fb = a[i], b[i]
	}
	cancel()
	wg.Wait()
}

func movesBack(t *testing.T, s *suite) {
	one := s.stage(t, "m.t", sinks.Base{Run: "r1"}, row(1))
	s.publish(t, sinks.Move{Table: "m.t", To: one.ID})
	two := s.stage(t, "m.t", sinks.Base{Parent: one.ID, Run: "r2"}, row(2))
	s.publish(t, sinks.Move{Table: "m.t", From: one.ID, To: two.ID})
	s.publish(t, sinks.Move{Table: "m.t", From: two.ID, To: one.ID})
	s.wantHead(t, "m.t", one.ID)
	tab := observe(t, s.c, "m.t")
	if tab.Published[sinks.Main] != one.ID {
		t.Errorf("the table says that %q was published last, want %q", tab.Published[sinks.Main], one.ID)
	}
	if tab.Snapshot(two.ID) == nil {
		t.Error("the snapshot that the head left is gone, though it is pinned")
	}
}

func holdNeedsLive(t *testing.T, s *suite) {
	one := s.stage(t, "m.t", sinks.Base{Run: "r1"}, row(1))
	for name, err := range map[string]error{
		"hold":         s.c.Hold(t.Context(), "r2", []sinks.Target{{Table: "m.t", Snapshot: one.ID}, {Table: "m.t", Snapshot: "77"}}),
		"pin":          s.c.Pin(t.Context(), []sinks.Target{{Table: "m.t", Snapshot: "77"}}),
		"pin no table": s.c.Pin(t.Context(), []sinks.Target{{Table: "m.none", Snapshot: "77"}}),
	} {
		if !errors.Is(err, sinks.ErrExpired) {
			t.Errorf("%s: %v, want ErrExpired", name, err)
		}
	}
	if _, ok := observe(t, s.c, "m.t").Refs[sinks.RunRef("r2")]; ok {
		t.Error("a hold that failed set a ref")
	}
	if _, err := s.c.Begin(t.Context(), sinks.Spec{Table: "m.t", Schema: people}, sinks.Base{Parent: "77", Append: true, Run: "r3"}); !errors.Is(err, sinks.ErrExpired) {
		t.Errorf("begin on a gone base: %v, want ErrExpired", err)
	}
}

func refsNameSnapshots(t *testing.T, s *suite) {
	one := s.stage(t, "m.t", sinks.Base{Run: "r1"}, row(1))
	if err := s.c.Hold(t.Context(), "r2", []sinks.Target{{Table: "m.t", Snapshot: one.ID}}); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := s.c.Pin(t.Context(), []sinks.Target{{Table: "m.t", Snapshot: one.ID}}); err != nil {
			t.Fatal(err)
		}
	}
	refs := observe(t, s.c, "m.t").Refs
	for _, r := range []string{sinks.RunRef("r1"), sinks.RunRef("r2"), sinks.PinTag(one.ID)} {
		if refs[r] != one.ID {
			t.Errorf("ref %s names %q, want %q", r, refs[r], one.ID)
		}
	}
	if err := s.c.Release(t.Context(), "r1", []string{"m.t", "m.none"}); err != nil {
		t.Fatal(err)
	}
	refs = observe(t, s.c, "m.t").Refs
	if _, ok := refs[sinks.RunRef("r1")]; ok {
		t.Error("the run ref is there after its release")
	}
	if refs[sinks.RunRef("r2")] != one.ID || refs[sinks.PinTag(one.ID)] != one.ID {
		t.Errorf("a release took another ref: %v", refs)
	}
}

func stampComesBack(t *testing.T, s *suite) {
	tx, err := s.c.Begin(t.Context(), sinks.Spec{Table: "m.t", Schema: people, Project: "p9"}, sinks.Base{Run: "r1"})
	if err != nil {
		t.Fatal(err)
	}
	want := stamp("r1")
	want.Rows, want.ParentRows, want.Revision = 7, 3, "abc+dirty"
	want.Outs = map[string]fingerprint.Digest{"a b.html": "sha256:00"}
	want.Extra = map[string]string{"pipe.generated": "500"}
	if _, err := tx.Stage(t.Context(), want); err != nil {
		t.Fatal(err)
	}
	tab := observe(t, s.again(), "m.t")
	if tab.Project != "p9" || tab.UUID == "" {
		t.Errorf("project %q, uuid %q", tab.Project, tab.UUID)
	}
	got := tab.Snapshots[0].Stamp
	if got == nil || fmt.Sprint(got.Properties()) != fmt.Sprint(want.Properties()) {
		t.Errorf("stamp %+v, want %+v", got, want)
	}
}

func schemaReplaced(t *testing.T, s *suite) {
	one := s.stage(t, "m.t", sinks.Base{Run: "r1"}, row(1))
	s.publish(t, sinks.Move{Table: "m.t", To: one.ID})
	other := schema.Schema{Fields: []schema.Field{
		{Name: "name", Type: schema.Type{Kind: schema.String}},
		{Name: "id", Type: schema.Type{Kind: schema.String}},
		{Name: "at", Type: schema.Type{Kind: schema.Date}},
	}}
	two := s.stageAs(t, "m.t", other, sinks.Base{Parent: one.ID, Run: "r2"}, `{"name":"x","id":"one","at":"2025-01-02"}`)
	before, after := row(1), `{"at":"2025-01-02","id":"one","name":"x"}`
	same(t, read(t, s.c, "m.t", one.ID, sinks.ScanOptions{}), before)
	same(t, read(t, s.c, "m.t", two.ID, sinks.ScanOptions{}), after)
	if n := len(observe(t, s.c, "m.t").Schema.Fields); n != 2 {
		t.Errorf("a staged schema is the table's own: %d columns", n)
	}
	s.publish(t, sinks.Move{Table: "m.t", From: one.ID, To: two.ID})
	if n := len(observe(t, s.c, "m.t").Schema.Fields); n != 3 {
		t.Errorf("%d columns after the publish, want 3", n)
	}
	same(t, read(t, s.again(), "m.t", one.ID, sinks.ScanOptions{}), before)
	same(t, read(t, s.again(), "m.t", two.ID, sinks.ScanOptions{}), after)
	s.publish(t, sinks.Move{Table: "m.t", From: two.ID, To: one.ID})
	if n := len(observe(t, s.c, "m.t").Schema.Fields); n != 2 {
		t.Errorf("%d columns after going back, want 2", n)
	}
	three := s.stage(t, "m.t", sinks.Base{Parent: one.ID, Append: true, Run: "r3"}, row(2))
	same(t, read(t, s.c, "m.t", three.ID, sinks.ScanOptions{}), row(1), row(2))
}

func appendOtherColumns(t *testing.T, s *suite) {
	one := s.stage(t, "m.t", sinks.Base{Append: true, Run: "r1"}, row(1))
	other := schema.Schema{Fields: []schema.Field{{Name: "id", Type: schema.Type{Kind: schema.String}}}}
	_, err := s.c.Begin(t.Context(), sinks.Spec{Table: "m.t", Schema: other}, sinks.Base{Parent: one.ID, Append: true, Run: "r2"})
	if !errors.Is(err, sinks.ErrSchema) {
		t.Errorf("%v, want ErrSchema", err)
	}
}

func scanNarrows(t *testing.T, s *suite) {
	one := s.stage(t, "m.t", sinks.Base{Run: "r1"}, row(1), row(2), row(3))
	same(t, read(t, s.c, "m.t", one.ID, sinks.ScanOptions{Columns: []string{"name"}}), `{"name":"n1"}`, `{"name":"n2"}`, `{"name":"n3"}`)
	if got := read(t, s.c, "m.t", one.ID, sinks.ScanOptions{Limit: 2}); len(got) != 2 {
		t.Errorf("%d rows with a limit of 2", len(got))
	}
	if _, _, err := s.c.Scan(t.Context(), sinks.Target{Table: "m.t", Snapshot: "77"}, sinks.ScanOptions{}); !errors.Is(err, sinks.ErrExpired) {
		t.Errorf("a scan of a gone snapshot: %v, want ErrExpired", err)
	}
}

func absentTable(t *testing.T, s *suite) {
	got, err := s.c.Observe(t.Context(), []string{"m.none"})
	if err != nil || len(got) != 0 {
		t.Errorf("%v, %v; want nothing", got, err)
	}
}

func manyWriters(t *testing.T, s *suite) {
	tx, err := s.c.Begin(t.Context(), sinks.Spec{Table: "m.t", Schema: people}, sinks.Base{Run: "r1"})
	if err != nil {
		t.Fatal(err)
	}
	const goroutines, batches = 4, 25
	var want []string
	var wg sync.WaitGroup
	for g := range goroutines {
		var list []arrow.RecordBatch
		for i := range batches {
			id := g*batches + i
			list = append(list, batch(t, tx.Schema(), row(id)))
			want = append(want, row(id))
		}
		wg.Go(func() {
			for _, b := range list {
				if err := tx.Write(t.Context(), b); err != nil {
					t.Error(err)
				}
				b.Release()
			}
		})
	}
	wg.Wait()
	snap, err := tx.Stage(t.Context(), stamp("r1"))
	if err != nil {
		t.Fatal(err)
	}
	same(t, read(t, s.c, "m.t", snap.ID, sinks.ScanOptions{}), want...)
}

func seenAgain(t *testing.T, s *suite) {
	one := s.stage(t, "m.t", sinks.Base{Append: true, Run: "r1"}, row(1))
	other := s.again()
	observe(t, other, "m.t")
	s.publish(t, sinks.Move{Table: "m.t", To: one.ID})
	if h := observe(t, other, "m.t").Head(sinks.Main); h != one.ID {
		t.Errorf("another process sees head %q, want %q", h, one.ID)
	}
	two := s.stage(t, "m.t", sinks.Base{Parent: one.ID, Append: true, Run: "r2"}, row(2))
	same(t, read(t, other, "m.t", two.ID, sinks.ScanOptions{}), row(1), row(2))
}
