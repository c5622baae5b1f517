package lockfile

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"gopkg.in/yaml.v3"
	"pgregory.net/rapid"

	"pipe/internal/diag"
	"pipe/pipeline/fingerprint"
)

// events is the lock that testdata/events.lock shows, written by hand from the package's doc.
func events() *Lock {
	return &Lock{Stages: map[string]*Entry{
		"report": {
			Fingerprint: "1:0a",
			Outs:        []Out{{Path: "out/report 1.html", Digest: "sha256:0c9b", Size: 8121}},
		},
		"events": {
			Fingerprint: "1:5b0c",
			Inputs: fingerprint.Inputs{
				{Kind: "def", Name: "cmd", Value: "echo a: b\necho \"c\"\n"},
				{Kind: "def", Name: "use", Value: "generate"},
				{Kind: "def", Name: "with.rows", Value: "500", From: "data.num_records in params.yaml"},
				{Kind: "dep", Name: "dir: a/#1", Value: "sha256:ff"},
				{Kind: "param", Name: "on", Value: "true"},
				{Kind: "env", Name: "TOKEN", Value: ""},
				{Kind: "parent", Name: "prod.events", Value: "none"},
			},
			Outs: []Out{
				{
					Table: "prod.events", Sink: "lake", Snapshot: "6511054353144073012", Digest: "1:77aa", Rows: 500, Accepted: true,
					Columns: []string{"id: long required", "name: string"},
				},
				{Table: "prod.other", Sink: "lake", Snapshot: "7:0a", Digest: "1:77", Rows: 0},
				{Path: "naïve.csv", Digest: "sha256:0c9b", Size: 0},
			},
		},
		"null": {Fingerprint: "1:0b"},
	}}
}

func TestEncodeGolden(t *testing.T) {
	want, err := os.ReadFile("testdata/events.lock")
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(string(want), string(events().Encode())); d != "" {
		t.Errorf("-want +got\n%s", d)
	}
	got, err := Parse("pipeline.lock", want)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(events(), got); d != "" {
		t.Errorf("-want +got\n%s", d)
	}
}

func TestEncodeSortsWhatIsNotSorted(t *testing.T) {
	l := events()
	e := l.Stages["events"]
	e.Inputs[0], e.Inputs[6] = e.Inputs[6], e.Inputs[0]
	e.Outs[0], e.Outs[2] = e.Outs[2], e.Outs[0]
	if d := cmp.Diff(string(events().Encode()), string(l.Encode())); d != "" {
		t.Errorf("-want +got\n%s", d)
	}
	if e.Inputs[0].Kind != "parent" || e.Outs[0].Path == "" {
		t.Error("Encode changed the lock that it was given")
	}
}

func TestEmptyLock(t *testing.T) {
	const want = "# Written by pipe. Keep it in git.\nversion: 1\nstages: {}\n# end\n"
	if got := string((&Lock{}).Encode()); got != want {
		t.Errorf("got %q", got)
	}
	l, err := Parse("pipeline.lock", []byte(want))
	if err != nil || len(l.Stages) != 0 || l.Stages == nil {
		t.Errorf("got %v, %v", l, err)
	}
}

// awkward are strings that YAML is known to read as something else, or not at all.
var awkward = []string{
	"", " ", "a", " a", "a ", "a b", "~", "null", "Null", "true", "True", "yes", "NO", "on", "y", "N", "500", "-1", "+1", "0x1F", "0o7", "007",
	"1_000", "1e3", "1.5", ".5", ".inf", "-.INF", ".nan", "1:20", "1:20:30", "1:77", "1:77aa", "190:20:30.15", "2025-01-01", "2025-01-01T10:00:00Z",
	"2001-12-14 21:59:43.10 -5", "2024/data.csv", "./a", "../a", "...", "---", "--- a", "a:", "a: b", "a:b", "a #b", "a  # b", "#a", "a#b", "- a", "-a",
	"? a", "?a", ": a", ":a", "[a]", "{a}", "a, b", "a]", "&a", "*a", "!a", "!!str a", "|", ">", "%a", "@a", "`a`", "'a'", "\"a\"", "a\"b", "a\\b", "a\\nb",
	"<<", "=", "a\nb", "a\n", "\na", "a\tb", "\t", "a\r\nb", "\x00", "\x07", "\x1b[0m", "\x7f", "\u0085", "\u00a0", "\u2028", "\u2029", "\ufeff", "\ufffd",
	"\ufffe", "\u202e", "naïve", "日本語", "日本: 語", "🎉", "\U0001fffe", "\U000e0001", "e\u0301", "sha256:00", "1:" + strings.Repeat("0", 64), "0", "a'b",
	"<<<<<<< HEAD", "=======", ">>>>>>> b", "# end", "version: 1", "select 1 -- a: b # c\n\tfrom t where x = 'y'\n", strings.Repeat("long ", 400),
	"/abs/path", "_a", "$a", "(a)", "a\u200bb", "\U0010ffff", "1:a", "1:2e3", "1:20e", "12:ef", ":ef", "1:", "x: ", "?",
}

