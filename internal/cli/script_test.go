package cli_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"pipe/cmd/pipe/app"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"pipe": func() { app.Main(nil) }})
}

// TestScripts runs the real command in testdata/script, each script in a folder of its own. Beside the usual commands there are
//
//	exits N COMMAND...        runs a command and wants exit status N
//	json FILE PATH VALUE      wants a value in a JSON file (or stdout): json stdout stages.0.status stale
//	lines FILE N              wants N lines
//	rows TABLE N, cell TABLE COLUMN VALUE, snapshots TABLE N, foreign append|compact|rollback TABLE: see tables_test.go
//	alive FILE                wants the process whose number stands in FILE to run
//
// PIPE_UPDATE_SCRIPTS=1 rewrites what cmp compares with.
func TestScripts(t *testing.T) {
	home := t.TempDir()
	config := "[init]\n\tdefaultBranch = main\n[user]\n\tname = a\n\temail = a@example.org\n[advice]\n\tdetachedHead = false\n"
	if err := os.WriteFile(filepath.Join(home, ".gitconfig"), []byte(config), 0o666); err != nil {
		t.Fatal(err)
	}
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata/script",
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		UpdateScripts:       os.Getenv("PIPE_UPDATE_SCRIPTS") != "",
		Setup: func(e *testscript.Env) error {
			e.Setenv("HOME", home)
			e.Setenv("GIT_CONFIG_NOSYSTEM", "1")
			e.Setenv("GIT_EDITOR", "true")
			e.Setenv("NO_COLOR", "")
			// Else a repository around the test's folder would be found.
			e.Setenv("GIT_CEILING_DIRECTORIES", filepath.Dir(e.WorkDir))
			return nil
		},
		Cmds: map[string]func(ts *testscript.TestScript, neg bool, args []string){
			"exits": exits,
			"json":  jsonValue,
			"lines": lines,

			"rows":      tableRows,
			"cell":      tableCell,
			"snapshots": tableSnapshots,
			"foreign":   foreign,
			"alive":     processAlive,
		},
	})
}

func exits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits N COMMAND...")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	err = ts.Exec(args[1], args[2:]...)
	got := 0
	var e *exec.ExitError
	switch {
	case errors.As(err, &e):
		got = e.ExitCode()
	case err != nil:
		ts.Fatalf("%v", err)
	}
	if got != want {
		ts.Fatalf("exit status %d, want %d", got, want)
	}
}

func jsonValue(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) != 3 {
		ts.Fatalf("usage: json FILE PATH VALUE")
	}
	var v any
	d := json.NewDecoder(strings.NewReader(ts.ReadFile(args[0])))
	d.UseNumber()
	ts.Check(d.Decode(&v))
	for part := range strings.SplitSeq(args[1], ".") {
		switch x := v.(type) {
		case map[string]any:
			v = x[part]
		case []any:
			if part == "len" {
				v = len(x)
				continue
			}
			i, err := strconv.Atoi(part)
			if err != nil || i >= len(x) {
				ts.Fatalf("no element %s of %d", part, len(x))
			}
			v = x[i]
		default:
			v = nil
		}
	}
	if got := fmt.Sprint(v); (got == args[2]) == neg {
		ts.Fatalf("%s is %s", args[1], got)
	}
}

func lines(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) != 2 {
		ts.Fatalf("usage: lines FILE N")
	}
	want, err := strconv.Atoi(args[1])
	ts.Check(err)
	if got := strings.Count(ts.ReadFile(args[0]), "\n"); (got == want) == neg {
		ts.Fatalf("%d lines", got)
	}
}
