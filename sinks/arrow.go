package sinks

import (
	"fmt"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/extensions"

	"pipe/internal/diag"
	"pipe/pipeline/schema"
)

// ArrowSchema gives the one Arrow schema whose batches a table of these columns takes: 64-bit offsets are never used, timestamps
// are microseconds, uuid is the extension arrow.uuid. It carries no field ids.
func ArrowSchema(s schema.Schema) *arrow.Schema {
	return arrow.NewSchema(arrowFields(s.Fields), nil)
}

func arrowFields(fields []schema.Field) []arrow.Field {
	out := make([]arrow.Field, len(fields))
	for i, f := range fields {
		out[i] = arrow.Field{Name: f.Name, Type: arrowType(f.Type), Nullable: !f.Required}
	}
	return out
}

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
	case schema.UUID:
		return extensions.NewUUIDType()
	case schema.Fixed:
		return &arrow.FixedSizeBinaryType{ByteWidth: t.Length}
	case schema.Binary:
		return arrow.BinaryTypes.Binary
	case schema.List:
		return arrow.ListOfField(arrowFields(t.Fields)[0])
	case schema.Map:
		kv := arrowFields(t.Fields)
		return arrow.MapOfFields(kv[0], kv[1])
	case schema.Struct:
		return arrow.StructOf(arrowFields(t.Fields)...)
	}
	return arrow.BinaryTypes.String
}

// FromArrow gives the narrowest table schema that holds every value of columns like these: small integers widen, dictionaries and
// the large and view forms count as what they hold, uint64 becomes decimal(20,0), every timestamp has microseconds (finer values
// are the writer's to refuse). A column that a table cannot hold at all is an error that names it, its type and the cast to use;
// all such columns come in one diag.List.
func FromArrow(s *arrow.Schema) (schema.Schema, error) {
	c := converter{}
	out := schema.Schema{Fields: c.fields("", s.Fields())}
	if err := c.problems.Err(); err != nil {
		return schema.Schema{}, err
	}
	return out, nil
}

type converter struct{ problems diag.List }

func (c *converter) fail(path string, dt arrow.DataType, hint string) schema.Type {
	c.problems = append(c.problems, &diag.Error{
		Exit: diag.Failed, Hint: hint, Msg: fmt.Sprintf("column %q is of type %s, which a table cannot hold", path, dt),
	})
	return schema.Type{Kind: schema.String}
}

func (c *converter) fields(path string, fields []arrow.Field) []schema.Field {
	out := make([]schema.Field, len(fields))
	seen := make(map[string]bool, len(fields))
	for i, f := range fields {
		at := joinPath(path, f.Name)
		switch {
		case f.Name == "":
			c.problems = append(c.problems, &diag.Error{Exit: diag.Failed, Msg: fmt.Sprintf("column %d has no name", i+1), Hint: "give each column a name"})
		case seen[f.Name]:
			c.problems = append(c.problems, &diag.Error{Exit: diag.Failed, Msg: fmt.Sprintf("column %q comes twice", at), Hint: "give each column a name of its own"})
		}
		seen[f.Name] = true
		out[i] = schema.Field{Name: f.Name, Type: c.typ(at, f.Type), Required: !f.Nullable}
	}
	return out
}

