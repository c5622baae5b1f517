package generate

import (
	"fmt"
	"sort"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/extensions"

	"pipe/internal/diag"
	"pipe/pipeline"
	"pipe/stages"
)

// spec is what a stage's with: says.
type spec struct {
	stage   string
	rows    int64
	seed    int64
	columns []column
	schema  *arrow.Schema
}

// parser collects the mistakes.
type parser struct {
	with  *stages.With
	found *diag.List
}

// parse reads a stage's arguments. The spec is whole if there are no mistakes.
func parse(s *pipeline.Stage) (*spec, diag.List) {
	w := stages.Args(s)
	p := &parser{with: w, found: &diag.List{}}
	sp := &spec{stage: s.Name}
	p.checkOuts(s)
	sp.rows = w.Int("rows", 0, 0, 1<<53)
	sp.seed = w.Int("seed", 0, -1<<63, 1<<63-1)
	w.Need("rows", "columns")
	columns := w.Value("columns")
	switch {
	case columns == nil:
	case columns.Kind != pipeline.Map || len(columns.Keys) == 0:
		p.bad(columns, "with.columns: expected a map of names and types, not %s", stages.Describe(columns)).
			With("write columns: {id: uuid, n: {int: [1, 100]}}")
	default:
		sp.columns = p.columns("", "with.columns", columns)
	}
	var fields []arrow.Field
	for _, c := range sp.columns {
		fields = append(fields, arrow.Field{Name: c.name, Type: c.gen.arrow(), Nullable: true})
	}
	sp.schema = arrow.NewSchema(fields, nil)
	all := append(w.Done(), *p.found...)
	all.Sort()
	return sp, all
}

func (p *parser) checkOuts(s *pipeline.Stage) {
	if len(s.Outs) == 1 && s.Outs[0].Table != "" {
		return
	}
	pos := s.Pos
	for _, o := range s.Outs {
		if o.Path != "" || pos != s.Pos {
			pos = o.Pos
			break
		}
	}
	*p.found = append(*p.found, diag.Errorf(pos, "generate makes exactly one table, and the stage has %d outs", len(s.Outs)).
		With("write outs: [{table: prod.events}], and another stage for another table"))
}

// bad reports a mistake at a value.
func (p *parser) bad(v *pipeline.Value, format string, args ...any) *diag.Error {
	e := diag.Errorf(v.Pos, format, args...)
	e.Width = len(v.Text)
	*p.found = append(*p.found, e)
	return e
}

// columns reads a map of names and types, in its order.
func (p *parser) columns(streams, path string, v *pipeline.Value) []column {
	var all []column
	for _, k := range v.Keys {
		at := path + "." + k.Name
		c := column{name: k.Name, path: streams + k.Name, pos: k.Pos}
		if c.name == "" {
			p.bad(&pipeline.Value{Pos: k.Pos}, "%s: a column has no name", path)
			continue
		}
		if c.gen = p.column(&c, at, k); c.gen != nil {
			all = append(all, c)
		}
	}
	return all
}

// types are the types of columns, and how each is written.
func types() []struct{ name, example string } {
	return []struct{ name, example string }{
		{"uuid", "uuid"},
		{"int", "{int: [1, 100]}"},
		{"seq", "{seq: 1}"},
		{"float", "{float: [0, 1]}"},
		{"decimal", "{decimal: [1, 500, 2]}"},
		{"bool", "{bool: 0.5}"},
		{"oneof", "{oneof: [a, b]}"},
		{"weighted", "{weighted: {a: 3, b: 1}}"},
		{"timestamp", "{timestamp: [2025-01-01, 2025-02-01]}"},
		{"date", "{date: [2025-01-01, 2025-01-31]}"},
		{"fake", "{fake: name}"},
		{"json", "{json: {a: uuid}}"},
	}
}

// isType gives how a type is written, and "" for what is none.
func isType(name string) string {
	for _, t := range types() {
		if t.name == name {
			return t.example
		}
	}
	return ""
}