// TestYAMLReadsTheSame reads each awkward string back with a YAML parser, in each place where a string can stand.
func TestYAMLReadsTheSame(t *testing.T) {
	for _, s := range awkward {
		checkYAML(t, s)
	}
}

type fataler interface {
	Helper()
	Fatalf(format string, args ...any)
}

func checkYAML(t fataler, s string) {
	t.Helper()
	if s == "" {
		return // an out needs a path, a column a name
	}
	l := &Lock{Stages: map[string]*Entry{s: {
		Fingerprint: fingerprint.Fingerprint(s),
		Inputs:      fingerprint.Inputs{{Kind: "def", Name: s, Value: s, From: s}, {Kind: "dep", Name: "a", Value: s}, {Kind: "dep", Name: "b", Value: "x", From: s}},
		Outs: []Out{
			{Table: s, Sink: s, Snapshot: s, Digest: fingerprint.Digest(s), Rows: 1, Columns: []string{s}},
			{Path: s, Digest: fingerprint.Digest(s), Size: 1},
		},
	}}}
	text := l.Encode()
	var doc struct {
		Version int
		Stages  map[string]struct {
			Fingerprint string
			Inputs      map[string]any
			Outs        []struct {
				Table, Sink, Digest, Path string
				Snapshot                  any
				Rows, Size                int64
				Columns                   []any
			}
		}
	}
	dec := yaml.NewDecoder(strings.NewReader(string(text)))
	dec.KnownFields(true)
	if err := dec.Decode(&doc); err != nil {
		t.Fatalf("%q: %v\n%s", s, err, text)
	}
	e, ok := doc.Stages[s]
	if !ok || len(e.Inputs) != 3 || len(e.Outs) != 2 {
		t.Fatalf("%q: got %v from\n%s", s, doc, text)
	}
	table, file := e.Outs[0], e.Outs[1]
	for where, got := range map[string]any{
		"fingerprint": e.Fingerprint, "input key": e.Inputs["def "+s], "input": e.Inputs["dep a"], "table": table.Table, "sink": table.Sink,
		"snapshot": table.Snapshot, "digest": table.Digest, "column": table.Columns[0], "path": file.Path,
	} {
		if got != s {
			t.Fatalf("%s: YAML reads %#v, want %q, in\n%s", where, got, s, text)
		}
	}
	back, err := Parse("pipeline.lock", text)
	if err != nil {
		t.Fatalf("%q: %v\n%s", s, err, text)
	}
	if d := cmp.Diff(l, back); d != "" {
		t.Fatalf("%q: -want +got\n%s", s, d)
	}
}

func TestAnyStringComesBack(t *testing.T) {
	piece := rapid.SampledFrom([]string{"a", "B", "1", "0", "-", ":", " ", "#", "\"", "\\", "\n", "\t", "'", "/", ".", "?", "~", "é", "\u2028", "🎉", "\x01", "e", "x", "_", "T", "Z", "+", "<", "%"})
	short := rapid.Custom(func(t *rapid.T) string { return strings.Join(rapid.SliceOfN(piece, 1, 6).Draw(t, "pieces"), "") })
	rapid.Check(t, func(t *rapid.T) {
		checkYAML(t, rapid.OneOf(short, rapid.StringN(1, 40, -1)).Draw(t, "s"))
	})
}

