package lockfile

import (
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"pipe/internal/diag"
)

func golden(t *testing.T) string {
	t.Helper()
	b, err := os.ReadFile("testdata/events.lock")
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// said gives what a user reads: place, message and hint of each mistake.
func said(t *testing.T, err error) string {
	t.Helper()
	if err == nil {
		return ""
	}
	if got := diag.ExitOf(err); got != diag.Usage {
		t.Errorf("exit status %d, want 2", got)
	}
	var b strings.Builder
	for _, e := range diag.All(err) {
		b.WriteString(e.Error() + "\n  " + e.Hint + "\n")
	}
	return b.String()
}

const (
	edited = "\n  pipe writes this file, edit no line of it: git checkout pipeline.lock brings the last good one back, pipe repro then brings it up to date\n"
	lost   = "\n  git checkout pipeline.lock brings the last good one back; without one, delete it: pipe repro then finds again what the tables hold\n"
)

func TestParseMistakes(t *testing.T) {
	block := func(text, name string) string { // one stage's block of the golden file
		at := strings.Index(text, "\n  "+name+":\n") + 1
		rest := text[at:]
		end := strings.Index(rest[1:], "\n  \"null\"") + 2
		if name != "events" {
			end = strings.Index(rest, "# end")
		}
		return rest[:end]
	}
	for _, c := range []struct {
		name string
		edit func(text string) string
		want string
	}{
		{"empty file", func(string) string { return "" }, `pipeline.lock: the file is empty: expected "# Written by pipe. Keep it in git." and what follows` + lost},
		{"blank file", func(string) string { return "\n\n" }, `pipeline.lock: the file is empty: expected "# Written by pipe. Keep it in git." and what follows` + lost},
		{"header gone", replace(header+"\n", ""), `pipeline.lock:1:1: expected "# Written by pipe. Keep it in git."` + edited},
		{"version gone", replace("version: 1\n", ""), `pipeline.lock:2:1: expected "version: 1"` + edited},
		{
			"newer version", replace("version: 1", "version: 2"),
			"pipeline.lock:2:1: the lock is of version 2, this pipe knows version 1\n  install a newer pipe: a colleague's wrote this file\n",
		},
		{
			"newer version, another shape", func(string) string { return "version: 12\nentries: []\n" },
			"pipeline.lock:1:1: the lock is of version 12, this pipe knows version 1\n  install a newer pipe: a colleague's wrote this file\n",
		},
		{"version zero", replace("version: 1", "version: 0"), `pipeline.lock:2:1: unknown version 0 of the lock, this pipe knows version 1` + edited},
		{
			"carriage returns", replace("\n", "\r\n"),
			"pipeline.lock:1:1: the line ends with a carriage return\n  add \"pipeline.lock text eol=lf\" to .gitattributes, then git checkout pipeline.lock\n",
		},
		{"no line end at the end", func(s string) string { return strings.TrimSuffix(s, "\n") }, `pipeline.lock:43:1: expected one line end behind "# end" and nothing more` + edited},
		{"blank lines at the end", func(s string) string { return s + "\n" }, `pipeline.lock:43:1: expected one line end behind "# end" and nothing more` + edited},
		{"not the shape at all", func(string) string { return "<html>\n</html>\n# end\n" }, `pipeline.lock:1:1: expected "# Written by pipe. Keep it in git."` + "\n  " + strings.TrimPrefix(edited, "\n  ") + `pipeline.lock:1:1: expected "version: 1"` + edited},
		{"stages is a list", replace("stages:\n", "stages: []\n"), `pipeline.lock:3:1: expected "stages:"` + edited},
		{"key of the top level", replace("# end\n", "meta: x\n# end\n"), `pipeline.lock:43:1: expected the next stage, or "# end"` + edited},
		{"blank line inside", replace("    inputs:\n", "\n    inputs:\n"), `pipeline.lock:6:1: expected "inputs:"` + edited},
		{"comment inside", replace("    inputs:\n", "    # mine\n    inputs:\n"), `pipeline.lock:6:5: expected "inputs:"` + edited},
		{"no fingerprint", replace("    fingerprint: 1:5b0c\n", ""), `pipeline.lock:5:5: expected "fingerprint: ..."` + edited},
		{"tab", replace("    fingerprint: 1:5b0c", "\tfingerprint: 1:5b0c"), `pipeline.lock:5:1: expected "fingerprint: ..."` + edited},
		{"quotes too many", replace("use: generate", `use: "generate"`), `pipeline.lock:8:7: not as pipe writes it, which is: def use: generate` + edited},
		{"quotes too few", replace(`"500"`, "500"), `pipeline.lock:9:7: not as pipe writes it, which is: def with.rows: "500"  # data.num_records in params.yaml` + edited},
		{"snapshot without quotes", replace(`"6511054353144073012"`, "6511054353144073012"), `pipeline.lock:17:9: not as pipe writes it, which is: snapshot: "6511054353144073012"` + edited},
		{"blank at a line's end", replace("use: generate", "use: generate "), `pipeline.lock:8:7: not as pipe writes it, which is: def use: "generate "` + edited},
		{"quotes not closed", replace(`TOKEN: ""`, `TOKEN: "`), `pipeline.lock:12:7: expected a value in double quotes that are closed and hold no unknown escape` + edited},
		{"unknown escape", replace(`TOKEN: ""`, `TOKEN: "\q"`), `pipeline.lock:12:7: expected a value in double quotes that are closed and hold no unknown escape` + edited},
		{"surrogate", replace(`TOKEN: ""`, `TOKEN: "\ud800"`), `pipeline.lock:12:7: expected a value in double quotes that are closed and hold no unknown escape` + edited},
		{"text behind quotes", replace(`TOKEN: ""`, `TOKEN: "" x`), `pipeline.lock:12:7: expected nothing behind the value` + edited},
		{"value gone", replace(`TOKEN: ""`, `TOKEN: `), `pipeline.lock:12:7: expected a value` + edited},
		{"colon gone", replace(`def use: generate`, `def use`), `pipeline.lock:8:7: expected a colon behind the key` + edited},
		{
			"unknown kind", replace("env TOKEN", "secret TOKEN"),
			"pipeline.lock:12:7: expected a kind of input (def, dep, param, table, env, parent) and its name" + edited,
		},
		{"input twice", replace("      param on: \"true\"\n", "      param on: \"true\"\n      param on: \"false\"\n"), `pipeline.lock:12:7: input param on stands twice` + edited},
		{"inputs out of order", replace("      def use: generate\n", "      def zzz: generate\n"), `pipeline.lock:9:7: input def with.rows must stand before def zzz` + edited},
		{"rows no number", replace("rows: 500", "rows: many"), `pipeline.lock:19:9: expected a whole number, found "many"` + edited},
		{"rows beyond 2^63", replace("rows: 500", "rows: 9223372036854775808"), `pipeline.lock:19:9: expected a whole number, found "9223372036854775808"` + edited},
		{"rows with a nought", replace("rows: 500", "rows: 0500"), `pipeline.lock:19:9: not as pipe writes it, which is: rows: 500` + edited},
		{"accepted false", replace("accepted: true", "accepted: false"), `pipeline.lock:20:9: expected "accepted: true"` + edited},
		{"columns empty", replace("          - \"id: long required\"\n          - \"name: string\"\n", ""), `pipeline.lock:22:7: expected a column` + edited},
		{"outs out of order", replace("table: prod.other", "table: a"), `pipeline.lock:24:7: out a must stand before prod.events` + edited},
		{"out twice", replace("table: prod.other", "table: prod.events"), `pipeline.lock:24:7: out prod.events stands twice` + edited},
		{"unknown key of an out", replace("        rows: 500\n", "        row: 500\n"), `pipeline.lock:19:9: expected "rows: ..."` + edited},
		{"size gone", replace("        size: 8121\n", ""), `pipeline.lock:42:1: the file ends where "size: ..." was expected` + edited},
		{
			"stage twice", func(s string) string { return strings.Replace(s, "# end", block(s, "report")+"# end", 1) },
			"pipeline.lock:43:3: stage report stands twice\n  delete one of its blocks, then pipe repro\n",
		},
		{
			"stages out of order", replace("  report:", "  about:"),
			"pipeline.lock:36:3: stage about must stand before stage null: stages are sorted by name\n  move its block up, or git checkout pipeline.lock and pipe repro\n",
		},
		{
			"a mistake in each of two stages, both said", func(s string) string { return replace("size: 8121", "size: x")(replace("rows: 500", "rows: x")(s)) },
			`pipeline.lock:19:9: expected a whole number, found "x"` + edited + `pipeline.lock:42:9: expected a whole number, found "x"` + edited,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			text := golden(t)
			if c.edit(text) == text {
				t.Fatal("the edit changes nothing")
			}
			_, err := Parse("pipeline.lock", []byte(c.edit(text)))
			if d := cmp.Diff(c.want, said(t, err)); d != "" {
				t.Errorf("-want +got\n%s", d)
			}
		})
	}
}

