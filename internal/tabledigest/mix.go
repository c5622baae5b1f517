package tabledigest

import "github.com/zeebo/xxh3"

// pair is 128 bits: of a key, a cell or a row.
type pair struct{ lo, hi uint64 }

// mixLo and mixHi are bijections of 64 bits with full avalanche: the finaliser of SplitMix64 (Stafford's variant 13) and Moremur.
// They differ, so that the two halves of a cell are two hashes of a value and not one written twice.
func mixLo(x uint64) uint64 {
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

func mixHi(x uint64) uint64 {
	x = (x ^ x>>27) * 0x3c79ac492ba7b653
	x = (x ^ x>>33) * 0x1c69b3f74ac4ae35
	return x ^ x>>27
}

// The first 192 fractional bits of pi.
const (
	pi0 = 0x243f6a8885a308d3
	pi1 = 0x13198a2e03707344
	pi2 = 0xa4093822299f31d0
)

// seal is a bijection of 128 bits: three rounds of a Feistel net, each half keyed by the other. Without it a sum over rows would be
// the sum over their cells, and moving a value from row to row would go unseen.
func seal(lo, hi uint64) (uint64, uint64) {
	hi ^= mixLo(lo + pi0)
	lo ^= mixHi(hi + pi1)
	hi ^= mixLo(lo + pi2)
	return lo, hi
}

// keyOf sets the cells of a column, or of a part of one, apart from all others.
func keyOf(class, name string) pair {
	h := xxh3.HashString128(class + ":" + name)
	return pair{h.Lo, h.Hi}
}
