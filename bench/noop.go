package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// project writes N independent stages of one kind: `files` copy a file of their own, `tables` generate a row each.
func (c *config) project(kind string, n int) (string, error) {
	dir := filepath.Join(c.work, fmt.Sprintf("%s-%d", kind, n))
	var b strings.Builder
	b.WriteString("stages:\n")
	for _, sub := range []string{"in", "out"} {
		if err := os.MkdirAll(filepath.Join(dir, sub), 0o755); err != nil {
			return "", err
		}
	}
	params := strings.Builder{}
	params.WriteString("p:\n")
	for i := range n {
		fmt.Fprintf(&params, "  v%d: %d\n", i, i)
		if kind == "tables" {
			fmt.Fprintf(&b, "  s%05d:\n    use: generate\n    with: {rows: 1, seed: \"${p.v%d}\", columns: {id: uuid}}\n    outs: [{table: t.s%05d}]\n", i, i, i)
			continue
		}
		fmt.Fprintf(&b, "  s%05d:\n    cmd: cp in/%d.txt out/%d.txt\n    deps: [in/%d.txt]\n    params: [p.v%d]\n    outs: [out/%d.txt]\n", i, i, i, i, i, i)
		if err := os.WriteFile(filepath.Join(dir, "in", fmt.Sprintf("%d.txt", i)), []byte(strings.Repeat(fmt.Sprintf("row %d\n", i), 8)), 0o644); err != nil {
			return "", err
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "params.yaml"), []byte(params.String()), 0o644); err != nil {
		return "", err
	}
	return dir, os.WriteFile(filepath.Join(dir, "pipeline.yaml"), []byte(b.String()), 0o644)
}

// commit makes the project a git repository with all of it committed, as a user's is.
func commit(ctx context.Context, dir string) error {
	for _, args := range [][]string{{"init", "-q"}, {"add", "-A"}, {"-c", "user.name=bench", "-c", "user.email=bench@example.org", "commit", "-qm", "all"}} {
		if _, err := command(ctx, dir, nil, append([]string{"git"}, args...)...); err != nil {
			return err
		}
	}
	return nil
}

// noop times `status` and `repro` where nothing is to be done.
func (c *config) noop(ctx context.Context, out *report) error {
	t := out.table("Nothing to do", "stages of", "stages", "first `repro`, s", "`status`, ms", "`repro`, ms", "CPU of `repro`, ms", "peak MB")
	pipe := func(dir string, args ...string) func() (sample, error) {
		return func() (sample, error) { return command(ctx, dir, nil, append([]string{c.pipe}, args...)...) }
	}
	for _, kind := range []string{"files", "tables"} {
		for _, n := range c.sizes {
			dir, err := c.project(kind, n)
			if err != nil {
				return err
			}
			first, err := command(ctx, dir, nil, c.pipe, "-q", "repro")
			if err != nil {
				return err
			}
			if err := commit(ctx, dir); err != nil {
				return err
			}
			all, err := turns(c.reps, true, pipe(dir, "version"), pipe(dir, "status"), pipe(dir, "-q", "repro"))
			if err != nil {
				return err
			}
			start, status, repro := median(all[0]), median(all[1]), median(all[2])
			t.row(kind, n, fmt.Sprintf("%.2f", first.wall.Seconds()), ms(status.wall-start.wall), ms(repro.wall-start.wall), ms(repro.cpu-start.cpu), fmt.Sprintf("%.0f", repro.rss))
			out.start = start
			if err := os.RemoveAll(dir); err != nil {
				return err
			}
		}
	}
	t.note("Wall time beyond the start of the process, which is what `pipe version` takes: %s ms. The first `repro` includes it, and runs every stage.", ms(out.start.wall))
	return nil
}

// trivial times what a run adds to stages that do next to nothing: against the same shells, started one after the other.
func (c *config) trivial(ctx context.Context, out *report) error {
	n := c.cmdStages
	shells := func(dir string) (sample, error) {
		var sum sample
		for i := range n {
			s, err := command(ctx, dir, nil, "bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", fmt.Sprintf("cp in/%d.txt out/%d.txt", i, i))
			if err != nil {
				return sum, err
			}
			sum.wall, sum.cpu = sum.wall+s.wall, sum.cpu+s.cpu
		}
		return sum, nil
	}
	dir, err := c.project("files", n)
	if err != nil {
		return err
	}
	run := func() (sample, error) {
		for _, f := range []string{".pipe", "pipeline.lock", "out"} {
			if err := os.RemoveAll(filepath.Join(dir, f)); err != nil {
				return sample{}, err
			}
		}
		if err := os.Mkdir(filepath.Join(dir, "out"), 0o755); err != nil {
			return sample{}, err
		}
		return command(ctx, dir, nil, c.pipe, "-q", "repro", "-j1")
	}
	all, err := turns(c.reps, true,
		func() (sample, error) { return command(ctx, dir, nil, c.pipe, "version") },
		func() (sample, error) { return shells(dir) }, run)
	if err != nil {
		return err
	}
	start, shell, repro := median(all[0]), median(all[1]), median(all[2])
	each := (repro.wall - start.wall - shell.wall).Seconds() * 1000 / float64(n)
	t := out.table("A trivial `cmd` stage", "stages", "`repro -j1`, ms", "the same shells alone, ms", "more per stage, ms")
	t.row(n, ms(repro.wall-start.wall), ms(shell.wall), fmt.Sprintf("%.2f", each))
	t.note("Each stage is `cp in/N.txt out/N.txt` in a bash of its own, with a dep, a param and an out; beyond the start of the process.")
	return os.RemoveAll(dir)
}
