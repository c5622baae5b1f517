package textio

import (
	"fmt"
	"strconv"
	"unicode/utf8"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/extensions"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"pipe/pipeline/schema"
)

// column builds one column, or one part of a nested one.
type column struct {
	field   schema.Field
	path    string // as errors name it: legs.element.km
	builder array.Builder
	// text appends the value that a text means. It is nil for nested types, which only JSON writes.
	text  func(s []byte) problem
	parts []*column
	names map[string]int // of a struct's parts
	next  int            // the part whose key likely comes next, since objects tend to have one order
	seen  []int          // for each part, the last object that had it
	count int            // objects so far
}

// part finds a struct's part by its key.
func (c *column) part(key []byte) (int, bool) {
	i := c.next
	if i >= len(c.parts) || c.parts[i].field.Name != string(key) {
		var ok bool
		if i, ok = c.names[string(key)]; !ok {
			return 0, false
		}
	}
	c.next = i + 1
	return i, true
}

func newColumns(s *arrow.Schema, fields []schema.Field) []*column {
	cols := make([]*column, len(fields))
	for i, f := range fields {
		cols[i] = newColumn(f, f.Name, array.NewBuilder(memory.DefaultAllocator, s.Field(i).Type))
	}
	return cols
}

func newColumn(f schema.Field, path string, b array.Builder) *column {
	c := &column{field: f, path: path, builder: b}
	part := func(i int, b array.Builder) {
		c.parts = append(c.parts, newColumn(f.Type.Fields[i], path+"."+f.Type.Fields[i].Name, b))
	}
	switch b := b.(type) {
	case *array.StructBuilder:
		c.names = make(map[string]int, len(f.Type.Fields))
		c.seen = make([]int, len(f.Type.Fields))
		for i, x := range f.Type.Fields {
			c.names[x.Name] = i
			part(i, b.FieldBuilder(i))
		}
	case *array.MapBuilder:
		part(0, b.KeyBuilder())
		part(1, b.ItemBuilder())
	case *array.ListBuilder:
		part(0, b.ValueBuilder())
	default:
		c.text = textFunc(f.Type, b)
	}
	return c
}

// textFunc gives how a type reads text.
func textFunc(t schema.Type, b array.Builder) func([]byte) problem {
	switch b := b.(type) {
	case *array.BooleanBuilder:
		return appender(parseBool, b.Append)
	case *array.Int32Builder:
		return appender(func(s []byte) (int64, problem) { return parseInt(s, 32) }, func(v int64) { b.Append(int32(v)) })
	case *array.Int64Builder:
		return appender(func(s []byte) (int64, problem) { return parseInt(s, 64) }, b.Append)
	case *array.Float32Builder:
		return appender(func(s []byte) (float64, problem) { return parseFloat(s, 32) }, func(v float64) { b.Append(float32(v)) })
	case *array.Float64Builder:
		return appender(func(s []byte) (float64, problem) { return parseFloat(s, 64) }, b.Append)
	case *array.Decimal128Builder:
		return func(s []byte) problem {
			v, p := parseDecimal(s, t.Precision, t.Scale)
			if p == "" {
				b.Append(v)
			}
			return p
		}
	case *array.Date32Builder:
		return appender(parseDate, func(v int32) { b.Append(arrow.Date32(v)) })
	case *array.Time64Builder:
		return appender(parseTime, func(v int64) { b.Append(arrow.Time64(v)) })
	case *array.TimestampBuilder:
		zoned := t.Kind == schema.TimestampTz
		return appender(func(s []byte) (int64, problem) { return parseTimestamp(s, zoned) }, func(v int64) { b.Append(arrow.Timestamp(v)) })
	case *array.StringBuilder:
		return func(s []byte) problem {
			b.BinaryBuilder.Append(s)
			return ""
		}
	case *extensions.UUIDBuilder:
		return appender(parseUUID, b.AppendBytes)
	case *array.FixedSizeBinaryBuilder:
		return bytesFunc(b.Append, t.Length)
	case *array.BinaryBuilder:
		return bytesFunc(b.Append, -1)
	}
	panic("textio: no text for " + b.Type().String())
}

func appender[T any](parse func([]byte) (T, problem), add func(T)) func([]byte) problem {
	return func(s []byte) problem {
		v, p := parse(s)
		if p == "" {
			add(v)
		}
		return p
	}
}

