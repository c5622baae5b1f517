package conform

import (
	"fmt"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/extensions"
)

// Describe names a type in the words of pipeline.yaml; what these have no word for is named as Arrow does.
func Describe(dt arrow.DataType) string {
	switch t := dt.(type) {
	case *extensions.UUIDType:
		return "uuid"
	case arrow.ExtensionType:
		return t.ExtensionName()
	case *arrow.DictionaryType:
		return Describe(t.ValueType)
	case *arrow.TimestampType:
		return describeTimestamp(t)
	case arrow.DecimalType:
		return fmt.Sprintf("decimal(%d,%d)", t.GetPrecision(), t.GetScale())
	case *arrow.FixedSizeBinaryType:
		return fmt.Sprintf("fixed(%d)", t.ByteWidth)
	case *arrow.StructType:
		parts := make([]string, t.NumFields())
		for i, f := range t.Fields() {
			parts[i] = f.Name + ": " + describeField(f)
		}
		return "struct<" + strings.Join(parts, ", ") + ">"
	case *arrow.MapType:
		return "map<" + Describe(t.KeyType()) + ", " + Describe(t.ItemType()) + ">"
	case arrow.ListLikeType:
		return "list<" + Describe(t.Elem()) + ">"
	}
	switch dt.ID() {
	case arrow.BOOL:
		return "boolean"
	case arrow.INT8, arrow.INT16, arrow.INT32, arrow.UINT8, arrow.UINT16:
		return "int"
	case arrow.INT64, arrow.UINT32:
		return "long"
	case arrow.UINT64:
		return "decimal(20,0)"
	case arrow.FLOAT16, arrow.FLOAT32:
		return "float"
	case arrow.FLOAT64:
		return "double"
	case arrow.DATE32, arrow.DATE64:
		return "date"
	case arrow.TIME32, arrow.TIME64:
		return "time"
	case arrow.STRING, arrow.LARGE_STRING, arrow.STRING_VIEW:
		return "string"
	case arrow.BINARY, arrow.LARGE_BINARY, arrow.BINARY_VIEW:
		return "binary"
	}
	return dt.String()
}

func describeTimestamp(t *arrow.TimestampType) string {
	switch {
	case t.TimeZone == "":
		return "timestamp"
	case isUTC(t.TimeZone):
		return "timestamptz"
	}
	return "timestamptz of " + t.TimeZone
}

func describeField(f arrow.Field) string {
	if f.Nullable {
		return Describe(f.Type)
	}
	return Describe(f.Type) + " required"
}

const namesShown = 20 // of a wide table, so that the message stays readable

func names(fields []arrow.Field) string {
	return listed(fields, func(f arrow.Field) string { return f.Name })
}

func typedNames(fields []arrow.Field) string {
	return listed(fields, func(f arrow.Field) string { return f.Name + " " + Describe(f.Type) })
}

func listed(fields []arrow.Field, text func(arrow.Field) string) string {
	if len(fields) == 0 {
		return "no columns"
	}
	parts := make([]string, 0, namesShown+1)
	for i, f := range fields {
		if i == namesShown {
			parts = append(parts, fmt.Sprintf("and %d more", len(fields)-namesShown))
			break
		}
		parts = append(parts, text(f))
	}
	return strings.Join(parts, ", ")
}
