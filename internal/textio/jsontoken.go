package textio

import (
	"fmt"
	"unicode/utf16"
	"unicode/utf8"
)

// maxDepth bounds values that are kept as text or inferred; declared types bound themselves.
const maxDepth = 100

// jsonText reads JSON values out of a text, strictly as RFC 8259 has them. It is written out because no library reads numbers
// exactly, notices a key that stands twice and says at which byte a value is wrong.
type jsonText struct {
	b     []byte // up to the end of the line
	at    int
	buf   []byte // holds the last string that had escapes
	depth int
	nulls *nullWords
}

// jsonFault is one mistake at a byte of the text.
type jsonFault struct {
	off, width int
	msg, hint  string
}

func (j *jsonText) fault(format string, args ...any) *jsonFault {
	return &jsonFault{off: j.at, width: 1, msg: fmt.Sprintf(format, args...)}
}

// unexpected says what was expected where the text goes on otherwise.
func (j *jsonText) unexpected(want string) *jsonFault {
	if j.at >= len(j.b) {
		return j.fault("expected %s, got the end of the text", want)
	}
	return j.fault("expected %s, got %q", want, firstRune(j.b[j.at:]))
}

func (j *jsonText) space() {
	for j.at < len(j.b) && (j.b[j.at] == ' ' || j.b[j.at] == '\t' || j.b[j.at] == '\r' || j.b[j.at] == '\n') {
		j.at++
	}
}

// peek skips space and gives the next byte, 0 at the end.
func (j *jsonText) peek() byte {
	j.space()
	if j.at < len(j.b) {
		return j.b[j.at]
	}
	return 0
}

// object reads an object; member gets each key and its place, and reads the colon and the value.
func (j *jsonText) object(member func(key []byte, at int) *jsonFault) *jsonFault {
	if j.depth++; j.depth > maxDepth {
		return j.fault("values are nested deeper than %d", maxDepth)
	}
	j.at++ // the brace
	if j.peek() == '}' {
		j.at++
		j.depth--
		return nil
	}
	for {
		if j.peek() != '"' {
			return j.unexpected("a key in quotes")
		}
		at := j.at
		key, err := j.string()
		if err != nil {
			return err
		}
		if err := member(key, at); err != nil {
			return err
		}
		switch j.peek() {
		case ',':
			j.at++
		case '}':
			j.at++
			j.depth--
			return nil
		default:
			return j.unexpected("a comma or }")
		}
	}
}

func (j *jsonText) colon() *jsonFault {
	if j.peek() != ':' {
		return j.unexpected("a colon after the key")
	}
	j.at++
	return nil
}

func (j *jsonText) array(element func() *jsonFault) *jsonFault {
	if j.depth++; j.depth > maxDepth {
		return j.fault("values are nested deeper than %d", maxDepth)
	}
	j.at++ // the bracket
	if j.peek() == ']' {
		j.at++
		j.depth--
		return nil
	}
	for {
		if err := element(); err != nil {
			return err
		}
		switch j.peek() {
		case ',':
			j.at++
		case ']':
			j.at++
			j.depth--
			return nil
		default:
			return j.unexpected("a comma or ]")
		}
	}
}

// skip reads over one value.
func (j *jsonText) skip() *jsonFault {
	switch c := j.peek(); {
	case c == '{':
		return j.object(func([]byte, int) *jsonFault {
			if err := j.colon(); err != nil {
				return err
			}
			return j.skip()
		})
	case c == '[':
		return j.array(j.skip)
	case c == '"':
		_, err := j.string()
		return err
	case c == 't':
		return j.word("true")
	case c == 'f':
		return j.word("false")
	case c == 'n':
		return j.word("null")
	case c == '-' || isDigit(c):
		_, err := j.number()
		return err
	}
	return j.unexpected("a value")
}

func (j *jsonText) word(w string) *jsonFault {
	if end := j.at + len(w); end <= len(j.b) && string(j.b[j.at:end]) == w {
		j.at = end
		return nil
	}
	return j.fault("expected a value: text in quotes, a number, true, false, null, a list or an object")
}

