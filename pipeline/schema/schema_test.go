package schema_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"pipe/pipeline/schema"
)

func primitive(k schema.Kind) schema.Type { return schema.Type{Kind: k} }

func TestParse(t *testing.T) {
	long := primitive(schema.Long)
	for _, c := range []struct {
		text string
		want schema.Type
		back string // what String gives, if it is not the text
	}{
		{"boolean", primitive(schema.Boolean), ""},
		{"timestamptz", primitive(schema.TimestampTz), ""},
		{" uuid ", primitive(schema.UUID), "uuid"},
		{"decimal(10,2)", schema.Type{Kind: schema.Decimal, Precision: 10, Scale: 2}, ""},
		{"decimal( 38 , 38 )", schema.Type{Kind: schema.Decimal, Precision: 38, Scale: 38}, "decimal(38,38)"},
		{"fixed(16)", schema.Type{Kind: schema.Fixed, Length: 16}, ""},
		{"list<long>", schema.Type{Kind: schema.List, Fields: []schema.Field{{Name: "element", Type: long}}}, ""},
		{
			"map<string,long>",
			schema.Type{Kind: schema.Map, Fields: []schema.Field{{Name: "key", Type: primitive(schema.String), Required: true}, {Name: "value", Type: long}}},
			"map<string, long>",
		},
		{
			"struct<a: long required, `odd name`: list<date>>",
			schema.Type{Kind: schema.Struct, Fields: []schema.Field{
				{Name: "a", Type: long, Required: true},
				{Name: "odd name", Type: schema.Type{Kind: schema.List, Fields: []schema.Field{{Name: "element", Type: primitive(schema.Date)}}}},
			}},
			"",
		},
		{
			"struct<`back``quote`:int,naïve:int,required:int>",
			schema.Type{Kind: schema.Struct, Fields: []schema.Field{
				{Name: "back`quote", Type: primitive(schema.Int)}, {Name: "naïve", Type: primitive(schema.Int)}, {Name: "required", Type: primitive(schema.Int)},
			}},
			"struct<`back``quote`: int, naïve: int, required: int>",
		},
	} {
		t.Run(c.text, func(t *testing.T) {
			got, err := schema.Parse(c.text)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
			if c.back == "" {
				c.back = c.text
			}
			if got.String() != c.back {
				t.Errorf("String gives %q, want %q", got, c.back)
			}
		})
	}
}

func TestParseErrorsSayWhatToWrite(t *testing.T) {
	for _, c := range []struct{ text, msg, hint string }{
		{"", "expected a type", "string"},
		{"integer", `unknown type "integer"`, "int"},
		{"BIGINT", `unknown type "BIGINT"`, "long"},
		{"text", `unknown type "text"`, "string"},
		{"varchar(20)", `unknown type "varchar"`, "string"},
		{"datetime", `unknown type "datetime"`, "timestamp"},
		{"String", `unknown type "String"; types are lower case`, "string"},
		{"timestmp", `unknown type "timestmp"`, "timestamp"},
		{"strnig", `unknown type "strnig"`, "string"},
		{"picture", `unknown type "picture"; expected one of boolean, int, long, float, double, date, time, timestamp, timestamptz, string, uuid, binary, decimal, fixed, list, map, struct`, ""},
		{"decimal", "decimal needs its arguments: decimal(18,2)", "decimal(18,2)"},
		{"decimal(5)", "decimal takes 2 arguments: decimal(18,2)", "decimal(18,2)"},
		{"decimal(0,0)", "decimal(0,0): the precision must be 1 to 38", "decimal(38,0)"},
		{"decimal(39,2)", "decimal(39,2): the precision must be 1 to 38", "decimal(38,2)"},
		{"decimal(4,5)", "decimal(4,5): the scale must be at most the precision", ""},
		{"decimal(4,-1)", `unexpected "-1)" in decimal; expected a number`, ""},
		{"decimal(99999999999999999999,1)", `unexpected "99999999999999999999" in decimal; expected a number`, ""},
		{"fixed(0)", "fixed(0): the length must be at least 1", "fixed(16)"},
		{"string(5)", "string takes no arguments", "string"},
		{"list", "list needs the types inside it: list<string>", "list<string>"},
		{"list<>", `unexpected ">"; expected a type`, "string"},
		{"map<string>", `unexpected ">" in map; expected ','`, ""},
		{"list<int", `"list<int" ends inside list; expected '>'`, ""},
		{"struct<a int>", `unexpected "int>" in struct; expected ':'`, ""},
		{"struct<a: int, a: long>", "the struct has two fields a", ""},
		{"struct<a-b: int>", `unexpected "-b: int>" in struct; expected ':'`, ""},
		{"struct<``: int>", "a name between backquotes is empty", ""},
		{"int long", `unexpected "long" after the type int`, ""},
		{strings.Repeat("list<", 100) + "int" + strings.Repeat(">", 100), "types nest deeper than 64", ""},
	} {
		t.Run(c.text, func(t *testing.T) {
			got, err := schema.Parse(c.text)
			var e *schema.Error
			if !errors.As(err, &e) {
				t.Fatalf("got %v and %v", got, err)
			}
			if e.Msg != c.msg || e.Hint != c.hint {
				t.Errorf("got  %q, hint %q\nwant %q, hint %q", e.Msg, e.Hint, c.msg, c.hint)
			}
		})
	}
}

