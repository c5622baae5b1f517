package conform

import (
	"errors"
	"strings"
	"sync"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/extensions"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"pipe/internal/diag"
)

var (
	str    = arrow.BinaryTypes.String
	long   = arrow.PrimitiveTypes.Int64
	double = arrow.PrimitiveTypes.Float64
	micros = &arrow.TimestampType{Unit: arrow.Microsecond}
	utc    = &arrow.TimestampType{Unit: arrow.Microsecond, TimeZone: "UTC"}
	uid    = extensions.NewUUIDType()
)

func dec(p, s int32) arrow.DataType { return &arrow.Decimal128Type{Precision: p, Scale: s} }

func ts(unit arrow.TimeUnit, zone string) arrow.DataType {
	return &arrow.TimestampType{Unit: unit, TimeZone: zone}
}

func opt(name string, dt arrow.DataType) arrow.Field {
	return arrow.Field{Name: name, Type: dt, Nullable: true}
}

func req(name string, dt arrow.DataType) arrow.Field { return arrow.Field{Name: name, Type: dt} }

func schemaOf(fields ...arrow.Field) *arrow.Schema { return arrow.NewSchema(fields, nil) }

func column(t *testing.T, dt arrow.DataType, json string) arrow.Array {
	t.Helper()
	a, _, err := array.FromJSON(memory.DefaultAllocator, dt, strings.NewReader(json))
	if err != nil {
		t.Fatalf("test data %s of %s: %v", json, dt, err)
	}
	return a
}

func rows(t *testing.T, s *arrow.Schema, json string) arrow.RecordBatch {
	t.Helper()
	rec, _, err := array.RecordFromJSON(memory.DefaultAllocator, s, strings.NewReader(json))
	if err != nil {
		t.Fatalf("test data %s: %v", json, err)
	}
	return rec
}

// cast sends one optional column x through a plan.
func cast(from arrow.Array, to arrow.DataType) (arrow.Array, error) {
	s := schemaOf(opt("x", from.DataType()))
	p, err := New(s, schemaOf(opt("x", to)))
	if err != nil {
		return nil, err
	}
	out, err := p.Batch(array.NewRecordBatch(s, []arrow.Array{from}, int64(from.Len())))
	if err != nil {
		return nil, err
	}
	return out.Column(0), nil
}

