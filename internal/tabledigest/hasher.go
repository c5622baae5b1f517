package tabledigest

import (
	"fmt"
	"math/bits"
	"sync"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/extensions"
)

// tile is how many rows are hashed column by column before the next: their accumulators and one column's part fit into the
// first-level cache.
const tile = 1024

// Hasher sums the rows of batches. It is made for one Arrow schema and safe for several goroutines.
type Hasher struct {
	columns []*node
	scratch sync.Pool // of *scratch
}

// New gives a Hasher for batches of a schema. The error names the first column whose type has no place in an Iceberg v2 table, or
// whose name stands twice.
func New(s *arrow.Schema) (*Hasher, error) {
	h := &Hasher{}
	h.scratch.New = func() any { return &scratch{} }
	seen := map[string]bool{}
	for _, f := range s.Fields() {
		if seen[f.Name] {
			return nil, fmt.Errorf("column %q stands twice", f.Name)
		}
		seen[f.Name] = true
		n, err := newNode(f.Name, f.Type)
		if err != nil {
			return nil, fmt.Errorf("column %q: %w", f.Name, err)
		}
		h.columns = append(h.columns, n)
	}
	return h, nil
}

// Batch gives the sum of a batch's rows. The batch must have the columns of the Hasher's schema, in its order; one of other columns
// is a mistake of the program, and panics. Seconds, milliseconds and nanoseconds count as the microsecond that they are in, so the
// caller must have turned away what a table cannot hold.
func (h *Hasher) Batch(b arrow.RecordBatch) Sum {
	if int(b.NumCols()) != len(h.columns) {
		panic(fmt.Sprintf("tabledigest: a batch of %d columns where the schema has %d", b.NumCols(), len(h.columns)))
	}
	s := h.scratch.Get().(*scratch)
	defer func() {
		s.forget()
		h.scratch.Put(s)
	}()
	var sum Sum
	rows := int(b.NumRows())
	lo, hi := s.take(min(rows, tile))
	for from := 0; from < rows; from += tile {
		to := min(from+tile, rows)
		lo, hi := lo[:to-from], hi[:to-from]
		clear(lo)
		clear(hi)
		for i, n := range h.columns {
			n.add(b.Column(i), from, to, lo, hi, s)
		}
		sum = sum.Add(sumRows(lo, hi))
	}
	s.give(lo, hi)
	return sum
}

// sumRows seals each row and sums them.
func sumRows(lo, hi []uint64) Sum {
	sum := Sum{rows: uint64(len(lo))}
	for i := range lo {
		l, h := seal(lo[i], hi[i])
		var carry uint64
		sum.lo, carry = bits.Add64(sum.lo, l, 0)
		sum.hi, _ = bits.Add64(sum.hi, h, carry)
	}
	return sum
}

// node is how one column, or one part of a nested column, is hashed.
type node struct {
	class    string
	key      pair
	children []*node // struct: its fields in order; list: the element; map: key and value
}

// newNode reads a type. Widths and physical variants are left to the arrays, so that batches may mix them.
func newNode(name string, t arrow.DataType) (*node, error) {
	class, parts, err := classify(t)
	if err != nil {
		return nil, err
	}
	n := &node{class: class, key: keyOf(class, name)}
	for _, p := range parts {
		child, err := newNode(p.Name, p.Type)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", p.Name, err)
		}
		n.children = append(n.children, child)
	}
	return n, nil
}

// classify gives the class of values that a type holds, and its parts under the names that Iceberg gives them.
func classify(t arrow.DataType) (class string, parts []arrow.Field, err error) {
	switch t := t.(type) {
	case *arrow.BooleanType:
		return "boolean", nil, nil
	case *arrow.Int8Type, *arrow.Int16Type, *arrow.Int32Type, *arrow.Int64Type, *arrow.Uint8Type, *arrow.Uint16Type, *arrow.Uint32Type:
		return "int", nil, nil
	case *arrow.Float32Type, *arrow.Float64Type:
		return "float", nil, nil
	case *arrow.Decimal32Type, *arrow.Decimal64Type, *arrow.Decimal128Type:
		return "decimal", nil, nil
	case *arrow.Date32Type, *arrow.Date64Type:
		return "date", nil, nil
	case *arrow.Time32Type, *arrow.Time64Type:
		return "time", nil, nil
	case *arrow.TimestampType:
		if t.TimeZone != "" {
			return "timestamptz", nil, nil
		}
		return "timestamp", nil, nil
	case *arrow.StringType, *arrow.LargeStringType, *arrow.StringViewType:
		return "string", nil, nil
	case *arrow.BinaryType, *arrow.LargeBinaryType, *arrow.BinaryViewType:
		return "binary", nil, nil
	case *arrow.FixedSizeBinaryType:
		return "fixed", nil, nil
	case *extensions.UUIDType:
		return "uuid", nil, nil
	case *arrow.DictionaryType:
		return classify(t.ValueType)
	case *arrow.StructType:
		seen := map[string]bool{}
		for _, f := range t.Fields() {
			if seen[f.Name] {
				return "", nil, fmt.Errorf("field %q stands twice", f.Name)
			}
			seen[f.Name] = true
		}
		return "struct", t.Fields(), nil
	case *arrow.MapType:
		return "map", []arrow.Field{{Name: "key", Type: t.KeyType()}, {Name: "value", Type: t.ItemType()}}, nil
	case *arrow.ListType:
		return "list", []arrow.Field{{Name: "element", Type: t.Elem()}}, nil
	case *arrow.LargeListType:
		return "list", []arrow.Field{{Name: "element", Type: t.Elem()}}, nil
	case *arrow.FixedSizeListType:
		return "list", []arrow.Field{{Name: "element", Type: t.Elem()}}, nil
	}
	return "", nil, fmt.Errorf("type %s is none that a table holds", t)
}

// scratch is the memory of one call of Batch: accumulators, and the cells of dictionaries.
type scratch struct {
	free  [][]uint64
	dicts map[dictKey][2][]uint64
}

type dictKey struct {
	n    *node
	dict arrow.Array
}

// take gives two accumulators of n zeros.
func (s *scratch) take(n int) (lo, hi []uint64) { return s.one(n), s.one(n) }

func (s *scratch) one(n int) []uint64 {
	if k := len(s.free); k > 0 && cap(s.free[k-1]) >= n {
		b := s.free[k-1][:n]
		s.free = s.free[:k-1]
		clear(b)
		return b
	}
	return make([]uint64, n, max(n, tile))
}

func (s *scratch) give(lo, hi []uint64) {
	const most = 1 << 16 // a list column of one huge batch must not be kept for ever
	if cap(lo) <= most {
		s.free = append(s.free, lo, hi)
	}
}

// forget drops what belongs to the batch, so that a pooled scratch keeps no array alive.
func (s *scratch) forget() { clear(s.dicts) }
