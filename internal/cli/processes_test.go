package cli_test

import (
	"errors"
	"os"
	"strconv"
	"strings"
	"syscall"

	"github.com/rogpeppe/go-internal/testscript"
)

// alive FILE wants the process whose number stands in FILE to run. One that has ended and that nobody has collected does not.
func processAlive(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) != 1 {
		ts.Fatalf("usage: alive FILE")
	}
	pid, err := strconv.Atoi(strings.TrimSpace(ts.ReadFile(args[0])))
	ts.Check(err)
	runs := !errors.Is(syscall.Kill(pid, 0), syscall.ESRCH)
	if text, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/status"); err == nil && strings.Contains(string(text), "\nState:\tZ") {
		runs = false
	}
	if runs == neg {
		ts.Fatalf("process %d runs: %v", pid, runs)
	}
}
