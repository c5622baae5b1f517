package pipeline

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"

	"gopkg.in/yaml.v3"

	"pipe/internal/diag"
)

// source is a file's text, for positions and snippets.
type source struct {
	name  string
	lines []string
	errs  *diag.List
}

func newSource(name string, data []byte, errs *diag.List) *source {
	text := strings.ReplaceAll(string(bytes.TrimPrefix(data, []byte("\ufeff"))), "\r\n", "\n")
	return &source{name: name, lines: strings.Split(text, "\n"), errs: errs}
}

func (s *source) line(n int) string {
	if n < 1 || n > len(s.lines) {
		return ""
	}
	return s.lines[n-1]
}

// errorf reports a mistake at a place of the file.
func (s *source) errorf(pos diag.Pos, width int, format string, args ...any) *diag.Error {
	e := diag.Errorf(pos, format, args...)
	e.Line, e.Width = s.line(pos.Line), width
	*s.errs = append(*s.errs, e)
	return e
}

// maxNodes bounds what aliases may expand to.
const maxNodes = 5_000_000

type reader struct {
	*source
	nodes   int
	visited map[*yaml.Node]bool // on the way down: an alias to one of them is a cycle
}

// parseYAML reads one document. A file without content is a nil Value. Mistakes go to errs; what can be read is read.
func parseYAML(name string, data []byte, errs *diag.List) (*Value, *source) {
	src := newSource(name, data, errs)
	text := []byte(strings.Join(src.lines, "\n"))
	dec := yaml.NewDecoder(bytes.NewReader(text))
	var doc yaml.Node
	if err := dec.Decode(&doc); err != nil {
		if !errors.Is(err, io.EOF) {
			src.syntax(err)
		}
		return nil, src
	}
	var more yaml.Node
	if err := dec.Decode(&more); err == nil {
		src.errorf(diag.Pos{File: name, Line: more.Line, Col: more.Column}, 0, "a second document begins here, expected one").With("remove the --- line")
	}
	r := &reader{source: src, visited: map[*yaml.Node]bool{}}
	if len(doc.Content) == 0 {
		return nil, src
	}
	return r.value(doc.Content[0]), src
}

var yamlLine = regexp.MustCompile(`line (\d+): (.*)`)

// syntax says in our words what the YAML parser found.
func (s *source) syntax(err error) {
	pos, what := diag.Pos{File: s.name, Line: 1, Col: 1}, err.Error()
	if m := yamlLine.FindStringSubmatch(what); m != nil {
		pos.Line, _ = strconv.Atoi(m[1])
		what = m[2]
	}
	what = strings.TrimPrefix(what, "yaml: ")
	for i := max(1, pos.Line-1); i <= min(pos.Line+1, len(s.lines)); i++ {
		l := s.line(i)
		if t := strings.IndexByte(l, '\t'); t >= 0 && strings.TrimSpace(l[:t]) == "" {
			s.errorf(diag.Pos{File: s.name, Line: i, Col: t + 1}, 1, "a tab in the indentation, expected spaces").With("replace the tab by two spaces")
			return
		}
	}
	hint := "look at this line and the one above it"
	switch {
	case strings.Contains(what, "did not find expected key"), strings.Contains(what, "mapping values are not allowed"):
		what, hint = "the indentation or a colon is off: "+what, "give keys of one map the same indentation, and quote a value that holds ': '"
	case strings.Contains(what, "found unexpected end of stream"), strings.Contains(what, "unexpected end of"):
		what, hint = "a quote or bracket is not closed", "close it on the line where it begins"
	case strings.Contains(what, "unknown anchor"):
		what, hint = what+" (an alias must come after its anchor)", "define the anchor above this line"
	case strings.Contains(what, "found character that cannot start any token"):
		what, hint = "a character that cannot begin a value", "quote the value"
	default:
		what = "this is no YAML: " + what
	}
	if pos.Col == 1 {
		l := s.line(pos.Line)
		pos.Col = len(l) - len(strings.TrimLeft(l, " ")) + 1
	}
	s.errorf(pos, max(1, len(strings.TrimSpace(s.line(pos.Line)))), "%s", what).With("%s", hint)
}

func (r *reader) pos(n *yaml.Node) diag.Pos {
	return diag.Pos{File: r.name, Line: n.Line, Col: n.Column}
}

