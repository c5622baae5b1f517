package sinks_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/extensions"
	"github.com/google/go-cmp/cmp"

	"pipe/internal/diag"
	"pipe/pipeline/schema"
	"pipe/sinks"
)

func parse(t *testing.T, decls ...string) schema.Schema {
	t.Helper()
	var s schema.Schema
	for _, d := range decls {
		name, decl, _ := strings.Cut(d, ": ")
		f, err := schema.ParseField(decl)
		if err != nil {
			t.Fatal(err)
		}
		f.Name = name
		s.Fields = append(s.Fields, f)
	}
	return s
}

// The words of pipeline.yaml, and what Iceberg's own readers and writers call the same column in Arrow.
func TestArrowSchema(t *testing.T) {
	us := &arrow.TimestampType{Unit: arrow.Microsecond}
	for _, c := range []struct {
		decl string
		want arrow.DataType
	}{
		{"boolean", arrow.FixedWidthTypes.Boolean},
		{"int", arrow.PrimitiveTypes.Int32},
		{"long", arrow.PrimitiveTypes.Int64},
		{"float", arrow.PrimitiveTypes.Float32},
		{"double", arrow.PrimitiveTypes.Float64},
		{"decimal(12,2)", &arrow.Decimal128Type{Precision: 12, Scale: 2}},
		{"date", arrow.FixedWidthTypes.Date32},
		{"time", arrow.FixedWidthTypes.Time64us},
		{"timestamp", us},
		{"timestamptz", &arrow.TimestampType{Unit: arrow.Microsecond, TimeZone: "UTC"}},
		{"string", arrow.BinaryTypes.String},
		{"uuid", extensions.NewUUIDType()},
		{"fixed(7)", &arrow.FixedSizeBinaryType{ByteWidth: 7}},
		{"binary", arrow.BinaryTypes.Binary},
		{"list<long>", arrow.ListOfField(arrow.Field{Name: "element", Type: arrow.PrimitiveTypes.Int64, Nullable: true})},
		{"map<string, int>", arrow.MapOf(arrow.BinaryTypes.String, arrow.PrimitiveTypes.Int32)},
		{"struct<a: int required, b: list<date>>", arrow.StructOf(
			arrow.Field{Name: "a", Type: arrow.PrimitiveTypes.Int32},
			arrow.Field{Name: "b", Type: arrow.ListOfField(arrow.Field{Name: "element", Type: arrow.FixedWidthTypes.Date32, Nullable: true}), Nullable: true},
		)},
	} {
		for _, required := range []string{"", " required"} {
			s := parse(t, "x: "+c.decl+required)
			got := sinks.ArrowSchema(s)
			want := arrow.NewSchema([]arrow.Field{{Name: "x", Type: c.want, Nullable: required == ""}}, nil)
			if !got.Equal(want) {
				t.Errorf("%s: %s, want %s", c.decl+required, got, want)
			}
			if back, err := sinks.FromArrow(got); err != nil || !back.Equal(s) {
				t.Errorf("%s comes back as %s, %v", c.decl+required, back, err)
			}
		}
	}
}

