// Command bench measures pipe and what it is compared with, in one run on one machine, and writes the tables of bench/RESULTS.md:
//
//	make bench                  all of it, some 20 minutes
//	BENCH_SMOKE=1 make bench    everything once, tiny, and no report: shows that the benchmark works
//
// Figures are medians; what is compared is run in turn (a, b, a, b ...), so that a machine that slows down slows both. It never
// touches a project: everything is made in a temporary folder.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// config is what a run is asked for.
type config struct {
	pipe, python string
	report       string // "" for none
	work         string
	sizes        []int // stages of the no-op projects
	rows         int   // of the write benchmark
	reps         int   // counted runs of each command
	cmdStages    int   // trivial stages whose overhead is measured
	only         map[string]bool
}

func main() {
	var c config
	flag.StringVar(&c.pipe, "pipe", "bin/pipe", "the command")
	flag.StringVar(&c.python, "python", ".venv/bin/python", "a Python with the packages of interop/requirements.txt")
	flag.StringVar(&c.report, "report", "", "the file to write the tables to")
	rows := flag.Int("rows", 5_000_000, "rows of the write benchmark")
	reps := flag.Int("reps", 5, "counted runs of each command")
	only := flag.String("only", "noop,cmd,write", "which parts")
	most := flag.Int("stages", 10_000, "of the largest project without anything to do")
	flag.Parse()
	c.rows, c.reps, c.cmdStages = *rows, *reps, 200
	for n := 10; n <= *most; n *= 10 {
		c.sizes = append(c.sizes, n)
	}
	c.only = map[string]bool{}
	for part := range strings.SplitSeq(*only, ",") {
		c.only[part] = true
	}
	if os.Getenv("BENCH_SMOKE") != "" {
		c.rows, c.reps, c.cmdStages, c.sizes, c.report = 20_000, 1, 5, []int{3, 10}, ""
	}
	if err := c.run(context.Background()); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func (c *config) run(ctx context.Context) error {
	for _, p := range []*string{&c.pipe, &c.python} {
		abs, err := filepath.Abs(*p)
		if err != nil {
			return err
		}
		*p = abs
	}
	// Not below the repository: what it ignores, pipe refuses to work in.
	work, err := os.MkdirTemp("", "pipe-bench-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(work)
	c.work = work
	out := &report{began: time.Now(), load: load()}
	parts := []struct {
		name string
		do   func(context.Context, *report) error
	}{{"noop", c.noop}, {"cmd", c.trivial}, {"write", c.write}}
	for _, p := range parts {
		if !c.only[p.name] {
			continue
		}
		if err := p.do(ctx, out); err != nil {
			return fmt.Errorf("%s: %w", p.name, err)
		}
	}
	fmt.Print(out.text.String())
	if c.report == "" {
		return nil
	}
	return os.WriteFile(c.report, []byte(out.page(c)), 0o644)
}
