package textio

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"math"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/decimal128"
	"github.com/apache/arrow-go/v18/arrow/extensions"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"pgregory.net/rapid"

	"pipe/internal/tabledigest"
	"pipe/pipeline/schema"
	"pipe/sinks"
)

// readAll gives the batches of a text.
func readAll(ctx context.Context, text string, name string, opts Options) (*arrow.Schema, []arrow.RecordBatch, error) {
	r, err := Open(ctx, strings.NewReader(text), name, opts)
	if err != nil {
		return nil, nil, err
	}
	defer r.Close()
	var out []arrow.RecordBatch
	for {
		b, err := r.Next()
		if errors.Is(err, io.EOF) {
			return r.Schema(), out, nil
		}
		if err != nil {
			return nil, nil, err
		}
		out = append(out, b)
	}
}

func batches(list ...arrow.RecordBatch) iter.Seq2[arrow.RecordBatch, error] {
	return func(yield func(arrow.RecordBatch, error) bool) {
		for _, b := range list {
			b.Retain()
			if !yield(b, nil) {
				return
			}
		}
	}
}

// sum is what rows are, whatever their batches; order is tested apart.
func sum(t interface{ Fatal(...any) }, s *arrow.Schema, list ...arrow.RecordBatch) tabledigest.Sum {
	h, err := tabledigest.New(s)
	if err != nil {
		t.Fatal(err)
	}
	var out tabledigest.Sum
	for _, b := range list {
		out = out.Add(h.Batch(b))
	}
	return out
}

func randomType(t *rapid.T, depth int) schema.Type {
	kinds := []schema.Kind{
		schema.Boolean, schema.Int, schema.Long, schema.Float, schema.Double, schema.Decimal, schema.Date, schema.Time, schema.Timestamp,
		schema.TimestampTz, schema.String, schema.UUID, schema.Fixed, schema.Binary,
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
		typ.Length = rapid.IntRange(1, 5).Draw(t, "length")
	case schema.List:
		typ.Fields = []schema.Field{{Name: "element", Type: randomType(t, depth-1)}}
	case schema.Map:
		typ.Fields = []schema.Field{{Name: "key", Type: randomType(t, depth-1), Required: true}, {Name: "value", Type: randomType(t, depth-1)}}
	case schema.Struct:
		for i := range rapid.IntRange(1, 3).Draw(t, "fields") {
			typ.Fields = append(typ.Fields, schema.Field{Name: fmt.Sprintf("f %d", i), Type: randomType(t, depth-1)})
		}
	}
	return typ
}

// fill appends a random value; text without NUL where it is for CSV.
func fill(t *rapid.T, b array.Builder, f schema.Field, csv bool) {
	if !f.Required && rapid.IntRange(0, 4).Draw(t, "null") == 0 {
		b.AppendNull()
		return
	}
	switch b := b.(type) {
	case *array.BooleanBuilder:
		b.Append(rapid.Bool().Draw(t, "bool"))
	case *array.Int32Builder:
		b.Append(rapid.Int32().Draw(t, "int"))
	case *array.Int64Builder:
		b.Append(rapid.Int64().Draw(t, "long"))
	case *array.Float32Builder:
		b.Append(math.Float32frombits(rapid.Uint32().Draw(t, "float")))
	case *array.Float64Builder:
		b.Append(math.Float64frombits(rapid.Uint64().Draw(t, "double")))
	case *array.Decimal128Builder:
		digits := rapid.StringMatching(fmt.Sprintf(`-?[0-9]{1,%d}`, f.Type.Precision)).Draw(t, "decimal")
		n, err := decimal128.FromString(digits, 38, 0)
		if err != nil {
			t.Fatal(err)
		}
		b.Append(n)
	case *array.Date32Builder:
		b.Append(arrow.Date32(rapid.Int32().Draw(t, "date")))
	case *array.Time64Builder:
		b.Append(arrow.Time64(rapid.Int64Range(0, dayMicros-1).Draw(t, "time")))
	case *array.TimestampBuilder:
		b.Append(arrow.Timestamp(rapid.Int64().Draw(t, "timestamp")))
	case *array.StringBuilder:
		s := rapid.OneOf(rapid.String(), rapid.SampledFrom([]string{"", "\"", ",", "\r", "\n", "NULL", "NA", " x ", "\ufeff", "a\r\nb", "1", "\\x", "\x00"})).Draw(t, "string")
		if csv {
			s = strings.ReplaceAll(s, "\x00", "")
		}
		b.Append(s)
	case *extensions.UUIDBuilder:
		b.AppendBytes([16]byte(rapid.SliceOfN(rapid.Byte(), 16, 16).Draw(t, "uuid")))
	case *array.FixedSizeBinaryBuilder:
		b.Append(rapid.SliceOfN(rapid.Byte(), f.Type.Length, f.Type.Length).Draw(t, "fixed"))
	case *array.BinaryBuilder:
		b.Append(rapid.SliceOf(rapid.Byte()).Draw(t, "binary"))
	case *array.MapBuilder:
		b.Append(true)
		if rapid.Bool().Draw(t, "entry") { // one, since keys must differ
			fill(t, b.KeyBuilder(), f.Type.Fields[0], csv)
			fill(t, b.ItemBuilder(), f.Type.Fields[1], csv)
		}
	case *array.ListBuilder:
		b.Append(true)
		for range rapid.IntRange(0, 3).Draw(t, "elements") {
			fill(t, b.ValueBuilder(), f.Type.Fields[0], csv)
		}
	case *array.StructBuilder:
		b.Append(true)
		for i, x := range f.Type.Fields {
			fill(t, b.FieldBuilder(i), x, csv)
		}
	default:
		t.Fatalf("no values for %s", b.Type())
	}
}

