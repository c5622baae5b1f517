package command

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"pipe/internal/diag"
)

// ownGroup puts a child into a group of its own, to be signalled as one, and has the kernel kill it when pipe dies.
func ownGroup() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}

// startOf tells a process from a later one with its number: the boot, the clock ticks since it, and the run. "" if it is gone.
func startOf(pid int, run string) string {
	p, ok := readStat(pid)
	if !ok {
		return ""
	}
	return boot() + " " + p.started + " " + run
}

func boot() string {
	b, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return "-"
	}
	return strings.TrimSpace(string(b))
}

// stat is what /proc tells of a process.
type stat struct {
	state   byte
	group   int
	started string // clock ticks since boot
}

func (s stat) alive() bool { return s.state != 'Z' && s.state != 'X' }

func readStat(pid int) (stat, bool) {
	b, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "stat"))
	if err != nil {
		return stat{}, false
	}
	// The second field is the program's name in parentheses, which may hold anything.
	rest := strings.Fields(string(b[bytes.LastIndexByte(b, ')')+1:]))
	if len(rest) < 20 {
		return stat{}, false
	}
	group, err := strconv.Atoi(rest[2])
	return stat{state: rest[0][0], group: group, started: rest[19]}, err == nil
}

// members lists the processes of a group that still run.
func members(group int) []int {
	names, err := filepath.Glob("/proc/[0-9]*")
	if err != nil {
		return nil
	}
	var pids []int
	for _, name := range names {
		pid, err := strconv.Atoi(filepath.Base(name))
		if err != nil {
			continue
		}
		if s, ok := readStat(pid); ok && s.group == group && s.alive() {
			pids = append(pids, pid)
		}
	}
	return pids
}

// groupAlive looks at the processes one by one only if the group exists: it may consist of zombies that nobody collects, as in a
// container whose first process does not.
func groupAlive(pid int) bool {
	if errors.Is(syscall.Kill(-pid, 0), syscall.ESRCH) {
		return false
	}
	return len(members(pid)) > 0
}

// EndGroup kills what a run that died left running, given what Task.Started was told. A process that only has the number, because
// the system gave it away again, is left alone. It returns nil if nothing runs any more; a *diag.Error if something cannot be ended.
func EndGroup(ctx context.Context, pid int, start string) error {
	fields := strings.SplitN(start, " ", 3)
	if pid <= 1 || len(fields) != 3 || fields[0] != boot() {
		return nil
	}
	ours := func(member int) bool {
		if leader, ok := readStat(pid); ok {
			return leader.started == fields[1]
		}
		// The kernel killed the shell with pipe. What it had started says in its environment for which run.
		env, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(member), "environ"))
		return err == nil && bytes.Contains(append([]byte{0}, env...), []byte("\x00PIPE_RUN="+fields[2]+"\x00"))
	}
	end := time.After(ending)
	tick := time.NewTicker(polling)
	defer tick.Stop()
	for {
		left := 0
		for _, m := range members(pid) {
			if ours(m) {
				left++
				_ = syscall.Kill(m, syscall.SIGKILL)
			}
		}
		if left == 0 {
			return nil
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-end:
			return (&diag.Error{
				Exit: diag.Broken, Msg: fmt.Sprintf("%d processes of the run before this one do not end (group %d)", left, pid),
			}).With("end them by hand: kill -9 -- -%d", pid)
		}
	}
}
