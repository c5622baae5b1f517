package conform

import (
	"fmt"
	"math"
	"sort"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/bitutil"
	"github.com/apache/arrow-go/v18/arrow/memory"
)

// column does a top-level column: a NULL is a fault where the column is required. NULLs are counted after the cast, since a
// dictionary shows them only then.
func (s *step) column(a arrow.Array) (arrow.Array, *fault) {
	out, f := s.run(a)
	if f == nil && s.required && out.NullN() > 0 {
		defer out.Release()
		return nil, s.null(firstNull(out))
	}
	return out, f
}

func (s *step) null(index int) *fault {
	return &fault{
		path: s.path, index: index, msg: "NULL in a required column",
		hint: "leave such rows out in the stage, or declare the column without required",
	}
}

// run does the cast, and all checks below the column itself.
func (s *step) run(a arrow.Array) (arrow.Array, *fault) {
	if ext, ok := a.(array.ExtensionArray); ok && s.cast != nil || ok && len(s.children) > 0 {
		a = ext.Storage()
	}
	switch {
	case s.cast != nil:
		return s.cast(s, a)
	case len(s.children) == 0 && s.to.ID() != arrow.STRUCT:
		return relabel(a, s.to), nil
	}
	switch v := a.(type) {
	case *array.Struct:
		return s.structure(v)
	case *array.List:
		return s.list(a, v.ListValues(), v.Offsets())
	case *array.Map:
		return s.list(a, v.ListValues(), v.Offsets())
	case *array.LargeList:
		return s.list(a, v.ListValues(), v.Offsets())
	case *array.FixedSizeList:
		return s.list(a, v.ListValues(), nil)
	}
	return nil, &fault{path: s.path, msg: fmt.Sprintf("%s is no %s", Describe(a.DataType()), Describe(s.to))}
}

func (s *step) structure(a *array.Struct) (arrow.Array, *fault) {
	kids := make([]arrow.Array, 0, len(s.children))
	defer func() {
		for _, k := range kids {
			k.Release()
		}
	}()
	for i, c := range s.children {
		kid, f := s.child(c, s.source[i], a)
		if f != nil {
			return nil, f
		}
		kids = append(kids, kid)
	}
	datas := make([]arrow.ArrayData, len(kids))
	for i, k := range kids {
		datas[i] = k.Data()
	}
	data := array.NewData(s.to, a.Len(), []*memory.Buffer{validity(a)}, datas, a.NullN(), 0)
	defer data.Release()
	return array.MakeFromData(data), nil
}

func (s *step) child(c *step, source int, parent *array.Struct) (arrow.Array, *fault) {
	if source < 0 {
		return array.MakeArrayOfNull(memory.DefaultAllocator, c.to, parent.Len()), nil
	}
	kid := parent.Field(source)
	if parent.NullN() > 0 {
		// What a NULL struct hides is nobody's value: it must neither be cast nor be counted.
		kid = hide(kid, parent)
		defer kid.Release()
	}
	out, f := c.run(kid)
	if f == nil && c.required && out.NullN() > parent.NullN() {
		defer out.Release()
		return nil, c.null(firstNullBelow(out, parent))
	}
	return out, f
}

// list does lists of all kinds and maps. Only the elements that a list shows are looked at.
func (s *step) list(a arrow.Array, values arrow.Array, offsets any) (arrow.Array, *fault) {
	values, starts, f := s.shown(a, values, listBounds(a, offsets))
	if f != nil {
		return nil, f
	}
	defer values.Release()
	c := s.children[0]
	row := func(f *fault) *fault {
		f.index = sort.Search(a.Len(), func(i int) bool { return int(starts[i+1]) > f.index })
		return f
	}
	out, f := c.column(values)
	if f != nil {
		return nil, row(f)
	}
	defer out.Release()
	buffers := []*memory.Buffer{validity(a), memory.NewBufferBytes(arrow.GetBytes(starts))}
	data := array.NewData(s.to, a.Len(), buffers, []arrow.ArrayData{out.Data()}, a.NullN(), 0)
	defer data.Release()
	return array.MakeFromData(data), nil
}

