package repo_test

import (
	"bytes"
	"fmt"
	"os/exec"
	"testing"

	"pipe/internal/repo"
	"pipe/pipeline/plan"
)

// BenchmarkHistory walks 10,000 commits of a linear history, each with a lock of its own of 20 stages.
func BenchmarkHistory(b *testing.B) {
	dir := b.TempDir()
	run := func(in []byte, args ...string) {
		cmd := exec.Command("git", args...)
		cmd.Dir, cmd.Stdin = dir, bytes.NewReader(in)
		if out, err := cmd.CombinedOutput(); err != nil {
			b.Fatalf("git %v: %v\n%s", args, err, out)
		}
	}
	run(nil, "init", "-q", "-b", "main")
	var in bytes.Buffer
	for n := range 10_000 {
		ids := make([]string, 20)
		for i := range ids {
			ids[i] = fmt.Sprintf("%d%03d", 6511054353144070000+n/(i+1), i)
		}
		lock := lockText(ids...)
		fmt.Fprintf(&in, "commit refs/heads/main\ncommitter a <a@example.org> %d +0000\ndata 2\nx\n", 1_700_000_000+n)
		fmt.Fprintf(&in, "M 100644 inline pipeline.lock\ndata %d\n%s\n", len(lock), lock)
		fmt.Fprintf(&in, "M 100644 inline f%d\ndata 2\nx\n\n", n%50)
	}
	run(in.Bytes(), "fast-import", "--quiet")
	for b.Loop() {
		g, err := repo.OpenGit(dir)
		if err != nil {
			b.Fatal(err)
		}
		h, err := g.History([]plan.TableKey{key(0)})
		if err != nil {
			b.Fatal(err)
		}
		if !h.Names(key(0), "6511054353144070000000") || h.Names(key(0), "1") {
			b.Fatal("wrong answer")
		}
		if err := g.Close(); err != nil {
			b.Fatal(err)
		}
	}
}
