package generate

import (
	"math"
	"math/big"
	"sort"
	"strings"
	"time"

	"github.com/apache/arrow-go/v18/arrow"

	"pipe/internal/diag"
	"pipe/pipeline"
	"pipe/stages"
)

// share reads a probability.
func (p *parser) share(path string, v *pipeline.Value) float64 {
	f, ok := stages.AsFloat(v)
	if !ok || !(f >= 0 && f <= 1) {
		p.bad(v, "%s: expected a share from 0 to 1, not %s", path, stages.Describe(v)).With("write 0.1 for one row in ten")
		return 0
	}
	return f
}

// items reads a list of n values.
func (p *parser) items(path string, v *pipeline.Value, n int, expected, example string) []*pipeline.Value {
	if v.Kind == pipeline.List && len(v.Items) == n {
		return v.Items
	}
	p.bad(v, "%s: expected %s, not %s", path, expected, stages.Describe(v)).With("write %s", example)
	return nil
}

func (p *parser) reversed(path string, v, lo, hi *pipeline.Value) *diag.Error {
	return p.bad(v, "%s: %s is above %s", path, lo.Text, hi.Text).With("write the lower one first: [%s, %s]", hi.Text, lo.Text)
}

func (p *parser) integer(path string, v *pipeline.Value) generator {
	items := p.items(path, v, 2, "the lowest and the highest number", "{int: [1, 100]}")
	if items == nil {
		return nil
	}
	lo, ok1 := stages.AsInt(items[0])
	hi, ok2 := stages.AsInt(items[1])
	for i, ok := range []bool{ok1, ok2} {
		if !ok {
			p.bad(items[i], "%s[%d]: expected a whole number of 64 bits, not %s", path, i, stages.Describe(items[i])).With("write {int: [1, 100]}")
		}
	}
	if !ok1 || !ok2 {
		return nil
	}
	if lo > hi {
		p.reversed(path, v, items[0], items[1])
		return nil
	}
	return integer{lo: lo, span: uint64(hi) - uint64(lo) + 1, dt: arrow.PrimitiveTypes.Int64}
}

func (p *parser) float(path string, v *pipeline.Value) generator {
	items := p.items(path, v, 2, "two numbers", "{float: [0, 1]}")
	if items == nil {
		return nil
	}
	var ends [2]float64
	for i, item := range items {
		f, ok := stages.AsFloat(item)
		if !ok || math.IsInf(f, 0) || math.IsNaN(f) {
			p.bad(item, "%s[%d]: expected a finite number, not %s", path, i, stages.Describe(item)).With("write {float: [0, 1]}")
			return nil
		}
		ends[i] = f
	}
	switch {
	case ends[0] > ends[1]:
		p.reversed(path, v, items[0], items[1])
	case ends[0] == ends[1]:
		p.bad(v, "%s: no number is from %s and below %s", path, items[0].Text, items[1].Text).With("give a range: [0, 1]")
	case math.IsInf(ends[1]-ends[0], 0):
		p.bad(v, "%s: the range is wider than a double", path).With("give a narrower range")
	default:
		return float{ends[0], ends[1]}
	}
	return nil
}

// decimalDigits is the precision of all decimals: fixed, so that another range is no other type of the table's column.
const decimalDigits = 18

func (p *parser) decimal(path string, v *pipeline.Value) generator {
	items := p.items(path, v, 3, "the lowest and the highest number and the digits after the point", "{decimal: [1, 500, 2]}")
	if items == nil {
		return nil
	}
	scale, ok := stages.AsInt(items[2])
	if !ok || scale < 0 || scale > decimalDigits {
		p.bad(items[2], "%s[2]: expected 0 to %d digits after the point, not %s", path, decimalDigits, stages.Describe(items[2])).With("write {decimal: [1, 500, 2]}")
		return nil
	}
	var ends [2]int64
	for i, item := range items[:2] {
		n, why := units(item, scale)
		if why != "" {
			p.bad(item, "%s[%d]: %s %s", path, i, stages.Describe(item), why).With("write {decimal: [1, 500, 2]}")
			return nil
		}
		ends[i] = n
	}
	if ends[0] > ends[1] {
		p.reversed(path, v, items[0], items[1])
		return nil
	}
	return decimal{
		lo: ends[0], span: uint64(ends[1]) - uint64(ends[0]) + 1,
		dt: &arrow.Decimal128Type{Precision: decimalDigits, Scale: int32(scale)},
	}
}

