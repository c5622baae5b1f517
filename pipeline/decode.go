package pipeline

import (
	"path"
	"regexp"
	"strconv"
	"strings"

	"pipe/internal/diag"
)

var (
	stageName = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9_.-]*$`)
	sinkName  = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_-]*$`)
	tableForm = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9_-]*(\.[A-Za-z0-9_][A-Za-z0-9_-]*)+$`)
	envName   = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)
	duration  = regexp.MustCompile(`^([0-9]+(?:\.[0-9]+)?)(ms|s|m|h)?$`)
)

// scalar gives a scalar's text; a number or bool where text is wanted is its text as written.
func (l *loader) scalar(v *Value, what string) (string, bool) {
	switch v.Kind {
	case String, Int, Float, Bool:
		return v.Text, true
	}
	l.errorAt(v, "%s: expected text, not %s", what, describe(v))
	return "", false
}

func (l *loader) boolean(v *Value, what string) bool {
	if v == nil || v.Kind == Null {
		return false
	}
	if v.Kind != Bool {
		l.errorAt(v, "%s: expected true or false, not %s", what, describe(v))
		return false
	}
	return strings.EqualFold(v.Text, "true")
}

func (l *loader) word(v *Value, what string, words ...string) string {
	s, ok := l.scalar(v, what)
	if !ok {
		return words[0]
	}
	for _, w := range words {
		if s == w {
			return s
		}
	}
	e := l.errorAt(v, "%s: %q is none of %s", what, s, strings.Join(words, ", "))
	if c := diag.Closest(s, words); c != "" {
		e.With("did you mean %s?", c)
	}
	return words[0]
}

func (l *loader) texts(v *Value, what string) (out []string, at []*Value) {
	if v == nil || v.Kind == Null {
		return nil, nil
	}
	items := []*Value{v}
	if v.Kind == List {
		items = v.Items
	}
	for _, x := range items {
		if s, ok := l.scalar(x, what); ok {
			out = append(out, s)
			at = append(at, x)
		}
	}
	return out, at
}

func (l *loader) seconds(v *Value, what string) float64 {
	if v == nil || v.Kind == Null {
		return 0
	}
	s, ok := l.scalar(v, what)
	if !ok {
		return 0
	}
	m := duration.FindStringSubmatch(s)
	if m == nil {
		l.errorAt(v, "%s: %q is no duration", what, s).With("write it as 90s, 15m or 2h")
		return 0
	}
	n, _ := strconv.ParseFloat(m[1], 64)
	return n * map[string]float64{"ms": 0.001, "s": 1, "": 1, "m": 60, "h": 3600}[m[2]]
}

func (l *loader) count(v *Value, what string) int {
	if v == nil || v.Kind == Null {
		return 0
	}
	n, err := strconv.Atoi(v.Text)
	if v.Kind != Int || err != nil || n < 0 {
		l.errorAt(v, "%s: expected a whole number from 0 on, not %s", what, describe(v))
		return 0
	}
	return n
}

func (l *loader) readSinks(v *Value) {
	if v == nil || v.Kind == Null {
		l.graph.Sinks[defaultSink] = &Sink{
			Name: defaultSink, Format: "iceberg", Catalog: "sql",
			Options: map[string]string{"uri": "sqlite:.pipe/catalog.db", "warehouse": ".pipe/warehouse"}, OptionPos: map[string]diag.Pos{},
		}
		return
	}
	if v.Kind != Map || len(v.Keys) == 0 {
		l.errorAt(v, "sinks: expected a map from a sink's name to its settings, not %s", describe(v))
		return
	}
	for _, k := range v.Keys {
		s := &Sink{Name: k.Name, Format: "iceberg", Pos: k.Pos, Options: map[string]string{}, OptionPos: map[string]diag.Pos{}}
		l.graph.Sinks[k.Name] = s
		if !sinkName.MatchString(k.Name) {
			l.src.errorf(k.Pos, len(k.Name), "%q cannot be a sink's name", k.Name).With("use letters, digits, _ and -")
		}
		if k.Value.Kind != Map {
			l.errorAt(k.Value, "sink %s: expected a map, not %s", k.Name, describe(k.Value))
			continue
		}
		l.keys(k.Value, "sink "+k.Name, sinkKeys)
		for _, o := range k.Value.Keys {
			switch o.Name {
			case "format":
				s.Format = l.word(o.Value, "format of sink "+k.Name, "iceberg", "delta")
			case "catalog":
				s.Catalog = l.word(o.Value, "catalog of sink "+k.Name, "sql", "rest")
			case "uri", "warehouse", "location":
				if t, ok := l.scalar(o.Value, o.Name+" of sink "+k.Name); ok {
					s.Options[o.Name] = t
					s.OptionPos[o.Name] = o.Value.Pos
				}
			}
		}
		if s.Format == "iceberg" && s.Catalog == "" {
			s.Catalog = "sql"
		}
	}
}

const defaultSink = "lake"

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
		l.errorAt(v, "defaults: expected a map, not %s", describe(v))
		return
	}
	v = l.x.expand(v)
	l.keys(v, "defaults", defaultKeys)
	if s := v.Get("sink"); s != nil {
		l.defaults.sink = l.sink(s)
	}
	if p := v.Get("publish"); p != nil {
		l.defaults.publish = l.word(p, "defaults.publish", "run", "stage")
	}
	l.defaults.timeout = l.seconds(v.Get("timeout"), "defaults.timeout")
	l.defaults.retries = l.count(v.Get("retries"), "defaults.retries")
	l.graph.Publish = l.defaults.publish
}

// sink gives the name of a sink that exists.
func (l *loader) sink(v *Value) string {
	s, ok := l.scalar(v, "sink")
	if ok && l.graph.Sinks[s] == nil {
		words := sortedKeys(l.graph.Sinks)
		e := l.errorAt(v, "no sink is called %q", s)
		if c := diag.Closest(s, words); c != "" {
			e.With("did you mean %s?", c)
		} else {
			e.With("there are: %s", strings.Join(words, ", "))
		}
	}
	return s
}

func (l *loader) readStage(k Key) {
	s := &Stage{Name: k.Name, Pos: k.Pos, Dir: ".", Publish: l.defaults.publish, Timeout: l.defaults.timeout, Retries: l.defaults.retries}
	l.graph.Stages = append(l.graph.Stages, s)
	l.graph.byName[k.Name] = s
	if !stageName.MatchString(k.Name) {
		l.src.errorf(k.Pos, len(k.Name), "%q cannot be a stage's name", k.Name).With("use letters, digits, _, - and dots")
	}
	if k.Value.Kind != Map {
		l.errorAt(k.Value, "stage %s: expected a map, not %s", k.Name, describe(k.Value)).With("%s: {cmd: ..., outs: [...]}", k.Name)
		return
	}
	// Unknown keys first: a template that fails hides nothing.
	l.keys(k.Value, "stage "+k.Name, stageKeys)
	v := l.x.expand(k.Value)
	if d := v.Get("wdir"); d != nil {
		if t, ok := l.scalar(d, "wdir"); ok {
			s.Dir = path.Clean(strings.ReplaceAll(t, `\`, "/"))
			if s.Dir == ".." || strings.HasPrefix(s.Dir, "../") || path.IsAbs(s.Dir) {
				l.errorAt(d, "wdir: %s lies outside the project", t)
				s.Dir = "."
			}
		}
	}
	l.action(s, k, v)
	for _, e := range v.Keys {
		x := e.Value
		switch e.Name {
		case "desc":
			s.Desc, _ = l.scalar(x, "desc")
		case "frozen":
			s.Frozen = l.boolean(x, "frozen")
		case "always":
			s.Always = l.boolean(x, "always")
		case "timeout":
			s.Timeout = l.seconds(x, "timeout")
		case "retries":
			s.Retries = l.count(x, "retries")
		case "publish":
			s.Publish = l.word(x, "publish", "run", "stage")
		case "secrets":
			s.Secrets, _ = l.texts(x, "secrets")
		case "shell":
			s.Shell, _ = l.texts(x, "shell")
			if len(s.Shell) == 0 {
				l.errorAt(x, "shell: expected a program and its flags").With("shell: [sh, -e, -c]")
			}
		case "env":
			l.env(s, x)
		case "deps":
			l.deps(s, x)
		case "params":
			l.stageParams(s, x)
		case "outs":
			l.outs(s, x)
		}
	}
	if s.Publish == "stage" {
		l.src.errorf(k.Pos, len(k.Name), "publish: stage is not supported yet").With("remove it: all heads of a run move together at its end")
	}
	l.define(s, v)
}

// action reads which of cmd, sql and use the stage has: exactly one.
func (l *loader) action(s *Stage, k Key, v *Value) {
	var have []string
	for _, e := range v.Keys {
		if e.Name == "cmd" || e.Name == "sql" || e.Name == "use" {
			have = append(have, e.Name)
		}
	}
	if len(have) != 1 {
		for _, reserved := range []string{"foreach", "matrix", "do"} {
			if v.Get(reserved) != nil {
				return // said already
			}
		}
		msg := "stage %s has no cmd, sql or use, expected one of them"
		if len(have) > 1 {
			msg = "stage %s has " + strings.Join(have, " and ") + ", expected only one of them"
		}
		l.src.errorf(k.Pos, len(k.Name), msg, s.Name)
		if len(have) == 0 {
			return
		}
	}
	x := v.Get(have[0])
	switch have[0] {
	case "cmd":
		s.Kind = "cmd"
		texts, at := l.texts(x, "cmd")
		for i, t := range texts {
			if strings.TrimSpace(t) == "" {
				l.errorAt(at[i], "cmd: expected a command, not nothing")
			}
			s.Cmd = append(s.Cmd, t)
			s.CmdPos = append(s.CmdPos, at[i].Pos)
		}
		if x.Kind == Null || x.Kind == List && len(x.Items) == 0 {
			l.errorAt(x, "cmd: expected a command, not nothing")
		}
	case "sql":
		s.Kind = "sql"
		s.SQL, _ = l.scalar(x, "sql")
		for _, e := range v.Keys {
			if e.Name == "sql" {
				l.src.errorf(e.Pos, 3, "sql is not supported yet").With("use cmd, or a Go stage with use")
			}
		}
	case "use":
		s.Kind, _ = l.scalar(x, "use")
		if w := v.Get("with"); w != nil && w.Kind != Null {
			if w.Kind != Map {
				l.errorAt(w, "with: expected a map, not %s", describe(w))
			} else {
				s.With = w
			}
		}
	}
	if w := v.Get("with"); w != nil && have[0] != "use" {
		l.errorAt(w, "with belongs to use; stage %s has %s", s.Name, have[0])
	}
	if sh := v.Get("shell"); sh != nil && have[0] != "cmd" {
		l.errorAt(sh, "shell belongs to cmd; stage %s has %s", s.Name, have[0])
	}
}

func (l *loader) env(s *Stage, v *Value) {
	if v.Kind != Map {
		l.errorAt(v, "env: expected a map, not %s", describe(v)).With("env: {NAME: value}; NAME: alone takes the caller's")
		return
	}
	for _, k := range v.Keys {
		if !envName.MatchString(k.Name) {
			l.src.errorf(k.Pos, len(k.Name), "%q cannot be the name of a variable", k.Name).With("use letters, digits and _")
			continue
		}
		if k.Value.Kind == Null {
			s.Env = append(s.Env, EnvVar{Name: k.Name, Inherit: true})
		} else if t, ok := l.scalar(k.Value, "env "+k.Name); ok {
			s.Env = append(s.Env, EnvVar{Name: k.Name, Value: t})
		}
	}
}