func TestCastsThatLoseNothing(t *testing.T) {
	i32, f32 := arrow.PrimitiveTypes.Int32, arrow.PrimitiveTypes.Float32
	for _, c := range []struct {
		name     string
		from, to arrow.DataType
		in, want string
	}{
		{"int8 to int", arrow.PrimitiveTypes.Int8, i32, `[-128, null, 127]`, `[-128, null, 127]`},
		{"int16 to int", arrow.PrimitiveTypes.Int16, i32, `[-32768, 32767]`, `[-32768, 32767]`},
		{"uint8 to int", arrow.PrimitiveTypes.Uint8, i32, `[0, 255]`, `[0, 255]`},
		{"uint16 to int", arrow.PrimitiveTypes.Uint16, i32, `[0, 65535]`, `[0, 65535]`},
		{"uint32 to int in range", arrow.PrimitiveTypes.Uint32, i32, `[2147483647]`, `[2147483647]`},
		{"long to int in range", long, i32, `[-2147483648, null, 2147483647]`, `[-2147483648, null, 2147483647]`},
		{"uint64 to int in range", arrow.PrimitiveTypes.Uint64, i32, `[2147483647]`, `[2147483647]`},
		{"int to long", i32, long, `[-2147483648, 2147483647]`, `[-2147483648, 2147483647]`},
		{"uint32 to long", arrow.PrimitiveTypes.Uint32, long, `[4294967295]`, `[4294967295]`},
		{"uint64 to long in range", arrow.PrimitiveTypes.Uint64, long, `[9223372036854775807]`, `[9223372036854775807]`},
		{"float16 to float", arrow.FixedWidthTypes.Float16, f32, `[1.5, null]`, `[1.5, null]`},
		{"float16 to double", arrow.FixedWidthTypes.Float16, double, `[-0.25]`, `[-0.25]`},
		{"float to double", f32, double, `[0.1, null]`, `[0.10000000149011612, null]`},
		{"int to double", i32, double, `[-2147483648]`, `[-2147483648]`},
		{"long to double, 53 digits", long, double, `[9007199254740992, -9223372036854775808]`, `[9007199254740992, -9223372036854775808]`},
		{"long to float, 24 digits", long, f32, `[16777216, 33554432, 0]`, `[16777216, 33554432, 0]`},
		{"decimal, more digits", dec(5, 2), dec(9, 4), `["1.25", null, "-999.99"]`, `["1.2500", null, "-999.9900"]`},
		{"decimal, fewer digits that are zero", dec(9, 4), dec(5, 2), `["1.2500"]`, `["1.25"]`},
		{"decimal, all of 38 digits", dec(1, 0), dec(38, 37), `["9"]`, `["9.0000000000000000000000000000000000000"]`},
		{"decimal32", &arrow.Decimal32Type{Precision: 4, Scale: 1}, dec(9, 2), `["-12.5"]`, `["-12.50"]`},
		{"decimal64", &arrow.Decimal64Type{Precision: 12, Scale: 1}, dec(20, 1), `["99999999999.9"]`, `["99999999999.9"]`},
		{"decimal256", &arrow.Decimal256Type{Precision: 50, Scale: 2}, dec(10, 2), `["-1.50"]`, `["-1.50"]`},
		{"long to decimal", long, dec(19, 0), `[9223372036854775807, -5]`, `["9223372036854775807", "-5"]`},
		{"uint64 to decimal", arrow.PrimitiveTypes.Uint64, dec(22, 2), `[18446744073709551615]`, `["18446744073709551615.00"]`},
		{"date64 to date", arrow.FixedWidthTypes.Date64, arrow.FixedWidthTypes.Date32, `["2025-01-31", null, "1969-12-31"]`, `["2025-01-31", null, "1969-12-31"]`},
		{"time of seconds", arrow.FixedWidthTypes.Time32s, arrow.FixedWidthTypes.Time64us, `["23:59:59"]`, `["23:59:59"]`},
		{"time of milliseconds", arrow.FixedWidthTypes.Time32ms, arrow.FixedWidthTypes.Time64us, `["23:59:59.999"]`, `["23:59:59.999"]`},
		{"time of nanoseconds, whole microseconds", arrow.FixedWidthTypes.Time64ns, arrow.FixedWidthTypes.Time64us, `["01:02:03.000004"]`, `["01:02:03.000004"]`},
		{"timestamp of seconds", ts(arrow.Second, ""), micros, `["2025-01-02 03:04:05"]`, `["2025-01-02 03:04:05"]`},
		{"timestamp of milliseconds", ts(arrow.Millisecond, ""), micros, `["1969-12-31 23:59:59.999"]`, `["1969-12-31 23:59:59.999"]`},
		{"timestamp of nanoseconds, whole microseconds", ts(arrow.Nanosecond, ""), micros, `["2025-01-02 03:04:05.000006"]`, `["2025-01-02 03:04:05.000006"]`},
		{"timestamp in +00:00", ts(arrow.Millisecond, "+00:00"), utc, `["2025-01-02 03:04:05Z"]`, `["2025-01-02 03:04:05Z"]`},
		{"timestamp in Etc/UTC", ts(arrow.Microsecond, "Etc/UTC"), utc, `["2025-01-02 03:04:05Z"]`, `["2025-01-02 03:04:05Z"]`},
		{"large string", arrow.BinaryTypes.LargeString, str, `["a", null, "", "äö"]`, `["a", null, "", "äö"]`},
		{"string view", arrow.BinaryTypes.StringView, str, `["a", null, "longer than the twelve bytes inside"]`, `["a", null, "longer than the twelve bytes inside"]`},
		{"large binary", arrow.BinaryTypes.LargeBinary, arrow.BinaryTypes.Binary, `["AAE=", null]`, `["AAE=", null]`},
		{"binary view", arrow.BinaryTypes.BinaryView, arrow.BinaryTypes.Binary, `["AAE="]`, `["AAE="]`},
		{"fixed to binary", &arrow.FixedSizeBinaryType{ByteWidth: 2}, arrow.BinaryTypes.Binary, `["AAE=", null]`, `["AAE=", null]`},
		{"binary to fixed of that length", arrow.BinaryTypes.Binary, &arrow.FixedSizeBinaryType{ByteWidth: 2}, `["AAE=", null]`, `["AAE=", null]`},
		{
			"text to uuid", str, uid, `["F81D4FAE-7dec-11d0-a765-00a0c91e6bf6", null, "f81d4fae7dec11d0a76500a0c91e6bf6"]`,
			`["f81d4fae-7dec-11d0-a765-00a0c91e6bf6", null, "f81d4fae-7dec-11d0-a765-00a0c91e6bf6"]`,
		},
		{"fixed(16) to uuid", &arrow.FixedSizeBinaryType{ByteWidth: 16}, uid, `["+B1Prn3sEdCnZQCgyR5r9g==", null]`, `["f81d4fae-7dec-11d0-a765-00a0c91e6bf6", null]`},
		{"uuid to fixed(16)", uid, &arrow.FixedSizeBinaryType{ByteWidth: 16}, `["f81d4fae-7dec-11d0-a765-00a0c91e6bf6"]`, `["+B1Prn3sEdCnZQCgyR5r9g=="]`},
		{"uuid to text", uid, str, `["f81d4fae-7dec-11d0-a765-00a0c91e6bf6", null]`, `["f81d4fae-7dec-11d0-a765-00a0c91e6bf6", null]`},
		{"null to anything", arrow.Null, long, `[null, null]`, `[null, null]`},
		{"null to a struct", arrow.Null, arrow.StructOf(req("a", long)), `[null]`, `[null]`},
		{"dictionary of text", &arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Int8, ValueType: str}, str, `["b", null, "a", "b"]`, `["b", null, "a", "b"]`},
		{"dictionary of int to long", &arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Uint16, ValueType: i32}, long, `[7, null, 5, 7]`, `[7, null, 5, 7]`},
		{"dictionary of bytes", &arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Int32, ValueType: arrow.BinaryTypes.Binary}, arrow.BinaryTypes.Binary, `["AAE=", null]`, `["AAE=", null]`},
		{"large list of int to list of long", arrow.LargeListOf(i32), arrow.ListOf(long), `[[1, null], null, [], [3]]`, `[[1, null], null, [], [3]]`},
		{"fixed size list", arrow.FixedSizeListOf(2, i32), arrow.ListOf(long), `[[1, 2], null, [3, null]]`, `[[1, 2], null, [3, null]]`},
		{
			"map", arrow.MapOf(arrow.BinaryTypes.LargeString, i32), arrow.MapOf(str, long),
			`[[{"key": "a", "value": 1}], null, []]`, `[[{"key": "a", "value": 1}], null, []]`,
		},
		{
			"struct, other order, one field more", arrow.StructOf(opt("b", i32), opt("a", str)),
			arrow.StructOf(opt("a", str), opt("b", long), opt("c", double)),
			`[{"a": "x", "b": 1}, null, {"a": null, "b": 2}]`, `[{"a": "x", "b": 1, "c": null}, null, {"a": null, "b": 2, "c": null}]`,
		},
		{
			"struct with a required field under a NULL", arrow.StructOf(opt("a", i32)), arrow.StructOf(req("a", long)),
			`[{"a": 1}, null]`, `[{"a": 1}, null]`,
		},
		{
			"list of struct", arrow.ListOf(arrow.StructOf(opt("a", i32))), arrow.ListOf(arrow.StructOf(opt("a", long))),
			`[[{"a": 1}, null], [], [{"a": 3}]]`, `[[{"a": 1}, null], [], [{"a": 3}]]`,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			in, want := column(t, c.from, c.in), column(t, c.to, c.want)
			got, err := cast(in, c.to)
			if err != nil {
				t.Fatal(err)
			}
			if !array.Equal(got, want) {
				t.Errorf("got %v, want %v", got, want)
			}
			if !arrow.TypeEqual(got.DataType(), c.to) {
				t.Errorf("type %s, want %s", got.DataType(), c.to)
			}
			// The same values as a part of a longer column.
			three, err := array.Concatenate([]arrow.Array{in, in, in}, memory.DefaultAllocator)
			if err != nil {
				t.Fatal(err)
			}
			n := int64(in.Len())
			got, err = cast(array.NewSlice(three, n, 2*n), c.to)
			if err != nil {
				t.Fatal(err)
			}
			if !array.Equal(got, want) {
				t.Errorf("sliced: got %v, want %v", got, want)
			}
		})
	}
}

