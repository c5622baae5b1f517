package tabledigest

import (
	"encoding/hex"
	"fmt"
	"math/big"
	"strconv"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/decimal128"
	"github.com/apache/arrow-go/v18/arrow/extensions"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"pipe/pipeline/schema"
)

// Tables of the tests are written as the vectors write them: rows of strings (numbers, floats in hex, bytes in hex), booleans,
// lists, structs as maps, maps as lists of pairs, and nil.

// arrowType gives the plain Arrow type that a table's column has.
func arrowType(t schema.Type) arrow.DataType {
	switch t.Kind {
	case schema.Boolean:
		return arrow.FixedWidthTypes.Boolean
	case schema.Int:
		return arrow.PrimitiveTypes.Int32
	case schema.Long:
		return arrow.PrimitiveTypes.Int64
	case schema.Float:
		return arrow.PrimitiveTypes.Float32
	case schema.Double:
		return arrow.PrimitiveTypes.Float64
	case schema.Decimal:
		return &arrow.Decimal128Type{Precision: int32(t.Precision), Scale: int32(t.Scale)}
	case schema.Date:
		return arrow.FixedWidthTypes.Date32
	case schema.Time:
		return arrow.FixedWidthTypes.Time64us
	case schema.Timestamp:
		return &arrow.TimestampType{Unit: arrow.Microsecond}
	case schema.TimestampTz:
		return arrow.FixedWidthTypes.Timestamp_us
	case schema.String:
		return arrow.BinaryTypes.String
	case schema.UUID:
		return extensions.NewUUIDType()
	case schema.Fixed:
		return &arrow.FixedSizeBinaryType{ByteWidth: t.Length}
	case schema.Binary:
		return arrow.BinaryTypes.Binary
	case schema.List:
		return arrow.ListOf(arrowType(t.Fields[0].Type))
	case schema.Map:
		return arrow.MapOf(arrowType(t.Fields[0].Type), arrowType(t.Fields[1].Type))
	case schema.Struct:
		return arrow.StructOf(arrowFields(t.Fields)...)
	}
	panic(t.Kind)
}

func arrowFields(fields []schema.Field) []arrow.Field {
	out := make([]arrow.Field, len(fields))
	for i, f := range fields {
		out[i] = arrow.Field{Name: f.Name, Type: arrowType(f.Type), Nullable: !f.Required}
	}
	return out
}

// batchOf builds one batch under the given Arrow fields.
func batchOf(fields []arrow.Field, rows [][]any) arrow.RecordBatch {
	s := arrow.NewSchema(fields, nil)
	cols := make([]arrow.Array, len(fields))
	for i, f := range fields {
		b := array.NewBuilder(memory.DefaultAllocator, f.Type)
		for _, r := range rows {
			appendValue(b, r[i])
		}
		cols[i] = b.NewArray()
		b.Release()
	}
	return array.NewRecordBatch(s, cols, int64(len(rows)))
}

func appendValue(b array.Builder, v any) {
	if v == nil {
		b.AppendNull()
		return
	}
	switch b := b.(type) {
	case *array.BooleanBuilder:
		b.Append(v.(bool))
	case *array.Int8Builder:
		b.Append(int8(toInt(v)))
	case *array.Int16Builder:
		b.Append(int16(toInt(v)))
	case *array.Int32Builder:
		b.Append(int32(toInt(v)))
	case *array.Int64Builder:
		b.Append(toInt(v))
	case *array.Uint8Builder:
		b.Append(uint8(toInt(v)))
	case *array.Uint16Builder:
		b.Append(uint16(toInt(v)))
	case *array.Uint32Builder:
		b.Append(uint32(toInt(v)))
	case *array.Float32Builder:
		b.Append(float32(toFloat(v)))
	case *array.Float64Builder:
		b.Append(toFloat(v))
	case *array.Decimal32Builder:
		b.AppendValueFromString(v.(string))
	case *array.Decimal64Builder:
		b.AppendValueFromString(v.(string))
	case *array.Decimal128Builder:
		n, ok := new(big.Int).SetString(v.(string), 10)
		if !ok {
			panic(v)
		}
		b.Append(decimal128.FromBigInt(n))
	case *array.Date32Builder:
		b.Append(arrow.Date32(toInt(v)))
	case *array.Date64Builder:
		b.Append(arrow.Date64(toInt(v)))
	case *array.Time32Builder:
		b.Append(arrow.Time32(toInt(v)))
	case *array.Time64Builder:
		b.Append(arrow.Time64(toInt(v)))
	case *array.TimestampBuilder:
		b.Append(arrow.Timestamp(toInt(v)))
	case array.StringLikeBuilder:
		b.Append(v.(string))
	case *array.BinaryViewBuilder:
		b.Append(toBytes(v))
	case *array.BinaryBuilder:
		b.Append(toBytes(v))
	case *array.FixedSizeBinaryBuilder:
		b.Append(toBytes(v))
	case *extensions.UUIDBuilder:
		b.AppendBytes([16]byte(toBytes(strings.ReplaceAll(v.(string), "-", ""))))
	case *array.BinaryDictionaryBuilder:
		if err := b.AppendString(v.(string)); err != nil {
			panic(err)
		}
	case *array.MapBuilder:
		b.Append(true)
		for _, e := range v.([]any) {
			appendValue(b.KeyBuilder(), e.([]any)[0])
			appendValue(b.ItemBuilder(), e.([]any)[1])
		}
	case *array.FixedSizeListBuilder:
		b.Append(true)
		for _, e := range v.([]any) {
			appendValue(b.ValueBuilder(), e)
		}
	case array.VarLenListLikeBuilder:
		b.AppendWithSize(true, len(v.([]any)))
		for _, e := range v.([]any) {
			appendValue(b.ValueBuilder(), e)
		}
	case *array.StructBuilder:
		b.Append(true)
		t := b.Type().(*arrow.StructType)
		for i := range t.NumFields() {
			appendValue(b.FieldBuilder(i), v.(map[string]any)[t.Field(i).Name])
		}
	default:
		panic(fmt.Sprintf("no builder for %s", b.Type()))
	}
}

func toInt(v any) int64 {
	n, err := strconv.ParseInt(v.(string), 10, 64)
	if err != nil {
		panic(err)
	}
	return n
}

func toFloat(v any) float64 {
	text := v.(string)
	if strings.Contains(text, "0x") && !strings.Contains(text, "p") {
		text += "p0"
	}
	f, err := strconv.ParseFloat(text, 64)
	if err != nil {
		panic(err)
	}
	return f
}

func toBytes(v any) []byte {
	b, err := hex.DecodeString(v.(string))
	if err != nil {
		panic(err)
	}
	return b
}

// sumOf is the sum of a batch by a Hasher of its own.
func sumOf(t interface {
	Helper()
	Fatal(args ...any)
}, b arrow.RecordBatch,
) Sum {
	t.Helper()
	h, err := New(b.Schema())
	if err != nil {
		t.Fatal(err)
	}
	return h.Batch(b)
}

// one is a batch of one column.
func one(t arrow.DataType, values ...any) arrow.RecordBatch {
	rows := make([][]any, len(values))
	for i, v := range values {
		rows[i] = []any{v}
	}
	return batchOf([]arrow.Field{{Name: "v", Type: t, Nullable: true}}, rows)
}
