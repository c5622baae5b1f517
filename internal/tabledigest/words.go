package tabledigest

import (
	"math"

	"github.com/apache/arrow-go/v18/arrow"
)

// The cells of values of up to 64 bits. Each value is mixed in both halves under the column's key. The three loops are spelled out
// because a function value for the conversion would cost more than the mixing.

type ints interface {
	~int8 | ~int16 | ~int32 | ~int64 | ~uint8 | ~uint16 | ~uint32
}

func addInts[T ints](n *node, a arrow.Array, values []T, from, to int, lo, hi []uint64) {
	k := n.key
	values = values[from:to]
	lo, hi = lo[:len(values)], hi[:len(values)]
	if !mayHaveNulls(a) {
		for i, v := range values {
			w := uint64(int64(v))
			lo[i] += mixLo(w ^ k.lo)
			hi[i] += mixHi(w ^ k.hi)
		}
		return
	}
	valid := bitsOf(a, from)
	for i, v := range values {
		// A mask, not a branch: NULLs come at random. The slot of a NULL holds anything, and is masked away.
		w, mask := uint64(int64(v)), valid.mask(i)
		lo[i] += mixLo(w^k.lo) & mask
		hi[i] += mixHi(w^k.hi) & mask
	}
}

func addFloats[T float32 | float64](n *node, a arrow.Array, values []T, from, to int, lo, hi []uint64) {
	k := n.key
	values = values[from:to]
	lo, hi = lo[:len(values)], hi[:len(values)]
	if !mayHaveNulls(a) {
		for i, v := range values {
			w := floatBits(float64(v))
			lo[i] += mixLo(w ^ k.lo)
			hi[i] += mixHi(w ^ k.hi)
		}
		return
	}
	valid := bitsOf(a, from)
	for i, v := range values {
		w, mask := floatBits(float64(v)), valid.mask(i)
		lo[i] += mixLo(w^k.lo) & mask
		hi[i] += mixHi(w^k.hi) & mask
	}
}

// addScaled is addInts of v*times/by, rounded down.
func addScaled[T ints](n *node, a arrow.Array, values []T, from, to int, lo, hi []uint64, times, by int64) {
	n.addEach(a, from, to, func(i int) {
		w := floorDiv(int64(values[from+i])*times, by)
		lo[i] += mixLo(w ^ n.key.lo)
		hi[i] += mixHi(w ^ n.key.hi)
	})
}

func addMicros[T ints](n *node, a arrow.Array, values []T, from, to int, lo, hi []uint64, unit arrow.TimeUnit) {
	switch unit {
	case arrow.Second:
		addScaled(n, a, values, from, to, lo, hi, 1_000_000, 1)
	case arrow.Millisecond:
		addScaled(n, a, values, from, to, lo, hi, 1_000, 1)
	case arrow.Microsecond:
		addInts(n, a, values, from, to, lo, hi)
	case arrow.Nanosecond:
		addScaled(n, a, values, from, to, lo, hi, 1, 1_000)
	}
}

// floatBits makes all NaN one; 0 and -0 stay two.
func floatBits(f float64) uint64 {
	if f != f {
		return 0x7ff8000000000000
	}
	return math.Float64bits(f)
}

func floorDiv(v, by int64) uint64 {
	q := v / by
	if v%by < 0 {
		q--
	}
	return uint64(q)
}

// mayHaveNulls asks the array's data and not the array, whose NullN counts on first use and so must not be asked by two goroutines.
func mayHaveNulls(a arrow.Array) bool {
	return len(a.NullBitmapBytes()) > 0 && a.Data().NullN() != 0
}

// validity is the validity bits of an array from some row on.
type validity struct {
	bits   []byte
	offset int
}

func bitsOf(a arrow.Array, from int) validity {
	return validity{a.NullBitmapBytes(), a.Data().Offset() + from}
}

// mask is all ones for a row that is not NULL.
func (v validity) mask(i int) uint64 {
	at := uint(v.offset + i)
	return -uint64(v.bits[at/8] >> (at % 8) & 1)
}
