package tabledigest

import (
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"pipe/pipeline/schema"
)

func TestWidthsAndVariantsDoNotCount(t *testing.T) {
	dict := func(index, value arrow.DataType) arrow.DataType {
		return &arrow.DictionaryType{IndexType: index, ValueType: value}
	}
	i, l := arrow.PrimitiveTypes, arrow.BinaryTypes
	unit := func(u arrow.TimeUnit, zone string) arrow.DataType {
		return &arrow.TimestampType{Unit: u, TimeZone: zone}
	}
	type variant struct {
		t      arrow.DataType
		values []any
	}
	ints := []any{"0", "1", nil, "100"}
	words := []any{"a", "", nil, "ä long word, over sixteen bytes", "a"}
	list := []any{[]any{"1", nil}, nil, []any{"2", "3"}}
	for name, variants := range map[string][]variant{
		"int": {
			{i.Int64, ints},
			{i.Int32, ints},
			{i.Int16, ints},
			{i.Int8, ints},
			{i.Uint8, ints},
			{i.Uint16, ints},
			{i.Uint32, ints},
		},
		"negative int":    {{i.Int64, []any{"-5"}}, {i.Int32, []any{"-5"}}, {i.Int16, []any{"-5"}}, {i.Int8, []any{"-5"}}},
		"uint32 over int": {{i.Int64, []any{"4294967295"}}, {i.Uint32, []any{"4294967295"}}},
		"float": {
			{i.Float64, []any{"0.5", "-0", nil, "NaN", "Inf"}},
			{i.Float32, []any{"0.5", "-0", nil, "NaN", "Inf"}},
		},
		"decimal": {
			{&arrow.Decimal128Type{Precision: 38, Scale: 2}, []any{"-1234", nil, "5"}},
			{&arrow.Decimal128Type{Precision: 9, Scale: 2}, []any{"-1234", nil, "5"}},
			{&arrow.Decimal64Type{Precision: 9, Scale: 2}, []any{"-12.34", nil, "0.05"}},
			{&arrow.Decimal32Type{Precision: 9, Scale: 2}, []any{"-12.34", nil, "0.05"}},
		},
		"date": {
			{arrow.FixedWidthTypes.Date32, []any{"0", "-1", "20454", nil}},
			{arrow.FixedWidthTypes.Date64, []any{"0", "-86400000", "1767225600000", nil}},
		},
		"dates and times round down": {
			{arrow.StructOf(arrow.Field{Name: "d", Type: arrow.FixedWidthTypes.Date32}, arrow.Field{Name: "t", Type: unit(arrow.Microsecond, "")}), []any{map[string]any{"d": "-1", "t": "-1"}}},
			{arrow.StructOf(arrow.Field{Name: "d", Type: arrow.FixedWidthTypes.Date64}, arrow.Field{Name: "t", Type: unit(arrow.Nanosecond, "")}), []any{map[string]any{"d": "-1", "t": "-1"}}},
		},
		"time": {
			{arrow.FixedWidthTypes.Time64us, []any{"0", "3000000", nil}},
			{arrow.FixedWidthTypes.Time64ns, []any{"0", "3000000000", nil}},
			{arrow.FixedWidthTypes.Time32ms, []any{"0", "3000", nil}},
			{arrow.FixedWidthTypes.Time32s, []any{"0", "3", nil}},
		},
		"timestamp": {
			{unit(arrow.Microsecond, ""), []any{"-1000000", nil, "1767225600000000"}},
			{unit(arrow.Second, ""), []any{"-1", nil, "1767225600"}},
			{unit(arrow.Millisecond, ""), []any{"-1000", nil, "1767225600000"}},
			{unit(arrow.Nanosecond, ""), []any{"-1000000000", nil, "1767225600000000000"}},
		},
		"timestamptz": {
			{unit(arrow.Microsecond, "UTC"), []any{"1000000"}},
			{unit(arrow.Second, "UTC"), []any{"1"}},
			{unit(arrow.Microsecond, "+00:00"), []any{"1000000"}},
		},
		"string": {
			{l.String, words},
			{l.LargeString, words},
			{l.StringView, words},
			{dict(i.Int8, l.String), words},
			{dict(i.Uint32, l.String), words},
		},
		"binary": {
			{l.Binary, []any{"", nil, "00ff"}},
			{l.LargeBinary, []any{"", nil, "00ff"}},
			{l.BinaryView, []any{"", nil, "00ff"}},
		},
		"list": {
			{arrow.ListOf(i.Int64), list},
			{arrow.LargeListOf(i.Int32), list},
			{arrow.FixedSizeListOf(2, i.Int8), list},
			{arrow.ListOfField(arrow.Field{Name: "element", Type: i.Int64}), list},
		},
		"list of dictionary": {
			{arrow.ListOf(l.String), []any{[]any{"a", "b", "a"}}},
			{arrow.ListOf(dict(i.Int8, l.String)), []any{[]any{"a", "b", "a"}}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			want := sumOf(t, one(variants[0].t, variants[0].values...))
			for _, v := range variants[1:] {
				if got := sumOf(t, one(v.t, v.values...)); got != want {
					t.Errorf("%s: got %s, %s has %s", v.t, got, variants[0].t, want)
				}
			}
		})
	}
}

