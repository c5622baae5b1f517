package pipeline

import (
	"fmt"
	"regexp"
	"strings"
	"unicode/utf8"

	"gopkg.in/yaml.v3"

	"pipe/internal/diag"
)

// maxNodes bounds what aliases may expand to: a file of a few lines could else stand for more values than there is memory.
const maxNodes = 2_000_000

// reader makes Values of one document's nodes. What an alias names is read once and shared: Values are never changed.
type reader struct {
	*source
	nodes int                   // values so far, counting what aliases repeat
	open  map[*yaml.Node]bool   // on the way down: an alias to one of them is a cycle
	known map[*yaml.Node]*Value // of nodes with an anchor
	sizes map[*yaml.Node]int    // values in each of them
}

// parseYAML reads one document. A file without content is a nil Value. Mistakes go to errs; what can be read is read.
func parseYAML(name string, data []byte, errs *diag.List) (*Value, *source) {
	src := newSource(name, data, errs)
	if !utf8.ValidString(src.text) {
		src.badText()
		return nil, src
	}
	doc, dec, err := parseNodes(src.text)
	if err != nil {
		src.syntax(err)
		return nil, src
	}
	if doc == nil || len(doc.Content) == 0 {
		return nil, src
	}
	var more yaml.Node
	if err := dec.Decode(&more); err == nil {
		src.errorf(diag.Pos{File: name, Line: more.Line, Col: 1}, 0, "a second document begins here, expected one").With("remove the line ---")
	}
	r := &reader{source: src, open: map[*yaml.Node]bool{}, known: map[*yaml.Node]*Value{}, sizes: map[*yaml.Node]int{}}
	return r.value(doc.Content[0]), src
}

func (r *reader) pos(n *yaml.Node) diag.Pos {
	return diag.Pos{File: r.name, Line: n.Line, Col: n.Column}
}

// grow counts values, and reports once that they are too many.
func (r *reader) grow(n *yaml.Node, by int) (ok bool) {
	before := r.nodes
	r.nodes += by
	if before <= maxNodes && r.nodes > maxNodes {
		r.errorf(r.pos(n), 0, "aliases expand to more than %d values", maxNodes)
	}
	return r.nodes <= maxNodes
}

func (r *reader) value(n *yaml.Node) *Value {
	if n.Kind == yaml.AliasNode {
		return r.alias(n)
	}
	if v, ok := r.known[n]; ok { // a merge reads it again
		r.grow(n, r.sizes[n])
		return v
	}
	before := r.nodes
	if !r.grow(n, 1) {
		return &Value{Pos: r.pos(n), bad: true}
	}
	var v *Value
	switch n.Kind {
	case yaml.SequenceNode:
		r.open[n] = true
		v = &Value{Kind: List, Pos: r.pos(n), Items: make([]*Value, len(n.Content))}
		for i, c := range n.Content {
			v.Items[i] = r.value(c)
		}
		delete(r.open, n)
		r.tag(n, "!!seq")
	case yaml.MappingNode:
		r.open[n] = true
		v = r.mapping(n)
		delete(r.open, n)
		r.tag(n, "!!map")
	default:
		v = r.scalar(n)
	}
	if n.Anchor != "" {
		r.known[n], r.sizes[n] = v, r.nodes-before
	}
	return v
}

func (r *reader) alias(n *yaml.Node) *Value {
	v, ok := r.known[n.Alias]
	if !ok {
		r.errorf(r.pos(n), len(n.Value)+1, "the alias *%s stands inside its own anchor", n.Value)
		return &Value{Pos: r.pos(n), bad: true}
	}
	if !r.grow(n, r.sizes[n.Alias]) {
		return &Value{Pos: r.pos(n), bad: true}
	}
	return v
}

// tag reports a tag on a list or map that says anything but what it is.
func (r *reader) tag(n *yaml.Node, own string) {
	if n.Style&yaml.TaggedStyle != 0 && n.Tag != own {
		r.errorf(r.pos(n), 0, "the tag %s is not known here", n.Tag).With("remove it")
	}
}

