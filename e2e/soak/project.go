package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"sort"
	"strings"
	"time"
)

// project is a copy of the root example.
type project struct{ dir, pipe string }

func (p project) copyFrom(dir string) error {
	if err := os.Mkdir(p.dir, 0o755); err != nil {
		return err
	}
	for _, name := range []string{"pipeline.yaml", "params.yaml", "by_type.sh"} {
		b, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(p.dir, name), b, 0o755); err != nil {
			return err
		}
	}
	return nil
}

// edit replaces the params and adds to the script.
func (p project) edit(params, script string) error {
	if err := os.WriteFile(filepath.Join(p.dir, "params.yaml"), []byte(params), 0o644); err != nil {
		return err
	}
	f, err := os.OpenFile(filepath.Join(p.dir, "by_type.sh"), os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = f.WriteString(script)
	return errors.Join(err, f.Close())
}

func (p project) command(args ...string) *exec.Cmd {
	cmd := exec.Command(p.pipe, args...)
	cmd.Dir = p.dir
	cmd.Env = append(os.Environ(), "NO_COLOR=1")
	return cmd
}

func (p project) output(args ...string) ([]byte, error) {
	var stdout, stderr bytes.Buffer
	cmd := p.command(args...)
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		return nil, fmt.Errorf("pipe %s: %w\n%s", strings.Join(args, " "), err, stderr.String())
	}
	return stdout.Bytes(), nil
}

func (p project) repro() error {
	_, err := p.output("repro")
	return err
}

// killAfter starts a run and kills it a while after something holds; false if it had ended by itself.
func (p project) killAfter(holds func() bool, wait time.Duration) (bool, error) {
	var stderr bytes.Buffer
	cmd := p.command("repro")
	cmd.Stderr = &stderr
	cmd.WaitDelay = time.Second // a program of a stage may hold the pipe a little longer
	if err := cmd.Start(); err != nil {
		return false, err
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	err := killWhen(cmd.Process, ended, holds, wait)
	var exit *exec.ExitError
	switch {
	case err == nil:
		return false, nil
	case errors.As(err, &exit) && exit.ExitCode() == -1:
		return true, nil
	}
	return false, fmt.Errorf("a run that was to be killed failed by itself: %w\n%s", err, stderr.String())
}

// killWhen kills and gives how the process ended, which it may do before.
func killWhen(process *os.Process, ended <-chan error, holds func() bool, wait time.Duration) error {
	for !holds() {
		select {
		case err := <-ended:
			return err
		case <-time.After(time.Millisecond):
		}
	}
	select {
	case err := <-ended:
		return err
	case <-time.After(wait):
	}
	if err := process.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return err
	}
	return <-ended
}

// state is all that must be equal in the two projects.
type state struct {
	lock   string            // without ids of snapshots and runs
	status string            // likewise
	tables map[string]string // the rows as JSON, sorted
	rows   int
}

var ids = regexp.MustCompile(`("?snapshot"?: *)"[0-9]+"|("head_by": ").*"`)

func (p project) state() (state, error) {
	s := state{tables: map[string]string{}}
	lock, err := os.ReadFile(filepath.Join(p.dir, "pipeline.lock"))
	if err != nil {
		return s, err
	}
	s.lock = ids.ReplaceAllString(string(lock), "${1}${2}...")
	status, err := p.output("--json", "status")
	if err != nil {
		return s, err
	}
	s.status = ids.ReplaceAllString(string(status), "${1}${2}...")
	for _, table := range []string{"prod.events", "prod.events_by_type"} {
		rows, err := p.rows(table)
		if err != nil {
			return s, err
		}
		s.rows += len(rows)
		s.tables[table] = strings.Join(rows, "\n")
	}
	return s, nil
}

func (p project) rows(table string) ([]string, error) {
	out, err := p.output("--json", "show", table, "--limit", "1000000000")
	if err != nil {
		return nil, err
	}
	var shown struct {
		Rows   int               `json:"rows"`
		Sample []json.RawMessage `json:"sample"`
	}
	if err := json.Unmarshal(out, &shown); err != nil {
		return nil, err
	}
	if shown.Rows != len(shown.Sample) {
		return nil, fmt.Errorf("%s has %d rows in its metadata and %d when read", table, shown.Rows, len(shown.Sample))
	}
	rows := make([]string, len(shown.Sample))
	for i, r := range shown.Sample {
		rows[i] = string(r)
	}
	sort.Strings(rows)
	return rows, nil
}

// files names all that is in the warehouse, so that a kill that came too early to change anything is told from one that did.
func (p project) files() (string, error) {
	var names []string
	err := filepath.WalkDir(filepath.Join(p.dir, ".pipe", "warehouse"), func(path string, _ fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		names = append(names, path)
		return err
	})
	return strings.Join(names, "\n"), err
}
