package textio

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"strconv"
	"unicode/utf8"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/extensions"
)

// writeFunc appends the text of the value at i, which is not NULL.
type writeFunc func(dst []byte, i int) ([]byte, error)

// plain is a writeFunc that cannot fail.
func plain(f func(dst []byte, i int) []byte) writeFunc {
	return func(dst []byte, i int) ([]byte, error) { return f(dst, i), nil }
}

var (
	errNotUTF8 = errors.New("text that is not UTF-8")
	errTooFine = errors.New("a time finer than a microsecond")
)

// textOf gives how the scalars of an array are written: the text that the reader takes for them.
func textOf(a arrow.Array) (writeFunc, error) {
	switch a := a.(type) {
	case *array.Boolean:
		return plain(func(dst []byte, i int) []byte { return strconv.AppendBool(dst, a.Value(i)) }), nil
	case *array.Int8:
		return integers(a.Values()), nil
	case *array.Int16:
		return integers(a.Values()), nil
	case *array.Int32:
		return integers(a.Values()), nil
	case *array.Int64:
		return integers(a.Values()), nil
	case *array.Uint8:
		return integers(a.Values()), nil
	case *array.Uint16:
		return integers(a.Values()), nil
	case *array.Uint32:
		return integers(a.Values()), nil
	case *array.Uint64:
		return plain(func(dst []byte, i int) []byte { return strconv.AppendUint(dst, a.Value(i), 10) }), nil
	case *array.Float32:
		return plain(func(dst []byte, i int) []byte { return appendFloat(dst, float64(a.Value(i)), 32) }), nil
	case *array.Float64:
		return plain(func(dst []byte, i int) []byte { return appendFloat(dst, a.Value(i), 64) }), nil
	case *array.Decimal32:
		scale := a.DataType().(arrow.DecimalType).GetScale()
		return plain(func(dst []byte, i int) []byte { return append(dst, a.Value(i).ToString(scale)...) }), nil
	case *array.Decimal64:
		scale := a.DataType().(arrow.DecimalType).GetScale()
		return plain(func(dst []byte, i int) []byte { return append(dst, a.Value(i).ToString(scale)...) }), nil
	case *array.Decimal128:
		scale := a.DataType().(arrow.DecimalType).GetScale()
		return plain(func(dst []byte, i int) []byte { return append(dst, a.Value(i).ToString(scale)...) }), nil
	case *array.Date32:
		return plain(func(dst []byte, i int) []byte { return appendDate(dst, int64(a.Value(i))) }), nil
	case *array.Date64:
		return plain(func(dst []byte, i int) []byte { return appendDate(dst, floorDiv(int64(a.Value(i)), 86_400_000)) }), nil
	case *array.Time32:
		return times(a.DataType().(*arrow.Time32Type).Unit, func(i int) int64 { return int64(a.Value(i)) }, appendTime), nil
	case *array.Time64:
		return times(a.DataType().(*arrow.Time64Type).Unit, func(i int) int64 { return int64(a.Value(i)) }, appendTime), nil
	case *array.Timestamp:
		t := a.DataType().(*arrow.TimestampType)
		write := appendTimestamp
		if t.TimeZone != "" {
			write = func(dst []byte, micros int64) []byte { return append(appendTimestamp(dst, micros), 'Z') }
		}
		return times(t.Unit, func(i int) int64 { return int64(a.Value(i)) }, write), nil
	case *extensions.UUIDArray:
		return plain(func(dst []byte, i int) []byte { return appendUUID(dst, a.Storage().(*array.FixedSizeBinary).Value(i)) }), nil
	case *array.Binary:
		return hexes(a.Value), nil
	case *array.LargeBinary:
		return hexes(a.Value), nil
	case *array.BinaryView:
		return hexes(a.Value), nil
	case *array.FixedSizeBinary:
		return hexes(a.Value), nil
	case array.StringLike:
		return func(dst []byte, i int) ([]byte, error) {
			s := a.Value(i)
			if !utf8.ValidString(s) {
				return dst, errNotUTF8
			}
			return append(dst, s...), nil
		}, nil
	case *array.Dictionary:
		words := a.Dictionary()
		f, err := textOf(words)
		if err != nil {
			return nil, err
		}
		return func(dst []byte, i int) ([]byte, error) { return f(dst, a.GetValueIndex(i)) }, nil
	case *array.Null:
		return plain(func(dst []byte, _ int) []byte { return dst }), nil
	}
	return nil, fmt.Errorf("type %s has no text", a.DataType())
}

