package generate

import (
	"strings"
	"testing"

	"github.com/brianvoe/gofakeit/v7"
	"github.com/google/go-cmp/cmp"

	"pipe/internal/diag"
	"pipe/pipeline"
)

func told(all diag.List) []string {
	var out []string
	for _, e := range all {
		out = append(out, strings.TrimPrefix(e.Error(), "pipeline.yaml:")+" / "+e.Hint)
	}
	return out
}

func TestAllMistakesAreToldAtOnce(t *testing.T) {
	got := told(Kind().Check(stageOf(t, `rows: -5
seed: abc
colums: {}
columns:
  a: uid
  b: {int: [5, 1]}
  c: {decimal: [0.001, 1, 2]}
  d: {fake: nmae}
  e: {weighted: {x: -1}}
  f: {int: [1, 2], bool: 1}
  g: {json: {h: {timestamp: [2025-13-01, 2025-01-01]}}}
  i: {fake: date}
`)))
	want := []string{
		`1:7: with.rows: expected a whole number from 0 to 9007199254740992, not -5 / `,
		`2:7: with.seed: expected a whole number, not the text "abc" / `,
		`3:1: unknown key "colums" in with / did you mean "columns"?`,
		`5:6: with.columns.a: there is no type "uid" / did you mean "uuid"?`,
		`6:12: with.columns.b.int: 5 is above 1 / write the lower one first: [1, 5]`,
		`7:17: with.columns.c.decimal[0]: 0.001 has more digits after the point than that / write {decimal: [1, 500, 2]}`,
		`8:13: with.columns.d.fake: gofakeit has no function "nmae" / did you mean "name"?`,
		`9:21: with.columns.e.weighted.x: expected a weight of at least 0, not -1 / write {weighted: {a: 3, b: 1}}`,
		`10:6: with.columns.f has several types: int, bool; expected one / write f: {int: [1, 100]}`,
		`11:30: with.columns.g.json.h.timestamp[0]: expected a time without zone, to the microsecond at most, not the text "2025-13-01" / write {timestamp: [2025-01-01, 2025-02-01 12:00:00]}`,
		`12:13: with.columns.i.fake: the function date makes other values on another day / use timestamp:, date: or int: with a range`,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestMistakesOfOneColumn(t *testing.T) {
	for _, c := range []struct{ name, column, msg, hint string }{
		{"nothing", ``, "expected a type, not null", "write x: {int: [1, 100]}"},
		{"number", `5`, "expected a type, not 5", "write x: {int: [1, 100]}"},
		{"no type", `{nulls: 0.5}`, "with.columns.x has no type; expected one", "write x: {int: [1, 100]}"},
		{"unknown type", `{integer: [1, 2]}`, `there is no type "integer"`, "types are uuid, int, seq"},
		{"misspelt type", `{timestmp: [1, 2]}`, `there is no type "timestmp"`, `did you mean "timestamp"? write {timestamp: [2025-01-01, 2025-02-01]}`},
		{"a function as a type", `email`, `there is no type "email"`, "write {fake: email}"},
		{"type without arguments", `int`, "int needs its arguments", "write {int: [1, 100]}"},
		{"misspelt nulls", `{int: [1, 2], nuls: 0.1}`, `there is no type "nuls"`, `did you mean "nulls"?`},
		{"nulls too many", `{int: [1, 2], nulls: 10}`, "nulls: expected a share from 0 to 1, not 10", "write 0.1 for one row in ten"},
		{"int of one", `{int: 5}`, "int: expected the lowest and the highest number, not 5", "write {int: [1, 100]}"},
		{"int of texts", `{int: [1, a]}`, `int[1]: expected a whole number of 64 bits, not the text "a"`, "write {int: [1, 100]}"},
		{"int of floats", `{int: [1.5, 2]}`, "int[0]: expected a whole number of 64 bits, not 1.5", "write {int: [1, 100]}"},
		{"int too large", `{int: [1, 9223372036854775808]}`, "int[1]: expected a whole number of 64 bits", ""},
		{"float without room", `{float: [1, 1]}`, "no number is from 1 and below 1", "give a range"},
		{"float to infinity", `{float: [0, .inf]}`, "expected a finite number, not .inf", ""},
		{"float too wide", `{float: [-1.7e308, 1.7e308]}`, "the range is wider than a double", ""},
		{"decimal scale", `{decimal: [1, 2, 19]}`, "decimal[2]: expected 0 to 18 digits after the point, not 19", ""},
		{"decimal too long", `{decimal: [1, 1000000000000000000, 0]}`, "1000000000000000000 has more than 18 digits", ""},
		{"decimal too long after scaling", `{decimal: [1, 99999999999999999, 2]}`, "has more than 18 digits", ""},
		{"decimal of an endless fraction", `{decimal: [1e-999999999, 1, 2]}`, "has more digits after the point than that", ""},
		{"decimal of text", `{decimal: [a, 1, 2]}`, `the text "a" is no number`, ""},
		{"bool", `{bool: 2}`, "bool: expected a share from 0 to 1, not 2", ""},
		{"oneof of none", `{oneof: []}`, "oneof: expected a list of values, not a list", "write {oneof: [a, b]}"},
		{"oneof mixed", `{oneof: [a, 1]}`, "oneof[1]: 1 is of another type than the values before it", "put quotes around the values"},
		{"oneof null", `{oneof: [a, null]}`, "oneof[1]: expected a text, a number or a boolean, not null", "write nulls: 0.1 beside oneof:"},
		{"weights of nothing", `{weighted: {a: 0}}`, "the weights sum up to 0", ""},
		{"weighted list", `{weighted: [a, b]}`, "expected a map of texts and weights, not a list", ""},
		{"timestamp with a zone", `{timestamp: ["2025-01-01T00:00:00Z", 2025-01-02]}`, "expected a time without zone", ""},
		{"timestamp of nanoseconds", `{timestamp: ["2025-01-01 00:00:00.0000001", 2025-01-02]}`, "to the microsecond at most", ""},
		{"timestamp without room", `{timestamp: [2025-01-01, 2025-01-01]}`, "no instant is from 2025-01-01 and before 2025-01-01", ""},
		{"timestamp reversed", `{timestamp: [2025-01-02, 2025-01-01]}`, "2025-01-02 is after 2025-01-01", "write the earlier one first: [2025-01-01, 2025-01-02]"},
		{"date with a time", `{date: ["2025-01-01 10:00:00", 2025-01-02]}`, "expected a time without zone", "write {date: [2025-01-01, 2025-01-31]}"},
		{"seq of text", `{seq: a}`, `seq: expected the first number, not the text "a"`, "write {seq: 1}"},
		{"uuid with arguments", `{uuid: 4}`, "uuid takes no arguments, not 4", ""},
		{"fake in upper case", `{fake: FirstName}`, `gofakeit has no function "FirstName"`, `did you mean "firstname"?`},
		{"fake without its argument", `{fake: digitn}`, "the function digitn needs the argument count", "write {fake: {digitn: {count: ...}}}"},
		{"fake with a wrong argument", `{fake: {digitn: {cuont: 3}}}`, `the function digitn has no argument "cuont"`, `did you mean "count"?`},
		{"fake with an argument too many", `{fake: {name: {x: 1}}}`, `the function name has no argument "x"`, "it takes none"},
		{"fake with an argument of another type", `{fake: {digitn: {count: many}}}`, "the function digitn: count field could not parse to int value", "see the arguments"},
		{"fake list", `{fake: [name]}`, "expected the name of a function, or one name with its arguments, not a list", ""},
		{"fake of many values", `{fake: address}`, "the function address makes several values at once", "use single functions"},
		{"fake float", `{fake: latitude}`, "the function latitude makes floats, whose last digit depends on the processor", "use float: [low, high]"},
		{"fake of today", `{fake: {daterange: {startdate: 2020-01-01}}}`, "the function daterange needs the argument enddate", ""},
		{"fake of today in a text", `{fake: {generate: {str: "born {year}"}}}`, "{year} makes other values on another day", ""},
		{"json of nothing", `{json: {}}`, "json: expected a map of names and types, not a map", ""},
		{"deep in json", `{json: {a: {json: {b: {int: [2, 1]}}}}}`, "with.columns.x.json.a.json.b.int: 2 is above 1", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			all := Kind().Check(stageOf(t, "rows: 1\ncolumns:\n  x: "+c.column+"\n"))
			if len(all) == 0 {
				t.Fatal("no error")
			}
			if !strings.Contains(all[0].Msg, c.msg) || !strings.Contains(all[0].Hint, c.hint) || all[0].Pos.Line != 3 || all[0].Exit != diag.Usage {
				t.Errorf("got %+v", all[0])
			}
		})
	}
}

func TestMissingKeysAndOuts(t *testing.T) {
	s := stageOf(t, "{seed: 1}")
	want := []string{`1:1: with.rows is missing / add "rows" under with`, `1:1: with.columns is missing / add "columns" under with`}
	if diff := cmp.Diff(want, told(Kind().Check(s))); diff != "" {
		t.Error(diff)
	}
	s = stageOf(t, "{rows: 1, columns: {a: uuid}}")
	for _, outs := range [][]pipeline.Out{nil, {{Path: "x"}}, {{Table: "a.b"}, {Table: "a.c"}}} {
		s.Outs = outs
		got := told(Kind().Check(s))
		if len(got) != 1 || !strings.Contains(got[0], "generate makes exactly one table") {
			t.Errorf("got %q", got)
		}
	}
}

func TestFormsThatAreRight(t *testing.T) {
	all := Kind().Check(stageOf(t, `rows: 0
seed: -9223372036854775808
columns:
  a: {uuid: {}, nulls: 0}
  b: {uuid: , nulls: 1}
  c: {fake: {name: }}
  d: {fake: {daterange: {startdate: 2020-01-01, enddate: 2021-01-01, format: yyyy-MM-dd}}}
  e: {timestamp: [2025-01-01 10:00, 2025-01-01T10:00:00.5]}
  f: {decimal: [1e2, 1.5e3, 0]}
  g: {float: [0, 1e3]}
  h: {weighted: {a: 1}}
  i: {fake: uint8}
  j: {fake: error}
`))
	if len(all) > 0 {
		t.Error(all)
	}
}

// Every function of the library is either refused or makes rows; none ends the program.
func TestEveryFunctionOfGofakeit(t *testing.T) {
	refused := 0
	for _, name := range functions() {
		with := "{rows: 50, columns: {x: {fake: " + name + "}}}"
		if all := Kind().Check(stageOf(t, with)); len(all) > 0 {
			refused++
			continue
		}
		one, two := generated(t, with, 1, ""), generated(t, with, 1, "")
		if !cmp.Equal(one.cells, two.cells) {
			t.Errorf("%s makes other values each time", name)
		}
	}
	if made := len(gofakeit.FuncLookups) - refused; made < 300 {
		t.Errorf("only %d functions make rows", made)
	}
}
