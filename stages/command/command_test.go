package command

import (
	"bytes"
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
	"github.com/google/go-cmp/cmp"

	"pipe/internal/diag"
	"pipe/pipeline"
	"pipe/stages"
)

// table is a table out that keeps what it is given.
type table struct {
	mu     sync.Mutex
	schema *arrow.Schema
	rows   []string // "a=1 b=NULL", in the order of writing
}

func (w *table) Write(_ context.Context, batch arrow.RecordBatch) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	for i := range int(batch.NumRows()) {
		var cells []string
		for j, c := range batch.Columns() {
			text := c.ValueStr(i)
			if c.IsNull(i) {
				text = "NULL"
			}
			cells = append(cells, batch.ColumnName(j)+"="+text)
		}
		w.rows = append(w.rows, strings.Join(cells, " "))
	}
	return nil
}

// given is one stage in a project of its own.
type given struct {
	*stages.Task
	log    *bytes.Buffer
	tables map[string]*table
}

func stage(t *testing.T, cmd ...string) *given {
	t.Helper()
	s := &pipeline.Stage{Name: "s", Kind: "cmd", Cmd: cmd, Dir: ".", Pos: diag.Pos{File: "pipeline.yaml", Line: 3, Col: 3}}
	for i := range cmd {
		s.CmdPos = append(s.CmdPos, diag.Pos{File: "pipeline.yaml", Line: 4 + i, Col: 10})
	}
	g := &given{log: &bytes.Buffer{}, tables: map[string]*table{}}
	g.Task = &stages.Task{
		Stage: s, Run: "01RUN", Root: t.TempDir(), Scratch: t.TempDir(), Log: g.log,
		Environ: []string{"PATH=" + os.Getenv("PATH"), "HOME=/nowhere"}, Threads: 2,
	}
	return g
}

func (g *given) out(name string) *stages.TableOut {
	w := &table{}
	g.tables[name] = w
	o := &stages.TableOut{
		Out: pipeline.Out{Table: name},
		Open: func(_ context.Context, s *arrow.Schema) (stages.Writer, error) {
			w.schema = s
			return w, nil
		},
	}
	g.Outs = append(g.Outs, o)
	return o
}

func (g *given) do(t *testing.T) error {
	t.Helper()
	return Kind().Run(t.Context(), g.Task)
}

func (g *given) ok(t *testing.T) {
	t.Helper()
	if err := g.do(t); err != nil {
		t.Fatalf("%v\nlog: %s", err, g.log)
	}
}

func (g *given) fails(t *testing.T) *diag.Error {
	t.Helper()
	err := g.do(t)
	all := diag.All(err)
	if len(all) == 0 {
		t.Fatalf("no error; log: %s", g.log)
	}
	if all[0].Stage != "s" || all[0].Pos.File == "" {
		t.Errorf("the error names no stage or place: %+v", all[0])
	}
	return all[0]
}

func TestWhatACommandSees(t *testing.T) {
	g := stage(t, `printenv PIPE_ROOT PIPE_STAGE PIPE_RUN PIPE_PARAMS DVC_ROOT DVC_STAGE SET TAKEN SECRET; pwd; printenv NOT_SET PIPE_OUT_OLD PIPE_IN_OLD || true; ls -A "$PIPE_OUT_A_B_C"`)
	if err := os.Mkdir(filepath.Join(g.Root, "sub"), 0o755); err != nil {
		t.Fatal(err)
	}
	g.Stage.Dir = "sub"
	g.Params = map[string]any{"report": map[string]any{"top": 3}}
	g.Stage.Env = []pipeline.EnvVar{{Name: "SET", Value: "a b"}, {Name: "TAKEN", Inherit: true}, {Name: "NOT_SET", Inherit: true}}
	g.Stage.Secrets = []string{"SECRET"}
	g.Environ = append(g.Environ, "TAKEN=from the caller", "SECRET=hunter2", "SET=not this", "PIPE_ROOT=/outer", "PIPE_OUT_OLD=/outer", "PIPE_IN_OLD=/outer")
	g.out("a.b-c")
	err := g.do(t)
	if err == nil || !strings.Contains(err.Error(), "made no file for table a.b-c in $PIPE_OUT_A_B_C") {
		t.Errorf("got %v", err)
	}
	root, err := filepath.EvalSymlinks(g.Root)
	if err != nil {
		t.Fatal(err)
	}
	want := strings.Join([]string{
		g.Root, "s", "01RUN", `{"report":{"top":3}}`, g.Root, "s", "a b", "from the caller", "***", filepath.Join(root, "sub"), "",
	}, "\n")
	if diff := cmp.Diff(want, g.log.String()); diff != "" {
		t.Error(diff)
	}
}

