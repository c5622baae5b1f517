package fingerprint

import (
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// vector is one case of testdata/vectors.json, which testdata/vectors.py made after docs/fingerprint-inputs.md.
type vector struct {
	Name   string
	Inputs Inputs
	Text   string
	Sum    Fingerprint
}

func TestVectors(t *testing.T) {
	data, err := os.ReadFile("testdata/vectors.json")
	if err != nil {
		t.Fatal(err)
	}
	var vectors []vector
	if err := json.Unmarshal(data, &vectors); err != nil {
		t.Fatal(err)
	}
	if len(vectors) < 8 {
		t.Fatalf("only %d vectors", len(vectors))
	}
	for _, v := range vectors {
		t.Run(v.Name, func(t *testing.T) {
			if d := cmp.Diff(v.Text, string(v.Inputs.encode())); d != "" {
				t.Errorf("-want +got\n%s", d)
			}
			if got := v.Inputs.Sum(); got != v.Sum {
				t.Errorf("got %s, want %s", got, v.Sum)
			}
		})
	}
}

func TestBytesThatAreNoUTF8Count(t *testing.T) {
	a, b := Inputs{{Kind: Dep, Name: "caf\xe9", Value: "x"}}, Inputs{{Kind: Dep, Name: "caf\ufffd", Value: "x"}}
	if a.Sum() == b.Sum() {
		t.Error("a bad byte and U+FFFD are one")
	}
	if want := "pipe fingerprint 1\ndep \"caf\\xe9\" \"x\"\n"; string(a.encode()) != want {
		t.Errorf("got %q, want %q", a.encode(), want)
	}
}

// kinds in the order in which they are shown.
var kinds = []string{Def, Dep, Param, Table, Env, Parent}

// tricky pieces make names and values that would run into each other if they stood side by side.
func inputs(t *rapid.T, label string) Inputs {
	piece := rapid.SampledFrom([]string{"a", "b", " ", "\"", "\\", "\n", "\\n", "\" \"", "def ", "dep \"a\" \"b\"", "pipe fingerprint 1", "é", "\xff", "\ufffd", ""})
	text := rapid.Custom(func(t *rapid.T) string { return strings.Join(rapid.SliceOfN(piece, 0, 3).Draw(t, "pieces"), "") })
	one := rapid.Custom(func(t *rapid.T) Input {
		return Input{Kind: rapid.SampledFrom(kinds).Draw(t, "kind"), Name: text.Draw(t, "name"), Value: text.Draw(t, "value")}
	})
	in := Inputs(rapid.SliceOfNDistinct(one, 0, 3, func(x Input) string { return x.Kind + "\x00" + x.Name }).Draw(t, label))
	in.Sort()
	return in
}

// TestEncodingTellsInputsApart: two lists have one text if and only if they state the same facts.
func TestEncodingTellsInputsApart(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b := inputs(t, "a"), inputs(t, "b")
		if same := string(a.encode()) == string(b.encode()); same != Equal(a, b) {
			t.Fatalf("one text: %v, equal: %v\n%q\n%q", same, Equal(a, b), a, b)
		}
	})
}

// FuzzCollision cuts one run of bytes into inputs in two ways. All that differs must be told apart.
func FuzzCollision(f *testing.F) {
	f.Add("ab", "c", "a", "bc", uint8(0), uint8(0))
	f.Add("a\" \"b", "", "a", "b", uint8(1), uint8(1))
	f.Add("a", "b\"\ndef \"c\" \"d", "a", "b", uint8(0), uint8(0))
	f.Add("\xff", "", "\ufffd", "", uint8(2), uint8(2))
	f.Add("a", "b", "a", "b", uint8(0), uint8(3))
	f.Fuzz(func(t *testing.T, name1, value1, name2, value2 string, kind1, kind2 uint8) {
		x := Input{Kind: kinds[int(kind1)%len(kinds)], Name: name1, Value: value1}
		y := Input{Kind: kinds[int(kind2)%len(kinds)], Name: name2, Value: value2}
		lists := []Inputs{nil, {x}, {y}, {x, y}, {y, x}}
		for i, a := range lists {
			for _, b := range lists[:i] {
				if !Equal(a, b) && (string(a.encode()) == string(b.encode()) || a.Sum() == b.Sum()) {
					t.Fatalf("%q and %q are one", a, b)
				}
			}
		}
	})
}

