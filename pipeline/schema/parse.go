package schema

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"pipe/internal/diag"
)

// names are the types that need no arguments, then those that do; suggestions are chosen among them.
var (
	plain  = []Kind{Boolean, Int, Long, Float, Double, Date, Time, Timestamp, TimestampTz, String, UUID, Binary}
	nested = []Kind{Decimal, Fixed, List, Map, Struct}
)

// foreign holds what other engines call a type.
var foreign = map[string]string{
	"bool": "boolean", "integer": "int", "int32": "int", "int4": "int", "smallint": "int", "tinyint": "int", "int16": "int", "int8": "int",
	"bigint": "long", "int64": "long", "uint32": "long", "number": "long", "real": "float", "float32": "float", "float4": "float",
	"float64": "double", "float8": "double", "numeric": "decimal(18,2)", "text": "string", "str": "string", "varchar": "string",
	"char": "string", "utf8": "string", "object": "string", "json": "string", "datetime": "timestamp", "timestamp_ntz": "timestamp", "timestamp_ltz": "timestamptz",
	"blob": "binary", "bytes": "binary", "bytea": "binary", "varbinary": "binary", "array": "list<string>", "row": "struct<name: type>",
	"date32": "date", "guid": "uuid", "hugeint": "decimal(38,0)", "uint64": "decimal(20,0)",
}

// Error is what is wrong with the text of a type, a transform or a sort field, and what to write.
type Error struct {
	Msg  string
	Hint string // what to write instead; may be empty
	Open bool   // the text ends inside ( or <, as when a comma of it was taken for the end of a YAML item
}

// Error gives the message.
func (e *Error) Error() string { return e.Msg }

// Parse reads a type as Type.String writes it; white space between the parts does not count. Names of other engines' types are
// errors that say what to write. The error is always an *Error.
func Parse(text string) (Type, error) {
	p := parser{text: text}
	t, err := p.typ(0)
	if err == nil {
		if p.space(); p.at < len(text) {
			err = fail("", "unexpected %q after the type %s", p.text[p.at:], t)
		}
	}
	if err != nil {
		return Type{}, asError(err)
	}
	return t, nil
}

// ParseField reads "type" or "type required", the value of one column of a schema. The field has no name. The error is always an *Error.
func ParseField(text string) (Field, error) {
	p := parser{text: text}
	t, err := p.typ(0)
	if err != nil {
		return Field{}, asError(err)
	}
	f := Field{Type: t}
	switch rest := strings.TrimSpace(p.text[p.at:]); {
	case rest == "":
	case rest == "required":
		f.Required = true
	case strings.EqualFold(rest, "not null"):
		return Field{}, fail(t.String()+" required", "unexpected %q after the type %s", rest, t)
	case rest == "optional", rest == "nullable", strings.EqualFold(rest, "null"):
		return Field{}, fail(t.String(), "unexpected %q after the type %s: a column may hold NULL unless it is required", rest, t)
	default:
		return Field{}, fail(t.String()+" required", "unexpected %q after the type %s; expected nothing or required", rest, t)
	}
	return f, nil
}

// maxDepth bounds how deep types nest, so that no text can exhaust the stack.
const maxDepth = 64

type parser struct {
	text string
	at   int
}

func fail(hint, format string, args ...any) *Error {
	return &Error{Msg: fmt.Sprintf(format, args...), Hint: hint}
}

func asError(err error) *Error {
	var e *Error
	if errors.As(err, &e) {
		return e
	}
	return &Error{Msg: err.Error()}
}

func (p *parser) space() {
	for p.at < len(p.text) && strings.IndexByte(" \t\r\n", p.text[p.at]) >= 0 {
		p.at++
	}
}

// next reports whether the next token is c, and takes it.
func (p *parser) next(c byte) bool {
	p.space()
	if p.at < len(p.text) && p.text[p.at] == c {
		p.at++
		return true
	}
	return false
}

func (p *parser) expect(c byte, in string) error {
	if p.next(c) {
		return nil
	}
	if p.at == len(p.text) {
		return &Error{Msg: fmt.Sprintf("%q ends inside %s; expected %q", p.text, in, c), Open: true}
	}
	return fail("", "unexpected %q in %s; expected %q", p.text[p.at:], in, c)
}

func wordByte(c byte) bool {
	return c == '_' || '0' <= c && c <= '9' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || c >= 0x80
}

func (p *parser) word() string {
	p.space()
	from := p.at
	for p.at < len(p.text) && wordByte(p.text[p.at]) {
		p.at++
	}
	return p.text[from:p.at]
}

func (p *parser) typ(depth int) (Type, error) {
	if depth > maxDepth {
		return Type{}, fail("", "types nest deeper than %d", maxDepth)
	}
	name := p.word()
	switch Kind(name) {
	case Decimal:
		return p.decimal()
	case Fixed:
		n, err := p.args("fixed", "fixed(16)", 1)
		if err != nil {
			return Type{}, err
		}
		if n[0] < 1 {
			return Type{}, fail("fixed(16)", "fixed(%d): the length must be at least 1", n[0])
		}
		return Type{Kind: Fixed, Length: n[0]}, nil
	case List:
		t, err := p.parts("list", "list<string>", 1, depth)
		if err != nil {
			return Type{}, err
		}
		return Type{Kind: List, Fields: []Field{{Name: "element", Type: t[0]}}}, nil
	case Map:
		t, err := p.parts("map", "map<string, long>", 2, depth)
		if err != nil {
			return Type{}, err
		}
		return Type{Kind: Map, Fields: []Field{{Name: "key", Type: t[0], Required: true}, {Name: "value", Type: t[1]}}}, nil
	case Struct:
		return p.structure(depth)
	}
	for _, k := range plain {
		if name == string(k) {
			if p.next('(') {
				return Type{}, fail(name, "%s takes no arguments", name)
			}
			return Type{Kind: k}, nil
		}
	}
	return Type{}, p.unknown(name)
}

