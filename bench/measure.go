package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"time"
)

// sample is one run of a command.
type sample struct {
	wall, cpu time.Duration // cpu: user and system, of its children too
	rss       float64       // peak of the process itself, MB
}

// command runs a program in a folder and measures it. What it prints is shown only if it fails.
func command(ctx context.Context, dir string, env []string, args ...string) (sample, error) {
	s, _, err := output(ctx, dir, env, args...)
	return s, err
}

func output(ctx context.Context, dir string, env []string, args ...string) (sample, []byte, error) {
	cmd := exec.CommandContext(ctx, args[0], args[1:]...)
	cmd.Dir = dir
	cmd.Env = append(append(os.Environ(), "NO_COLOR=1"), env...)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	began := time.Now()
	err := cmd.Run()
	s := sample{wall: time.Since(began)}
	if err != nil {
		return s, nil, fmt.Errorf("%s in %s: %w\n%s%s", strings.Join(args, " "), dir, err, stdout.String(), stderr.String())
	}
	s.cpu = cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
	if u, ok := cmd.ProcessState.SysUsage().(*syscall.Rusage); ok {
		s.rss = float64(u.Maxrss) / 1024 // kB on Linux
	}
	return s, stdout.Bytes(), nil
}

// turns runs several things in turn, reps times after one that is not counted, and gives the samples of each.
func turns(reps int, warm bool, do ...func() (sample, error)) ([][]sample, error) {
	all := make([][]sample, len(do))
	for r := range reps + 1 {
		if r == 0 && !warm {
			continue
		}
		for i, f := range do {
			s, err := f()
			if err != nil {
				return nil, err
			}
			if r > 0 {
				all[i] = append(all[i], s)
			}
		}
	}
	return all, nil
}

// median gives the sample whose wall time is in the middle; with the middle CPU time and the largest memory of all.
func median(all []sample) sample {
	if len(all) == 0 {
		return sample{}
	}
	walls, cpus := make([]time.Duration, len(all)), make([]time.Duration, len(all))
	var m sample
	for i, s := range all {
		walls[i], cpus[i], m.rss = s.wall, s.cpu, max(m.rss, s.rss)
	}
	slices.Sort(walls)
	slices.Sort(cpus)
	m.wall, m.cpu = walls[len(walls)/2], cpus[len(cpus)/2]
	return m
}

func ms(d time.Duration) string { return fmt.Sprintf("%.1f", float64(d)/float64(time.Millisecond)) }