func TestSortIsByKindThenName(t *testing.T) {
	in := Inputs{
		{Kind: Parent, Name: "a"},
		{Kind: Env, Name: "a"},
		{Kind: Table, Name: "a"},
		{Kind: Param, Name: "b"},
		{Kind: Param, Name: "B"},
		{Kind: Dep, Name: "a"},
		{Kind: Def, Name: "z"},
		{Kind: Def, Name: "cmd"},
	}
	in.Sort()
	var got []string
	for _, x := range in {
		got = append(got, x.Kind+" "+x.Name)
	}
	if d := cmp.Diff([]string{"def cmd", "def z", "dep a", "param B", "param b", "table a", "env a", "parent a"}, got); d != "" {
		t.Errorf("-want +got\n%s", d)
	}
}

func TestFromIsNotHashed(t *testing.T) {
	a, b := Inputs{{Kind: Def, Name: "with.rows", Value: "500"}}, Inputs{{Kind: Def, Name: "with.rows", Value: "500", From: "data.rows in params.yaml"}}
	if a.Sum() != b.Sum() || !Equal(a, b) || Diff(a, b) != nil {
		t.Error("moving a constant into params.yaml is a change")
	}
}

func TestGetAndWithout(t *testing.T) {
	in := Inputs{{Kind: Def, Name: "a", Value: "1"}, {Kind: Param, Name: "a", Value: "2"}, {Kind: Parent, Name: "t", Value: "none"}}
	if v, ok := in.Get(Param, "a"); !ok || v != "2" {
		t.Errorf("got %q, %v", v, ok)
	}
	if v, ok := in.Get(Dep, "a"); ok || v != "" {
		t.Errorf("got %q, %v for what is not there", v, ok)
	}
	if d := cmp.Diff(in[:2], in.Without(Parent)); d != "" {
		t.Errorf("-want +got\n%s", d)
	}
	if len(in) != 3 {
		t.Error("Without changed the list that it was asked on")
	}
}

func TestDiff(t *testing.T) {
	rows := func(v string) Input {
		return Input{Kind: Def, Name: "with.rows", Value: v, From: "data.rows in params.yaml"}
	}
	code, top, parent := Input{Kind: Dep, Name: "a.sh", Value: "sha256:1"}, Input{Kind: Param, Name: "top", Value: ""}, Input{Kind: Parent, Name: "t", Value: "none"}
	for _, c := range []struct {
		name          string
		before, after Inputs
		want          []Change
	}{
		{"both empty", nil, nil, nil},
		{"nothing changed", Inputs{rows("1"), code}, Inputs{rows("1"), code}, nil},
		{"value changed", Inputs{rows("500"), code}, Inputs{rows("1000"), code}, []Change{{Kind: Def, Name: "with.rows", From: "data.rows in params.yaml", Old: "500", New: "1000"}}},
		{"first entry", nil, Inputs{code, top}, []Change{{Kind: Dep, Name: "a.sh", New: "sha256:1", Added: true}, {Kind: Param, Name: "top", Added: true}}},
		{"empty value taken out", Inputs{code, top, parent}, Inputs{code, parent}, []Change{{Kind: Param, Name: "top", Removed: true}}},
		{
			"removed at the front, changed, added at the end",
			Inputs{rows("1"), code},
			Inputs{{Kind: Dep, Name: "a.sh", Value: "sha256:2"}, parent},
			[]Change{
				{Kind: Def, Name: "with.rows", From: "data.rows in params.yaml", Old: "1", Removed: true},
				{Kind: Dep, Name: "a.sh", Old: "sha256:1", New: "sha256:2"},
				{Kind: Parent, Name: "t", New: "none", Added: true},
			},
		},
		{
			"one name, another kind",
			Inputs{{Kind: Dep, Name: "x", Value: "1"}},
			Inputs{{Kind: Param, Name: "x", Value: "1"}},
			[]Change{{Kind: Dep, Name: "x", Old: "1", Removed: true}, {Kind: Param, Name: "x", New: "1", Added: true}},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			if d := cmp.Diff(c.want, Diff(c.before, c.after)); d != "" {
				t.Errorf("-want +got\n%s", d)
			}
		})
	}
}

// TestDiffTellsAll: applying what Diff says to the one list gives the other.
func TestDiffTellsAll(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b := inputs(t, "a"), inputs(t, "b")
		got := slices.Clone(a)
		for _, c := range Diff(a, b) {
			at := slices.IndexFunc(got, func(x Input) bool { return x.Kind == c.Kind && x.Name == c.Name })
			switch {
			case c.Added:
				if at >= 0 {
					t.Fatalf("%v is added, and was there", c)
				}
				got = append(got, Input{Kind: c.Kind, Name: c.Name, Value: c.New})
			case c.Removed:
				got = slices.Delete(got, at, at+1)
			default:
				if got[at].Value != c.Old || c.Old == c.New {
					t.Fatalf("%v, but it was %q", c, got[at].Value)
				}
				got[at].Value = c.New
			}
		}
		got.Sort()
		if !Equal(got, b) {
			t.Fatalf("got %q, want %q", got, b)
		}
	})
}