// What is written reads back as the same rows under the same schema, for every type, nested ones too.
func TestWhatIsWrittenReadsBackEqual(t *testing.T) {
	for _, format := range []Format{CSV, JSONL} {
		t.Run(string(format), func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) { roundTrip(t, format) })
		})
	}
}

func roundTrip(t *rapid.T, format Format) {
	var s schema.Schema
	for i := range rapid.IntRange(1, 4).Draw(t, "columns") {
		s.Fields = append(s.Fields, schema.Field{
			Name: rapid.SampledFrom([]string{"a", "b c", "d,\"e\"", "f\ng"}).Draw(t, "name") + fmt.Sprint(i),
			Type: randomType(t, 2), Required: rapid.Bool().Draw(t, "required"),
		})
	}
	as := sinks.ArrowSchema(s)
	rows := rapid.IntRange(0, 30).Draw(t, "rows")
	cols := make([]arrow.Array, len(s.Fields))
	for i, f := range s.Fields {
		b := array.NewBuilder(memory.DefaultAllocator, as.Field(i).Type)
		for range rows {
			fill(t, b, f, format == CSV)
		}
		cols[i] = b.NewArray()
	}
	whole := array.NewRecordBatch(as, cols, int64(rows))
	cut := rapid.Int64Range(0, int64(rows)).Draw(t, "cut")
	var text bytes.Buffer
	write := WriteCSV
	if format == JSONL {
		write = WriteJSONL
	}
	if err := write(&text, as, batches(whole.NewSlice(0, cut), whole.NewSlice(cut, int64(rows)))); err != nil {
		t.Fatal(err)
	}
	opts := Options{Format: format, Columns: s, BatchRows: rapid.IntRange(1, 9).Draw(t, "batch"), Threads: 2, chunk: rapid.IntRange(1, 200).Draw(t, "chunk")}
	got, list, err := readAll(context.Background(), text.String(), "x", opts)
	if err != nil {
		t.Fatalf("%v\n%s", err, text.String())
	}
	if !got.Equal(as) {
		t.Fatalf("schema %s, want %s", got, as)
	}
	if have, want := sum(t, got, list...), sum(t, as, whole); have != want {
		t.Fatalf("rows differ: %s, want %s\n%s\n%s\n%s", have, want, text.String(), whole, list)
	}
	at := int64(0)
	for _, b := range list {
		part := whole.NewSlice(at, at+b.NumRows())
		if sum(t, got, b) != sum(t, as, part) {
			t.Fatalf("rows from %d on came in another order", at)
		}
		at += b.NumRows()
	}
}
