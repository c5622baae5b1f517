// Package command is the stage kind "cmd": programs of the user, run by a shell. Table deps are offered to them as files, table
// outs are collected from a folder that they write into.
//
// It never interprets what a program prints, and leaves no process behind.
package command

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"pipe/internal/diag"
	"pipe/pipeline"
	"pipe/stages"
)

// defaultShell runs a script so that the first failing command, also inside a pipe, fails it, and no file of the user's counts.
func defaultShell() []string {
	return []string{"bash", "--noprofile", "--norc", "-eo", "pipefail", "-c"}
}

// Kind is the kind "cmd".
func Kind() stages.Kind {
	k := &kind{now: time.Now, found: map[string]error{}}
	return stages.Kind{Version: 1, Check: k.check, Run: k.run}
}

type kind struct {
	now   func() time.Time
	mu    sync.Mutex
	found map[string]error // a shell is looked up once, not once a stage
}

func (k *kind) check(s *pipeline.Stage) diag.List {
	var all diag.List
	if len(s.Cmd) == 0 {
		all = append(all, diag.Errorf(s.Pos, "cmd is empty: expected a script, or a list of scripts"))
	}
	for i, script := range s.Cmd {
		if strings.TrimSpace(script) == "" {
			all = append(all, diag.Errorf(cmdPos(s, i), "%s is empty: expected a script", item(s, i)))
		}
		if strings.IndexByte(script, 0) >= 0 {
			all = append(all, diag.Errorf(cmdPos(s, i), "%s holds a NUL character, which no shell takes", item(s, i)))
		}
	}
	if s.Shell != nil && len(s.Shell) == 0 {
		return append(all, diag.Errorf(s.Pos, "shell is empty: expected a program and its arguments").With("write shell: [sh, -e, -c]"))
	}
	if err := k.lookUp(shellOf(s)[0]); err != nil {
		all = append(all, noShell(s))
	}
	return all
}

func (k *kind) lookUp(program string) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	err, ok := k.found[program]
	if !ok {
		_, err = exec.LookPath(program)
		k.found[program] = err
	}
	return err
}

func noShell(s *pipeline.Stage) *diag.Error {
	program := shellOf(s)[0]
	if s.Shell == nil {
		return diag.Errorf(s.Pos, "there is no %s on PATH to run cmd", program).
			With("install %s, or name another shell: shell: [sh, -e, -c]", program)
	}
	return diag.Errorf(s.Pos, "the shell %q is not on PATH", program).With("install it, or name another one: shell: [sh, -e, -c]")
}

func shellOf(s *pipeline.Stage) []string {
	if s.Shell == nil {
		return defaultShell()
	}
	return s.Shell
}

// item names a script in an error: "cmd", or "cmd[1]" of a list.
func item(s *pipeline.Stage, i int) string {
	if len(s.Cmd) == 1 {
		return "cmd"
	}
	return fmt.Sprintf("cmd[%d]", i)
}

func cmdPos(s *pipeline.Stage, i int) diag.Pos {
	if i < len(s.CmdPos) {
		return s.CmdPos[i]
	}
	return s.Pos
}

func (k *kind) run(ctx context.Context, t *stages.Task) error {
	dir := t.Stage.Dir
	if !filepath.IsAbs(dir) {
		dir = filepath.Join(t.Root, filepath.FromSlash(dir))
	}
	if info, err := os.Stat(dir); err != nil || !info.IsDir() {
		return &diag.Error{
			Exit: diag.Failed, Pos: t.Stage.Pos, Stage: t.Stage.Name, Err: err,
			Msg: fmt.Sprintf("wdir %s is no folder", t.Stage.Dir), Hint: "make it: mkdir -p " + t.Stage.Dir,
		}
	}
	ins, err := offer(ctx, t)
	if err != nil {
		return err
	}
	outs, err := makeOutFolders(t)
	if err != nil {
		return err
	}
	environ, err := environment(t, ins, outs)
	if err != nil {
		return err
	}
	for i, script := range t.Stage.Cmd {
		p := process{
			argv: append(append([]string{}, shellOf(t.Stage)...), script), dir: dir, environ: environ,
			log: t.Log, secrets: secretValues(t), started: t.Started, run: t.Run, now: k.now,
		}
		if err := p.do(ctx); err != nil {
			return explain(t.Stage, i, err)
		}
	}
	if err := untouched(ins); err != nil {
		return err
	}
	return collect(ctx, t, outs)
}
