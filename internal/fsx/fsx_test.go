//go:build unix

package fsx

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestMain makes the test binary the second process that some tests need; the first argument says which.
func TestMain(m *testing.M) {
	switch os.Getenv("FSX_CHILD") {
	case "":
		os.Exit(m.Run())
	case "rewrite":
		rewriteForever(os.Args[1])
	case "limited":
		writeLimited(os.Args[1])
	case "hold":
		hold(os.Args[1])
	case "count":
		countUp(os.Args[1])
	}
}

// child is this test binary in another role, with one argument.
func child(role, arg string) *exec.Cmd {
	cmd := exec.Command(os.Args[0], arg)
	cmd.Env = append(os.Environ(), "FSX_CHILD="+role)
	cmd.Stderr = os.Stderr
	return cmd
}

func names(t *testing.T, dir string) []string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var list []string
	for _, e := range entries {
		list = append(list, e.Name())
	}
	return list
}

func write(t *testing.T, path, text string, perm fs.FileMode) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), perm); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(path, perm); err != nil {
		t.Fatal(err)
	}
}

func read(t *testing.T, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func TestWriteAtomic(t *testing.T) {
	old := syscall.Umask(0o022)
	defer syscall.Umask(old)
	for _, c := range []struct {
		name     string
		before   func(t *testing.T, dir string)
		perm     fs.FileMode
		wantPerm fs.FileMode
		want     []string
	}{
		{"new file, less the umask", func(*testing.T, string) {}, 0o666, 0o644, []string{"f"}},
		{"replaced file keeps its permissions", func(t *testing.T, dir string) { write(t, filepath.Join(dir, "f"), "old", 0o664) }, 0o600, 0o664, []string{"f"}},
		{"link is followed", func(t *testing.T, dir string) {
			write(t, filepath.Join(dir, "target"), "old", 0o600)
			if err := os.Symlink("target", filepath.Join(dir, "f")); err != nil {
				t.Fatal(err)
			}
		}, 0o644, 0o600, []string{"f", "target"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			c.before(t, dir)
			path := filepath.Join(dir, "f")
			if err := WriteAtomic(path, []byte("new"), c.perm); err != nil {
				t.Fatal(err)
			}
			st, err := os.Stat(path)
			if err != nil {
				t.Fatal(err)
			}
			if read(t, path) != "new" || st.Mode().Perm() != c.wantPerm {
				t.Errorf("got %q with %v, want \"new\" with %v", read(t, path), st.Mode().Perm(), c.wantPerm)
			}
			if d := cmp.Diff(c.want, names(t, dir)); d != "" {
				t.Errorf("-want +got\n%s", d)
			}
			if last := c.want[len(c.want)-1]; last == "target" {
				if _, err := os.Readlink(path); err != nil {
					t.Errorf("the link is gone: %v", err)
				}
			}
		})
	}
}

func TestWriteAtomicErrors(t *testing.T) {
	for _, c := range []struct {
		name   string
		before func(t *testing.T, dir string)
		path   string
		want   string
		is     error
		left   []string
	}{
		{"no such folder", func(*testing.T, string) {}, "no/f", "write DIR/no/f: it does not exist", fs.ErrNotExist, nil},
		{"file in the folder's place", func(t *testing.T, dir string) { write(t, filepath.Join(dir, "no"), "x", 0o644) }, "no/f", "write DIR/no/f: a file stands where a folder is needed", syscall.ENOTDIR, []string{"no"}},
		{"folder in the file's place", func(t *testing.T, dir string) {
			if err := os.Mkdir(filepath.Join(dir, "f"), 0o755); err != nil {
				t.Fatal(err)
			}
		}, "f", "write DIR/f: a folder stands in its place", nil, []string{"f"}},
		{"name too long", func(*testing.T, string) {}, strings.Repeat("n", 300), "write DIR/" + strings.Repeat("n", 300) + ": the name is too long for the file system", syscall.ENAMETOOLONG, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			c.before(t, dir)
			err := WriteAtomic(filepath.Join(dir, c.path), []byte("new"), 0o644)
			if err == nil || strings.ReplaceAll(err.Error(), dir, "DIR") != c.want {
				t.Fatalf("got %v, want %s", err, c.want)
			}
			if c.is != nil && !errors.Is(err, c.is) {
				t.Errorf("%v is not %v", err, c.is)
			}
			if d := cmp.Diff(c.left, names(t, dir)); d != "" {
				t.Errorf("-want +got\n%s", d)
			}
		})
	}
}

