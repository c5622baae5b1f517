package textio

import (
	"bytes"
	"errors"
	"io"
	"math"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/google/go-cmp/cmp"
)

// ofJSON builds a batch of one column "v" from a JSON array, as arrow-go reads it.
func ofJSON(t *testing.T, typ arrow.DataType, values string) arrow.RecordBatch {
	t.Helper()
	a, _, err := array.FromJSON(memory.DefaultAllocator, typ, strings.NewReader(values))
	if err != nil {
		t.Fatal(err)
	}
	s := arrow.NewSchema([]arrow.Field{{Name: "v", Type: typ, Nullable: true}}, nil)
	return array.NewRecordBatch(s, []arrow.Array{a}, int64(a.Len()))
}

// Every physical variant of a type is written as the same text.
func TestWriteVariants(t *testing.T) {
	i, l := arrow.PrimitiveTypes, arrow.BinaryTypes
	dict := &arrow.DictionaryType{IndexType: i.Int8, ValueType: l.String}
	ts := func(u arrow.TimeUnit, zone string) arrow.DataType {
		return &arrow.TimestampType{Unit: u, TimeZone: zone}
	}
	for name, row := range map[string]struct {
		types     []arrow.DataType
		values    string
		csv, json string // values, divided by |
	}{
		"integers":     {[]arrow.DataType{i.Int8, i.Int16, i.Int32, i.Int64}, `[-5, null]`, "-5|", `-5|null`},
		"unsigned":     {[]arrow.DataType{i.Uint8, i.Uint16, i.Uint32, i.Uint64}, `[200, null]`, "200|", `200|null`},
		"unsigned 64":  {[]arrow.DataType{i.Uint64}, `[18446744073709551615]`, "18446744073709551615", `18446744073709551615`},
		"floats":       {[]arrow.DataType{i.Float32, i.Float64}, `[1, 0.5, 1e30, null]`, "1.0|0.5|1e+30|", `1.0|0.5|1e+30|null`},
		"decimals":     {[]arrow.DataType{&arrow.Decimal32Type{Precision: 5, Scale: 2}, &arrow.Decimal64Type{Precision: 5, Scale: 2}, &arrow.Decimal128Type{Precision: 5, Scale: 2}}, `["-0.05", "123.40", null]`, "-0.05|123.40|", "-0.05|123.40|null"},
		"dates":        {[]arrow.DataType{arrow.FixedWidthTypes.Date32, arrow.FixedWidthTypes.Date64}, `["2025-01-02", "1969-12-31", null]`, "2025-01-02|1969-12-31|", `"2025-01-02"|"1969-12-31"|null`},
		"times":        {[]arrow.DataType{arrow.FixedWidthTypes.Time32s, arrow.FixedWidthTypes.Time32ms, arrow.FixedWidthTypes.Time64us, arrow.FixedWidthTypes.Time64ns}, `["03:04:05", null]`, "03:04:05|", `"03:04:05"|null`},
		"timestamps":   {[]arrow.DataType{ts(arrow.Second, ""), ts(arrow.Millisecond, ""), ts(arrow.Microsecond, ""), ts(arrow.Nanosecond, "")}, `["2025-01-02 03:04:05", null]`, "2025-01-02 03:04:05|", `"2025-01-02 03:04:05"|null`},
		"timestamptz":  {[]arrow.DataType{ts(arrow.Second, "UTC"), ts(arrow.Nanosecond, "UTC")}, `["2025-01-02 03:04:05Z", null]`, "2025-01-02 03:04:05Z|", `"2025-01-02 03:04:05Z"|null`},
		"text":         {[]arrow.DataType{l.String, l.LargeString, l.StringView, dict}, `["a", "", null, "a", "b\"c"]`, `a|""||a|"b""c"`, `"a"|""|null|"a"|"b\"c"`},
		"bytes":        {[]arrow.DataType{l.Binary, l.LargeBinary}, `["AP8=", "", null]`, `\x00ff|\x|`, `"\\x00ff"|"\\x"|null`},
		"fixed":        {[]arrow.DataType{&arrow.FixedSizeBinaryType{ByteWidth: 2}}, `["AP8="]`, `\x00ff`, `"\\x00ff"`},
		"lists":        {[]arrow.DataType{arrow.ListOf(i.Int32), arrow.LargeListOf(i.Int64)}, `[[1,null],[],null]`, `"[1,null]"|[]|`, `[1,null]|[]|null`},
		"lists of two": {[]arrow.DataType{arrow.FixedSizeListOf(2, i.Int32)}, `[[1,null],null]`, `"[1,null]"|`, `[1,null]|null`},
		"lists of words": {
			[]arrow.DataType{arrow.ListOf(l.String), arrow.ListOf(dict)}, `[["a",null,"b"]]`, `"[""a"",null,""b""]"`, `["a",null,"b"]`,
		},
		"structs":  {[]arrow.DataType{arrow.StructOf(arrow.Field{Name: "x\"y", Type: i.Int32, Nullable: true})}, `[{"x\"y":1},{},null]`, `"{""x\""y"":1}"|"{""x\""y"":null}"|`, `{"x\"y":1}|{"x\"y":null}|null`},
		"all NULL": {[]arrow.DataType{arrow.Null}, `[null,null]`, `|`, `null|null`},
	} {
		t.Run(name, func(t *testing.T) {
			for _, typ := range row.types {
				b := ofJSON(t, typ, row.values)
				var csv, json bytes.Buffer
				if err := WriteCSV(&csv, b.Schema(), batches(b)); err != nil {
					t.Fatal(err)
				}
				if err := WriteJSONL(&json, b.Schema(), batches(b)); err != nil {
					t.Fatal(err)
				}
				wantCSV := "v\n" + strings.ReplaceAll(row.csv, "|", "\n") + "\n"
				wantJSON := `{"v":` + strings.ReplaceAll(row.json, "|", "}\n{\"v\":") + "}\n"
				if d := cmp.Diff(wantCSV, csv.String()); d != "" {
					t.Errorf("%s as CSV: %s", typ, d)
				}
				if d := cmp.Diff(wantJSON, json.String()); d != "" {
					t.Errorf("%s as JSON: %s", typ, d)
				}
			}
		})
	}
}

