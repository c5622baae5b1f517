package pipeline_test

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/rogpeppe/go-internal/txtar"

	"pipe/internal/diag"
	"pipe/pipeline"
)

// FuzzLoad holds that Load ends on any text, says where each mistake is, and gives an ordered graph where it finds none.
func FuzzLoad(f *testing.F) {
	names, err := filepath.Glob("testdata/errors/*.txtar")
	if err != nil {
		f.Fatal(err)
	}
	for _, name := range names {
		data, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		var p, params string
		for _, file := range txtar.Parse(data).Files {
			switch file.Name {
			case "pipeline.yaml":
				p = string(file.Data)
			case "params.yaml":
				params = string(file.Data)
			}
		}
		f.Add(p, params)
	}
	f.Add("a: &a {<<: *a}\nb: {<<: [*a, *a]}\n*a : *a\n? &k k\n: *k\n", "- 1")
	f.Add("stages: {a: {cmd: \"${a[0].b[\\\"c\\\"]}\"}}", "a: [{b: {c: 1}}]")
	f.Fuzz(func(t *testing.T, p, params string) {
		files := map[string]string{"pipeline.yaml": p, "params.yaml": params, "p.json": params, "p.toml": params}
		g, err := pipeline.Load(project(files), "pipeline.yaml")
		lines := map[string]int{}
		for name, text := range files {
			lines[name] = 1 + strings.Count(text, "\n") + strings.Count(text, "\r") + strings.Count(text, "\u0085") + strings.Count(text, "\u2028") + strings.Count(text, "\u2029")
		}
		for _, e := range diag.All(err) {
			if e.Exit != diag.Usage || e.Msg == "" || e.Pos.File == "" || e.Pos.Line < 0 || e.Pos.Line > lines[e.Pos.File] || e.Width < 0 {
				t.Errorf("%+v", e)
			}
			_ = e.Snippet()
		}
		if err != nil {
			return
		}
		if len(g.Order()) != len(g.Stages) {
			t.Errorf("%d of %d stages are in the order", len(g.Order()), len(g.Stages))
		}
		seen := map[string]bool{}
		for _, name := range g.Order() {
			for _, up := range g.Upstream(name) {
				if !seen[up] {
					t.Errorf("%s comes before %s, which it needs", name, up)
				}
			}
			seen[name] = true
			for i, l := range g.Stage(name).Def {
				if l.Name == "" || i > 0 && l.Name <= g.Stage(name).Def[i-1].Name {
					t.Errorf("fact %q of %s", l.Name, name)
				}
			}
		}
	})
}

var anyTemplate = regexp.MustCompile(`\\\$\{|\$\{[^}\n]*\}`)

// FuzzTemplate compares with a regular expression over a scope that is known.
func FuzzTemplate(f *testing.F) {
	for _, s := range []string{"${a}", "x ${b.c} ${ l[0] }", `\${a} \\${a}`, "${b.c}${l[-1]}$${a}", "${}", "${a", "${nope} ${l.0}", "${b[c]}"} {
		f.Add(s)
	}
	scope := map[string]string{"a": "1e-4", "b.c": "deep", "b[c]": "deep", "l[0]": "x", "l.0": "x", "l[1]": "y", "l[-1]": "y", "l.1": "y"}
	f.Fuzz(func(t *testing.T, text string) {
		if !utf8.ValidString(text) || strings.TrimSpace(text) == "" {
			return
		}
		var quoted strings.Builder
		for _, r := range text {
			if r < ' ' || r > '~' || r == '"' || r == '\\' {
				fmt.Fprintf(&quoted, `\U%08x`, r)
			} else {
				quoted.WriteRune(r)
			}
		}
		g, err := pipeline.Load(project(map[string]string{
			"pipeline.yaml": "stages: {s: {cmd: [\"true\", \"" + quoted.String() + "\"]}}", "params.yaml": "{a: 1e-4, b: {c: deep}, l: [x, y]}",
		}), "pipeline.yaml")
		bad := false
		want := anyTemplate.ReplaceAllStringFunc(text, func(m string) string {
			if m[0] == '\\' {
				return m[1:]
			}
			v, ok := scope[strings.TrimSpace(m[2:len(m)-1])]
			bad = bad || !ok
			return v
		})
		if bad {
			// Another spelling of the same (a.[0], b["c"]) may be right; a name that is not there never is.
			return
		}
		if err != nil {
			t.Fatalf("%q: %v", text, err)
		}
		if got := g.Stages[0].Cmd[1]; got != want {
			t.Errorf("%q gives %q, want %q", text, got, want)
		}
	})
}