func TestValuesThatDoNotFit(t *testing.T) {
	i32 := arrow.PrimitiveTypes.Int32
	for _, c := range []struct {
		name     string
		from, to arrow.DataType
		in, want string
	}{
		{"long above int", long, i32, `[1, 2147483648]`, `column "x", row 2: 2147483648 does not fit int (-2147483648 to 2147483647)`},
		{"long below int", long, i32, `[-2147483649]`, `row 1: -2147483649 does not fit int`},
		{"uint32 above int", arrow.PrimitiveTypes.Uint32, i32, `[2147483648]`, `2147483648 does not fit int`},
		{"uint64 above long", arrow.PrimitiveTypes.Uint64, long, `[9223372036854775808]`, `9223372036854775808 does not fit long`},
		{"long with 54 digits", long, double, `[9007199254740993]`, `9007199254740993 does not fit double`},
		{"greatest long", long, double, `[9223372036854775807]`, `does not fit double`},
		{"int with 25 digits", i32, arrow.PrimitiveTypes.Float32, `[16777217]`, `16777217 does not fit float`},
		{"decimal too long", dec(5, 0), dec(5, 1), `["99999"]`, `99999 does not fit decimal(5,1)`},
		{"decimal that would wrap", dec(38, 0), dec(38, 10), `["99999999999999999999999999999999999999"]`, `does not fit decimal(38,10)`},
		{"decimal with digits to lose", dec(5, 2), dec(5, 1), `["1.25"]`, `1.25 does not fit decimal(5,1)`},
		{"decimal256 beyond 38 digits", &arrow.Decimal256Type{Precision: 50, Scale: 0}, dec(38, 0), `["100000000000000000000000000000000000000"]`, `does not fit decimal(38,0)`},
		{"long to a short decimal", long, dec(3, 1), `[100]`, `100 does not fit decimal(3,1)`},
		{"nanoseconds", ts(arrow.Nanosecond, ""), micros, `["2025-01-02 03:04:05.000000001"]`, `does not fit timestamp (whole microseconds)`},
		{"nanoseconds of a time", arrow.FixedWidthTypes.Time64ns, arrow.FixedWidthTypes.Time64us, `["01:02:03.000000004"]`, `does not fit time (whole microseconds)`},
		{"text that is no uuid", str, uid, `["f81d4fae-7dec-11d0-a765-00a0c91e6bfg"]`, `"f81d4fae-7dec-11d0-a765-00a0c91e6bfg" does not fit uuid`},
		{"uuid with dashes elsewhere", str, uid, `["f81d4fae7-dec-11d0-a765-00a0c91e6bf6"]`, `does not fit uuid`},
		{"bytes of another length", arrow.BinaryTypes.Binary, &arrow.FixedSizeBinaryType{ByteWidth: 3}, `["AAE="]`, `2 bytes do not fit fixed(3)`},
		{"in a list", arrow.ListOf(long), arrow.ListOf(i32), `[[1], [], [2, 2147483648]]`, `column "x.element", row 3: 2147483648`},
		{"in a struct", arrow.StructOf(opt("a", long)), arrow.StructOf(opt("a", i32)), `[null, {"a": 2147483648}]`, `column "x.a", row 2`},
		{"in a map's value", arrow.MapOf(str, long), arrow.MapOf(str, i32), `[[], [{"key": "k", "value": 2147483648}]]`, `column "x.value", row 2`},
		{"NULL element", arrow.ListOf(long), arrow.ListOfNonNullable(long), `[[1], [2, null]]`, `column "x.element", row 2: NULL in a required column`},
		{"NULL field", arrow.StructOf(opt("a", long)), arrow.StructOf(req("a", long)), `[{"a": 1}, null, {"a": null}]`, `column "x.a", row 3: NULL in a required column`},
		{"NULL deep down", arrow.ListOf(arrow.StructOf(opt("a", long))), arrow.ListOf(arrow.StructOf(req("a", long))), `[[], [{"a": 1}, {"a": null}]]`, `column "x.element.a", row 2`},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := cast(column(t, c.from, c.in), c.to)
			var e *diag.Error
			if !errors.As(err, &e) {
				t.Fatalf("got %v, want a *diag.Error", err)
			}
			if !strings.Contains(e.Msg, c.want) {
				t.Errorf("got %q, want %q", e.Msg, c.want)
			}
			if e.Exit != diag.Failed || e.Hint == "" {
				t.Errorf("exit %d, hint %q", e.Exit, e.Hint)
			}
		})
	}
}

