package view

import (
	"fmt"
	"io"
	"strings"
	"time"
	"unicode"

	"pipe/internal/diag"
)

// Style says how text for people is marked. The zero value uses no colour.
type Style struct {
	Color bool
}

func (s Style) paint(code, text string) string {
	if !s.Color || text == "" {
		return text
	}
	return "\x1b[" + code + "m" + text + "\x1b[0m"
}

func (s Style) bold(text string) string   { return s.paint("1", text) }
func (s Style) red(text string) string    { return s.paint("31", text) }
func (s Style) green(text string) string  { return s.paint("32", text) }
func (s Style) yellow(text string) string { return s.paint("33", text) }
func (s Style) dim(text string) string    { return s.paint("2", text) }

// pad fills text with spaces up to a width in display columns.
func pad(text string, width int) string {
	return text + strings.Repeat(" ", max(0, width-diag.Columns(text)))
}

// cut shortens text to a width in display columns, with an ellipsis for what is gone.
func cut(text string, width int) string {
	if diag.Columns(text) <= width {
		return text
	}
	w := 0
	for i, r := range text {
		w += diag.Columns(string(r))
		if w > width-1 {
			return text[:i] + "…"
		}
	}
	return text
}

// oneLine makes a value fit into a line of output: control characters, which could also drive the terminal, are shown by their
// escapes.
func oneLine(text string) string {
	if !strings.ContainsFunc(text, control) {
		return text
	}
	var b strings.Builder
	for _, r := range text {
		switch {
		case r == '\n':
			b.WriteString(`\n`)
		case r == '\t':
			b.WriteString(`\t`)
		case r == '\r':
			b.WriteString(`\r`)
		case control(r):
			fmt.Fprintf(&b, `\x%02x`, r)
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}

func control(r rune) bool { return unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) }

// plural gives "1 row", "2 rows".
func plural(n int64, word string) string {
	if n == 1 {
		return "1 " + word
	}
	return fmt.Sprintf("%d %ss", n, word)
}

// short gives a duration as people say it: 0.2s, 12.3s, 2m05s, 1h02m.
func short(d time.Duration) string {
	switch {
	case d < time.Minute:
		return fmt.Sprintf("%.1fs", d.Seconds())
	case d < time.Hour:
		return fmt.Sprintf("%dm%02ds", int(d.Minutes()), int(d.Seconds())%60)
	}
	return fmt.Sprintf("%dh%02dm", int(d.Hours()), int(d.Minutes())%60)
}

func seconds(s float64) string { return short(time.Duration(s * float64(time.Second))) }

// big gives a number with few digits, for rates.
func big(n float64) string {
	switch {
	case n < 1000:
		return fmt.Sprintf("%.0f", n)
	case n < 1e6:
		return fmt.Sprintf("%.0fk", n/1e3)
	}
	return fmt.Sprintf("%.1fM", n/1e6)
}

func send(w io.Writer, b *strings.Builder) error {
	_, err := io.WriteString(w, b.String())
	return err
}
