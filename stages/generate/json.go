package generate

import (
	"encoding/binary"
	"unicode/utf8"

	"github.com/apache/arrow-go/v18/arrow"
)

// object is json:, an object as text.
type object struct {
	fields []column // sorted by name: the order of keys in a YAML map means nothing
	heads  [][]byte // `{"name":`, `,"name":` of each
}

func newObject(fields []column) object {
	g := object{fields: fields}
	for i, f := range fields {
		head := []byte{'{'}
		if i > 0 {
			head[0] = ','
		}
		g.heads = append(g.heads, append(appendJSONText(head, []byte(f.name)), ':'))
	}
	return g
}

func (g object) arrow() arrow.DataType { return arrow.BinaryTypes.String }

func (g object) fill(c *cells, _ random, p part) error {
	if c.kids == nil {
		c.kids = make([]cells, len(g.fields))
	}
	for i := range g.fields {
		c.kids[i].reset()
		if err := g.fields[i].fill(&c.kids[i], p); err != nil {
			return err
		}
	}
	for row := range p.rows {
		for i, f := range g.fields {
			kid := &c.kids[i]
			c.raw = append(c.raw, g.heads[i]...)
			if f.nulls > 0 && kid.null[row] {
				c.raw = append(c.raw, "null"...)
				continue
			}
			c.raw = f.gen.json(c.raw, kid, row)
		}
		c.raw = append(c.raw, '}')
		c.ends = append(c.ends, int32(len(c.raw)))
	}
	return nil
}

func (g object) json(b []byte, c *cells, i int) []byte { return append(b, c.text(i)...) }

const hexDigits = "0123456789abcdef"

// appendJSONText appends a text as JSON, escaping no more than it must.
func appendJSONText(b, s []byte) []byte {
	b = append(b, '"')
	for len(s) > 0 {
		n := plain(s)
		b, s = append(b, s[:n]...), s[n:]
		if len(s) == 0 {
			break
		}
		size := 1
		switch ch := s[0]; {
		case ch >= utf8.RuneSelf:
			var r rune
			if r, size = utf8.DecodeRune(s); r == utf8.RuneError && size == 1 {
				b = append(b, "\uFFFD"...)
			} else {
				b = append(b, s[:size]...)
			}
		case ch == '"' || ch == '\\':
			b = append(b, '\\', ch)
		case ch == '\n':
			b = append(b, '\\', 'n')
		case ch == '\t':
			b = append(b, '\\', 't')
		case ch == '\r':
			b = append(b, '\\', 'r')
		default:
			b = append(b, '\\', 'u', '0', '0', hexDigits[ch>>4], hexDigits[ch&15])
		}
		s = s[size:]
	}
	return append(b, '"')
}

// plain counts the bytes at the start that need no look: printable ASCII but quotes and backslashes. Eight at a time, since most
// texts are nothing else.
func plain(s []byte) int {
	const ones, highs = 0x0101010101010101, 0x8080808080808080
	n := 0
	for ; len(s)-n >= 8; n += 8 {
		w := binary.LittleEndian.Uint64(s[n:])
		quote, slash := w^(ones*'"'), w^(ones*'\\')
		// A byte's high bit is set where the byte is below space, a quote or a backslash; a borrow makes false alarms only.
		if (w|(w-ones*' ')|(quote-ones)|(slash-ones))&highs != 0 {
			break
		}
	}
	for ; n < len(s); n++ {
		if ch := s[n]; ch < ' ' || ch >= utf8.RuneSelf || ch == '"' || ch == '\\' {
			break
		}
	}
	return n
}
