package pipeline

import (
	"errors"
	"io/fs"
	"path"
	"slices"
	"strings"

	"pipe/internal/diag"
)

func (l *loader) readStage(k Key) {
	s := &Stage{Name: k.Name, Pos: k.Pos, Dir: path.Dir(l.file), Publish: l.defaults.publish, Timeout: l.defaults.timeout, Retries: l.defaults.retries}
	l.graph.Stages = append(l.graph.Stages, s)
	l.graph.byName[k.Name] = s
	if !stageName.MatchString(k.Name) {
		l.src.errorf(k.Pos, 0, "%q cannot be a stage's name", k.Name).With("use letters, digits, _, - and dots")
	}
	if k.Value.Kind != Map {
		l.errorAt(k.Value, "stage %s: expected a map, not %s", k.Name, describe(k.Value)).With("%s: {cmd: ..., outs: [...]}", k.Name)
		return
	}
	// Unknown keys first: a template that fails hides nothing.
	l.keys(k.Value, "in stage "+k.Name, stageKeys)
	v := l.x.expand(k.Value)
	if d := v.Get("wdir"); d != nil {
		l.wdir(s, d)
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
			s.Publish = l.publish(x)
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
	l.secrets(s, v.Get("secrets"))
	if s.Kind == "cmd" {
		l.variables(s)
	}
	if s.Frozen && s.Always {
		l.warn(k.Pos, "stage %s is frozen and always: it never runs", s.Name).With("remove one of the two")
	}
	sortLeaves(s.Def)
	l.twoParams(s)
}

// warn notes what is legal and probably not meant.
func (l *loader) warn(pos diag.Pos, format string, args ...any) *diag.Error {
	w := *l.src
	w.errs = &l.graph.Warn
	return w.errorf(pos, 0, format, args...)
}

// define notes a fact of the definition that counts.
func (s *Stage) define(name, value string, reads []string, pos diag.Pos) {
	s.Def = append(s.Def, Leaf{Name: name, Value: value, From: joinReads(reads), Pos: pos})
}

func (l *loader) wdir(s *Stage, v *Value) {
	t, ok := l.filled(v, "wdir")
	if !ok {
		return
	}
	dir := l.place(s, v, t)
	switch {
	case dir == "":
		return
	case outside(dir):
		l.errorAt(v, "wdir: %s lies outside the project", t).With("name a folder of the project")
		return
	case l.reserved(v, dir, "a working directory"):
		return
	}
	there, known := l.folders[dir]
	if !known {
		info, err := fs.Stat(l.fsys, dir)
		there = err == nil && info.IsDir() || err != nil && !errors.Is(err, fs.ErrNotExist)
		l.folders[dir] = there
	}
	if !there {
		l.errorAt(v, "wdir: there is no folder %s", dir).With("mkdir -p %s", dir)
	}
	s.Dir = dir
	if dir != "." {
		s.define("wdir", canonicalString(dir), v.Reads, v.Pos)
	}
}

// action reads which of cmd, sql and use the stage has: exactly one.
func (l *loader) action(s *Stage, k Key, v *Value) {
	var have []Key
	for _, e := range v.Keys {
		if e.Name == "cmd" || e.Name == "sql" || e.Name == "use" {
			have = append(have, e)
		}
	}
	reserved := slices.ContainsFunc(v.Keys, func(e Key) bool { return e.Name == "foreach" || e.Name == "matrix" || e.Name == "do" })
	switch {
	case len(have) == 0 && reserved: // said already
		return
	case len(have) == 0:
		e := l.src.errorf(k.Pos, 0, "stage %s has no cmd, sql or use, expected one of them", s.Name)
		if v.Get("with") != nil {
			e.With("add use: and the name of a kind of stage, as in use: generate")
		} else {
			e.With("add cmd: and what it runs")
		}
		return
	case len(have) > 1:
		names := keysOf(&Value{Keys: have})
		l.sourceOf(have[1].Pos).errorf(have[1].Pos, 0, "stage %s has %s, expected only one of them", s.Name, strings.Join(names, " and ")).
			With("make two stages of it")
	}
	x := have[0].Value
	switch have[0].Name {
	case "cmd":
		s.Kind = "cmd"
		l.cmd(s, x)
	case "sql":
		s.Kind = "sql"
		s.SQL, _ = l.filled(x, "sql")
		s.define("sql", canonicalString(s.SQL), x.Reads, x.Pos)
		l.sourceOf(have[0].Pos).errorf(have[0].Pos, 0, "sql is not supported yet").With("use cmd, or a Go stage with use")
	case "use":
		l.use(s, x, v.Get("with"))
	}
	use := slices.ContainsFunc(have, func(e Key) bool { return e.Name == "use" })
	for _, e := range v.Keys {
		if e.Name == "with" && !use {
			l.sourceOf(e.Pos).errorf(e.Pos, 0, "with belongs to use; stage %s has %s", s.Name, have[0].Name)
		}
		if e.Name == "shell" && have[0].Name != "cmd" {
			l.sourceOf(e.Pos).errorf(e.Pos, 0, "shell belongs to cmd; stage %s has %s", s.Name, have[0].Name)
		}
	}
	if sh := v.Get("shell"); sh != nil && s.Kind == "cmd" {
		l.shell(s, sh)
	}
}

// cmd reads one script, or a list of them, each of which runs in a shell of its own. A list of one is the same as its item.
func (l *loader) cmd(s *Stage, v *Value) {
	items := []*Value{v}
	if v.Kind == List {
		items = l.list(v, "cmd", "")
	}
	if len(items) == 0 {
		l.errorAt(v, "cmd: expected a command, not an empty list")
	}
	for i, x := range items {
		if x.Kind == Null || x.Kind == String && strings.TrimSpace(x.Text) == "" {
			l.errorAt(x, "cmd: expected a command, not nothing")
			continue
		}
		t, ok := l.scalar(x, "cmd")
		if !ok {
			continue
		}
		s.Cmd = append(s.Cmd, t)
		s.CmdPos = append(s.CmdPos, x.Pos)
		name := "cmd"
		if len(items) > 1 {
			name = indexed("cmd", i)
		}
		s.define(name, canonicalString(t), x.Reads, x.Pos)
	}
}

func (l *loader) shell(s *Stage, v *Value) {
	words, at := l.texts(v, "shell", "[sh, -e, -c]")
	if len(words) == 0 && (v.Kind == Null || v.Kind == List && len(v.Items) == 0) {
		l.errorAt(v, "shell: expected a program and its flags").With("shell: [sh, -e, -c]")
	}
	s.Shell = words
	for i, w := range words {
		s.define(indexed("shell", i), canonicalString(w), at[i].Reads, at[i].Pos)
	}
}

func (l *loader) use(s *Stage, v, with *Value) {
	name, ok := l.filled(v, "use")
	switch {
	case !ok:
	case name == "cmd" || name == "sql":
		l.errorAt(v, "use: %s is a key of its own", name).With("%s: ...", name)
	case !useName.MatchString(name):
		l.errorAt(v, "%q cannot be the name of a kind of stage", name).With("use: generate")
	default:
		s.Kind = name
		s.define("use", canonicalString(name), v.Reads, v.Pos)
	}
	switch {
	case with == nil || with.Kind == Null || with.bad:
	case with.Kind != Map:
		l.errorAt(with, "with: expected a map, not %s", describe(with))
	default:
		s.With = with
		if len(with.Keys) > 0 { // with: {} says nothing
			s.Def = append(s.Def, with.Flatten("with")...)
		}
	}
}

func (l *loader) env(s *Stage, v *Value) {
	if v.Kind == Null || v.bad {
		return
	}
	if v.Kind != Map {
		l.errorAt(v, "env: expected a map, not %s", describe(v)).With("env: {NAME: value}; NAME: alone takes the caller's")
		return
	}
	for _, k := range v.Keys {
		if !l.variable(k.Name, k.Pos) {
			continue
		}
		if k.Value.Kind == Null {
			s.Env = append(s.Env, EnvVar{Name: k.Name, Inherit: true})
		} else if t, ok := l.scalar(k.Value, "env "+k.Name); ok {
			s.Env = append(s.Env, EnvVar{Name: k.Name, Value: t})
			// As the program sees it: a variable has no type.
			s.define("env "+k.Name, canonicalString(t), k.Value.Reads, k.Value.Pos)
		}
	}
}

// variable checks the name of a variable.
func (l *loader) variable(name string, pos diag.Pos) bool {
	switch {
	case !envName.MatchString(name):
		l.sourceOf(pos).errorf(pos, 0, "%q cannot be the name of a variable", name).With("use letters, digits and _")
	case strings.HasPrefix(name, "PIPE_"):
		l.sourceOf(pos).errorf(pos, 0, "%s: names that begin with PIPE_ are set by pipe itself", name).With("choose another name")
	default:
		return true
	}
	return false
}

func (l *loader) secrets(s *Stage, v *Value) {
	names, at := l.unique(v, "secrets", "[API_TOKEN]")
	for i, name := range names {
		if !l.variable(name, at[i].Pos) {
			continue
		}
		if slices.ContainsFunc(s.Env, func(e EnvVar) bool { return e.Name == name }) {
			l.errorAt(at[i], "%s stands under env, which counts, and under secrets, which does not", name).With("remove one of them")
			continue
		}
		s.Secrets = append(s.Secrets, name)
	}
}

// variables reports tables of a program that would be told in one variable.
func (l *loader) variables(s *Stage) {
	tables := 0
	for _, d := range s.Deps {
		if d.Table != "" {
			tables++
		}
	}
	if tables < 2 && len(s.Outs) < 2 {
		return // by far the most stages
	}
	check := func(prefix string, seen map[string]string, table, shown string, pos diag.Pos) {
		if !tableForm.MatchString(table) {
			return // said already
		}
		name := prefix + variableOf(table)
		if other, twice := seen[name]; twice && other != shown {
			l.sourceOf(pos).errorf(pos, 0, "the tables %s and %s would both be told in %s", other, shown, name).With("rename one of them")
		}
		seen[name] = shown
	}
	in, out := map[string]string{}, map[string]string{}
	for _, d := range s.Deps {
		if d.Table != "" {
			check("PIPE_IN_", in, d.Table, label(d.Sink, d.Table), d.Pos)
		}
	}
	for _, o := range s.Outs {
		if o.Table != "" {
			check("PIPE_OUT_", out, o.Table, label(o.Sink, o.Table), o.Pos)
		}
	}
}

// variableOf is the part of PIPE_IN_... and PIPE_OUT_... that stands for a table, as package stages/command makes it.
func variableOf(table string) string {
	return strings.Map(func(r rune) rune {
		if r >= '0' && r <= '9' || r >= 'A' && r <= 'Z' {
			return r
		}
		return '_'
	}, strings.ToUpper(table))
}

// twoParams warns of a name that the templates of a stage read from the project's params.yaml while the stage tracks its wdir's.
func (l *loader) twoParams(s *Stage) {
	if s.Dir == path.Dir(l.file) {
		return
	}
	own := path.Join(s.Dir, "params.yaml")
	root := path.Join(path.Dir(l.file), "params.yaml")
	for _, p := range s.Params {
		read := p.Name + " in " + root
		if p.File == own && slices.ContainsFunc(s.Def, func(d Leaf) bool { return slices.Contains(strings.Split(d.From, ", "), read) }) {
			up := strings.Repeat("../", 1+strings.Count(s.Dir, "/"))
			l.warn(p.Pos, "templates read %s from %s, and the stage tracks the one of %s", p.Name, root, own).With("name the one that is meant: {%s%s: [%s]}", up, root, p.Name)
		}
	}
}