func TestTypesThatDoNotMix(t *testing.T) {
	f32 := arrow.PrimitiveTypes.Float32
	for _, c := range []struct {
		name     string
		from, to arrow.DataType
		want     string
	}{
		{"double to float", double, f32, "the stage made double, the schema says float: digits would be lost"},
		{"double to long", double, long, "digits after the point would be lost"},
		{"decimal to long", dec(5, 0), long, "digits after the point would be lost"},
		{"decimal to double", dec(5, 2), double, "decimal digits have no exact double"},
		{"double to decimal", double, dec(5, 2), "a double is no exact decimal"},
		{"text to long", str, long, "these types do not mix"},
		{"long to text", long, str, "only text is a string"},
		{"boolean to int", arrow.FixedWidthTypes.Boolean, arrow.PrimitiveTypes.Int32, "do not mix"},
		{"int8 to boolean", arrow.PrimitiveTypes.Int8, arrow.FixedWidthTypes.Boolean, "do not mix"},
		{"zone to none", utc, micros, "the stage made timestamptz, the schema says timestamp: the zone would be lost"},
		{"none to zone", micros, utc, "names no instant"},
		{"another zone", ts(arrow.Microsecond, "Europe/Berlin"), utc, "the zone Europe/Berlin would be lost"},
		{"date to timestamp", arrow.FixedWidthTypes.Date32, micros, "do not mix"},
		{"text to date", str, arrow.FixedWidthTypes.Date32, "do not mix"},
		{"bytes to text", arrow.BinaryTypes.Binary, str, "only text is a string"},
		{"text to bytes", str, arrow.BinaryTypes.Binary, "do not mix"},
		{"bytes to uuid", arrow.BinaryTypes.Binary, uid, "a uuid is made of its text"},
		{"fixed of two lengths", &arrow.FixedSizeBinaryType{ByteWidth: 4}, &arrow.FixedSizeBinaryType{ByteWidth: 5}, "the lengths differ"},
		{"list to long", arrow.ListOf(long), long, "do not mix"},
		{"long to list", long, arrow.ListOf(long), "do not mix"},
		{"map to list", arrow.MapOf(str, long), arrow.ListOf(str), "do not mix"},
		{"struct to map", arrow.StructOf(opt("key", str)), arrow.MapOf(str, long), "do not mix"},
		{"dictionary of booleans", &arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Int8, ValueType: arrow.FixedWidthTypes.Boolean}, arrow.FixedWidthTypes.Boolean, "cannot be read"},
		{"interval", arrow.FixedWidthTypes.MonthInterval, long, "do not mix"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := New(schemaOf(opt("x", c.from)), schemaOf(opt("x", c.to)))
			all := diag.All(err)
			if len(all) != 1 || !strings.Contains(all[0].Msg, c.want) {
				t.Fatalf("got %v, want %q", err, c.want)
			}
		})
	}
}