func TestFromArrowWidens(t *testing.T) {
	opt := func(dt arrow.DataType) arrow.Field { return arrow.Field{Name: "x", Type: dt, Nullable: true} }
	for _, c := range []struct {
		from arrow.DataType
		want string
	}{
		{arrow.PrimitiveTypes.Int8, "int"},
		{arrow.PrimitiveTypes.Int16, "int"},
		{arrow.PrimitiveTypes.Uint8, "int"},
		{arrow.PrimitiveTypes.Uint16, "int"},
		{arrow.PrimitiveTypes.Uint32, "long"},
		{arrow.PrimitiveTypes.Uint64, "decimal(20,0)"},
		{arrow.FixedWidthTypes.Float16, "float"},
		{arrow.FixedWidthTypes.Date64, "date"},
		{arrow.FixedWidthTypes.Time32ms, "time"},
		{arrow.FixedWidthTypes.Time64ns, "time"},
		{&arrow.TimestampType{Unit: arrow.Second}, "timestamp"},
		{&arrow.TimestampType{Unit: arrow.Nanosecond, TimeZone: "Europe/Berlin"}, "timestamptz"},
		{arrow.BinaryTypes.LargeString, "string"},
		{arrow.BinaryTypes.StringView, "string"},
		{arrow.BinaryTypes.LargeBinary, "binary"},
		{&arrow.Decimal256Type{Precision: 38, Scale: 3}, "decimal(38,3)"},
		{&arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Int8, ValueType: arrow.BinaryTypes.String}, "string"},
		{arrow.LargeListOf(arrow.PrimitiveTypes.Int16), "list<int>"},
		{arrow.FixedSizeListOf(2, arrow.PrimitiveTypes.Float64), "list<double>"},
	} {
		got, err := sinks.FromArrow(arrow.NewSchema([]arrow.Field{opt(c.from)}, nil))
		if err != nil || len(got.Fields) != 1 || got.Fields[0].Decl() != c.want {
			t.Errorf("%s: %s, %v; want %s", c.from, got, err, c.want)
		}
	}
}

func TestFromArrowNamesWhatATableCannotHold(t *testing.T) {
	s := arrow.NewSchema([]arrow.Field{
		{Name: "ok", Type: arrow.PrimitiveTypes.Int64},
		{Name: "nothing", Type: arrow.Null, Nullable: true},
		{Name: "big", Type: &arrow.Decimal256Type{Precision: 50, Scale: 2}},
		{Name: "rows", Type: arrow.ListOf(arrow.StructOf(arrow.Field{Name: "took", Type: arrow.FixedWidthTypes.Duration_ms}))},
		{Name: "ok", Type: arrow.PrimitiveTypes.Int64},
	}, nil)
	_, err := sinks.FromArrow(s)
	var got []string
	for _, e := range diag.All(err) {
		got = append(got, e.Msg+" -> "+e.Hint)
	}
	want := []string{
		`column "nothing" is of type null, which a table cannot hold -> cast it to the type that it is meant to have: all its values are NULL`,
		`column "big" is of type decimal256(50, 2), which a table cannot hold -> cast it to a decimal of at most 38 digits`,
		`column "rows.element.took" is of type duration[ms], which a table cannot hold -> cast it to long (a number of microseconds) or to string`,
		`column "ok" comes twice -> give each column a name of its own`,
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

func TestCheckSchema(t *testing.T) {
	have := parse(t, "id: long required", "name: string", "at: struct<x: int>")
	for _, c := range []struct {
		name string
		want schema.Schema
		text []string // nil: equal
	}{
		{"equal", parse(t, "id: long required", "name: string", "at: struct<x: int>"), nil},
		{"in another order", parse(t, "at: struct<x: int>", "name: string", "id: long required"), nil},
		{"another type", parse(t, "id: int required", "name: string", "at: struct<x: int>"), []string{"table has  id: long required\n  new rows   id: int required"}},
		{"required or not", parse(t, "id: long", "name: string", "at: struct<x: int>"), []string{"new rows   id: long"}},
		{"inside a struct", parse(t, "id: long required", "name: string", "at: struct<x: long>"), []string{"new rows   at: struct<x: long>"}},
		{
			"one gone, one new", parse(t, "id: long required", "name: string", "when: date"),
			[]string{"table has  at: struct<x: int>\n  new rows have no such column", "table has no such column\n  new rows   when: date"},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			err := sinks.CheckSchema("prod.t", have, c.want)
			if (err == nil) != (c.text == nil) {
				t.Fatalf("%v", err)
			}
			if err != nil && !errors.Is(err, sinks.ErrSchema) {
				t.Errorf("%v does not wrap ErrSchema", err)
			}
			for _, x := range c.text {
				if !strings.Contains(err.Error(), x) {
					t.Errorf("%q does not hold %q", err, x)
				}
			}
		})
	}
}
