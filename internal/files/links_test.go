//go:build unix

package files

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

func TestLinks(t *testing.T) {
	root := project(t, map[string]string{
		"real/a": "abc", "real/deep/b": "x", "file": "-> real/a", "gone": "-> nowhere", "folder": "-> real",
		"d/own": "own", "d/toFile": "-> ../real/a", "d/toFolder": "-> ../real", "d/toNothing": "-> ./nowhere", "d/up": "-> ..", "d/self": "-> self",
	})
	outside := project(t, map[string]string{"o": "abc"})
	put1(t, root, "d/outside", "-> "+filepath.Join(outside, "o"))
	o := open(t, root)
	if got := observe(t, o, "file"); got.Digest != abc || got.Dir {
		t.Errorf("link to a file: %+v", got)
	}
	if got := observe(t, o, "gone"); !got.Missing {
		t.Errorf("link to nothing: %+v", got)
	}
	if a, b := observe(t, o, "folder"), observe(t, o, "real"); a != b || !a.Dir || a.Files != 2 {
		t.Errorf("link to a folder: %+v, itself: %+v", a, b)
	}
	d := observe(t, o, "d")
	// "up" leads to the root, which holds d: d/up/d would begin again and counts as a link. So do "toNothing" and "self".
	if d.Err != "" || d.Files < 5 {
		t.Fatalf("folder with links: %+v", d)
	}
	for _, c := range []struct {
		name   string
		change func() error
	}{
		{"the file that a link inside leads to", func() error { return os.WriteFile(filepath.Join(root, "real/a"), []byte("ABC"), 0o644) }},
		{"a file below the folder that a link leads to", func() error { return os.WriteFile(filepath.Join(root, "real/deep/b"), []byte("X"), 0o644) }},
		{"the file outside that a link leads to", func() error { return os.WriteFile(filepath.Join(outside, "o"), []byte("ABC"), 0o644) }},
		{"where a link that leads to nothing leads", func() error {
			return errors.Join(os.Remove(filepath.Join(root, "d/toNothing")), os.Symlink("elsewhere", filepath.Join(root, "d/toNothing")))
		}},
	} {
		before := observe(t, o, "d")
		if err := c.change(); err != nil {
			t.Fatal(err)
		}
		if after := observe(t, o, "d"); after == before || after.Err != "" {
			t.Errorf("%s changed, and nothing was seen: %+v", c.name, after)
		}
	}
}

func TestLinkLoopEnds(t *testing.T) {
	root := project(t, map[string]string{"d/a/x": "1", "d/b/y": "2", "d/a/toB": "-> ../b", "d/b/toA": "-> ../a", "d/here": "-> ."})
	want := observe(t, open(t, root), "d")
	// a/x, a/toB/y, b/y, b/toA/x; a/toB/toA, b/toA/toB and here lead back.
	if want.Err != "" || want.Files != 4 {
		t.Errorf("got %+v, want 4 files", want)
	}
}

func TestLinkThatCountsByItsText(t *testing.T) {
	root := project(t, map[string]string{"d/z": "-> .", "d/m": "abc", "d/a": "-> nowhere"})
	// printf 'pipe directory 1\n"a" link "nowhere"\n"m" sha256:ba78...15ad\n"z" link "."\n' | sha256sum
	want := Result{Digest: "sha256:1f7b3482d2eb10fa1b5b50471ef2d40cff705ba9c8e04bbcf7d2ed907a0d5bf1", Size: 3, Files: 1, Dir: true}
	if got := observe(t, open(t, root), "d"); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

func TestSpecialFiles(t *testing.T) {
	root := project(t, map[string]string{"d/a": "x"})
	for _, p := range []string{"d/fifo", "fifo"} {
		if err := syscall.Mkfifo(filepath.Join(root, p), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	o := open(t, root)
	for name, want := range map[string]Result{
		"fifo":      {Err: "it is a named pipe, neither file nor folder"},
		"d":         {Dir: true, Err: "d/fifo: it is a named pipe, neither file nor folder; name it in .pipeignore"},
		"/dev/null": {Err: "it is a device, neither file nor folder"},
	} {
		if got := observe(t, o, name); got != want {
			t.Errorf("%s: got %+v, want %+v", name, got, want)
		}
	}
	put1(t, root, ".pipeignore", "fifo\n")
	if got := observe(t, o, "d"); got.Err != "" || got.Files != 1 {
		t.Errorf("named in .pipeignore: %+v", got)
	}
}
