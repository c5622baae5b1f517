package pipeline

import (
	"errors"
	"io"
	"regexp"
	"strings"
	"unicode/utf8"

	"gopkg.in/yaml.v3"

	"pipe/internal/diag"
)

// parseNodes reads one YAML document of a text; a nil node is an empty one. The library reports some texts by a panic.
func parseNodes(text string) (doc *yaml.Node, dec *yaml.Decoder, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = errors.New("yaml: this is no YAML")
		}
	}()
	dec = yaml.NewDecoder(strings.NewReader(text))
	doc = &yaml.Node{}
	if err := dec.Decode(doc); err != nil {
		if errors.Is(err, io.EOF) {
			return nil, dec, nil
		}
		return nil, dec, err
	}
	return doc, dec, nil
}

var yamlLine = regexp.MustCompile(`^(?:yaml: )?(?:line \d+: )?(.*)`)

func problem(err error) string {
	if err == nil {
		return ""
	}
	return yamlLine.FindStringSubmatch(err.Error())[1]
}

// guilty finds the line that a syntax error stands on. The parser names a line that is often another one, so the shortest beginning
// of the text that already has the same error tells: its last line.
func (s *source) guilty(what string) int {
	has := func(n int) bool {
		_, _, err := parseNodes(strings.Join(s.lines()[:n], "\n"))
		return problem(err) == what
	}
	low, high := 0, len(s.lines())
	for high-low > 1 {
		if mid := (low + high) / 2; has(mid) {
			high = mid
		} else {
			low = mid
		}
	}
	return high
}

// badText reports bytes that no YAML may hold.
func (s *source) badText() bool {
	for i, l := range s.lines() {
		col := 0
		for _, r := range l {
			col++
			pos := diag.Pos{File: s.name, Line: i + 1, Col: col}
			switch {
			case r == utf8.RuneError:
				s.errorf(pos, 1, "this is no UTF-8 text").With("save the file as UTF-8")
				return true
			case r < ' ' && r != '\t', r == 0x7f, r > 0x7f && r < 0xa0, r == 0xfffe, r == 0xffff, r == '\ufeff':
				s.errorf(pos, 1, "the control character %U, which YAML does not allow", r).With(`remove it, or write it as "\x%02x" in double quotes`, r)
				return true
			}
		}
	}
	return false
}

// syntax says in our words what the YAML parser found, and where.
func (s *source) syntax(err error) {
	what := problem(err)
	if strings.Contains(what, "control characters") || strings.Contains(what, "UTF-8") || strings.Contains(what, "UTF-16") {
		if s.badText() {
			return
		}
	}
	n := s.guilty(what)
	line := s.line(n)
	if strings.TrimSpace(line) == "" {
		s.errorf(diag.Pos{File: s.name, Line: max(n, 1), Col: 1}, 1, "this is no YAML: %s", what).With("look at this line and the one above it")
		return
	}
	indent := len(line) - len(strings.TrimLeft(line, " "))
	at := func(col int) diag.Pos { return diag.Pos{File: s.name, Line: n, Col: col} }
	mark := func(index, width int, format string, args ...any) *diag.Error {
		return s.errorf(at(utf8.RuneCountInString(line[:index])+1), width, format, args...)
	}
	if t := strings.IndexByte(line, '\t'); t >= 0 && strings.Trim(line[:t], " ") == "" {
		mark(t, 1, "a tab in the indentation; YAML indents by spaces").With("replace the tab by spaces")
		return
	}
	rest := line[indent:]
	value := len(line)
	if i := keyEnd(rest); i >= 0 {
		value = indent + i + len(rest[i:]) - len(strings.TrimLeft(rest[i:], ": "))
	}
	switch {
	case strings.Contains(what, "mapping values are not allowed"):
		if i := strings.Index(line[value:], ": "); value < len(line) && i >= 0 {
			mark(value+i, 1, "a second \": \" in one line").With("quote the value: %s", quoted(line[value:]))
			return
		}
		if value < len(line) && strings.HasSuffix(line, ":") {
			mark(len(line)-1, 1, "a second \":\" in one line").With("quote the value: %s", quoted(line[value:]))
			return
		}
		if above := s.line(n - 1); keyEnd(above) < 0 && len(above)-len(strings.TrimLeft(above, " ")) == indent && strings.TrimSpace(above) != "" {
			s.errorf(diag.Pos{File: s.name, Line: n - 1, Col: indent + 1}, 0, "expected a key and a colon").With("write it as key: value")
			return
		}
		mark(indent, 0, "this key is indented deeper than the keys above it, and the line above has a value already").
			With("give keys of one map the same indentation")
	case strings.Contains(what, "unexpected end of stream"):
		i := openQuote(line)
		mark(i, 1, "the quote that begins here is not closed").With("close it with %c", line[min(i, len(line)-1)])
	case strings.Contains(what, "expected ',' or") && strings.ContainsAny(line, "[{"):
		i := openBracket(line)
		e := mark(i, 1, "the %c that begins here is not closed, or an item after it is not understood", line[i])
		switch {
		case strings.Contains(line, "${"):
			e.With("between brackets a template needs quotes: \"${...}\"")
		case strings.Contains(line, "struct<"):
			e.With("between brackets a type with a colon or comma needs quotes: \"struct<...>\"")
		default:
			e.With("close it with %c, and put commas between its items", map[byte]byte{'[': ']', '{': '}'}[line[i]])
		}
	case strings.Contains(what, "unknown anchor"):
		name := strings.Split(what, "'")[1]
		mark(max(strings.Index(line, "*"+name), 0), len(name)+1, "no anchor &%s stands above this line", name).With("define it first: &%s", name)
	case strings.Contains(what, "cannot start any token"):
		i := value + strings.IndexAny(line[value:]+"@", "@`%\t")
		if value >= len(line) {
			i = indent
		}
		mark(i, 1, "%q cannot begin a value", line[i:i+1]).With("quote the value: %s", quoted(line[i:]))
	case strings.Contains(what, "could not find expected ':'"):
		mark(indent, 0, "expected a key and a colon").With("write it as key: value, or indent it if it belongs to the value above")
	case strings.Contains(what, "unknown escape"), strings.Contains(what, "escape code"), strings.Contains(what, "hexdecimal"):
		mark(max(strings.LastIndexByte(line, '\\'), 0), 2, "an unknown escape in double quotes").With("write \\\\ for a backslash, or use single quotes")
	case strings.Contains(what, "block sequence entries are not allowed"):
		mark(value, 1, "a list cannot begin on the line of its key").With("put the - on a line of its own, or write the list as [a, b]")
	case strings.Contains(what, "did not find expected"):
		if stray := afterQuoted(line); stray >= 0 {
			if c := line[stray]; c == ']' || c == '}' {
				mark(stray, 1, "this %c closes nothing", c).With("remove it")
				return
			}
			mark(stray, 0, "unexpected text after a closed quote or bracket").With("put the whole value into one pair of quotes")
			return
		}
		mark(indent, 0, "this line does not fit to the lines above: its indentation or what it begins with").
			With("give keys of one map, and items of one list, the same indentation")
	default:
		mark(indent, 0, "this is no YAML: %s", what).With("look at this line and the one above it")
	}
}

