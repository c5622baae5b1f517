package arch

import (
	"fmt"
	"go/ast"
	"regexp"
	"slices"
	"sort"
	"strings"
	"testing"
	"testing/fstest"
)

// Each check gives what is wrong, so that a test on the tree and a test of the check itself share it.

func TestLayers(t *testing.T)       { report(t, checkLayers(tree(t))) }
func TestPure(t *testing.T)         { report(t, checkPure(tree(t))) }
func TestLibraryHomes(t *testing.T) { report(t, checkHomes(tree(t))) }
func TestBans(t *testing.T)         { report(t, checkBans(tree(t))) }
func TestShape(t *testing.T)        { report(t, checkShape(tree(t))) }

func report(t *testing.T, wrong []string) {
	t.Helper()
	sort.Strings(wrong)
	for _, w := range slices.Compact(wrong) {
		t.Error(w)
	}
}

func checkLayers(files []*file) (wrong []string) {
	for _, f := range files {
		allowed, ok := layers[f.pkg]
		if !ok {
			wrong = append(wrong, fmt.Sprintf("%s: the package is not in the table of internal/arch: say what it may import", f.pkg))
			continue
		}
		for p := range f.imports() {
			own, inside := strings.CutPrefix(p, module+"/")
			if !inside || own == f.pkg || slices.Contains(allowed, own) || f.test && slices.Contains(testLayers[f.pkg], own) {
				continue
			}
			wrong = append(wrong, fmt.Sprintf("%s: %s may not import %s", f.path, f.pkg, own))
		}
	}
	return wrong
}

func checkPure(files []*file) (wrong []string) {
	for _, f := range files {
		if f.test || !slices.Contains(pure, f.pkg) {
			continue
		}
		for p := range f.imports() {
			if below(p, impure) {
				wrong = append(wrong, fmt.Sprintf("%s: %s is pure and may not import %s", f.path, f.pkg, p))
			}
		}
	}
	return wrong
}

func checkHomes(files []*file) (wrong []string) {
	for _, f := range files {
		for p := range f.imports() {
			if first, _, _ := strings.Cut(p, "/"); !strings.Contains(first, ".") {
				continue // the standard library or this module
			}
			lib := libraryOf(p)
			switch {
			case lib == "":
				wrong = append(wrong, fmt.Sprintf("%s: %s has no home in the table of internal/arch", f.path, p))
			case f.test || atHome(f.pkg, homes[lib]):
			default:
				wrong = append(wrong, fmt.Sprintf("%s: %s may not name %s, which belongs to %s", f.path, f.pkg, p, strings.Join(homes[lib], ", ")))
			}
		}
	}
	return wrong
}

// libraryOf gives the entry of homes that an import path belongs to.
func libraryOf(p string) string {
	for lib := range homes {
		if p == lib || strings.HasPrefix(p, lib+"/") {
			return lib
		}
	}
	return ""
}

func atHome(pkg string, trees []string) bool {
	for _, tr := range trees {
		if pkg == tr || !exactHomes[tr] && strings.HasPrefix(pkg, tr+"/") {
			return true
		}
	}
	return false
}

func checkBans(files []*file) (wrong []string) {
	for _, f := range files {
		if f.test {
			wrong = append(append(wrong, skips(f)...), naps(f)...)
			continue
		}
		names := f.imports()
		for _, b := range bans {
			name, imported := names[b.pkg]
			if !imported || below(f.pkg, b.in) {
				continue
			}
			if len(b.names) == 0 {
				wrong = append(wrong, fmt.Sprintf("%s: imports %s: %s", f.path, b.pkg, b.why))
			}
			wrong = append(wrong, uses(f, name, b)...)
		}
	}
	return wrong
}