// writeLimited is a process that may write no file of more than 100 bytes.
func writeLimited(path string) {
	if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &syscall.Rlimit{Cur: 100, Max: 100}); err != nil {
		os.Stdout.WriteString(err.Error())
		return
	}
	if err := WriteAtomic(path, make([]byte, 1000), 0o644); err != nil {
		os.Stdout.WriteString(err.Error())
	}
}

func TestWriteAtomicFileLimit(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "f")
	write(t, path, "old", 0o644)
	out, err := child("limited", path).Output()
	if want := "write " + path + ": the file would be larger than is allowed (ulimit -f, or the file system's limit)"; err != nil || string(out) != want {
		t.Errorf("got %q, %v, want %q", out, err, want)
	}
	if got := read(t, path); got != "old" || len(names(t, dir)) != 1 {
		t.Errorf("left %q, %v", got, names(t, dir))
	}
}

// rewriteForever replaces a file by one that is all a, then all b, and so on.
func rewriteForever(path string) {
	for i := 0; ; i++ {
		if err := WriteAtomic(path, bytes.Repeat([]byte{"ab"[i%2]}, 100_000), 0o644); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Stdout.WriteString(".")
	}
}

func TestWriteAtomicKilled(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "f")
	for round := range 8 {
		cmd := child("rewrite", path)
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		if _, err := out.Read(make([]byte, 1+round)); err != nil {
			t.Fatal(err)
		}
		if err := cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		_ = cmd.Wait()
		got := read(t, path)
		if len(got) != 100_000 || strings.Trim(got, got[:1]) != "" {
			t.Fatalf("round %d left %d bytes, torn", round, len(got))
		}
	}
	write(t, filepath.Join(dir, tempPrefix+"ABC"), "left by a kill at the worst moment", 0o600)
	if err := RemoveTemps(dir); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff([]string{"f"}, names(t, dir)); d != "" {
		t.Errorf("-want +got\n%s", d)
	}
}

func TestMkdirSynced(t *testing.T) {
	dir := t.TempDir()
	if err := MkdirSynced(filepath.Join(dir, "a/b/c"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := MkdirSynced(filepath.Join(dir, "a/b/c"), 0o755); err != nil {
		t.Errorf("a folder that is there: %v", err)
	}
	write(t, filepath.Join(dir, "a/f"), "", 0o644)
	err := MkdirSynced(filepath.Join(dir, "a/f"), 0o755)
	if want := "make folder " + dir + "/a/f: a file stands in its place"; err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}

func TestRemoveSynced(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "f")
	write(t, path, "", 0o644)
	for _, when := range []string{"there", "gone"} {
		if err := RemoveSynced(path); err != nil {
			t.Errorf("%s: %v", when, err)
		}
	}
	write(t, path, "", 0o644)
	if err := RemoveSynced(dir); err == nil || len(names(t, dir)) != 1 {
		t.Errorf("a folder that is not empty: %v", err)
	}
}

func TestExplain(t *testing.T) {
	_, noSpace := func() (int, error) {
		f, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
		if err != nil {
			return 0, &fs.PathError{Op: "write", Path: "/dev/full", Err: syscall.ENOSPC} // not every system has it
		}
		defer f.Close()
		return f.Write([]byte("x"))
	}()
	for _, c := range []struct {
		name string
		err  error
		want string
	}{
		{"none", nil, ""},
		{"no space", noSpace, "p: no space is left on the disk"},
		{"quota", syscall.EDQUOT, "p: the disk quota is used up"},
		{"read-only", &os.LinkError{Op: "rename", Old: "a", New: "b", Err: syscall.EROFS}, "p: the file system is read-only"},
		{"no permission", &fs.PathError{Op: "open", Path: "x", Err: syscall.EACCES}, "p: no permission"},
		{"not allowed", syscall.EPERM, "p: no permission"},
		{"wrapped", fmt.Errorf("save: %w", syscall.EIO), "p: the disk reports an input/output error"},
		{"too many files", syscall.EMFILE, "p: too many files are open (ulimit -n)"},
		{"an error of this package, its path not twice", wrap("write", "/abs/p", errIsDir), "p: a folder stands in its place"},
		{"another one of the system's", &fs.PathError{Op: "open", Path: "x", Err: syscall.ETXTBSY}, "p: text file busy"},
		{"no error of the system", errors.New("parquet: bad page"), "p: parquet: bad page"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := Explain(c.err, "p"); got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
	if got := Explain(syscall.ENOSPC, ""); got != "no space is left on the disk" {
		t.Errorf("without a path: %q", got)
	}
}
