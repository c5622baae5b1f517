package run_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"pipe/internal/diag"
	"pipe/internal/files"
	"pipe/internal/tabledigest"
	"pipe/pipeline"
	"pipe/pipeline/run"
	"pipe/sinks"
	memsink "pipe/sinks/memory"
	"pipe/stages"
)

const twoStages = `
stages:
  a:
    use: rows
    with: {n: "${n}"}
    outs: [{table: m.a, mode: append}]
  b:
    use: count
    deps: [{table: m.a}]
    outs: [{table: m.b}]
`

// lab is a project over a memory sink.
type lab struct {
	t     *testing.T
	root  string
	sink  *memsink.Catalog
	mu    sync.Mutex
	ran   []string
	notes []string
}

func newLab(t *testing.T, definition string) *lab {
	l := &lab{t: t, root: t.TempDir(), sink: &memsink.Catalog{}}
	l.write("pipeline.yaml", definition)
	l.write("params.yaml", "n: 2\n")
	if err := os.Mkdir(filepath.Join(l.root, ".pipe"), 0o755); err != nil {
		t.Fatal(err)
	}
	return l
}

func (l *lab) write(name, text string) {
	l.t.Helper()
	if err := os.WriteFile(filepath.Join(l.root, name), []byte(text), 0o644); err != nil {
		l.t.Fatal(err)
	}
}

func (l *lab) note(stage string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.ran = append(l.ran, stage)
}

var ints = arrow.NewSchema([]arrow.Field{{Name: "v", Type: arrow.PrimitiveTypes.Int64}}, nil)

// put writes rows to the first out of a task.
func put(ctx context.Context, t *stages.Task, values ...int64) error {
	w, err := t.Outs[0].Open(ctx, ints)
	if err != nil {
		return err
	}
	b := array.NewInt64Builder(memory.DefaultAllocator)
	defer b.Release()
	b.AppendValues(values, nil)
	a := b.NewArray()
	defer a.Release()
	rec := array.NewRecordBatch(ints, []arrow.Array{a}, int64(len(values)))
	defer rec.Release()
	return w.Write(ctx, rec)
}

func (l *lab) project() *run.Project {
	l.t.Helper()
	g, err := pipeline.Load(os.DirFS(l.root), "pipeline.yaml")
	if err != nil {
		l.t.Fatal(err)
	}
	f, err := files.Open(l.root, time.Now)
	if err != nil {
		l.t.Fatal(err)
	}
	return &run.Project{
		Root: l.root, Graph: g, Catalogs: map[string]sinks.Catalog{"lake": l.sink}, Files: f, Now: time.Now, Version: "test",
		Kinds: map[string]stages.Kind{
			// rows appends n, n-1, ... 1.
			"rows": {Version: 1, Run: func(ctx context.Context, t *stages.Task) error {
				l.note(t.Stage.Name)
				n, err := stages.Args(t.Stage).Int("n", 0, 0, 100), error(nil)
				if err != nil {
					return err
				}
				var v []int64
				for i := n; i > 0; i-- {
					v = append(v, i)
				}
				return put(ctx, t, v...)
			}},
			// count replaces by how many rows there are.
			"count": {Version: 1, Run: func(ctx context.Context, t *stages.Task) error {
				l.note(t.Stage.Name)
				_, rows, err := t.Tables[0].Scan(ctx)
				if err != nil {
					return err
				}
				n := int64(0)
				for b, err := range rows {
					if err != nil {
						return err
					}
					n += b.NumRows()
					b.Release()
				}
				return put(ctx, t, n)
			}},
		},
	}
}

func (l *lab) repro(opts run.Options) (*run.Result, error) {
	l.t.Helper()
	l.ran, l.notes = nil, nil
	opts.OnEvent = func(e run.Event) {
		if e.Kind == run.EventNote || e.Kind == run.EventRecovered {
			l.notes = append(l.notes, e.Text)
		}
	}
	return l.project().Repro(l.t.Context(), opts)
}

func (l *lab) must(opts run.Options) {
	l.t.Helper()
	if _, err := l.repro(opts); err != nil {
		l.t.Fatal(err)
	}
}