// uses finds calls of a banned name. Naming it without a call is how a package takes it as the default of a field.
func uses(f *file, name string, b ban) (wrong []string) {
	called := b.pkg == "time" || b.pkg == "context"
	say := func(sel *ast.SelectorExpr) {
		if x, ok := sel.X.(*ast.Ident); ok && x.Name == name && slices.Contains(b.names, sel.Sel.Name) {
			wrong = append(wrong, fmt.Sprintf("%s: %s.%s: %s", f.at(sel.Pos()), name, sel.Sel.Name, b.why))
		}
	}
	ast.Inspect(f.ast, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.CallExpr:
			if sel, ok := n.Fun.(*ast.SelectorExpr); ok && called {
				say(sel)
			}
		case *ast.SelectorExpr:
			if !called {
				say(n)
			}
		}
		return true
	})
	return wrong
}

// skips finds tests that give up: what a machine lacks is a failure, or the test is not needed.
func skips(f *file) (wrong []string) {
	ast.Inspect(f.ast, func(n ast.Node) bool {
		call, ok := n.(*ast.CallExpr)
		if !ok {
			return true
		}
		if sel, ok := call.Fun.(*ast.SelectorExpr); ok {
			if x, ok := sel.X.(*ast.Ident); ok && (x.Name == "t" || x.Name == "b") && strings.HasPrefix(sel.Sel.Name, "Skip") {
				wrong = append(wrong, fmt.Sprintf("%s: %s.%s: a test runs or is deleted", f.at(sel.Pos()), x.Name, sel.Sel.Name))
			}
		}
		return true
	})
	return wrong
}

// naps finds a test that waits for the clock and so fails on a slow machine. Looking again in a loop is another thing: of a process
// that is not one's child nothing tells the end.
func naps(f *file) (wrong []string) {
	names := f.imports()
	name, ok := names["time"]
	if _, fake := names["testing/synctest"]; !ok || fake {
		return nil
	}
	ast.Inspect(f.ast, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.ForStmt:
			return false
		case *ast.SelectorExpr:
			if x, ok := n.X.(*ast.Ident); ok && x.Name == name && n.Sel.Name == "Sleep" {
				wrong = append(wrong, fmt.Sprintf("%s: time.Sleep: meet the other side, or use testing/synctest", f.at(n.Pos())))
			}
		}
		return true
	})
	return wrong
}

var (
	later    = regexp.MustCompile(`\b(TO` + `DO|FIX` + `ME|XX` + `X|HA` + `CK)\b`)
	vague    = []string{"util", "utils", "common", "helper", "helpers", "misc", "types", "base", "shared"}
	promise  = regexp.MustCompile(`(?i)\b(never|nothing|no)\b`)
	maxLines = 600
)

func checkShape(files []*file) (wrong []string) {
	doc := map[string]string{}
	for _, f := range files {
		if f.lines > maxLines {
			wrong = append(wrong, fmt.Sprintf("%s: %d lines, more than %d: split it by subject", f.path, f.lines, maxLines))
		}
		if slices.Contains(vague, strings.TrimSuffix(f.ast.Name.Name, "_test")) {
			wrong = append(wrong, fmt.Sprintf("%s: package %s says nothing: name it for what it holds", f.path, f.ast.Name.Name))
		}
		for i, line := range strings.Split(f.text, "\n") {
			if later.MatchString(line) {
				wrong = append(wrong, fmt.Sprintf("%s:%d: a note to do it later: do it, or file it", f.path, i+1))
			}
		}
		if f.test || f.ast.Name.Name == "main" {
			continue
		}
		if _, ok := doc[f.pkg]; !ok {
			doc[f.pkg] = ""
		}
		if f.ast.Doc != nil {
			doc[f.pkg] += f.ast.Doc.Text()
		}
		for _, d := range f.ast.Decls {
			if fn, ok := d.(*ast.FuncDecl); ok && fn.Recv == nil && fn.Name.Name == "init" && inits[f.path] == "" {
				wrong = append(wrong, fmt.Sprintf("%s: func init: internal/cli wires what there is", f.at(fn.Pos())))
			}
		}
	}
	for pkg, text := range doc {
		if !promise.MatchString(text) {
			wrong = append(wrong, fmt.Sprintf("%s: the package's comment does not say what it never does", pkg))
		}
	}
	return wrong
}