// TestQuotesWhereAParserDiffers: YAML 1.1, as PyYAML has it, reads each of these bare as a bool, a number in base 60 or a date; the parser
// of the other tests does not.
func TestQuotesWhereAParserDiffers(t *testing.T) {
	for _, s := range []string{"y", "N", "On", "1:20", "190:20:30", "1_000", "0o7", "2025-01-01", "<<", "="} {
		if got := string(appendScalar(nil, s)); got != `"`+s+`"` {
			t.Errorf("got %s, want it quoted", got)
		}
	}
	for _, s := range []string{"yes and no", "prod.events", "1:77aa", "sha256:00", "2024/a.csv", "../a", "naïve", "a:b", "echo 'x'"} {
		if got := string(appendScalar(nil, s)); got != s {
			t.Errorf("got %s, want it bare", got)
		}
	}
}

func TestNewUnicodeDoesNotChangeTheFile(t *testing.T) {
	// U+1CC00 was assigned in Unicode 16; whether it is printable depends on the Go release, how it is written must not.
	if got := string(appendScalar(nil, "\U0001cc00")); got != "\U0001cc00" {
		t.Errorf("got %q", got)
	}
}

func TestNotUTF8(t *testing.T) {
	if got := string(appendScalar(nil, "caf\xe9")); got != `"caf\ufffd"` {
		t.Errorf("got %s", got)
	}
}

func TestCloneSharesNothing(t *testing.T) {
	l := events()
	c := l.Clone()
	if d := cmp.Diff(l, c); d != "" {
		t.Fatal(d)
	}
	e := c.Stages["events"]
	e.Inputs[0].Value, e.Outs[0].Rows, e.Outs[0].Columns[0] = "x", 7, "x"
	delete(c.Stages, "null")
	if d := cmp.Diff(events(), l); d != "" {
		t.Errorf("changing the clone changed the lock: %s", d)
	}
	var none *Lock
	if got := none.Clone(); got == nil || got.Stages == nil {
		t.Error("the clone of no lock is no lock")
	}
}

// TestAnyEditIsSeen edits a good file in a random way: it is refused, or it is read and written back as it stands.
func TestAnyEditIsSeen(t *testing.T) {
	good := string(events().Encode())
	rapid.Check(t, func(t *rapid.T) {
		lines := strings.SplitAfter(good, "\n")
		i, j := rapid.IntRange(0, len(lines)-2).Draw(t, "i"), rapid.IntRange(0, len(lines)-2).Draw(t, "j")
		switch rapid.IntRange(0, 5).Draw(t, "edit") {
		case 0:
			lines[i], lines[j] = lines[j], lines[i]
		case 1:
			lines[i] = ""
		case 2:
			lines[i] += lines[j]
		case 3:
			at := rapid.IntRange(0, len(lines[i])).Draw(t, "at")
			lines[i] = lines[i][:at] + rapid.SampledFrom([]string{" ", "  ", "\"", "#", ":", "\\", "0", "x", "\n", "- ", "? ", "\t"}).Draw(t, "text") + lines[i][at:]
		case 4:
			at := rapid.IntRange(0, len(lines[i])-1).Draw(t, "at")
			lines[i] = lines[i][:at] + lines[i][at+1:]
		case 5:
			key, _, _ := strings.Cut(lines[i], ":")
			_, value, _ := strings.Cut(lines[j], ":")
			lines[i] = key + ":" + value
		}
		text := strings.Join(lines, "")
		l, err := Parse("pipeline.lock", []byte(text))
		if err == nil && string(l.Encode()) != text {
			t.Fatalf("accepted, and written back as another file:\n%s", text)
		}
	})
}

func TestNames(t *testing.T) {
	if d := cmp.Diff([]string{"events", "null", "report"}, events().Names()); d != "" {
		t.Error(d)
	}
}

