package sinktest

import (
	"testing"

	"github.com/apache/arrow-go/v18/arrow/array"

	"pipe/pipeline/schema"
	"pipe/sinks"
)

func list(t schema.Type) schema.Type {
	return schema.Type{Kind: schema.List, Fields: []schema.Field{{Name: "element", Type: t}}}
}

// everyType writes rows of every type, nested ones too, with values at the edges and NULLs at each level, and compares the arrays
// that come back.
func everyType(t *testing.T, s *suite) {
	simple := func(k schema.Kind) schema.Type { return schema.Type{Kind: k} }
	point := schema.Type{Kind: schema.Struct, Fields: []schema.Field{
		{Name: "x", Type: simple(schema.Long), Required: true}, {Name: "y", Type: simple(schema.String)},
	}}
	types := schema.Schema{Fields: []schema.Field{
		{Name: "b", Type: simple(schema.Boolean)},
		{Name: "i", Type: simple(schema.Int)},
		{Name: "l", Type: simple(schema.Long)},
		{Name: "f", Type: simple(schema.Float)},
		{Name: "d", Type: simple(schema.Double)},
		{Name: "dec", Type: schema.Type{Kind: schema.Decimal, Precision: 38, Scale: 4}},
		{Name: "date", Type: simple(schema.Date)},
		{Name: "time", Type: simple(schema.Time)},
		{Name: "ts", Type: simple(schema.Timestamp)},
		{Name: "tz", Type: simple(schema.TimestampTz)},
		{Name: "s", Type: simple(schema.String)},
		{Name: "u", Type: simple(schema.UUID)},
		{Name: "fix", Type: schema.Type{Kind: schema.Fixed, Length: 3}},
		{Name: "bin", Type: simple(schema.Binary)},
		{Name: "li", Type: list(simple(schema.Long))},
		{Name: "ls", Type: list(point)},
		{Name: "m", Type: schema.Type{Kind: schema.Map, Fields: []schema.Field{
			{Name: "key", Type: simple(schema.String), Required: true}, {Name: "value", Type: simple(schema.Long)},
		}}},
		{Name: "st", Type: point},
	}}
	rows := []string{
		`{"b":true,"i":-2147483648,"l":-9223372036854775808,"f":1.5,"d":-0.25,"dec":"12345678901234567890.1234","date":"1969-12-31","time":"23:59:59.999999",
		  "ts":"1900-01-01 00:00:00.000001","tz":"2025-06-01T12:00:00Z","s":"","u":"00112233-4455-6677-8899-aabbccddeeff","fix":"AAEC","bin":"",
		  "li":[1,null,3],"ls":[{"x":1,"y":null},null],"m":[{"key":"a","value":1},{"key":"b","value":null}],"st":{"x":5,"y":"z"}}`,
		`{"b":false,"i":2147483647,"l":9223372036854775807,"f":0,"d":1e300,"dec":"-0.0001","date":"9999-12-31","time":"00:00:00","ts":"2262-01-01 00:00:00",
		  "tz":"1969-12-31T23:59:59.999999Z","s":"snow ☃","u":"ffffffff-ffff-ffff-ffff-ffffffffffff","fix":"////","bin":"AP8=","li":[],"ls":[],"m":[],"st":{"x":-1,"y":""}}`,
		`{"b":null,"i":null,"l":null,"f":null,"d":null,"dec":null,"date":null,"time":null,"ts":null,"tz":null,"s":null,"u":null,"fix":null,"bin":null,"li":null,"ls":null,"m":null,"st":null}`,
	}
	tx, err := s.c.Begin(t.Context(), sinks.Spec{Table: "m.types", Schema: types}, sinks.Base{Run: "r1"})
	if err != nil {
		t.Fatal(err)
	}
	want := batch(t, tx.Schema(), rows...)
	defer want.Release()
	if err := tx.Write(t.Context(), want); err != nil {
		t.Fatal(err)
	}
	snap, err := tx.Stage(t.Context(), stamp("r1"))
	if err != nil {
		t.Fatal(err)
	}
	sc, got, err := s.c.Scan(t.Context(), sinks.Target{Table: "m.types", Snapshot: snap.ID}, sinks.ScanOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if back, err := sinks.FromArrow(sc); err != nil || !sinks.ArrowSchema(back).Equal(sinks.ArrowSchema(types)) {
		t.Errorf("schema %v, %v", back, err)
	}
	n := 0
	for b, err := range got {
		if err != nil {
			t.Fatal(err)
		}
		n++
		for i := range int(b.NumCols()) {
			if !array.Equal(b.Column(i), want.Column(i)) {
				t.Errorf("column %s: %v, want %v", b.ColumnName(i), b.Column(i), want.Column(i))
			}
		}
		b.Release()
	}
	if n != 1 {
		t.Errorf("%d batches, want the one that was written", n)
	}
}
