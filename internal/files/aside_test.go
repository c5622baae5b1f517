//go:build unix

package files

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// TestMain makes the test binary a run that is killed in the midst of a stage; see TestKilledAtEachStep and TestKilledDuringDrop.
func TestMain(m *testing.M) {
	switch at := os.Getenv("FILES_KILL_AT"); at {
	case "":
		os.Exit(m.Run())
	case "drop":
		dropKilled(os.Args[1])
	default:
		killedRun(os.Args[1], at)
	}
}

// tree gives all files of a folder, links and empty folders included, in the form that project takes; .pipe only if something of
// asides is left in it.
func tree(t *testing.T, root string) map[string]string {
	t.Helper()
	got := map[string]string{}
	err := filepath.WalkDir(root, func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name, err := filepath.Rel(root, p)
		if err != nil {
			return err
		}
		switch {
		case d.Type()&fs.ModeSymlink != 0:
			to, err := os.Readlink(p)
			got[name] = "-> " + to
			return err
		case d.IsDir():
			entries, err := os.ReadDir(p)
			if len(entries) == 0 && !strings.HasPrefix(name, ".pipe") {
				got[name+"/"] = ""
			}
			return err
		}
		b, err := os.ReadFile(p)
		got[name] = string(b)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return got
}

var (
	oldTree = map[string]string{"in": "i", "out.txt": "old", "dir/a": "old a", "dir/b/c": "old c", "link": "-> in", "deep/er/f": "old f"}
	outs    = []string{"out.txt", "dir", "link", "deep/er/f", "new.txt", "new/x"}
	during  = map[string]string{"in": "i", "deep/er/": ""} // what a program finds
	made    = map[string]string{"out.txt": "new", "dir/a": "new a", "dir/z": "new z", "link": "a file now", "deep/er/f": "new f", "new.txt": "n", "new/x": "x"}
)

func makeOuts(t testing.TB, root string) {
	t.Helper()
	for name, text := range made {
		put1(t, root, name, text)
	}
}

func same(t *testing.T, when string, want, got map[string]string) {
	t.Helper()
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("%s: -want +got\n%s", when, d)
	}
}

func merged(a, b map[string]string) map[string]string {
	m := map[string]string{}
	for _, x := range []map[string]string{a, b} {
		for k, v := range x {
			m[k] = v
		}
	}
	return m
}

func withoutKept(m map[string]string) map[string]string {
	out := map[string]string{}
	for k, v := range m {
		if !strings.HasPrefix(k, asideDir) {
			out[k] = v
		}
	}
	return out
}

func TestAside(t *testing.T) {
	afterwards := merged(made, map[string]string{"in": "i"})
	backAgain := merged(oldTree, map[string]string{"new/": ""}) // the folder of an out is not the stage's alone: it stays
	for _, c := range []struct {
		name string
		end  func(a *Aside) error
		want map[string]string
	}{
		{"success", (*Aside).Drop, afterwards},
		{"failure", (*Aside).Restore, backAgain},
		{"failure of the second attempt", func(a *Aside) error { return errors.Join(a.Clear(), a.Restore()) }, backAgain},
		{"put back twice", func(a *Aside) error { return errors.Join(a.Restore(), a.Restore()) }, backAgain},
		{"put back after success", func(a *Aside) error { return errors.Join(a.Drop(), a.Restore()) }, afterwards},
	} {
		for _, fs := range []string{"one file system", "two file systems"} {
			t.Run(c.name+", "+fs, func(t *testing.T) {
				root := project(t, oldTree)
				o := open(t, root)
				if fs == "two file systems" {
					o.rename = twoFileSystems(root)
				}
				a, err := o.Aside("01J", "s@a/b", outs)
				if err != nil {
					t.Fatal(err)
				}
				same(t, "during the run", during, withoutKept(tree(t, root)))
				makeOuts(t, root)
				if err := c.end(a); err != nil {
					t.Fatal(err)
				}
				same(t, "at the end", c.want, tree(t, root))
				back, err := o.RestoreLeft()
				if err != nil || back != nil {
					t.Errorf("something was left: %v, %v", back, err)
				}
				same(t, "at the next run", c.want, tree(t, root))
			})
		}
	}
}

