package conform

import (
	"fmt"
	"math"
	"math/bits"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/extensions"
	"github.com/apache/arrow-go/v18/arrow/float16"
	"github.com/apache/arrow-go/v18/arrow/memory"
)

// castFunc casts a column whose type is the one that it was chosen for.
type castFunc func(s *step, a arrow.Array) (arrow.Array, *fault)

// scalar chooses how values of one type become values of another. A nil castFunc with no reason: the buffers are right as they
// are. A reason says what would be lost.
func scalar(from, to arrow.DataType) (castFunc, string) {
	src := storage(from)
	if dict, ok := src.(*arrow.DictionaryType); ok {
		plain := lookedUp(dict.ValueType)
		if plain == nil {
			return nil, "a dictionary of this type cannot be read; write plain values"
		}
		inner, reason := scalar(plain, to)
		return decoded(inner), reason
	}
	switch to.ID() {
	case arrow.EXTENSION:
		if _, ok := to.(*extensions.UUIDType); ok {
			return toUUID(src)
		}
	case arrow.INT32, arrow.INT64:
		return toInteger(src, to)
	case arrow.FLOAT32, arrow.FLOAT64:
		return toFloat(src, to)
	case arrow.DECIMAL128:
		return toDecimal(src, to.(*arrow.Decimal128Type))
	case arrow.DATE32:
		switch src.ID() {
		case arrow.DATE32:
			return nil, ""
		case arrow.DATE64:
			return fixed(wholeDays), ""
		}
	case arrow.TIME64:
		return toTime(src, to.(*arrow.Time64Type))
	case arrow.TIMESTAMP:
		return toTimestamp(src, to.(*arrow.TimestampType))
	case arrow.STRING:
		return toText(from)
	case arrow.BINARY, arrow.FIXED_SIZE_BINARY:
		return toBinary(src, to)
	case arrow.BOOL:
		if src.ID() == arrow.BOOL && from.ID() != arrow.EXTENSION {
			return nil, ""
		}
	default:
		if arrow.TypeEqual(from, to) {
			return nil, ""
		}
	}
	return nil, "these types do not mix"
}

// storage is what an extension type is made of.
func storage(dt arrow.DataType) arrow.DataType {
	if ext, ok := dt.(arrow.ExtensionType); ok {
		return ext.StorageType()
	}
	return dt
}

func toInteger(from, to arrow.DataType) (castFunc, string) {
	if from.ID() == to.ID() {
		return nil, ""
	}
	long := to.ID() == arrow.INT64
	switch from.ID() {
	case arrow.INT8:
		return integer[int8](long), ""
	case arrow.INT16:
		return integer[int16](long), ""
	case arrow.INT32:
		return integer[int32](long), ""
	case arrow.INT64:
		return integer[int64](long), ""
	case arrow.UINT8:
		return integer[uint8](long), ""
	case arrow.UINT16:
		return integer[uint16](long), ""
	case arrow.UINT32:
		return integer[uint32](long), ""
	case arrow.UINT64:
		return integer[uint64](long), ""
	case arrow.FLOAT16, arrow.FLOAT32, arrow.FLOAT64, arrow.DECIMAL32, arrow.DECIMAL64, arrow.DECIMAL128, arrow.DECIMAL256:
		return nil, "digits after the point would be lost"
	}
	return nil, "these types do not mix"
}

type integerType interface {
	int8 | int16 | int32 | int64 | uint8 | uint16 | uint32 | uint64
}

func integer[S integerType](long bool) castFunc {
	if long {
		return fixed(func(v S) (int64, bool) { return int64(v), v < 0 || uint64(v) <= math.MaxInt64 })
	}
	return fixed(func(v S) (int32, bool) {
		return int32(v), (v >= 0 || int64(v) >= math.MinInt32) && (v < 0 || uint64(v) <= math.MaxInt32)
	})
}

func toFloat(from, to arrow.DataType) (castFunc, string) {
	double := to.ID() == arrow.FLOAT64
	switch from.ID() {
	case to.ID():
		return nil, ""
	case arrow.FLOAT16:
		if double {
			return fixed(func(v uint16) (float64, bool) { return float64(float16.FromBits(v).Float32()), true }), ""
		}
		return fixed(func(v uint16) (float32, bool) { return float16.FromBits(v).Float32(), true }), ""
	case arrow.FLOAT32: // to a double
		return fixed(func(v float32) (float64, bool) { return float64(v), true }), ""
	case arrow.FLOAT64: // to a float
		return nil, "digits would be lost"
	case arrow.INT8:
		return exactFloat[int8](double), ""
	case arrow.INT16:
		return exactFloat[int16](double), ""
	case arrow.INT32:
		return exactFloat[int32](double), ""
	case arrow.INT64:
		return exactFloat[int64](double), ""
	case arrow.UINT8:
		return exactFloat[uint8](double), ""
	case arrow.UINT16:
		return exactFloat[uint16](double), ""
	case arrow.UINT32:
		return exactFloat[uint32](double), ""
	case arrow.UINT64:
		return exactFloat[uint64](double), ""
	case arrow.DECIMAL32, arrow.DECIMAL64, arrow.DECIMAL128, arrow.DECIMAL256:
		return nil, "decimal digits have no exact double"
	}
	return nil, "these types do not mix"
}

