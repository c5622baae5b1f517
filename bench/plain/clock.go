// Package plain is what the Go programs of the write benchmark share: rows in memory, a clock around the write, and a writer of plain
// Parquet. It never imports pipe, so that a program with nothing else has the libraries as they come.
package plain

import (
	"syscall"
	"time"
)

// Line is what one run says; times in seconds, memory in MB.
type Line struct {
	Rows   int64   `json:"rows"`
	Wall   float64 `json:"wall"`
	CPU    float64 `json:"cpu"`
	Before float64 `json:"rss_before"` // peak memory before the clock started
	RSS    float64 `json:"rss"`
	MB     float64 `json:"out_mb"`
}

// Clock measures this process from Start to Stop.
type Clock struct {
	began       time.Time
	cpu, before float64
}

// Start starts the clock.
func Start() Clock {
	cpu, rss := usage()
	return Clock{time.Now(), cpu, rss}
}

// Stop stops it.
func (c Clock) Stop(rows int64) *Line {
	wall := time.Since(c.began).Seconds()
	cpu, rss := usage()
	return &Line{Rows: rows, Wall: wall, CPU: cpu - c.cpu, Before: c.before, RSS: rss}
}

func usage() (cpu, rss float64) {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0, 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano()).Seconds(), float64(u.Maxrss) / 1024
}
