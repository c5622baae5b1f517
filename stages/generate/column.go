package generate

import (
	"encoding/hex"
	"fmt"
	"math"
	"sort"
	"strconv"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/decimal128"
	"github.com/apache/arrow-go/v18/arrow/extensions"

	"pipe/internal/diag"
)

// column is a column of the table, or a field of a JSON object.
type column struct {
	name  string
	path  string // names the column's streams: the names from the table's column down, NUL between them
	gen   generator
	nulls float64
	pos   diag.Pos
}

// generator makes values of one type. It holds no state: any chunk is made at any time, by any goroutine.
type generator interface {
	arrow() arrow.DataType
	// fill appends the values of p's rows.
	fill(c *cells, r random, p part) error
	// json appends the i-th value as JSON.
	json(b []byte, c *cells, i int) []byte
}

// fill appends the values of p's rows. Which are NULL is drawn from a stream of its own, so that nulls: changes no other value.
func (c *column) fill(to *cells, p part) error {
	if err := c.gen.fill(to, newRandom(p, c.path, "values"), p); err != nil {
		return err
	}
	if len(to.raw) > math.MaxInt32 {
		return &diag.Error{
			Exit: diag.Failed, Pos: c.pos, Msg: fmt.Sprintf("column %q: %d rows are more than 2 GiB of text", c.name, len(to.ends)),
			Hint: "make shorter texts",
		}
	}
	if c.nulls > 0 {
		r := newRandom(p, c.path, "nulls")
		for range p.rows {
			to.null = append(to.null, r.unit() < c.nulls)
		}
	}
	return nil
}

// integer is int: and, with another type, timestamp:.
type integer struct {
	lo   int64
	span uint64 // how many values there are; 0: 2^64
	dt   arrow.DataType
}

func (g integer) arrow() arrow.DataType { return g.dt }

func (g integer) fill(c *cells, r random, p part) error {
	for range p.rows {
		c.long = append(c.long, g.lo+int64(r.below(g.span)))
	}
	return nil
}

func (g integer) json(b []byte, c *cells, i int) []byte {
	if g.dt.ID() != arrow.TIMESTAMP {
		return strconv.AppendInt(b, c.long[i], 10)
	}
	return time.UnixMicro(c.long[i]).UTC().AppendFormat(b, `"2006-01-02T15:04:05.000000"`)
}

// sequence is seq:.
type sequence struct{ start int64 }

func (g sequence) arrow() arrow.DataType { return arrow.PrimitiveTypes.Int64 }

func (g sequence) fill(c *cells, _ random, p part) error {
	for i := range p.rows {
		c.long = append(c.long, g.start+p.first()+int64(i))
	}
	return nil
}

func (g sequence) json(b []byte, c *cells, i int) []byte { return strconv.AppendInt(b, c.long[i], 10) }

// float is float:.
type float struct{ lo, hi float64 }

func (g float) arrow() arrow.DataType { return arrow.PrimitiveTypes.Float64 }

func (g float) fill(c *cells, r random, p part) error {
	for range p.rows {
		// The conversion keeps a processor that can multiply and add in one step from doing so: it would round once, not twice.
		v := g.lo + float64(r.unit()*(g.hi-g.lo))
		if v >= g.hi {
			v = g.lo // by rounding
		}
		c.double = append(c.double, v)
	}
	return nil
}

func (g float) json(b []byte, c *cells, i int) []byte { return appendFloat(b, c.double[i]) }

func appendFloat(b []byte, v float64) []byte {
	if a := math.Abs(v); a != 0 && (a < 1e-6 || a >= 1e21) {
		return strconv.AppendFloat(b, v, 'e', -1, 64)
	}
	return strconv.AppendFloat(b, v, 'f', -1, 64)
}

// decimal is decimal:.
type decimal struct {
	lo   int64 // in units of the last digit
	span uint64
	dt   *arrow.Decimal128Type
}

func (g decimal) arrow() arrow.DataType { return g.dt }

func (g decimal) fill(c *cells, r random, p part) error {
	for range p.rows {
		c.wide = append(c.wide, decimal128.FromI64(g.lo+int64(r.below(g.span))))
	}
	return nil
}

func (g decimal) json(b []byte, c *cells, i int) []byte {
	n, scale := int64(c.wide[i].LowBits()), int(g.dt.Scale)
	if n < 0 {
		b, n = append(b, '-'), -n
	}
	var digits [20]byte
	d := strconv.AppendInt(digits[:0], n, 10)
	for len(d) <= scale { // a digit before the point
		d = append(d, 0)
		copy(d[1:], d)
		d[0] = '0'
	}
	b = append(b, d[:len(d)-scale]...)
	if scale > 0 {
		b = append(append(b, '.'), d[len(d)-scale:]...)
	}
	return b
}

