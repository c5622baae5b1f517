package textio

import (
	"fmt"
	"math"

	"pipe/internal/diag"
	"pipe/pipeline/schema"
)

// class is a set of the kinds of text that a column was seen to hold.
type class uint16

const (
	sawBool    class = 1 << iota
	sawLong          // an integer that a double keeps too
	sawBig           // one that only a long keeps
	sawDouble        // with a point or an exponent
	sawSpecial       // NaN, Infinity
	sawHuge          // a number of which neither keeps every digit
	sawDate
	sawTimestamp
	sawTimestampTz
	sawText
	sawObject
	sawList
)

const (
	sawNumber  = sawLong | sawBig | sawDouble | sawHuge
	sawString  = sawDate | sawTimestamp | sawTimestampTz | sawText
	exactInts  = 1 << 53 // up to here a double keeps every integer
	keptDigits = 17      // what a program that prints a double in full needs at most
)

// classify says what a CSV field looks like.
func classify(s []byte) class {
	if len(s) == 0 {
		return sawText
	}
	switch c := s[0]; {
	case isDigit(c) && len(s) >= 10 && s[4] == '-':
		return classifyTime(s)
	case isDigit(c), c == '.', c == '-' && len(s) > 1 && (isDigit(s[1]) || s[1] == '.'):
		if n := classifyNumber(s); n != sawHuge {
			return n
		}
		return sawText
	}
	switch string(s) {
	case "true", "True", "TRUE", "false", "False", "FALSE":
		return sawBool
	case "NaN", "Infinity", "-Infinity", "inf", "-inf":
		return sawSpecial
	}
	return sawText
}

// classifyTime says what text is in JSON, and in CSV where it starts with four digits and a hyphen.
func classifyTime(s []byte) class {
	if len(s) < 10 || !isDigit(s[0]) {
		return sawText
	}
	if len(s) == 10 {
		if _, p := parseDate(s); p == "" {
			return sawDate
		}
		return sawText
	}
	switch _, zone, p := takeTimestamp(s); {
	case p != "":
		return sawText
	case zone:
		return sawTimestampTz
	}
	return sawTimestamp
}

// classifyNumber reads -?(0|[1-9][0-9]*)?(\.[0-9]+)?([eE][+-]?[0-9]+)? and judges what keeps it.
func classifyNumber(s []byte) class {
	i, significant, zeros := 0, 0, 0
	digits := func() int {
		start := i
		for ; i < len(s) && isDigit(s[i]); i++ {
			switch {
			case s[i] != '0':
				significant, zeros = significant+zeros+1, 0
			case significant > 0:
				zeros++
			}
		}
		return i - start
	}
	if s[0] == '-' {
		i++
	}
	whole := i
	n := digits()
	if n > 1 && s[whole] == '0' {
		return sawText // a code: 007
	}
	if i == len(s) {
		switch v, p := parseInt(s, 64); {
		case p != "":
			return sawHuge
		case v == 0 && s[0] == '-':
			return sawDouble
		case v > exactInts || v < -exactInts:
			return sawBig
		}
		return sawLong
	}
	if s[i] == '.' {
		i++
		k := digits()
		if k == 0 {
			return sawText
		}
		n += k
	}
	if n == 0 {
		return sawText
	}
	kept := significant <= keptDigits
	if i < len(s) && s[i]|0x20 == 'e' {
		if i++; i < len(s) && (s[i] == '+' || s[i] == '-') {
			i++
		}
		if digits() == 0 {
			return sawText
		}
	}
	if i < len(s) {
		return sawText
	}
	if v, p := parseFloat(s, 64); p != "" || !kept || math.IsInf(v, 0) || v == 0 && significant > 0 && kept && !allZero(s) {
		return sawHuge
	}
	return sawDouble
}

// allZero tells a number that is zero from one that is too small for a double.
func allZero(s []byte) bool {
	for _, c := range s {
		switch {
		case c|0x20 == 'e':
			return true
		case c >= '1' && c <= '9':
			return false
		}
	}
	return true
}

// csvType gives the type that keeps every value seen in a column.
func csvType(seen class) schema.Kind {
	switch {
	case seen == sawBool:
		return schema.Boolean
	case seen != 0 && seen&^(sawLong|sawBig) == 0:
		return schema.Long
	case seen&(sawLong|sawDouble) != 0 && seen&^(sawLong|sawDouble|sawSpecial) == 0:
		return schema.Double
	case seen == sawDate:
		return schema.Date
	case seen != 0 && seen&^(sawDate|sawTimestamp) == 0:
		return schema.Timestamp
	case seen == sawTimestampTz:
		return schema.TimestampTz
	}
	return schema.String
}

// infer says what the undeclared columns of a chunk hold.
func (f *csvFile) infer(c *chunk) ([]class, error) {
	seen := make([]class, len(f.fields))
	var faults faults
	var buf []byte
	f.each(c, &faults, func(cells []cell) bool {
		for i, x := range cells {
			if f.known[i] || seen[i]&sawText != 0 {
				continue
			}
			if value := f.value(c, x, &buf); !f.isNull(x, value) {
				seen[i] |= classify(value)
			}
		}
		return true
	})
	return seen, faults.list.Err()
}

// shape is what the values at one place of JSON objects were seen to be.
type shape struct {
	seen    class
	first   [5]place // where each of groups was first seen
	names   []string // of an object's keys, in the order in which they first came
	fields  map[string]*shape
	element *shape
}

