package main

import (
	"fmt"
	"os"
	"runtime"
	"strings"
	"time"
)

// report collects tables as they are measured.
type report struct {
	text  strings.Builder
	began time.Time
	load  string
	start sample // of the process, as last measured
	cols  int
}

// table starts a table under a heading.
func (r *report) table(title string, heads ...string) *report {
	fmt.Fprintf(&r.text, "\n## %s\n\n", title)
	r.cols = len(heads)
	cells := make([]any, len(heads))
	for i, h := range heads {
		cells[i] = h
	}
	r.row(cells...)
	r.text.WriteString("|" + strings.Repeat(" --- |", len(heads)) + "\n")
	return r
}

func (r *report) row(cells ...any) {
	r.text.WriteString("|")
	for _, c := range cells {
		fmt.Fprintf(&r.text, " %v |", c)
	}
	r.text.WriteString("\n")
}

func (r *report) note(format string, args ...any) {
	fmt.Fprintf(&r.text, "\n"+format+"\n", args...)
}

// page is the whole of RESULTS.md.
func (r *report) page(c *config) string {
	return fmt.Sprintf("# Results\n\nMade by `go run ./bench -reps %d -rows %d -stages %d`, as `make bench` does, on %s: %s, %d cores, %s of memory, %s. Medians of %d runs, in turn; %s in all.\n"+
		"Load of the machine (an idle one's is below 0.5): %s before, %s after. Another machine gives other figures, and the same one's differ by\n"+
		"some 10%% from run to run, wall times by far more where the load before was not low: compare within a table only.\n%s",
		c.reps, c.rows, c.sizes[len(c.sizes)-1], r.began.UTC().Format("2006-01-02"), runtime.GOOS+"/"+runtime.GOARCH, runtime.NumCPU(), memory(), runtime.Version(), c.reps,
		time.Since(r.began).Round(time.Minute), r.load, load(), r.text.String())
}

// load gives the mean number of processes that wanted a core over the last minute, as Linux tells it.
func load() string {
	b, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return "unknown"
	}
	first, _, _ := strings.Cut(string(b), " ")
	return first
}

// memory gives the machine's memory in words, as Linux tells it.
func memory() string {
	b, err := os.ReadFile("/proc/meminfo")
	if err != nil {
		return "some"
	}
	var kb int64
	if _, err := fmt.Sscanf(string(b), "MemTotal: %d kB", &kb); err != nil {
		return "some"
	}
	return fmt.Sprintf("%.0f GB", float64(kb)/(1<<20))
}
