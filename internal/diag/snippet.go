package diag

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Limits of a snippet, in display columns: a long line is cut around its marker, so that the two stay together on a terminal.
const (
	snippetWidth = 100
	tabWidth     = 4
)

// Snippet gives the source line with its number and, below it, a marker under what is wrong:
//
//	12 |     dep: [by_type.sh]
//	   |     ^^^
//
// It is "" if the line or its number is unknown, and ends without a newline. Tabs are shown as spaces, control characters as U+FFFD.
func (e *Error) Snippet() string {
	if e.Line == "" || e.Pos.Line == 0 {
		return ""
	}
	cells, at := layout(e.Line, e.Pos.Col)
	number := fmt.Sprintf("%4d", e.Pos.Line)
	gutter := strings.Repeat(" ", len(number))
	from, to := window(cells, at)
	line := text(cells[from:to])
	lead := width(cells[from:at])
	if from > 0 {
		line, lead = "…"+line, lead+1
	}
	if to < len(cells) {
		line += "…"
	}
	line = number + " | " + strings.TrimRight(line, " ")
	if e.Pos.Col == 0 {
		return line
	}
	mark := max(1, min(e.Width, snippetWidth-lead))
	return line + "\n" + gutter + " | " + strings.Repeat(" ", lead) + strings.Repeat("^", mark)
}

// Columns is how many display columns a text takes on a terminal: two for a wide rune, none for a combining one. It is the
// measure of Error.Width.
func Columns(s string) int {
	n := 0
	for _, r := range s {
		n += runeColumns(r)
	}
	return n
}

// cell is one piece of a line as it is shown.
type cell struct {
	text  string
	width int
}

// layout gives the cells of a line and the index of the one that stands for the character at col (counted from 1).
func layout(line string, col int) (cells []cell, at int) {
	column, char := 0, 0
	at = -1
	for _, r := range line {
		char++
		if char == col {
			at = len(cells)
		}
		c := cell{string(r), runeColumns(r)}
		switch {
		case r == '\t':
			c.width = tabWidth - column%tabWidth
			c.text = strings.Repeat(" ", c.width)
		case unicode.IsControl(r), r == utf8.RuneError, unicode.Is(unicode.Cf, r):
			c = cell{"\uFFFD", 1}
		}
		column += c.width
		cells = append(cells, c)
	}
	if at < 0 {
		at = len(cells)
	}
	return cells, at
}

// window chooses the part of the cells that is shown: all of a line that fits, else what stands around the marker.
func window(cells []cell, at int) (from, to int) {
	to = len(cells)
	if width(cells) <= snippetWidth {
		return 0, to
	}
	for lead := width(cells[:at]); lead > snippetWidth/2; from++ {
		lead -= cells[from].width
	}
	to = from
	for w := 0; to < len(cells) && w+cells[to].width <= snippetWidth; to++ {
		w += cells[to].width
	}
	return from, max(to, at)
}

func width(cells []cell) int {
	n := 0
	for _, c := range cells {
		n += c.width
	}
	return n
}

func text(cells []cell) string {
	var b strings.Builder
	for _, c := range cells {
		b.WriteString(c.text)
	}
	return b.String()
}

// runeColumns follows East Asian Width in its broad blocks; terminals disagree on the rest.
func runeColumns(r rune) int {
	switch {
	case unicode.In(r, unicode.Mn, unicode.Me):
		return 0
	case r >= 0x1100 && r <= 0x115F, r >= 0x2E80 && r <= 0xA4CF, r >= 0xAC00 && r <= 0xD7A3, r >= 0xF900 && r <= 0xFAFF,
		r >= 0xFE30 && r <= 0xFE6F, r >= 0xFF00 && r <= 0xFF60, r >= 0xFFE0 && r <= 0xFFE6, r >= 0x1F300 && r <= 0x1F64F,
		r >= 0x1F680 && r <= 0x1F6FF, r >= 0x1F900 && r <= 0x1F9FF, r >= 0x20000 && r <= 0x3FFFD:
		return 2
	}
	return 1
}
