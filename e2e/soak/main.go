// Command soak kills `pipe repro` with SIGKILL at random moments, runs it again, and compares rows, digests and lock with a twin
// project that was left alone. The two get the same edits: another number of rows to append, another script to count them with.
//
//	go run ./e2e/soak -pipe bin/pipe -kills 200
//
// It works on copies in a temporary folder and never touches the project that it copies.
package main

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"time"
)

func main() {
	pipe := flag.String("pipe", "bin/pipe", "the command")
	from := flag.String("project", ".", "the project to copy")
	kills := flag.Int("kills", 200, "how many runs to kill")
	seed := flag.Uint64("seed", uint64(time.Now().UnixNano()), "of the moments and the edits")
	flag.Parse()
	if err := soak(*pipe, *from, *kills, *seed); err != nil {
		fmt.Fprintf(os.Stderr, "soak: %v\n(-seed %d; the moments differ from run to run all the same)\n", err, *seed)
		os.Exit(1)
	}
}

func soak(pipe, from string, kills int, seed uint64) error {
	pipe, err := filepath.Abs(pipe)
	if err != nil {
		return err
	}
	work, err := os.MkdirTemp("", "pipe-soak-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(work)
	twin, victim := project{filepath.Join(work, "twin"), pipe}, project{filepath.Join(work, "victim"), pipe}
	for _, p := range []project{twin, victim} {
		if err := p.copyFrom(from); err != nil {
			return err
		}
	}
	s := &soaker{twin: twin, victim: victim, rng: rand.New(rand.NewPCG(seed, 0))}
	for s.killed < kills {
		if err := s.round(); err != nil {
			return fmt.Errorf("round %d, after %d kills: %w", s.rounds, s.killed, err)
		}
	}
	fmt.Printf("%d kills in %d rounds, %d of them before the run had changed anything; %d rows in the end, equal to the twin's\n",
		s.killed, s.rounds, s.early, s.rows)
	return nil
}

type soaker struct {
	twin, victim project
	rng          *rand.Rand
	rounds       int
	killed       int
	early        int // kills after which nothing under .pipe/warehouse had changed
	rows         int
	usual        time.Duration // how long a run takes that is left alone
}

// round makes one edit in both projects, kills the victim's run once or more, lets it finish and compares.
func (s *soaker) round() error {
	s.rounds++
	edit := fmt.Sprintf("data:\n  num_records: %d\n  seed: %d\nreport:\n  top: 10\n", 50+s.rng.IntN(1500), 42+s.rng.IntN(3))
	script := ""
	if s.rng.IntN(3) == 0 {
		script = fmt.Sprintf("\n# edit %d\n", s.rounds)
	}
	for _, p := range []project{s.twin, s.victim} {
		if err := p.edit(edit, script); err != nil {
			return err
		}
	}
	began := time.Now()
	if err := s.twin.repro(); err != nil {
		return fmt.Errorf("twin: %w", err)
	}
	s.usual = time.Since(began)
	for again := true; again; again = s.rng.IntN(3) == 0 {
		if err := s.kill(); err != nil {
			return err
		}
	}
	if err := s.victim.repro(); err != nil {
		return fmt.Errorf("after the kill: %w", err)
	}
	return s.compare()
}

func (s *soaker) kill() error {
	before, err := s.victim.files()
	if err != nil {
		return err
	}
	// Half of the kills come at any moment; the others once rows are being written, since starting up and looking around take most
	// of the time of a run so small.
	wait := time.Duration(s.rng.Int64N(int64(s.usual)*11/10 + 1))
	changed := func() bool { return true }
	if s.rng.IntN(2) == 0 {
		wait /= 2
		changed = func() bool { now, err := s.victim.files(); return err != nil || now != before }
	}
	hit, err := s.victim.killAfter(changed, wait)
	if err != nil {
		return err
	}
	if !hit {
		return nil // it was done already
	}
	s.killed++
	after, err := s.victim.files()
	if err != nil {
		return err
	}
	if after == before {
		s.early++
	}
	return nil
}

func (s *soaker) compare() error {
	want, err := s.twin.state()
	if err != nil {
		return fmt.Errorf("twin: %w", err)
	}
	got, err := s.victim.state()
	if err != nil {
		return err
	}
	s.rows = want.rows
	if got.lock != want.lock {
		return fmt.Errorf("the lock differs from the twin's\n--- twin\n%s--- victim\n%s", want.lock, got.lock)
	}
	for table, rows := range want.tables {
		if got.tables[table] != rows {
			return fmt.Errorf("the rows of %s differ from the twin's: %d bytes of JSON, want %d", table, len(got.tables[table]), len(rows))
		}
	}
	if got.status != want.status {
		return fmt.Errorf("status differs from the twin's\n--- twin\n%s\n--- victim\n%s", want.status, got.status)
	}
	return nil
}