func TestColumnsMatchByName(t *testing.T) {
	from := schemaOf(opt("b", arrow.PrimitiveTypes.Int32), opt("a", str))
	to := schemaOf(req("a", str), opt("b", long), opt("c", double))
	p, err := New(from, to)
	if err != nil {
		t.Fatal(err)
	}
	got, err := p.Batch(rows(t, from, `[{"a": "x", "b": 1}, {"a": "y", "b": null}]`))
	if err != nil {
		t.Fatal(err)
	}
	want := rows(t, to, `[{"a": "x", "b": 1, "c": null}, {"a": "y", "b": null, "c": null}]`)
	if !array.RecordEqual(got, want) || !got.Schema().Equal(to) {
		t.Errorf("got %v, want %v", got, want)
	}
}

func TestAllDifferencesAreToldAtOnce(t *testing.T) {
	_, err := New(
		schemaOf(opt("Event_Type", str), opt("n", double), opt("spare", arrow.ListOf(long)), opt("usr_id", long), opt("n", long)),
		schemaOf(req("event_type", str), req("n", long), req("day", arrow.FixedWidthTypes.Date32), opt("user_id", long)),
	)
	made := "the stage made Event_Type, n, spare, usr_id, n; the schema has event_type, n, day, user_id"
	want := []struct{ msg, hint string }{
		{`column "n" comes twice`, `give each column a name of its own`},
		{`column "Event_Type" (string) is not in the schema: ` + made, `rename it to "event_type": case counts`},
		{`column "spare" (list<long>) is not in the schema: ` + made, `add "spare: list<long>" to the out's schema, or leave the column out`},
		{`column "usr_id" (long) is not in the schema: ` + made, `rename it to "user_id"`},
		{`column "day" (date required) is missing: ` + made, `let the stage make it, or declare "day" without required`},
	}
	all := diag.All(err)
	if len(all) != len(want) {
		t.Fatalf("got %d errors:\n%v", len(all), err)
	}
	for i, w := range want {
		if all[i].Msg != w.msg || all[i].Hint != w.hint || all[i].Exit != diag.Failed {
			t.Errorf("error %d\n got %q / %q\nwant %q / %q", i, all[i].Msg, all[i].Hint, w.msg, w.hint)
		}
	}
}

