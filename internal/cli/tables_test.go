package cli_test

import (
	"context"
	"database/sql"
	"encoding/json"
	"os"
	"strconv"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	ice "github.com/apache/iceberg-go"
	icesql "github.com/apache/iceberg-go/catalog/sql"
	"github.com/apache/iceberg-go/table"
	"github.com/rogpeppe/go-internal/testscript"
)

// shown runs pipe show.
func shown(ts *testscript.TestScript, name string) (rows int64, sample []map[string]any) {
	ts.Check(ts.Exec("pipe", "show", name, "--json"))
	var v struct {
		Rows   int64
		Sample []map[string]any
	}
	d := json.NewDecoder(strings.NewReader(ts.ReadFile("stdout")))
	d.UseNumber()
	ts.Check(d.Decode(&v))
	return v.Rows, v.Sample
}

// rows TABLE N wants N rows at the head, or at TABLE@SNAPSHOT.
func tableRows(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) != 2 {
		ts.Fatalf("usage: rows TABLE N")
	}
	got, _ := shown(ts, args[0])
	if (strconv.FormatInt(got, 10) == args[1]) == neg {
		ts.Fatalf("%s has %d rows", args[0], got)
	}
}

// cell TABLE COLUMN VALUE wants a value in the only row of a table.
func tableCell(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) != 3 {
		ts.Fatalf("usage: cell TABLE COLUMN VALUE")
	}
	_, sample := shown(ts, args[0])
	if len(sample) != 1 {
		ts.Fatalf("%s has %d rows, want 1", args[0], len(sample))
	}
	var got string
	switch x := sample[0][args[1]].(type) {
	case json.Number:
		got = x.String()
	case string:
		got = x
	}
	if (got == args[2]) == neg {
		ts.Fatalf("%s of %s is %q", args[1], args[0], got)
	}
}

// other opens a table as another engine does: with the library alone.
func other(ts *testscript.TestScript, name string) *table.Table {
	path := ts.MkAbs(".pipe/catalog.db")
	if _, err := os.Stat(path); err != nil {
		path = ts.MkAbs("../lake/catalog.db")
	}
	db, err := sql.Open("sqlite", "file:"+path+"?_pragma=busy_timeout(10000)")
	ts.Check(err)
	ts.Defer(func() { _ = db.Close() })
	cat, err := icesql.NewCatalog("lake", db, icesql.SQLite, ice.Properties{})
	ts.Check(err)
	i := strings.LastIndexByte(name, '.')
	t, err := cat.LoadTable(context.Background(), table.Identifier{name[:i], name[i+1:]})
	ts.Check(err)
	return t
}

// snapshots TABLE N wants N live snapshots.
func tableSnapshots(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) != 2 {
		ts.Fatalf("usage: snapshots TABLE N")
	}
	got := len(other(ts, args[0]).Metadata().Snapshots())
	if (strconv.Itoa(got) == args[1]) == neg {
		ts.Fatalf("%s has %d snapshots", args[0], got)
	}
}

// foreign append|compact|rollback TABLE does to a table's head what another engine, or an operator, does.
func foreign(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: foreign append|compact|rollback TABLE")
	}
	ctx := context.Background()
	t := other(ts, args[1])
	switch args[0] {
	case "append":
		s, err := table.SchemaToArrowSchema(t.Schema(), nil, true, false)
		ts.Check(err)
		b, _, err := array.RecordFromJSON(memory.DefaultAllocator, s, strings.NewReader(`[{"id": -1, "v": -1}]`))
		ts.Check(err)
		r, err := array.NewRecordReader(s, []arrow.RecordBatch{b})
		ts.Check(err)
		_, err = t.Append(ctx, r, nil)
		ts.Check(err)
	case "compact":
		tasks, err := t.Scan().PlanFiles(ctx)
		ts.Check(err)
		_, err = t.RewriteDataFiles(ctx, []table.CompactionTaskGroup{{Tasks: tasks}}, table.RewriteDataFilesOptions{})
		ts.Check(err)
		if op := other(ts, args[1]).CurrentSnapshot().Summary.Operation; op != table.OpReplace {
			ts.Fatalf("a compaction is recorded as %s", op)
		}
	case "rollback":
		tx := t.NewTransaction()
		ts.Check(tx.RollbackToSnapshot(*t.CurrentSnapshot().ParentSnapshotID))
		_, err := tx.Commit(ctx)
		ts.Check(err)
	default:
		ts.Fatalf("foreign %s is not known", args[0])
	}
}
