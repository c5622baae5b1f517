package pipeline_test

import (
	"encoding/json"
	"math"
	"math/big"
	"strconv"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"pipe/pipeline"
)

// tracked loads a project whose only stage tracks all of one params file.
func tracked(t *testing.T, file, text string) map[string]*pipeline.Value {
	t.Helper()
	g, err := pipeline.Load(fstest.MapFS{
		"pipeline.yaml": {Data: []byte("stages:\n  s: {cmd: x, params: [{" + file + ": }]}\n")},
		file:            {Data: []byte(text)},
	}, "pipeline.yaml")
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]*pipeline.Value{}
	for _, p := range g.Stages[0].Params {
		out[p.Name] = p.Value
	}
	return out
}

// The types are those of the core schema of YAML 1.2 (yaml.org/spec/1.2.2, section 10.3.2), leading zeros aside.
func TestScalars(t *testing.T) {
	for _, c := range []struct {
		text      string
		kind      pipeline.ValueKind
		canonical string
	}{
		{"", pipeline.Null, "null"},
		{"~", pipeline.Null, "null"},
		{"null", pipeline.Null, "null"},
		{"NULL", pipeline.Null, "null"},
		{"true", pipeline.Bool, "true"},
		{"True", pipeline.Bool, "true"},
		{"FALSE", pipeline.Bool, "false"},
		{"yes", pipeline.String, "yes"},
		{"no", pipeline.String, "no"},
		{"on", pipeline.String, "on"},
		{"tRUE", pipeline.String, "tRUE"},
		{"0", pipeline.Int, "0"},
		{"-0", pipeline.Int, "0"},
		{"+12", pipeline.Int, "12"},
		{"-19", pipeline.Int, "-19"},
		{"0x3A", pipeline.Int, "58"},
		{"0o14", pipeline.Int, "12"},
		{"9223372036854775807", pipeline.Int, "9223372036854775807"},
		{"-9223372036854775809", pipeline.Int, "-9223372036854775809"},
		{"123456789012345678901234567890", pipeline.Int, "123456789012345678901234567890"},
		{"0xffffffffffffffffff", pipeline.Int, "4722366482869645213695"},
		{"007", pipeline.String, "007"},
		{"00.5", pipeline.String, "00.5"},
		{"1_000", pipeline.String, "1_000"},
		{"0b11", pipeline.String, "0b11"},
		{"0.", pipeline.Float, "0.0"},
		{"-0.0", pipeline.Float, "-0.0"},
		{".5", pipeline.Float, "0.5"},
		{"1.0", pipeline.Float, "1.0"},
		{"1.10", pipeline.Float, "1.1"},
		{"+12e03", pipeline.Float, "12000.0"},
		{"-2E+05", pipeline.Float, "-200000.0"},
		{"1e-4", pipeline.Float, "0.0001"},
		{"1.0e-4", pipeline.Float, "0.0001"},
		{"0.0001", pipeline.Float, "0.0001"},
		{"1e-7", pipeline.Float, "1e-07"},
		{"0.30000000000000004", pipeline.Float, "0.30000000000000004"},
		{".inf", pipeline.Float, ".inf"},
		{"+.INF", pipeline.Float, ".inf"},
		{"-.Inf", pipeline.Float, "-.inf"},
		{".NaN", pipeline.Float, ".nan"},
		{"1e999", pipeline.Float, "1e999"},
		{"1.2.3", pipeline.String, "1.2.3"},
		{"e3", pipeline.String, "e3"},
		{"2025-01-01", pipeline.String, "2025-01-01"},
		{"2025-01-01T10:00:00Z", pipeline.String, "2025-01-01T10:00:00Z"},
		{"12:30:45", pipeline.String, "12:30:45"},
		{"'12'", pipeline.String, `"12"`},
		{`"true"`, pipeline.String, `"true"`},
		{"'null'", pipeline.String, `"null"`},
		{"''", pipeline.String, `""`},
		{"' x'", pipeline.String, `" x"`},
		{"'a \"b\"'", pipeline.String, `"a \"b\""`},
		{`'a\d'`, pipeline.String, `a\d`},
		{`"a\nb\t\x01\u2028"`, pipeline.String, `"a\nb\t\u0001\u2028"`},
		{"'[1]'", pipeline.String, `"[1]"`},
		{"'{}'", pipeline.String, `"{}"`},
		{"no-break\u00a0space", pipeline.String, "no-break\u00a0space"},
		{"名前", pipeline.String, "名前"},
		{"!!str 12", pipeline.String, `"12"`},
		{"!!float 1", pipeline.Float, "1.0"},
		{"!!int '3'", pipeline.Int, "3"},
		{"[1, a, 1.0, null, true, [x y]]", pipeline.List, `[1, "a", 1.0, null, true, ["x y"]]`},
		{"[]", pipeline.List, "[]"},
		{"{}", pipeline.Map, "{}"},
	} {
		t.Run(c.text, func(t *testing.T) {
			v := tracked(t, "v.yaml", "v: "+c.text+"\n")["v"]
			if v == nil {
				t.Fatal("no value")
			}
			if v.Kind != c.kind || v.Canonical() != c.canonical {
				t.Errorf("kind %d, %s; want kind %d, %s", v.Kind, v.Canonical(), c.kind, c.canonical)
			}
		})
	}
}

