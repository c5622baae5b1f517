//go:build unix

package files

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"pipe/internal/diag"
)

// project makes a folder of files. A name that ends in "/" is an empty folder; text that begins with "-> " makes a link.
func project(t testing.TB, files map[string]string) string {
	t.Helper()
	root := t.TempDir()
	for name, text := range files {
		put1(t, root, name, text)
	}
	return root
}

func put1(t testing.TB, root, name, text string) {
	t.Helper()
	p := filepath.Join(root, name)
	if err := os.MkdirAll(filepath.Dir(p), 0o755); err != nil {
		t.Fatal(err)
	}
	var err error
	switch to, isLink := strings.CutPrefix(text, "-> "); {
	case strings.HasSuffix(name, "/"):
		err = os.MkdirAll(p, 0o755)
	case isLink:
		err = os.Symlink(to, p)
	default:
		err = os.WriteFile(p, []byte(text), 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// open gives an observer whose clock is an hour ahead: no file is so new that it would be hashed twice.
func open(t testing.TB, root string) *Observer {
	t.Helper()
	o, err := Open(root, func() time.Time { return time.Now().Add(time.Hour) })
	if err != nil {
		t.Fatal(err)
	}
	return o
}

func observe(t testing.TB, o *Observer, name string) Result {
	t.Helper()
	got, err := o.Observe(context.Background(), []string{name})
	if err != nil {
		t.Fatal(err)
	}
	return got[name]
}

func TestVectors(t *testing.T) {
	data, err := os.ReadFile("testdata/vectors.json")
	if err != nil {
		t.Fatal(err)
	}
	var v struct {
		Tree map[string]string
		Want map[string]Result
	}
	if err := json.Unmarshal(data, &v); err != nil {
		t.Fatal(err)
	}
	root := project(t, v.Tree)
	put1(t, root, "empty/", "")
	o := open(t, root)
	var names []string
	for n := range v.Want {
		names = append(names, n, n) // a name asked for twice is answered once
	}
	for _, when := range []string{"hashed", "remembered"} {
		got, err := o.Observe(t.Context(), names)
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(v.Want, got); d != "" {
			t.Errorf("%s: -want +got\n%s", when, d)
		}
	}
	abs, err := o.Observe(t.Context(), []string{filepath.Join(root, "data")})
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(v.Want["data"], abs[filepath.Join(root, "data")]); d != "" {
		t.Errorf("by an absolute path: -want +got\n%s", d)
	}
}

// abc is the SHA-256 of "abc", from FIPS 180-2.
const abc = "sha256:ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"

func TestWhatCountsInAFolder(t *testing.T) {
	before := map[string]string{"d/a": "abc", "d/b/c": "x", "d/b/d": "y"}
	for _, c := range []struct {
		name   string
		change func(t *testing.T, root string)
		same   bool
	}{
		{"touch", func(t *testing.T, root string) {
			if err := os.Chtimes(filepath.Join(root, "d/a"), time.Unix(1, 0), time.Unix(1, 0)); err != nil {
				t.Fatal(err)
			}
		}, true},
		{"chmod", func(t *testing.T, root string) {
			if err := os.Chmod(filepath.Join(root, "d/a"), 0o755); err != nil {
				t.Fatal(err)
			}
		}, true},
		{"written again with the same bytes", func(t *testing.T, root string) { put1(t, root, "d/a", "abc") }, true},
		{"an empty folder more", func(t *testing.T, root string) { put1(t, root, "d/e/", "") }, true},
		{"git's folder", func(t *testing.T, root string) { put1(t, root, "d/b/.git/HEAD", "x") }, true},
		{"pipe's folder", func(t *testing.T, root string) { put1(t, root, "d/.pipe/root", "x") }, true},
		{"Python's caches", func(t *testing.T, root string) { put1(t, root, "d/__pycache__/a.pyc", "x") }, true},
		{"Jupyter's", func(t *testing.T, root string) { put1(t, root, "d/.ipynb_checkpoints/a", "x") }, true},
		{".pipeignore that skips nothing", func(t *testing.T, root string) { put1(t, root, "d/.pipeignore", "# x\n") }, true},
		{"a file in the making", func(t *testing.T, root string) { put1(t, root, "d/.pipe-tmp-X", "x") }, true},
		{"one byte", func(t *testing.T, root string) { put1(t, root, "d/b/c", "X") }, false},
		{"a file more", func(t *testing.T, root string) { put1(t, root, "d/b/e", "") }, false},
		{"a file of git's name that is no folder", func(t *testing.T, root string) { put1(t, root, "d/.git", "gitdir: x") }, false},
		{"a hidden file", func(t *testing.T, root string) { put1(t, root, "d/.env", "x") }, false},
		{"a file less", func(t *testing.T, root string) {
			if err := os.Remove(filepath.Join(root, "d/b/d")); err != nil {
				t.Fatal(err)
			}
		}, false},
		{"renamed", func(t *testing.T, root string) {
			if err := os.Rename(filepath.Join(root, "d/b/c"), filepath.Join(root, "d/b/cc")); err != nil {
				t.Fatal(err)
			}
		}, false},
		{"two files swapped", func(t *testing.T, root string) { put1(t, root, "d/b/c", "y"); put1(t, root, "d/b/d", "x") }, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			root := project(t, before)
			o := open(t, root)
			want := observe(t, o, "d")
			c.change(t, root)
			if got := observe(t, o, "d"); (got == want) != c.same || got.Err != "" {
				t.Errorf("before %+v\nafter  %+v", want, got)
			}
		})
	}
}

// Row 8 of DVC's known gaps: an edit that keeps inode, size and mtime.
func TestEditThatPutsTheTimeBackIsSeen(t *testing.T) {
	root := project(t, map[string]string{"f": "abc"})
	p := filepath.Join(root, "f")
	then := time.Unix(1_700_000_000, 123)
	if err := os.Chtimes(p, then, then); err != nil {
		t.Fatal(err)
	}
	o := open(t, root)
	if got := observe(t, o, "f"); got.Digest != abc {
		t.Fatalf("got %+v", got)
	}
	f, err := os.OpenFile(p, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteString("xyz"); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(f.Close(), os.Chtimes(p, then, then)); err != nil {
		t.Fatal(err)
	}
	// printf xyz | sha256sum
	if got, want := observe(t, o, "f"), "sha256:3608bca1e44ea6c4d268eb6db02260269892c0b42b86bbf1e77a6fa16c3c9282"; string(got.Digest) != want {
		t.Errorf("got %s, want %s", got.Digest, want)
	}
}

// forge makes the record of a file name another digest, taken at a moment after the file's last change: what Observe says then
// tells whether it trusted the record.
func forge(t *testing.T, o *Observer, name string, after time.Duration) {
	t.Helper()
	r := o.cache.records[name]
	if r == nil {
		t.Fatalf("%s is not remembered", name)
	}
	r.sum = [32]byte{1}
	r.at = max(r.mtime, r.ctime) + int64(after)
}

func TestWhenARecordIsTrusted(t *testing.T) {
	const forged = "sha256:0100000000000000000000000000000000000000000000000000000000000000"
	for _, c := range []struct {
		name  string
		after time.Duration
		now   time.Duration // of the look, after the file's last change
		fresh bool
		want  string
	}{
		{"hashed long after the last change", time.Second, time.Hour, false, forged},
		{"hashed right after it", 21 * time.Millisecond, time.Hour, false, forged},
		{"hashed within the clock's granularity", 20 * time.Millisecond, time.Hour, false, abc},
		{"hashed at the same tick", 0, time.Hour, false, abc},
		{"changed in the future", -time.Hour, time.Hour, false, abc},
		{"second look, long after the first", time.Second, time.Hour, true, forged},
		{"second look, within the granularity of the first", time.Second, time.Second + 20*time.Millisecond, true, abc},
		{"the same, by Observe", time.Second, time.Second + 20*time.Millisecond, false, forged},
	} {
		t.Run(c.name, func(t *testing.T) {
			o := open(t, project(t, map[string]string{"f": "abc"}))
			observe(t, o, "f")
			forge(t, o, "f", c.after)
			r := o.cache.records["f"]
			o.now = func() time.Time { return time.Unix(0, max(r.mtime, r.ctime)).Add(c.now) }
			look := o.Observe
			if c.fresh {
				look = o.Fresh
			}
			got, err := look(t.Context(), []string{"f"})
			if err != nil || string(got["f"].Digest) != c.want {
				t.Errorf("got %s, %v, want %s", got["f"].Digest, err, c.want)
			}
		})
	}
}

func TestFileSystemThatCountsInSeconds(t *testing.T) {
	const second = int64(time.Second)
	for _, c := range []struct {
		name string
		r    record
		want bool
	}{
		{"two seconds and a bit after", record{stamp: stamp{mtime: 100 * second, ctime: 100 * second}, at: 102*second + 1}, true},
		{"two seconds after", record{stamp: stamp{mtime: 100 * second, ctime: 100 * second}, at: 102 * second}, false},
		{"an mtime of whole seconds says nothing", record{stamp: stamp{mtime: 90 * second, ctime: 100*second + 1}, at: 100*second + 30_000_000}, true},
		{"a time that was put back hides no change", record{stamp: stamp{mtime: 90 * second, ctime: 100*second + 1}, at: 100*second + 10_000_000}, false},
		{"an mtime that is newer than the ctime", record{stamp: stamp{mtime: 200 * second, ctime: 100*second + 1}, at: 150 * second}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := c.r.settled(); got != c.want {
				t.Errorf("got %v", got)
			}
		})
	}
}

// A file rewritten again and again with bytes of one length, as fast as can be: no look may miss one, whatever the clock's tick.
func TestQuickEditsAreSeen(t *testing.T) {
	root := project(t, map[string]string{"f": ""})
	o, err := Open(root, time.Now)
	if err != nil {
		t.Fatal(err)
	}
	f, err := os.OpenFile(filepath.Join(root, "f"), os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	seen := map[string]bool{}
	for i := range 300 {
		if _, err := f.WriteAt(fmt.Appendf(nil, "%04d", i), 0); err != nil {
			t.Fatal(err)
		}
		seen[string(observe(t, o, "f").Digest)] = true
	}
	if len(seen) != 300 {
		t.Errorf("300 edits, %d seen", len(seen))
	}
}

func TestDependencyEditedDuringTheRunIsFound(t *testing.T) {
	root := project(t, map[string]string{"src/a.py": "abc", "params.yaml": "x", "unchanged": "u"})
	o, err := Open(root, time.Now)
	if err != nil {
		t.Fatal(err)
	}
	names := []string{"src", "src/*.py", "params.yaml", "unchanged"}
	before, err := o.Observe(t.Context(), names)
	if err != nil {
		t.Fatal(err)
	}
	put1(t, root, "src/a.py", "abd") // the stage runs, and someone saves the file in the editor
	put1(t, root, "params.yaml", "y")
	after, err := o.Fresh(t.Context(), names)
	if err != nil {
		t.Fatal(err)
	}
	var changed []string
	for _, n := range names {
		if before[n] != after[n] {
			changed = append(changed, n)
		}
	}
	if d := cmp.Diff([]string{"src", "src/*.py", "params.yaml"}, changed); d != "" {
		t.Errorf("-want +got\n%s", d)
	}
}

func TestFileThatChangesWhileItIsRead(t *testing.T) {
	root := project(t, map[string]string{"log": strings.Repeat("x", 32<<20)})
	f, err := os.OpenFile(filepath.Join(root, "log"), os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		t.Fatal(err)
	}
	var stop atomic.Bool
	done := make(chan error)
	go func() {
		var err error
		for !stop.Load() && err == nil {
			_, err = f.WriteString("y")
		}
		done <- errors.Join(err, f.Close())
	}()
	got := observe(t, open(t, root), "log")
	stop.Store(true)
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	if want := (Result{Err: "it changes while it is read"}); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

func TestGlob(t *testing.T) {
	root := project(t, map[string]string{
		"a.csv": "1", "b.CSV": "2", "x[1].csv": "3", "x1.csv": "4", "pipeline.lock": "l", "d/a.csv": "5", "d/e/a.csv": "6", "d/e/f/b.csv": "7", "d/.h.csv": "8",
		"d/.git/g.csv": "9", "g/a.csv": "10", "skip/a.csv": "11", "l": "-> d", ".pipeignore": "/skip/\n", "dir.csv/inner": "12",
	})
	o := open(t, root)
	for _, c := range []struct {
		pattern string
		want    []string
	}{
		{"*.csv", []string{"a.csv", "x1.csv", "x[1].csv"}},
		{"?.csv", []string{"a.csv"}},
		{"*.[cC][sS][vV]", []string{"a.csv", "b.CSV", "x1.csv", "x[1].csv"}},
		{"{a,x1}.csv", []string{"a.csv", "x1.csv"}},
		{"d/*.csv", []string{"d/.h.csv", "d/a.csv"}},
		{"*/a.csv", []string{"d/a.csv", "g/a.csv", "l/a.csv"}},
		{"d/**", []string{"d/.h.csv", "d/a.csv", "d/e/a.csv", "d/e/f/b.csv"}},
		{"d/**/*.csv", []string{"d/.h.csv", "d/a.csv", "d/e/a.csv", "d/e/f/b.csv"}},
		{"d/*/*.csv", []string{"d/e/a.csv"}},
		{"**/f/*", []string{"d/e/f/b.csv", "l/e/f/b.csv"}},
		{"{d/e,g}/a.csv", []string{"d/e/a.csv", "g/a.csv"}},
		{"d/{e/f,x}/*", []string{"d/e/f/b.csv"}},
		{"skip/*", []string{"skip/a.csv"}}, // .pipeignore skips what is come across, not what is named
		{"pipeline.loc?", nil},
		{"nowhere/*", nil},
		{"a.csv/*", nil},
	} {
		t.Run(c.pattern, func(t *testing.T) {
			w := &walker{root: root, ignore: &ignores{root: root}}
			tg := w.look(c.pattern)
			var got []string
			for _, f := range tg.files {
				got = append(got, f.label)
			}
			if d := cmp.Diff(c.want, got); d != "" {
				t.Errorf("-want +got\n%s", d)
			}
			r := observe(t, o, c.pattern)
			if r.Missing != (c.want == nil) || r.Files != len(c.want) || r.Err != "" || r.Dir {
				t.Errorf("got %+v", r)
			}
		})
	}
	if got := observe(t, o, "x[1].csv"); got.Files != 1 || got.Size != 1 || got.Digest != "sha256:4e07408562bedb8b60ce05c1decfe3ad16b72230967de01f640b7e4729b49fce" { // printf 3 | sha256sum
		t.Errorf("a file of just that name: %+v", got)
	}
	if got, want := observe(t, o, "d/[a"), (Result{Err: "it is no pattern: a [ or { is not closed"}); got != want {
		t.Errorf("got %+v", got)
	}
}

func TestIsGlob(t *testing.T) {
	for name, want := range map[string]bool{"a/b.csv": false, "a/*.csv": true, "a?": true, "a[1]": true, "{a,b}": true, "a b": false} {
		if IsGlob(name) != want {
			t.Errorf("%s: %v", name, !want)
		}
	}
}

func TestOwnLockNeverCounts(t *testing.T) {
	root := project(t, map[string]string{"a": "1", "pipeline.lock": "x", "sub/pipeline.lock": "counts: another project's file is data here"})
	o := open(t, root)
	before := observe(t, o, ".")
	put1(t, root, "pipeline.lock", "y")
	if after := observe(t, o, "."); after != before || after.Files != 2 {
		t.Errorf("before %+v\nafter  %+v", before, after)
	}
}

func TestCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := open(t, project(t, map[string]string{"a": "1"})).Observe(ctx, []string{"a"}); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

func TestOpenErrors(t *testing.T) {
	root := project(t, map[string]string{"f": ""})
	for p, want := range map[string]string{
		filepath.Join(root, "no"): "open project: " + root + "/no: it does not exist",
		filepath.Join(root, "f"):  "open project: " + root + "/f is no folder",
	} {
		if _, err := Open(p, time.Now); err == nil || err.Error() != want {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}

func TestBrokenIgnoreFile(t *testing.T) {
	root := project(t, map[string]string{"d/a": "1", ".pipeignore": "ok\n[abc\n", "d/.pipeignore": "x\\\n"})
	_, err := open(t, root).Observe(t.Context(), []string{"d"})
	const why = ": expected a pattern as in .gitignore, found a [ that is not closed or a \\ at the end"
	if want := ".pipeignore:2:1" + why + "\nd/.pipeignore:1:1" + why; err == nil || err.Error() != want || diag.ExitOf(err) != diag.Usage {
		t.Errorf("got %v, want %s", err, want)
	}
}
