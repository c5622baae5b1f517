package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"
)

// peer is one way to write the same rows.
type peer struct {
	name string
	args func(file, dir string) []string
	base bool // the ratios are to this one
}

// line is what the Go and Python sides print about themselves; see pqwrite.
type line struct {
	Rows   int64   `json:"rows"`
	Wall   float64 `json:"wall"`
	CPU    float64 `json:"cpu"`
	Before float64 `json:"rss_before"`
	RSS    float64 `json:"rss"`
	MB     float64 `json:"out_mb"`
}

// write times the generator, and the write path beside plain Parquet writers and PyIceberg.
func (c *config) write(ctx context.Context, out *report) error {
	bin, bare := filepath.Join(c.work, "pqwrite"), filepath.Join(c.work, "pqplain")
	if _, err := command(ctx, ".", nil, "go", "build", "-o", c.work, "./bench/pqwrite", "./bench/pqplain"); err != nil {
		return err
	}
	file := filepath.Join(c.work, "events.arrow")
	rows := fmt.Sprint(c.rows)
	if _, err := command(ctx, ".", nil, bin, "make", "-rows", rows, file); err != nil {
		return err
	}
	python := func(script string) func(file, dir string) []string {
		return func(file, dir string) []string {
			return []string{c.python, filepath.Join("bench", "peers", script), file, dir}
		}
	}
	program := func(mode string) func(file, dir string) []string {
		return func(file, dir string) []string { return []string{bin, mode, file, dir} }
	}
	peers := []peer{
		{name: "pipe: digest, Iceberg snapshot, publish", args: program("pipe")},
		{name: "plain pqarrow, the same settings and codec", args: program("pqarrow"), base: true},
		{name: "plain pqarrow, zstd in Go", args: func(file, dir string) []string { return []string{bare, file, dir} }},
		{name: "pyarrow write_table, zstd 1", args: python("write_pyarrow.py")},
		{name: "PyIceberg append", args: python("write_pyiceberg.py")},
		{name: "(the digest alone)", args: program("digest")},
	}
	lines := make([][]line, len(peers))
	for r := range c.reps {
		for i := range peers {
			p := peers[(i+r)%len(peers)]
			l, err := c.once(ctx, p, file)
			if err != nil {
				return err
			}
			at := (i + r) % len(peers)
			lines[at] = append(lines[at], l)
		}
	}
	base := middle(lines[slices.IndexFunc(peers, func(p peer) bool { return p.base })])
	t := out.table("Writing "+rows+" events", "writer", "M rows/s", "ratio", "CPU-s per M rows", "ratio", "MB beside the input", "file MB")
	for i, p := range peers {
		l := middle(lines[i])
		speed := func(l line) float64 { return float64(l.Rows) / l.Wall / 1e6 }
		cpu := func(l line) float64 { return l.CPU / float64(l.Rows) * 1e6 }
		t.row(p.name, fmt.Sprintf("%.2f", speed(l)), fmt.Sprintf("%.2f", speed(l)/speed(base)), fmt.Sprintf("%.2f", cpu(l)),
			fmt.Sprintf("%.2f", cpu(l)/cpu(base)), fmt.Sprintf("%.0f", l.RSS-l.Before), fmt.Sprintf("%.0f", l.MB))
	}
	t.note("The rows are those of the root example (uuid, long, text of four values, timestamp, JSON text), in memory before the clock starts; only the write is timed, its commit and fsyncs included. Ratios are to plain pqarrow.")
	return c.generate(ctx, out, bin, rows)
}

func (c *config) once(ctx context.Context, p peer, file string) (line, error) {
	dir := filepath.Join(c.work, "written")
	if err := os.RemoveAll(dir); err != nil {
		return line{}, err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return line{}, err
	}
	_, text, err := output(ctx, ".", nil, p.args(file, dir)...)
	if err != nil {
		return line{}, err
	}
	var l line
	if err := json.Unmarshal(text, &l); err != nil {
		return l, fmt.Errorf("%s said %q: %w", p.name, text, err)
	}
	if l.Rows != int64(c.rows) {
		return l, fmt.Errorf("%s wrote %d rows, want %d", p.name, l.Rows, c.rows)
	}
	return l, os.RemoveAll(dir)
}

// middle gives the run whose wall time is in the middle, with the middle CPU time and the largest memory.
func middle(all []line) line {
	byWall := slices.SortedFunc(slices.Values(all), func(a, b line) int { return compare(a.Wall, b.Wall) })
	m := byWall[len(byWall)/2]
	cpus := make([]float64, len(all))
	for i, l := range all {
		cpus[i] = l.CPU
		if l.RSS-l.Before > m.RSS-m.Before {
			m.RSS, m.Before = l.RSS, l.Before
		}
	}
	slices.Sort(cpus)
	m.CPU = cpus[len(cpus)/2]
	return m
}

func compare(a, b float64) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}

// generate times the generator alone, and a whole `pipe repro` with it.
func (c *config) generate(ctx context.Context, out *report, bin, rows string) error {
	dir := filepath.Join(c.work, "whole")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	definition, err := os.ReadFile("pipeline.yaml")
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(dir, "pipeline.yaml"), definition, 0o644); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(dir, "params.yaml"), []byte("data: {num_records: "+rows+", seed: 42}\nreport: {top: 10}\n"), 0o644); err != nil {
		return err
	}
	whole := func() (sample, error) {
		for _, name := range []string{".pipe", "pipeline.lock"} {
			if err := os.RemoveAll(filepath.Join(dir, name)); err != nil {
				return sample{}, err
			}
		}
		return command(ctx, dir, nil, c.pipe, "-q", "repro", "-s", "events")
	}
	only := func() (sample, error) {
		s, text, err := output(ctx, ".", nil, bin, "generate", "-rows", rows)
		var l line
		if err == nil {
			err = json.Unmarshal(text, &l)
		}
		s.wall, s.cpu, s.rss = time.Duration(l.Wall*1e9), time.Duration(l.CPU*1e9), l.RSS
		return s, err
	}
	all, err := turns(c.reps, false, only, whole)
	if err != nil {
		return err
	}
	t := out.table("Generating "+rows+" events", "what", "M rows/s", "CPU-s per M rows", "peak MB")
	for i, name := range []string{"the rows alone", "`pipe repro`: generate, digest, write, publish"} {
		m := median(all[i])
		t.row(name, fmt.Sprintf("%.2f", float64(c.rows)/m.wall.Seconds()/1e6), fmt.Sprintf("%.2f", m.cpu.Seconds()/float64(c.rows)*1e6), fmt.Sprintf("%.0f", m.rss))
	}
	return os.RemoveAll(dir)
}