// place is where in the file a value stands.
type place struct {
	pos  diag.Pos
	line string
}

// groups are what no one type holds together.
var groups = [5]struct {
	of   class
	name string
}{{sawBool, "a boolean"}, {sawNumber, "a number"}, {sawString, "text"}, {sawObject, "an object"}, {sawList, "a list"}}

// add notes what was seen at a byte of a chunk.
func (s *shape) add(c *chunk, at int, what class) {
	if s.seen&what != 0 {
		return
	}
	for i, g := range groups {
		if g.of&what != 0 && s.seen&g.of == 0 {
			s.first[i].pos, s.first[i].line = c.place(at)
		}
	}
	s.seen |= what
}

func (s *shape) key(name []byte) *shape {
	k, ok := s.fields[string(name)]
	if !ok {
		k = &shape{}
		if s.fields == nil {
			s.fields = map[string]*shape{}
		}
		s.fields[string(name)] = k
		s.names = append(s.names, string(name))
	}
	return k
}

// merge adds what a later chunk holds.
func (s *shape) merge(t *shape) {
	for i, g := range groups {
		if s.seen&g.of == 0 {
			s.first[i] = t.first[i]
		}
	}
	s.seen |= t.seen
	for _, name := range t.names {
		s.key([]byte(name)).merge(t.fields[name])
	}
	if t.element != nil {
		if s.element == nil {
			s.element = &shape{}
		}
		s.element.merge(t.element)
	}
}

// infer says what the objects of a chunk hold, less the declared columns.
func (f *jsonFile) infer(c *chunk) (*shape, error) {
	declared := make(map[string]bool, len(f.fields))
	for _, x := range f.fields {
		declared[x.Name] = true
	}
	root := &shape{}
	var faults faults
	f.each(c, &faults, func(j *jsonText) *jsonFault { return j.shapeOfObject(c, root, declared) })
	return root, faults.list.Err()
}

func (j *jsonText) shapeOfObject(c *chunk, s *shape, declared map[string]bool) *jsonFault {
	return j.object(func(key []byte, at int) *jsonFault {
		if len(key) == 0 {
			return &jsonFault{off: at, width: j.at - at, msg: "a key without a name cannot be a column", hint: "give it a name, or declare the columns"}
		}
		k := s.key(key)
		skip := declared[string(key)]
		if err := j.colon(); err != nil {
			return err
		}
		if skip {
			return j.skip()
		}
		return j.shapeOf(c, k)
	})
}

func (j *jsonText) shapeOf(c *chunk, s *shape) *jsonFault {
	first := j.peek()
	start := j.at
	switch {
	case first == '{':
		s.add(c, start, sawObject)
		return j.shapeOfObject(c, s, nil)
	case first == '[':
		s.add(c, start, sawList)
		if s.element == nil {
			s.element = &shape{}
		}
		return j.array(func() *jsonFault { return j.shapeOf(c, s.element) })
	case first == '"':
		text, err := j.string()
		if err != nil {
			return err
		}
		if !j.nulls.has(text) {
			s.add(c, start, classifyTime(text))
		}
		return nil
	case first == '-' || isDigit(first):
		n, err := j.number()
		if err != nil {
			return err
		}
		s.add(c, start, classifyNumber(n))
		return nil
	case first == 't' || first == 'f':
		s.add(c, start, sawBool)
	}
	return j.skip()
}

// typeOf gives the type that keeps every value of a shape; those that no type keeps are faults.
func (s *shape) typeOf(path string, faults *diag.List) schema.Type {
	var had []int
	for i, g := range groups {
		if s.seen&g.of != 0 {
			had = append(had, i)
		}
	}
	fault := func(at place, msg, hint string) {
		*faults = append(*faults, &diag.Error{Exit: diag.Failed, Pos: at.pos, Line: at.line, Msg: fmt.Sprintf("column %q: %s", path, msg), Hint: hint})
	}
	if len(had) > 1 {
		a, b := had[0], had[1]
		if s.first[a].pos.Line > s.first[b].pos.Line {
			a, b = b, a
		}
		fault(s.first[b], fmt.Sprintf("%s here, %s in line %d; no type keeps both as they are", groups[b].name, groups[a].name, s.first[a].pos.Line),
			"declare the column; as a string it keeps every JSON value as its text")
		return schema.Type{Kind: schema.String}
	}
	switch {
	case s.seen&sawObject != 0 && len(s.names) > 0:
		t := schema.Type{Kind: schema.Struct}
		for _, name := range s.names {
			t.Fields = append(t.Fields, schema.Field{Name: name, Type: s.fields[name].typeOf(path+"."+name, faults)})
		}
		return t
	case s.seen&sawList != 0:
		return schema.Type{Kind: schema.List, Fields: []schema.Field{{Name: "element", Type: s.element.typeOf(path+".element", faults)}}}
	case s.seen&sawHuge != 0 || s.seen&sawBig != 0 && s.seen&sawDouble != 0:
		fault(s.first[1], "numbers of which neither long nor double keeps every digit, from this line on", "declare the column as decimal, double or string")
		return schema.Type{Kind: schema.String}
	case s.seen&sawDouble != 0:
		return schema.Type{Kind: schema.Double}
	}
	return schema.Type{Kind: csvType(s.seen)}
}