func TestOpenTellsATextThatACommaCut(t *testing.T) {
	for text, want := range map[string]bool{
		"decimal(10": true, "decimal(": true, "map<string": true, "struct<a": true, "struct<a: int": true, "list<": true,
		"decimal": false, "decimal(10,x": false, "strin": false, "": false,
	} {
		_, err := schema.Parse(text)
		var e *schema.Error
		if !errors.As(err, &e) || e.Open != want {
			t.Errorf("%q: %+v, want open %v", text, e, want)
		}
	}
}

func TestParseField(t *testing.T) {
	f, err := schema.ParseField("map<string, struct<a: int required>>  required")
	if err != nil || !f.Required || f.Type.Kind != schema.Map || f.Name != "" {
		t.Errorf("%+v, %v", f, err)
	}
	if got := f.Decl(); got != "map<string, struct<a: int required>> required" {
		t.Errorf("Decl gives %q", got)
	}
	for _, c := range []struct{ text, msg, hint string }{
		{"long NOT NULL", `unexpected "NOT NULL" after the type long`, "long required"},
		{"long optional", `unexpected "optional" after the type long: a column may hold NULL unless it is required`, "long"},
		{"long requird", `unexpected "requird" after the type long; expected nothing or required`, "long required"},
		{"requird", `unknown type "requird"; expected one of boolean, int, long, float, double, date, time, timestamp, timestamptz, string, uuid, binary, decimal, fixed, list, map, struct`, ""},
	} {
		t.Run(c.text, func(t *testing.T) {
			_, err := schema.ParseField(c.text)
			var e *schema.Error
			if !errors.As(err, &e) || e.Msg != c.msg || e.Hint != c.hint {
				t.Errorf("got %+v\nwant %q, hint %q", e, c.msg, c.hint)
			}
		})
	}
}

func TestParseTransform(t *testing.T) {
	for _, c := range []struct {
		text string
		want schema.Transform
		back string
	}{
		{"country", schema.Transform{Name: "identity", Column: "country"}, ""},
		{"identity(country)", schema.Transform{Name: "identity", Column: "country"}, "country"},
		{"day(ts)", schema.Transform{Name: "day", Column: "ts"}, ""},
		{"DAYS(ts)", schema.Transform{Name: "day", Column: "ts"}, "day(ts)"},
		{"bucket(16,id)", schema.Transform{Name: "bucket", Arg: 16, Column: "id"}, "bucket(16, id)"},
		{"truncate(4, user.name)", schema.Transform{Name: "truncate", Arg: 4, Column: "user.name"}, ""},
		{"day(`event time`)", schema.Transform{Name: "day", Column: "event time"}, ""},
		{"day", schema.Transform{Name: "identity", Column: "day"}, ""},
	} {
		t.Run(c.text, func(t *testing.T) {
			got, err := schema.ParseTransform(c.text)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
			if c.back == "" {
				c.back = c.text
			}
			if got.String() != c.back {
				t.Errorf("String gives %q, want %q", got, c.back)
			}
		})
	}
	for _, c := range []struct{ text, msg, hint string }{
		{"", "expected a column", ""},
		{"dya(ts)", `unknown transform "dya"`, "day(ts)"},
		{"floor(x)", `unknown transform "floor"; expected a column or one of identity, year, month, day, hour, bucket, truncate`, ""},
		{"bucket(id, 16)", "bucket takes a number and a column: bucket(16, id)", "bucket(16, id)"},
		{"bucket(0, id)", "bucket(0, ...): the number must be at least 1", "bucket(16, id)"},
		{"bucket(16)", `unexpected ")" in bucket; expected ','`, ""},
		{"day(ts) x", `unexpected "x" after day(ts)`, ""},
		{"a b", `unexpected "b" after the column a`, ""},
		{"day()", `unexpected ")"; expected a column`, ""},
	} {
		t.Run("error "+c.text, func(t *testing.T) {
			_, err := schema.ParseTransform(c.text)
			var e *schema.Error
			if !errors.As(err, &e) || e.Msg != c.msg || e.Hint != c.hint {
				t.Errorf("got %+v\nwant %q, hint %q", e, c.msg, c.hint)
			}
		})
	}
}