func (c *converter) typ(path string, dt arrow.DataType) schema.Type {
	switch t := dt.(type) {
	case *extensions.UUIDType:
		return schema.Type{Kind: schema.UUID}
	case arrow.ExtensionType:
		if t.ExtensionName() == "arrow.json" {
			return c.typ(path, t.StorageType())
		}
		return c.fail(path, dt, fmt.Sprintf("cast it to %s", t.StorageType()))
	case *arrow.DictionaryType:
		return c.typ(path, t.ValueType)
	case arrow.DecimalType:
		if t.GetPrecision() > 38 || t.GetScale() < 0 || t.GetScale() > t.GetPrecision() {
			return c.fail(path, dt, "cast it to a decimal of at most 38 digits")
		}
		return schema.Type{Kind: schema.Decimal, Precision: int(t.GetPrecision()), Scale: int(t.GetScale())}
	case *arrow.TimestampType:
		if t.TimeZone != "" {
			return schema.Type{Kind: schema.TimestampTz}
		}
		return schema.Type{Kind: schema.Timestamp}
	case *arrow.FixedSizeBinaryType:
		return schema.Type{Kind: schema.Fixed, Length: t.ByteWidth}
	case *arrow.StructType:
		if t.NumFields() == 0 {
			return c.fail(path, dt, "leave the column out: a struct without fields holds nothing")
		}
		return schema.Type{Kind: schema.Struct, Fields: c.fields(path, t.Fields())}
	case *arrow.MapType:
		return schema.Type{Kind: schema.Map, Fields: []schema.Field{
			{Name: "key", Type: c.typ(joinPath(path, "key"), t.KeyType()), Required: true},
			{Name: "value", Type: c.typ(joinPath(path, "value"), t.ItemType()), Required: !t.ItemField().Nullable},
		}}
	case *arrow.ListType, *arrow.LargeListType, *arrow.FixedSizeListType:
		e := t.(arrow.ListLikeType).ElemField()
		return schema.Type{Kind: schema.List, Fields: []schema.Field{
			{Name: "element", Type: c.typ(joinPath(path, "element"), e.Type), Required: !e.Nullable},
		}}
	}
	if k, ok := kinds[dt.ID()]; ok {
		if k == schema.Decimal {
			return schema.Type{Kind: k, Precision: 20}
		}
		return schema.Type{Kind: k}
	}
	return c.fail(path, dt, castFor(dt))
}

// kinds are the types without arguments. uint64 is the one whose values no long holds.
var kinds = map[arrow.Type]schema.Kind{
	arrow.BOOL: schema.Boolean,
	arrow.INT8: schema.Int, arrow.INT16: schema.Int, arrow.INT32: schema.Int, arrow.UINT8: schema.Int, arrow.UINT16: schema.Int,
	arrow.INT64: schema.Long, arrow.UINT32: schema.Long, arrow.UINT64: schema.Decimal,
	arrow.FLOAT16: schema.Float, arrow.FLOAT32: schema.Float, arrow.FLOAT64: schema.Double,
	arrow.DATE32: schema.Date, arrow.DATE64: schema.Date, arrow.TIME32: schema.Time, arrow.TIME64: schema.Time,
	arrow.STRING: schema.String, arrow.LARGE_STRING: schema.String, arrow.STRING_VIEW: schema.String,
	arrow.BINARY: schema.Binary, arrow.LARGE_BINARY: schema.Binary, arrow.BINARY_VIEW: schema.Binary,
}

func castFor(dt arrow.DataType) string {
	switch dt.ID() {
	case arrow.NULL:
		return "cast it to the type that it is meant to have: all its values are NULL"
	case arrow.DURATION, arrow.INTERVAL_DAY_TIME, arrow.INTERVAL_MONTH_DAY_NANO, arrow.INTERVAL_MONTHS:
		return "cast it to long (a number of microseconds) or to string"
	}
	return "cast it to string, or to a list or struct of simple types"
}

func joinPath(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}

// CheckSchema compares the columns of a table with those that a write brings: nil if they are equal but for their order and docs,
// else an error that wraps ErrSchema and shows what differs on both sides.
func CheckSchema(table string, have, want schema.Schema) error {
	var lines []string
	for _, f := range have.Fields {
		switch g := column(want, f.Name); {
		case g == nil:
			lines = append(lines, fmt.Sprintf("  table has  %s\n  new rows have no such column", f))
		case !f.Equal(*g):
			lines = append(lines, fmt.Sprintf("  table has  %s\n  new rows   %s", f, g))
		}
	}
	for _, g := range want.Fields {
		if column(have, g.Name) == nil {
			lines = append(lines, fmt.Sprintf("  table has no such column\n  new rows   %s", g))
		}
	}
	if len(lines) == 0 {
		return nil
	}
	return &diag.Error{
		Exit: diag.Failed, Err: ErrSchema,
		Msg:  fmt.Sprintf("the columns of table %s differ from those of the new rows:\n%s", table, strings.Join(lines, "\n")),
		Hint: "an append keeps the table's columns; make the schema of the out equal to them, or use mode: replace",
	}
}

// column finds a top-level column; a dotted name is not a path here.
func column(s schema.Schema, name string) *schema.Field {
	for i := range s.Fields {
		if s.Fields[i].Name == name {
			return &s.Fields[i]
		}
	}
	return nil
}