func bytesFunc(add func([]byte), length int) func([]byte) problem {
	var buf []byte
	return func(s []byte) problem {
		v, p := appendHex(buf[:0], s)
		if p != "" {
			return p
		}
		if buf = v; length >= 0 && len(v) != length {
			return problem(fmt.Sprintf("it has %d bytes", len(v)))
		}
		add(v)
		return ""
	}
}

// null appends a NULL; false if the column is required.
func (c *column) null() bool {
	if c.field.Required {
		return false
	}
	c.builder.AppendNull()
	return true
}

// building makes the batches of one chunk.
type building struct {
	schema  *arrow.Schema
	columns []*column
	rows    int // built since the last batch
	most    int
	batches []arrow.RecordBatch
	faults  faults
}

func newBuilding(s *arrow.Schema, fields []schema.Field, rows, most int) *building {
	b := &building{schema: s, columns: newColumns(s, fields), most: most}
	for _, c := range b.columns {
		c.builder.Reserve(min(rows, most))
	}
	return b
}

// row says that a row is whole. After a fault nothing more is made of the chunk, so that columns may differ in length.
func (b *building) row() {
	if b.rows++; b.rows == b.most && len(b.faults.list) == 0 {
		b.flush()
	}
}

func (b *building) flush() {
	arrays := make([]arrow.Array, len(b.columns))
	for i, c := range b.columns {
		arrays[i] = c.builder.NewArray()
		defer arrays[i].Release()
	}
	b.batches = append(b.batches, array.NewRecordBatch(b.schema, arrays, int64(b.rows)))
	b.rows = 0
}

// done gives the batches, or the faults.
func (b *building) done() ([]arrow.RecordBatch, error) {
	if len(b.faults.list) > 0 {
		for _, x := range b.batches {
			x.Release()
		}
		return nil, b.faults.list.Err()
	}
	if b.rows > 0 {
		b.flush()
	}
	return b.batches, nil
}

func (b *building) release() {
	for _, c := range b.columns {
		c.builder.Release()
	}
}

// mismatch says that a value is none of a type's.
func mismatch(t schema.Type, value string, p problem) string {
	msg := fmt.Sprintf("expected %s, got %s", t, value)
	if p != malformed && p != "" {
		msg += ": " + string(p)
	}
	return msg
}

// quoted is a value as errors show it, cut where it is long.
func quoted(s []byte) string {
	const most = 60
	if len(s) <= most {
		return strconv.Quote(string(s))
	}
	end := most
	for end > 0 && !utf8.RuneStart(s[end]) {
		end--
	}
	return strconv.Quote(string(s[:end])) + "…"
}

const hintRequired = "give it a value, or declare the column without required"

// hintFor says how a value of a type is written.
func hintFor(t schema.Type, p problem) string {
	switch {
	case p == noZone:
		return "write the zone (2025-01-02 03:04:05Z), or declare the column as timestamp"
	case p == hasZone:
		return "declare the column as timestamptz, or write it without a zone"
	}
	switch t.Kind {
	case schema.Boolean:
		return "a boolean is true or false; declare the column as string to keep other words"
	case schema.Int:
		if p == outside {
			return "declare the column as long"
		}
		return "a whole number is written 1234; declare the column as string to keep other forms"
	case schema.Long:
		if p == outside {
			return "declare the column as decimal(38,0)"
		}
		return "a whole number is written 1234; declare the column as string to keep other forms"
	case schema.Float, schema.Double, schema.Decimal:
		return "a number is written 1234.5; declare the column as string to keep other forms"
	case schema.Date:
		return "a date is written 2025-01-02; declare the column as string to keep other forms"
	case schema.Time:
		return "a time is written 03:04:05.000006; declare the column as string to keep other forms"
	case schema.Timestamp, schema.TimestampTz:
		return "a time is written 2025-01-02 03:04:05.000006; declare the column as string to keep other forms"
	case schema.UUID:
		return "a uuid is written 123e4567-e89b-12d3-a456-426614174000"
	case schema.Fixed, schema.Binary:
		return `bytes are written \x00ff: \x and two hex digits a byte`
	case schema.List, schema.Map, schema.Struct:
		return "a nested value is written as JSON"
	}
	return ""
}
