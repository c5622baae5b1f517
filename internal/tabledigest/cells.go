package tabledigest

import (
	"encoding/binary"
	"fmt"
	"math/bits"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/bitutil"
	"github.com/zeebo/xxh3"
)

// add adds the cells of rows from..to of an array to the accumulators, which have to-from places. NULL adds nothing, so that a new
// column of NULLs leaves every row's hash as it was.
func (n *node) add(a arrow.Array, from, to int, lo, hi []uint64, s *scratch) {
	if from == to {
		return // an array without rows may lack its offsets
	}
	switch a := a.(type) {
	case *array.Int8:
		addInts(n, a, a.Values(), from, to, lo, hi)
	case *array.Int16:
		addInts(n, a, a.Values(), from, to, lo, hi)
	case *array.Int32:
		addInts(n, a, a.Values(), from, to, lo, hi)
	case *array.Int64:
		addInts(n, a, a.Values(), from, to, lo, hi)
	case *array.Uint8:
		addInts(n, a, a.Values(), from, to, lo, hi)
	case *array.Uint16:
		addInts(n, a, a.Values(), from, to, lo, hi)
	case *array.Uint32:
		addInts(n, a, a.Values(), from, to, lo, hi)
	case *array.Float32:
		addFloats(n, a, a.Values(), from, to, lo, hi)
	case *array.Float64:
		addFloats(n, a, a.Values(), from, to, lo, hi)
	case *array.Date32:
		addInts(n, a, a.Values(), from, to, lo, hi)
	case *array.Date64:
		addScaled(n, a, a.Values(), from, to, lo, hi, 1, 86_400_000)
	case *array.Time32:
		addMicros(n, a, a.Values(), from, to, lo, hi, a.DataType().(*arrow.Time32Type).Unit)
	case *array.Time64:
		addMicros(n, a, a.Values(), from, to, lo, hi, a.DataType().(*arrow.Time64Type).Unit)
	case *array.Timestamp:
		addMicros(n, a, a.Values(), from, to, lo, hi, a.DataType().(*arrow.TimestampType).Unit)
	case *array.Boolean:
		n.addEach(a, from, to, func(i int) {
			var w uint64
			if a.Value(from + i) {
				w = 1
			}
			lo[i] += mixLo(w ^ n.key.lo)
			hi[i] += mixHi(w ^ n.key.hi)
		})
	case *array.Decimal32:
		addDecimals(n, a, from, to, lo, hi, func(i int) (uint64, uint64) { return extend(int64(a.Value(i))) })
	case *array.Decimal64:
		addDecimals(n, a, from, to, lo, hi, func(i int) (uint64, uint64) { return extend(int64(a.Value(i))) })
	case *array.Decimal128:
		addDecimals(n, a, from, to, lo, hi, func(i int) (uint64, uint64) {
			v := a.Value(i)
			return v.LowBits(), uint64(v.HighBits())
		})
	case *array.String, *array.Binary:
		addRuns(n, a, arrow.Int32Traits.CastFromBytes(bufferOf(a, 1)), from, to, lo, hi)
	case *array.LargeString, *array.LargeBinary:
		addRuns(n, a, arrow.Int64Traits.CastFromBytes(bufferOf(a, 1)), from, to, lo, hi)
	case *array.StringView:
		n.addEach(a, from, to, func(i int) { n.addHash(i, xxh3.HashString128(a.Value(from+i)), lo, hi) })
	case *array.BinaryView:
		n.addEach(a, from, to, func(i int) { n.addHash(i, xxh3.Hash128(a.Value(from+i)), lo, hi) })
	case *array.FixedSizeBinary:
		n.addEach(a, from, to, func(i int) { n.addHash(i, xxh3.Hash128(a.Value(from+i)), lo, hi) })
	case *array.Dictionary:
		n.addDictionary(a, from, to, lo, hi, s)
	case *array.Struct:
		n.addStructs(a, from, to, lo, hi, s)
	case *array.Map:
		n.addMaps(a, from, to, lo, hi, s)
	case array.ListLike:
		n.addLists(a, from, to, lo, hi, s)
	case array.ExtensionArray:
		n.add(a.Storage(), from, to, lo, hi, s)
	default:
		panic(fmt.Sprintf("tabledigest: an array of %s, which the schema cannot have", a.DataType()))
	}
}

// addEach calls do for each row that is not NULL, counted from from.
func (n *node) addEach(a arrow.Array, from, to int, do func(i int)) {
	if !mayHaveNulls(a) {
		for i := range to - from {
			do(i)
		}
		return
	}
	valid, offset := a.NullBitmapBytes(), a.Data().Offset()+from
	for i := range to - from {
		if bitutil.BitIsSet(valid, offset+i) {
			do(i)
		}
	}
}

// addRuns is the cells of byte strings that lie end to end; the arrays' own accessors check bounds three times a value.
func addRuns[T int32 | int64](n *node, a arrow.Array, offsets []T, from, to int, lo, hi []uint64) {
	first := a.Data().Offset() + from
	offsets, data := offsets[first:first+to-from+1], bufferOf(a, 2)
	n.addEach(a, from, to, func(i int) {
		n.addHash(i, xxh3.Hash128(data[offsets[i]:offsets[i+1]]), lo, hi)
	})
}

