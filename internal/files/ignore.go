package files

import (
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strconv"
	"strings"
	"sync"

	"github.com/bmatcuk/doublestar/v4"

	"pipe/internal/diag"
	"pipe/internal/fsx"
)

// ignoreName is the file that names what folder deps and globs skip, in the syntax of .gitignore, for its folder and all below.
const ignoreName = ".pipeignore"

// rule is one line of it.
type rule struct {
	pattern string
	any     bool // without a slash: it matches the last name at any depth
	not     bool
	dirOnly bool
}

// rules are the lines of one folder's file, and what the folders above say before them.
type rules struct {
	above *rules
	dir   string // absolute
	list  []rule
}

// ignores reads the files of one Observe, each once. Safe for several goroutines.
type ignores struct {
	root string
	mu   sync.Mutex
	dirs map[string]*rules
	errs diag.List
}

func (g *ignores) err() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.errs.Err()
}

// of gives the rules for the entries of a folder: from the project's root, or the file system's for what lies outside, down to it.
func (g *ignores) of(dir string) *rules {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.load(dir)
}

func (g *ignores) load(dir string) *rules {
	if r, ok := g.dirs[dir]; ok {
		return r
	}
	var above *rules
	if parent := filepath.Dir(dir); dir != g.root && parent != dir {
		above = g.load(parent)
	}
	r := g.read(dir, above)
	if g.dirs == nil {
		g.dirs = map[string]*rules{}
	}
	g.dirs[dir] = r
	return r
}

// read gives the rules of one folder, and those above where it has none.
func (g *ignores) read(dir string, above *rules) *rules {
	p := filepath.Join(dir, ignoreName)
	data, err := os.ReadFile(p)
	if isMissing(err) {
		return above
	}
	shown := p
	if rel, ok := strings.CutPrefix(p, g.root+string(filepath.Separator)); ok {
		shown = filepath.ToSlash(rel)
	}
	if err != nil {
		if !errors.Is(err, fs.ErrPermission) || strings.HasPrefix(p, g.root) {
			g.errs = append(g.errs, diag.Errorf(diag.Pos{File: shown}, "%s", fsx.Explain(err, "cannot be read")))
		}
		return above
	}
	r := &rules{above: above, dir: dir}
	no := 0
	for text := range strings.Lines(string(data)) {
		no++
		text = strings.TrimRight(text, "\r\n")
		one, ok, why := parseRule(text)
		if why != "" {
			e := diag.Errorf(diag.Pos{File: shown, Line: no, Col: 1}, "%s", why).With("write \\[ for the character itself")
			e.Line = text
			g.errs = append(g.errs, e)
		}
		if ok {
			r.list = append(r.list, one)
		}
	}
	return r
}

// parseRule reads one line; not ok if it says nothing.
func parseRule(text string) (r rule, ok bool, why string) {
	for strings.HasSuffix(text, " ") && !strings.HasSuffix(text, `\ `) {
		text = text[:len(text)-1]
	}
	if text == "" || text[0] == '#' {
		return r, false, ""
	}
	if text[0] == '!' {
		r.not, text = true, text[1:]
	}
	if rest, found := strings.CutSuffix(text, "/"); found {
		r.dirOnly, text = true, rest
	}
	r.any = !strings.Contains(text, "/")
	text = strings.TrimPrefix(text, "/")
	if text == "" {
		return r, false, ""
	}
	// Braces are plain characters here, and "a/**" is all below a but not a itself; to doublestar neither is so.
	text = strings.NewReplacer("{", `\{`, "}", `\}`, `\{`, `\{`, `\}`, `\}`, `\\`, `\\`).Replace(text)
	if strings.HasSuffix(text, "/**") {
		text += "/*"
	}
	if !doublestar.ValidatePattern(text) {
		return r, false, "expected a pattern as in .gitignore, found a [ that is not closed or a \\ at the end"
	}
	r.pattern = text
	return r, true, ""
}

// match reports whether an entry is skipped: the last line that matches it decides, lines of deeper folders being later.
func (r *rules) match(p string, isDir bool) bool {
	for ; r != nil; r = r.above {
		rel := strings.TrimPrefix(filepath.ToSlash(strings.TrimPrefix(p, r.dir)), "/")
		base := path.Base(rel)
		for i := len(r.list) - 1; i >= 0; i-- {
			x := r.list[i]
			if x.dirOnly && !isDir {
				continue
			}
			name := rel
			if x.any {
				name = base
			}
			if doublestar.MatchUnvalidated(x.pattern, name) {
				return !x.not
			}
		}
	}
	return false
}

func quote(s string) string { return strconv.QuoteToASCII(s) }
