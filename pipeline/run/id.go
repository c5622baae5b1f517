package run

import (
	"crypto/rand"
	"encoding/binary"
	"time"
)

// newID gives the id of a run: a ULID (48 bits of milliseconds, 80 random bits, Crockford's base 32), so that ids sort by time.
func newID(now time.Time) string {
	const digits = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
	var b [16]byte
	binary.BigEndian.PutUint64(b[:8], uint64(now.UnixMilli())<<16)
	// rand.Read of crypto/rand never fails: it ends the process if the system has no randomness.
	rand.Read(b[6:])
	hi, lo := binary.BigEndian.Uint64(b[:8]), binary.BigEndian.Uint64(b[8:])
	var out [26]byte
	for i := 25; i >= 0; i-- {
		out[i] = digits[lo&31]
		lo = lo>>5 | hi<<59
		hi >>= 5
	}
	return string(out[:])
}
