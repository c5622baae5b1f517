package textio

import (
	"fmt"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/google/go-cmp/cmp"

	"pipe/pipeline/schema"
)

func TestInference(t *testing.T) {
	for _, row := range []struct {
		name   string
		values string // the values of one column, one a line
		want   schema.Kind
	}{
		{"booleans", "true\nfalse\nTRUE\n", schema.Boolean},
		{"booleans and numbers", "true\n1\n", schema.String},
		{"zero and one are numbers", "0\n1\n", schema.Long},
		{"integers", "0\n-5\n9223372036854775807\n", schema.Long},
		{"integers and NULL", "\n5\n", schema.Long},
		{"integers over 64 bits", "1\n9223372036854775808\n", schema.String},
		{"a leading zero", "501\n00501\n", schema.String},
		{"a plus sign", "1\n+1\n", schema.String},
		{"fractions", "1\n2.5\n-0.25\n1e-3\n.5\n", schema.Double},
		{"minus zero", "-0\n", schema.Double},
		{"a version", "1.2.3\n", schema.String},
		{"a leading zero before the point", "00.11\n", schema.String},
		{"integers that a double does not keep, with a fraction", "9007199254740993\n0.5\n", schema.String},
		{"integers that a double keeps, with a fraction", "9007199254740992\n0.5\n", schema.Double},
		{"more digits than a double keeps", "0.123456789012345678\n", schema.String},
		{"zeros at the end are no digits", "0.5000000000000000000000\n", schema.Double},
		{"over a double", "1e999\n", schema.String},
		{"under a double", "1e-999\n", schema.String},
		{"NaN among numbers", "NaN\n1.5\n-Infinity\n", schema.Double},
		{"NaN alone", "NaN\n", schema.String},
		{"hex", "0x10\n", schema.String},
		{"dates", "2025-01-02\n1999-12-31\n", schema.Date},
		{"a day that is not", "2025-01-02\n2025-02-30\n", schema.String},
		{"dates of another form", "31/12/2007\n", schema.String},
		{"dates and times", "2025-01-02\n2025-01-02 03:04:05\n2025-01-02T03:04:05.123456\n", schema.Timestamp},
		{"nanoseconds", "2025-01-02 03:04:05.123456789\n", schema.String},
		{"times with zones", "2025-01-02T03:04:05Z\n2025-01-02 03:04:05+01:00\n", schema.TimestampTz},
		{"times with and without zones", "2025-01-02T03:04:05Z\n2025-01-02 03:04:05\n", schema.String},
		{"times of day stay text", "03:04:05\n", schema.String},
		{"nothing", "\n\n", schema.String},
		{"quotes do not count", "\"1\"\n\"2\"\n", schema.Long},
		{"an empty text is text", "1\n\"\"\n", schema.String},
		{"a number with a blank", "1\n 2\n", schema.String},
		{"the last of many rows", strings.Repeat("1\n", 30_000) + "x\n", schema.String},
	} {
		t.Run(row.name, func(t *testing.T) {
			r, err := Open(t.Context(), strings.NewReader("a\n"+row.values), "x.csv", Options{chunk: 100, Threads: 2})
			if err != nil {
				t.Fatal(err)
			}
			defer r.Close()
			got := r.Schema().Field(0).Type
			want := columns(row.want, "a")
			if r, err := Open(t.Context(), strings.NewReader(""), "x.csv", Options{Columns: want}); err != nil || !arrow.TypeEqual(got, r.Schema().Field(0).Type) {
				t.Errorf("got %s, want %s (%v)", got, row.want, err)
			}
		})
	}
}

func TestInferenceOfObjects(t *testing.T) {
	for name, row := range map[string]struct{ text, want string }{
		"columns in the order of the file": {
			`{"b":1,"a":true}` + "\n" + `{"c":"x","a":null,"b":2.5}`,
			"b: type=float64, a: type=bool, c: type=utf8",
		},
		"dates and times in text":    {`{"d":"2025-01-02","t":"2025-01-02T03:04:05","z":"2025-01-02T03:04:05Z"}`, "d: type=date32, t: type=timestamp[us], z: type=timestamp[us, tz=UTC]"},
		"digits in quotes are text":  {`{"a":"1"}`, "a: type=utf8"},
		"late keys of a struct":      {`{"s":{"x":1}}` + "\n" + `{"s":{"y":"z"}}`, "s: type=struct<x: int64 nullable, y: utf8 nullable>"},
		"lists":                      {`{"l":[]}` + "\n" + `{"l":[1,null,2]}`, "l: type=list<element: int64, nullable>"},
		"only empty ones and nulls":  {`{"l":[],"s":{},"n":null}`, "l: type=list<element: utf8, nullable>, s: type=utf8, n: type=utf8"},
		"integers and fractions":     {`{"a":1}` + "\n" + `{"a":1e3}`, "a: type=float64"},
		"integers over the fraction": {`{"a":9007199254740993}`, "a: type=int64"},
	} {
		t.Run(name, func(t *testing.T) {
			for _, size := range []int{1, 1 << 20} {
				r, err := Open(t.Context(), strings.NewReader(row.text), "x.jsonl", Options{chunk: size, Threads: 2})
				if err != nil {
					t.Fatal(err)
				}
				var fields []string
				for _, f := range r.Schema().Fields() {
					fields = append(fields, fmt.Sprintf("%s: type=%s", f.Name, f.Type))
				}
				r.Close()
				if d := cmp.Diff(row.want, strings.Join(fields, ", ")); d != "" {
					t.Error(d)
				}
			}
		})
	}
}
