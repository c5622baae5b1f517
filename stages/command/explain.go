package command

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"syscall"
	"time"

	"pipe/internal/diag"
	"pipe/pipeline"
)

// explain says how a script ended: which one, its status or signal, after how long, and the last lines that it printed.
func explain(s *pipeline.Stage, i int, err error) error {
	var x *exit
	if !errors.As(err, &x) {
		return err
	}
	e := &diag.Error{Exit: diag.Failed, Pos: cmdPos(s, i), Stage: s.Name, Err: err}
	after := "after " + duration(x.after)
	switch {
	case x.state == nil && errors.Is(x.cause, context.Canceled):
		e.Exit, e.Msg = diag.Interrupted, item(s, i)+" was not started: the run was stopped"
	case x.state == nil:
		e.Msg = fmt.Sprintf("%s could not start: %v", item(s, i), x.cause)
	case errors.Is(x.cause, context.Canceled):
		e.Exit, e.Msg = diag.Interrupted, fmt.Sprintf("%s was stopped %s", item(s, i), after)
	case errors.Is(x.cause, context.DeadlineExceeded):
		limit := time.Duration(s.Timeout * float64(time.Second))
		e.Msg, e.Hint = fmt.Sprintf("%s ran longer than its timeout of %s", item(s, i), duration(limit)), "give the stage a longer timeout"
	case x.cause != nil:
		e.Msg = fmt.Sprintf("%s was stopped %s: %v", item(s, i), after, x.cause)
	default:
		status, ok := x.state.Sys().(syscall.WaitStatus)
		if ok && status.Signaled() {
			e.Msg = fmt.Sprintf("%s was killed by signal %s %s", item(s, i), signalName(status.Signal()), after)
			e.Hint = killHint(status.Signal())
			break
		}
		e.Msg = fmt.Sprintf("%s ended with exit status %d %s", item(s, i), x.state.ExitCode(), after)
		e.Hint = statusHint(x.state.ExitCode())
	}
	if x.tail != "" {
		e.Msg += "; its last lines:\n" + x.tail
	}
	return e
}

func statusHint(code int) string {
	switch {
	case code == 126:
		return "126: a file was found that cannot be run; chmod +x it, and look at its first line (#!)"
	case code == 127:
		return "127: a program was not found; install it, or write ./ before one that lies in the stage's folder"
	case code == 128+int(syscall.SIGPIPE):
		return "141: a program wrote into a pipe whose reader, like head, had ended; let the reader read to the end (sed -n 1,10p), or write: set +o pipefail"
	case code > 128 && code < 128+65:
		signal := syscall.Signal(code - 128)
		hint := fmt.Sprintf("%d: a program was killed by signal %s", code, signalName(signal))
		if more := killHint(signal); more != "" {
			hint += "; " + more
		}
		return hint
	}
	return ""
}

func killHint(s syscall.Signal) string {
	if s == syscall.SIGKILL {
		return "the system kills programs that take too much memory"
	}
	return ""
}

func signalName(s syscall.Signal) string {
	for name, n := range map[string]syscall.Signal{
		"HUP": syscall.SIGHUP, "INT": syscall.SIGINT, "QUIT": syscall.SIGQUIT, "ILL": syscall.SIGILL, "TRAP": syscall.SIGTRAP,
		"ABRT": syscall.SIGABRT, "BUS": syscall.SIGBUS, "FPE": syscall.SIGFPE, "KILL": syscall.SIGKILL, "USR1": syscall.SIGUSR1,
		"SEGV": syscall.SIGSEGV, "USR2": syscall.SIGUSR2, "PIPE": syscall.SIGPIPE, "ALRM": syscall.SIGALRM, "TERM": syscall.SIGTERM,
		"XCPU": syscall.SIGXCPU, "XFSZ": syscall.SIGXFSZ, "SYS": syscall.SIGSYS,
	} {
		if n == s {
			return name
		}
	}
	return fmt.Sprintf("%d", int(s))
}

// duration is rounded to what a reader wants to know.
func duration(d time.Duration) string {
	switch {
	case d < time.Second:
		return d.Round(time.Millisecond).String()
	case d < time.Minute:
		return d.Round(100 * time.Millisecond).String()
	}
	return strings.TrimSuffix(d.Round(time.Second).String(), "0s")
}
