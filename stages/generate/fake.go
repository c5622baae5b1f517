package generate

import (
	"errors"
	"fmt"
	"math"
	"sort"
	"strconv"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/brianvoe/gofakeit/v7"

	"pipe/internal/diag"
	"pipe/pipeline"
	"pipe/stages"
)

// fake is fake:, a function of gofakeit.
type fake struct {
	name string
	info *gofakeit.Info
	args *gofakeit.MapParams
	dt   arrow.DataType // of what the function makes: string, long or boolean
	fast quick          // makes the same texts; nil: none is written
	pos  diag.Pos
}

// byTheClock are the functions that make other values on another day.
func byTheClock(name string) bool {
	switch name {
	case "date", "pastdate", "futuredate", "year", "creditcardexp", "useragent", "firefoxuseragent", "emojisentence", "template":
		return true
	}
	return false
}

func (g fake) arrow() arrow.DataType { return g.dt }

func (g fake) fill(c *cells, r random, p part) (err error) {
	defer func() { // the library panics on some arguments
		if x := recover(); x != nil {
			err = g.failed(fmt.Errorf("%v", x))
		}
	}()
	if g.fast != nil {
		for range p.rows {
			c.raw = g.fast(c.raw, r)
			c.ends = append(c.ends, int32(len(c.raw)))
		}
		return nil
	}
	f := gofakeit.NewFaker(r, false)
	for range p.rows {
		v, err := g.info.Generate(f, g.args, g.info)
		if err != nil {
			return g.failed(err)
		}
		if err := g.add(c, v); err != nil {
			return g.failed(err)
		}
	}
	return nil
}

func (g fake) failed(err error) error {
	return &diag.Error{Exit: diag.Failed, Pos: g.pos, Msg: fmt.Sprintf("fake %s: %v", g.name, err), Err: err, Hint: "see the arguments of the function"}
}

// add appends a value, which the function must make of one type always.
func (g fake) add(c *cells, v any) error {
	switch g.dt.ID() {
	case arrow.STRING:
		switch v := v.(type) {
		case string:
			c.raw = append(c.raw, v...)
		case error: // the functions that make up errors
			c.raw = append(c.raw, v.Error()...)
		default:
			return fmt.Errorf("made a %T where it made a text before", v)
		}
		c.ends = append(c.ends, int32(len(c.raw)))
	case arrow.INT64:
		n, ok := whole(v)
		if !ok {
			return fmt.Errorf("made %v, which is no long", v)
		}
		c.long = append(c.long, n)
	default:
		b, ok := v.(bool)
		if !ok {
			return fmt.Errorf("made a %T where it made a boolean before", v)
		}
		c.truth = append(c.truth, b)
	}
	return nil
}

func whole(v any) (int64, bool) {
	switch n := v.(type) {
	case int:
		return int64(n), true
	case int8:
		return int64(n), true
	case int16:
		return int64(n), true
	case int32:
		return int64(n), true
	case int64:
		return n, true
	case uint8:
		return int64(n), true
	case uint16:
		return int64(n), true
	case uint32:
		return int64(n), true
	case uint:
		return int64(n), uint64(n) <= math.MaxInt64
	case uint64:
		return int64(n), n <= math.MaxInt64
	}
	return 0, false
}

func (g fake) json(b []byte, c *cells, i int) []byte {
	switch g.dt.ID() {
	case arrow.STRING:
		return appendJSONText(b, c.text(i))
	case arrow.INT64:
		return strconv.AppendInt(b, c.long[i], 10)
	}
	return strconv.AppendBool(b, c.truth[i])
}

// fake reads `fake: name` and `fake: {name: {argument: value}}`.
func (p *parser) fake(path string, v *pipeline.Value) generator {
	name, pos := v, v.Pos
	var given *pipeline.Value
	switch {
	case v.Kind == pipeline.String:
	case v.Kind == pipeline.Map && len(v.Keys) == 1:
		k := v.Keys[0]
		name, pos, given = &pipeline.Value{Kind: pipeline.String, Text: k.Name, Pos: k.Pos}, k.Pos, k.Value
	default:
		p.bad(v, "%s: expected the name of a function, or one name with its arguments, not %s", path, stages.Describe(v)).
			With("write {fake: word}, or {fake: {loremipsumsentence: {wordcount: 8}}}")
		return nil
	}
	info := gofakeit.GetFuncLookup(name.Text)
	if info == nil {
		e := p.bad(name, "%s: gofakeit has no function %q", path, name.Text)
		e.Hint = "names are in lower case, see the list of gofakeit's functions"
		if near := diag.Closest(strings.ToLower(name.Text), functions()); near != "" {
			e.Hint = fmt.Sprintf("did you mean %q?", near)
		}
		return nil
	}
	if byTheClock(name.Text) {
		p.bad(name, "%s: the function %s makes other values on another day", path, name.Text).With("use timestamp:, date: or int: with a range")
		return nil
	}
	args, ok := p.fakeArgs(path, name, info, given)
	if !ok {
		return nil
	}
	g := fake{name: name.Text, info: info, args: args, pos: pos, fast: quickly(name.Text)}
	return p.tryFake(path, name, g)
}

