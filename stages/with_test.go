package stages

import (
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"

	"pipe/internal/diag"
	"pipe/pipeline"
)

func scalar(kind pipeline.ValueKind, text string, line int) *pipeline.Value {
	return &pipeline.Value{Kind: kind, Text: text, Pos: at(line, 9)}
}

func stageWith(keys ...pipeline.Key) *pipeline.Stage {
	return &pipeline.Stage{Name: "s", Pos: at(1, 1), With: &pipeline.Value{Kind: pipeline.Map, Keys: keys, Pos: at(2, 5)}}
}

func key(name string, line int, v *pipeline.Value) pipeline.Key {
	return pipeline.Key{Name: name, Pos: at(line, 3), Value: v}
}

func texts(all diag.List) []string {
	var out []string
	for _, e := range all {
		out = append(out, e.Error()+" / "+e.Hint)
	}
	return out
}

func TestArgumentsAreReadByTheirTypes(t *testing.T) {
	w := Args(stageWith(
		key("n", 3, scalar(pipeline.Int, "0x1F", 3)),
		key("f", 4, scalar(pipeline.Float, "1e-4", 4)),
		key("whole", 4, scalar(pipeline.Int, "7", 4)),
		key("b", 5, scalar(pipeline.Bool, "true", 5)),
		key("s", 6, scalar(pipeline.Int, "007", 6)),
		key("list", 7, &pipeline.Value{Kind: pipeline.List, Items: []*pipeline.Value{scalar(pipeline.String, "a", 7), scalar(pipeline.Int, "1", 7)}}),
		key("one", 8, scalar(pipeline.String, "x", 8)),
		key("mode", 9, scalar(pipeline.String, "fast", 9)),
		key("left out", 10, scalar(pipeline.Null, "", 10)),
		key("sub", 11, &pipeline.Value{Kind: pipeline.Map, Keys: []pipeline.Key{key("m", 12, scalar(pipeline.Int, "5", 12))}}),
	))
	got := []any{
		w.Int("n", 0, 0, 100), w.Float("f", 0, 0, 1), w.Float("whole", 0, 0, 10), w.Bool("b", false), w.String("s", ""), w.Strings("list"),
		w.Strings("one"), w.Choice("mode", "slow", "slow", "fast"), w.Int("left out", 3, 0, 9), w.Map("sub").Int("m", 0, 0, 9),
		w.Int("none", -1, 0, 9), w.String("nothing", "d"), w.Has("none"), w.Map("no map").Int("x", 4, 0, 9),
	}
	want := []any{
		int64(31), 1e-4, 7.0, true, "007", []string{"a", "1"}, []string{"x"}, "fast", int64(3), int64(5), int64(-1), "d", false, int64(4),
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if all := w.Done(); len(all) > 0 {
		t.Error(all)
	}
}

func TestWrongArgumentsAreAllReported(t *testing.T) {
	bad := scalar(pipeline.Int, "-5", 3)
	bad.Reads = []string{"data.rows in params.yaml"}
	w := Args(stageWith(
		key("n", 3, bad),
		key("big", 4, scalar(pipeline.Int, "99999999999999999999", 4)),
		key("f", 5, scalar(pipeline.String, "1", 5)),
		key("b", 6, scalar(pipeline.String, "yes", 6)),
		key("s", 7, &pipeline.Value{Kind: pipeline.List, Pos: at(7, 9)}),
		key("list", 8, &pipeline.Value{Kind: pipeline.List, Items: []*pipeline.Value{{Kind: pipeline.Map, Pos: at(8, 12)}}}),
		key("mode", 9, scalar(pipeline.String, "fsat", 9)),
		key("nmae", 10, scalar(pipeline.String, "x", 10)),
		key("sub", 11, &pipeline.Value{Kind: pipeline.Map, Pos: at(11, 9), Keys: []pipeline.Key{key("zzz", 12, scalar(pipeline.Int, "5", 12))}}),
		key("flat", 13, scalar(pipeline.Int, "5", 13)),
	))
	w.Int("n", 0, 0, math.MaxInt64)
	w.Int("big", 0, 0, 9)
	w.Float("f", 0, 0, 1)
	w.Bool("b", false)
	w.String("s", "")
	w.Strings("list")
	w.Choice("mode", "slow", "slow", "fast")
	w.String("name", "")
	w.Need("n", "table")
	sub := w.Map("sub")
	sub.Int("m", 0, 0, 9)
	sub.Done()
	w.Map("flat")
	want := []string{
		`pipeline.yaml:2:5: with.table is missing / add "table" under with`,
		`pipeline.yaml:3:9: with.n: expected a whole number of at least 0, not -5 (data.rows in params.yaml) / `,
		`pipeline.yaml:4:9: with.big: expected a whole number from 0 to 9, not 99999999999999999999 / `,
		`pipeline.yaml:5:9: with.f: expected a number from 0 to 1, not the text "1" / `,
		`pipeline.yaml:6:9: with.b: expected true or false, not the text "yes" / `,
		`pipeline.yaml:7:9: with.s: expected a text, not a list / `,
		`pipeline.yaml:8:12: with.list[0]: expected a text, not a map / `,
		`pipeline.yaml:9:9: with.mode: expected slow, fast, not the text "fsat" / did you mean "fast"?`,
		`pipeline.yaml:10:3: unknown key "nmae" in with / did you mean "name"?`,
		`pipeline.yaml:12:3: unknown key "zzz" in with.sub / known are m`,
		`pipeline.yaml:13:9: with.flat: expected a map of keys and values, not 5 / `,
	}
	if diff := cmp.Diff(want, texts(w.Done())); diff != "" {
		t.Error(diff)
	}
}

func TestNoArguments(t *testing.T) {
	w := Args(&pipeline.Stage{Pos: at(4, 3)})
	w.Need("rows")
	if diff := cmp.Diff([]string{`pipeline.yaml:4:3: with.rows is missing / add "rows" under with`}, texts(w.Done())); diff != "" {
		t.Error(diff)
	}
	w = Args(stageWith(key("x", 3, scalar(pipeline.Int, "1", 3))))
	if diff := cmp.Diff([]string{`pipeline.yaml:3:3: unknown key "x" in with / this kind takes no arguments`}, texts(w.Done())); diff != "" {
		t.Error(diff)
	}
	w = Args(&pipeline.Stage{With: scalar(pipeline.String, "rows", 3)})
	if diff := cmp.Diff([]string{`pipeline.yaml:3:9: with: expected a map of keys and values, not the text "rows" / `}, texts(w.Done())); diff != "" {
		t.Error(diff)
	}
}

func TestNumbersOfYAML(t *testing.T) {
	for _, c := range []struct {
		text string
		kind pipeline.ValueKind
		want float64
		ok   bool
	}{
		{"12", pipeline.Int, 12, true},
		{"+12", pipeline.Int, 12, true},
		{"0o17", pipeline.Int, 15, true},
		{"0x10", pipeline.Int, 16, true},
		{"010", pipeline.Int, 10, true}, // YAML 1.2
		{".5", pipeline.Float, 0.5, true},
		{"-1.5e3", pipeline.Float, -1500, true},
		{"-.inf", pipeline.Float, math.Inf(-1), true},
		{"1e999", pipeline.Float, 0, false},
		{"12", pipeline.String, 0, false},
		{"true", pipeline.Bool, 0, false},
	} {
		got, ok := AsFloat(scalar(c.kind, c.text, 1))
		if ok != c.ok || ok && got != c.want {
			t.Errorf("%s: got %v, %v", c.text, got, ok)
		}
	}
	if f, ok := AsFloat(scalar(pipeline.Float, ".NaN", 1)); !ok || !math.IsNaN(f) {
		t.Errorf(".NaN is %v", f)
	}
}
