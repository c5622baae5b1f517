package files

import (
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/bmatcuk/doublestar/v4"

	"pipe/internal/fsx"
)

// lockName is pipe's own lock: a folder or glob that counted it would be changed by every run.
const lockName = "pipeline.lock"

// skipped are folders that no folder dep and no glob goes into.
var skipped = [...]string{".git", ".pipe", "__pycache__", ".ipynb_checkpoints"}

// IsGlob reports whether a name is a pattern, as long as no file of just that name exists.
func IsGlob(name string) bool { return strings.ContainsAny(name, "*?[{") }

// walker finds the files that names stand for.
type walker struct {
	root   string
	ignore *ignores
}

// abs gives the absolute path of a name.
func (w *walker) abs(name string) string {
	if p := filepath.FromSlash(name); filepath.IsAbs(p) {
		return filepath.Clean(p)
	}
	return filepath.Join(w.root, filepath.FromSlash(name))
}

// look finds out what a name is and which files it stands for.
func (w *walker) look(name string) *target {
	p := w.abs(name)
	info, err := os.Stat(p)
	switch {
	case err == nil && info.Mode().IsRegular():
		return &target{kind: single, files: []file{{path: p, info: info}}}
	case err == nil && info.IsDir():
		t := &target{kind: folder}
		w.folder(t, p, name, "")
		return t.sorted()
	case err == nil:
		return &target{kind: single, err: "it is " + what(info.Mode()) + ", neither file nor folder"}
	case isMissing(err) && IsGlob(name):
		return w.glob(name)
	case isMissing(err):
		return &target{kind: missing}
	}
	return &target{kind: single, err: fsx.Explain(err, "")}
}

// isMissing reports whether there is nothing at the path: a file in the place of one of its folders says so too.
func isMissing(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR)
}

func what(m fs.FileMode) string {
	switch {
	case m&fs.ModeNamedPipe != 0:
		return "a named pipe"
	case m&fs.ModeSocket != 0:
		return "a socket"
	}
	return "a device"
}

func (t *target) sorted() *target {
	slices.SortFunc(t.files, func(a, b file) int { return strings.Compare(a.label, b.label) })
	return t
}

func (t *target) fail(shown, why string) {
	if t.err == "" {
		t.err = shown + ": " + why
	}
}

// folder takes all files below an absolute path. shown is how the user knows the folder, label what it is called in the digest.
func (w *walker) folder(t *target, dir, shown, label string) {
	w.walk(t, dir, shown, label, nil, func(string, string, bool) bool { return true })
}

// walk goes through a folder depth first. above are the folders on the way, take says of a label what counts; links are followed,
// since a program that reads the folder follows them too, unless they lead back or nowhere: then their text counts.
func (w *walker) walk(t *target, dir, shown, label string, above []string, take func(label, shown string, isDir bool) bool) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.fail(shown, reason(err))
		return
	}
	rules := w.ignore.of(dir)
	above = append(slices.Clip(above), dir)
	for _, e := range entries {
		name, p := e.Name(), filepath.Join(dir, e.Name())
		l, s := path.Join(label, name), path.Join(shown, name)
		if e.Type()&fs.ModeSymlink != 0 {
			w.link(t, p, s, l, above, take)
			continue
		}
		isDir := e.IsDir()
		switch {
		case w.leftOut(dir, name, isDir), !take(l, s, isDir), rules.match(p, isDir):
		case isDir:
			w.walk(t, p, s, l, above, take)
		case e.Type().IsRegular():
			info, err := e.Info()
			if err != nil {
				t.fail(s, reason(err))
				continue
			}
			t.files = append(t.files, file{label: l, path: p, shown: s, info: info})
		default:
			t.fail(s, "it is "+what(e.Type())+", neither file nor folder; name it in .pipeignore")
		}
	}
}

// link follows a link inside a folder.
func (w *walker) link(t *target, p, shown, label string, above []string, take func(label, shown string, isDir bool) bool) {
	info, err := os.Stat(p)
	isDir := err == nil && info.IsDir()
	if w.leftOut(filepath.Dir(p), filepath.Base(p), isDir) || !take(label, shown, isDir) || w.ignore.of(filepath.Dir(p)).match(p, isDir) {
		return
	}
	switch {
	case isDir && !leadsBack(info, above):
		w.walk(t, p, shown, label, above, take)
	case isDir || isMissing(err) || errors.Is(err, syscall.ELOOP):
		to, err := os.Readlink(p)
		if err != nil {
			t.fail(shown, reason(err))
			return
		}
		t.lines = append(t.lines, line{label, "link " + quote(filepath.ToSlash(to))})
	case err != nil:
		t.fail(shown, fsx.Explain(err, ""))
	case info.Mode().IsRegular():
		t.files = append(t.files, file{label: label, path: p, shown: shown, info: info})
	default:
		t.fail(shown, "it leads to "+what(info.Mode())+", neither file nor folder; name it in .pipeignore")
	}
}

// leadsBack reports whether a folder is one of those on the way to it.
func leadsBack(info fs.FileInfo, above []string) bool {
	for _, dir := range above {
		if st, err := os.Stat(dir); err == nil && os.SameFile(st, info) {
			return true
		}
	}
	return false
}

// leftOut reports whether an entry never counts inside a folder or a glob.
func (w *walker) leftOut(dir, name string, isDir bool) bool {
	if isDir {
		return slices.Contains(skipped[:], name)
	}
	return name == ignoreName || fsx.IsTemp(name) || name == lockName && dir == w.root
}

// glob takes the files that a pattern matches; a folder that it matches stands for nothing, `folder/**` for all files below.
func (w *walker) glob(pattern string) *target {
	t := &target{kind: glob}
	if !doublestar.ValidatePattern(pattern) {
		t.err = "it is no pattern: a [ or { is not closed"
		return t
	}
	base, rest := doublestar.SplitPattern(pattern)
	dir := w.abs(base)
	if st, err := os.Stat(dir); err != nil || !st.IsDir() {
		if err != nil && !isMissing(err) {
			t.fail(base, fsx.Explain(err, ""))
		}
		t.kind = missing
		return t
	}
	segments := strings.Split(rest, "/")
	slashInBraces := braceWithSlash(rest)
	w.walk(t, dir, base, "", nil, func(label, _ string, isDir bool) bool {
		if isDir {
			return slashInBraces || mayHold(segments, label)
		}
		return doublestar.MatchUnvalidated(rest, label)
	})
	for i := range t.files {
		t.files[i].label = path.Join(base, t.files[i].label)
	}
	for i := range t.lines {
		t.lines[i].label = path.Join(base, t.lines[i].label)
	}
	return t.sorted()
}

// mayHold reports whether files below a folder can match: the folder's own names match the pattern's first ones.
func mayHold(segments []string, label string) bool {
	for i, name := range strings.Split(label, "/") {
		switch {
		case i >= len(segments)-1 && !strings.Contains(segments[len(segments)-1], "**"):
			return false
		case strings.Contains(segments[min(i, len(segments)-1)], "**"):
			return true
		case !doublestar.MatchUnvalidated(segments[i], name):
			return false
		}
	}
	return true
}

// braceWithSlash reports whether alternatives span folders: {a/b,c}.
func braceWithSlash(pattern string) bool {
	depth := 0
	for _, c := range pattern {
		switch {
		case c == '{':
			depth++
		case c == '}':
			depth--
		case c == '/' && depth > 0:
			return true
		}
	}
	return false
}