func TestWhatCounts(t *testing.T) {
	i, l := arrow.PrimitiveTypes, arrow.BinaryTypes
	ab := func(x, y any) arrow.RecordBatch {
		return batchOf([]arrow.Field{{Name: "a", Type: i.Int64, Nullable: true}, {Name: "b", Type: i.Int64, Nullable: true}}, [][]any{{x, y}})
	}
	ts := &arrow.TimestampType{Unit: arrow.Microsecond}
	pair := arrow.StructOf(arrow.Field{Name: "x", Type: i.Int64, Nullable: true}, arrow.Field{Name: "y", Type: i.Int64, Nullable: true})
	words := arrow.MapOf(l.String, i.Int64)
	for name, p := range map[string][2]arrow.RecordBatch{
		"values swapped between columns": {ab("1", "2"), ab("2", "1")},
		"NULL in the other column":       {ab("1", nil), ab(nil, "1")},
		"values swapped between rows": {
			batchOf(ab("1", "2").Schema().Fields(), [][]any{{"1", "2"}, {"3", "4"}}),
			batchOf(ab("1", "2").Schema().Fields(), [][]any{{"1", "4"}, {"3", "2"}}),
		},
		"name of the column": {
			batchOf([]arrow.Field{{Name: "a", Type: i.Int64}}, [][]any{{"1"}}),
			batchOf([]arrow.Field{{Name: "b", Type: i.Int64}}, [][]any{{"1"}}),
		},
		"NULL is not 0":                     {one(i.Int64, nil), one(i.Int64, "0")},
		"NULL is not the empty string":      {one(l.String, nil), one(l.String, "")},
		"NULL is not the empty list":        {one(arrow.ListOf(i.Int64), nil), one(arrow.ListOf(i.Int64), []any{})},
		"NULL is not a list of NULL":        {one(arrow.ListOf(i.Int64), nil), one(arrow.ListOf(i.Int64), []any{nil})},
		"NULL is not a struct of NULLs":     {one(pair, nil), one(pair, map[string]any{})},
		"a row of NULL is a row":            {one(i.Int64, nil), one(i.Int64)},
		"-0.0 is not 0.0":                   {one(i.Float64, "-0"), one(i.Float64, "0")},
		"one row twice":                     {one(l.String, "a", "b", "b"), one(l.String, "a", "a", "b")},
		"a row twice is not none":           {one(l.String, "a", "b", "b"), one(l.String, "a")},
		"int is not float":                  {one(i.Int64, "1"), one(i.Float64, "1")},
		"int is not text":                   {one(i.Int64, "1"), one(l.String, "1")},
		"text is not binary":                {one(l.String, "a"), one(l.Binary, "61")},
		"fixed is not binary":               {one(&arrow.FixedSizeBinaryType{ByteWidth: 1}, "61"), one(l.Binary, "61")},
		"true is not 1":                     {one(arrow.FixedWidthTypes.Boolean, true), one(i.Int64, "1")},
		"timestamp is not timestamptz":      {one(ts, "1"), one(arrow.FixedWidthTypes.Timestamp_us, "1")},
		"order of a list":                   {one(arrow.ListOf(i.Int64), []any{"1", "2"}), one(arrow.ListOf(i.Int64), []any{"2", "1"})},
		"place of NULL in a list":           {one(arrow.ListOf(i.Int64), []any{"1", nil}), one(arrow.ListOf(i.Int64), []any{nil, "1"})},
		"where a list ends":                 {one(arrow.ListOf(i.Int64), []any{"1"}, []any{"2"}), one(arrow.ListOf(i.Int64), []any{"1", "2"}, []any{})},
		"fields swapped in a struct":        {one(pair, map[string]any{"x": "1", "y": "2"}), one(pair, map[string]any{"x": "2", "y": "1"})},
		"values swapped in a map":           {one(words, []any{[]any{"a", "1"}, []any{"b", "2"}}), one(words, []any{[]any{"a", "2"}, []any{"b", "1"}})},
		"a map is not the list of its keys": {one(words, []any{[]any{"a", nil}}), one(arrow.ListOf(l.String), []any{"a"})},
		"high half of a decimal": {
			one(&arrow.Decimal128Type{Precision: 38}, "0"),
			one(&arrow.Decimal128Type{Precision: 38}, "18446744073709551616"),
		},
	} {
		t.Run(name, func(t *testing.T) {
			if a, b := sumOf(t, p[0]), sumOf(t, p[1]); a == b {
				t.Errorf("both have %s", a)
			}
		})
	}
}

