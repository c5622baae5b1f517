package textio

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/google/go-cmp/cmp"

	"pipe/internal/diag"
	"pipe/pipeline/schema"
	"pipe/sinks"
)

// open reads a file of testdata to its end.
func openFile(t *testing.T, path string, opts Options) (*arrow.Schema, []arrow.RecordBatch, error) {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", path))
	if err != nil {
		t.Fatal(err)
	}
	return readAll(t.Context(), string(data), filepath.Base(path), opts)
}

// texts gives every value as text; NULL as "<null>".
func texts(list []arrow.RecordBatch) [][]string {
	var rows [][]string
	for _, b := range list {
		for i := range int(b.NumRows()) {
			row := make([]string, b.NumCols())
			for c := range row {
				if row[c] = "<null>"; b.Column(c).IsValid(i) {
					row[c] = b.Column(c).(*array.String).Value(i)
				}
			}
			rows = append(rows, row)
		}
	}
	return rows
}

func columns(kind schema.Kind, names ...string) schema.Schema {
	var s schema.Schema
	for _, n := range names {
		s.Fields = append(s.Fields, schema.Field{Name: n, Type: schema.Type{Kind: kind}})
	}
	return s
}

// Files that break readers: what Python's csv module makes of them, or the lines at which a careful reader must stop.
func TestMessyFiles(t *testing.T) {
	data, err := os.ReadFile("testdata/messy/expected.json")
	if err != nil {
		t.Fatal(err)
	}
	var files map[string]struct {
		Errors []struct {
			Line int
			What string
		}
		Header []string
		Rows   [][]string
		Count  int
		SHA256 string
	}
	if err := json.Unmarshal(data, &files); err != nil {
		t.Fatal(err)
	}
	if len(files) != 17 {
		t.Fatalf("%d files", len(files))
	}
	for name, want := range files {
		t.Run(name, func(t *testing.T) {
			// Every column as text and no word for NULL is what the csv module gives.
			opts := Options{Columns: columns(schema.String, want.Header...), Null: []string{}}
			_, list, err := openFile(t, "messy/"+name, opts)
			if len(want.Errors) > 0 {
				got := diag.All(err)
				for i, e := range want.Errors {
					if i >= len(got) || got[i].Pos.Line != e.Line || !says(got[i].Msg, e.What) || got[i].Exit != diag.Failed || got[i].Pos.File != name {
						t.Fatalf("error %d: want line %d: %s\ngot %v", i, e.Line, e.What, err)
					}
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			rows := texts(list)
			if want.SHA256 == "" {
				if d := cmp.Diff(want.Rows, rows); d != "" {
					t.Error(d)
				}
				return
			}
			var joined strings.Builder
			for _, r := range rows {
				for _, f := range r {
					joined.WriteString(f + "\x1f")
				}
				joined.WriteString("\x1e")
			}
			if sum := sha256.Sum256([]byte(joined.String())); len(rows) != want.Count || hex.EncodeToString(sum[:]) != want.SHA256 {
				t.Errorf("%d rows with other text than Python's, which has %d", len(rows), want.Count)
			}
		})
	}
}

// says tells whether a message is about what the expectation names.
func says(msg, what string) bool {
	switch what {
	case "NUL":
		return strings.Contains(msg, "a NUL byte")
	case "UTF-8":
		return strings.Contains(msg, "expected UTF-8, got the byte 0xa9")
	case "name":
		return strings.Contains(msg, "has no name") || strings.Contains(msg, "stands twice")
	}
	want, got, _ := strings.Cut(what, ", ")
	return strings.Contains(msg, "expected "+want) && strings.Contains(msg, got+" field")
}

// The types that are inferred in the messy files: codes stay text, thousands commas and American dates too.
func TestMessyTypes(t *testing.T) {
	for name, want := range map[string]string{
		"blanks.csv":                 "a: string, b: string, c: string, d: string, e: string, f: string",
		"mac_newlines.csv":           "a: string, b: long, c: long",
		"test_no_leading_zeroes.csv": "a: string, b: string, c: double",
		"test_utf16_big.csv":         "a: long, b: long, c: string",
		"ks_1033_data.csv.zst": "state: string, county: string, fips: long, nsn: string, item_name: string, quantity: long, ui: string, " +
			"acquisition_cost: double, total_cost: double, ship_date: string, federal_supply_category: long, federal_supply_category_name: string, " +
			"federal_supply_class: long, federal_supply_class_name: string",
	} {
		t.Run(name, func(t *testing.T) {
			s, list, err := openFile(t, "messy/"+name, Options{})
			if err != nil {
				t.Fatal(err)
			}
			got, err := sinks.FromArrow(s)
			if err != nil {
				t.Fatal(err)
			}
			var fields []string
			for _, f := range got.Fields {
				fields = append(fields, f.Name+": "+f.Type.String())
			}
			if d := cmp.Diff(want, strings.Join(fields, ", ")); d != "" {
				t.Error(d)
			}
			if len(list) == 0 || list[0].NumRows() == 0 {
				t.Error("no rows")
			}
		})
	}
}

// typesSchema is the columns of testdata/types.*, which testdata/expected.py makes.
func typesSchema() schema.Schema {
	var s schema.Schema
	for _, f := range []struct {
		name string
		t    schema.Type
	}{
		{"b", schema.Type{Kind: schema.Boolean}},
		{"i", schema.Type{Kind: schema.Int}},
		{"l", schema.Type{Kind: schema.Long}},
		{"f", schema.Type{Kind: schema.Float}},
		{"d", schema.Type{Kind: schema.Double}},
		{"n", schema.Type{Kind: schema.Decimal, Precision: 38, Scale: 10}},
		{"day", schema.Type{Kind: schema.Date}},
		{"t", schema.Type{Kind: schema.Time}},
		{"ts", schema.Type{Kind: schema.Timestamp}},
		{"tz", schema.Type{Kind: schema.TimestampTz}},
		{"s", schema.Type{Kind: schema.String}},
		{"u", schema.Type{Kind: schema.UUID}},
		{"list", schema.Type{Kind: schema.List, Fields: []schema.Field{{Name: "element", Type: schema.Type{Kind: schema.Long}}}}},
		{"st", schema.Type{Kind: schema.Struct, Fields: []schema.Field{
			{Name: "x", Type: schema.Type{Kind: schema.Long}}, {Name: "y", Type: schema.Type{Kind: schema.String}},
		}}},
	} {
		s.Fields = append(s.Fields, schema.Field{Name: f.name, Type: f.t})
	}
	return s
}

// One table of every type, written by DuckDB as CSV and as JSON and by Python, is one table.
func TestOtherWriters(t *testing.T) {
	s := typesSchema()
	as, python, err := openFile(t, "types.python.jsonl", Options{Columns: s})
	if err != nil {
		t.Fatal(err)
	}
	var ours strings.Builder
	for _, b := range python {
		b.Retain()
	}
	if err := WriteJSONL(&ours, as, batches(python...)); err != nil {
		t.Fatal(err)
	}
	want := `{"b":false,"i":-2147483648,"l":-9223372036854775808,"f":-3.4028235e+38,"d":5e-324,"n":"-0.0000000001","day":"1582-10-15",` +
		`"t":"23:59:59.999999","ts":"1970-01-01 00:00:00","tz":"2000-01-01 11:29:59.999999Z","s":"two\nlines\r\nhere",` +
		`"u":"ffffffff-ffff-ffff-ffff-ffffffffffff","list":[],"st":{"x":null,"y":""}}`
	if d := cmp.Diff(want, strings.Split(ours.String(), "\n")[1]); d != "" {
		t.Error(d)
	}
	sumOf := sum(t, as, python...)
	if sumOf.Rows() != 4 {
		t.Fatalf("%d rows", sumOf.Rows())
	}
	for _, name := range []string{"types.duckdb.jsonl", "types.duckdb.csv"} {
		_, list, err := openFile(t, name, Options{Columns: s})
		if err != nil {
			t.Fatal(err)
		}
		if got := sum(t, as, list...); got != sumOf {
			t.Errorf("%s holds other rows:\n%v\n%v", name, list, python)
		}
	}
}