// bufferOf gives a buffer's bytes; an array of empty strings may lack the one that would hold them.
func bufferOf(a arrow.Array, i int) []byte {
	if b := a.Data().Buffers()[i]; b != nil {
		return b.Bytes()
	}
	return nil
}

// addHash adds the cell of a value that was hashed to 128 bits.
func (n *node) addHash(i int, h xxh3.Uint128, lo, hi []uint64) {
	lo[i] += mixLo(h.Lo ^ n.key.lo)
	hi[i] += mixHi(h.Hi ^ n.key.hi)
}

// addDecimals is the cells of unscaled values: 16 bytes, so that both halves depend on all of them.
func addDecimals(n *node, a arrow.Array, from, to int, lo, hi []uint64, value func(i int) (uint64, uint64)) {
	var b [16]byte
	n.addEach(a, from, to, func(i int) {
		l, h := value(from + i)
		binary.LittleEndian.PutUint64(b[:8], l)
		binary.LittleEndian.PutUint64(b[8:], h)
		n.addHash(i, xxh3.Hash128(b[:]), lo, hi)
	})
}

// addDictionary hashes each word of a dictionary once, unless it has more words than the array has rows.
func (n *node) addDictionary(a *array.Dictionary, from, to int, lo, hi []uint64, s *scratch) {
	dict := a.Dictionary()
	if dict.Len() > a.Len() {
		n.addEach(a, from, to, func(i int) {
			at := a.GetValueIndex(from + i)
			n.add(dict, at, at+1, lo[i:i+1], hi[i:i+1], s)
		})
		return
	}
	words, ok := s.dicts[dictKey{n, dict}]
	if !ok {
		words[0], words[1] = make([]uint64, dict.Len()), make([]uint64, dict.Len())
		n.add(dict, 0, dict.Len(), words[0], words[1], s)
		if s.dicts == nil {
			s.dicts = map[dictKey][2][]uint64{}
		}
		s.dicts[dictKey{n, dict}] = words
	}
	n.addEach(a, from, to, func(i int) {
		at := a.GetValueIndex(from + i)
		lo[i] += words[0][at]
		hi[i] += words[1][at]
	})
}

// addStructs: a struct is hashed as a row is, so that one of NULLs only is not a NULL.
func (n *node) addStructs(a *array.Struct, from, to int, lo, hi []uint64, s *scratch) {
	l, h := s.take(to - from)
	for i, child := range n.children {
		child.add(a.Field(i), from, to, l, h, s)
	}
	n.addEach(a, from, to, func(i int) { n.addSealed(i, l[i], h[i], lo, hi) })
	s.give(l, h)
}

// addLists: a list is its length and its elements in order, each step sealed; a NULL element adds nothing to its step.
func (n *node) addLists(a array.ListLike, from, to int, lo, hi []uint64, s *scratch) {
	start, end := span(a, from, to)
	l, h := s.take(end - start)
	n.children[0].add(a.ListValues(), start, end, l, h, s)
	n.addEach(a, from, to, func(i int) {
		first, last := a.ValueOffsets(from + i)
		at := pair{lo: uint64(last - first)}
		for j := int(first) - start; j < int(last)-start; j++ {
			at.lo, at.hi = seal(at.lo+l[j], at.hi+h[j])
		}
		n.addSealed(i, at.lo, at.hi, lo, hi)
	})
	s.give(l, h)
}

// addMaps: a map is hashed as a table of two columns is, since its entries have no order.
func (n *node) addMaps(a *array.Map, from, to int, lo, hi []uint64, s *scratch) {
	start, end := span(a, from, to)
	l, h := s.take(end - start)
	n.children[0].add(a.Keys(), start, end, l, h, s)
	n.children[1].add(a.Items(), start, end, l, h, s)
	n.addEach(a, from, to, func(i int) {
		first, last := a.ValueOffsets(from + i)
		sum := sumRows(l[int(first)-start:int(last)-start], h[int(first)-start:int(last)-start])
		low, carry := bits.Add64(sum.lo, sum.rows, 0)
		n.addSealed(i, low, sum.hi+carry, lo, hi)
	})
	s.give(l, h)
}

// addSealed adds the cell of a nested value.
func (n *node) addSealed(i int, l, h uint64, lo, hi []uint64) {
	l, h = seal(l, h)
	lo[i] += mixLo(l ^ n.key.lo)
	hi[i] += mixHi(h ^ n.key.hi)
}

// span is where the elements of rows from..to lie among the values.
func span(a array.ListLike, from, to int) (start, end int) {
	first, _ := a.ValueOffsets(from)
	_, last := a.ValueOffsets(to - 1)
	return int(first), int(last)
}

func extend(v int64) (lo, hi uint64) { return uint64(v), uint64(v >> 63) }