func TestWhatDoesNotCount(t *testing.T) {
	i, l := arrow.PrimitiveTypes, arrow.BinaryTypes
	words := arrow.MapOf(l.String, i.Int64)
	a, b := arrow.Field{Name: "a", Type: i.Int64, Nullable: true}, arrow.Field{Name: "b", Type: l.String, Nullable: true}
	for name, p := range map[string][2]arrow.RecordBatch{
		"order of rows":           {one(i.Int64, "1", nil, "3"), one(i.Int64, "3", "1", nil)},
		"order of columns":        {batchOf([]arrow.Field{a, b}, [][]any{{"1", "x"}}), batchOf([]arrow.Field{b, a}, [][]any{{"x", "1"}})},
		"a new column of NULLs":   {batchOf([]arrow.Field{a}, [][]any{{"1"}, {nil}}), batchOf([]arrow.Field{a, b}, [][]any{{"1", nil}, {nil, nil}})},
		"order of a map":          {one(words, []any{[]any{"a", "1"}, []any{"b", "2"}}), one(words, []any{[]any{"b", "2"}, []any{"a", "1"}})},
		"which NaN":               {one(i.Float64, "NaN"), negativeNaN()},
		"order of struct fields":  {one(arrow.StructOf(a, b), map[string]any{"a": "1", "b": "x"}), one(arrow.StructOf(b, a), map[string]any{"a": "1", "b": "x"})},
		"a new NULL struct field": {one(arrow.StructOf(a), map[string]any{"a": "1"}), one(arrow.StructOf(a, b), map[string]any{"a": "1"})},
		"slots under NULL":        {one(i.Int64, nil, "7"), garbageUnderNull()},
	} {
		t.Run(name, func(t *testing.T) {
			if a, b := sumOf(t, p[0]), sumOf(t, p[1]); a != b {
				t.Errorf("got %s and %s", a, b)
			}
		})
	}
}

func negativeNaN() arrow.RecordBatch {
	bits := []byte{1, 0, 0, 0, 0, 0, 0xf8, 0xff}
	data := array.NewData(arrow.PrimitiveTypes.Float64, 1, []*memory.Buffer{nil, memory.NewBufferBytes(bits)}, nil, 0, 0)
	return array.NewRecordBatch(arrow.NewSchema([]arrow.Field{{Name: "v", Type: arrow.PrimitiveTypes.Float64}}, nil), []arrow.Array{array.MakeFromData(data)}, 1)
}

// garbageUnderNull is NULL and 7, with a number in the slot of the NULL.
func garbageUnderNull() arrow.RecordBatch {
	slots := []byte{99, 0, 0, 0, 0, 0, 0, 0, 7, 0, 0, 0, 0, 0, 0, 0}
	data := array.NewData(arrow.PrimitiveTypes.Int64, 2, []*memory.Buffer{memory.NewBufferBytes([]byte{0b10}), memory.NewBufferBytes(slots)}, nil, 1, 0)
	return array.NewRecordBatch(arrow.NewSchema([]arrow.Field{{Name: "v", Type: arrow.PrimitiveTypes.Int64}}, nil), []arrow.Array{array.MakeFromData(data)}, 2)
}

