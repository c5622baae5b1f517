package generate

import (
	"encoding/binary"
	"math/bits"
	"math/rand/v2"

	"github.com/zeebo/xxh3"
)

// part names the rows of one chunk.
type part struct {
	seed  int64
	chunk int64
	rows  int // from the chunk's first one on
}

func (p part) first() int64 { return p.chunk * chunkRows }

// random is a stream of random numbers. The mappings from its bits to values are here and not taken from math/rand, which promises
// to keep the generator's bits but not what it makes of them.
type random struct {
	*rand.PCG
}

// newRandom starts the stream of one column's chunk. what tells streams of one column apart: its values, and which of them are NULL.
func newRandom(p part, path, what string) random {
	b := make([]byte, 0, 128)
	b = append(b, "pipe generate 1\x00"...)
	b = append(b, what...)
	b = append(b, 0)
	b = binary.LittleEndian.AppendUint64(b, uint64(p.seed))
	b = binary.LittleEndian.AppendUint64(b, uint64(p.chunk))
	b = append(b, path...)
	h := xxh3.Hash128(b)
	return random{rand.NewPCG(h.Hi, h.Lo)}
}

// below gives a number from 0 to n-1, each as likely as the others; 0 means 2^64. It takes the same bits as gofakeit's IntN.
func (r random) below(n uint64) uint64 {
	if n&(n-1) == 0 { // a power of two, or 2^64
		return r.Uint64() & (n - 1)
	}
	hi, lo := bits.Mul64(r.Uint64(), n)
	if lo < n {
		for least := -n % n; lo < least; {
			hi, lo = bits.Mul64(r.Uint64(), n)
		}
	}
	return hi
}

// unit gives one of the 2^53 multiples of 2^-53 from 0, below 1.
func (r random) unit() float64 { return float64(r.Uint64()>>11) * 0x1p-53 }