func (r *reader) mapping(n *yaml.Node) *Value {
	v := &Value{Kind: Map, Pos: r.pos(n), Keys: make([]Key, 0, len(n.Content)/2)}
	var at map[string]int // where each key stands; small maps are searched instead
	find := func(name string) int {
		if at != nil {
			if i, ok := at[name]; ok {
				return i
			}
			return -1
		}
		for i := range v.Keys {
			if v.Keys[i].Name == name {
				return i
			}
		}
		return -1
	}
	add := func(k Key) {
		if at != nil {
			at[k.Name] = len(v.Keys)
		}
		v.Keys = append(v.Keys, k)
		if at == nil && len(v.Keys) > 16 {
			at = make(map[string]int, len(n.Content)/2)
			for i := range v.Keys {
				at[v.Keys[i].Name] = i
			}
		}
	}
	var merges []*yaml.Node
	for i := 0; i+1 < len(n.Content); i += 2 {
		k, c := n.Content[i], n.Content[i+1]
		if k.Tag == "!!merge" {
			merges = append(merges, c)
			continue
		}
		at := r.pos(k)
		if k.Kind == yaml.AliasNode {
			k = k.Alias
		}
		if k.Kind != yaml.ScalarNode {
			r.errorf(at, 0, "a list or map cannot be a key here")
			continue
		}
		r.remember(k)
		if first := find(k.Value); first >= 0 {
			r.errorf(at, 0, "key %q stands twice, first in line %d", k.Value, v.Keys[first].Pos.Line).With("remove one of them")
			continue
		}
		add(Key{Name: k.Value, Pos: at, Value: r.value(c)})
	}
	for _, m := range merges {
		r.merge(m, func(k Key) {
			if find(k.Name) < 0 {
				add(k)
			}
		})
	}
	v.index = at
	return v
}

// remember keeps the value of a key that has an anchor, for aliases to it.
func (r *reader) remember(k *yaml.Node) {
	if k.Anchor != "" && r.known[k] == nil {
		r.known[k], r.sizes[k] = r.scalar(k), 1
	}
}

// merge gives the keys of what stands after <<: a map, an alias to one, or a list of those, of which the first has precedence.
func (r *reader) merge(n *yaml.Node, add func(Key)) {
	from := n
	if n.Kind == yaml.AliasNode {
		from = n.Alias
	}
	switch {
	case r.open[from]:
		r.errorf(r.pos(n), 0, "a map cannot be merged into itself")
	case from.Kind == yaml.SequenceNode:
		r.open[from] = true
		for _, c := range from.Content {
			r.merge(c, add)
		}
		delete(r.open, from)
	case from.Kind == yaml.MappingNode:
		for _, k := range r.value(from).Keys {
			add(k)
		}
	default:
		r.errorf(r.pos(n), 0, "expected a map or a list of maps after <<").With("<<: *name, where another map is marked &name")
	}
}

func (r *reader) scalar(n *yaml.Node) *Value {
	v := &Value{Text: n.Value, Pos: r.pos(n), Kind: String}
	if n.Style&(yaml.DoubleQuotedStyle|yaml.SingleQuotedStyle|yaml.LiteralStyle|yaml.FoldedStyle) == 0 {
		v.Kind = resolveScalar(n.Value)
	}
	if n.Style&yaml.TaggedStyle == 0 {
		return v
	}
	want, ok := map[string]ValueKind{"!!str": String, "!!int": Int, "!!float": Float, "!!bool": Bool, "!!null": Null}[n.Tag]
	is := resolveScalar(n.Value)
	switch {
	case !ok:
		r.errorf(v.Pos, 0, "the tag %s is not known here", n.Tag).With("remove it")
	case want != String && is != want && (want != Float || is != Int):
		r.errorf(v.Pos, 0, "%q is not what its tag %s says", n.Value, n.Tag).With("remove the tag")
	default:
		v.Kind = want
	}
	return v
}

var (
	intForm   = regexp.MustCompile(`^[-+]?(0|[1-9][0-9]*)$|^0x[0-9a-fA-F]+$|^0o[0-7]+$`)
	floatForm = regexp.MustCompile(`^[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?$`)
)

// resolveScalar gives the type of an unquoted scalar by the core schema of YAML 1.2, with one change: a number with a leading zero
// (007, a zip code more often than a number) is a string. Dates are strings, and so are yes, no, on and off.
func resolveScalar(s string) ValueKind {
	switch s {
	case "", "~", "null", "Null", "NULL":
		return Null
	case "true", "True", "TRUE", "false", "False", "FALSE":
		return Bool
	case ".nan", ".NaN", ".NAN", ".inf", ".Inf", ".INF", "+.inf", "-.inf", "+.Inf", "-.Inf", "+.INF", "-.INF":
		return Float
	}
	if c := s[0]; c != '-' && c != '+' && c != '.' && (c < '0' || c > '9') {
		return String
	}
	if intForm.MatchString(s) {
		return Int
	}
	digits := strings.TrimLeft(s, "+-")
	if floatForm.MatchString(s) && !(len(digits) > 1 && digits[0] == '0' && digits[1] >= '0' && digits[1] <= '9') {
		return Float
	}
	return String
}

// describe says what a value is, for "expected ..., not ...".
func describe(v *Value) string {
	switch v.Kind {
	case Null:
		return "nothing"
	case Bool, Int, Float:
		return v.Text
	case String:
		if text := []rune(v.Text); len(text) > 40 {
			return fmt.Sprintf("%q...", string(text[:40]))
		}
		return fmt.Sprintf("%q", v.Text)
	case List:
		if len(v.Items) == 0 {
			return "an empty list"
		}
		return "a list"
	}
	if len(v.Keys) == 0 {
		return "an empty map"
	}
	return "a map"
}