func TestEachItemHasAShellOfItsOwn(t *testing.T) {
	g := stage(t, "X=1; cd /; echo one", "echo \"${X-unset}\"\nif true; then\n  pwd\nfi")
	g.ok(t)
	root, err := filepath.EvalSymlinks(g.Root)
	if err != nil {
		t.Fatal(err)
	}
	if want := "one\nunset\n" + root + "\n"; g.log.String() != want {
		t.Errorf("got %q, want %q", g.log, want)
	}
}

func TestTheFirstFailureEndsTheStage(t *testing.T) {
	for _, c := range []struct {
		name, script, msg, hint, log string
	}{
		{"exit status", "echo started; exit 3", "cmd[1] ended with exit status 3 after ", "", "first\nstarted\n"},
		{"a command in the middle", "false; echo never", "cmd[1] ended with exit status 1 after ", "", "first\n"},
		{"inside a pipe", "false | cat; echo never", "cmd[1] ended with exit status 1 after ", "", "first\n"},
		{"program not found", "nosuchprogram", "exit status 127 after ", "127: a program was not found", ""},
		{"not executable", "/dev/null", "exit status 126 after ", "126: a file was found that cannot be run", ""},
		{"closed pipe", "yes | head -1", "exit status 141 after ", "141: a program wrote into a pipe whose reader", "first\ny\n"},
		{"killed", "kill -KILL $$", "cmd[1] was killed by signal KILL after ", "too much memory", "first\n"},
		{"a child was killed", "sh -c 'kill -SEGV $$'; echo never", "exit status 139 after ", "139: a program was killed by signal SEGV", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			g := stage(t, "echo first", c.script, "echo last")
			e := g.fails(t)
			if !strings.Contains(e.Msg, c.msg) || !strings.Contains(e.Hint, c.hint) || e.Exit != diag.Failed {
				t.Errorf("got exit %d, %q, hint %q", e.Exit, e.Msg, e.Hint)
			}
			if e.Pos.Line != 5 {
				t.Errorf("at %s, want the line of the second item", e.Pos)
			}
			if c.log != "" && g.log.String() != c.log {
				t.Errorf("log %q, want %q", g.log, c.log)
			}
			if strings.Contains(g.log.String(), "last") || strings.Contains(g.log.String(), "never") {
				t.Errorf("it went on: %s", g.log)
			}
		})
	}
}

func TestTheErrorShowsTheLastLines(t *testing.T) {
	g := stage(t, `for i in $(seq 1 50); do echo "out $i"; echo "err $i" >&2; done; printf 'caf\xe9 without an end'; exit 1`)
	e := g.fails(t)
	_, tail, ok := strings.Cut(e.Msg, "; its last lines:\n")
	lines := strings.Split(tail, "\n")
	if !ok || len(lines) != 20 || lines[0] != "  err 41" || lines[19] != "  caf\uFFFD without an end" {
		t.Errorf("got %q", e.Msg)
	}
	if !strings.HasSuffix(g.log.String(), "err 50\ncaf\xe9 without an end") {
		t.Errorf("the log ends with %q: bytes must stay as they were", g.log.String()[g.log.Len()-40:])
	}
}

// counter counts bytes, and looks whether each write ends with a line.
type counter struct {
	bytes  int
	broken int
}

func (c *counter) Write(p []byte) (int, error) {
	c.bytes += len(p)
	if p[len(p)-1] != '\n' {
		c.broken++
	}
	return len(p), nil
}

func TestALotOfOutputPassesInWholeLines(t *testing.T) {
	g := stage(t, `head -c 100000000 /dev/zero | tr '\0' 'x' | fold -w 99`)
	c := &counter{}
	g.Log = c
	g.ok(t)
	// 100 MB in lines of 99 bytes: 1,010,101 of them and a last line of one byte that fold leaves open.
	if want := 100_000_000 + 1_010_101; c.bytes != want || c.broken > 1 {
		t.Errorf("%d bytes, %d broken writes; want %d and one", c.bytes, c.broken, want)
	}
}

func TestLinesArePassedOnWhenTheyEnd(t *testing.T) {
	var b bytes.Buffer
	o := &output{to: &b}
	for _, step := range []struct{ in, seen string }{
		{"a\nb\nc", "a\nb\n"}, {"d", "a\nb\n"}, {"\n", "a\nb\ncd\n"}, {"e", "a\nb\ncd\n"},
	} {
		if _, err := o.Write([]byte(step.in)); err != nil || b.String() != step.seen {
			t.Errorf("after %q: %q, want %q (%v)", step.in, b.String(), step.seen, err)
		}
	}
	if o.flush(); b.String() != "a\nb\ncd\ne" {
		t.Errorf("at the end: %q", b.String())
	}
}

