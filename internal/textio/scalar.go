package textio

import (
	"bytes"
	"math/bits"
	"strconv"

	"github.com/apache/arrow-go/v18/arrow/decimal128"
)

// problem says why a text is no value of a type; "" if it is one.
type problem string

const (
	malformed problem = "?" // nothing to say beyond what was expected
	outside   problem = "it is out of range"
	tooFine   problem = "it is finer than a microsecond"
	noZone    problem = "it has no zone"
	hasZone   problem = "it has a zone"
	notADay   problem = "there is no such day"
)

func isDigit(c byte) bool { return c-'0' <= 9 }

// parseInt reads an integer of the given bits: digits with an optional sign, and perhaps a fraction of zeros, which is how
// programs write whole numbers of a column that once held NULL.
func parseInt(s []byte, size int) (int64, problem) {
	digits, negative := sign(s)
	n, i := uint64(0), 0
	for ; i < len(digits) && isDigit(digits[i]); i++ {
		hi, lo := bits.Mul64(n, 10)
		sum, carry := bits.Add64(lo, uint64(digits[i]-'0'), 0)
		if hi != 0 || carry != 0 {
			return 0, overflowed(digits)
		}
		n = sum
	}
	if i == 0 || i < len(digits) && !zeroFraction(digits[i:]) {
		return 0, malformed
	}
	limit := uint64(1)<<(size-1) - 1
	if negative {
		limit++
	}
	if n > limit {
		return 0, outside
	}
	if negative {
		return -int64(n), ""
	}
	return int64(n), ""
}

// overflowed tells a number that is too long from one that goes wrong further on.
func overflowed(digits []byte) problem {
	for i, c := range digits {
		if !isDigit(c) && !zeroFraction(digits[i:]) {
			return malformed
		}
		if !isDigit(c) {
			break
		}
	}
	return outside
}

func zeroFraction(s []byte) bool {
	if len(s) < 2 || s[0] != '.' {
		return false
	}
	for _, c := range s[1:] {
		if c != '0' {
			return false
		}
	}
	return true
}

func sign(s []byte) (rest []byte, negative bool) {
	if len(s) > 0 && (s[0] == '-' || s[0] == '+') {
		return s[1:], s[0] == '-'
	}
	return s, false
}

// parseFloat reads a decimal number of the given bits. Hexadecimal and underscores, which strconv also reads, are no numbers here.
func parseFloat(s []byte, size int) (float64, problem) {
	if len(s) == 0 {
		return 0, malformed
	}
	switch c := s[len(s)-1]; {
	case isDigit(c), c == '.':
		for _, c := range s {
			if !isDigit(c) && c != '.' && c != '-' && c != '+' && c != 'e' && c != 'E' {
				return 0, malformed
			}
		}
	default: // a word: nan, inf, infinity
		rest, _ := sign(s)
		for _, c := range rest {
			if c|0x20 < 'a' || c|0x20 > 'z' {
				return 0, malformed
			}
		}
	}
	f, err := strconv.ParseFloat(string(s), size)
	if err != nil {
		if e, ok := err.(*strconv.NumError); ok && e.Err == strconv.ErrRange {
			return 0, outside
		}
		return 0, malformed
	}
	return f, ""
}

// parseDecimal reads a decimal number exactly, as its unscaled value.
func parseDecimal(s []byte, precision, scale int) (decimal128.Num, problem) {
	var zero decimal128.Num
	rest, negative := sign(s)
	var buf [64]byte
	digits := buf[:0]
	fraction, dot, any := 0, false, false
	i := 0
	for ; i < len(rest); i++ {
		c := rest[i]
		if c == '.' && !dot {
			dot = true
			continue
		}
		if !isDigit(c) {
			break
		}
		any = true
		if dot {
			fraction++
		}
		if c != '0' || len(digits) > 0 { // leading zeros say nothing
			digits = append(digits, c)
		}
	}
	exponent := 0
	if i < len(rest) {
		if rest[i]|0x20 != 'e' {
			return zero, malformed
		}
		e, p := parseInt(rest[i+1:], 32)
		if p != "" {
			return zero, p
		}
		if bytes.IndexByte(rest[i+1:], '.') >= 0 {
			return zero, malformed
		}
		exponent = int(e)
	}
	if !any {
		return zero, malformed
	}
	if len(digits) == 0 {
		return zero, ""
	}
	shift := exponent - fraction + scale
	for ; shift < 0 && len(digits) > 0 && digits[len(digits)-1] == '0'; shift++ {
		digits = digits[:len(digits)-1]
	}
	if shift < 0 {
		return zero, problem("it has more than " + strconv.Itoa(scale) + " digits after the point")
	}
	if len(digits)+shift > precision {
		return zero, problem("it has more than " + strconv.Itoa(precision-scale) + " digits before the point")
	}
	for range shift {
		digits = append(digits, '0')
	}
	low := max(0, len(digits)-19)
	hi, lo := bits.Mul64(number(digits[:low]), 1e19)
	lo, carry := bits.Add64(lo, number(digits[low:]), 0)
	n := decimal128.New(int64(hi+carry), lo)
	if negative {
		n = n.Negate()
	}
	return n, ""
}

// number is the value of up to 19 digits.
func number(digits []byte) uint64 {
	n := uint64(0)
	for _, c := range digits {
		n = n*10 + uint64(c-'0')
	}
	return n
}

func parseBool(s []byte) (bool, problem) {
	switch string(s) {
	case "true", "True", "TRUE":
		return true, ""
	case "false", "False", "FALSE":
		return false, ""
	}
	return false, malformed
}

func parseUUID(s []byte) (u [16]byte, p problem) {
	if len(s) != 36 || s[8] != '-' || s[13] != '-' || s[18] != '-' || s[23] != '-' {
		return u, malformed
	}
	at := 0
	for i := 0; i < 36; i += 2 {
		if s[i] == '-' {
			i++
		}
		hi, ok1 := unhex(s[i])
		lo, ok2 := unhex(s[i+1])
		if !ok1 || !ok2 {
			return u, malformed
		}
		u[at] = hi<<4 | lo
		at++
	}
	return u, ""
}

// appendHex appends the bytes that \x and hex digits mean.
func appendHex(dst, s []byte) ([]byte, problem) {
	if len(s) < 2 || s[0] != '\\' || s[1] != 'x' || len(s)%2 != 0 {
		return dst, malformed
	}
	for i := 2; i < len(s); i += 2 {
		hi, ok1 := unhex(s[i])
		lo, ok2 := unhex(s[i+1])
		if !ok1 || !ok2 {
			return dst, malformed
		}
		dst = append(dst, hi<<4|lo)
	}
	return dst, ""
}

// unhex gives the value of a hex digit.
func unhex(c byte) (byte, bool) {
	d := hexDigits[c]
	return d - 1, d != 0
}

// hexDigits holds one more than the value of each hex digit, and 0 for what is none.
var hexDigits = [256]byte{
	'0': 1, '1': 2, '2': 3, '3': 4, '4': 5, '5': 6, '6': 7, '7': 8, '8': 9, '9': 10,
	'a': 11, 'b': 12, 'c': 13, 'd': 14, 'e': 15, 'f': 16, 'A': 11, 'B': 12, 'C': 13, 'D': 14, 'E': 15, 'F': 16,
}