func TestTransformCheck(t *testing.T) {
	for _, c := range []struct {
		transform string
		typ       string
		want      string
	}{
		{"day(c)", "date", ""},
		{"hour(c)", "timestamptz", ""},
		{"hour(c)", "date", "hour needs a column of type timestamp, timestamptz; c is date"},
		{"day(c)", "string", "day needs a column of type date, timestamp, timestamptz; c is string"},
		{"bucket(4, c)", "double", "bucket needs a column of type int, long, decimal, date, time, timestamp, timestamptz, string, uuid, fixed, binary; c is double"},
		{"truncate(4, c)", "decimal(9,2)", ""},
		{"c", "boolean", ""},
		{"c", "list<int>", "a table cannot be partitioned by c, which is a list"},
	} {
		t.Run(c.transform+" of "+c.typ, func(t *testing.T) {
			tr, err := schema.ParseTransform(c.transform)
			if err != nil {
				t.Fatal(err)
			}
			typ, err := schema.Parse(c.typ)
			if err != nil {
				t.Fatal(err)
			}
			got := ""
			if err := tr.Check(typ); err != nil {
				got = err.Error()
			}
			if got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

func TestParseSort(t *testing.T) {
	for _, c := range []struct {
		text string
		want schema.SortField
		back string
	}{
		{"ts", schema.SortField{Column: "ts"}, ""},
		{"ts asc nulls first", schema.SortField{Column: "ts"}, "ts"},
		{"ts DESC", schema.SortField{Column: "ts", Descending: true, NullsLast: true}, "ts desc"},
		{"ts desc nulls first", schema.SortField{Column: "ts", Descending: true}, ""},
		{"ts nulls last", schema.SortField{Column: "ts", NullsLast: true}, ""},
		{"`event time` desc nulls last", schema.SortField{Column: "event time", Descending: true, NullsLast: true}, "`event time` desc"},
	} {
		t.Run(c.text, func(t *testing.T) {
			got, err := schema.ParseSort(c.text)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
			if c.back == "" {
				c.back = c.text
			}
			if got.String() != c.back {
				t.Errorf("String gives %q, want %q", got, c.back)
			}
		})
	}
	for text, hint := range map[string]string{"ts descending": "ts desc nulls last", "a.b nulls": "a.b desc nulls last", "": ""} {
		_, err := schema.ParseSort(text)
		var e *schema.Error
		if !errors.As(err, &e) || e.Hint != hint {
			t.Errorf("%q: %+v, want hint %q", text, e, hint)
		}
	}
}

func TestSchemaField(t *testing.T) {
	inner, err := schema.Parse("struct<name: string, at: struct<lat: double>>")
	if err != nil {
		t.Fatal(err)
	}
	s := schema.Schema{Fields: []schema.Field{
		{Name: "user", Type: inner}, {Name: "user.name", Type: schema.Type{Kind: schema.Int}}, {Name: "id", Type: schema.Type{Kind: schema.Long}},
	}}
	for name, want := range map[string]string{"id": "long", "user.name": "int", "user.at.lat": "double", "user.zip": "", "id.x": "", "": ""} {
		got := ""
		if f := s.Field(name); f != nil {
			got = f.Type.String()
		}
		if got != want {
			t.Errorf("Field(%q) is %q, want %q", name, got, want)
		}
	}
}

func TestEqualLooksAtOrderNameTypeAndRequiredOnly(t *testing.T) {
	field := func(name, decl, doc string) schema.Field {
		f, err := schema.ParseField(decl)
		if err != nil {
			t.Fatal(err)
		}
		f.Name, f.Doc = name, doc
		return f
	}
	base := schema.Schema{Fields: []schema.Field{field("a", "int", ""), field("b", "struct<x: int>", "")}}
	for _, c := range []struct {
		name  string
		other []schema.Field
		want  bool
	}{
		{"equal but for docs", []schema.Field{field("a", "int", "the a"), field("b", "struct<x:int>", "")}, true},
		{"other order", []schema.Field{field("b", "struct<x: int>", ""), field("a", "int", "")}, false},
		{"other name", []schema.Field{field("A", "int", ""), field("b", "struct<x: int>", "")}, false},
		{"required", []schema.Field{field("a", "int required", ""), field("b", "struct<x: int>", "")}, false},
		{"other type inside", []schema.Field{field("a", "int", ""), field("b", "struct<x: long>", "")}, false},
		{"one less", []schema.Field{field("a", "int", "")}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := base.Equal(schema.Schema{Fields: c.other}); got != c.want {
				t.Errorf("got %v", got)
			}
		})
	}
}

// types draws any type that the format can say.
func types(depth int) *rapid.Generator[schema.Type] {
	return rapid.Custom(func(t *rapid.T) schema.Type {
		kinds := []schema.Kind{
			schema.Boolean, schema.Int, schema.Long, schema.Float, schema.Double, schema.Date, schema.Time, schema.Timestamp,
			schema.TimestampTz, schema.String, schema.UUID, schema.Binary, schema.Decimal, schema.Fixed,
		}
		if depth > 0 {
			kinds = append(kinds, schema.List, schema.Map, schema.Struct)
		}
		typ := schema.Type{Kind: rapid.SampledFrom(kinds).Draw(t, "kind")}
		switch typ.Kind {
		case schema.Decimal:
			typ.Precision = rapid.IntRange(1, 38).Draw(t, "precision")
			typ.Scale = rapid.IntRange(0, typ.Precision).Draw(t, "scale")
		case schema.Fixed:
			typ.Length = rapid.IntRange(1, 1000).Draw(t, "length")
		case schema.List:
			typ.Fields = []schema.Field{{Name: "element", Type: types(depth-1).Draw(t, "element")}}
		case schema.Map:
			typ.Fields = []schema.Field{
				{Name: "key", Type: types(depth-1).Draw(t, "key"), Required: true}, {Name: "value", Type: types(depth-1).Draw(t, "value")},
			}
		case schema.Struct:
			for _, name := range rapid.SliceOfNDistinct(rapid.StringN(1, 8, -1), 1, 4, rapid.ID).Draw(t, "names") {
				typ.Fields = append(typ.Fields, schema.Field{
					Name: name, Type: types(depth-1).Draw(t, "field"), Required: rapid.Bool().Draw(t, "required"),
				})
			}
		}
		return typ
	})
}

func TestAnyTypeComesBackFromItsText(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := types(3).Draw(t, "type")
		got, err := schema.Parse(want.String())
		if err != nil {
			t.Fatalf("%s: %v", want, err)
		}
		if !got.Equal(want) {
			t.Fatalf("%s came back as %s", want, got)
		}
	})
}

func FuzzParse(f *testing.F) {
	for _, s := range []string{"int", "decimal(10,2)", "struct<a: list<map<string, fixed(3)>> required, `x``y`: uuid>", "bucket(16, a.b)", "a desc nulls first", "`.`"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if typ, err := schema.ParseField(text); err == nil {
			again, err := schema.ParseField(typ.Decl())
			if err != nil || !again.Equal(typ) {
				t.Errorf("%q gives %q, which gives %q, %v", text, typ.Decl(), again.Decl(), err)
			}
		}
		if tr, err := schema.ParseTransform(text); err == nil {
			if again, err := schema.ParseTransform(tr.String()); err != nil || again != tr {
				t.Errorf("%q gives %+v, then %+v, %v", text, tr, again, err)
			}
		}
		if s, err := schema.ParseSort(text); err == nil {
			if again, err := schema.ParseSort(s.String()); err != nil || again != s {
				t.Errorf("%q gives %+v, then %+v, %v", text, s, again, err)
			}
		}
	})
}