// twoFileSystems is a rename that fails between .pipe and the rest, as it does where .pipe is a mount.
func twoFileSystems(root string) func(from, to string) error {
	in := func(p string) bool { return strings.HasPrefix(p, filepath.Join(root, ".pipe")) }
	return func(from, to string) error {
		if in(from) != in(to) {
			return &os.LinkError{Op: "rename", Old: from, New: to, Err: syscall.EXDEV}
		}
		return os.Rename(from, to)
	}
}

func TestClearKeepsWhatWasPutAway(t *testing.T) {
	root := project(t, oldTree)
	a, err := open(t, root).Aside("01J", "s", outs)
	if err != nil {
		t.Fatal(err)
	}
	makeOuts(t, root)
	if err := a.Clear(); err != nil {
		t.Fatal(err)
	}
	same(t, "between two attempts", merged(during, map[string]string{"new/": ""}), withoutKept(tree(t, root)))
}

func TestNothingToPutAwayWritesNothing(t *testing.T) {
	root := project(t, map[string]string{"in": "i"})
	a, err := open(t, root).Aside("01J", "s", []string{"out.txt", "dir"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(root, ".pipe")); err == nil {
		t.Error("a folder was made")
	}
	put1(t, root, "dir/partial", "x")
	if err := a.Restore(); err != nil {
		t.Fatal(err)
	}
	same(t, "after failure", map[string]string{"in": "i"}, tree(t, root))
}

func TestOutsideTheProjectNothingMoves(t *testing.T) {
	outside := project(t, map[string]string{"f": "theirs", "g": "theirs"})
	root := project(t, map[string]string{"out": "old", "link": "-> " + outside})
	o := open(t, root)
	a, err := o.Aside("01J", "s", []string{"out", filepath.Join(outside, "f"), "link/g", "../" + filepath.Base(outside) + "/f"})
	if err != nil {
		t.Fatal(err)
	}
	same(t, "outside, during the run", map[string]string{"f": "theirs", "g": "theirs"}, tree(t, outside))
	if err := a.Restore(); err != nil {
		t.Fatal(err)
	}
	same(t, "outside, after failure", map[string]string{"f": "theirs", "g": "theirs"}, tree(t, outside))
	same(t, "inside", map[string]string{"out": "old", "link": "-> " + outside}, tree(t, root))
}

// A program puts a link to elsewhere in the place of its out's folder: what lies there is not ours to delete.
func TestProgramThatLeadsOutside(t *testing.T) {
	outside := project(t, map[string]string{"f": "theirs"})
	root := project(t, map[string]string{"d/f": "old"})
	o := open(t, root)
	a, err := o.Aside("01J", "s", []string{"d/f"})
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(os.Remove(filepath.Join(root, "d")), os.Symlink(outside, filepath.Join(root, "d"))); err != nil {
		t.Fatal(err)
	}
	if err := a.Restore(); err == nil || err.Error() != "remove d/f: the stage made it lie outside the project" {
		t.Errorf("got %v", err)
	}
	if _, err := o.RestoreLeft(); err == nil || !strings.Contains(err.Error(), "names d/f outside the project: move what is in it back by hand") {
		t.Errorf("got %v", err)
	}
	same(t, "outside", map[string]string{"f": "theirs"}, tree(t, outside))
}

func TestAsideErrors(t *testing.T) {
	root := project(t, map[string]string{"out": "old", "b": "b", ".pipe/x": ""})
	o := open(t, root)
	for _, p := range []string{".", ".pipe", ".pipe/x", "a/.."} {
		want := "move aside " + p + ": an out cannot hold or lie in the project's .pipe"
		if _, err := o.Aside("01J", "s", []string{"out", p}); err == nil || err.Error() != want {
			t.Errorf("got %v, want %s", err, want)
		}
	}
	n := 0
	o.rename = func(from, to string) error { // the second move fails: the disk is full
		if n++; n == 2 {
			return &os.LinkError{Op: "rename", Old: from, New: to, Err: syscall.ENOSPC}
		}
		return os.Rename(from, to)
	}
	if _, err := o.Aside("01J", "s", []string{"out", "b"}); err == nil || err.Error() != "move aside out: no space is left on the disk" {
		t.Errorf("got %v", err)
	}
	same(t, "after an error", map[string]string{"out": "old", "b": "b", ".pipe/x": ""}, tree(t, root))
	if _, err := o.Aside("01J", "s", []string{"out"}); err != nil {
		t.Fatal(err)
	}
	put1(t, root, "out", "new")
	if _, err := o.Aside("01J", "s", []string{"out"}); err == nil || err.Error() != "move aside the outs of stage s: run 01J has put them away already" {
		t.Errorf("got %v", err)
	}
	// Another stage of that run, and that stage in another run, are other matters.
	for _, x := range [][2]string{{"01J", "s2"}, {"01K", "s"}} {
		if _, err := o.Aside(x[0], x[1], []string{"b"}); err != nil {
			t.Error(err)
		}
		put1(t, root, "b", "new")
	}
}

func TestFolderThatTheProgramRemoved(t *testing.T) {
	root := project(t, oldTree)
	a, err := open(t, root).Aside("01J", "s", outs)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(os.RemoveAll(filepath.Join(root, "deep")), a.Restore()); err != nil {
		t.Fatal(err)
	}
	same(t, "after failure", oldTree, tree(t, root))
}

func TestFolderThatTheProgramMadeReadOnly(t *testing.T) {
	root := project(t, map[string]string{"d/f": "old"})
	a, err := open(t, root).Aside("01J", "s", []string{"d"})
	if err != nil {
		t.Fatal(err)
	}
	put1(t, root, "d/sub/f", "new")
	if err := os.Chmod(filepath.Join(root, "d/sub"), 0o500); err != nil {
		t.Fatal(err)
	}
	if err := a.Restore(); err != nil {
		t.Fatal(err)
	}
	same(t, "after failure", map[string]string{"d/f": "old"}, tree(t, root))
}

func TestFolderNames(t *testing.T) {
	seen := map[string]string{}
	for _, s := range []string{"", ".", "..", "a", "A/b", "a%2Fb", "s@x-2.5", "日本", strings.Repeat("x", 300), strings.Repeat("x", 301), "%41"} {
		n := folderName(s)
		if n == "" || n == "." || n == ".." || strings.ContainsRune(n, '/') || len(n) > 255 || seen[n] != "" {
			t.Errorf("%q becomes %q, as does %q", s, n, seen[n])
		}
		seen[n] = s + "!"
	}
}

func TestRestoreLeftRubbish(t *testing.T) {
	root := project(t, map[string]string{
		asideDir + "/01J/dropped/0": "what a kill in the midst of Drop left",
		asideDir + "/01J/bad/0":     "somebody's data", asideDir + "/01J/bad/manifest": "{",
		asideDir + "/stray": "a file", asideDir + "/01K/good/0": "old", asideDir + "/01K/good/manifest": `{"version":1,"stage":"good","outs":[{"path":"out","was":true}]}`,
		asideDir + "/01L/newer/0": "x", asideDir + "/01L/newer/manifest": `{"version":2}`,
	})
	back, err := open(t, root).RestoreLeft()
	if d := cmp.Diff([]string{"out"}, back); d != "" {
		t.Errorf("-want +got\n%s", d)
	}
	for _, dir := range []string{"01J/bad", "01L/newer"} {
		want := "a killed run put outs away in " + root + "/" + asideDir + "/" + dir + ", whose manifest cannot be read: move what is in it back by hand, then remove the folder"
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %s", err, want)
		}
	}
	same(t, "afterwards", map[string]string{
		"out": "old", asideDir + "/01J/bad/0": "somebody's data", asideDir + "/01J/bad/manifest": "{", asideDir + "/stray": "a file",
		asideDir + "/01L/newer/0": "x", asideDir + "/01L/newer/manifest": `{"version":2}`,
	}, tree(t, root))
}

