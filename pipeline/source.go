package pipeline

import (
	"bytes"
	"strings"
	"unicode/utf8"

	"pipe/internal/diag"
)

// source is a file's text, for positions and snippets. Columns count characters, as the YAML parser does.
type source struct {
	name string
	text string
	cut  []string // the text's lines, once one was asked for: most files have no mistake
	errs *diag.List
}

// lineBreaks are what YAML 1.1, which the parser follows here, ends a line at beside LF; CRLF and CR are LF by then.
var lineBreaks = strings.NewReplacer("\u0085", "\n", "\u2028", "\n", "\u2029", "\n")

func newSource(name string, data []byte, errs *diag.List) *source {
	return &source{name: name, text: string(plainText(data)), errs: errs}
}

func (s *source) lines() []string {
	if s.cut == nil {
		s.cut = strings.Split(lineBreaks.Replace(s.text), "\n")
	}
	return s.cut
}

// plainText drops a byte order mark and makes every line end in LF.
func plainText(data []byte) []byte {
	data = bytes.TrimPrefix(data, []byte("\ufeff"))
	if bytes.IndexByte(data, '\r') < 0 {
		return data
	}
	data = bytes.ReplaceAll(data, []byte("\r\n"), []byte("\n"))
	return bytes.ReplaceAll(data, []byte("\r"), []byte("\n"))
}

func (s *source) line(n int) string {
	if n < 1 || n > len(s.lines()) {
		return ""
	}
	return s.lines()[n-1]
}

// errorf reports a mistake at a place of the file. width 0: the word that stands there is marked.
func (s *source) errorf(pos diag.Pos, width int, format string, args ...any) *diag.Error {
	e := diag.Errorf(pos, format, args...)
	e.Line = s.line(pos.Line)
	if e.Width = width; width == 0 {
		e.Width = diag.Columns(word(after(e.Line, pos.Col)))
	}
	*s.errs = append(*s.errs, e)
	return e
}

// after gives the text of a line from a column on.
func after(line string, col int) string {
	for ; col > 1 && line != ""; col-- {
		_, n := utf8.DecodeRuneInString(line)
		line = line[n:]
	}
	return line
}

// word gives what a text begins with: a quoted string, or all up to a space or what ends a plain YAML word.
func word(text string) string {
	if text == "" {
		return ""
	}
	if q := text[0]; q == '"' || q == '\'' {
		for i := 1; i < len(text); i++ {
			if text[i] == '\\' && q == '"' {
				i++
			} else if text[i] == q {
				return text[:i+1]
			}
		}
		return text
	}
	for i := range len(text) {
		switch c := text[i]; {
		case c == ' ' || c == '\t':
			return text[:i]
		case strings.IndexByte(",[]{}", c) >= 0:
			return text[:max(i, 1)]
		case c == ':' && (i+1 == len(text) || text[i+1] == ' '):
			return text[:max(i, 1)]
		}
	}
	return text
}

// span gives how many columns a value takes on its first line.
func (s *source) span(v *Value) int {
	if v.Kind == List || v.Kind == Map {
		return 1
	}
	rest := after(s.line(v.Pos.Line), v.Pos.Col)
	if v.Text != "" && strings.HasPrefix(rest, v.Text) {
		return diag.Columns(v.Text)
	}
	if expr, _, ok := cutTemplate(rest); ok && strings.HasPrefix(rest, "${") {
		return diag.Columns(expr) + 1
	}
	return max(1, diag.Columns(word(rest)))
}
