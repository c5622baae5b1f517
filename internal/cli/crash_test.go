package cli_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"pipe/internal/failpoint"
)

// shapes are the projects that are killed: what a stage does to its tables decides which steps are at risk.
var shapes = map[string]string{
	"append": `
stages:
  a:
    use: generate
    with: {rows: "${n}", seed: 1, columns: {id: {seq: 1}, v: {int: [1, 9]}}}
    outs: [{table: m.t, mode: append}]
`,
	"replace": `
stages:
  a:
    use: generate
    with: {rows: "${n}", seed: 1, columns: {id: {seq: 1}, v: {int: [1, 9]}}}
    outs: [{table: m.t}]
`,
	"two tables of one stage": `
stages:
  a:
    cmd: |
      { echo id; seq 1 ${n}; } > "$PIPE_OUT_M_T/1.csv"
      { echo n; echo ${n}; } > "$PIPE_OUT_M_U/1.csv"
    outs:
      - {table: m.t, mode: append, schema: {id: long required}}
      - {table: m.u, schema: {n: long required}}
`,
	"three stages and a file": `
stages:
  a:
    use: generate
    with: {rows: "${n}", seed: 1, columns: {id: {seq: 1}}}
    outs: [{table: m.t, mode: append}]
  b:
    cmd: wc -l < "$PIPE_IN_M_T" > count.txt
    deps: [{table: m.t, format: csv}]
    outs: [count.txt]
  c:
    cmd: '{ echo n; cat count.txt; } > "$PIPE_OUT_M_U/1.csv"'
    deps: [count.txt]
    outs: [{table: m.u, schema: {n: long required}}]
`,
}

var points = []string{
	failpoint.RowsWritten, failpoint.Staged, failpoint.Staged + ":2", failpoint.Journaled, failpoint.Published, failpoint.Pinned,
	failpoint.LockSaved, failpoint.JournalRemoved, failpoint.RunReleased,
}

// build makes the command as users have it: what is killed here is a process, and hundreds of them start, which takes several times
// as long under the race detector.
func build(t *testing.T) string {
	t.Helper()
	bin := filepath.Join(t.TempDir(), "pipe")
	if out, err := exec.Command("go", "build", "-o", bin, "pipe/cmd/pipe").CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	return bin
}

// project is a project in a folder of its own.
type project struct {
	t   *testing.T
	bin string
	dir string
}

func newProject(t *testing.T, bin, pipeline string) project {
	p := project{t, bin, t.TempDir()}
	p.write("pipeline.yaml", pipeline)
	p.write("params.yaml", "n: 500\n")
	return p
}

func (p project) write(name, text string) {
	p.t.Helper()
	if err := os.WriteFile(filepath.Join(p.dir, name), []byte(text), 0o644); err != nil {
		p.t.Fatal(err)
	}
}

func (p project) command(env []string, args ...string) *exec.Cmd {
	cmd := exec.Command(p.bin, args...)
	cmd.Dir = p.dir
	cmd.Env = append(os.Environ(), env...)
	return cmd
}

func (p project) run(args ...string) string {
	p.t.Helper()
	out, err := p.command(nil, args...).CombinedOutput()
	if err != nil {
		p.t.Fatalf("pipe %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return string(out)
}

// killed runs pipe with a failpoint and reports whether it was killed there.
func (p project) killed(point string, args ...string) bool {
	p.t.Helper()
	out, err := p.command([]string{failpoint.Env + "=" + point}, args...).CombinedOutput()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		if exit.Sys().(syscall.WaitStatus).Signal() == syscall.SIGKILL {
			return true
		}
		p.t.Fatalf("pipe %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return false
}

var ids = regexp.MustCompile(`snapshot: "\d+"`)

// end is what a project has come to: its lock without snapshot ids, its files, and the rows of its tables.
func (p project) end() string {
	p.t.Helper()
	lock, err := os.ReadFile(filepath.Join(p.dir, "pipeline.lock"))
	if err != nil {
		p.t.Fatal(err)
	}
	out := ids.ReplaceAllString(string(lock), `snapshot: "..."`)
	if count, err := os.ReadFile(filepath.Join(p.dir, "count.txt")); err == nil {
		out += "count.txt: " + string(count)
	}
	for _, table := range []string{"m.t", "m.u"} {
		if !strings.Contains(out, "table: "+table+"\n") {
			continue
		}
		var shown struct {
			Rows    int64
			Summary map[string]string
		}
		if err := json.Unmarshal([]byte(p.run("show", table, "--json")), &shown); err != nil {
			p.t.Fatal(err)
		}
		out += fmt.Sprintf("%s: %d rows, digest %s\n", table, shown.Rows, shown.Summary["pipe.digest"])
	}
	return out
}

// twin is what an undisturbed project of the same shape and edits comes to.
func twin(t *testing.T, bin, pipeline string) string {
	p := newProject(t, bin, pipeline)
	p.run("repro")
	p.write("params.yaml", "n: 700\n")
	p.run("repro")
	return p.end()
}

// A run that is killed at any durable step, and then run again, ends with the rows, digests and lock of an undisturbed one: nothing
// is lost and nothing is there twice.
func TestKilledAtEachStep(t *testing.T) {
	bin := build(t)
	for shape, pipeline := range shapes {
		t.Run(shape, func(t *testing.T) {
			want := twin(t, bin, pipeline)
			var mu sync.Mutex
			reached := map[string]bool{}
			kill := func(p project, point string) {
				if p.killed(point, "repro") {
					mu.Lock()
					defer mu.Unlock()
					reached[point] = true
				}
			}
			t.Run("at", func(t *testing.T) {
				for _, point := range points {
					t.Run(point, func(t *testing.T) {
						t.Parallel()
						p := newProject(t, bin, pipeline)
						kill(p, point)
						p.run("repro")
						p.write("params.yaml", "n: 700\n")
						kill(p, point)
						p.run("repro")
						if got := p.end(); got != want {
							t.Errorf("after the kill:\n%s\nundisturbed:\n%s", got, want)
						}
						if out := p.run("repro"); !strings.Contains(out, "Up to date") {
							t.Errorf("one more run did something:\n%s", out)
						}
					})
				}
			})
			for _, point := range points {
				// Heads that move are pinned by the publish itself, and one table is staged once.
				if !reached[point] && point != failpoint.Pinned && point != failpoint.Staged+":2" {
					t.Errorf("no run came to %s", point)
				}
			}
		})
	}
}

// Kills at random moments, of the whole process, end the same way. PIPE_KILLS says how many are made.
func TestKilledAtRandom(t *testing.T) {
	kills := 8
	if n, err := strconv.Atoi(os.Getenv("PIPE_KILLS")); err == nil {
		kills = n
	}
	bin, shape := build(t), shapes["three stages and a file"]
	want := twin(t, bin, shape)
	began := time.Now()
	newProject(t, bin, shape).run("repro")
	whole := time.Since(began)
	hit := 0
	for i := range kills {
		p := newProject(t, bin, shape)
		p.run("repro")
		p.write("params.yaml", "n: 700\n")
		cmd := p.command(nil, "repro")
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		kill := time.AfterFunc(time.Duration(rand.Int64N(int64(whole))), func() { _ = cmd.Process.Kill() })
		err := cmd.Wait()
		kill.Stop()
		if err != nil {
			hit++
		}
		p.run("repro")
		if got := p.end(); got != want {
			t.Errorf("kill %d (%v):\n%s\nundisturbed:\n%s", i, err, got, want)
		}
	}
	t.Logf("%d of %d runs were killed before their end", hit, kills)
}
