//go:build unix && !linux

package command

import (
	"context"
	"errors"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
)

// ownGroup puts a child into a group of its own, to be signalled as one.
func ownGroup() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }

// startOf tells a process from a later one with its number. "" if it is gone.
func startOf(pid int, run string) string {
	out, err := exec.Command("ps", "-o", "lstart=", "-p", strconv.Itoa(pid)).Output()
	if err != nil {
		return ""
	}
	return strings.Join(strings.Fields(string(out)), " ")
}

func groupAlive(pid int) bool { return !errors.Is(syscall.Kill(-pid, 0), syscall.ESRCH) }

// EndGroup kills what a run that died left running, given what Task.Started was told. A process that only has the number, because
// the system gave it away again, is left alone.
func EndGroup(_ context.Context, pid int, start string) error {
	if pid <= 1 || start == "" || startOf(pid, "") != start {
		return nil
	}
	if err := syscall.Kill(-pid, syscall.SIGKILL); err != nil && !errors.Is(err, syscall.ESRCH) {
		return err
	}
	return nil
}