// number reads over a number as JSON has it and gives its text.
func (j *jsonText) number() ([]byte, *jsonFault) {
	start := j.at
	if j.b[j.at] == '-' {
		j.at++
	}
	zero := j.at < len(j.b) && j.b[j.at] == '0'
	n := j.digits()
	if n == 0 || zero && n > 1 {
		j.at = start
		return nil, j.fault("expected a number as JSON has it: digits without leading zeros")
	}
	if j.at < len(j.b) && j.b[j.at] == '.' {
		j.at++
		if j.digits() == 0 {
			return nil, j.unexpected("a digit after the point")
		}
	}
	if j.at < len(j.b) && j.b[j.at]|0x20 == 'e' {
		j.at++
		if j.at < len(j.b) && (j.b[j.at] == '+' || j.b[j.at] == '-') {
			j.at++
		}
		if j.digits() == 0 {
			return nil, j.unexpected("a digit of the exponent")
		}
	}
	return j.b[start:j.at], nil
}

func (j *jsonText) digits() int {
	start := j.at
	for j.at < len(j.b) && isDigit(j.b[j.at]) {
		j.at++
	}
	return j.at - start
}

// string reads a string; what it gives is valid until the next one with escapes.
func (j *jsonText) string() ([]byte, *jsonFault) {
	j.at++ // the quote
	start := j.at
	for j.at < len(j.b) {
		switch c := j.b[j.at]; {
		case c == '"':
			j.at++
			return j.b[start : j.at-1], nil
		case c == '\\':
			return j.escaped(start)
		case c < 0x20:
			return nil, j.fault("expected text without control characters, got byte 0x%02x; write it as \\u%04x", c, c)
		}
		j.at++
	}
	return nil, &jsonFault{off: start - 1, width: 1, msg: "a quote is opened here and not closed on its line"}
}

// escaped reads on where a string has its first escape.
func (j *jsonText) escaped(start int) ([]byte, *jsonFault) {
	j.buf = append(j.buf[:0], j.b[start:j.at]...)
	for j.at < len(j.b) {
		c := j.b[j.at]
		switch {
		case c == '"':
			j.at++
			return j.buf, nil
		case c < 0x20:
			return nil, j.fault("expected text without control characters, got byte 0x%02x; write it as \\u%04x", c, c)
		case c != '\\':
			j.buf = append(j.buf, c)
			j.at++
			continue
		}
		if j.at+1 >= len(j.b) {
			break
		}
		switch c := j.b[j.at+1]; c {
		case '"', '\\', '/':
			j.buf = append(j.buf, c)
		case 'b':
			j.buf = append(j.buf, '\b')
		case 'f':
			j.buf = append(j.buf, '\f')
		case 'n':
			j.buf = append(j.buf, '\n')
		case 'r':
			j.buf = append(j.buf, '\r')
		case 't':
			j.buf = append(j.buf, '\t')
		case 'u':
			if err := j.unicode(); err != nil {
				return nil, err
			}
			continue
		default:
			return nil, j.fault(`expected an escape that JSON has, got \%c`, firstRune(j.b[j.at+1:]))
		}
		j.at += 2
	}
	return nil, &jsonFault{off: start - 1, width: 1, msg: "a quote is opened here and not closed on its line"}
}

// unicode reads \uXXXX, or two of them that are one character.
func (j *jsonText) unicode() *jsonFault {
	r, ok := j.hex4(j.at)
	if ok && utf16.IsSurrogate(r) {
		var low rune
		if low, ok = j.hex4(j.at + 6); ok {
			r = utf16.DecodeRune(r, low)
			ok = r != utf8.RuneError
		}
		if !ok {
			return j.fault("half a pair of \\u escapes: no character is written so")
		}
		j.at += 6
	}
	if !ok {
		return j.fault("expected four hex digits after \\u")
	}
	j.at += 6
	j.buf = utf8.AppendRune(j.buf, r)
	return nil
}

func (j *jsonText) hex4(at int) (rune, bool) {
	if at+6 > len(j.b) || j.b[at] != '\\' || j.b[at+1] != 'u' {
		return 0, false
	}
	r := rune(0)
	for _, c := range j.b[at+2 : at+6] {
		d, ok := unhex(c)
		if !ok {
			return 0, false
		}
		r = r<<4 | rune(d)
	}
	return r, true
}
