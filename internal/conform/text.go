package conform

import (
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"math"
	"unicode/utf8"
	"unsafe"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/bitutil"
	"github.com/apache/arrow-go/v18/arrow/extensions"
	"github.com/apache/arrow-go/v18/arrow/memory"
)

func isText(id arrow.Type) bool {
	return id == arrow.STRING || id == arrow.LARGE_STRING || id == arrow.STRING_VIEW
}

func toText(from arrow.DataType) (castFunc, string) {
	if _, ok := from.(*extensions.UUIDType); ok {
		return uuidText, ""
	}
	switch src := storage(from); {
	case src.ID() == arrow.STRING:
		return validText, ""
	case isText(src.ID()):
		return func(s *step, a arrow.Array) (arrow.Array, *fault) {
			out, f := s.bytes(a, s.to)
			if f != nil {
				return nil, f
			}
			defer out.Release()
			return validText(s, out)
		}, ""
	}
	return nil, "only text is a string; cast it in the stage"
}

func toBinary(from, to arrow.DataType) (castFunc, string) {
	if arrow.TypeEqual(from, to) {
		return nil, ""
	}
	switch from.ID() {
	case arrow.BINARY, arrow.LARGE_BINARY, arrow.BINARY_VIEW, arrow.FIXED_SIZE_BINARY:
	default:
		return nil, "these types do not mix"
	}
	if to.ID() == arrow.BINARY {
		return func(s *step, a arrow.Array) (arrow.Array, *fault) { return s.bytes(a, s.to) }, ""
	}
	width := to.(*arrow.FixedSizeBinaryType).ByteWidth
	if f, ok := from.(*arrow.FixedSizeBinaryType); ok && f.ByteWidth != width {
		return nil, "the lengths differ"
	}
	return func(s *step, a arrow.Array) (arrow.Array, *fault) {
		out := make([]byte, width*a.Len())
		value := bytesOf(a)
		for i := range a.Len() {
			if a.IsNull(i) {
				continue
			}
			v := value(i)
			if len(v) != width {
				return nil, &fault{
					path: s.path, index: i, msg: fmt.Sprintf("%d bytes do not fit %s", len(v), Describe(s.to)),
					hint: fmt.Sprintf("declare \"%s: binary\" in the out's schema", s.path),
				}
			}
			copy(out[i*width:], v)
		}
		return flat(s.to, a, memory.NewBufferBytes(out)), nil
	}, ""
}

func toUUID(from arrow.DataType) (castFunc, string) {
	if f, ok := from.(*arrow.FixedSizeBinaryType); ok && f.ByteWidth == 16 {
		return nil, ""
	}
	if !isText(from.ID()) {
		return nil, "a uuid is made of its text or of fixed(16)"
	}
	return func(s *step, a arrow.Array) (arrow.Array, *fault) {
		out := make([]byte, 16*a.Len())
		value := bytesOf(a)
		for i := range a.Len() {
			if a.IsValid(i) && !parseUUID(out[16*i:16*i+16], value(i)) {
				return nil, s.unfit(a, i)
			}
		}
		return flat(s.to, a, memory.NewBufferBytes(out)), nil
	}, ""
}

// parseUUID reads the 36 characters of the usual form, in any case, or the 32 digits alone.
func parseUUID(dst, text []byte) bool {
	var digits [32]byte
	switch len(text) {
	case 32:
		copy(digits[:], text)
	case 36:
		if text[8] != '-' || text[13] != '-' || text[18] != '-' || text[23] != '-' {
			return false
		}
		n := copy(digits[:], text[:8])
		n += copy(digits[n:], text[9:13])
		n += copy(digits[n:], text[14:18])
		n += copy(digits[n:], text[19:23])
		copy(digits[n:], text[24:])
	default:
		return false
	}
	_, err := hex.Decode(dst, digits[:])
	return err == nil
}

func uuidText(s *step, a arrow.Array) (arrow.Array, *fault) {
	n := a.Len()
	if n > math.MaxInt32/36 {
		return nil, s.tooLong()
	}
	text := make([]byte, 0, 36*n)
	offsets := make([]int32, n+1)
	value := bytesOf(a)
	for i := range n {
		if a.IsValid(i) {
			v := value(i)
			for j, part := range [][]byte{v[:4], v[4:6], v[6:8], v[8:10], v[10:]} {
				if j > 0 {
					text = append(text, '-')
				}
				text = hex.AppendEncode(text, part)
			}
		}
		offsets[i+1] = int32(len(text))
	}
	return flat(s.to, a, memory.NewBufferBytes(arrow.GetBytes(offsets)), memory.NewBufferBytes(text)), nil
}

// validText passes strings on after a look at their bytes: an engine that reads the table later trusts that they are UTF-8.
func validText(s *step, a arrow.Array) (arrow.Array, *fault) {
	value := bytesOf(a)
	if !ascii(a.(*array.String).ValueBytes()) {
		for i := range a.Len() {
			if a.IsValid(i) && !utf8.Valid(value(i)) {
				return nil, &fault{
					path: s.path, index: i, msg: fmt.Sprintf("%s is no UTF-8 text", quoted(string(value(i)))),
					hint: "convert the text to UTF-8 in the stage, or declare the column binary and write bytes",
				}
			}
		}
	}
	return relabel(a, s.to), nil
}

