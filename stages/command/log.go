package command

import (
	"bytes"
	"io"
	"strings"
	"unicode/utf8"
)

const (
	tailLines = 20
	tailBytes = 4 << 10
	wholeLine = 64 << 10 // a line longer than this is passed on in pieces
)

// output passes what a program prints on, line by line, so that the lines of two stages do not mix, with the secrets blotted out.
// The end of it is kept for the error.
type output struct {
	to      io.Writer
	secrets [][]byte
	rest    []byte // the line that has not ended
	tail    []byte
	err     error // of to; the program goes on
}

func (o *output) Write(p []byte) (int, error) {
	o.rest = append(o.rest, p...)
	end := bytes.LastIndexByte(o.rest, '\n') + 1
	if end == 0 && len(o.rest) >= wholeLine {
		end = len(o.rest)
	}
	o.pass(o.rest[:end])
	o.rest = append(o.rest[:0], o.rest[end:]...)
	return len(p), nil
}

func (o *output) flush() {
	o.pass(o.rest)
	o.rest = nil
}

func (o *output) pass(p []byte) {
	if len(p) == 0 {
		return
	}
	for _, s := range o.secrets {
		if bytes.Contains(p, s) {
			p = bytes.ReplaceAll(p, s, []byte("***"))
		}
	}
	if o.err == nil && o.to != nil {
		_, o.err = o.to.Write(p)
	}
	if len(p) >= tailBytes {
		o.tail = append(o.tail[:0], p[len(p)-tailBytes:]...)
		return
	}
	o.tail = append(o.tail, p...)
	if cut := len(o.tail) - tailBytes; cut > tailBytes { // now and then, not each time
		o.tail = append(o.tail[:0], o.tail[cut:]...)
	}
}

// last gives the last lines, as valid text, indented; "" if nothing was printed.
func (o *output) last() string {
	b := o.tail
	if len(b) > tailBytes {
		b = b[len(b)-tailBytes:]
	}
	text := strings.TrimRight(string(b), "\n")
	if text == "" {
		return ""
	}
	lines := strings.Split(text, "\n")
	if len(lines) > 1 && len(o.tail) >= tailBytes {
		lines = lines[1:] // probably cut in its middle
	}
	if len(lines) > tailLines {
		lines = lines[len(lines)-tailLines:]
	}
	for i, l := range lines {
		if !utf8.ValidString(l) {
			l = strings.ToValidUTF8(l, "\uFFFD")
		}
		lines[i] = "  " + strings.TrimRight(l, "\r")
	}
	return strings.Join(lines, "\n")
}
