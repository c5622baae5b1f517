package schema

import (
	"fmt"
	"strings"
)

// String gives the one text of a type: Parse reads it back to an equal Type.
func (t Type) String() string {
	var b strings.Builder
	t.write(&b)
	return b.String()
}

func (t Type) write(b *strings.Builder) {
	b.WriteString(string(t.Kind))
	switch t.Kind {
	case Decimal:
		fmt.Fprintf(b, "(%d,%d)", t.Precision, t.Scale)
	case Fixed:
		fmt.Fprintf(b, "(%d)", t.Length)
	case List, Map:
		for i, f := range t.Fields {
			b.WriteString([]string{"<", ", "}[min(i, 1)])
			f.Type.write(b)
		}
		b.WriteByte('>')
	case Struct:
		for i, f := range t.Fields {
			b.WriteString([]string{"<", ", "}[min(i, 1)])
			b.WriteString(quoteName(f.Name))
			b.WriteString(": ")
			f.Type.write(b)
			if f.Required {
				b.WriteString(" required")
			}
		}
		b.WriteByte('>')
	}
}

// Equal reports whether two types are the same; docs of nested fields do not count.
func (t Type) Equal(u Type) bool {
	if t.Kind != u.Kind || t.Precision != u.Precision || t.Scale != u.Scale || t.Length != u.Length || len(t.Fields) != len(u.Fields) {
		return false
	}
	for i, f := range t.Fields {
		if !f.Equal(u.Fields[i]) {
			return false
		}
	}
	return true
}

// Decl gives "type" or "type required": what ParseField reads.
func (f Field) Decl() string {
	if f.Required {
		return f.Type.String() + " required"
	}
	return f.Type.String()
}

// String gives "name: type [required]", the name between backquotes if it is no plain word.
func (f Field) String() string { return quoteName(f.Name) + ": " + f.Decl() }

// Equal reports whether two fields have one name, one type and are both required or both not; the docs do not count.
func (f Field) Equal(g Field) bool {
	return f.Name == g.Name && f.Required == g.Required && f.Type.Equal(g.Type)
}

// String gives the columns, one a line.
func (s Schema) String() string {
	lines := make([]string, len(s.Fields))
	for i, f := range s.Fields {
		lines[i] = f.String()
	}
	return strings.Join(lines, "\n")
}

// Equal reports whether two schemas have equal columns in the same order; the docs do not count.
func (s Schema) Equal(o Schema) bool {
	return Type{Kind: Struct, Fields: s.Fields}.Equal(Type{Kind: Struct, Fields: o.Fields})
}

// Field gives the column of a name, or nil. A dotted name that is no column itself leads into structs.
func (s Schema) Field(name string) *Field { return find(s.Fields, name) }

func find(fields []Field, name string) *Field {
	for i := range fields {
		if fields[i].Name == name {
			return &fields[i]
		}
	}
	for i := range fields {
		if rest, ok := strings.CutPrefix(name, fields[i].Name+"."); ok && fields[i].Type.Kind == Struct {
			if f := find(fields[i].Type.Fields, rest); f != nil {
				return f
			}
		}
	}
	return nil
}

// Names gives the columns' names in order.
func (s Schema) Names() []string {
	out := make([]string, len(s.Fields))
	for i, f := range s.Fields {
		out[i] = f.Name
	}
	return out
}

// quoteName puts a name between backquotes unless it is a plain word.
func quoteName(name string) string {
	plain := name != ""
	for i := range len(name) {
		plain = plain && wordByte(name[i])
	}
	if plain {
		return name
	}
	return "`" + strings.ReplaceAll(name, "`", "``") + "`"
}
