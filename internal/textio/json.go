package textio

import (
	"fmt"
	"strconv"

	"pipe/internal/diag"
	"pipe/pipeline/schema"
)

// whole reads the one value that the text is, into a column.
func (j *jsonText) whole(c *column) *jsonFault {
	if err := j.value(c); err != nil {
		return err
	}
	return j.end("the value")
}

func (j *jsonText) end(what string) *jsonFault {
	if j.space(); j.at < len(j.b) {
		return j.unexpected("nothing after " + what)
	}
	return nil
}

// value reads one value into a column.
func (j *jsonText) value(c *column) *jsonFault {
	start := j.at
	first := j.peek()
	switch kind := c.field.Type.Kind; {
	case first == 'n':
		if err := j.word("null"); err != nil {
			return err
		}
		return j.null(c, start)
	case first == '"':
		start = j.at
		s, err := j.string()
		if err != nil {
			return err
		}
		if j.nulls.has(s) {
			return j.null(c, start)
		}
		if c.text == nil {
			return j.mismatch(c, start, "the text "+quoted(s), "")
		}
		if p := c.text(s); p != "" {
			return j.mismatch(c, start, "the text "+quoted(s), p)
		}
		return nil
	case kind == schema.String:
		start = j.at
		if err := j.skip(); err != nil {
			return err
		}
		c.text(j.b[start:j.at])
		return nil
	case first == '{' && kind == schema.Struct:
		return j.structure(c)
	case first == '{' && kind == schema.Map:
		return j.mapping(c)
	case first == '[' && kind == schema.List:
		return j.list(c)
	case first == '[' && kind == schema.Map:
		return j.entries(c)
	}
	start = j.at
	if err := j.skip(); err != nil {
		return err
	}
	token := j.b[start:j.at]
	switch {
	case first == '{':
		return j.mismatch(c, start, "an object", "")
	case first == '[':
		return j.mismatch(c, start, "a list", "")
	case c.text == nil:
		return j.mismatch(c, start, string(token), "")
	case first == 't' || first == 'f', numeric(c.field.Type.Kind):
		if p := c.text(token); p != "" {
			return j.mismatch(c, start, string(token), p)
		}
		return nil
	}
	return j.mismatch(c, start, string(token), "")
}

func numeric(k schema.Kind) bool {
	switch k {
	case schema.Int, schema.Long, schema.Float, schema.Double, schema.Decimal:
		return true
	}
	return false
}

func (j *jsonText) mismatch(c *column, start int, got string, p problem) *jsonFault {
	return &jsonFault{
		off: start, width: max(1, j.at-start), msg: columnPath(c) + mismatch(c.field.Type, got, p), hint: hintFor(c.field.Type, p),
	}
}

func columnPath(c *column) string {
	if c.path == "" {
		return ""
	}
	return "column " + strconv.Quote(c.path) + ": "
}

func (j *jsonText) null(c *column, start int) *jsonFault {
	if c.null() {
		return nil
	}
	return &jsonFault{
		off: start, width: max(1, j.at-start), hint: hintRequired,
		msg: fmt.Sprintf("%sit is required: expected %s, got NULL", columnPath(c), c.field.Type),
	}
}

// structure reads an object into a struct, or into the columns of a row where c has no builder.
func (j *jsonText) structure(c *column) *jsonFault {
	start := j.at
	if b, ok := c.builder.(interface{ Append(bool) }); ok {
		b.Append(true)
	}
	c.count++
	c.next = 0
	err := j.object(func(key []byte, at int) *jsonFault {
		i, ok := c.part(key)
		if !ok {
			f := &jsonFault{off: at, width: j.at - at, msg: fmt.Sprintf("expected %s, got %s", someOf(c.field.Type.Fields), quoted(key))}
			f.hint = "declare it, or take it out"
			if near := diag.Closest(string(key), fieldNames(c.field.Type.Fields)); near != "" {
				f.hint = fmt.Sprintf("did you mean %q?", near)
			}
			return f
		}
		if c.seen[i] == c.count {
			return &jsonFault{off: at, width: j.at - at, msg: fmt.Sprintf("the key %s stands twice in one object", quoted(key)), hint: "take one out"}
		}
		c.seen[i] = c.count
		if err := j.colon(); err != nil {
			return err
		}
		return j.value(c.parts[i])
	})
	if err != nil {
		return err
	}
	for i, part := range c.parts {
		if c.seen[i] != c.count && !part.null() {
			return &jsonFault{off: start, width: 1, hint: hintRequired, msg: columnPath(part) + "it is required, and the object lacks it"}
		}
	}
	return nil
}

func someOf(fields []schema.Field) string {
	if len(fields) > 12 {
		return "a declared column"
	}
	return "one of " + names(fields)
}

func fieldNames(fields []schema.Field) []string {
	out := make([]string, len(fields))
	for i, f := range fields {
		out[i] = f.Name
	}
	return out
}

// mapping reads an object into a map.
func (j *jsonText) mapping(c *column) *jsonFault {
	if c.parts[0].text == nil {
		return j.mismatch(c, j.at, `an object; a map with such keys is written as an array of {"key": ..., "value": ...}`, "")
	}
	c.builder.(interface{ Append(bool) }).Append(true)
	seen := map[string]bool{}
	return j.object(func(key []byte, at int) *jsonFault {
		if seen[string(key)] {
			return &jsonFault{off: at, width: j.at - at, msg: fmt.Sprintf("the key %s stands twice in one map", quoted(key)), hint: "take one out"}
		}
		seen[string(key)] = true
		if p := c.parts[0].text(key); p != "" {
			return j.mismatch(c.parts[0], at, "the text "+quoted(key), p)
		}
		if err := j.colon(); err != nil {
			return err
		}
		return j.value(c.parts[1])
	})
}

// entries reads an array of key and value objects into a map.
func (j *jsonText) entries(c *column) *jsonFault {
	c.builder.(interface{ Append(bool) }).Append(true)
	return j.array(func() *jsonFault {
		if j.peek() != '{' {
			return j.unexpected(`an object of "key" and "value"`)
		}
		start, had := j.at, [2]bool{}
		err := j.object(func(key []byte, at int) *jsonFault {
			i := 0
			switch string(key) {
			case "key":
			case "value":
				i = 1
			default:
				return &jsonFault{off: at, width: j.at - at, msg: fmt.Sprintf(`expected "key" or "value", got %s`, quoted(key))}
			}
			if had[i] {
				return &jsonFault{off: at, width: j.at - at, msg: fmt.Sprintf("the key %s stands twice in one object", quoted(key))}
			}
			had[i] = true
			if err := j.colon(); err != nil {
				return err
			}
			return j.value(c.parts[i])
		})
		if err != nil {
			return err
		}
		if !had[0] || !had[1] && !c.parts[1].null() {
			return &jsonFault{off: start, width: 1, msg: columnPath(c) + `an entry of a map needs "key" and "value"`}
		}
		return nil
	})
}

func (j *jsonText) list(c *column) *jsonFault {
	c.builder.(interface{ Append(bool) }).Append(true)
	return j.array(func() *jsonFault { return j.value(c.parts[0]) })
}