// keyEnd gives the index of the colon after a line's first key, or -1.
func keyEnd(text string) int {
	text = strings.TrimRight(text, " ")
	if i := strings.Index(text, ": "); i >= 0 {
		return i
	}
	if strings.HasSuffix(text, ":") {
		return len(text) - 1
	}
	return -1
}

func quoted(text string) string {
	return "'" + strings.ReplaceAll(strings.TrimSpace(text), "'", "''") + "'"
}

// scanQuotes walks over a line and tells for each byte whether it stands outside of quotes; open is where an unclosed quote began.
func scanQuotes(line string, outside func(i int, c byte)) (open int) {
	open = -1
	for i := 0; i < len(line); i++ {
		c := line[i]
		switch {
		case open >= 0 && c == '\\' && line[open] == '"':
			i++
		case open >= 0 && c == line[open]:
			open = -1
		case open < 0 && (c == '"' || c == '\'') && (i == 0 || strings.IndexByte(" [{,:(", line[i-1]) >= 0):
			open = i
		case open < 0:
			outside(i, c)
		}
	}
	return open
}

func openQuote(line string) int {
	return max(scanQuotes(line, func(int, byte) {}), 0)
}

// openBracket gives the index of the first bracket of a line that is not closed on it, or of the line's first bracket.
func openBracket(line string) int {
	var open []int
	first := -1
	scanQuotes(line, func(i int, c byte) {
		switch c {
		case '[', '{':
			if first < 0 {
				first = i
			}
			open = append(open, i)
		case ']', '}':
			if len(open) > 0 { // of the other kind too: good enough to point at
				open = open[:len(open)-1]
			}
		}
	})
	if len(open) > 0 {
		return open[0]
	}
	if first < 0 {
		return strings.IndexAny(line, "[{")
	}
	return first
}

var strayText = regexp.MustCompile(`^\s*(?:- )*(?:[^'"\[{]*: )?(?:"(?:[^"\\]|\\.)*"|'(?:[^']|'')*'|\[[^\[\]]*\]|\{[^{}]*\})\s*([^\s#,:].*)$`)

// afterQuoted gives the index of text that follows a closed quote or bracket of a value, or -1.
func afterQuoted(line string) int {
	if m := strayText.FindStringSubmatchIndex(line); m != nil {
		return m[2]
	}
	return -1
}