// exactFloat takes the integers that a float holds to the last digit.
func exactFloat[S integerType](double bool) castFunc {
	if double {
		return fixed(func(v S) (float64, bool) { return float64(v), significant(v) <= 53 })
	}
	return fixed(func(v S) (float32, bool) { return float32(v), significant(v) <= 24 })
}

// significant is the number of binary digits from the first one that is set to the last.
func significant[S integerType](v S) int {
	u := uint64(v)
	if v < 0 {
		u = -u
	}
	return bits.Len64(u) - min(bits.TrailingZeros64(u), bits.Len64(u))
}

func wholeDays(ms int64) (int32, bool) {
	const day = 86_400_000
	d := ms / day
	return int32(d), ms%day == 0 && d >= math.MinInt32 && d <= math.MaxInt32
}

func toTime(from arrow.DataType, to *arrow.Time64Type) (castFunc, string) {
	if to.Unit != arrow.Microsecond {
		return nil, "these types do not mix"
	}
	switch t := from.(type) {
	case *arrow.Time32Type:
		factor := int64(1000)
		if t.Unit == arrow.Second {
			factor = 1_000_000
		}
		return fixed(func(v int32) (int64, bool) { return int64(v) * factor, true }), ""
	case *arrow.Time64Type:
		if t.Unit == to.Unit {
			return nil, ""
		}
		return fixed(wholeMicros), ""
	}
	return nil, "these types do not mix"
}

func wholeMicros(ns int64) (int64, bool) { return ns / 1000, ns%1000 == 0 }

func toTimestamp(from arrow.DataType, to *arrow.TimestampType) (castFunc, string) {
	t, ok := from.(*arrow.TimestampType)
	switch {
	case !ok || to.Unit != arrow.Microsecond:
		return nil, "these types do not mix"
	case t.TimeZone == "" && to.TimeZone != "":
		return nil, "a time without a zone names no instant"
	case t.TimeZone != "" && to.TimeZone == "":
		return nil, "the zone would be lost"
	case t.TimeZone != "" && !isUTC(t.TimeZone):
		return nil, fmt.Sprintf("the zone %s would be lost; convert to UTC in the stage", t.TimeZone)
	}
	switch t.Unit {
	case arrow.Second:
		return fixed(scaled(1_000_000)), ""
	case arrow.Millisecond:
		return fixed(scaled(1000)), ""
	case arrow.Nanosecond:
		return fixed(wholeMicros), ""
	}
	return nil, ""
}

func scaled(factor int64) func(int64) (int64, bool) {
	return func(v int64) (int64, bool) { return v * factor, v <= math.MaxInt64/factor && v >= math.MinInt64/factor }
}

func isUTC(zone string) bool {
	switch zone {
	case "UTC", "Etc/UTC", "Z", "+00:00", "-00:00":
		return true
	}
	return false
}

// fixed casts values of fixed width one by one; NULL cells are never looked at.
func fixed[S, D arrow.FixedWidthType](conv func(S) (D, bool)) castFunc {
	return func(s *step, a arrow.Array) (arrow.Array, *fault) {
		in := arrow.GetValues[S](a.Data(), 1)
		out := make([]D, a.Len())
		nulls := a.NullN()
		for i := range out {
			if nulls > 0 && a.IsNull(i) {
				continue
			}
			d, ok := conv(in[i])
			if !ok {
				return nil, s.unfit(a, i)
			}
			out[i] = d
		}
		return flat(s.to, a, memory.NewBufferBytes(arrow.GetBytes(out))), nil
	}
}

// flat makes an array of new values with the NULLs of a.
func flat(to arrow.DataType, a arrow.Array, values ...*memory.Buffer) arrow.Array {
	data := array.NewData(to, a.Len(), append([]*memory.Buffer{validity(a)}, values...), nil, a.NullN(), 0)
	defer data.Release()
	return array.MakeFromData(data)
}

func (s *step) unfit(a arrow.Array, i int) *fault {
	text := a.ValueStr(i)
	if isText(a.DataType().ID()) {
		text = quoted(text)
	}
	hint := fmt.Sprintf("declare \"%s: %s\" in the out's schema, or change the value in the stage", s.path, Describe(a.DataType()))
	if Describe(a.DataType()) == Describe(s.to) { // nanoseconds
		hint = "round it in the stage"
	}
	return &fault{path: s.path, index: i, msg: fmt.Sprintf("%s does not fit %s", text, s.limits()), hint: hint}
}

// limits names the target with what it holds, where that is short to say.
func (s *step) limits() string {
	switch t := s.to.(type) {
	case *arrow.Int32Type:
		return "int (-2147483648 to 2147483647)"
	case *arrow.Int64Type:
		return "long (-9223372036854775808 to 9223372036854775807)"
	case *arrow.Float32Type:
		return "float (whole numbers up to 16777216)"
	case *arrow.Float64Type:
		return "double (whole numbers up to 9007199254740992)"
	case *arrow.TimestampType, *arrow.Time64Type:
		return Describe(t) + " (whole microseconds)"
	}
	return Describe(s.to)
}

func quoted(s string) string {
	const most = 60
	if len(s) > most {
		return fmt.Sprintf("%q...", s[:most])
	}
	return fmt.Sprintf("%q", s)
}

func allNull(s *step, a arrow.Array) (arrow.Array, *fault) {
	return array.MakeArrayOfNull(memory.DefaultAllocator, s.to, a.Len()), nil
}
