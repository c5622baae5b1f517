package sinks_test

import (
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"pipe/sinks"
)

func batch(t *testing.T, s *arrow.Schema, rows string) arrow.RecordBatch {
	t.Helper()
	b, _, err := array.RecordFromJSON(memory.DefaultAllocator, s, strings.NewReader(rows))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(b.Release)
	return b
}

// The batches call every column nullable, as most programs do; what the table calls required decides.
func TestCheckBatchFindsNulls(t *testing.T) {
	for _, c := range []struct {
		name, want, loose string
		rows              string
		err               string // "": fits
	}{
		{"none", "long required", "long", `[{"x":1},{"x":2}]`, ""},
		{"in an optional column", "long", "long", `[{"x":null}]`, ""},
		{"in a required column", "long required", "long", `[{"x":1},{"x":null}]`, `"x"`},
		{"in a struct", "struct<a: int required, b: int>", "struct<a: int, b: int>", `[{"x":{"a":1,"b":null}},{"x":{"a":null,"b":2}}]`, `"x.a"`},
		{"hidden by a NULL struct", "struct<a: int required>", "struct<a: int>", `[{"x":{"a":1}},{"x":null}]`, ""},
		{"a required struct", "struct<a: int> required", "struct<a: int>", `[{"x":null}]`, `"x"`},
		{"in a list", "list<struct<a: int required>>", "list<struct<a: int>>", `[{"x":[{"a":1}]},{"x":[null,{"a":null}]}]`, `"x.element.a"`},
		{"NULL elements hide", "list<struct<a: int required>>", "list<struct<a: int>>", `[{"x":[{"a":1},null]},{"x":null},{"x":[]}]`, ""},
		{
			"in a map", "map<string, struct<a: int required>>", "map<string, struct<a: int>>",
			`[{"x":[{"key":"k","value":{"a":null}}]}]`, `"x.value.a"`,
		},
		{
			"deep down", "struct<s: struct<t: list<struct<a: int required>>>>", "struct<s: struct<t: list<struct<a: int>>>>",
			`[{"x":{"s":{"t":[{"a":3},{"a":null}]}}}]`, `"x.s.t.element.a"`,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			want := sinks.ArrowSchema(parse(t, "x: "+c.want))
			b := batch(t, sinks.ArrowSchema(parse(t, "x: "+c.loose)), c.rows)
			check(t, sinks.CheckBatch(want, b), c.err)
		})
	}
}

func TestCheckBatchLooksOnlyAtTheSlice(t *testing.T) {
	want := sinks.ArrowSchema(parse(t, "x: list<struct<a: int required>>"))
	b := batch(t, sinks.ArrowSchema(parse(t, "x: list<struct<a: int>>")), `[{"x":[{"a":null}]},{"x":[{"a":1}]},{"x":[{"a":null}]}]`)
	middle := b.NewSlice(1, 2)
	defer middle.Release()
	check(t, sinks.CheckBatch(want, middle), "")
	last := b.NewSlice(2, 3)
	defer last.Release()
	check(t, sinks.CheckBatch(want, last), `"x.element.a"`)
}

func TestCheckBatchComparesColumns(t *testing.T) {
	want := sinks.ArrowSchema(parse(t, "id: long required", "name: string"))
	for _, c := range []struct {
		name string
		cols []string
		rows string
		err  string
	}{
		{"equal", []string{"id: long", "name: string required"}, `[{"id":1,"name":"a"}]`, ""},
		{"another name", []string{"id: long", "nom: string"}, `[{"id":1,"nom":"a"}]`, `"nom"`},
		{"another order", []string{"name: string", "id: long"}, `[{"id":1,"name":"a"}]`, `"name"`},
		{"another type", []string{"id: int", "name: string"}, `[{"id":1,"name":"a"}]`, `int32`},
		{"one more", []string{"id: long", "name: string", "x: int"}, `[{"id":1,"name":"a","x":1}]`, "3 columns"},
	} {
		t.Run(c.name, func(t *testing.T) {
			check(t, sinks.CheckBatch(want, batch(t, sinks.ArrowSchema(parse(t, c.cols...)), c.rows)), c.err)
		})
	}
}

func check(t *testing.T, err error, want string) {
	t.Helper()
	switch {
	case want == "" && err != nil:
		t.Errorf("%v, want none", err)
	case want != "" && (err == nil || !strings.Contains(err.Error(), want)):
		t.Errorf("%v, want one that holds %s", err, want)
	}
}