// A dictionary may hold NULL itself, words that no row uses, one word twice, and more words than there are rows.
func TestDictionariesOfEveryKind(t *testing.T) {
	typ := &arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Int8, ValueType: arrow.BinaryTypes.String}
	batch := func(index, words arrow.RecordBatch) arrow.RecordBatch {
		d := array.NewDictionaryArray(typ, index.Column(0), words.Column(0))
		return array.NewRecordBatch(arrow.NewSchema([]arrow.Field{{Name: "v", Type: typ, Nullable: true}}, nil), []arrow.Array{d}, index.NumRows())
	}
	i8, text := arrow.PrimitiveTypes.Int8, arrow.BinaryTypes.String
	for name, row := range map[string]struct {
		index, words, plain []any
	}{
		"NULL in the words":     {[]any{"0", "1", nil, "0"}, []any{"a", nil}, []any{"a", nil, nil, "a"}},
		"a word twice":          {[]any{"0", "1", "2"}, []any{"a", "b", "a"}, []any{"a", "b", "a"}},
		"more words than rows":  {[]any{"2", nil}, []any{"a", "b", "c", nil}, []any{"c", nil}},
		"NULL among many words": {[]any{"3"}, []any{"a", "b", "c", nil}, []any{nil}},
	} {
		t.Run(name, func(t *testing.T) {
			if got, want := sumOf(t, batch(one(i8, row.index...), one(text, row.words...))), sumOf(t, one(text, row.plain...)); got != want {
				t.Errorf("got %s, plain has %s", got, want)
			}
		})
	}
}

func TestNewNamesWhatItCannotHash(t *testing.T) {
	field := func(name string, t arrow.DataType) *arrow.Schema {
		return arrow.NewSchema([]arrow.Field{{Name: "ok", Type: arrow.PrimitiveTypes.Int64}, {Name: name, Type: t}}, nil)
	}
	for name, row := range map[string]struct {
		schema *arrow.Schema
		want   string
	}{
		"unsigned 64":   {field("n", arrow.PrimitiveTypes.Uint64), `column "n": type uint64 is none that a table holds`},
		"null":          {field("n", arrow.Null), `column "n": type null is none that a table holds`},
		"half":          {field("n", arrow.FixedWidthTypes.Float16), `column "n": type float16 is none that a table holds`},
		"decimal256":    {field("n", &arrow.Decimal256Type{Precision: 60}), `column "n": type decimal256(60, 0) is none that a table holds`},
		"interval":      {field("n", arrow.FixedWidthTypes.MonthInterval), `column "n": type month_interval is none that a table holds`},
		"in a list":     {field("n", arrow.ListOf(arrow.PrimitiveTypes.Uint64)), `column "n": element: type uint64 is none that a table holds`},
		"in a map":      {field("n", arrow.MapOf(arrow.BinaryTypes.String, arrow.Null)), `column "n": value: type null is none that a table holds`},
		"column twice":  {field("ok", arrow.PrimitiveTypes.Int64), `column "ok" stands twice`},
		"field twice":   {field("s", arrow.StructOf(arrow.Field{Name: "x", Type: arrow.Null}, arrow.Field{Name: "x", Type: arrow.Null})), `column "s": field "x" stands twice`},
		"in a struct":   {field("s", arrow.StructOf(arrow.Field{Name: "x", Type: arrow.Null})), `column "s": x: type null is none that a table holds`},
		"in dictionary": {field("d", &arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Int8, ValueType: arrow.Null}), `column "d": type null is none that a table holds`},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := New(row.schema)
			if err == nil || err.Error() != row.want {
				t.Errorf("got %v, want %s", err, row.want)
			}
		})
	}
}

