// Package failpoint ends the process at named moments, so that tests of crashes are real kills: no deferred call runs, no buffer is
// flushed, and the system drops the locks. It does nothing unless the environment variable PIPE_FAILPOINT is set.
//
// It never returns an error and never simulates anything.
package failpoint

import (
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// The moments, in the order of a run. At each of them what the name says has happened durably and nothing that follows it.
const (
	RowsWritten    = "rows-written"    // a stage's data files are written, no snapshot names them
	Staged         = "staged"          // a stage's snapshots are on the run's ref
	Journaled      = "journaled"       // the journal is written
	Published      = "published"       // the heads of one catalog are moved
	Pinned         = "pinned"          // the published snapshots are tagged
	LockSaved      = "lock-saved"      // pipeline.lock is replaced
	JournalRemoved = "journal-removed" // the journal is gone
	RunReleased    = "run-released"    // the run's refs are dropped
)

const (
	// Env holds names joined by commas, each with the number of the hit that counts: "staged", "staged:2".
	Env = "PIPE_FAILPOINT"
	// EnvFile, if set, names a file that is made at the moment instead of the kill; the process then stands still until the file
	// is removed, so that a test can do something in between, or kill it.
	EnvFile = "PIPE_FAILPOINT_FILE"
)

type point struct {
	at   int64 // the hit that counts
	hits atomic.Int64
}

var armed = sync.OnceValue(func() map[string]*point { return parse(os.Getenv(Env)) })

func parse(text string) map[string]*point {
	if text == "" {
		return nil
	}
	points := map[string]*point{}
	for _, word := range strings.Split(text, ",") {
		name, count, _ := strings.Cut(strings.TrimSpace(word), ":")
		at, err := strconv.ParseInt(count, 10, 64)
		if err != nil || at < 1 {
			at = 1
		}
		points[name] = &point{at: at}
	}
	return points
}

// Hit kills the process with SIGKILL if the environment asks for it at this moment, and else returns at once. Safe for several
// goroutines.
func Hit(name string) {
	p := armed()[name]
	if p == nil || p.hits.Add(1) != p.at {
		return
	}
	if file := os.Getenv(EnvFile); file != "" {
		wait(file)
		return
	}
	die()
}

// wait makes the file and returns when it is gone. A file that cannot be made would let the test pass without its moment.
func wait(file string) {
	if err := os.WriteFile(file, nil, 0o644); err != nil {
		die()
	}
	for {
		if _, err := os.Stat(file); err != nil {
			return
		}
		time.Sleep(5 * time.Millisecond)
	}
}

func die() {
	if p, err := os.FindProcess(os.Getpid()); err == nil {
		_ = p.Kill()
	}
	select {} // the signal is on its way
}