// truth is bool:.
type truth struct{ p float64 }

func (g truth) arrow() arrow.DataType { return arrow.FixedWidthTypes.Boolean }

func (g truth) fill(c *cells, r random, p part) error {
	for range p.rows {
		c.truth = append(c.truth, r.unit() < g.p)
	}
	return nil
}

func (g truth) json(b []byte, c *cells, i int) []byte { return strconv.AppendBool(b, c.truth[i]) }

// uuid is uuid: a random one, version 4.
type uuid struct{ dt *extensions.UUIDType }

func (g uuid) arrow() arrow.DataType { return g.dt }

func (g uuid) fill(c *cells, r random, p part) error {
	for range p.rows {
		a, b := r.Uint64(), r.Uint64()
		a = a&^0xf000 | 0x4000
		b = b&^(3<<62) | 2<<62
		c.raw = append(
			c.raw,
			byte(a>>56), byte(a>>48), byte(a>>40), byte(a>>32), byte(a>>24), byte(a>>16), byte(a>>8), byte(a),
			byte(b>>56), byte(b>>48), byte(b>>40), byte(b>>32), byte(b>>24), byte(b>>16), byte(b>>8), byte(b),
		)
	}
	return nil
}

func (g uuid) json(b []byte, c *cells, i int) []byte {
	v := c.raw[16*i : 16*i+16]
	b = append(b, '"')
	for j, part := range [][]byte{v[:4], v[4:6], v[6:8], v[8:10], v[10:]} {
		if j > 0 {
			b = append(b, '-')
		}
		b = hex.AppendEncode(b, part)
	}
	return append(b, '"')
}

// date is date:.
type date struct {
	lo   int32 // days since 1970-01-01
	span uint64
}

func (g date) arrow() arrow.DataType { return arrow.FixedWidthTypes.Date32 }

func (g date) fill(c *cells, r random, p part) error {
	for range p.rows {
		c.day = append(c.day, g.lo+int32(r.below(g.span)))
	}
	return nil
}

func (g date) json(b []byte, c *cells, i int) []byte {
	return time.Unix(int64(c.day[i])*86400, 0).UTC().AppendFormat(b, `"2006-01-02"`)
}

// choice is oneof: and weighted:. Only the list of its type is set.
type choice struct {
	dt     arrow.DataType
	texts  []string
	longs  []int64
	floats []float64
	truths []bool
	shares []float64 // weighted: up to where in [0, 1) each value reaches; the last is 1
}

func (g choice) arrow() arrow.DataType { return g.dt }

func (g choice) len() int { return len(g.texts) + len(g.longs) + len(g.floats) + len(g.truths) }

func (g choice) fill(c *cells, r random, p part) error {
	n := uint64(g.len())
	for range p.rows {
		var k int
		if g.shares == nil {
			k = int(r.below(n))
		} else {
			u := r.unit()
			k = sort.Search(len(g.shares)-1, func(i int) bool { return u < g.shares[i] })
		}
		switch {
		case g.texts != nil:
			c.raw = append(c.raw, g.texts[k]...)
			c.ends = append(c.ends, int32(len(c.raw)))
		case g.longs != nil:
			c.long = append(c.long, g.longs[k])
		case g.floats != nil:
			c.double = append(c.double, g.floats[k])
		default:
			c.truth = append(c.truth, g.truths[k])
		}
	}
	return nil
}

func (g choice) json(b []byte, c *cells, i int) []byte {
	switch {
	case g.texts != nil:
		return appendJSONText(b, c.text(i))
	case g.longs != nil:
		return strconv.AppendInt(b, c.long[i], 10)
	case g.floats != nil:
		return appendFloat(b, c.double[i])
	}
	return strconv.AppendBool(b, c.truth[i])
}

// fits looks whether the rows from one on stay within what their columns hold.
func (s *spec) fits(from int64) error {
	if s.rows == 0 {
		return nil
	}
	return runsOver(s.columns, s.stage, from+s.rows-1)
}

func runsOver(columns []column, stage string, last int64) error {
	for _, c := range columns {
		switch g := c.gen.(type) {
		case sequence:
			if g.start > math.MaxInt64-last {
				return &diag.Error{
					Exit: diag.Failed, Pos: c.pos, Stage: stage,
					Msg: fmt.Sprintf("column %q: seq runs over 9223372036854775807", c.name), Hint: "start it lower",
				}
			}
		case object:
			if err := runsOver(g.fields, stage, last); err != nil {
				return err
			}
		}
	}
	return nil
}