// units gives a number in units of its last digit, from the digits as they were written.
func units(v *pipeline.Value, scale int64) (int64, string) {
	f, ok := stages.AsFloat(v)
	if !ok || math.IsNaN(f) {
		return 0, "is no number"
	}
	if math.Abs(f) >= 1e18 {
		return 0, "has more than 18 digits"
	}
	if f != 0 && math.Abs(f) < 1e-18 || f == 0 && strings.ContainsAny(strings.ToLower(v.Text), "123456789") && v.Kind == pipeline.Float {
		return 0, "has more digits after the point than that"
	}
	n, exact := stages.AsInt(v)
	r := new(big.Rat).SetInt64(n)
	if !exact {
		if _, ok := r.SetString(v.Text); !ok {
			return 0, "is no number"
		}
	}
	r.Mul(r, new(big.Rat).SetInt(new(big.Int).Exp(big.NewInt(10), big.NewInt(scale), nil)))
	if !r.IsInt() {
		return 0, "has more digits after the point than that"
	}
	if r.Num().CmpAbs(big.NewInt(1_000_000_000_000_000_000)) >= 0 {
		return 0, "has more than 18 digits"
	}
	return r.Num().Int64(), ""
}

func (p *parser) oneOf(path string, v *pipeline.Value) generator {
	if v.Kind != pipeline.List || len(v.Items) == 0 {
		p.bad(v, "%s: expected a list of values, not %s", path, stages.Describe(v)).With("write {oneof: [a, b]}")
		return nil
	}
	var g choice
	var kind pipeline.ValueKind // of the values so far; an int among floats is one of them
	for i, item := range v.Items {
		switch item.Kind {
		case pipeline.String, pipeline.Int, pipeline.Float, pipeline.Bool:
		default:
			e := p.bad(item, "%s[%d]: expected a text, a number or a boolean, not %s", path, i, stages.Describe(item))
			if item.Kind == pipeline.Null {
				e.Hint = "write nulls: 0.1 beside oneof:"
			}
			return nil
		}
		switch {
		case kind == pipeline.Null || kind == item.Kind || kind == pipeline.Int && item.Kind == pipeline.Float:
			kind = item.Kind
		case kind == pipeline.Float && item.Kind == pipeline.Int:
		default:
			p.bad(item, "%s[%d]: %s is of another type than the values before it", path, i, stages.Describe(item)).With("put quotes around the values to make texts of them")
			return nil
		}
	}
	for i, item := range v.Items {
		switch kind {
		case pipeline.String:
			g.texts, g.dt = append(g.texts, item.Text), arrow.BinaryTypes.String
		case pipeline.Bool:
			g.truths, g.dt = append(g.truths, item.Text == "true"), arrow.FixedWidthTypes.Boolean
		case pipeline.Int:
			n, ok := stages.AsInt(item)
			if !ok {
				p.bad(item, "%s[%d]: %s does not fit 64 bits", path, i, stages.Describe(item))
				return nil
			}
			g.longs, g.dt = append(g.longs, n), arrow.PrimitiveTypes.Int64
		default:
			f, ok := stages.AsFloat(item)
			if !ok || math.IsInf(f, 0) || math.IsNaN(f) {
				p.bad(item, "%s[%d]: expected a finite number, not %s", path, i, stages.Describe(item))
				return nil
			}
			g.floats, g.dt = append(g.floats, f), arrow.PrimitiveTypes.Float64
		}
	}
	return g
}