func TestNullInARequiredColumnIsCountedOverBatches(t *testing.T) {
	from := schemaOf(opt("x", long))
	p, err := New(from, schemaOf(req("x", long)))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := p.Batch(rows(t, from, `[{"x": 1}, {"x": 2}]`)); err != nil {
		t.Fatal(err)
	}
	_, err = p.Batch(rows(t, from, `[{"x": 3}, {"x": null}]`))
	if err == nil || err.Error() != `column "x", row 4: NULL in a required column` {
		t.Errorf("got %v", err)
	}
}

func TestADictionarysOwnNullIsANull(t *testing.T) {
	dt := &arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Int8, ValueType: str}
	a := array.NewDictionaryArray(dt, column(t, arrow.PrimitiveTypes.Int8, `[0, 1]`), column(t, str, `["a", null]`))
	s := schemaOf(opt("x", dt))
	p, err := New(s, schemaOf(req("x", str)))
	if err != nil {
		t.Fatal(err)
	}
	_, err = p.Batch(array.NewRecordBatch(s, []arrow.Array{a}, 2))
	if err == nil || err.Error() != `column "x", row 2: NULL in a required column` {
		t.Errorf("got %v", err)
	}
}

// What a NULL list or struct hides may be anything; it must be no fault.
func TestHiddenValuesAreNotLookedAt(t *testing.T) {
	big := column(t, long, `[1, 9999999999, 3]`)
	hidden := func(dt arrow.DataType, bufs []*memory.Buffer, n int) arrow.Array {
		return array.MakeFromData(array.NewData(dt, n, bufs, []arrow.ArrayData{big.Data()}, 1, 0))
	}
	second := memory.NewBufferBytes([]byte{0b101})
	t.Run("list", func(t *testing.T) {
		offsets := memory.NewBufferBytes(arrow.GetBytes([]int32{0, 1, 2, 3}))
		got, err := cast(hidden(arrow.ListOf(long), []*memory.Buffer{second, offsets}, 3), arrow.ListOf(arrow.PrimitiveTypes.Int32))
		if err != nil {
			t.Fatal(err)
		}
		if want := column(t, arrow.ListOf(arrow.PrimitiveTypes.Int32), `[[1], null, [3]]`); !array.Equal(got, want) {
			t.Errorf("got %v, want %v", got, want)
		}
	})
	t.Run("struct", func(t *testing.T) {
		narrow := arrow.StructOf(opt("a", arrow.PrimitiveTypes.Int32))
		got, err := cast(hidden(arrow.StructOf(opt("a", long)), []*memory.Buffer{second}, 3), narrow)
		if err != nil {
			t.Fatal(err)
		}
		if want := column(t, narrow, `[{"a": 1}, null, {"a": 3}]`); !array.Equal(got, want) {
			t.Errorf("got %v, want %v", got, want)
		}
	})
}