func TestWriteFloats(t *testing.T) {
	for text, f := range map[string]float64{
		"0.0": 0, "0.000001": 1e-6, "1e-07": 1e-7, "100000000000000000000.0": 1e20, "-0.0": math.Copysign(0, -1), "0.1": 0.1, "1e+21": 1e21, "5e-324": 5e-324, "123456789.0": 123456789, "NaN": math.NaN(),
		"Infinity": math.Inf(1), "-Infinity": math.Inf(-1), "1.7976931348623157e+308": math.MaxFloat64,
	} {
		if got := string(appendFloat(nil, f, 64)); got != text {
			t.Errorf("got %s, want %s", got, text)
		}
	}
	if got := string(appendFloat(nil, float64(float32(0.1)), 32)); got != "0.1" {
		t.Errorf("got %s", got)
	}
}

func TestWriteHeader(t *testing.T) {
	field := func(name string) arrow.Field { return arrow.Field{Name: name, Type: arrow.PrimitiveTypes.Int64} }
	var out bytes.Buffer
	s := arrow.NewSchema([]arrow.Field{field("\ufeffa"), field("b,c"), field("d\"e"), field("")}, nil)
	if err := WriteCSV(&out, s, batches()); err != nil || out.String() != "\"\ufeffa\",\"b,c\",\"d\"\"e\",\"\"\n" {
		t.Errorf("got %q, %v", out.String(), err)
	}
	out.Reset()
	if err := WriteJSONL(&out, s, batches()); err != nil || out.Len() > 0 {
		t.Errorf("got %q, %v", out.String(), err)
	}
}

func TestWhatCannotBeWritten(t *testing.T) {
	text := func(values ...string) arrow.RecordBatch {
		b := array.NewStringBuilder(memory.DefaultAllocator)
		b.AppendValues(values, nil)
		s := arrow.NewSchema([]arrow.Field{{Name: "v", Type: arrow.BinaryTypes.String}}, nil)
		return array.NewRecordBatch(s, []arrow.Array{b.NewArray()}, int64(len(values)))
	}
	broken := errors.New("no space")
	nanos := ofJSON(t, &arrow.TimestampType{Unit: arrow.Nanosecond}, `["2025-01-02 03:04:05.000000001"]`)
	far := ofJSON(t, &arrow.TimestampType{Unit: arrow.Second}, `[9223372036854775]`)
	none := array.NewRecordBatch(arrow.NewSchema(nil, nil), nil, 0)
	for name, row := range map[string]struct {
		batch     arrow.RecordBatch
		csv, json string
	}{
		"NUL":             {text("a", "b\x00c"), `write column "v", row 2: text with a NUL byte, which CSV cannot hold`, ""},
		"not UTF-8":       {text("a\xff"), `write column "v", row 1: text that is not UTF-8`, `write column "v", row 1: text that is not UTF-8`},
		"nanoseconds":     {nanos, `write column "v", row 1: a time finer than a microsecond`, `write column "v", row 1: a time finer than a microsecond`},
		"seconds too far": {far, `write column "v", row 1: a time out of range`, `write column "v", row 1: a time out of range`},
		"no text":         {ofJSON(t, arrow.FixedWidthTypes.MonthInterval, `[{"months":1}]`), `write column "v": type month_interval has no text`, `write column "v": type month_interval has no text`},
		"no columns":      {none, "write CSV: there are no columns", ""},
	} {
		t.Run(name, func(t *testing.T) {
			for format, want := range map[Format]string{CSV: row.csv, JSONL: row.json} {
				write := WriteCSV
				if format == JSONL {
					write = WriteJSONL
				}
				err := write(io.Discard, row.batch.Schema(), batches(row.batch))
				if got := errText(err); got != want {
					t.Errorf("%s: got %q, want %q", format, got, want)
				}
			}
		})
	}
	// Errors of the rows and of the writer come back as they are.
	b := text("a")
	rows := func(yield func(arrow.RecordBatch, error) bool) { yield(nil, broken) }
	if err := WriteCSV(io.Discard, b.Schema(), rows); !errors.Is(err, broken) {
		t.Errorf("rows: got %v", err)
	}
	if err := WriteJSONL(failing{broken}, b.Schema(), batches(b)); !errors.Is(err, broken) {
		t.Errorf("writer: got %v", err)
	}
}

func errText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

type failing struct{ err error }

func (f failing) Write([]byte) (int, error) { return 0, f.err }