func (p *parser) unknown(name string) error {
	if name == "" {
		if p.at == len(p.text) {
			return &Error{Msg: "expected a type", Hint: "string", Open: p.text != ""}
		}
		return fail("string", "unexpected %q; expected a type", p.text[p.at:])
	}
	low := strings.ToLower(name)
	if t := foreign[low]; t != "" {
		return fail(t, "unknown type %q", name)
	}
	all := make([]string, 0, len(plain)+len(nested))
	for _, k := range append(append([]Kind(nil), plain...), nested...) {
		all = append(all, string(k))
		if low == string(k) {
			return fail(low, "unknown type %q; types are lower case", name)
		}
	}
	if c := diag.Closest(low, all); c != "" {
		return fail(c, "unknown type %q", name)
	}
	return fail("", "unknown type %q; expected one of %s", name, strings.Join(all, ", "))
}

func (p *parser) decimal() (Type, error) {
	n, err := p.args("decimal", "decimal(18,2)", 2)
	if err != nil {
		return Type{}, err
	}
	if n[0] < 1 || n[0] > 38 {
		return Type{}, fail("decimal(38,"+strconv.Itoa(min(n[1], 38))+")", "decimal(%d,%d): the precision must be 1 to 38", n[0], n[1])
	}
	if n[1] > n[0] {
		return Type{}, fail("", "decimal(%d,%d): the scale must be at most the precision", n[0], n[1])
	}
	return Type{Kind: Decimal, Precision: n[0], Scale: n[1]}, nil
}

// args reads "(n, ...)".
func (p *parser) args(name, example string, count int) ([]int, error) {
	if !p.next('(') {
		return nil, fail(example, "%s needs its arguments: %s", name, example)
	}
	var out []int
	for i := range count {
		if i > 0 {
			if p.space(); p.at < len(p.text) && p.text[p.at] == ')' {
				return nil, fail(example, "%s takes %d arguments: %s", name, count, example)
			}
			if err := p.expect(',', name); err != nil {
				return nil, err
			}
		}
		n, err := p.number(name)
		if err != nil {
			return nil, err
		}
		out = append(out, n)
	}
	return out, p.expect(')', name)
}

func (p *parser) number(in string) (int, error) {
	word := p.word()
	n, err := strconv.Atoi(word)
	switch {
	case word == "" && p.at == len(p.text):
		return 0, &Error{Msg: fmt.Sprintf("%q ends inside %s; expected a number", p.text, in), Open: true}
	case word == "":
		return 0, fail("", "unexpected %q in %s; expected a number", p.text[p.at:], in)
	case err != nil:
		return 0, fail("", "unexpected %q in %s; expected a number", word, in)
	}
	return n, nil
}

// parts reads "<type, ...>".
func (p *parser) parts(name, example string, count, depth int) ([]Type, error) {
	if !p.next('<') {
		return nil, fail(example, "%s needs the types inside it: %s", name, example)
	}
	var out []Type
	for i := range count {
		if i > 0 {
			if err := p.expect(',', name); err != nil {
				return nil, err
			}
		}
		t, err := p.typ(depth + 1)
		if err != nil {
			return nil, err
		}
		out = append(out, t)
	}
	return out, p.expect('>', name)
}

func (p *parser) structure(depth int) (Type, error) {
	const example = "struct<name: string, age: int>"
	if !p.next('<') {
		return Type{}, fail(example, "struct needs its fields: %s", example)
	}
	t := Type{Kind: Struct}
	seen := map[string]bool{}
	for {
		f, err := p.field(depth)
		if err != nil {
			return Type{}, err
		}
		if seen[f.Name] {
			return Type{}, fail("", "the struct has two fields %s", quoteName(f.Name))
		}
		seen[f.Name] = true
		t.Fields = append(t.Fields, f)
		if p.next(',') {
			continue
		}
		return t, p.expect('>', "struct")
	}
}

// field reads "name: type [required]" inside a struct.
func (p *parser) field(depth int) (Field, error) {
	name, err := p.name()
	if err != nil {
		return Field{}, err
	}
	if err := p.expect(':', "struct"); err != nil {
		return Field{}, err
	}
	t, err := p.typ(depth + 1)
	if err != nil {
		return Field{}, err
	}
	f := Field{Name: name, Type: t}
	at := p.at
	if p.word() == "required" {
		f.Required = true
	} else {
		p.at = at
	}
	return f, nil
}

// name reads a word, or any text between backquotes in which a backquote is written twice.
func (p *parser) name() (string, error) {
	if !p.next('`') {
		if w := p.word(); w != "" {
			return w, nil
		}
		if p.at == len(p.text) {
			return "", &Error{Msg: fmt.Sprintf("%q ends inside struct; expected a name", p.text), Open: true}
		}
		return "", fail("`"+p.text[p.at:]+"`", "unexpected %q in struct; expected a name (an odd one between backquotes)", p.text[p.at:])
	}
	var b strings.Builder
	for p.at < len(p.text) {
		c := p.text[p.at]
		p.at++
		if c != '`' {
			b.WriteByte(c)
			continue
		}
		if p.at < len(p.text) && p.text[p.at] == '`' {
			b.WriteByte('`')
			p.at++
			continue
		}
		if b.Len() == 0 {
			return "", fail("", "a name between backquotes is empty")
		}
		return b.String(), nil
	}
	return "", &Error{Msg: fmt.Sprintf("%q ends inside a name between backquotes", p.text), Open: true}
}
