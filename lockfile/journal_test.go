package lockfile

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"pipe/internal/diag"
)

func journal() *Journal {
	e := events().Stages["events"]
	old := e.Clone()
	old.Outs[0].Rows = 400
	return &Journal{
		Run: "01J", Ref: "main",
		Catalogs: []JournalMoves{{Sink: "lake", Moves: []JournalMove{{Table: "prod.events", From: "1", To: "6511054353144073012"}, {Table: "prod.other", To: "7"}}}},
		Entries:  []JournalEntry{{Stage: "events", Old: old, New: e}, {Stage: "new", New: events().Stages["report"]}},
	}
}

func TestJournalComesBack(t *testing.T) {
	for _, c := range []struct {
		name string
		j    *Journal
	}{
		{"two catalogs' worth", journal()},
		{"nothing but a run", &Journal{Run: "r", Ref: "main"}},
		{"text that JSON escapes", &Journal{Run: "<&>\u2028\"\\\n\x00", Ref: "日本"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := ParseJournal(".pipe/journal", EncodeJournal(c.j))
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(c.j, got); d != "" {
				t.Errorf("-want +got\n%s", d)
			}
		})
	}
}

func TestJournalDamaged(t *testing.T) {
	good := string(EncodeJournal(journal()))
	for _, c := range []struct{ name, text, want string }{
		{"empty", "", ".pipe/journal: the journal of a run that was cut off is damaged: it is no JSON"},
		{"zeros, as after a power cut", strings.Repeat("\x00", 512), ".pipe/journal: the journal of a run that was cut off is damaged: it is no JSON"},
		{"another file", "{}", ".pipe/journal: the journal of a run that was cut off is damaged: it has no version"},
		{"a snapshot changed", strings.Replace(good, "6511054353144073012", "6511054353144073013", 1), ".pipe/journal: the journal of a run that was cut off is damaged: its checksum is wrong"},
		{"formatted anew", strings.ReplaceAll(good, ":", ": "), ".pipe/journal: the journal of a run that was cut off is damaged: its checksum is wrong"},
		{"newer", strings.Replace(good, `"version":1`, `"version":2`, 1), ".pipe/journal: the journal of a run that was cut off is of version 2, this pipe knows version 1"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := ParseJournal(".pipe/journal", []byte(c.text))
			if err == nil || err.Error() != c.want {
				t.Fatalf("got %v\nwant %s", err, c.want)
			}
			if diag.ExitOf(err) != diag.Broken || diag.All(err)[0].Hint == "" {
				t.Errorf("exit status %d, hint %q", diag.ExitOf(err), diag.All(err)[0].Hint)
			}
		})
	}
}

func TestJournalNeverLies(t *testing.T) {
	good := EncodeJournal(journal())
	for n := range len(good) - 1 { // the last byte is the line end, which says nothing
		if _, err := ParseJournal("j", good[:n]); err == nil {
			t.Fatalf("cut to %d bytes, it is still accepted", n)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		bad := append([]byte(nil), good...)
		at := rapid.IntRange(0, len(bad)-2).Draw(t, "at")
		bad[at] ^= byte(rapid.IntRange(1, 255).Draw(t, "bits"))
		j, err := ParseJournal("j", bad)
		if err == nil && !cmp.Equal(j, journal()) {
			t.Fatalf("byte %d changed, and another journal was read", at)
		}
	})
}

func FuzzParseJournal(f *testing.F) {
	f.Add(EncodeJournal(journal()))
	f.Add([]byte(`{"version":1,"sha256":"","body":null}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		j, err := ParseJournal("j", data)
		if err != nil {
			return
		}
		again, err := ParseJournal("j", EncodeJournal(j))
		if err != nil || !cmp.Equal(j, again) {
			t.Fatalf("%v: %v", err, cmp.Diff(j, again))
		}
	})
}
