//go:build unix

package fsx

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// hold takes the mutex, says so, and keeps it until standard input ends.
func hold(path string) {
	m, err := Lock(context.Background(), path, nil)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Stdout.WriteString("locked")
	_, _ = io.Copy(io.Discard, os.Stdin)
	if err := m.Unlock(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// startHolder gives a process that has the mutex, and its standard input.
func startHolder(t *testing.T, path string) (*exec.Cmd, io.Closer) {
	t.Helper()
	cmd := child("hold", path)
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = in.Close(); _ = cmd.Wait() })
	if _, err := io.ReadFull(out, make([]byte, len("locked"))); err != nil {
		t.Fatal(err)
	}
	return cmd, in
}

func TestSecondProcessWaitsAndSaysForWhom(t *testing.T) {
	for _, c := range []struct {
		name string
		end  func(cmd *exec.Cmd, in io.Closer) error
	}{
		{"until the first lets go", func(_ *exec.Cmd, in io.Closer) error { return in.Close() }},
		{"until the first is killed", func(cmd *exec.Cmd, _ io.Closer) error { return cmd.Process.Kill() }},
	} {
		t.Run(c.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "mutex")
			cmd, in := startHolder(t, path)
			want := fmt.Sprintf("%s %s (pid %d)", filepath.Base(os.Args[0]), path, cmd.Process.Pid)
			var said []string
			m, err := Lock(t.Context(), path, func(holder string) {
				said = append(said, holder)
				if err := c.end(cmd, in); err != nil {
					t.Error(err)
				}
			})
			if err != nil {
				t.Fatal(err)
			}
			if len(said) != 1 || said[0] != want {
				t.Errorf("said %q, want once %q", said, want)
			}
			text := read(t, path)
			if !strings.HasPrefix(text, fmt.Sprintf("pid %d\ncommand ", os.Getpid())) || !strings.Contains(text, "\nsince 2") {
				t.Errorf("the file says %q", text)
			}
			if err := m.Unlock(); err != nil {
				t.Fatal(err)
			}
		})
	}
}

func TestWaitEndsWithTheContext(t *testing.T) {
	path := filepath.Join(t.TempDir(), "mutex")
	startHolder(t, path)
	ctx, cancel := context.WithCancel(t.Context())
	if _, err := Lock(ctx, path, func(string) { cancel() }); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

func TestTryLock(t *testing.T) {
	path := filepath.Join(t.TempDir(), "mutex")
	cmd, in := startHolder(t, path)
	m, holder, err := TryLock(path)
	if err != nil || m != nil || !strings.HasSuffix(holder, fmt.Sprintf("(pid %d)", cmd.Process.Pid)) {
		t.Errorf("held: %v, %q, %v", m, holder, err)
	}
	if err := errors.Join(in.Close(), cmd.Wait()); err != nil {
		t.Fatal(err)
	}
	if m, _, err = TryLock(path); err != nil || m == nil {
		t.Fatalf("free: %v, %v", m, err)
	}
	if again, _, err := TryLock(path); again != nil || err != nil {
		t.Errorf("held by this process: %v, %v", again, err)
	}
	for range 2 {
		if err := m.Unlock(); err != nil {
			t.Error(err)
		}
	}
}

func TestSaidOnce(t *testing.T) {
	path := filepath.Join(t.TempDir(), "mutex")
	startHolder(t, path)
	ctx, cancel := context.WithTimeout(t.Context(), 4*poll)
	defer cancel()
	said := 0
	if _, err := Lock(ctx, path, func(string) { said++ }); !errors.Is(err, context.DeadlineExceeded) || said != 1 {
		t.Errorf("said %d times, then %v", said, err)
	}
}

// A mutex whose file was removed keeps nobody out who makes a new one; whoever opened the old one must see that.
func TestRemovedFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "mutex")
	m, err := Lock(t.Context(), path, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name   string
		change func() error
		want   bool
	}{
		{"untouched", func() error { return nil }, true},
		{"removed", func() error { return os.Remove(path) }, false},
		{"made anew by another", func() error { return os.WriteFile(path, nil, 0o644) }, false},
	} {
		if err := c.change(); err != nil {
			t.Fatal(err)
		}
		if got, err := m.isAtPath(); got != c.want || err != nil {
			t.Errorf("%s: got %v, %v", c.name, got, err)
		}
	}
}

func TestLockErrors(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "f"), "", 0o644)
	_, err := Lock(t.Context(), filepath.Join(dir, "f/mutex"), nil)
	if want := "lock " + dir + "/f/mutex: a file stands where a folder is needed"; err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}

const rounds = 50

// countUp adds 1 to the number in a file, many times, in a way that loses counts unless the mutex keeps others out.
func countUp(path string) {
	for range rounds {
		m, err := Lock(context.Background(), path+".mutex", nil)
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		b, _ := os.ReadFile(path)
		n, _ := strconv.Atoi(string(b))
		if err := os.WriteFile(path, []byte(strconv.Itoa(n+1)), 0o644); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		if err := m.Unlock(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	}
}

func TestOneAtATime(t *testing.T) {
	path := filepath.Join(t.TempDir(), "n")
	const processes = 3
	var running []*exec.Cmd
	for range processes {
		cmd := child("count", path)
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		running = append(running, cmd)
	}
	for _, cmd := range running {
		if err := cmd.Wait(); err != nil {
			t.Error(err)
		}
	}
	if got, want := read(t, path), strconv.Itoa(processes*rounds); got != want {
		t.Errorf("counted to %s, want %s", got, want)
	}
}