func TestDigestCountsTheSchema(t *testing.T) {
	s := func(f ...schema.Field) schema.Schema { return schema.Schema{Fields: f} }
	col := func(name string, k schema.Kind) schema.Field {
		return schema.Field{Name: name, Type: schema.Type{Kind: k}}
	}
	a, b := col("a", schema.Int), col("b", schema.Long)
	base := Digest(Sum{}, s(a, b))
	same := b
	same.Doc = "what it means"
	if got := Digest(Sum{}, s(same, a)); got != base {
		t.Errorf("the order and the docs of columns count: %s, %s", got, base)
	}
	required, long := a, a
	required.Required = true
	long.Type.Kind = schema.Long
	decimal := func(p, sc int) schema.Field {
		return schema.Field{Name: "a", Type: schema.Type{Kind: schema.Decimal, Precision: p, Scale: sc}}
	}
	nested := func(names ...string) schema.Field {
		f := schema.Field{Name: "a", Type: schema.Type{Kind: schema.Struct}}
		for _, n := range names {
			f.Type.Fields = append(f.Type.Fields, col(n, schema.Int))
		}
		return f
	}
	seen := map[string]string{string(base): "a, b"}
	for name, d := range map[string]string{
		"rows":            string(Digest(Sum{rows: 1}, s(a, b))),
		"sum":             string(Digest(Sum{lo: 1}, s(a, b))),
		"one column":      string(Digest(Sum{}, s(a))),
		"required":        string(Digest(Sum{}, s(required, b))),
		"long":            string(Digest(Sum{}, s(long, b))),
		"other name":      string(Digest(Sum{}, s(col("c", schema.Int), b))),
		"decimal(9,2)":    string(Digest(Sum{}, s(decimal(9, 2)))),
		"decimal(9,3)":    string(Digest(Sum{}, s(decimal(9, 3)))),
		"decimal(10,2)":   string(Digest(Sum{}, s(decimal(10, 2)))),
		"struct of x":     string(Digest(Sum{}, s(nested("x")))),
		"struct of x, y":  string(Digest(Sum{}, s(nested("x", "y")))),
		"a dot in a name": string(Digest(Sum{}, s(nested(), col("a.x", schema.Int)))),
		"a quote":         string(Digest(Sum{}, s(nested(), col(`a"."x`, schema.Int)))),
	} {
		if other, ok := seen[d]; ok {
			t.Errorf("%s and %s have one digest", name, other)
		}
		seen[d] = name
	}
	if !strings.HasPrefix(string(base), "1:") || len(base) != 66 {
		t.Errorf("digest %q", base)
	}
}

func TestParseSum(t *testing.T) {
	s := Sum{hi: 0xfedcba9876543210, lo: 1, rows: 500}
	text := "1:fedcba9876543210000000000000000100000000000001f4"
	if got := s.String(); got != text {
		t.Errorf("got %s, want %s", got, text)
	}
	if got, err := ParseSum(text); err != nil || got != s {
		t.Errorf("got %v, %v", got, err)
	}
	for name, bad := range map[string]string{
		"empty":           "",
		"no version":      text[2:],
		"another version": "2" + text[1:],
		"short":           text[:len(text)-1],
		"long":            text + "00",
		"upper case":      strings.ToUpper(text),
		"not hex":         strings.Replace(text, "f", "g", 1),
		"rows over 2^63":  "1:" + strings.Repeat("f", 48),
	} {
		if _, err := ParseSum(bad); err == nil {
			t.Errorf("%s: %q was taken", name, bad)
		}
	}
}

// One Hasher serves several goroutines, and they may hash one batch.
func TestConcurrentBatches(t *testing.T) {
	b := events(10_000)
	defer b.Release()
	h, err := New(b.Schema())
	if err != nil {
		t.Fatal(err)
	}
	want := h.Batch(b)
	shared := b.NewSlice(1, 9_999) // its nulls are not counted yet
	defer shared.Release()
	rest := h.Batch(b.NewSlice(0, 1)).Add(h.Batch(b.NewSlice(9_999, 10_000)))
	got := make([]Sum, 8)
	var wg sync.WaitGroup
	for i := range got {
		wg.Go(func() { got[i] = h.Batch(shared).Add(rest) })
	}
	wg.Wait()
	if i := slices.IndexFunc(got, func(s Sum) bool { return s != want }); i >= 0 {
		t.Errorf("goroutine %d: got %s, want %s", i, got[i], want)
	}
}
