//go:build linux

package command

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"pipe/internal/diag"
	"pipe/pipeline"
	"pipe/stages"
)

func running(pid int) bool {
	s, ok := readStat(pid)
	return ok && s.alive()
}

func readPid(t *testing.T, file string) int {
	t.Helper()
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(b)))
	if err != nil {
		t.Fatal(err)
	}
	return pid
}

// until waits for other processes, which nothing tells us of.
func until(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(20 * time.Second); !ok(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("waited in vain: %s", what)
		}
	}
}

// TestMain lets the test's own program be the pipe that is killed.
func TestMain(m *testing.M) {
	if dir := os.Getenv("RUN_A_STAGE_IN"); dir != "" {
		runAStage(dir)
		return
	}
	os.Exit(m.Run())
}

func runAStage(dir string) {
	scratch := filepath.Join(dir, "scratch")
	_ = os.Mkdir(scratch, 0o755)
	_ = Kind().Run(context.Background(), &stages.Task{
		Stage: &pipeline.Stage{Name: "s", Dir: ".", Cmd: []string{"sleep 300 & echo $! > child; echo $$ > shell; touch ready; wait"}},
		Run:   "01DEAD", Root: dir, Scratch: scratch, Environ: os.Environ(),
		Started: func(pid int, start string) {
			_ = os.WriteFile(filepath.Join(dir, "started"), []byte(strconv.Itoa(pid)+"\n"+start), 0o644)
		},
	})
}

func TestCancelEndsTheWholeGroup(t *testing.T) {
	g := stage(t, `trap '' TERM; sleep 300 & echo $! > pid; touch ready; wait; wait; sleep 300`)
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		for {
			if _, err := os.Stat(filepath.Join(g.Root, "ready")); err == nil {
				cancel()
				return
			}
			time.Sleep(time.Millisecond) // waiting for another process: there is nothing to wait on
		}
	}()
	err := Kind().Run(ctx, g.Task)
	if diag.ExitOf(err) != diag.Interrupted || !errors.Is(err, context.Canceled) || !strings.Contains(err.Error(), "cmd was stopped after ") {
		t.Errorf("got %v", err)
	}
	if pid := readPid(t, filepath.Join(g.Root, "pid")); running(pid) {
		t.Errorf("process %d outlived the stage", pid)
	}
}

// A process that left the group and keeps the output open must not hold up the stage.
func TestADaemonDoesNotHoldTheStage(t *testing.T) {
	g := stage(t, `setsid sh -c 'echo $$ > pid; exec sleep 60' & while ! test -s pid; do sleep 0.01; done; echo done`)
	begun := time.Now()
	g.ok(t)
	if took := time.Since(begun); took > 20*time.Second {
		t.Errorf("took %v", took)
	}
	if g.log.String() != "done\n" {
		t.Errorf("log %q", g.log)
	}
	p, err := os.FindProcess(readPid(t, filepath.Join(g.Root, "pid")))
	if err == nil {
		_ = p.Kill()
	}
}

func TestAKilledPipesProcessesAreEndedByTheNextRun(t *testing.T) {
	dir := t.TempDir()
	pipe := exec.Command(os.Args[0])
	pipe.Env = append(os.Environ(), "RUN_A_STAGE_IN="+dir)
	if err := pipe.Start(); err != nil {
		t.Fatal(err)
	}
	until(t, "the stage starts", func() bool {
		_, err1 := os.Stat(filepath.Join(dir, "ready"))
		_, err2 := os.Stat(filepath.Join(dir, "started"))
		return err1 == nil && err2 == nil
	})
	shell, child := readPid(t, filepath.Join(dir, "shell")), readPid(t, filepath.Join(dir, "child"))
	if err := pipe.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = pipe.Wait()
	until(t, "the kernel kills the shell with pipe", func() bool { return !running(shell) })
	if !running(child) {
		t.Fatal("the shell's child ended by itself: there is nothing to test")
	}
	b, err := os.ReadFile(filepath.Join(dir, "started"))
	if err != nil {
		t.Fatal(err)
	}
	number, start, _ := strings.Cut(string(b), "\n")
	if number != strconv.Itoa(shell) {
		t.Errorf("told of process %s, the shell was %d", number, shell)
	}

	fields := strings.Fields(start)
	other := fields[0] + " 1 01OTHER" // another run, whose shell started at another time
	if err := EndGroup(t.Context(), shell, other); err != nil || !running(child) {
		t.Errorf("another run's group was ended: %v", err)
	}
	if err := EndGroup(t.Context(), shell, "other-boot "+start[strings.IndexByte(start, ' ')+1:]); err != nil || !running(child) {
		t.Errorf("a group of before the last boot was ended: %v", err)
	}
	if err := EndGroup(t.Context(), shell, start); err != nil || running(child) {
		t.Errorf("the child runs on: %v", err)
	}
	if err := EndGroup(t.Context(), shell, start); err != nil {
		t.Errorf("ending it twice: %v", err)
	}
}

// The number may have gone to another process, which is none of ours.
func TestEndGroupLeavesALaterProcessAlone(t *testing.T) {
	cmd := exec.Command("sleep", "300")
	cmd.SysProcAttr = ownGroup()
	cmd.Env = append(os.Environ(), "PIPE_RUN=01DEAD")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = cmd.Process.Kill(); _ = cmd.Wait() }()
	pid := cmd.Process.Pid
	start := startOf(pid, "01DEAD")
	fields := strings.Fields(start)
	ticks, err := strconv.Atoi(fields[1])
	if err != nil {
		t.Fatal(err)
	}
	earlier := fields[0] + " " + strconv.Itoa(ticks-100) + " 01DEAD"
	if err := EndGroup(t.Context(), pid, earlier); err != nil || !running(pid) {
		t.Errorf("ended a process that started later: %v", err)
	}
	if err := EndGroup(t.Context(), pid, start); err != nil || running(pid) {
		t.Errorf("did not end the process itself: %v", err)
	}
}