func (l *lab) table(name string) *sinks.Table {
	l.t.Helper()
	got, err := l.sink.Observe(l.t.Context(), []string{name})
	if err != nil {
		l.t.Fatal(err)
	}
	return got[name]
}

// head is the number of rows at the head.
func (l *lab) head(name string) int64 {
	l.t.Helper()
	t := l.table(name)
	if s := t.Snapshot(t.Head(sinks.Main)); s != nil {
		return s.Rows
	}
	return -1
}

// value is the only value at the head of a table of one row.
func (l *lab) value(name string) int64 {
	l.t.Helper()
	_, rows, err := l.sink.Scan(l.t.Context(), sinks.Target{Table: name, Snapshot: l.table(name).Head(sinks.Main)}, sinks.ScanOptions{})
	if err != nil {
		l.t.Fatal(err)
	}
	out := int64(-1)
	for b, err := range rows {
		if err != nil {
			l.t.Fatal(err)
		}
		out = b.Column(0).(*array.Int64).Value(0)
		b.Release()
	}
	return out
}

func (l *lab) lock() string {
	l.t.Helper()
	b, err := os.ReadFile(filepath.Join(l.root, "pipeline.lock"))
	if err != nil {
		l.t.Fatal(err)
	}
	return string(b)
}

func (l *lab) want(what string, got, want any) {
	l.t.Helper()
	if fmt.Sprint(got) != fmt.Sprint(want) {
		l.t.Errorf("%s: %v, want %v", what, got, want)
	}
}

// The digest that is kept from append to append is that of a scan of the whole table.
func TestDigestOfAppendsIsThatOfTheWhole(t *testing.T) {
	l := newLab(t, twoStages)
	for _, n := range []int{2, 5, 3} {
		l.write("params.yaml", fmt.Sprintf("n: %d\n", n))
		l.must(run.Options{})
	}
	l.want("rows", l.head("m.a"), 10)
	tab := l.table("m.a")
	head := tab.Snapshot(tab.Head(sinks.Main))
	sc, rows, err := l.sink.Scan(t.Context(), sinks.Target{Table: "m.a", Snapshot: head.ID}, sinks.ScanOptions{})
	if err != nil {
		t.Fatal(err)
	}
	h, err := tabledigest.New(sc)
	if err != nil {
		t.Fatal(err)
	}
	var sum tabledigest.Sum
	for b, err := range rows {
		if err != nil {
			t.Fatal(err)
		}
		sum = sum.Add(h.Batch(b))
		b.Release()
	}
	l.want("sum", head.Stamp.Sum, sum.String())
	l.want("digest", head.Stamp.Digest, tabledigest.Digest(sum, tab.Schema))
	l.want("digest in the lock", strings.Contains(l.lock(), string(head.Stamp.Digest)), true)
}

// A publish that lost its race decides again: what was staged is reused, not run again.
func TestLostRaceDecidesAgain(t *testing.T) {
	l := newLab(t, twoStages)
	lost := 0
	l.sink.FailOn(func(op string) error {
		if op == "Publish" && lost < 2 {
			lost++
			return fmt.Errorf("m.a: %w", sinks.ErrConflict)
		}
		return nil
	})
	res, err := l.repro(run.Options{Jobs: 1})
	if err != nil {
		t.Fatal(err)
	}
	l.want("stages that ran", l.ran, "[a b]")
	l.want("published", res.Published, true)
	l.want("lost races", lost, 2)
	l.want("outcomes", fmt.Sprint(res.Stages[0].Outcome, " ", res.Stages[1].Outcome), "reused reused")
	l.want("head", l.head("m.a"), 2)
}

// One that loses every time ends with exit status 4, and leaves the heads and the lock as they were.
func TestRaceLostForGood(t *testing.T) {
	l := newLab(t, twoStages)
	l.must(run.Options{})
	before := l.lock()
	l.write("params.yaml", "n: 3\n")
	l.sink.FailOn(func(op string) error {
		if op == "Publish" {
			return sinks.ErrConflict
		}
		return nil
	})
	_, err := l.repro(run.Options{})
	l.want("exit status", diag.ExitOf(err), diag.Conflict)
	l.want("lock", l.lock(), before)
	l.sink.FailOn(nil)
	l.want("head", l.head("m.a"), 2)
	l.must(run.Options{})
	l.want("nothing runs again", len(l.ran), 0)
	l.want("head", l.head("m.a"), 5)
}