func TestStdinIsEmpty(t *testing.T) {
	g := stage(t, "cat; echo done")
	g.ok(t)
	if g.log.String() != "done\n" {
		t.Errorf("got %q", g.log)
	}
}

func TestShellOfTheStage(t *testing.T) {
	g := stage(t, "echo $0 $1")
	g.Stage.Shell = []string{"sh", "-e", "-c"}
	g.ok(t)
	if got := g.log.String(); got != "sh\n" {
		t.Errorf("got %q", got)
	}
}

func TestWdirMustExist(t *testing.T) {
	g := stage(t, "true")
	g.Stage.Dir = "nowhere"
	if e := g.fails(t); e.Msg != "wdir nowhere is no folder" || e.Hint != "make it: mkdir -p nowhere" {
		t.Errorf("got %q, hint %q", e.Msg, e.Hint)
	}
}

func TestMissingSecret(t *testing.T) {
	g := stage(t, "true")
	g.Stage.Secrets = []string{"TOKEN"}
	if e := g.fails(t); e.Msg != "the secret TOKEN is not set in the environment" || e.Hint != "run: export TOKEN=..." {
		t.Errorf("got %q, hint %q", e.Msg, e.Hint)
	}
}

func TestParamsThatNoVariableHolds(t *testing.T) {
	g := stage(t, "true")
	g.Params = map[string]any{"long": strings.Repeat("x", 128<<10)}
	if e := g.fails(t); !strings.Contains(e.Msg, "the variable PIPE_PARAMS is 131") {
		t.Errorf("got %q", e.Msg)
	}
}

func TestTimeout(t *testing.T) {
	g := stage(t, "echo waiting; sleep 300")
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	err := Kind().Run(ctx, g.Task)
	e := diag.All(err)[0]
	if e.Exit != diag.Failed || !errors.Is(err, context.DeadlineExceeded) || e.Hint != "give the stage a longer timeout" ||
		!strings.HasSuffix(e.Msg, "; its last lines:\n  waiting") {
		t.Errorf("got %v, hint %q", err, e.Hint)
	}
}

// A process substitution is not waited for by bash, and its output counts.
func TestWhatOutlivesTheShellForAMomentIsWaitedFor(t *testing.T) {
	g := stage(t, `echo data > >(exec > late 2>&1; sleep 0.3; cat)`)
	g.ok(t)
	b, err := os.ReadFile(filepath.Join(g.Root, "late"))
	if err != nil || string(b) != "data\n" {
		t.Errorf("got %q, %v", b, err)
	}
}

func TestStartedNamesTheGroup(t *testing.T) {
	g := stage(t, "echo $$")
	var pid int
	var start string
	g.Started = func(p int, s string) { pid, start = p, s }
	g.ok(t)
	if g.log.String() != fmt.Sprintf("%d\n", pid) || start == "" {
		t.Errorf("told of %d (%q), the shell was %s", pid, start, g.log)
	}
}

func TestCheck(t *testing.T) {
	k := Kind()
	at := diag.Pos{File: "pipeline.yaml", Line: 3, Col: 5}
	for _, c := range []struct {
		name  string
		stage pipeline.Stage
		want  []string
	}{
		{"right", pipeline.Stage{Cmd: []string{"true"}}, nil},
		{"no script", pipeline.Stage{Pos: at}, []string{"pipeline.yaml:3:5: cmd is empty: expected a script, or a list of scripts"}},
		{
			"empty item",
			pipeline.Stage{Cmd: []string{"true", " \n"}, CmdPos: []diag.Pos{at, {File: "pipeline.yaml", Line: 5, Col: 9}}},
			[]string{"pipeline.yaml:5:9: cmd[1] is empty: expected a script"},
		},
		{"NUL", pipeline.Stage{Cmd: []string{"a\x00b"}, Pos: at}, []string{"pipeline.yaml:3:5: cmd holds a NUL character, which no shell takes"}},
		{"unknown shell", pipeline.Stage{Cmd: []string{"true"}, Shell: []string{"nosuchshell", "-c"}, Pos: at}, []string{`pipeline.yaml:3:5: the shell "nosuchshell" is not on PATH`}},
		{"empty shell", pipeline.Stage{Cmd: []string{"true"}, Shell: []string{}, Pos: at}, []string{"pipeline.yaml:3:5: shell is empty: expected a program and its arguments"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			var got []string
			for _, e := range k.Check(&c.stage) {
				got = append(got, e.Error())
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestNoBash(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	all := Kind().Check(&pipeline.Stage{Cmd: []string{"true"}})
	if len(all) != 1 || all[0].Msg != "there is no bash on PATH to run cmd" || all[0].Exit != diag.Usage ||
		all[0].Hint != "install bash, or name another shell: shell: [sh, -e, -c]" {
		t.Errorf("got %+v", all)
	}
}
