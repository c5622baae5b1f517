//go:build unix

package files

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// The expected lists are what `git ls-files --others --exclude-standard` says of the same tree with the file called .gitignore.
func TestIgnoreAsGitDoes(t *testing.T) {
	tree := []string{"a.txt", "a.log", "b/a.log", "b/keep.log", "b/c/a.txt", "b/c/x{1}.txt", "build/out", "src/build/out", "src/build.txt", "#h", "!n", "sp ", "d/e/f/g", "d/g", "e/build", "[x]", "B.TXT"}
	for _, c := range []struct {
		name    string
		ignores map[string]string // file to text
		want    string            // what is left, blank-separated
	}{
		{"nothing", map[string]string{".": ""}, "!n #h B.TXT [x] a.log a.txt b/a.log b/c/a.txt b/c/x{1}.txt b/keep.log build/out d/e/f/g d/g e/build sp_ src/build.txt src/build/out"},
		{"a comment and blanks", map[string]string{".": "# *\n\n   \n"}, "!n #h B.TXT [x] a.log a.txt b/a.log b/c/a.txt b/c/x{1}.txt b/keep.log build/out d/e/f/g d/g e/build sp_ src/build.txt src/build/out"},
		{"a name at any depth", map[string]string{".": "*.log"}, "!n #h B.TXT [x] a.txt b/c/a.txt b/c/x{1}.txt build/out d/e/f/g d/g e/build sp_ src/build.txt src/build/out"},
		{"but not this one", map[string]string{".": "*.log\n!keep.log"}, "!n #h B.TXT [x] a.txt b/c/a.txt b/c/x{1}.txt b/keep.log build/out d/e/f/g d/g e/build sp_ src/build.txt src/build/out"},
		{"the later line decides", map[string]string{".": "!keep.log\n*.log"}, "!n #h B.TXT [x] a.txt b/c/a.txt b/c/x{1}.txt build/out d/e/f/g d/g e/build sp_ src/build.txt src/build/out"},
		{"a folder at any depth", map[string]string{".": "build/"}, "!n #h B.TXT [x] a.log a.txt b/a.log b/c/a.txt b/c/x{1}.txt b/keep.log d/e/f/g d/g e/build sp_ src/build.txt"},
		{"from here only", map[string]string{".": "/build"}, "!n #h B.TXT [x] a.log a.txt b/a.log b/c/a.txt b/c/x{1}.txt b/keep.log d/e/f/g d/g e/build sp_ src/build.txt src/build/out"},
		{"a slash in the middle", map[string]string{".": "src/build"}, "!n #h B.TXT [x] a.log a.txt b/a.log b/c/a.txt b/c/x{1}.txt b/keep.log build/out d/e/f/g d/g e/build sp_ src/build.txt"},
		{"any folders before", map[string]string{".": "**/g"}, "!n #h B.TXT [x] a.log a.txt b/a.log b/c/a.txt b/c/x{1}.txt b/keep.log build/out e/build sp_ src/build.txt src/build/out"},
		{"any folders between", map[string]string{".": "d/**/g"}, "!n #h B.TXT [x] a.log a.txt b/a.log b/c/a.txt b/c/x{1}.txt b/keep.log build/out e/build sp_ src/build.txt src/build/out"},
		{"all below, but one", map[string]string{".": "d/**\n!d/g"}, "!n #h B.TXT [x] a.log a.txt b/a.log b/c/a.txt b/c/x{1}.txt b/keep.log build/out d/g e/build sp_ src/build.txt src/build/out"},
		{"nothing comes back out of a folder", map[string]string{".": "d/\n!d/g"}, "!n #h B.TXT [x] a.log a.txt b/a.log b/c/a.txt b/c/x{1}.txt b/keep.log build/out e/build sp_ src/build.txt src/build/out"},
		{"escapes", map[string]string{".": "\\#h\n\\!n\nsp\\ \n\\[x\\]"}, "B.TXT a.log a.txt b/a.log b/c/a.txt b/c/x{1}.txt b/keep.log build/out d/e/f/g d/g e/build src/build.txt src/build/out"},
		{"braces are plain", map[string]string{".": "x{1}.txt\n{a,b}.txt"}, "!n #h B.TXT [x] a.log a.txt b/a.log b/c/a.txt b/keep.log build/out d/e/f/g d/g e/build sp_ src/build.txt src/build/out"},
		{"classes", map[string]string{".": "[!b].txt\n[A-Z].TXT"}, "!n #h [x] a.log b/a.log b/c/x{1}.txt b/keep.log build/out d/e/f/g d/g e/build sp_ src/build.txt src/build/out"},
		{"blanks at the end", map[string]string{".": "*.log   "}, "!n #h B.TXT [x] a.txt b/c/a.txt b/c/x{1}.txt build/out d/e/f/g d/g e/build sp_ src/build.txt src/build/out"},
		{"carriage returns", map[string]string{".": "*.log\r\n"}, "!n #h B.TXT [x] a.txt b/c/a.txt b/c/x{1}.txt build/out d/e/f/g d/g e/build sp_ src/build.txt src/build/out"},
		{"in a folder, for what is below", map[string]string{"b": "*.log\n/c/a.txt"}, "!n #h B.TXT [x] a.log a.txt b/c/x{1}.txt build/out d/e/f/g d/g e/build sp_ src/build.txt src/build/out"},
		{"the folder's own line decides", map[string]string{".": "*.log", "b": "!keep.log"}, "!n #h B.TXT [x] a.txt b/c/a.txt b/c/x{1}.txt b/keep.log build/out d/e/f/g d/g e/build sp_ src/build.txt src/build/out"},
		{"only the root's slash", map[string]string{".": "/"}, "!n #h B.TXT [x] a.log a.txt b/a.log b/c/a.txt b/c/x{1}.txt b/keep.log build/out d/e/f/g d/g e/build sp_ src/build.txt src/build/out"},
	} {
		t.Run(c.name, func(t *testing.T) {
			files := map[string]string{}
			for _, n := range tree {
				files[n] = n
			}
			for dir, text := range c.ignores {
				files[dir+"/.pipeignore"] = text
			}
			root := project(t, files)
			w := &walker{root: root, ignore: &ignores{root: root}}
			var got []string
			for _, f := range w.look(".").files {
				got = append(got, strings.ReplaceAll(f.label, " ", "_"))
			}
			if err := w.ignore.err(); err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(strings.Fields(c.want), got); d != "" {
				t.Errorf("-want +got\n%s", d)
			}
		})
	}
}

// A folder dep below the root is under the root's file too; one that the file names is read all the same, since the stage names it.
func TestIgnoreBelowTheRoot(t *testing.T) {
	root := project(t, map[string]string{".pipeignore": "*.tmp\n/d/\n", "d/a": "1", "d/b.tmp": "2", "d/e/c": "3"})
	if got := observe(t, open(t, root), "d"); got.Files != 2 {
		t.Errorf("got %+v", got)
	}
	if got := observe(t, open(t, root), "d/b.tmp"); got.Files != 1 {
		t.Errorf("a file that is named: %+v", got)
	}
}