func TestEqual(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(e *Entry)
	}{
		{"fingerprint", func(e *Entry) { e.Fingerprint = "1:x" }},
		{"input value", func(e *Entry) { e.Inputs[0].Value = "x" }},
		{"where from", func(e *Entry) { e.Inputs[2].From = "" }},
		{"input gone", func(e *Entry) { e.Inputs = e.Inputs[1:] }},
		{"snapshot", func(e *Entry) { e.Outs[0].Snapshot = "1" }},
		{"sink", func(e *Entry) { e.Outs[0].Sink = "x" }},
		{"digest", func(e *Entry) { e.Outs[0].Digest = "1:x" }},
		{"rows", func(e *Entry) { e.Outs[0].Rows++ }},
		{"accepted", func(e *Entry) { e.Outs[0].Accepted = false }},
		{"column", func(e *Entry) { e.Outs[0].Columns[0] = "x" }},
		{"size", func(e *Entry) { e.Outs[2].Size++ }},
		{"out gone", func(e *Entry) { e.Outs = e.Outs[1:] }},
	} {
		t.Run(c.name, func(t *testing.T) {
			a, b := events().Stages["events"], events().Stages["events"]
			if !a.Equal(b) {
				t.Fatal("equal entries are not equal")
			}
			c.change(b)
			if a.Equal(b) || b.Equal(a) {
				t.Error("the change is not seen")
			}
		})
	}
	var none *Entry
	if !none.Equal(nil) || none.Equal(&Entry{}) || (&Entry{}).Equal(nil) {
		t.Error("nil equals nil only")
	}
	if !(&Entry{Outs: []Out{{Columns: []string{}}}}).Equal(&Entry{Outs: []Out{{}}}) {
		t.Error("no columns and no list of columns are written the same")
	}
}

// big gives a lock of n stages of about 730 bytes each.
func big(n int) *Lock {
	l := &Lock{Stages: make(map[string]*Entry, n)}
	hex := strings.Repeat("0123456789abcdef", 4)
	for i := range n {
		name := fmt.Sprintf("stage_%05d", i)
		l.Stages[name] = &Entry{
			Fingerprint: fingerprint.Fingerprint("1:" + hex),
			Inputs: fingerprint.Inputs{
				{Kind: "def", Name: "cmd", Value: "python train.py --rows 500"},
				{Kind: "def", Name: "out prod." + name + " mode", Value: "replace"},
				{Kind: "def", Name: "with.rows", Value: "500", From: "data.rows in params.yaml"},
				{Kind: "dep", Name: "src/" + name + ".py", Value: "sha256:" + hex},
				{Kind: "param", Name: "report.top", Value: "10"},
				{Kind: "table", Name: "prod.up", Value: "1:" + hex},
			},
			Outs: []Out{{Table: "prod." + name, Sink: "lake", Snapshot: "6511054353144073012", Digest: fingerprint.Digest("1:" + hex), Rows: 500}},
		}
	}
	return l
}

func BenchmarkParse10000(b *testing.B) {
	text := big(10_000).Encode()
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		if _, err := Parse("pipeline.lock", text); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkEncode10000(b *testing.B) {
	l := big(10_000)
	b.SetBytes(int64(len(l.Encode())))
	for b.Loop() {
		l.Encode()
	}
}

// FuzzParse: what parses is written back as it was, and is what a YAML parser reads; what does not parse is the user's to mend, at a place.
func FuzzParse(f *testing.F) {
	f.Add(events().Encode())
	f.Add((&Lock{}).Encode())
	f.Add([]byte("# Written by pipe. Keep it in git.\nversion: 1\nstages:\n  ? a\n  :\n    fingerprint: x\n    inputs: {}\n    outs: []\n# end\n"))
	f.Add([]byte("# Written by pipe. Keep it in git.\nversion: 1\nstages:\n  a:\n    fingerprint: \"\\ud800\"\n    inputs:\n      def a: x  # \"\n    outs: []\n# end\n"))
	f.Add([]byte("<<<<<<< HEAD\n  a:\n=======\n>>>>>>> b\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		l, err := Parse("pipeline.lock", data)
		if err != nil {
			var list diag.List
			if !errors.As(err, &list) || len(list) == 0 {
				t.Fatalf("not a list of mistakes: %v", err)
			}
			for _, e := range list {
				if e.Pos.File != "pipeline.lock" || e.Hint == "" || e.Msg == "" {
					t.Fatalf("%#v", e)
				}
			}
			return
		}
		if d := cmp.Diff(string(data), string(l.Encode())); d != "" {
			t.Fatal(d)
		}
		var doc struct{ Stages map[string]any }
		if err := yaml.Unmarshal(data, &doc); err != nil {
			t.Fatalf("no YAML: %v", err)
		}
		if len(doc.Stages) != len(l.Stages) {
			t.Fatalf("YAML reads %d stages, Parse %d", len(doc.Stages), len(l.Stages))
		}
	})
}
