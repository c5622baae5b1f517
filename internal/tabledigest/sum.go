// Package tabledigest names the content of a table: equal multisets of rows under equal columns have equal digests, whatever the
// order of the rows and columns, the files, the batches, the number of goroutines and the physical Arrow types. The encoding is
// written down byte for byte in docs/fingerprint.md.
//
// It guards against accidents, not against forgery: 128 bits and no key. It never reads a file, never casts and never drops a
// value: a column whose type it does not cover is an error before the first row.
package tabledigest

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"math/bits"
	"sort"
	"strconv"
	"strings"

	"pipe/pipeline/fingerprint"
	"pipe/pipeline/schema"
)

// Version is the encoding that this package writes; it leads every Sum and Digest in text.
const Version = 1

const prefix = "1:"

// Sum is the sum of the hashes of rows, modulo 2^128, and how many they are. The zero value is no rows. Sums are values: they
// compare with ==, and Add commutes, so that parts may be summed in any order.
type Sum struct {
	hi, lo uint64
	rows   uint64
}

// Add gives the sum of the rows of both.
func (s Sum) Add(t Sum) Sum {
	lo, carry := bits.Add64(s.lo, t.lo, 0)
	hi, _ := bits.Add64(s.hi, t.hi, carry)
	return Sum{hi: hi, lo: lo, rows: s.rows + t.rows}
}

// Sub takes rows away again that were added before: s.Add(t).Sub(t) is s.
func (s Sum) Sub(t Sum) Sum {
	lo, borrow := bits.Sub64(s.lo, t.lo, 0)
	hi, _ := bits.Sub64(s.hi, t.hi, borrow)
	return Sum{hi: hi, lo: lo, rows: s.rows - t.rows}
}

// Rows is how many rows were summed.
func (s Sum) Rows() int64 { return int64(s.rows) }

// String gives "1:" and 48 lower-case hex digits: the sum in 32, the rows in 16, both big-endian. ParseSum reads it back.
func (s Sum) String() string {
	var b [24]byte
	binary.BigEndian.PutUint64(b[0:], s.hi)
	binary.BigEndian.PutUint64(b[8:], s.lo)
	binary.BigEndian.PutUint64(b[16:], s.rows)
	return prefix + hex.EncodeToString(b[:])
}

// ParseSum reads what String wrote; any other text, and another version, is an error. A caller that meets one scans the table.
func ParseSum(text string) (Sum, error) {
	version, digits, ok := strings.Cut(text, ":")
	if !ok || version != strconv.Itoa(Version) {
		return Sum{}, fmt.Errorf("sum %q: expected version %d", text, Version)
	}
	b, err := hex.DecodeString(digits)
	if err != nil || len(b) != 24 || digits != strings.ToLower(digits) {
		return Sum{}, fmt.Errorf("sum %q: expected 48 lower-case hex digits after %q", text, prefix)
	}
	s := Sum{hi: binary.BigEndian.Uint64(b[0:]), lo: binary.BigEndian.Uint64(b[8:]), rows: binary.BigEndian.Uint64(b[16:])}
	if s.rows>>63 != 0 {
		return Sum{}, fmt.Errorf("sum %q: its count of rows is over 2^63", text)
	}
	return s, nil
}

// Digest names a table: its rows by their sum and count, and its columns by name, type and whether they are required. The order of
// the columns and their docs do not count.
func Digest(sum Sum, s schema.Schema) fingerprint.Digest {
	h := sha256.New()
	h.Write([]byte(digestText(sum, s)))
	return fingerprint.Digest(prefix + hex.EncodeToString(h.Sum(nil)))
}

// digestText is what Digest hashes.
func digestText(sum Sum, s schema.Schema) string {
	var b strings.Builder
	fmt.Fprintf(&b, "pipe table digest %d\n", Version)
	fmt.Fprintf(&b, "sum %016x%016x\n", sum.hi, sum.lo)
	fmt.Fprintf(&b, "rows %d\n", sum.rows)
	writeFields(&b, "", s.Fields)
	return b.String()
}

// writeFields writes one line a field, a parent before its children, siblings sorted by the bytes of their names.
func writeFields(b *strings.Builder, parent string, fields []schema.Field) {
	sorted := append([]schema.Field(nil), fields...)
	sort.SliceStable(sorted, func(i, j int) bool { return sorted[i].Name < sorted[j].Name })
	for _, f := range sorted {
		path := parent + quote(f.Name)
		presence := "optional"
		if f.Required {
			presence = "required"
		}
		fmt.Fprintf(b, "column %s %s %s\n", path, typeText(f.Type), presence)
		writeFields(b, path+".", f.Type.Fields)
	}
}

// typeText writes a type less its fields. It is of its own, and not the text of pipeline.yaml, because that may gain spellings and
// this may never change under one version.
func typeText(t schema.Type) string {
	switch t.Kind {
	case schema.Decimal:
		return fmt.Sprintf("decimal(%d,%d)", t.Precision, t.Scale)
	case schema.Fixed:
		return fmt.Sprintf("fixed(%d)", t.Length)
	}
	return string(t.Kind)
}

func quote(name string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`).Replace(name) + `"`
}
