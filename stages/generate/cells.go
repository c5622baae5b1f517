package generate

import (
	"slices"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/bitutil"
	"github.com/apache/arrow-go/v18/arrow/decimal128"
	"github.com/apache/arrow-go/v18/arrow/memory"
)

// cells are the values of one column of one batch. A generator appends to the slice of its own type only.
type cells struct {
	long   []int64
	double []float64
	day    []int32
	wide   []decimal128.Num
	truth  []bool
	raw    []byte  // text, or 16 bytes a value
	ends   []int32 // of text: where each value ends in raw
	null   []bool  // nil: no NULL
	kids   []cells // of the fields of a JSON object, for one chunk
}

// grow makes room for n values.
func (c *cells) grow(g generator, n int) {
	switch g.arrow().ID() {
	case arrow.INT64, arrow.TIMESTAMP:
		c.long = make([]int64, 0, n)
	case arrow.FLOAT64:
		c.double = make([]float64, 0, n)
	case arrow.DATE32:
		c.day = make([]int32, 0, n)
	case arrow.DECIMAL128:
		c.wide = make([]decimal128.Num, 0, n)
	case arrow.BOOL:
		c.truth = make([]bool, 0, n)
	case arrow.EXTENSION:
		c.raw = make([]byte, 0, 16*n)
	case arrow.STRING:
		c.ends = make([]int32, 0, n)
	}
}

// expect makes room for the text of all rows, given that of the first ones.
func (c *cells) expect(have, all int) {
	c.raw = slices.Grow(c.raw, max(0, len(c.raw)/have*(all-have)*9/8)+64)
}

// reset forgets the values and keeps the room.
func (c *cells) reset() {
	c.long, c.double, c.day, c.wide = c.long[:0], c.double[:0], c.day[:0], c.wide[:0]
	c.truth, c.raw, c.ends, c.null = c.truth[:0], c.raw[:0], c.ends[:0], c.null[:0]
}

// text gives one value of a text column.
func (c *cells) text(i int) []byte {
	start := int32(0)
	if i > 0 {
		start = c.ends[i-1]
	}
	return c.raw[start:c.ends[i]]
}

func (s *spec) record(cols []cells, rows int64) arrow.RecordBatch {
	arrays := make([]arrow.Array, len(cols))
	for i := range cols {
		arrays[i] = cols[i].array(s.columns[i].gen.arrow(), int(rows))
	}
	batch := array.NewRecordBatch(s.schema, arrays, rows)
	for _, a := range arrays {
		a.Release()
	}
	return batch
}

func (c *cells) array(dt arrow.DataType, n int) arrow.Array {
	buffers := []*memory.Buffer{nil}
	nulls := 0
	if len(c.null) > 0 {
		valid := make([]byte, bitutil.BytesForBits(int64(n)))
		for i, null := range c.null {
			if null {
				nulls++
			} else {
				bitutil.SetBit(valid, i)
			}
		}
		if nulls > 0 {
			buffers[0] = memory.NewBufferBytes(valid)
		}
	}
	switch dt.ID() {
	case arrow.INT64, arrow.TIMESTAMP:
		buffers = append(buffers, memory.NewBufferBytes(arrow.GetBytes(c.long)))
	case arrow.FLOAT64:
		buffers = append(buffers, memory.NewBufferBytes(arrow.GetBytes(c.double)))
	case arrow.DATE32:
		buffers = append(buffers, memory.NewBufferBytes(arrow.GetBytes(c.day)))
	case arrow.DECIMAL128:
		buffers = append(buffers, memory.NewBufferBytes(arrow.GetBytes(c.wide)))
	case arrow.BOOL:
		bitmap := make([]byte, bitutil.BytesForBits(int64(n)))
		for i, t := range c.truth {
			if t {
				bitutil.SetBit(bitmap, i)
			}
		}
		buffers = append(buffers, memory.NewBufferBytes(bitmap))
	case arrow.EXTENSION:
		buffers = append(buffers, memory.NewBufferBytes(c.raw))
	case arrow.STRING:
		offsets := make([]int32, n+1)
		copy(offsets[1:], c.ends)
		buffers = append(buffers, memory.NewBufferBytes(arrow.GetBytes(offsets)), memory.NewBufferBytes(c.raw))
	}
	data := array.NewData(dt, n, buffers, nil, nulls, 0)
	defer data.Release()
	return array.MakeFromData(data)
}