func (r *reader) value(n *yaml.Node) *Value {
	r.nodes++
	if r.nodes > maxNodes {
		if r.nodes == maxNodes+1 {
			r.errorf(r.pos(n), 0, "aliases expand to more than %d values", maxNodes)
		}
		return &Value{Pos: r.pos(n)}
	}
	switch n.Kind {
	case yaml.AliasNode:
		if n.Alias == nil || r.visited[n.Alias] {
			r.errorf(r.pos(n), len(n.Value)+1, "the alias *%s stands inside its own anchor", n.Value)
			return &Value{Pos: r.pos(n)}
		}
		return r.value(n.Alias)
	case yaml.ScalarNode:
		return r.scalar(n)
	case yaml.SequenceNode:
		r.visited[n] = true
		defer delete(r.visited, n)
		v := &Value{Kind: List, Pos: r.pos(n)}
		for _, c := range n.Content {
			v.Items = append(v.Items, r.value(c))
		}
		return v
	case yaml.MappingNode:
		return r.mapping(n)
	}
	return &Value{Pos: r.pos(n)}
}

func (r *reader) mapping(n *yaml.Node) *Value {
	r.visited[n] = true
	defer delete(r.visited, n)
	v := &Value{Kind: Map, Pos: r.pos(n)}
	at := make(map[string]int, len(n.Content)/2)
	var merges []*yaml.Node
	for i := 0; i+1 < len(n.Content); i += 2 {
		k, c := n.Content[i], n.Content[i+1]
		if k.Tag == "!!merge" {
			merges = append(merges, c)
			continue
		}
		for k.Kind == yaml.AliasNode && k.Alias != nil {
			k = k.Alias
		}
		if k.Kind != yaml.ScalarNode {
			r.errorf(r.pos(k), 0, "a list or map cannot be a key here")
			continue
		}
		if first, twice := at[k.Value]; twice {
			r.errorf(r.pos(k), len(k.Value), "key %q stands twice, first in line %d", k.Value, v.Keys[first].Pos.Line).With("remove one of them")
			continue
		}
		at[k.Value] = len(v.Keys)
		v.Keys = append(v.Keys, Key{Name: k.Value, Pos: r.pos(k), Value: r.value(c)})
	}
	for _, m := range merges {
		r.merge(v, at, m)
	}
	return v
}

// merge adds the keys of a << that the map does not have itself.
func (r *reader) merge(v *Value, at map[string]int, n *yaml.Node) {
	from := n
	for from.Kind == yaml.AliasNode && from.Alias != nil {
		from = from.Alias
	}
	switch from.Kind {
	case yaml.SequenceNode:
		for _, c := range from.Content {
			r.merge(v, at, c)
		}
	case yaml.MappingNode:
		if r.visited[from] {
			r.errorf(r.pos(n), 0, "a merge of a map into itself")
			return
		}
		for _, k := range r.mapping(from).Keys {
			if _, ok := at[k.Name]; !ok {
				at[k.Name] = len(v.Keys)
				v.Keys = append(v.Keys, k)
			}
		}
	default:
		r.errorf(r.pos(n), 0, "<< takes a map or a list of maps")
	}
}

func (r *reader) scalar(n *yaml.Node) *Value {
	v := &Value{Text: n.Value, Pos: r.pos(n), Kind: String}
	switch {
	case n.Style&(yaml.DoubleQuotedStyle|yaml.SingleQuotedStyle|yaml.LiteralStyle|yaml.FoldedStyle) != 0:
	case n.Style&yaml.TaggedStyle != 0 && n.Tag == "!!str":
	default:
		v.Kind, v.Text = resolveScalar(n.Value)
	}
	return v
}

var (
	intForm   = regexp.MustCompile(`^[-+]?(0|[1-9][0-9]*)$|^0x[0-9a-fA-F]+$|^0o[0-7]+$`)
	floatForm = regexp.MustCompile(`^[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?$`)
)

// resolveScalar gives the type of an unquoted scalar by the core schema of YAML 1.2, with one change: a number with a leading zero
// (007, a zip code more often than a number) is a string. Dates are strings, and so are yes, no, on and off.
func resolveScalar(s string) (ValueKind, string) {
	switch s {
	case "", "~", "null", "Null", "NULL":
		return Null, s
	case "true", "True", "TRUE", "false", "False", "FALSE":
		return Bool, s
	case ".nan", ".NaN", ".NAN", ".inf", ".Inf", ".INF", "+.inf", "-.inf", "+.Inf", "-.Inf", "+.INF", "-.INF":
		return Float, s
	}
	if c := s[0]; c != '-' && c != '+' && c != '.' && (c < '0' || c > '9') {
		return String, s
	}
	if intForm.MatchString(s) {
		return Int, s
	}
	digits := strings.TrimLeft(s, "+-")
	if floatForm.MatchString(s) && !(len(digits) > 1 && digits[0] == '0' && digits[1] >= '0' && digits[1] <= '9') {
		return Float, s
	}
	return String, s
}

// describe says what a value is, for "expected ..., not ...".
func describe(v *Value) string {
	switch v.Kind {
	case Null:
		return "nothing"
	case Bool, Int, Float:
		return v.Text
	case String:
		return fmt.Sprintf("%q", v.Text)
	case List:
		return "a list"
	}
	return "a map"
}
