package textio

import (
	"fmt"
	"strconv"
	"unicode/utf16"
	"unicode/utf8"

	"pipe/internal/diag"
	"pipe/pipeline/schema"
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
	nulls map[string]bool
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

// whole reads the one value that the text is, into a column.
func (j *jsonText) whole(c *column) *jsonFault {
	if err := j.value(c); err != nil {
		return err
	}
	return j.end("the value")
}

func (j *jsonText) end(what string) *jsonFault {
	if j.space(); j.at < len(j.b) {
		return j.unexpected("nothing after " + what)
	}
	return nil
}

// value reads one value into a column.
func (j *jsonText) value(c *column) *jsonFault {
	start := j.at
	first := j.peek()
	switch kind := c.field.Type.Kind; {
	case first == 'n':
		if err := j.word("null"); err != nil {
			return err
		}
		return j.null(c, start)
	case first == '"':
		start = j.at
		s, err := j.string()
		if err != nil {
			return err
		}
		if j.nulls[string(s)] {
			return j.null(c, start)
		}
		if c.text == nil {
			return j.mismatch(c, start, "the text "+quoted(s), "")
		}
		if p := c.text(s); p != "" {
			return j.mismatch(c, start, "the text "+quoted(s), p)
		}
		return nil
	case kind == schema.String:
		start = j.at
		if err := j.skip(); err != nil {
			return err
		}
		c.text(j.b[start:j.at])
		return nil
	case first == '{' && kind == schema.Struct:
		return j.structure(c)
	case first == '{' && kind == schema.Map:
		return j.mapping(c)
	case first == '[' && kind == schema.List:
		return j.list(c)
	case first == '[' && kind == schema.Map:
		return j.entries(c)
	}
	start = j.at
	if err := j.skip(); err != nil {
		return err
	}
	token := j.b[start:j.at]
	switch {
	case first == '{':
		return j.mismatch(c, start, "an object", "")
	case first == '[':
		return j.mismatch(c, start, "a list", "")
	case c.text == nil:
		return j.mismatch(c, start, string(token), "")
	case first == 't' || first == 'f', numeric(c.field.Type.Kind):
		if p := c.text(token); p != "" {
			return j.mismatch(c, start, string(token), p)
		}
		return nil
	}
	return j.mismatch(c, start, string(token), "")
}

func numeric(k schema.Kind) bool {
	switch k {
	case schema.Int, schema.Long, schema.Float, schema.Double, schema.Decimal:
		return true
	}
	return false
}

func (j *jsonText) mismatch(c *column, start int, got string, p problem) *jsonFault {
	return &jsonFault{
		off: start, width: max(1, j.at-start), msg: columnPath(c) + mismatch(c.field.Type, got, p), hint: hintFor(c.field.Type, p),
	}
}

func columnPath(c *column) string {
	if c.path == "" {
		return ""
	}
	return "column " + strconv.Quote(c.path) + ": "
}

func (j *jsonText) null(c *column, start int) *jsonFault {
	if c.null() {
		return nil
	}
	return &jsonFault{
		off: start, width: max(1, j.at-start), hint: hintRequired,
		msg: fmt.Sprintf("%sit is required: expected %s, got NULL", columnPath(c), c.field.Type),
	}
}

// structure reads an object into a struct, or into the columns of a row where c has no builder.
func (j *jsonText) structure(c *column) *jsonFault {
	start := j.at
	if b, ok := c.builder.(interface{ Append(bool) }); ok {
		b.Append(true)
	}
	c.count++
	c.next = 0
	err := j.object(func(key []byte, at int) *jsonFault {
		i, ok := c.part(key)
		if !ok {
			f := &jsonFault{off: at, width: j.at - at, msg: fmt.Sprintf("expected %s, got %s", someOf(c.field.Type.Fields), quoted(key))}
			f.hint = "declare it, or take it out"
			if near := diag.Closest(string(key), fieldNames(c.field.Type.Fields)); near != "" {
				f.hint = fmt.Sprintf("did you mean %q?", near)
			}
			return f
		}
		if c.seen[i] == c.count {
			return &jsonFault{off: at, width: j.at - at, msg: fmt.Sprintf("the key %s stands twice in one object", quoted(key)), hint: "take one out"}
		}
		c.seen[i] = c.count
		if err := j.colon(); err != nil {
			return err
		}
		return j.value(c.parts[i])
	})
	if err != nil {
		return err
	}
	for i, part := range c.parts {
		if c.seen[i] != c.count && !part.null() {
			return &jsonFault{off: start, width: 1, hint: hintRequired, msg: columnPath(part) + "it is required, and the object lacks it"}
		}
	}
	return nil
}

func someOf(fields []schema.Field) string {
	if len(fields) > 12 {
		return "a declared column"
	}
	return "one of " + names(fields)
}

func fieldNames(fields []schema.Field) []string {
	out := make([]string, len(fields))
	for i, f := range fields {
		out[i] = f.Name
	}
	return out
}

// mapping reads an object into a map.
func (j *jsonText) mapping(c *column) *jsonFault {
	if c.parts[0].text == nil {
		return j.mismatch(c, j.at, `an object; a map with such keys is written as an array of {"key": ..., "value": ...}`, "")
	}
	c.builder.(interface{ Append(bool) }).Append(true)
	seen := map[string]bool{}
	return j.object(func(key []byte, at int) *jsonFault {
		if seen[string(key)] {
			return &jsonFault{off: at, width: j.at - at, msg: fmt.Sprintf("the key %s stands twice in one map", quoted(key)), hint: "take one out"}
		}
		seen[string(key)] = true
		if p := c.parts[0].text(key); p != "" {
			return j.mismatch(c.parts[0], at, "the text "+quoted(key), p)
		}
		if err := j.colon(); err != nil {
			return err
		}
		return j.value(c.parts[1])
	})
}

// entries reads an array of key and value objects into a map.
func (j *jsonText) entries(c *column) *jsonFault {
	c.builder.(interface{ Append(bool) }).Append(true)
	return j.array(func() *jsonFault {
		if j.peek() != '{' {
			return j.unexpected(`an object of "key" and "value"`)
		}
		start, had := j.at, [2]bool{}
		err := j.object(func(key []byte, at int) *jsonFault {
			i := 0
			switch string(key) {
			case "key":
			case "value":
				i = 1
			default:
				return &jsonFault{off: at, width: j.at - at, msg: fmt.Sprintf(`expected "key" or "value", got %s`, quoted(key))}
			}
			if had[i] {
				return &jsonFault{off: at, width: j.at - at, msg: fmt.Sprintf("the key %s stands twice in one object", quoted(key))}
			}
			had[i] = true
			if err := j.colon(); err != nil {
				return err
			}
			return j.value(c.parts[i])
		})
		if err != nil {
			return err
		}
		if !had[0] || !had[1] && !c.parts[1].null() {
			return &jsonFault{off: start, width: 1, msg: columnPath(c) + `an entry of a map needs "key" and "value"`}
		}
		return nil
	})
}

func (j *jsonText) list(c *column) *jsonFault {
	c.builder.(interface{ Append(bool) }).Append(true)
	return j.array(func() *jsonFault { return j.value(c.parts[0]) })
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