// weighted reads texts and their weights. They are put in order of the texts: the order of keys in a YAML map means nothing.
func (p *parser) weighted(path string, v *pipeline.Value) generator {
	if v.Kind != pipeline.Map || len(v.Keys) == 0 {
		p.bad(v, "%s: expected a map of texts and weights, not %s", path, stages.Describe(v)).With("write {weighted: {a: 3, b: 1}}")
		return nil
	}
	keys := append([]pipeline.Key(nil), v.Keys...)
	sort.Slice(keys, func(i, j int) bool { return keys[i].Name < keys[j].Name })
	g := choice{dt: arrow.BinaryTypes.String}
	total, ok := 0.0, true
	for _, k := range keys {
		f, isNumber := stages.AsFloat(k.Value)
		if !isNumber || !(f >= 0) || math.IsInf(f, 0) {
			p.bad(k.Value, "%s.%s: expected a weight of at least 0, not %s", path, k.Name, stages.Describe(k.Value)).With("write {weighted: {a: 3, b: 1}}")
			ok = false
		}
		if f == 0 {
			continue // never drawn
		}
		total += f
		g.texts, g.shares = append(g.texts, k.Name), append(g.shares, total)
	}
	if !ok {
		return nil
	}
	if total == 0 || math.IsInf(total, 0) {
		p.bad(v, "%s: the weights sum up to %v", path, total).With("write {weighted: {a: 3, b: 1}}")
		return nil
	}
	for i := range g.shares {
		g.shares[i] /= total
	}
	return g
}

func (p *parser) timestamp(path string, v *pipeline.Value) generator {
	ends, ok := p.times(path, v, "{timestamp: [2025-01-01, 2025-02-01 12:00:00]}",
		"2006-01-02", "2006-01-02 15:04:05", "2006-01-02T15:04:05", "2006-01-02 15:04", "2006-01-02T15:04")
	if !ok {
		return nil
	}
	lo, hi := ends[0].UnixMicro(), ends[1].UnixMicro()
	if lo == hi {
		p.bad(v, "%s: no instant is from %s and before %s", path, v.Items[0].Text, v.Items[1].Text).With("the second one is the first instant that is not taken")
		return nil
	}
	return integer{lo: lo, span: uint64(hi - lo), dt: &arrow.TimestampType{Unit: arrow.Microsecond}}
}

func (p *parser) date(path string, v *pipeline.Value) generator {
	ends, ok := p.times(path, v, "{date: [2025-01-01, 2025-01-31]}", "2006-01-02")
	if !ok {
		return nil
	}
	lo, hi := days(ends[0]), days(ends[1])
	return date{lo: int32(lo), span: uint64(hi - lo + 1)}
}

func days(t time.Time) int64 {
	const day = 86400
	s := t.Unix()
	return (s - ((s%day)+day)%day) / day
}

// times reads two times in one of the layouts.
func (p *parser) times(path string, v *pipeline.Value, example string, layouts ...string) ([2]time.Time, bool) {
	var ends [2]time.Time
	items := p.items(path, v, 2, "two times", example)
	if items == nil {
		return ends, false
	}
	for i, item := range items {
		t, ok := readTime(item, layouts)
		if !ok {
			p.bad(item, "%s[%d]: expected a time without zone, to the microsecond at most, not %s", path, i, stages.Describe(item)).With("write %s", example)
			return ends, false
		}
		ends[i] = t
	}
	if ends[1].Before(ends[0]) {
		p.bad(v, "%s: %s is after %s", path, items[0].Text, items[1].Text).With("write the earlier one first: [%s, %s]", items[1].Text, items[0].Text)
		return ends, false
	}
	return ends, true
}

func readTime(v *pipeline.Value, layouts []string) (time.Time, bool) {
	if v.Kind != pipeline.String {
		return time.Time{}, false
	}
	for _, layout := range layouts {
		if t, err := time.Parse(layout, v.Text); err == nil {
			return t, t.Nanosecond()%1000 == 0 && t.Year() > 0
		}
	}
	return time.Time{}, false
}