func integers[T int8 | int16 | int32 | int64 | uint8 | uint16 | uint32](values []T) writeFunc {
	return plain(func(dst []byte, i int) []byte { return strconv.AppendInt(dst, int64(values[i]), 10) })
}

func hexes(value func(int) []byte) writeFunc {
	return plain(func(dst []byte, i int) []byte {
		const digits = "0123456789abcdef"
		dst = append(dst, '\\', 'x')
		for _, c := range value(i) {
			dst = append(dst, digits[c>>4], digits[c&15])
		}
		return dst
	})
}

func times(unit arrow.TimeUnit, value func(int) int64, write func([]byte, int64) []byte) writeFunc {
	var times, by int64 = 1, 1
	switch unit {
	case arrow.Second:
		times = 1_000_000
	case arrow.Millisecond:
		times = 1_000
	case arrow.Nanosecond:
		by = 1_000
	}
	return func(dst []byte, i int) ([]byte, error) {
		v := value(i)
		if v%by != 0 {
			return dst, errTooFine
		}
		micros := v / by * times
		if times > 1 && micros/times != v {
			return dst, errors.New("a time out of range")
		}
		return write(dst, micros), nil
	}
}

// appendFloat writes the shortest text that reads back as f, with a point or an exponent, so that it is not taken for an integer.
func appendFloat(dst []byte, f float64, size int) []byte {
	switch {
	case f != f:
		return append(dst, "NaN"...)
	case math.IsInf(f, 1):
		return append(dst, "Infinity"...)
	case math.IsInf(f, -1):
		return append(dst, "-Infinity"...)
	}
	if abs := math.Abs(f); abs != 0 && (abs < 1e-6 || abs >= 1e21) {
		return strconv.AppendFloat(dst, f, 'e', -1, size)
	}
	start := len(dst)
	dst = strconv.AppendFloat(dst, f, 'f', -1, size)
	if bytes.IndexByte(dst[start:], '.') >= 0 {
		return dst
	}
	return append(dst, '.', '0')
}

func appendUUID(dst, u []byte) []byte {
	const digits = "0123456789abcdef"
	for i, c := range u {
		if i == 4 || i == 6 || i == 8 || i == 10 {
			dst = append(dst, '-')
		}
		dst = append(dst, digits[c>>4], digits[c&15])
	}
	return dst
}

// jsonOf gives how the values of an array are written as JSON, NULL too.
func jsonOf(a arrow.Array) (writeFunc, error) {
	if a.DataType().ID() == arrow.NULL { // such an array has no validity bits, and says of none that it is NULL
		return plain(func(dst []byte, _ int) []byte { return append(dst, "null"...) }), nil
	}
	f, err := jsonValueOf(a)
	if err != nil {
		return nil, err
	}
	return func(dst []byte, i int) ([]byte, error) {
		if a.IsNull(i) {
			return append(dst, "null"...), nil
		}
		return f(dst, i)
	}, nil
}

func jsonValueOf(a arrow.Array) (writeFunc, error) {
	switch a := a.(type) {
	case *array.Struct:
		return jsonObjects(a)
	case *array.Map:
		return jsonMaps(a)
	case array.ListLike:
		f, err := jsonOf(a.ListValues())
		if err != nil {
			return nil, err
		}
		return func(dst []byte, i int) ([]byte, error) {
			from, to := a.ValueOffsets(i)
			return joined(dst, '[', ']', int(from), int(to), f)
		}, nil
	case *array.Dictionary:
		f, err := jsonOf(a.Dictionary())
		if err != nil {
			return nil, err
		}
		return func(dst []byte, i int) ([]byte, error) { return f(dst, a.GetValueIndex(i)) }, nil
	case *array.Float32:
		f, err := textOf(a)
		return numberOrText(f, func(i int) float64 { return float64(a.Value(i)) }), err
	case *array.Float64:
		f, err := textOf(a)
		return numberOrText(f, a.Value), err
	}
	f, err := textOf(a)
	if err != nil {
		return nil, err
	}
	switch a.DataType().ID() {
	case arrow.BOOL, arrow.INT8, arrow.INT16, arrow.INT32, arrow.INT64, arrow.UINT8, arrow.UINT16, arrow.UINT32, arrow.UINT64:
		return f, nil
	case arrow.DECIMAL32, arrow.DECIMAL64, arrow.DECIMAL128:
		if a.DataType().(arrow.DecimalType).GetPrecision() <= doubleDigits {
			return f, nil
		}
	}
	return quotedJSON(f), nil
}

