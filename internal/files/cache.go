package files

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"maps"
	"os"
	"slices"
	"time"
)

// cacheFile is where the cache stands, under the root.
const cacheFile = ".pipe/cache/files"

const (
	cacheHeading = "pipe files 1\n"
	// keep is how long a record stays that nobody asked for.
	keep = 30 * 24 * time.Hour
)

// stamp is what the file system tells of a file's state. ctime is the one that no program can set: it shows an edit in place that
// puts size and mtime back.
type stamp struct {
	size         int64
	mtime, ctime int64 // nanoseconds since 1970
	ino, dev     uint64
}

// record is the digest of a file in one state, taken at a moment.
type record struct {
	stamp
	at   int64 // right before it was read, nanoseconds since 1970, by our clock
	sum  [sha256.Size]byte
	used bool
}

// granularity is the longest time, in nanoseconds, within which two changes of a file may get one stamp. Kernels stamp with the
// clock's tick, 10 ms at most, and it is taken twice; a ctime of whole seconds comes from a file system that counts in seconds, or
// in twos.
func granularity(ctime int64) int64 {
	if ctime%int64(time.Second) == 0 {
		return int64(2 * time.Second)
	}
	return int64(20 * time.Millisecond)
}

// settled reports whether a change after the moment of hashing must have another stamp. Without that, a file written, hashed and
// written again within one tick would be taken for unchanged for ever.
func (r record) settled() bool {
	return max(r.mtime, r.ctime)+granularity(r.ctime) < r.at
}

// cache maps paths, relative to the root where they lie under it, to records. It is read in one piece and written in one piece.
type cache struct {
	records map[string]*record
	dirty   bool
}

func (c *cache) get(path string) (record, bool) {
	r := c.records[path]
	if r == nil {
		return record{}, false
	}
	r.used = true
	return *r, true
}

func (c *cache) put(path string, r record) {
	r.used = true
	c.records[path] = &r
	c.dirty = true
}

// encode gives the file's bytes: a heading, the records by path, and the SHA-256 of it all; nil if nothing is to be written.
func (c *cache) encode(now time.Time) []byte {
	if !c.dirty {
		return nil
	}
	c.dirty = false
	oldest := now.Add(-keep).UnixNano()
	b := append(make([]byte, 0, 160*len(c.records)), cacheHeading...)
	for _, path := range slices.Sorted(maps.Keys(c.records)) {
		r := c.records[path]
		if !r.used && r.at < oldest {
			delete(c.records, path)
			continue
		}
		b = binary.AppendUvarint(b, uint64(len(path)))
		b = append(b, path...)
		for _, n := range [...]uint64{uint64(r.size), uint64(r.mtime), uint64(r.ctime), r.ino, r.dev, uint64(r.at)} {
			b = binary.LittleEndian.AppendUint64(b, n)
		}
		b = append(b, r.sum[:]...)
	}
	sum := sha256.Sum256(b)
	return append(b, sum[:]...)
}

// loadCache reads the file. One that is missing, of another version or damaged is an empty cache.
func loadCache(path string) *cache {
	data, err := os.ReadFile(path)
	if err != nil {
		return &cache{records: map[string]*record{}}
	}
	return decodeCache(data)
}

func decodeCache(data []byte) *cache {
	empty := &cache{records: map[string]*record{}}
	if len(data) < len(cacheHeading)+sha256.Size || !bytes.HasPrefix(data, []byte(cacheHeading)) {
		return empty
	}
	body, want := data[:len(data)-sha256.Size], data[len(data)-sha256.Size:]
	if sum := sha256.Sum256(body); !bytes.Equal(sum[:], want) {
		return empty
	}
	const fixed = 6*8 + sha256.Size
	all := make([]record, 0, len(body)/(fixed+32)) // one piece of memory for all of them
	c := &cache{records: make(map[string]*record, cap(all))}
	for b := body[len(cacheHeading):]; len(b) > 0; {
		n, w := binary.Uvarint(b)
		if w <= 0 || n > uint64(len(b)-w) || uint64(len(b)-w)-n < fixed {
			return empty
		}
		path := string(b[w : w+int(n)])
		b = b[w+int(n):]
		number := func(i int) uint64 { return binary.LittleEndian.Uint64(b[8*i:]) }
		r := record{
			stamp: stamp{size: int64(number(0)), mtime: int64(number(1)), ctime: int64(number(2)), ino: number(3), dev: number(4)},
			at:    int64(number(5)),
		}
		copy(r.sum[:], b[6*8:])
		b = b[fixed:]
		all = append(all, r)
		c.records[path] = &all[len(all)-1]
	}
	return c
}
