package diag_test

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"pipe/internal/diag"
)

func TestPosString(t *testing.T) {
	for _, c := range []struct {
		name string
		pos  diag.Pos
		want string
	}{
		{"nothing known", diag.Pos{}, ""},
		{"line without a file", diag.Pos{Line: 3, Col: 4}, ""},
		{"file", diag.Pos{File: "a.yaml"}, "a.yaml"},
		{"line", diag.Pos{File: "a.yaml", Line: 3}, "a.yaml:3"},
		{"column", diag.Pos{File: "a.yaml", Line: 3, Col: 4}, "a.yaml:3:4"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := c.pos.String(); got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

func TestListKeepsFileOrder(t *testing.T) {
	at := func(file string, line, col int) *diag.Error {
		return diag.Errorf(diag.Pos{File: file, Line: line, Col: col}, "x")
	}
	list := diag.List{at("b", 1, 1), at("a", 2, 1), at("a", 1, 9), at("a", 1, 2)}
	err := list.Err()
	if got, want := err.Error(), "a:1:2: x\na:1:9: x\na:2:1: x\nb:1:1: x"; got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if (diag.List{}).Err() != nil {
		t.Error("an empty list is an error")
	}
}

func TestAllFindsEveryErrorInsideAWrappedOne(t *testing.T) {
	one := &diag.Error{Exit: diag.Conflict, Msg: "lost", Err: fs.ErrExist}
	two := diag.Errorf(diag.Pos{}, "two")
	for _, c := range []struct {
		name string
		err  error
		want diag.List
		exit diag.Exit
	}{
		{"nil", nil, nil, 0},
		{"single", one, diag.List{one}, diag.Conflict},
		{"wrapped", fmt.Errorf("commit: %w", one), diag.List{one}, diag.Conflict},
		{"wrapped list", fmt.Errorf("load: %w", diag.List{two, one}), diag.List{two, one}, diag.Usage},
		{"no exit given", &diag.Error{Msg: "x"}, diag.List{{Msg: "x"}}, diag.Usage},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := diag.All(c.err); got.Error() != c.want.Error() || len(got) != len(c.want) {
				t.Errorf("got %v, want %v", got, c.want)
			}
			if got := diag.ExitOf(c.err); got != c.exit {
				t.Errorf("exit %d, want %d", got, c.exit)
			}
		})
	}
	if !errors.Is(fmt.Errorf("load: %w", diag.List{two, one}), fs.ErrExist) {
		t.Error("a cause inside a list is not found")
	}
	foreign := diag.All(errors.New("disk on fire"))
	if len(foreign) != 1 || foreign[0].Msg != "disk on fire" || foreign[0].Exit != diag.Broken {
		t.Errorf("an error of another kind: %+v", foreign)
	}
}

func TestClosest(t *testing.T) {
	words := []string{"cmd", "deps", "desc", "outs", "params", "timeout", "events", "events_by_type"}
	for _, c := range []struct{ name, word, want string }{
		{"left out", "dep", "deps"},
		{"added", "outss", "outs"},
		{"changed", "perams", "params"},
		{"swapped", "tiemout", "timeout"},
		{"swapped in a short word", "dpes", "deps"},
		{"two letters of seven", "timoeot", "timeout"},
		{"equally near takes the first by name", "decs", "deps"},
		{"nothing near", "schedule", ""},
		{"empty", "", ""},
		{"one letter", "x", ""},
		{"the word itself", "outs", "outs"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := diag.Closest(c.word, words); got != c.want {
				t.Errorf("Closest(%q) = %q, want %q", c.word, got, c.want)
			}
		})
	}
}

func TestSnippet(t *testing.T) {
	for _, c := range []struct {
		name  string
		line  string
		num   int
		col   int
		width int
		want  string
	}{
		{"marks a word", "    dep: [x]", 12, 5, 3, "  12 |     dep: [x]\n     |     ^^^"},
		{"no width marks one", "ab", 3, 2, 0, "   3 | ab\n     |  ^"},
		{"no column marks nothing", "ab", 3, 0, 0, "   3 | ab"},
		{"no line, no snippet", "", 3, 1, 1, ""},
		{"no number, no snippet", "ab", 0, 1, 1, ""},
		{"past the end", "ab", 1, 3, 1, "   1 | ab\n     |   ^"},
		{"far past the end", "ab", 1, 99, 1, "   1 | ab\n     |   ^"},
		{"tab as spaces", "\tx: 1", 1, 2, 1, "   1 |     x: 1\n     |     ^"},
		{"tab stops", "ab\tx", 1, 4, 1, "   1 | ab  x\n     |     ^"},
		{"wide runes take two columns", "名前: x", 1, 5, 1, "   1 | 名前: x\n     |       ^"},
		{"combining marks take none", "e\u0301: x", 1, 5, 1, "   1 | e\u0301: x\n     |    ^"},
		{"escapes cannot reach the terminal", "a: \x1b[31mred", 1, 4, 1, "   1 | a: \uFFFD[31mred\n     |    ^"},
		{"wide line numbers keep the gutter", "a", 123456, 1, 1, "123456 | a\n       | ^"},
	} {
		t.Run(c.name, func(t *testing.T) {
			e := &diag.Error{Pos: diag.Pos{File: "f", Line: c.num, Col: c.col}, Line: c.line, Width: c.width}
			if diff := cmp.Diff(c.want, e.Snippet()); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}

func TestSnippetCutsALongLineAroundItsMarker(t *testing.T) {
	line := strings.Repeat("a", 500) + "BAD" + strings.Repeat("z", 500)
	e := &diag.Error{Pos: diag.Pos{File: "f", Line: 1, Col: 501}, Line: line, Width: 3}
	rows := strings.Split(e.Snippet(), "\n")
	if len(rows) != 2 {
		t.Fatalf("got %q", rows)
	}
	at := strings.Index(rows[1], "^^^")
	shown := []rune(rows[0])
	if got := string(shown[at : at+3]); got != "BAD" {
		t.Errorf("the marker stands under %q in\n%s", got, strings.Join(rows, "\n"))
	}
	if n := len(shown); n > 120 {
		t.Errorf("the line is %d columns long", n)
	}
	if shown[7] != '…' || shown[len(shown)-1] != '…' {
		t.Errorf("the cuts are not shown: %s", rows[0])
	}
}

func FuzzSnippet(f *testing.F) {
	f.Add("\tname: 名 \x00", 3, 9)
	f.Add(strings.Repeat("x\t", 300), 400, 50)
	f.Fuzz(func(t *testing.T, line string, col, width int) {
		e := &diag.Error{Pos: diag.Pos{Line: 1, Col: col}, Line: line, Width: width}
		if s := e.Snippet(); strings.Count(s, "\n") > 1 || strings.ContainsAny(s, "\t\x1b\r\x00") {
			t.Errorf("%q", s)
		}
	})
}
