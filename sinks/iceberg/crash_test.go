package iceberg_test

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"pipe/pipeline/schema"
	"pipe/sinks"
	"pipe/sinks/iceberg"
)

// childEnv names what this test binary does when a test starts it as a process of its own.
const childEnv = "PIPE_TEST_CHILD"

func TestMain(m *testing.M) {
	switch os.Getenv(childEnv) {
	case "":
		os.Exit(m.Run())
	case "commit":
		commitForever(lake{root: os.Getenv("PIPE_TEST_ROOT")})
	case "limited":
		writeUnderLimit(lake{root: os.Getenv("PIPE_TEST_ROOT")})
	}
	os.Exit(3)
}

func child(t *testing.T, what string, l lake) *exec.Cmd {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), self)
	cmd.Env = append(os.Environ(), childEnv+"="+what, "PIPE_TEST_ROOT="+l.root)
	return cmd
}

// pair are the two tables of the crash test. Round n appends the rows n*10 to n*10+9 to each, and publishes both at once.
var pair = []string{"prod.a", "prod.b"}

var idOnly = schema.Schema{Fields: []schema.Field{{Name: "id", Type: schema.Type{Kind: schema.Long}, Required: true}}}

// commitForever goes on from what the heads say and tells each publish that it got an answer to, until it is killed.
func commitForever(l lake) {
	ctx := context.Background()
	c, err := iceberg.Open(ctx, l.options())
	if err != nil {
		fmt.Println("error", err)
		return
	}
	for {
		if err := commitRound(ctx, c); err != nil {
			fmt.Println("error", err)
			return
		}
	}
}

func commitRound(ctx context.Context, c sinks.Catalog) error {
	seen, err := c.Observe(ctx, pair)
	if err != nil {
		return err
	}
	head := seen[pair[0]].Head(sinks.Main)
	round := int64(0)
	if s := seen[pair[0]].Snapshot(head); s != nil {
		round = s.Rows / 10
	}
	run := fmt.Sprintf("r%d-%d", round, os.Getpid())
	var moves []sinks.Move
	for _, name := range pair {
		base := seen[name].Head(sinks.Main)
		tx, err := c.Begin(ctx, sinks.Spec{Table: name, Schema: idOnly}, sinks.Base{Parent: base, Append: true, Run: run})
		if err != nil {
			return err
		}
		b := array.NewRecordBuilder(memory.DefaultAllocator, tx.Schema())
		for i := range int64(10) {
			b.Field(0).(*array.Int64Builder).Append(round*10 + i)
		}
		if err := tx.Write(ctx, b.NewRecordBatch()); err != nil {
			return err
		}
		s, err := tx.Stage(ctx, sinks.Stamp{Fingerprint: "1:aa", Run: run})
		if err != nil {
			return err
		}
		moves = append(moves, sinks.Move{Table: name, From: base, To: s.ID})
	}
	if err := c.Publish(ctx, sinks.Publication{Ref: sinks.Main, Moves: moves}); err != nil {
		return err
	}
	fmt.Println("published", moves[0].To, moves[1].To)
	return c.Release(ctx, run, pair)
}

// A process that commits in a loop is killed twenty times, each time at another moment of a round. After each kill both heads come
// from one publish, what was answered is there, the rows are exact, and the next process goes on.
func TestKilledWhileCommitting(t *testing.T) {
	l := newLake(t)
	published, kills := 0, 20
	for k := range kills {
		cmd := child(t, "commit", l)
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		lines := bufio.NewScanner(out)
		var last []string
		for lines.Scan() {
			words := strings.Fields(lines.Text())
			if len(words) != 3 || words[0] != "published" {
				_ = cmd.Process.Kill()
				t.Fatalf("after %d kills: %s", k, lines.Text())
			}
			if last == nil { // a round takes some 30 ms; the kills fall all over one
				time.AfterFunc(time.Duration(k)*2*time.Millisecond, func() { _ = cmd.Process.Kill() })
			}
			last = words[1:]
			published++
		}
		_ = cmd.Wait()
		c := l.open(t)
		seen, err := c.Observe(t.Context(), pair)
		if err != nil {
			t.Fatal(err)
		}
		a, b := seen[pair[0]], seen[pair[1]]
		ha, hb := a.Snapshot(a.Head(sinks.Main)), b.Snapshot(b.Head(sinks.Main))
		if ha == nil || hb == nil || ha.Rows != hb.Rows {
			t.Fatalf("kill %d: heads %+v and %+v are not of one publish", k, ha, hb)
		}
		if len(last) == 2 && (!within(a, ha, last[0]) || !within(b, hb, last[1])) {
			t.Fatalf("kill %d: publish %v was answered and is not in %s, %s", k, last, ha.ID, hb.ID)
		}
	}
	if published < kills {
		t.Errorf("only %d publishes in %d lives", published, kills)
	}
	c := l.open(t)
	for _, name := range pair {
		tab := look(t, c, name)
		head := tab.Snapshot(tab.Head(sinks.Main))
		if head.Rows < int64(published)*10 {
			t.Errorf("%s has %d rows after %d publishes of 10", name, head.Rows, published)
		}
		var got []int
		for _, line := range scan(t, c, name, head.ID) {
			var id int
			if _, err := fmt.Sscanf(line, `{"id":%d}`, &id); err != nil {
				t.Fatal(err)
			}
			got = append(got, id)
		}
		slices.Sort(got)
		if int64(len(got)) != head.Rows {
			t.Errorf("%s: %d rows are read, the metadata says %d", name, len(got), head.Rows)
		}
		for i, id := range got {
			if i != id {
				t.Fatalf("%s: row %d is %d: rows are lost or doubled", name, i, id)
			}
		}
	}
	t.Logf("%d publishes were answered in %d lives", published, kills)
}

// within reports whether id is s or below it.
func within(tab *sinks.Table, s *sinks.Snapshot, id string) bool {
	for ; s != nil; s = tab.Snapshot(s.Parent) {
		if string(s.ID) == id {
			return true
		}
	}
	return false
}
