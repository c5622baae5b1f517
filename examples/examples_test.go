package examples

import (
	"bytes"
	"encoding/json"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// project is a copy of an example, with the command built from this tree.
type project struct {
	t         *testing.T
	dir, pipe string
}

func open(t *testing.T, name string) project {
	t.Helper()
	p := project{t, t.TempDir(), filepath.Join(t.TempDir(), "pipe")}
	if out, err := exec.Command("go", "build", "-o", p.pipe, "pipe/cmd/pipe").CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	err := filepath.WalkDir(name, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.Name() == "pipeline.lock" {
			return err
		}
		if d.IsDir() && d.Name() == ".pipe" {
			return fs.SkipDir
		}
		rel, err := filepath.Rel(name, path)
		if err != nil {
			return err
		}
		to := filepath.Join(p.dir, rel)
		if d.IsDir() {
			return os.MkdirAll(to, 0o755)
		}
		b, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		return os.WriteFile(to, b, 0o644)
	})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func (p project) run(args ...string) string {
	p.t.Helper()
	var stdout, stderr bytes.Buffer
	cmd := exec.Command(p.pipe, args...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = p.dir, &stdout, &stderr
	cmd.Env = append(os.Environ(), "NO_COLOR=1", "PIPE_DIR=")
	if err := cmd.Run(); err != nil {
		p.t.Fatalf("pipe %s: %v\n%s%s", strings.Join(args, " "), err, stdout.String(), stderr.String())
	}
	return stdout.String()
}

func (p project) edit(file, from, to string) {
	p.t.Helper()
	b, err := os.ReadFile(filepath.Join(p.dir, file))
	if err != nil {
		p.t.Fatal(err)
	}
	if !strings.Contains(string(b), from) {
		p.t.Fatalf("%s has no %q", file, from)
	}
	if err := os.WriteFile(filepath.Join(p.dir, file), []byte(strings.Replace(string(b), from, to, 1)), 0o644); err != nil {
		p.t.Fatal(err)
	}
}

// rows gives all rows of a table, as JSON has them.
func (p project) rows(table string) []map[string]any {
	p.t.Helper()
	var shown struct {
		Rows   int
		Sample []map[string]any
	}
	if err := json.Unmarshal([]byte(p.run("--json", "show", table, "--limit", "1000000")), &shown); err != nil {
		p.t.Fatal(err)
	}
	if shown.Rows != len(shown.Sample) {
		p.t.Errorf("%s: %d rows, %d shown", table, shown.Rows, len(shown.Sample))
	}
	return shown.Sample
}

// results gives the outcome of each stage of a run.
func (p project) results() map[string]string {
	p.t.Helper()
	var ran struct {
		Stages []struct{ Name, Result string }
	}
	if err := json.Unmarshal([]byte(p.run("--json", "repro")), &ran); err != nil {
		p.t.Fatal(err)
	}
	out := map[string]string{}
	for _, s := range ran.Stages {
		out[s.Name] = s.Result
	}
	return out
}

// The counts are those that Python's csv module finds in data/planes.csv; the README of the example names them.
func TestPlanes(t *testing.T) {
	p := open(t, "planes")
	if diff := cmp.Diff(map[string]string{"planes": "ran", "planes_by_maker": "ran"}, p.results()); diff != "" {
		t.Fatalf("first run (-want +got):\n%s", diff)
	}
	planes := p.rows("air.planes")
	if len(planes) != 3322 {
		t.Errorf("%d planes, want 3322", len(planes))
	}
	nulls := map[string]int{}
	for _, r := range planes {
		for column, v := range r {
			if v == nil {
				nulls[column]++
			}
		}
	}
	if diff := cmp.Diff(map[string]int{"year": 70, "speed": 3299}, nulls); diff != "" {
		t.Errorf("NULLs (-want +got):\n%s", diff)
	}
	if got := find(planes, "tailnum", "N10156"); !cmp.Equal(got, map[string]any{
		"tailnum": "N10156", "year": 2004.0, "type": "Fixed wing multi engine", "manufacturer": "EMBRAER", "model": "EMB-145XR",
		"engines": 2.0, "seats": 55.0, "speed": nil, "engine": "Turbo-fan",
	}) {
		t.Errorf("N10156 is %v", got)
	}

	makers := p.rows("air.planes_by_maker")
	if len(makers) != 35 {
		t.Errorf("%d makers, want 35", len(makers))
	}
	total := map[string]float64{}
	for _, m := range makers {
		for _, column := range []string{"planes", "seats", "without_year", "without_speed"} {
			total[column] += m[column].(float64)
		}
	}
	if diff := cmp.Diff(map[string]float64{"planes": 3322, "seats": 512639, "without_year": 70, "without_speed": 3299}, total); diff != "" {
		t.Errorf("sums over makers (-want +got):\n%s", diff)
	}
	for maker, n := range map[string]float64{"BOEING": 1630, "AIRBUS INDUSTRIE": 400, "EMBRAER": 299, "MARZ BARRY": 1} {
		if got := find(makers, "manufacturer", maker)["planes"]; got != n {
			t.Errorf("%s has %v planes, want %v", maker, got, n)
		}
	}

	if got := p.run("repro"); got != "Up to date: 2 stages.\n" {
		t.Errorf("second run said %q", got)
	}
	p.edit("params.yaml", "least: 1", "least: 100")
	if diff := cmp.Diff(map[string]string{"planes": "up to date", "planes_by_maker": "ran"}, p.results()); diff != "" {
		t.Errorf("after another param (-want +got):\n%s", diff)
	}
	if got := len(p.rows("air.planes_by_maker")); got != 7 {
		t.Errorf("%d makers of 100 planes or more, want 7", got)
	}
}

func find(rows []map[string]any, column, value string) map[string]any {
	for _, r := range rows {
		if r[column] == value {
			return r
		}
	}
	return nil
}