// No answer came to a publish that happened: the run ends with exit status 5, and the next one finds it done.
func TestPublishWithoutAnswer(t *testing.T) {
	for _, happened := range []bool{true, false} {
		t.Run(fmt.Sprintf("happened %v", happened), func(t *testing.T) {
			l := newLab(t, twoStages)
			silent := func(op string) error {
				if op == "Publish" {
					return sinks.ErrUnknown
				}
				return nil
			}
			if happened {
				l.sink.LoseAnswers(silent)
			} else {
				l.sink.FailOn(silent)
			}
			_, err := l.repro(run.Options{})
			l.want("exit status", diag.ExitOf(err), diag.Broken)
			if _, err := os.Stat(filepath.Join(l.root, ".pipe", "journal")); err != nil {
				t.Errorf("the journal is gone: %v", err)
			}
			if _, err := os.Stat(filepath.Join(l.root, "pipeline.lock")); !errors.Is(err, os.ErrNotExist) {
				t.Errorf("there is a lock though nobody knows what was published: %v", err)
			}
			l.sink.LoseAnswers(nil)
			l.sink.FailOn(nil)
			p, err := l.project().Status(t.Context(), run.Options{})
			if err != nil {
				t.Fatal(err)
			}
			l.want("status shows the journal as it will be finished", p.UpToDate(), true)
			l.write("params.yaml", "n: 5\n")
			l.must(run.Options{})
			l.want("rows", l.head("m.a"), 7)
			l.want("stages that ran", l.ran, "[a b]")
			if len(l.notes) == 0 || !strings.Contains(l.notes[0], "cut off") {
				t.Errorf("nothing was said of the run before: %v", l.notes)
			}
		})
	}
}

// Whatever call to the catalog fails, and whichever one of them, the run says so, the heads are those of whole runs, and the next run
// ends where an undisturbed one does.
func TestEveryCatalogCallFails(t *testing.T) {
	for n := 1; ; n++ {
		l := newLab(t, twoStages)
		l.must(run.Options{Jobs: 1})
		l.write("params.yaml", "n: 3\n")
		calls, broken := 0, errors.New("the disk is gone")
		l.sink.FailOn(func(string) error {
			if calls++; calls == n {
				return broken
			}
			return nil
		})
		_, err := l.repro(run.Options{Jobs: 1})
		l.sink.FailOn(nil)
		if calls < n {
			if n < 8 {
				t.Errorf("a run makes %d calls only", calls)
			}
			return
		}
		if err != nil && !errors.Is(err, broken) {
			t.Errorf("call %d: %v, want the error of the catalog", n, err)
		}
		if a, b := l.head("m.a"), l.value("m.b"); a != b || a != 2 && a != 5 {
			t.Errorf("call %d: m.a has %d rows and m.b counts %d", n, a, b)
		}
		l.must(run.Options{Jobs: 1})
		l.want(fmt.Sprintf("call %d: rows in the end", n), l.head("m.a"), 5)
		l.must(run.Options{Jobs: 1})
		l.want(fmt.Sprintf("call %d: one more run", n), len(l.ran), 0)
	}
}

// Many stages side by side, each with a table of its own whose columns are inferred: run under the race detector.
func TestManyStagesSideBySide(t *testing.T) {
	var b strings.Builder
	b.WriteString("stages:\n")
	for i := range 30 {
		fmt.Fprintf(&b, "  s%d: {use: rows, with: {n: \"${n}\"}, outs: [{table: m.t%d, mode: append}]}\n", i, i)
	}
	l := newLab(t, b.String())
	for _, n := range []int{2, 3} {
		l.write("params.yaml", fmt.Sprintf("n: %d\n", n))
		l.must(run.Options{Jobs: 8})
	}
	for i := range 30 {
		l.want("rows", l.head(fmt.Sprintf("m.t%d", i)), 5)
	}
}
