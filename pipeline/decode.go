package pipeline

import (
	"regexp"
	"slices"
	"strconv"
	"strings"

	"pipe/internal/diag"
)

// What names may be. A stage's name stands in targets (stage, group@key) and names a folder of logs.
var (
	stageName = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9_.-]*$`)
	sinkName  = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_-]*$`)
	tableForm = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9_-]*(\.[A-Za-z0-9_][A-Za-z0-9_-]*)+$`)
	envName   = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)
	useName   = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_.-]*$`)
	duration  = regexp.MustCompile(`^(?:[0-9]+(?:\.[0-9]+)?(?:ms|s|m|h|d))+$`)
	durations = regexp.MustCompile(`([0-9.]+)(ms|s|m|h|d)`)
)

// scalar gives a scalar's text; a number or bool where text is wanted is its text as written.
func (l *loader) scalar(v *Value, what string) (string, bool) {
	if v.bad {
		return "", false
	}
	switch v.Kind {
	case Bool:
		return strings.ToLower(v.Text), true
	case String, Int, Float:
		return v.Text, true
	}
	l.errorAt(v, "%s: expected text, not %s", what, describe(v))
	return "", false
}

// filled is scalar for what must not be empty.
func (l *loader) filled(v *Value, what string) (string, bool) {
	s, ok := l.scalar(v, what)
	if ok && strings.TrimSpace(s) == "" {
		l.errorAt(v, "%s: expected text, not nothing", what)
		return "", false
	}
	return s, ok
}

func (l *loader) boolean(v *Value, what string) bool {
	if v == nil || v.Kind == Null || v.bad {
		return false
	}
	if v.Kind != Bool {
		e := l.errorAt(v, "%s: expected true or false, not %s", what, describe(v))
		switch strings.ToLower(v.Text) {
		case "yes", "on", "y", "1", "true":
			e.With("write true")
		case "no", "off", "n", "0", "false":
			e.With("write false")
		}
		return false
	}
	return strings.EqualFold(v.Text, "true")
}

// word gives one of the words; the first of them if it is none.
func (l *loader) word(v *Value, what string, words ...string) string {
	s, ok := l.scalar(v, what)
	switch {
	case !ok:
		return words[0]
	case slices.Contains(words, s):
		return s
	}
	e := l.errorAt(v, "%s: %q is none of %s", what, s, strings.Join(words, ", "))
	suggest(e, strings.ToLower(s), words, "")
	return words[0]
}

// list gives the entries of a list; lists within it, which a template made, are flattened.
func (l *loader) list(v *Value, what, example string) []*Value {
	switch {
	case v == nil || v.bad || v.Kind == Null:
		return nil
	case v.Kind != List:
		l.errorAt(v, "%s: expected a list, not %s", what, describe(v)).With("%s: %s", what, example)
		return nil
	}
	var out []*Value
	for _, x := range v.Items {
		if x.Kind == List {
			out = append(out, l.list(x, what, example)...)
		} else {
			out = append(out, x)
		}
	}
	return out
}

// texts gives the entries of a list of texts, and where each stands.
func (l *loader) texts(v *Value, what, example string) (out []string, at []*Value) {
	for _, x := range l.list(v, what, example) {
		if s, ok := l.filled(x, what); ok {
			out = append(out, s)
			at = append(at, x)
		}
	}
	return out, at
}

// unique is texts for what may stand only once.
func (l *loader) unique(v *Value, what, example string) (out []string, at []*Value) {
	texts, places := l.texts(v, what, example)
	for i, t := range texts {
		if slices.Contains(out, t) {
			l.errorAt(places[i], "%s: %s stands twice", what, t).With("remove one of them")
			continue
		}
		out, at = append(out, t), append(at, places[i])
	}
	return out, at
}

// seconds reads a duration; a bare number is in seconds.
func (l *loader) seconds(v *Value, what string) float64 {
	if v == nil || v.Kind == Null {
		return 0
	}
	s, ok := l.scalar(v, what)
	if !ok {
		return 0
	}
	if v.Kind == Int || v.Kind == Float {
		if n, err := strconv.ParseFloat(v.Text, 64); err == nil && n >= 0 && n < 1e12 {
			return n
		}
	}
	if !duration.MatchString(s) {
		l.errorAt(v, "%s: %q is no duration", what, s).With("write it as 90s, 15m, 2h or 1h30m")
		return 0
	}
	total := 0.0
	for _, m := range durations.FindAllStringSubmatch(s, -1) {
		n, _ := strconv.ParseFloat(m[1], 64) // the form holds
		total += n * map[string]float64{"ms": 0.001, "s": 1, "m": 60, "h": 3600, "d": 86400}[m[2]]
	}
	return total
}

func (l *loader) count(v *Value, what string) int {
	if v == nil || v.Kind == Null || v.bad {
		return 0
	}
	n, err := strconv.Atoi(v.Canonical())
	if v.Kind != Int || err != nil || n < 0 {
		l.errorAt(v, "%s: expected a whole number from 0 on, not %s", what, describe(v))
		return 0
	}
	return n
}

const defaultSink = "lake"

