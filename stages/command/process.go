//go:build unix

package command

import (
	"context"
	"io"
	"os"
	"os/exec"
	"runtime"
	"syscall"
	"time"
)

// How long processes get to end by themselves: after the shell has ended (`> >(gzip > x.gz)` ends later than its shell), and after
// they were told to.
const (
	lingering = 5 * time.Second
	ending    = 5 * time.Second
	draining  = time.Second // for the output of a process that left the group
	polling   = 10 * time.Millisecond
)

// process is one script in its shell.
type process struct {
	argv    []string
	dir     string
	environ []string
	log     io.Writer
	secrets [][]byte
	started func(pid int, start string)
	run     string // the run's id
	now     func() time.Time
}

// exit is how a script ended that did not end well.
type exit struct {
	state *os.ProcessState // nil: it never started
	cause error            // why it did not start, or why it was stopped
	after time.Duration
	tail  string
}

func (e *exit) Error() string {
	if e.cause != nil {
		return e.cause.Error()
	}
	return e.state.String()
}

func (e *exit) Unwrap() error { return e.cause }

// do runs the script and waits for all processes of its group. The error is an *exit.
func (p *process) do(ctx context.Context) error {
	if ctx.Err() != nil {
		return &exit{cause: context.Cause(ctx)}
	}
	path, err := exec.LookPath(p.argv[0])
	if err != nil {
		return &exit{cause: err}
	}
	r, w, err := os.Pipe()
	if err != nil {
		return &exit{cause: err}
	}
	defer r.Close()
	cmd := &exec.Cmd{Path: path, Args: p.argv, Dir: p.dir, Env: p.environ, Stdout: w, Stderr: w, SysProcAttr: ownGroup()}
	begun := p.now()
	start, done := launch(cmd, p.run)
	s := <-start
	w.Close()
	if s.err != nil {
		return &exit{cause: s.err}
	}
	if p.started != nil && s.at != "" {
		p.started(cmd.Process.Pid, s.at)
	}
	out := &output{to: p.log, secrets: p.secrets}
	copied := make(chan struct{})
	go func() {
		defer close(copied)
		_, _ = io.Copy(out, r) // ends at the last writer's end, or by the deadline below
	}()
	stopped := waitGroup(ctx, cmd.Process.Pid, done)
	select {
	case <-copied:
	case <-time.After(draining):
		_ = r.SetReadDeadline(p.now())
		<-copied
	}
	out.flush()
	state := cmd.ProcessState
	switch {
	case ctx.Err() != nil && (stopped || !state.Success()):
		return &exit{state: state, cause: context.Cause(ctx), after: p.now().Sub(begun), tail: out.last()}
	case !state.Success():
		return &exit{state: state, after: p.now().Sub(begun), tail: out.last()}
	}
	return nil
}

type launched struct {
	at  string // when the process started, for EndGroup
	err error
}

// launch starts cmd and waits for it on a thread of its own: where the system kills a child with its parent, the parent is the
// thread that started it.
func launch(cmd *exec.Cmd, run string) (<-chan launched, <-chan struct{}) {
	start, done := make(chan launched, 1), make(chan struct{})
	go func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		defer close(done)
		if err := cmd.Start(); err != nil {
			start <- launched{err: err}
			return
		}
		start <- launched{at: startOf(cmd.Process.Pid, run)} // before Wait, which frees the pid
		_ = cmd.Wait()                                       // the state tells
	}()
	return start, done
}

// waitGroup returns when the shell has ended and its group is gone; on a cancel, and for what lingers, it ends the group. It
// reports whether it had to stop the shell.
func waitGroup(ctx context.Context, pid int, done <-chan struct{}) (stopped bool) {
	select {
	case <-done:
	case <-ctx.Done():
		stopped = true
	}
	if !stopped && gone(ctx, pid, lingering) {
		return false
	}
	_ = syscall.Kill(-pid, syscall.SIGTERM)
	select {
	case <-done:
		if gone(context.WithoutCancel(ctx), pid, ending) {
			return stopped
		}
	case <-time.After(ending):
	}
	_ = syscall.Kill(-pid, syscall.SIGKILL)
	<-done
	return stopped
}

// gone waits for a group to end, up to a limit.
func gone(ctx context.Context, pid int, limit time.Duration) bool {
	if !groupAlive(pid) {
		return true
	}
	tick := time.NewTicker(polling)
	defer tick.Stop()
	end := time.After(limit)
	for {
		select {
		case <-tick.C:
			if !groupAlive(pid) {
				return true
			}
		case <-end:
			return false
		case <-ctx.Done():
			return false
		}
	}
}