func replace(old, by string) func(string) string {
	return func(s string) string { return strings.Replace(s, old, by, -1) }
}

func TestCutOffAnywhere(t *testing.T) {
	text := golden(t)
	for n := 1; n < len(text)-1; n++ {
		_, err := Parse("pipeline.lock", []byte(text[:n]))
		got := said(t, err)
		if !strings.Contains(got, "the file was cut off") || !strings.HasSuffix(got, lost) {
			t.Fatalf("cut to %d bytes:\n%s", n, got)
		}
	}
}

func TestConflictMarkers(t *testing.T) {
	text := golden(t)
	at := strings.Index(text, "  \"null\":")
	conflict := text[:at] + `<<<<<<< HEAD
  a:
    fingerprint: 1:aa
    inputs: {}
    outs: []
=======
  b:
    fingerprint: 1:bb
    inputs: {}
    outs: []
>>>>>>> topic
` + text[at:]
	const hint = "\n  keep both sides' blocks where they are of different stages, delete the block of a stage that both sides changed, delete the marker lines, then pipe repro\n"
	for _, c := range []struct{ name, text, want string }{
		{"two stages", conflict, "pipeline.lock:32:1: a merge conflict that is not resolved (in it: a, b)" + hint},
		{
			"inside one stage", strings.Replace(text, "        rows: 500\n", "<<<<<<< HEAD\n        rows: 500\n||||||| base\n        rows: 400\n=======\n        rows: 600\n>>>>>>> topic\n", 1),
			"pipeline.lock:19:1: a merge conflict that is not resolved" + hint,
		},
		{
			"two conflicts", strings.Replace(conflict, "        rows: 500\n", "<<<<<<< HEAD\n        rows: 500\n=======\n        rows: 600\n>>>>>>> topic\n", 1),
			"pipeline.lock:19:1: a merge conflict that is not resolved" + hint + "pipeline.lock:36:1: a merge conflict that is not resolved (in it: a, b)" + hint,
		},
		{"only the end marker is left", strings.Replace(text, "# end", ">>>>>>> topic\n# end", 1), "pipeline.lock:43:1: a merge conflict that is not resolved" + hint},
		{"around the version", strings.Replace(text, "version: 1\n", "<<<<<<< HEAD\nversion: 1\n=======\nversion: 2\n>>>>>>> topic\n", 1), "pipeline.lock:2:1: a merge conflict that is not resolved" + hint},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := Parse("pipeline.lock", []byte(c.text))
			if d := cmp.Diff(c.want, said(t, err)); d != "" {
				t.Errorf("-want +got\n%s", d)
			}
		})
	}
}

func TestMarkersInsideAValueAreNoConflict(t *testing.T) {
	l := &Lock{Stages: map[string]*Entry{"a": {Inputs: events().Stages["events"].Inputs}}}
	l.Stages["a"].Inputs[0].Value = "<<<<<<< HEAD\n=======\n>>>>>>> b"
	if _, err := Parse("pipeline.lock", l.Encode()); err != nil {
		t.Error(err)
	}
}

// TestResolvedByTheHint does what the hint says: both sides' blocks stay, the markers go.
func TestResolvedByTheHint(t *testing.T) {
	side := func(names ...string) string {
		l := &Lock{Stages: map[string]*Entry{}}
		for _, n := range names {
			l.Stages[n] = &Entry{Fingerprint: "1:aa"}
		}
		return string(l.Encode())
	}
	merged := strings.Replace(side("a", "d"), "  d:\n", "  b:\n    fingerprint: 1:aa\n    inputs: {}\n    outs: []\n  d:\n", 1)
	l, err := Parse("pipeline.lock", []byte(merged))
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(side("a", "b", "d"), string(l.Encode())); d != "" {
		t.Error(d)
	}
}
