package arch

import (
	"fmt"
	"io/fs"
	"os"
	"path"
	"regexp"
	"strings"
	"testing"
	"testing/fstest"
)

func TestLinks(t *testing.T) {
	pages, wrong := checkLinks(t, os.DirFS(root(t)))
	if pages < 8 {
		t.Errorf("only %d pages found", pages)
	}
	report(t, wrong)
}

var link = regexp.MustCompile(`\]\(([^)#\s]+)(#[^)]*)?\)`)

// checkLinks finds links of Markdown pages that lead nowhere inside the repository.
func checkLinks(t *testing.T, fsys fs.FS) (pages int, wrong []string) {
	t.Helper()
	err := fs.WalkDir(fsys, ".", func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			return skip(fsys, p, d.Name())
		}
		if path.Ext(p) != ".md" {
			return nil
		}
		pages++
		text, err := fs.ReadFile(fsys, p)
		if err != nil {
			return err
		}
		for _, m := range link.FindAllStringSubmatch(string(text), -1) {
			if strings.Contains(m[1], "://") {
				continue
			}
			if _, err := fs.Stat(fsys, path.Join(path.Dir(p), m[1])); err != nil {
				wrong = append(wrong, fmt.Sprintf("%s: the link to %s leads nowhere", p, m[1]))
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return pages, wrong
}

func TestLinksSee(t *testing.T) {
	_, wrong := checkLinks(t, fstest.MapFS{
		"README.md": {Data: []byte("[a](docs/a.md), [b](docs/b.md#x), [c](https://example.org/), [d](docs/)")},
		"docs/a.md": {Data: []byte("[up](../README.md)")},
	})
	if len(wrong) != 1 || !strings.Contains(wrong[0], "docs/b.md") {
		t.Errorf("got %q, want the link to docs/b.md", wrong)
	}
}
