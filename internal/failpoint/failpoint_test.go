//go:build unix

package failpoint

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
)

// TestMain makes the test binary a program that passes three moments, two of them thrice, and says so.
func TestMain(m *testing.M) {
	if os.Getenv("FAILPOINT_CHILD") == "" {
		os.Exit(m.Run())
	}
	defer os.Stdout.WriteString("a deferred call ran\n")
	for range 3 {
		Hit(Staged)
		os.Stdout.WriteString("staged\n")
		Hit(Journaled)
		os.Stdout.WriteString("journaled\n")
	}
	Hit(Published)
	os.Stdout.WriteString("published\n")
}

func child(t *testing.T, env ...string) (string, error) {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), append(env, "FAILPOINT_CHILD=1")...)
	out, err := cmd.Output()
	return string(out), err
}

func TestHit(t *testing.T) {
	const round = "staged\njournaled\n"
	for _, c := range []struct {
		name, env, want string
		killed          bool
	}{
		{"not set", "", round + round + round + "published\na deferred call ran\n", false},
		{"first hit", "staged", "", true},
		{"third hit", "staged:3", round + round, true},
		{"a hit that never comes", "staged:4", round + round + round + "published\na deferred call ran\n", false},
		{"two names, the earlier moment counts", "published,journaled:2", round + "staged\n", true},
		{"a name that nobody hits", "nothing", round + round + round + "published\na deferred call ran\n", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			out, err := child(t, Env+"="+c.env)
			if out != c.want {
				t.Errorf("got %q, want %q", out, c.want)
			}
			var exit *exec.ExitError
			if !c.killed {
				if err != nil {
					t.Errorf("ended with %v", err)
				}
				return
			}
			if !errors.As(err, &exit) {
				t.Fatalf("ended with %v, want a kill", err)
			}
			if s, ok := exit.Sys().(syscall.WaitStatus); !ok || s.Signal() != syscall.SIGKILL {
				t.Errorf("ended with %v, want SIGKILL", err)
			}
		})
	}
}

func TestWaitsForTheFileToGo(t *testing.T) {
	file := filepath.Join(t.TempDir(), "reached")
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "FAILPOINT_CHILD=1", Env+"=journaled", EnvFile+"="+file)
	var out strings.Builder
	cmd.Stdout = &out
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	for {
		if _, err := os.Stat(file); err == nil {
			break
		}
		if t.Context().Err() != nil {
			t.Fatal("the moment was never reached")
		}
		runtime.Gosched()
	}
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Fatal(err)
	}
	if got := strings.Count(out.String(), "journaled"); got != 3 {
		t.Errorf("went on for %d rounds, want 3", got)
	}
}