// doubleDigits is how many digits of any decimal number a double keeps. Most readers of JSON make doubles of its numbers, so that
// decimals of more digits are written as text.
const doubleDigits = 15

// numberOrText: JSON has no NaN and no infinity; they are written as text.
func numberOrText(f writeFunc, value func(int) float64) writeFunc {
	text := quotedJSON(f)
	return func(dst []byte, i int) ([]byte, error) {
		if v := value(i); v-v != 0 { // NaN, for both
			return text(dst, i)
		}
		return f(dst, i)
	}
}

func joined(dst []byte, open, close byte, from, to int, f writeFunc) ([]byte, error) {
	dst = append(dst, open)
	var err error
	for i := from; i < to; i++ {
		if i > from {
			dst = append(dst, ',')
		}
		if dst, err = f(dst, i); err != nil {
			return dst, err
		}
	}
	return append(dst, close), nil
}

// jsonObjects writes every field, NULL ones as null.
func jsonObjects(a *array.Struct) (writeFunc, error) {
	t := a.DataType().(*arrow.StructType)
	keys, fields := make([][]byte, a.NumField()), make([]writeFunc, a.NumField())
	for i := range fields {
		keys[i] = append(appendJSONString(nil, []byte(t.Field(i).Name)), ':')
		var err error
		if fields[i], err = jsonOf(a.Field(i)); err != nil {
			return nil, err
		}
	}
	return func(dst []byte, row int) ([]byte, error) {
		return joined(dst, '{', '}', 0, len(fields), func(dst []byte, i int) ([]byte, error) {
			return fields[i](append(dst, keys[i]...), row)
		})
	}, nil
}

func jsonMaps(a *array.Map) (writeFunc, error) {
	value, err := jsonOf(a.Items())
	if err != nil {
		return nil, err
	}
	open, close, entry := byte('{'), byte('}'), writeFunc(nil)
	if key, textErr := textOf(a.Keys()); textErr == nil {
		key = quotedJSON(key)
		entry = func(dst []byte, i int) ([]byte, error) {
			dst, err := key(dst, i)
			if err != nil {
				return dst, err
			}
			return value(append(dst, ':'), i)
		}
	} else { // nested keys
		if key, err = jsonOf(a.Keys()); err != nil {
			return nil, err
		}
		open, close = '[', ']'
		entry = func(dst []byte, i int) ([]byte, error) {
			dst, err := key(append(dst, `{"key":`...), i)
			if err != nil {
				return dst, err
			}
			dst, err = value(append(dst, `,"value":`...), i)
			return append(dst, '}'), err
		}
	}
	return func(dst []byte, i int) ([]byte, error) {
		from, to := a.ValueOffsets(i)
		return joined(dst, open, close, int(from), int(to), entry)
	}, nil
}

// quotedJSON writes the text of f as a JSON string.
func quotedJSON(f writeFunc) writeFunc {
	var buf []byte
	return func(dst []byte, i int) ([]byte, error) {
		var err error
		if buf, err = f(buf[:0], i); err != nil {
			return dst, err
		}
		return appendJSONString(dst, buf), nil
	}
}

// appendJSONString escapes what JSON must escape, and nothing else.
func appendJSONString(dst, s []byte) []byte {
	dst = append(dst, '"')
	for _, c := range s {
		switch {
		case c == '"' || c == '\\':
			dst = append(dst, '\\', c)
		case c == '\n':
			dst = append(dst, '\\', 'n')
		case c == '\r':
			dst = append(dst, '\\', 'r')
		case c == '\t':
			dst = append(dst, '\\', 't')
		case c < 0x20:
			dst = fmt.Appendf(dst, "\\u%04x", c)
		default:
			dst = append(dst, c)
		}
	}
	return append(dst, '"')
}