// shown gives the elements that a's lists show, without gaps, and where each list starts among them.
func (s *step) shown(a, values arrow.Array, bounds func(int) (int64, int64)) (arrow.Array, []int32, *fault) {
	n := a.Len()
	starts := make([]int32, n+1)
	var parts []arrow.Array
	var from, to, total int64 // the range that is being grown
	cut := func() {
		if to > from {
			parts = append(parts, array.NewSlice(values, from, to))
		}
	}
	for i := range n {
		if a.IsValid(i) {
			lo, hi := bounds(i)
			if hi > lo {
				if lo != to {
					cut()
					from = lo
				}
				to = hi
				total += hi - lo
			}
		}
		if total > math.MaxInt32 {
			return nil, nil, &fault{path: s.path, index: i, msg: "the lists of one batch hold more than 2147483647 elements", hint: "write smaller batches"}
		}
		starts[i+1] = int32(total)
	}
	cut()
	switch len(parts) {
	case 0:
		return array.NewSlice(values, 0, 0), starts, nil
	case 1:
		return parts[0], starts, nil
	}
	joined, err := array.Concatenate(parts, memory.DefaultAllocator)
	for _, p := range parts {
		p.Release()
	}
	if err != nil {
		return nil, nil, &fault{path: s.path, msg: fmt.Sprintf("the elements do not join: %v", err)}
	}
	return joined, starts, nil
}

func listBounds(a arrow.Array, offsets any) func(int) (int64, int64) {
	at := a.Data().Offset()
	switch o := offsets.(type) {
	case []int32:
		return func(i int) (int64, int64) { return int64(o[at+i]), int64(o[at+i+1]) }
	case []int64:
		return func(i int) (int64, int64) { return o[at+i], o[at+i+1] }
	}
	width := int64(a.DataType().(*arrow.FixedSizeListType).Len())
	return func(i int) (int64, int64) { return int64(at+i) * width, int64(at+i+1) * width }
}

// relabel gives a under an equal type: the same buffers, the metadata and the zone's spelling of to.
func relabel(a arrow.Array, to arrow.DataType) arrow.Array {
	if a.DataType() == to {
		a.Retain()
		return a
	}
	d := a.Data()
	data := array.NewData(to, d.Len(), d.Buffers(), d.Children(), d.NullN(), d.Offset())
	defer data.Release()
	return array.MakeFromData(data)
}

// validity is the bitmap of a from bit 0 on; nil if there is no NULL.
func validity(a arrow.Array) *memory.Buffer {
	if a.NullN() == 0 || a.DataType().ID() == arrow.NULL {
		return nil
	}
	d := a.Data()
	if d.Offset() == 0 {
		return d.Buffers()[0]
	}
	out := make([]byte, bitutil.BytesForBits(int64(a.Len())))
	bitutil.CopyBitmap(a.NullBitmapBytes(), d.Offset(), a.Len(), out, 0)
	return memory.NewBufferBytes(out)
}

// hide gives kid with NULL wherever parent, of the same length, has one.
func hide(kid, parent arrow.Array) arrow.Array {
	if kid.DataType().ID() == arrow.NULL {
		kid.Retain()
		return kid
	}
	n, d := kid.Len(), kid.Data()
	// The buffers keep their offset, so the bitmap is made for it.
	bitmap := make([]byte, bitutil.BytesForBits(int64(d.Offset()+n)))
	bitutil.CopyBitmap(parent.NullBitmapBytes(), parent.Data().Offset(), n, bitmap, d.Offset())
	if kid.NullN() > 0 {
		bitutil.BitmapAnd(bitmap, kid.NullBitmapBytes(), int64(d.Offset()), int64(d.Offset()), bitmap, int64(d.Offset()), int64(n))
	}
	buffers := append([]*memory.Buffer{memory.NewBufferBytes(bitmap)}, d.Buffers()[1:]...)
	nulls := n - bitutil.CountSetBits(bitmap, d.Offset(), n)
	var data *array.Data
	if dict, ok := d.Dictionary().(*array.Data); ok && dict != nil {
		data = array.NewDataWithDictionary(d.DataType(), n, buffers, nulls, d.Offset(), dict)
	} else {
		data = array.NewData(d.DataType(), n, buffers, d.Children(), nulls, d.Offset())
	}
	defer data.Release()
	return array.MakeFromData(data)
}

func firstNull(a arrow.Array) int {
	for i := range a.Len() {
		if a.IsNull(i) {
			return i
		}
	}
	return 0
}

func firstNullBelow(kid, parent arrow.Array) int {
	for i := range kid.Len() {
		if kid.IsNull(i) && parent.IsValid(i) {
			return i
		}
	}
	return 0
}
