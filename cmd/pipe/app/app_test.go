package app_test

import (
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// own is a program of somebody's own: the pipe command with one more kind of stage.
const own = `package main

import (
	"context"
	"fmt"

	"pipe/cmd/pipe/app"
	"pipe/stages"
)

func main() {
	app.Main(map[string]stages.Kind{
		"hello": {Version: 1, Run: func(ctx context.Context, t *stages.Task) error {
			fmt.Fprintln(t.Log, "hello from", t.Stage.Name)
			return nil
		}},
	})
}
`

// build makes the program in a module of its own, beside this one, without a network.
func build(t *testing.T) string {
	t.Helper()
	root, err := filepath.Abs("../../..")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	mod := read(t, filepath.Join(root, "go.mod"))
	mod = strings.Replace(mod, "module pipe\n", "module own\n", 1)
	mod += "\nrequire pipe v0.0.0-00010101000000-000000000000\n\nreplace pipe => " + root + "\n"
	put(t, filepath.Join(dir, "go.mod"), mod)
	put(t, filepath.Join(dir, "go.sum"), read(t, filepath.Join(root, "go.sum")))
	put(t, filepath.Join(dir, "main.go"), own)
	bin := filepath.Join(dir, "own")
	cmd := exec.Command("go", "build", "-o", bin, ".")
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GOFLAGS=-mod=mod", "GOPROXY=off", "GOWORK=off")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	return bin
}

func read(t *testing.T, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func put(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
}

// project makes a folder with a pipeline.yaml.
func project(t *testing.T, text string) string {
	t.Helper()
	dir := t.TempDir()
	put(t, filepath.Join(dir, "pipeline.yaml"), text)
	return dir
}

func TestAProgramOfOnesOwn(t *testing.T) {
	bin := build(t)

	t.Run("its kind of stage runs", func(t *testing.T) {
		dir := project(t, "stages:\n  greet:\n    use: hello\n")
		out, err := exec.Command(bin, "-C", dir, "repro").CombinedOutput()
		if err != nil || !strings.Contains(string(out), "greet | hello from greet\n") {
			t.Fatalf("%v\n%s", err, out)
		}
	})

	t.Run("built-in kinds are there too", func(t *testing.T) {
		dir := project(t, "stages:\n  a:\n    cmd: echo from a shell\n")
		out, err := exec.Command(bin, "-C", dir, "repro").CombinedOutput()
		if err != nil || !strings.Contains(string(out), "a | from a shell\n") {
			t.Fatalf("%v\n%s", err, out)
		}
	})

	t.Run("it names the versions that it was built from", func(t *testing.T) {
		out, err := exec.Command(bin, "--json", "version").Output()
		if err != nil {
			t.Fatal(err)
		}
		var v map[string]string
		if err := json.Unmarshal(out, &v); err != nil {
			t.Fatal(err)
		}
		if v["version"] != "devel" || !strings.HasPrefix(v["arrow_go"], "v18.") || !strings.HasPrefix(v["iceberg_go"], "v0.") {
			t.Errorf("%v", v)
		}
	})

	t.Run("the first signal ends a run with status 130", func(t *testing.T) {
		for _, sig := range []os.Signal{os.Interrupt, syscall.SIGTERM} {
			dir := project(t, "stages:\n  a:\n    cmd: touch started; sleep 60\n")
			cmd := exec.Command(bin, "-C", dir, "repro")
			var talk strings.Builder
			cmd.Stderr = &talk
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			await(t, filepath.Join(dir, "started"))
			if err := cmd.Process.Signal(sig); err != nil {
				t.Fatal(err)
			}
			err := cmd.Wait()
			if cmd.ProcessState.ExitCode() != 130 || !strings.Contains(talk.String(), "interrupted") {
				t.Errorf("%s: %v\n%s", sig, err, talk.String())
			}
		}
	})

	t.Run("a reader that goes away is no failure", func(t *testing.T) {
		dir := project(t, "stages:\n  a:\n    cmd: echo\n")
		r, w, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		cmd := exec.Command(bin, "-C", dir, "status")
		cmd.Stdout = w
		if err := errors.Join(r.Close(), cmd.Start(), w.Close()); err != nil {
			t.Fatal(err)
		}
		if err := cmd.Wait(); err != nil {
			t.Error(err)
		}
	})
}

// await returns once the file is there.
func await(t *testing.T, path string) {
	t.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for {
		if _, err := os.Stat(path); err == nil {
			return
		}
		select {
		case <-tick.C:
		case <-t.Context().Done():
			t.Fatal("the stage did not start")
		}
	}
}