// readSinks reads the places for tables. Their texts stay as written: ${env:NAME} is the business of the machine that runs.
func (l *loader) readSinks(v *Value) {
	if v == nil || v.Kind != Map || len(v.Keys) == 0 {
		if v != nil && v.Kind != Null {
			l.errorAt(v, "sinks: expected a map from a sink's name to its settings, not %s", describe(v)).
				With("leave sinks out: then there is one, %s, under .pipe", defaultSink)
		}
		l.graph.Sinks[defaultSink] = &Sink{
			Name: defaultSink, Format: "iceberg", Catalog: "sql",
			Options: map[string]string{"uri": "sqlite:.pipe/catalog.db", "warehouse": ".pipe/warehouse"}, OptionPos: map[string]diag.Pos{},
		}
		return
	}
	for _, k := range v.Keys {
		s := &Sink{Name: k.Name, Format: "iceberg", Pos: k.Pos, Options: map[string]string{}, OptionPos: map[string]diag.Pos{}}
		l.graph.Sinks[k.Name] = s
		if !sinkName.MatchString(k.Name) {
			l.src.errorf(k.Pos, 0, "%q cannot be a sink's name", k.Name).With("use letters, digits, _ and -")
		}
		if k.Value.Kind != Map {
			l.errorAt(k.Value, "sink %s: expected a map, not %s", k.Name, describe(k.Value)).
				With("%s: {format: iceberg, catalog: sql, uri: \"sqlite:.pipe/catalog.db\", warehouse: .pipe/warehouse}", k.Name)
			continue
		}
		l.readSink(s, k.Value)
	}
}

func (l *loader) readSink(s *Sink, v *Value) {
	l.keys(v, "in sink "+s.Name, sinkKeys)
	for _, o := range v.Keys {
		what := o.Name + " of sink " + s.Name
		if t := o.Value.Text; strings.Contains(strings.ReplaceAll(t, "${env:", ""), "${") {
			l.errorAt(o.Value, "%s: only ${env:NAME} can stand in sinks", what).With("sinks differ by machine, not by param: use ${env:NAME} or pipe.local.yaml")
		}
		switch o.Name {
		case "format":
			s.Format = l.word(o.Value, what, "iceberg", "delta", "memory")
		case "catalog":
			s.Catalog = l.word(o.Value, what, "sql", "rest", "glue", "hive", "hadoop")
		case "uri", "warehouse", "location":
			if t, ok := l.filled(o.Value, what); ok {
				s.Options[o.Name] = t
				s.OptionPos[o.Name] = o.Value.Pos
			}
		}
	}
	belongs := func(key, format string) {
		if s.Format == format {
			return
		}
		for _, o := range v.Keys {
			if o.Name == key {
				l.src.errorf(o.Pos, 0, "%s belongs to format %s; sink %s is %s", key, format, s.Name, s.Format)
			}
		}
	}
	belongs("catalog", "iceberg")
	belongs("uri", "iceberg")
	belongs("warehouse", "iceberg")
	belongs("location", "delta")
	if s.Format == "iceberg" && s.Catalog == "" {
		s.Catalog = "sql"
	}
}

func (l *loader) readDefaults(v *Value) {
	l.defaults = defaults{sink: defaultSink, publish: "run"}
	if l.graph.Sinks[defaultSink] == nil && len(l.graph.Sinks) == 1 {
		for name := range l.graph.Sinks {
			l.defaults.sink = name
		}
	}
	if v == nil || v.Kind == Null {
		return
	}
	if v.Kind != Map {
		l.errorAt(v, "defaults: expected a map, not %s", describe(v)).With("defaults: {timeout: 1h}")
		return
	}
	l.keys(v, "in defaults", defaultKeys)
	v = l.x.expand(v)
	if s := v.Get("sink"); s != nil {
		l.defaults.sink = l.sink(s)
	}
	if p := v.Get("publish"); p != nil {
		l.defaults.publish = l.publish(p)
	}
	l.defaults.timeout = l.seconds(v.Get("timeout"), "timeout")
	l.defaults.retries = l.count(v.Get("retries"), "retries")
	l.graph.Publish = l.defaults.publish
}

func (l *loader) publish(v *Value) string {
	s := l.word(v, "publish", "run", "stage")
	if s == "stage" {
		l.errorAt(v, "publish: stage is not supported yet").With("remove it: all heads of a run move together at its end")
	}
	return s
}

// sink gives the name of a sink that exists.
func (l *loader) sink(v *Value) string {
	s, ok := l.filled(v, "sink")
	if ok && l.graph.Sinks[s] == nil {
		words := sortedKeys(l.graph.Sinks)
		suggest(l.errorAt(v, "no sink is called %q", s), s, words, "there are: "+strings.Join(words, ", "))
	}
	return s
}

// defaultSinkFor gives the sink of a table that names none.
func (l *loader) defaultSinkFor(v *Value) string {
	if l.graph.Sinks[l.defaults.sink] == nil && l.defaults.sink == defaultSink {
		l.errorAt(v, "which sink? There are several, and none is the default").With("defaults: {sink: %s}", strings.Join(sortedKeys(l.graph.Sinks), " or "))
	}
	return l.defaults.sink
}
