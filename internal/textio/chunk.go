package textio

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"unicode/utf8"

	"pipe/internal/diag"
)

// chunk is whole records of a file, one after the other: what one goroutine parses.
type chunk struct {
	name string
	text []byte
	line int // of its first byte, counted from 1
	ends int // ends of lines in it
}

// place says where a byte of the chunk lies in the file, with its line as text.
func (c *chunk) place(off int) (pos diag.Pos, line string) {
	off = min(off, len(c.text))
	start := 0
	if i := bytes.LastIndexAny(c.text[:off], "\n\r"); i >= 0 {
		start = i + 1
	}
	end := len(c.text)
	if i := bytes.IndexAny(c.text[off:], "\n\r"); i >= 0 {
		end = off + i
	}
	const most = 4096 // a snippet shows a part of it anyway
	if end-start > most {
		end = max(off, start+most)
		start = max(start, end-most)
	}
	col := utf8.RuneCount(c.text[start:off]) + 1
	return diag.Pos{File: c.name, Line: c.line + newlines(c.text[:off]), Col: col}, string(c.text[start:end])
}

// fault is one mistake in the text of a chunk: some bytes from off on, of which those on the first line are marked.
func (c *chunk) fault(off, bytesWide int, hint, format string, args ...any) *diag.Error {
	pos, line := c.place(off)
	marked := c.text[min(off, len(c.text)):min(off+bytesWide, len(c.text))]
	if i := bytes.IndexAny(marked, "\n\r"); i >= 0 {
		marked = marked[:i]
	}
	return &diag.Error{
		Exit: diag.Failed, Pos: pos, Line: line, Width: diag.Columns(string(marked)), Msg: fmt.Sprintf(format, args...), Hint: hint,
	}
}

// newlines counts the ends of lines: LF, CRLF, or CR alone.
func newlines(b []byte) int {
	n := bytes.Count(b, []byte{'\n'})
	if cr := bytes.Count(b, []byte{'\r'}); cr > 0 {
		n += cr - bytes.Count(b, []byte("\r\n"))
	}
	return n
}

// check finds what is no text in a chunk.
func (c *chunk) check() *diag.Error {
	if i := bytes.IndexByte(c.text, 0); i >= 0 {
		return c.fault(i, 1, "remove it (tr -d '\\000'); if every other byte is NUL, the file is UTF-16: iconv -f UTF-16LE -t UTF-8", "a NUL byte")
	}
	if utf8.Valid(c.text) {
		return nil
	}
	for i := 0; ; {
		r, size := utf8.DecodeRune(c.text[i:])
		if r == utf8.RuneError && size <= 1 {
			pos, line := c.place(i)
			inLine := i - max(bytes.LastIndexByte(c.text[:i], '\n'), bytes.LastIndexByte(c.text[:i], '\r'))
			return &diag.Error{
				Exit: diag.Failed, Pos: pos, Line: string(bytes.ToValidUTF8([]byte(line), []byte("\uFFFD"))),
				Msg:  fmt.Sprintf("expected UTF-8, got the byte 0x%02x (byte %d of the line)", c.text[i], inLine),
				Hint: "convert the file; if it is Latin-1: iconv -f LATIN1 -t UTF-8",
			}
		}
		i += size
	}
}

// splitter cuts a text into chunks at the ends of records.
type splitter struct {
	r     io.Reader
	name  string
	quote byte // of CSV: an end of line between two is part of a field; 0 if there is none
	json  bool // records end with LF only
	size  int  // bytes of a chunk
	limit int  // bytes of a record at most
	line  int  // of the next chunk
	carry []byte
	eof   bool
	first *chunk // given before all others: what the header left of its chunk
	err   error  // given once and ever after
}

// next gives the next chunk; io.EOF after the last. Its text is the caller's.
func (s *splitter) next() (chunk, error) {
	if s.first != nil {
		c := *s.first
		s.first = nil
		return c, nil
	}
	if s.err != nil {
		return chunk{}, s.err
	}
	c, err := s.cut()
	s.err = err
	return c, err
}

// cut reads on to the end of some record.
func (s *splitter) cut() (chunk, error) {
	buf := make([]byte, max(s.size, 2*len(s.carry)))
	n := copy(buf, s.carry)
	for {
		for !s.eof && n < len(buf) { // io.ReadFull could not tell the end from an input that breaks off
			k, err := s.r.Read(buf[n:])
			n += k
			if s.eof = errors.Is(err, io.EOF); err != nil && !s.eof {
				return chunk{}, readError(s.name, err)
			}
		}
		end := n
		if !s.eof {
			end = s.boundary(buf[:n])
		}
		if end > 0 {
			c := chunk{name: s.name, text: buf[:end:end], line: s.line, ends: newlines(buf[:end])}
			s.line += c.ends
			s.carry = append([]byte(nil), buf[end:n]...)
			return c, nil
		}
		if s.eof {
			return chunk{}, io.EOF
		}
		if n >= s.limit {
			c := chunk{name: s.name, text: buf[:n], line: s.line}
			hint := "each line has to be one JSON object"
			if !s.json {
				hint = "see whether a quote is never closed"
			}
			return chunk{}, c.fault(0, 1, hint, "the record that starts here is longer than %d bytes", s.limit)
		}
		buf = append(buf, make([]byte, len(buf))...)
	}
}

// boundary gives the place behind the last record that ends within b; 0 if none does. A CSV record ends at the end of a line that
// has an even number of quotes before it: in a text where every quote stands where it may, those between are inside a field, and in
// any other the parser stops at the first that does not.
func (s *splitter) boundary(b []byte) int {
	if s.json {
		return bytes.LastIndexByte(b, '\n') + 1
	}
	odd := s.quote != 0 && bytes.Count(b, []byte{s.quote})%2 == 1
	for i := len(b) - 1; i >= 0; i-- {
		switch c := b[i]; {
		case c == s.quote && s.quote != 0:
			odd = !odd
		case odd:
		case c == '\n', c == '\r' && i+1 < len(b) && b[i+1] != '\n':
			return i + 1
		}
	}
	return 0
}