func ascii(b []byte) bool {
	for len(b) >= 8 {
		if binary.LittleEndian.Uint64(b)&0x8080808080808080 != 0 {
			return false
		}
		b = b[8:]
	}
	for _, c := range b {
		if c >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

// bytes copies text or bytes of any layout into the layout with 32-bit offsets.
func (s *step) bytes(a arrow.Array, to arrow.DataType) (arrow.Array, *fault) {
	value := bytesOf(a)
	total := 0
	for i := range a.Len() {
		if a.IsValid(i) {
			total += len(value(i))
		}
	}
	if total > math.MaxInt32 {
		return nil, s.tooLong()
	}
	text := make([]byte, 0, total)
	offsets := make([]int32, a.Len()+1)
	for i := range a.Len() {
		if a.IsValid(i) {
			text = append(text, value(i)...)
		}
		offsets[i+1] = int32(len(text))
	}
	return flat(to, a, memory.NewBufferBytes(arrow.GetBytes(offsets)), memory.NewBufferBytes(text)), nil
}

func (s *step) tooLong() *fault {
	return &fault{path: s.path, msg: "one batch holds more than 2147483647 bytes in this column", hint: "write smaller batches"}
}

// bytesOf reads single values without copying; only valid cells may be asked for.
func bytesOf(a arrow.Array) func(i int) []byte {
	switch v := a.(type) {
	case *array.String:
		return func(i int) []byte { return view(v.Value(i)) }
	case *array.LargeString:
		return func(i int) []byte { return view(v.Value(i)) }
	case *array.StringView:
		return func(i int) []byte { return view(v.Value(i)) }
	case *array.Binary:
		return v.Value
	case *array.LargeBinary:
		return v.Value
	case *array.BinaryView:
		return v.Value
	case *array.FixedSizeBinary:
		return v.Value
	}
	return nil
}

func view(s string) []byte { return unsafe.Slice(unsafe.StringData(s), len(s)) }

// decoded casts a dictionary column by looking its values up first.
func decoded(next castFunc) castFunc {
	return func(s *step, a arrow.Array) (arrow.Array, *fault) {
		plain := lookUp(a.(*array.Dictionary))
		defer plain.Release()
		if next == nil {
			return relabel(plain, s.to), nil
		}
		if ext, ok := plain.(array.ExtensionArray); ok {
			return next(s, ext.Storage())
		}
		return next(s, plain)
	}
}

// lookedUp is the type that a dictionary's values get when they are written out; nil if there is no way.
func lookedUp(values arrow.DataType) arrow.DataType {
	switch src := storage(values); {
	case isText(src.ID()):
		return arrow.BinaryTypes.LargeString
	case src.ID() == arrow.BINARY || src.ID() == arrow.LARGE_BINARY || src.ID() == arrow.BINARY_VIEW:
		return arrow.BinaryTypes.LargeBinary
	default:
		if fw, ok := src.(arrow.FixedWidthDataType); ok && fw.BitWidth()%8 == 0 {
			return values
		}
	}
	return nil
}

// lookUp writes a dictionary column out. A NULL is one of the keys or one of the values.
func lookUp(d *array.Dictionary) arrow.Array {
	values, n := d.Dictionary(), d.Len()
	valid := make([]byte, bitutil.BytesForBits(int64(n)))
	at := make([]int, n)
	nulls := 0
	for i := range n {
		if d.IsValid(i) {
			at[i] = d.GetValueIndex(i)
		}
		if d.IsNull(i) || values.IsNull(at[i]) {
			nulls++
			continue
		}
		bitutil.SetBit(valid, i)
	}
	buffers := []*memory.Buffer{memory.NewBufferBytes(valid)}
	dt := lookedUp(values.DataType())
	if ext, ok := values.(array.ExtensionArray); ok {
		values = ext.Storage()
	}
	if value := bytesOf(values); value != nil && dt.ID() != arrow.FIXED_SIZE_BINARY && dt.ID() != arrow.EXTENSION {
		var text []byte
		offsets := make([]int64, n+1)
		for i := range n {
			if bitutil.BitIsSet(valid, i) {
				text = append(text, value(at[i])...)
			}
			offsets[i+1] = int64(len(text))
		}
		buffers = append(buffers, memory.NewBufferBytes(arrow.GetBytes(offsets)), memory.NewBufferBytes(text))
	} else {
		width := values.DataType().(arrow.FixedWidthDataType).BitWidth() / 8
		in := values.Data().Buffers()[1].Bytes()[values.Data().Offset()*width:]
		out := make([]byte, n*width)
		for i := range n {
			if bitutil.BitIsSet(valid, i) {
				copy(out[i*width:(i+1)*width], in[at[i]*width:])
			}
		}
		buffers = append(buffers, memory.NewBufferBytes(out))
	}
	data := array.NewData(dt, n, buffers, nil, nulls, 0)
	defer data.Release()
	return array.MakeFromData(data)
}