func TestTextMustBeUTF8(t *testing.T) {
	b := array.NewStringBuilder(memory.DefaultAllocator)
	b.AppendValues([]string{"fine", "äöü", "caf\xe9"}, nil)
	_, err := cast(b.NewArray(), str)
	if err == nil || err.Error() != `column "x", row 3: "caf\xe9" is no UTF-8 text` {
		t.Errorf("got %v", err)
	}
}

func TestEqualSchemasShareTheBuffers(t *testing.T) {
	s := schemaOf(opt("n", long), opt("s", str))
	p, err := New(s, schemaOf(req("n", long), opt("s", str)))
	if err != nil {
		t.Fatal(err)
	}
	in := rows(t, s, `[{"n": 1, "s": "a"}, {"n": 2, "s": null}]`)
	out, err := p.Batch(in)
	if err != nil {
		t.Fatal(err)
	}
	for i := range 2 {
		if in.Column(i) != out.Column(i) {
			t.Errorf("column %d was copied", i)
		}
	}
}

func TestNothingLeaksAndTheInputStaysWhole(t *testing.T) {
	mem := memory.NewCheckedAllocator(memory.NewGoAllocator())
	defer mem.AssertSize(t, 0)
	s := schemaOf(opt("n", long), opt("l", arrow.ListOf(arrow.StructOf(opt("a", str)))), opt("p", arrow.StructOf(opt("a", long))))
	const json = `[{"n": 1, "l": [{"a": "x"}, null], "p": null}, {"n": 2, "l": null, "p": {"a": 5}}]`
	rec, _, err := array.RecordFromJSON(mem, s, strings.NewReader(json))
	if err != nil {
		t.Fatal(err)
	}
	p, err := New(s, s)
	if err != nil {
		t.Fatal(err)
	}
	out, err := p.Batch(rec)
	if err != nil {
		t.Fatal(err)
	}
	before := rows(t, s, json)
	rec.Release()
	if !array.RecordEqual(out, before) {
		t.Errorf("got %v after the input was released", out)
	}
	out.Release()
}

func TestBatchOfOtherColumnsIsRefused(t *testing.T) {
	p, err := New(schemaOf(opt("n", long)), schemaOf(opt("n", long)))
	if err != nil {
		t.Fatal(err)
	}
	_, err = p.Batch(rows(t, schemaOf(opt("m", long)), `[{"m": 1}]`))
	if err == nil || !strings.Contains(err.Error(), "a batch has other columns than the stage announced: m long; announced were n long") {
		t.Errorf("got %v", err)
	}
}

func TestConcurrentBatches(t *testing.T) {
	s := schemaOf(opt("n", arrow.PrimitiveTypes.Int32))
	p, err := New(s, schemaOf(req("n", long)))
	if err != nil {
		t.Fatal(err)
	}
	in := rows(t, s, `[{"n": 1}, {"n": 2}]`)
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 50 {
				if _, err := p.Batch(in); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	_, err = p.Batch(rows(t, s, `[{"n": null}]`))
	if err == nil || !strings.Contains(err.Error(), "row 801:") { // 8 x 50 batches of two rows came before
		t.Errorf("got %v", err)
	}
}
