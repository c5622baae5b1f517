package schema

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"pipe/internal/diag"
)

// Names of transforms, in Iceberg's words.
const (
	Identity = "identity"
	Year     = "year"
	Month    = "month"
	Day      = "day"
	Hour     = "hour"
	Bucket   = "bucket"
	Truncate = "truncate"
)

// transforms maps each name that may be written to the transform; the plural forms are SQL's of other engines.
var transforms = map[string]string{
	Identity: Identity, Year: Year, Month: Month, Day: Day, Hour: Hour, Bucket: Bucket, Truncate: Truncate,
	"years": Year, "months": Month, "days": Day, "hours": Hour,
}

// ParseTransform reads one field of a partition spec: a bare column (identity), year, month, day or hour of a column, bucket(16, id),
// truncate(4, name). The error is always an *Error.
func ParseTransform(text string) (Transform, error) {
	p := parser{text: text}
	head, bare, err := p.column()
	if err != nil {
		return Transform{}, asError(err)
	}
	if p.space(); p.at == len(text) {
		return Transform{Name: Identity, Column: head}, nil
	}
	if !bare || !p.next('(') {
		return Transform{}, fail("", "unexpected %q after the column %s", p.text[p.at:], head)
	}
	name, ok := transforms[strings.ToLower(head)]
	if !ok {
		names := []string{Identity, Year, Month, Day, Hour, Bucket, Truncate}
		if c := diag.Closest(strings.ToLower(head), names); c != "" {
			return Transform{}, fail(c+text[p.at-1:], "unknown transform %q", head)
		}
		return Transform{}, fail("", "unknown transform %q; expected a column or one of %s", head, strings.Join(names, ", "))
	}
	t := Transform{Name: name}
	if name == Bucket || name == Truncate {
		if t.Arg, err = p.argument(name); err != nil {
			return Transform{}, asError(err)
		}
	}
	if t.Column, _, err = p.column(); err != nil {
		return Transform{}, asError(err)
	}
	if err := p.expect(')', name); err != nil {
		return Transform{}, asError(err)
	}
	if p.space(); p.at < len(text) {
		return Transform{}, fail("", "unexpected %q after %s", text[p.at:], t)
	}
	return t, nil
}

func (p *parser) argument(name string) (int, error) {
	example := name + "(16, id)"
	at := p.at
	n, err := strconv.Atoi(p.word())
	if err != nil {
		p.at = at
		if strings.TrimSpace(p.text[at:]) == "" {
			return 0, &Error{Msg: fmt.Sprintf("%q ends inside %s", p.text, name), Open: true}
		}
		return 0, fail(example, "%s takes a number and a column: %s", name, example)
	}
	if n < 1 || n > 1<<31-1 {
		return 0, fail(example, "%s(%d, ...): the number must be at least 1", name, n)
	}
	return n, p.expect(',', name)
}

// column reads a name, dotted where it leads into structs; bare: it is one plain word.
func (p *parser) column() (name string, bare bool, err error) {
	from := p.at
	if name, err = p.name(); err != nil {
		if asError(err).Open {
			return "", false, &Error{Msg: "expected a column", Open: p.text != ""}
		}
		return "", false, fail("", "unexpected %q; expected a column", p.text[p.at:])
	}
	bare = !strings.Contains(p.text[from:p.at], "`")
	for p.at < len(p.text) && p.text[p.at] == '.' {
		p.at++
		part, err := p.name()
		if err != nil {
			return "", false, err
		}
		name, bare = name+"."+part, false
	}
	return name, bare, nil
}

// String gives the one text of a transform: ParseTransform reads it back.
func (t Transform) String() string {
	switch t.Name {
	case Identity:
		return quoteColumn(t.Column)
	case Bucket, Truncate:
		return fmt.Sprintf("%s(%d, %s)", t.Name, t.Arg, quoteColumn(t.Column))
	}
	return t.Name + "(" + quoteColumn(t.Column) + ")"
}

// Check reports whether the transform can take a column of this type.
func (t Transform) Check(of Type) error {
	var ok []Kind
	switch t.Name {
	case Year, Month, Day:
		ok = []Kind{Date, Timestamp, TimestampTz}
	case Hour:
		ok = []Kind{Timestamp, TimestampTz}
	case Bucket:
		ok = []Kind{Int, Long, Decimal, Date, Time, Timestamp, TimestampTz, String, UUID, Fixed, Binary}
	case Truncate:
		ok = []Kind{Int, Long, Decimal, String, Binary}
	default:
		if of.Primitive() {
			return nil
		}
		return fail("", "a table cannot be partitioned by %s, which is a %s", quoteColumn(t.Column), of.Kind)
	}
	if slices.Contains(ok, of.Kind) {
		return nil
	}
	words := make([]string, len(ok))
	for i, k := range ok {
		words[i] = string(k)
	}
	return fail("", "%s needs a column of type %s; %s is %s", t.Name, strings.Join(words, ", "), quoteColumn(t.Column), of)
}

// Primitive reports whether the type has no parts.
func (t Type) Primitive() bool { return t.Kind != List && t.Kind != Map && t.Kind != Struct }

// ParseSort reads one field of a sort order: "col", "col desc", "col asc nulls last". As in Iceberg, NULL comes first when
// ascending and last when descending unless the text says otherwise. The error is always an *Error.
func ParseSort(text string) (SortField, error) {
	p := parser{text: text}
	name, _, err := p.column()
	if err != nil {
		return SortField{}, asError(err)
	}
	s := SortField{Column: name}
	words := strings.Fields(strings.ToLower(p.text[p.at:]))
	if len(words) > 0 && (words[0] == "asc" || words[0] == "desc") {
		s.Descending = words[0] == "desc"
		words = words[1:]
	}
	s.NullsLast = s.Descending
	if len(words) == 2 && words[0] == "nulls" && (words[1] == "first" || words[1] == "last") {
		s.NullsLast = words[1] == "last"
		words = nil
	}
	if len(words) > 0 {
		return SortField{}, fail(quoteColumn(name)+" desc nulls last", "unexpected %q after the column %s; expected asc or desc, then nulls first or nulls last",
			strings.Join(words, " "), quoteColumn(name))
	}
	return s, nil
}

// String gives the one text of a sort field, without what is the default: ParseSort reads it back.
func (s SortField) String() string {
	text := quoteColumn(s.Column)
	if s.Descending {
		text += " desc"
	}
	if s.NullsLast != s.Descending {
		text += map[bool]string{true: " nulls last", false: " nulls first"}[s.NullsLast]
	}
	return text
}

// quoteColumn writes a name so that column reads it back; dots lead into structs and stay outside the quotes.
func quoteColumn(name string) string {
	parts := strings.Split(name, ".")
	for i := range parts {
		if parts[i] == "" {
			return quoteName(name)
		}
		parts[i] = quoteName(parts[i])
	}
	return strings.Join(parts, ".")
}
