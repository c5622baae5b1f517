package arch

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

const module = "pipe"

// file is one Go file of the module, whatever its build constraints.
type file struct {
	path  string // relative to the module's root, with slashes
	pkg   string // the folder it is in
	test  bool
	lines int
	text  string
	ast   *ast.File
	fset  *token.FileSet
}

// imports gives the import paths of the file with the name that each goes by in it.
func (f *file) imports() map[string]string {
	out := map[string]string{}
	for _, spec := range f.ast.Imports {
		p, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			continue // the parser would have said so
		}
		name := path.Base(p)
		if spec.Name != nil {
			name = spec.Name.Name
		}
		out[p] = name
	}
	return out
}

// at gives a place as path:line.
func (f *file) at(p token.Pos) string { return f.path + ":" + strconv.Itoa(f.fset.Position(p).Line) }

// root finds the folder of go.mod above this package.
func root(t *testing.T) string {
	t.Helper()
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for ; ; dir = filepath.Dir(dir) {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir
		}
		if dir == filepath.Dir(dir) {
			t.Fatal("no go.mod above this package")
		}
	}
}

// tree parses every Go file of the module.
func tree(t *testing.T) []*file {
	t.Helper()
	files := load(t, os.DirFS(root(t)))
	if len(files) < 20 {
		t.Fatalf("only %d Go files found: the tests of this package look at nothing", len(files))
	}
	return files
}

// load parses the Go files below a folder; folders with a go.mod of their own, hidden ones and testdata are another's.
func load(t *testing.T, fsys fs.FS) []*file {
	t.Helper()
	var files []*file
	err := fs.WalkDir(fsys, ".", func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			return skip(fsys, p, d.Name())
		}
		if !strings.HasSuffix(p, ".go") {
			return nil
		}
		text, err := fs.ReadFile(fsys, p)
		if err != nil {
			return err
		}
		fset := token.NewFileSet()
		parsed, err := parser.ParseFile(fset, p, text, parser.ParseComments)
		if err != nil {
			return err
		}
		files = append(files, &file{
			path: p, pkg: path.Dir(p), test: strings.HasSuffix(p, "_test.go"),
			lines: strings.Count(string(text), "\n"), text: string(text), ast: parsed, fset: fset,
		})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

func skip(fsys fs.FS, p, name string) error {
	if p == "." {
		return nil
	}
	if strings.HasPrefix(name, ".") || name == "testdata" || name == "bin" {
		return fs.SkipDir
	}
	if _, err := fs.Stat(fsys, path.Join(p, "go.mod")); err == nil {
		return fs.SkipDir
	}
	return nil
}

// below reports whether a package is one of the trees, or lies in one.
func below(pkg string, trees []string) bool {
	for _, tr := range trees {
		if pkg == tr || strings.HasPrefix(pkg, tr+"/") {
			return true
		}
	}
	return false
}