// TestChecksSee breaks each rule once: a check that sees nothing would pass for ever.
func TestChecksSee(t *testing.T) {
	src := func(pkg, imports, body string) *fstest.MapFile {
		return &fstest.MapFile{Data: []byte("// Package " + pkg + " never.\npackage " + pkg + "\n" + imports + "\n" + body + "\n")}
	}
	cases := map[string]struct {
		path  string
		file  *fstest.MapFile
		check func([]*file) []string
		want  string
	}{
		"upward import":     {"lockfile/x.go", src("lockfile", `import _ "pipe/pipeline/run"`, ""), checkLayers, "lockfile may not import pipeline/run"},
		"unknown package":   {"extra/x.go", src("extra", "", ""), checkLayers, "not in the table"},
		"clock in plan":     {"pipeline/plan/x.go", src("plan", `import _ "time"`, ""), checkPure, "may not import time"},
		"below an impure":   {"lockfile/x.go", src("lockfile", `import _ "os/exec"`, ""), checkPure, "may not import os/exec"},
		"library elsewhere": {"lockfile/x.go", src("lockfile", `import _ "gopkg.in/yaml.v3"`, ""), checkHomes, "may not name gopkg.in/yaml.v3"},
		"below pipeline":    {"pipeline/plan/x.go", src("plan", `import _ "gopkg.in/yaml.v3"`, ""), checkHomes, "may not name gopkg.in/yaml.v3"},
		"unknown library":   {"lockfile/x.go", src("lockfile", `import _ "example.org/x"`, ""), checkHomes, "has no home"},
		"print":             {"lockfile/x.go", src("lockfile", `import "fmt"`, `func F() { fmt.Println() }`), checkBans, "fmt.Println"},
		"renamed print":     {"lockfile/x.go", src("lockfile", `import f "fmt"`, `func F() { f.Print() }`), checkBans, "f.Print"},
		"exit":              {"stages/x.go", src("stages", `import "os"`, `func F() { os.Exit(1) }`), checkBans, "os.Exit"},
		"stream":            {"stages/x.go", src("stages", `import "os"`, `var W = os.Stderr`), checkBans, "os.Stderr"},
		"clock":             {"pipeline/run/x.go", src("run", `import "time"`, `var T = time.Now()`), checkBans, "time.Now"},
		"log":               {"stages/x.go", src("stages", `import _ "log/slog"`, ""), checkBans, "imports log/slog"},
		"sleep":             {"stages/x_test.go", src("stages", `import "time"`, `func F() { time.Sleep(1) }`), checkBans, "time.Sleep"},
		"skip":              {"stages/x_test.go", src("stages", `import "testing"`, `func F(t *testing.T) { t.Skipf("") }`), checkBans, "t.Skipf"},
		"long file":         {"stages/x.go", src("stages", strings.Repeat("\n", 601), ""), checkShape, "split it"},
		"vague name":        {"stages/x.go", src("helpers", "", ""), checkShape, "says nothing"},
		"later":             {"stages/x.go", src("stages", "", "// TO"+"DO: it"), checkShape, "do it later"},
		"init":              {"stages/x.go", src("stages", "", "func init() {}"), checkShape, "func init"},
		"no promise":        {"stages/x.go", &fstest.MapFile{Data: []byte("// Package stages is.\npackage stages\n")}, checkShape, "never does"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			got := c.check(load(t, fstest.MapFS{c.path: c.file}))
			if len(got) != 1 || !strings.Contains(got[0], c.want) {
				t.Errorf("got %q, want one that has %q", got, c.want)
			}
		})
	}
	t.Run("looking again in a loop", func(t *testing.T) {
		ok := src("stages", `import "time"`, `func F() { for { time.Sleep(1) } }`)
		if got := checkBans(load(t, fstest.MapFS{"stages/x_test.go": ok})); got != nil {
			t.Errorf("got %q, want nothing", got)
		}
	})
	t.Run("a clock as a default", func(t *testing.T) {
		ok := src("run", `import "time"`, `var now = time.Now`)
		if got := checkBans(load(t, fstest.MapFS{"pipeline/run/x.go": ok})); got != nil {
			t.Errorf("got %q, want nothing: naming the clock is how a field takes it", got)
		}
	})
}
