package repo

import (
	"bufio"
	"bytes"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/go-git/go-git/v5/plumbing/format/config"
	"github.com/go-git/go-git/v5/plumbing/format/gitignore"
)

// Ignored reports whether git ignores a file of the project, and which line of which file makes it so ("file:line: pattern"). name
// is relative to the project's folder, with slashes. A file that git tracks is never ignored. home is the user's folder, whose git
// configuration may name one more list; "" leaves it out.
func (g *Git) Ignored(name, home string) (bool, string) {
	if g == nil {
		return false, ""
	}
	path := strings.Split(g.inTree(name), "/")
	var rules []rule
	rules = append(rules, readRules(g.globalExcludes(home), nil)...)
	rules = append(rules, readRules(filepath.Join(g.common, "info", "exclude"), nil)...)
	for depth := range path {
		domain := path[:depth]
		file := filepath.Join(append(append([]string{g.top}, domain...), ".gitignore")...)
		rules = append(rules, readRules(file, domain)...)
		// A folder that is ignored takes all below it along; no later line brings one of them back.
		if depth+1 < len(path) {
			if ok, by := match(rules, path[:depth+1], true); ok {
				return !g.tracked(path), g.show(by)
			}
		}
	}
	ok, by := match(rules, path, false)
	return ok && !g.tracked(path), g.show(by)
}

// tracked is asked last: the index of a large repository takes long to read.
func (g *Git) tracked(path []string) bool {
	idx, err := g.store.Index()
	if err != nil {
		return false
	}
	_, err = idx.Entry(strings.Join(path, "/"))
	return err == nil
}

// rule is one line of an ignore file.
type rule struct {
	pattern gitignore.Pattern
	file    string
	line    int
	text    string
}

// match gives the answer of the last rule that says anything.
func match(rules []rule, path []string, dir bool) (bool, *rule) {
	for i := len(rules) - 1; i >= 0; i-- {
		if r := rules[i].pattern.Match(path, dir); r != gitignore.NoMatch {
			return r == gitignore.Exclude, &rules[i]
		}
	}
	return false, nil
}

func (g *Git) show(r *rule) string {
	if r == nil {
		return ""
	}
	file := r.file
	if strings.HasPrefix(file, g.top+string(filepath.Separator)) {
		if rel, err := filepath.Rel(g.root, file); err == nil {
			file = filepath.ToSlash(rel)
		}
	}
	return file + ":" + strconv.Itoa(r.line) + ": " + r.text
}

func readRules(file string, domain []string) []rule {
	if file == "" {
		return nil
	}
	data, err := os.ReadFile(file)
	if err != nil {
		return nil
	}
	var out []rule
	scan := bufio.NewScanner(bytes.NewReader(data))
	for n := 1; scan.Scan(); n++ {
		text := strings.TrimPrefix(scan.Text(), "\ufeff")
		if strings.TrimSpace(text) == "" || strings.HasPrefix(text, "#") {
			continue
		}
		out = append(out, rule{gitignore.ParsePattern(unescape(text), domain), file, n, strings.TrimSpace(text)})
	}
	return out
}

// unescape takes the backslash from a leading \# or \!, which the matcher leaves in.
func unescape(text string) string {
	if strings.HasPrefix(text, `\#`) {
		return text[1:]
	}
	return text
}

// globalExcludes gives the user's own ignore file: core.excludesFile of the repository or of the user, else git's default.
func (g *Git) globalExcludes(home string) string {
	if cfg, err := g.store.Config(); err == nil {
		if f := cfg.Raw.Section("core").Options.Get("excludesfile"); f != "" {
			return expand(f, home)
		}
	}
	if home == "" {
		return ""
	}
	for _, file := range []string{filepath.Join(home, ".gitconfig"), filepath.Join(home, ".config", "git", "config")} {
		data, err := os.ReadFile(file)
		if err != nil {
			continue
		}
		raw := config.New()
		if config.NewDecoder(bytes.NewReader(data)).Decode(raw) != nil {
			continue
		}
		if f := raw.Section("core").Options.Get("excludesfile"); f != "" {
			return expand(f, home)
		}
	}
	return filepath.Join(home, ".config", "git", "ignore")
}

func expand(path, home string) string {
	if rest, ok := strings.CutPrefix(path, "~/"); ok {
		return filepath.Join(home, rest)
	}
	return path
}