// column reads one type: a word, or a map of the type and its arguments, and nulls.
func (p *parser) column(c *column, path string, k pipeline.Key) generator {
	v := k.Value
	switch v.Kind {
	case pipeline.String:
		return p.word(path, v)
	case pipeline.Map:
	default:
		e := p.bad(v, "%s: expected a type, not %s", path, stages.Describe(v)).With("write %s: {int: [1, 100]}", c.name)
		if v.Kind == pipeline.Null {
			e.Pos = k.Pos
		}
		return nil
	}
	var kinds []pipeline.Key
	unknown := false
	for _, key := range v.Keys {
		switch {
		case key.Name == "nulls":
			c.nulls = p.share(path+".nulls", key.Value)
		case isType(key.Name) != "":
			kinds = append(kinds, key)
		default:
			p.unknownType(path, &pipeline.Value{Text: key.Name, Pos: key.Pos}, "nulls")
			unknown = true
		}
	}
	if unknown {
		return nil
	}
	if len(kinds) != 1 {
		names := make([]string, len(kinds))
		for i, key := range kinds {
			names[i] = key.Name
		}
		what := "no type"
		if len(kinds) > 0 {
			what = "several types: " + strings.Join(names, ", ")
		}
		p.bad(v, "%s has %s; expected one", path, what).With("write %s: {int: [1, 100]}", c.name)
		return nil
	}
	return p.typed(c, path+"."+kinds[0].Name, kinds[0])
}

// word reads a type that stands alone.
func (p *parser) word(path string, v *pipeline.Value) generator {
	if v.Text == "uuid" {
		return uuid{extensions.NewUUIDType()}
	}
	if example := isType(v.Text); example != "" {
		p.bad(v, "%s: %s needs its arguments", path, v.Text).With("write %s", example)
		return nil
	}
	p.unknownType(path, v)
	return nil
}

func (p *parser) unknownType(path string, v *pipeline.Value, more ...string) {
	names := more
	for _, t := range types() {
		names = append(names, t.name)
	}
	e := p.bad(v, "%s: there is no type %q", path, v.Text)
	near := diag.Closest(v.Text, names)
	switch {
	case near == "nulls" || near == "uuid":
		e.Hint = fmt.Sprintf("did you mean %q?", near)
	case near != "":
		e.Hint = fmt.Sprintf("did you mean %q? write %s", near, isType(near))
	case contains(functions(), v.Text):
		e.Hint = fmt.Sprintf("write {fake: %s}", v.Text)
	default:
		e.Hint = "types are " + strings.Join(names[len(more):], ", ")
	}
}

// typed reads the arguments of a type.
func (p *parser) typed(c *column, path string, k pipeline.Key) generator {
	v := k.Value
	switch k.Name {
	case "uuid":
		if v.Kind != pipeline.Null && (v.Kind != pipeline.Map || len(v.Keys) > 0) && v.Text != "true" {
			p.bad(v, "%s: uuid takes no arguments, not %s", path, stages.Describe(v)).With("write {uuid: {}, nulls: 0.1}")
			return nil
		}
		return uuid{extensions.NewUUIDType()}
	case "int":
		return p.integer(path, v)
	case "seq":
		start, ok := stages.AsInt(v)
		if !ok {
			p.bad(v, "%s: expected the first number, not %s", path, stages.Describe(v)).With("write {seq: 1}")
			return nil
		}
		return sequence{start}
	case "float":
		return p.float(path, v)
	case "decimal":
		return p.decimal(path, v)
	case "bool":
		return truth{p.share(path, v)}
	case "oneof":
		return p.oneOf(path, v)
	case "weighted":
		return p.weighted(path, v)
	case "timestamp":
		return p.timestamp(path, v)
	case "date":
		return p.date(path, v)
	case "fake":
		return p.fake(path, v)
	case "json":
		return p.object(c, path, v)
	}
	return nil
}

func (p *parser) object(c *column, path string, v *pipeline.Value) generator {
	if v.Kind != pipeline.Map || len(v.Keys) == 0 {
		p.bad(v, "%s: expected a map of names and types, not %s", path, stages.Describe(v)).With("write {json: {page: {fake: url}}}")
		return nil
	}
	fields := p.columns(c.path+"\x00", path, v)
	if len(fields) < len(v.Keys) {
		return nil
	}
	sort.Slice(fields, func(i, j int) bool { return fields[i].name < fields[j].name })
	return newObject(fields)
}