func functions() []string {
	names := make([]string, 0, len(gofakeit.FuncLookups))
	for name := range gofakeit.FuncLookups {
		names = append(names, name)
	}
	sort.Strings(names)
	return names
}

// fakeArgs puts the arguments into the library's form, and reports those that it does not have or needs.
func (p *parser) fakeArgs(path string, name *pipeline.Value, info *gofakeit.Info, given *pipeline.Value) (*gofakeit.MapParams, bool) {
	args := gofakeit.NewMapParams()
	before := len(*p.found)
	known := make([]string, len(info.Params))
	for i, param := range info.Params {
		known[i] = param.Field
	}
	if given != nil && given.Kind != pipeline.Null {
		if given.Kind != pipeline.Map {
			p.bad(given, "%s: expected a map of %s's arguments, not %s", path, name.Text, stages.Describe(given))
			return nil, false
		}
		for _, k := range given.Keys {
			if !contains(known, k.Name) {
				p.unknownArg(path, name.Text, k, known)
				continue
			}
			for _, text := range texts(k.Value) {
				args.Add(k.Name, text)
			}
		}
	}
	if len(*p.found) > before {
		return nil, false
	}
	for _, param := range info.Params {
		if _, ok := (*args)[param.Field]; ok {
			continue
		}
		today := name.Text == "daterange" && param.Field == "enddate"
		if param.Default == "" && !param.Optional || today {
			p.bad(name, "%s: the function %s needs the argument %s", path, name.Text, param.Field).
				With("write {fake: {%s: {%s: ...}}}", name.Text, param.Field)
			continue
		}
		// The library reads its own defaults of lists only where no argument at all is given.
		if strings.HasPrefix(param.Default, "[") {
			for item := range strings.SplitSeq(strings.Trim(param.Default, "[]"), ",") {
				args.Add(param.Field, strings.TrimSpace(item))
			}
		}
	}
	return args, len(*p.found) == before
}

func (p *parser) unknownArg(path, function string, k pipeline.Key, known []string) {
	e := p.bad(&pipeline.Value{Pos: k.Pos, Text: k.Name}, "%s: the function %s has no argument %q", path, function, k.Name)
	switch near := diag.Closest(k.Name, known); {
	case near != "":
		e.Hint = fmt.Sprintf("did you mean %q?", near)
	case len(known) > 0:
		e.Hint = "it has " + strings.Join(known, ", ")
	default:
		e.Hint = "it takes none"
	}
}

func contains(list []string, s string) bool {
	for _, x := range list {
		if x == s {
			return true
		}
	}
	return false
}

func texts(v *pipeline.Value) []string {
	if v.Kind != pipeline.List {
		return []string{v.Text}
	}
	out := make([]string, 0, len(v.Items))
	for _, item := range v.Items {
		out = append(out, item.Text)
	}
	return out
}

// tryFake calls the function a few times: whether the arguments are right, and what type it makes, is seen in no other way.
func (p *parser) tryFake(path string, name *pipeline.Value, g fake) generator {
	sample, err := g.sample()
	if err != nil {
		p.bad(name, "%s: the function %s: %v", path, name.Text, err).Hint = "see the arguments of the function"
		return nil
	}
	switch v := sample.(type) {
	case string, error:
		g.dt = arrow.BinaryTypes.String
	case bool:
		g.dt = arrow.FixedWidthTypes.Boolean
	case float32, float64:
		p.bad(name, "%s: the function %s makes floats, whose last digit depends on the processor", path, name.Text).
			With("use float: [low, high] or decimal: [low, high, scale]")
		return nil
	case uint, uint64:
		if n, ok := whole(v); !ok || n > math.MaxUint32 {
			p.bad(name, "%s: the function %s makes numbers that no long holds", path, name.Text).With("use int: [low, high]")
			return nil
		}
		g.dt = arrow.PrimitiveTypes.Int64
	default:
		if _, ok := whole(v); !ok {
			p.bad(name, "%s: the function %s makes several values at once", path, name.Text).With("use single functions, below json: if they belong together")
			return nil
		}
		g.dt = arrow.PrimitiveTypes.Int64
	}
	if token := clockToken(g.args); token != "" {
		p.bad(name, "%s: %s} makes other values on another day", path, token).With("leave it out")
		return nil
	}
	return g
}

// clockToken finds a function of byTheClock inside the arguments: generate and its like call functions by name.
func clockToken(args *gofakeit.MapParams) string {
	for _, texts := range *args {
		for _, text := range texts {
			for _, token := range []string{"{date", "{year", "{pastdate", "{futuredate", "{creditcardexp", "{useragent", "{firefoxuseragent", "{emojisentence"} {
				if strings.Contains(text, token) {
					return token
				}
			}
		}
	}
	return ""
}

func (g fake) sample() (v any, err error) {
	defer func() {
		if x := recover(); x != nil {
			err = fmt.Errorf("%v", x)
		}
	}()
	f := gofakeit.NewFaker(newRandom(part{}, "", "sample"), false)
	v, err = g.info.Generate(f, g.args, g.info)
	if v == nil && err == nil {
		err = errors.New("it makes nothing")
	}
	return v, err
}
