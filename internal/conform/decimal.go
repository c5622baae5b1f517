package conform

import (
	"math"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/decimal"
	"github.com/apache/arrow-go/v18/arrow/decimal128"
)

// toDecimal takes every number that the target holds to the last digit; which ones is seen value by value.
func toDecimal(from arrow.DataType, to *arrow.Decimal128Type) (castFunc, string) {
	at := func(scale int32) func(decimal128.Num) (decimal128.Num, bool) {
		return func(n decimal128.Num) (decimal128.Num, bool) { return rescale(n, scale, to.Precision, to.Scale) }
	}
	switch t := from.(type) {
	case *arrow.Decimal128Type:
		if t.Precision == to.Precision && t.Scale == to.Scale {
			return nil, ""
		}
		return fixed(at(t.Scale)), ""
	case *arrow.Decimal32Type:
		conv := at(t.Scale)
		return fixed(func(v int32) (decimal128.Num, bool) { return conv(decimal128.FromI64(int64(v))) }), ""
	case *arrow.Decimal64Type:
		conv := at(t.Scale)
		return fixed(func(v int64) (decimal128.Num, bool) { return conv(decimal128.FromI64(v)) }), ""
	case *arrow.Decimal256Type:
		conv := at(t.Scale)
		return fixed(func(v decimal.Decimal256) (decimal128.Num, bool) {
			big := v.BigInt()
			if big.BitLen() > 127 {
				return decimal128.Num{}, false
			}
			return conv(decimal128.FromBigInt(big))
		}), ""
	}
	switch from.ID() {
	case arrow.INT8:
		return whole[int8](at(0)), ""
	case arrow.INT16:
		return whole[int16](at(0)), ""
	case arrow.INT32:
		return whole[int32](at(0)), ""
	case arrow.INT64:
		return whole[int64](at(0)), ""
	case arrow.UINT8:
		return whole[uint8](at(0)), ""
	case arrow.UINT16:
		return whole[uint16](at(0)), ""
	case arrow.UINT32:
		return whole[uint32](at(0)), ""
	case arrow.UINT64:
		return whole[uint64](at(0)), ""
	case arrow.FLOAT16, arrow.FLOAT32, arrow.FLOAT64:
		return nil, "a double is no exact decimal"
	}
	return nil, "these types do not mix"
}

func whole[S integerType](conv func(decimal128.Num) (decimal128.Num, bool)) castFunc {
	return fixed(func(v S) (decimal128.Num, bool) {
		if v < 0 {
			return conv(decimal128.FromI64(int64(v)))
		}
		return conv(decimal128.FromU64(uint64(v)))
	})
}

// rescale writes n, which has scale digits after the point, with toScale of them, if toPrecision digits hold it exactly.
func rescale(n decimal128.Num, scale, toPrecision, toScale int32) (decimal128.Num, bool) {
	if n.HighBits() == math.MinInt64 && n.LowBits() == 0 {
		return n, false // its absolute value has no 128-bit form
	}
	const most = 38 // digits of a 128-bit decimal
	switch up := toScale - scale; {
	case n == decimal128.Num{}:
		return n, true
	case up > 0:
		// Tested before the multiplication, which wraps.
		if up > most || toPrecision < up || !n.FitsInPrecision(toPrecision-up) {
			return n, false
		}
		return n.Mul(decimal128.GetScaleMultiplier(int(up))), true
	case up < 0:
		if -up > most {
			return n, false
		}
		q, rest := n.Div(decimal128.GetScaleMultiplier(int(-up)))
		if (rest != decimal128.Num{}) {
			return n, false
		}
		n = q
	}
	return n, n.FitsInPrecision(toPrecision)
}
