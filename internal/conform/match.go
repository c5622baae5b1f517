package conform

import (
	"fmt"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"

	"pipe/internal/diag"
)

// step is what is done to one column, or to one part of a nested one.
type step struct {
	path     string // as errors name it: "payload.amount", "tags.element"
	to       arrow.DataType
	required bool
	cast     castFunc // nil: the buffers stay
	children []*step  // struct: its fields; list: the element; map: the entries
	source   []int    // struct: which field of the source is each child; -1: none, so NULLs
}

// matcher walks two schemas and collects what does not match.
type matcher struct {
	problems diag.List
}

func (m *matcher) add(hint, format string, args ...any) {
	m.problems = append(m.problems, &diag.Error{Exit: diag.Failed, Msg: fmt.Sprintf(format, args...), Hint: hint})
}

// fields matches the fields of a struct, or of the whole schema, by name.
func (m *matcher) fields(path string, from, to []arrow.Field) *step {
	at := make(map[string]int, len(from))
	for i, f := range from {
		if _, twice := at[f.Name]; twice {
			m.add("give each column a name of its own", "column %q comes twice", join(path, f.Name))
		}
		at[f.Name] = i
	}
	s := &step{path: path}
	wanted := make(map[string]bool, len(to))
	var absent []arrow.Field // wanted, and not there
	for _, f := range to {
		wanted[f.Name] = true
		i, ok := at[f.Name]
		if !ok {
			absent = append(absent, f)
			s.children = append(s.children, &step{path: join(path, f.Name), to: f.Type})
			s.source = append(s.source, -1)
			continue
		}
		s.children = append(s.children, m.field(join(path, f.Name), from[i], f))
		s.source = append(s.source, i)
	}
	renamed := m.extra(path, from, to, wanted, absent)
	for _, f := range absent {
		if f.Nullable || renamed[f.Name] {
			continue
		}
		m.add(fmt.Sprintf("let the stage make it, or declare %q without required", join(path, f.Name)),
			"column %q (%s) is missing: the stage made %s; the schema has %s", join(path, f.Name), describeField(f), names(from), names(to))
	}
	return s
}

// extra reports the fields that the schema does not have. A likely misspelling of an absent one is told as such, and the name that
// was meant is given back, so that it is not reported a second time.
func (m *matcher) extra(path string, from, to []arrow.Field, wanted map[string]bool, absent []arrow.Field) map[string]bool {
	meant := map[string]bool{}
	for _, f := range from {
		if wanted[f.Name] {
			continue
		}
		head := fmt.Sprintf("column %q (%s) is not in the schema: the stage made %s; the schema has %s",
			join(path, f.Name), Describe(f.Type), names(from), names(to))
		if near := nearest(f.Name, absent); near != "" {
			meant[near] = true
			hint := fmt.Sprintf("rename it to %q", near)
			if strings.EqualFold(near, f.Name) {
				hint += ": case counts"
			}
			m.add(hint, "%s", head)
			continue
		}
		m.add(fmt.Sprintf("add \"%s: %s\" to the out's schema, or leave the column out", join(path, f.Name), Describe(f.Type)), "%s", head)
	}
	return meant
}

func nearest(name string, among []arrow.Field) string {
	list := make([]string, len(among))
	for i, f := range among {
		if strings.EqualFold(f.Name, name) {
			return f.Name
		}
		list[i] = f.Name
	}
	return diag.Closest(name, list)
}

// field matches one field, nested ones with what is in them.
func (m *matcher) field(path string, from, to arrow.Field) *step {
	s := &step{path: path, to: to.Type, required: !to.Nullable}
	ft := storage(from.Type)
	if ft.ID() == arrow.NULL {
		s.cast = allNull
		return s
	}
	switch t := to.Type.(type) {
	case *arrow.StructType:
		if f, ok := ft.(*arrow.StructType); ok {
			inner := m.fields(path, f.Fields(), t.Fields())
			s.children, s.source = inner.children, inner.source
			return s
		}
	case *arrow.MapType: // before ListType: a map is a list of entries
		if f, ok := ft.(*arrow.MapType); ok {
			key := m.field(join(path, "key"), f.KeyField(), required(t.KeyField()))
			value := m.field(join(path, "value"), f.ItemField(), t.ItemField())
			s.children = []*step{{
				path: path, to: t.Elem(), required: true,
				children: []*step{key, value}, source: []int{0, 1},
			}}
			return s
		}
	case *arrow.ListType:
		if f, ok := ft.(arrow.ListLikeType); ok && isList(ft.ID()) {
			s.children = []*step{m.field(join(path, "element"), f.ElemField(), t.ElemField())}
			return s
		}
	}
	cast, reason := scalar(from.Type, to.Type)
	if reason != "" {
		m.add(fmt.Sprintf("declare \"%s: %s\" in the out's schema, or cast it in the stage", path, Describe(from.Type)),
			"column %q: the stage made %s, the schema says %s: %s", path, Describe(from.Type), Describe(to.Type), reason)
	}
	s.cast = cast
	return s
}

func required(f arrow.Field) arrow.Field {
	f.Nullable = false
	return f
}

func isList(id arrow.Type) bool {
	return id == arrow.LIST || id == arrow.LARGE_LIST || id == arrow.FIXED_SIZE_LIST
}

func join(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}