func TestMapsAreCanonicalWhateverTheirOrder(t *testing.T) {
	a := tracked(t, "v.yaml", "v: [{b: 1, a: {y: '1', x: []}, \"c d\": null}]")["v"]
	b := tracked(t, "v.yaml", "v:\n  - c d:\n    a: {x: [], y: \"1\"}\n    b: 0x1\n")["v"]
	want := `[{"a": {"x": [], "y": "1"}, "b": 1, "c d": null}]`
	if a.Canonical() != want || b.Canonical() != want {
		t.Errorf("got\n%s and\n%s, want\n%s", a.Canonical(), b.Canonical(), want)
	}
}

func TestFilesOfOtherFormatsGiveTheSameValues(t *testing.T) {
	want := map[string]string{
		"lr": "0.0001", "n": "20", "big": "1.0", "name": "adam", "quoted": `"1"`, "on": "true", "layers": "[64, 32]",
		"data.rows": "500", `data["a.b"]`: "x", "emoji": "😀 ok", "when": "2025-01-02", "empty": "{}",
	}
	for file, text := range map[string]string{
		"v.yaml": "lr: 1e-4\nn: 20\nbig: 1.0\nname: adam\nquoted: '1'\non: true\nlayers: [64, 32]\ndata: {rows: 500, a.b: x}\nemoji: \"\\U0001F600 ok\"\nwhen: 2025-01-02\nempty: {}\n",
		"v.json": `{"lr": 1E-4, "n": 20, "big": 1.0, "name": "adam", "quoted": "1", "on": true, "layers": [64, 32], "data": {"rows": 500, "a.b": "x"}, "emoji": "\ud83d\ude00 ok", "when": "2025-01-02", "empty": {}}`,
		"v.toml": "lr = 1e-4\nn = 20\nbig = 1.0\nname = 'adam'\nquoted = '1'\non = true\nlayers = [64, 32]\nemoji = \"\\U0001F600 ok\"\nwhen = 2025-01-02\n[data]\nrows = 500\n\"a.b\" = 'x'\n[empty]\n",
		"v.conf": "# unknown endings are YAML\r\n{lr: 0.0001, n: 20, big: 1.0, name: adam, quoted: \"1\", on: true, layers: [64, 32], data: {rows: 500, a.b: x}, emoji: 😀 ok, when: 2025-01-02, empty: {}}",
	} {
		t.Run(file, func(t *testing.T) {
			got := map[string]string{}
			for name, v := range tracked(t, file, text) {
				got[name] = v.Canonical()
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}

func TestJSONPlaces(t *testing.T) {
	v := tracked(t, "v.json", "{\n \"a\": [1,\n   {\"b\":\t\"x\"}]}")["a"]
	b := v.Items[1].Keys[0]
	if b.Pos.String() != "v.json:3:5" || b.Value.Pos.String() != "v.json:3:10" || v.Items[0].Pos.String() != "v.json:2:8" {
		t.Errorf("%s %s %s", b.Pos, b.Value.Pos, v.Items[0].Pos)
	}
}

func TestGoKeepsWhatJSONCanHold(t *testing.T) {
	v := tracked(t, "v.yaml", "v: [1, 1.0, 123456789012345678901234567890, 1e-7, true, null, \"x\", .inf, .nan, 0x10, 1e999, {b: [], a: 007}]")["v"]
	b, err := json.Marshal(v.Go())
	if err != nil {
		t.Fatal(err)
	}
	want := `[1,1.0,123456789012345678901234567890,1e-07,true,null,"x",".inf",".nan",16,1e999,{"a":"007","b":[]}]`
	if string(b) != want {
		t.Errorf("got  %s\nwant %s", b, want)
	}
}

func TestFlatten(t *testing.T) {
	v := tracked(t, "v.yaml", "v: [{user_id: {int: [1000, 5000]}, a.b: {\"x y\": 1}, \"\": [], e: {}, n: null, \"q\\\"\": s}]")["v"].Items[0]
	var got []string
	for _, l := range v.Flatten("with") {
		got = append(got, l.Name+" = "+l.Value)
	}
	want := []string{
		"with.user_id.int[0] = 1000", "with.user_id.int[1] = 5000", `with["a.b"]["x y"] = 1`, `with[""] = []`, "with.e = {}", "with.n = null", `with["q\""] = s`,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

// values draws any typed value.
func values(depth int) *rapid.Generator[*pipeline.Value] {
	return rapid.Custom(func(t *rapid.T) *pipeline.Value {
		kinds := []pipeline.ValueKind{pipeline.Null, pipeline.Bool, pipeline.Int, pipeline.Float, pipeline.String}
		if depth > 0 {
			kinds = append(kinds, pipeline.List, pipeline.Map)
		}
		v := &pipeline.Value{Kind: rapid.SampledFrom(kinds).Draw(t, "kind")}
		switch v.Kind {
		case pipeline.Bool:
			v.Text = rapid.SampledFrom([]string{"true", "false"}).Draw(t, "bool")
		case pipeline.Int:
			v.Text = rapid.SampledFrom([]string{"0", "-0", "1", "+1", "0x1", "12", "0o14", "99999999999999999999", "-1"}).Draw(t, "int")
		case pipeline.Float:
			v.Text = rapid.OneOf(
				rapid.SampledFrom([]string{"1.0", "1.", "1e0", "0.0", "-0.0", ".inf", "+.inf", "-.inf", "1e-4", "0.0001", "12e0"}),
				rapid.Map(rapid.Float64(), func(f float64) string { return strconv.FormatFloat(f, 'e', -1, 64) }),
			).Draw(t, "float")
		case pipeline.String:
			v.Text = rapid.OneOf(
				rapid.SampledFrom([]string{"", "1", "1.0", "true", "null", "~", " ", "a", "a b", `"`, `"a"`, "[]", "{}", "[1]", "[1, 2]", "\n", `\n`, "a\nb", "null ", "-", ".inf"}),
				rapid.String(),
			).Draw(t, "string")
		case pipeline.List:
			v.Items = rapid.SliceOfN(values(depth-1), 0, 3).Draw(t, "items")
		case pipeline.Map:
			for _, name := range rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"a", "b", "a.b", "", "1", "null"}), 0, 3, rapid.ID).Draw(t, "keys") {
				v.Keys = append(v.Keys, pipeline.Key{Name: name, Value: values(depth-1).Draw(t, "value")})
			}
		}
		return v
	})
}

// equal says by other means than Canonical whether two values are the same.
func equal(a, b *pipeline.Value) bool {
	if a.Kind != b.Kind || len(a.Items) != len(b.Items) || len(a.Keys) != len(b.Keys) {
		return false
	}
	switch a.Kind {
	case pipeline.Null:
		return true
	case pipeline.Int:
		return integer(a.Text).Cmp(integer(b.Text)) == 0
	case pipeline.Float:
		return math.Float64bits(double(a.Text)) == math.Float64bits(double(b.Text))
	case pipeline.List:
		for i := range a.Items {
			if !equal(a.Items[i], b.Items[i]) {
				return false
			}
		}
		return true
	case pipeline.Map:
		for _, k := range a.Keys {
			if other := b.Get(k.Name); other == nil || !equal(k.Value, other) {
				return false
			}
		}
		return true
	}
	return a.Text == b.Text
}

func integer(text string) *big.Int {
	i, ok := new(big.Int).SetString(strings.TrimPrefix(text, "+"), 0)
	if !ok {
		panic(text)
	}
	return i
}

func double(text string) float64 {
	f, err := strconv.ParseFloat(strings.Replace(text, ".inf", "inf", 1), 64)
	if err != nil {
		panic(text)
	}
	return f
}

func TestCanonicalTextsAreEqualIfAndOnlyIfTheValuesAre(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b := values(2).Draw(t, "a"), values(2).Draw(t, "b")
		if got, want := a.Canonical() == b.Canonical(), equal(a, b); got != want {
			t.Fatalf("%#v and %#v: texts %s and %s", a, b, a.Canonical(), b.Canonical())
		}
	})
}

func TestQuotedTextsAreGosOwn(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := rapid.String().Draw(t, "s")
		text := (&pipeline.Value{Kind: pipeline.String, Text: s}).Canonical()
		if text[0] != '"' {
			if text != s || strings.ContainsAny(text, "\n\"") {
				t.Fatalf("%q stands bare as %q", s, text)
			}
			return
		}
		if back, err := strconv.Unquote(text); err != nil || back != s {
			t.Fatalf("%q is %s, which reads as %q, %v", s, text, back, err)
		}
	})
}

func TestParamPath(t *testing.T) {
	for name, want := range map[string]string{"a.b": "a|b", "l[0].q": "l|0|q", `["a.b"].c`: "a.b|c", "n": "n"} {
		if got := strings.Join(pipeline.Param{Name: name}.Path(), "|"); got != want {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
	}
}