// killedRun is a run of one stage that fails ("restore"), succeeds ("drop") or is cut off ("run"), and is killed with SIGKILL right
// before or after its n-th rename: "restore:3:after". "copy" makes .pipe another file system.
func killedRun(root, at string) {
	words := strings.Split(at, ":")
	n, err := strconv.Atoi(words[1])
	o, err2 := Open(root, time.Now)
	if err := errors.Join(err, err2); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	rename := o.rename
	if len(words) == 4 {
		rename = twoFileSystems(root)
	}
	count := 0
	die := func() { _ = syscall.Kill(os.Getpid(), syscall.SIGKILL); select {} }
	o.rename = func(from, to string) error {
		count++
		if count == n && words[2] == "before" {
			die()
		}
		err := rename(from, to)
		if count == n {
			if err != nil { // the copy that follows is cut off too: half of it is there
				_ = os.WriteFile(to+".part", []byte("half"), 0o644)
			}
			die()
		}
		return err
	}
	a, err := o.Aside("01J", "s", outs)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	for name, text := range made {
		_ = os.MkdirAll(filepath.Dir(filepath.Join(root, name)), 0o755)
		_ = os.WriteFile(filepath.Join(root, name), []byte(text), 0o644)
	}
	if words[0] == "restore" {
		if err := a.Restore(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	}
	die()
}

func TestKilledAtEachStep(t *testing.T) {
	const moves = 4 // of out.txt, dir, link and deep/er/f; four more put them back
	for _, mode := range []string{"", ":copy"} {
		for _, when := range []string{"before", "after"} {
			for n := 1; n <= 2*moves+1; n++ { // the last is a kill with all moves done
				at := fmt.Sprintf("restore:%d:%s%s", n, when, mode)
				t.Run(at, func(t *testing.T) { killedThenRestored(t, at) })
			}
		}
	}
	t.Run("while the program runs", func(t *testing.T) { killedThenRestored(t, "run:99:before") })
}

func killedThenRestored(t *testing.T, at string) {
	root := project(t, oldTree)
	cmd := exec.Command(os.Args[0], root)
	cmd.Env = append(os.Environ(), "FILES_KILL_AT="+at)
	out, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.Sys().(syscall.WaitStatus).Signal() != syscall.SIGKILL {
		t.Fatalf("ended with %v: %s", err, out)
	}
	o := open(t, root)
	if strings.HasSuffix(at, "copy") {
		o.rename = twoFileSystems(root)
	}
	if _, err := o.RestoreLeft(); err != nil {
		t.Fatal(err)
	}
	got := tree(t, root)
	// Outs without an old state stay as the killed run left them.
	for _, n := range []string{"new.txt", "new/x", "new/"} {
		delete(got, n)
	}
	same(t, "after the next run began", oldTree, got)
}

// dropKilled is a run whose old out is a folder of many files, killed in the midst of Drop.
func dropKilled(root string) {
	o, err := Open(root, time.Now)
	if err == nil {
		var a *Aside
		if a, err = o.Aside("01J", "s", []string{"dir"}); err == nil {
			err = os.WriteFile(filepath.Join(root, "dir"), []byte("new"), 0o644)
			os.Stdout.WriteString("dropping")
			err = errors.Join(err, a.Drop())
		}
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	select {}
}

// A kill in the midst of Drop may leave rubbish, never an old out over a new one: if anything comes back, all of it does.
func TestKilledDuringDrop(t *testing.T) {
	const many = 300
	for round := range 3 {
		files := map[string]string{}
		for i := range many {
			files[fmt.Sprintf("dir/%d", i)] = "old"
		}
		root := project(t, files)
		cmd := exec.Command(os.Args[0], root)
		cmd.Env = append(os.Environ(), "FILES_KILL_AT=drop")
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		if _, err := io.ReadFull(out, make([]byte, len("dropping"))); err != nil {
			t.Fatal(err)
		}
		kept := filepath.Join(root, asideDir, "01J/s/0")
		for enough := many - 1 - 90*round; ; { // so many files are still to be removed
			entries, err := os.ReadDir(kept)
			if err != nil || len(entries) <= enough {
				break
			}
		}
		if err := cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		_ = cmd.Wait()
		if _, err := open(t, root).RestoreLeft(); err != nil {
			t.Fatal(err)
		}
		if got := tree(t, root); len(got) != many && got["dir"] != "new" {
			t.Fatalf("round %d: neither the old folder nor the new file, %d entries", round, len(got))
		}
	}
}

// Where putting back means copying, the copy that is kept goes in one step once the other is whole.
func TestKilledAfterPuttingBackByCopy(t *testing.T) {
	root := project(t, map[string]string{
		"dir/a": "old", "dir/b": "old", asideDir + "/01J/s/0.gone/b": "old", asideDir + "/01J/s/manifest": `{"version":1,"stage":"s","outs":[{"path":"dir","was":true}]}`,
	})
	back, err := open(t, root).RestoreLeft()
	if err != nil || back != nil {
		t.Errorf("got %v, %v", back, err)
	}
	same(t, "after the next run began", map[string]string{"dir/a": "old", "dir/b": "old"}, tree(t, root))
}
