// Command pqwrite is the Go side of the write benchmark. Each run does one thing and prints one line of JSON about it:
//
//	pqwrite make    -rows N FILE     writes the rows of the root example's stage `events`, as an Arrow file
//	pqwrite generate -rows N         makes them and throws them away
//	pqwrite pqarrow  FILE FOLDER     plain Parquet: two writers, zstd level 1, the codec in Go
//	pqwrite pqarrow-c FILE FOLDER    the same with the codec that package iceberg uses
//	pqwrite digest   FILE            the digest of the rows alone
//	pqwrite pipe     FILE FOLDER     pipe's write path: digest, Iceberg snapshot, publish
//
// The input is in memory before the clock starts. It never writes outside the folder that it is given.
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"syscall"
	"time"
)

// line is what one run says; times in seconds, memory in MB.
type line struct {
	Rows   int64   `json:"rows"`
	Wall   float64 `json:"wall"`
	CPU    float64 `json:"cpu"`
	Before float64 `json:"rss_before"` // peak memory before the clock started
	RSS    float64 `json:"rss"`
	MB     float64 `json:"out_mb"`
}

func main() {
	l, err := run(context.Background(), os.Args[1:])
	if err == nil {
		err = json.NewEncoder(os.Stdout).Encode(l)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "pqwrite:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) (*line, error) {
	if len(args) == 0 {
		return nil, fmt.Errorf("no mode, see the package's comment")
	}
	set := flag.NewFlagSet(args[0], flag.ContinueOnError)
	rows := set.Int64("rows", 1_000_000, "")
	project := set.String("project", ".", "the folder of the pipeline that has the stage")
	if err := set.Parse(args[1:]); err != nil {
		return nil, err
	}
	switch mode := args[0]; mode {
	case "make":
		return makeFile(ctx, *project, *rows, set.Arg(0))
	case "generate":
		return generateOnly(ctx, *project, *rows)
	case "pqarrow", "pqarrow-c", "digest", "pipe":
		in, err := read(set.Arg(0))
		if err != nil {
			return nil, err
		}
		switch mode {
		case "digest":
			return digestOnly(in)
		case "pipe":
			return writePipe(ctx, in, set.Arg(1))
		}
		return writePlain(ctx, in, set.Arg(1), mode == "pqarrow-c")
	}
	return nil, fmt.Errorf("no mode %q", args[0])
}

// clock measures this process from start to stop.
type clock struct {
	began       time.Time
	cpu, before float64
}

func start() clock {
	cpu, rss := usage()
	return clock{time.Now(), cpu, rss}
}

func (c clock) stop(rows int64) *line {
	wall := time.Since(c.began).Seconds()
	cpu, rss := usage()
	return &line{Rows: rows, Wall: wall, CPU: cpu - c.cpu, Before: c.before, RSS: rss}
}

func usage() (cpu, rss float64) {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0, 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano()).Seconds(), float64(u.Maxrss) / 1024
}
