package pipeline

import (
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"

	"pipe/internal/diag"
)

// scope is what templates read: params.yaml, then vars, merged deeply. Each value knows its file.
type scope struct {
	root   *Value
	broken bool // a file of it could not be read: names that are missing are not reported
}

// readScope reads params.yaml and vars.
func (l *loader) readScope(vars *Value) {
	l.scope.root = &Value{Kind: Map}
	base := path.Join(path.Dir(l.file), "params.yaml")
	l.merge(l.paramFile(base, nil), "", nil)
	if vars == nil || vars.Kind == Null {
		return
	}
	if vars.Kind != List {
		l.errorAt(vars, "vars: expected a list of files and maps, not %s", describe(vars)).With("vars: [config.yaml, {env: dev}]")
		l.scope.broken = true
		return
	}
	for _, item := range vars.Items {
		switch {
		case hasTemplate(item):
			l.errorAt(item, "vars: templates are not replaced here").With("write the value itself")
			l.scope.broken = true
		case item.Kind == Map:
			l.merge(item, "", item)
		case item.Kind == String && item.Text != "":
			file, only, _ := strings.Cut(item.Text, ":")
			v := l.paramFile(path.Join(path.Dir(l.file), file), item)
			if v == nil {
				l.scope.broken = true
				continue
			}
			l.merge(v, only, item)
		default:
			l.errorAt(item, "vars: expected a file or a map, not %s", describe(item)).With("vars: [config.yaml, {env: dev}]")
			l.scope.broken = true
		}
	}
}

func hasTemplate(v *Value) bool {
	if v.Kind == Map {
		for _, k := range v.Keys {
			if strings.Contains(k.Name, "${") || hasTemplate(k.Value) {
				return true
			}
		}
	}
	return v.Kind == String && strings.Contains(v.Text, "${") || slices.ContainsFunc(v.Items, hasTemplate)
}

// merge puts the keys of a map into the scope, or only those that an "a,b" after the file's name asks for.
func (l *loader) merge(v *Value, only string, asked *Value) {
	if v == nil {
		return
	}
	if v.bad || v.Kind != Map {
		if v.Kind != Null {
			l.errorAt(v, "%s: expected a map of params, not %s", v.Pos.File, describe(v)).With("write it as name: value")
		}
		l.scope.broken = l.scope.broken || v.Kind != Null
		return
	}
	if only != "" {
		part := &Value{Kind: Map, Pos: v.Pos}
		for _, name := range strings.Split(only, ",") {
			name = strings.TrimSpace(name)
			if x := v.Get(name); x != nil {
				part.Keys = append(part.Keys, Key{Name: name, Pos: x.Pos, Value: x})
				continue
			}
			e := l.errorAt(asked, "vars: %s has no key %q", v.Pos.File, name)
			suggest(e, name, keysOf(v), "its keys are "+strings.Join(keysOf(v), ", "))
			l.scope.broken = true
		}
		v = part
	}
	l.scope.root = l.deepMerge("", l.scope.root, v)
}

// deepMerge puts b's keys into a copy of a. What is there already may only be a map on both sides.
func (l *loader) deepMerge(at string, a, b *Value) *Value {
	out := &Value{Kind: Map, Pos: a.Pos, Keys: append([]Key(nil), a.Keys...)}
	if at == "" {
		out.Pos = b.Pos
	}
	index := make(map[string]int, len(out.Keys))
	out.index = index
	for i, k := range out.Keys {
		index[k.Name] = i
	}
	for _, k := range b.Keys {
		i, ok := index[k.Name]
		if !ok {
			index[k.Name] = len(out.Keys)
			out.Keys = append(out.Keys, k)
			continue
		}
		had := out.Keys[i]
		name := under(at, k.Name)
		switch {
		case had.Value.Kind == Map && k.Value.Kind == Map:
			out.Keys[i].Value = l.deepMerge(name, had.Value, k.Value)
		case had.Value.Pos == k.Value.Pos && had.Pos.Line > 0: // one file named twice
		default:
			l.sourceOf(k.Pos).errorf(k.Pos, 0, "%s is defined in %s already", name, had.Pos).With("remove one of them, or give it another name")
		}
	}
	return out
}

// lookError is what is wrong with the inside of a ${}.
type lookError struct {
	at, width int // bytes within the expression, columns
	msg, hint string
	syntax    bool // it is no name, whatever the scope holds
}

// look resolves a.b, a[0], a.0, a[-1], a["b.c"]; spaces around it do not count. read is its name in one spelling.
func (s *scope) look(expr string) (v *Value, read string, err *lookError) {
	lead := len(expr) - len(strings.TrimLeft(expr, " "))
	name := strings.TrimSpace(expr)
	if name == "" {
		return nil, "", &lookError{0, 1, "${} names nothing", "write the name of a param, as in ${a.b}", true}
	}
	if strings.HasPrefix(name, "env:") {
		return nil, "", &lookError{lead, diag.Columns(name), "${" + name + "} stands only in sinks", "use env: of the stage, which counts, or a param", true}
	}
	steps, bad := splitPath(name)
	if bad >= 0 {
		hint := "write it as a.b, a[0] or a.b[0].c"
		if strings.ContainsAny(name, shellSigns) {
			hint = `for the shell write \${` + name + `}`
		}
		return nil, "", &lookError{lead + bad, 1, fmt.Sprintf("cannot read %q as the name of a param", name), hint, true}
	}
	v = s.root
	for _, st := range steps {
		next, canon := v.step(st.name)
		if next == nil {
			return nil, "", missing(v, read, name, lead, st)
		}
		v = next
		if read != "" && canon[0] != '[' {
			read += "."
		}
		read += canon
	}
	return v, read, nil
}

// missing says what is not there, and what is.
func missing(v *Value, at, name string, lead int, st pathStep) *lookError {
	e := &lookError{at: lead + st.at, width: diag.Columns(st.name), hint: "add it to params.yaml"}
	switch {
	case at == "":
		e.msg = fmt.Sprintf("no param is called %q", name)
		if envName.MatchString(name) && strings.ToUpper(name) == name {
			e.hint = `for the shell write \${` + name + `}, or add it to params.yaml`
		}
	case v.Kind == Map:
		e.msg = fmt.Sprintf("%s has no %q", at, st.name)
	case v.Kind == List:
		e.msg = fmt.Sprintf("%s is a list of %d, it has no %q", at, len(v.Items), st.name)
		e.hint = "items are numbered from 0, and from -1 at the end"
	default:
		e.msg = fmt.Sprintf("%s is %s, it has no %q", at, describe(v), st.name)
		e.hint = "name " + at + " itself"
	}
	if c := diag.Closest(st.name, keysOf(v)); c != "" && c != st.name {
		e.hint = fmt.Sprintf("did you mean %s?", under(at, c))
	}
	return e
}

func keysOf(v *Value) []string {
	out := make([]string, len(v.Keys))
	for i, k := range v.Keys {
		out[i] = k.Name
	}
	return out
}

// step goes down by one name; canon is how the step is written: "name", or "[3]" for an item of a list.
func (v *Value) step(name string) (next *Value, canon string) {
	switch v.Kind {
	case Map:
		if next = v.Get(name); next != nil {
			return next, under("", name)
		}
	case List:
		i, err := strconv.Atoi(name)
		if i < 0 {
			i += len(v.Items)
		}
		if err == nil && i >= 0 && i < len(v.Items) {
			return v.Items[i], "[" + strconv.Itoa(i) + "]"
		}
	}
	return nil, ""
}

type pathStep struct {
	name string
	at   int // where it begins
}

// shellSigns are what the shell allows inside of ${} and a name does not hold.
const shellSigns = ":#%^!@*?=~\"'`$/+"

// splitPath cuts a name into its steps; bad is the offset of what does not fit, or -1.
func splitPath(s string) (steps []pathStep, bad int) {
	for at := 0; ; {
		end := at
		for end < len(s) && s[end] != '.' && s[end] != '[' && s[end] != ']' {
			if strings.IndexByte(shellSigns, s[end]) >= 0 {
				return nil, end
			}
			end++
		}
		if end > at {
			steps = append(steps, pathStep{s[at:end], at})
		} else if len(s) == at || s[end] != '[' {
			return nil, min(at, max(0, len(s)-1))
		}
		for end < len(s) && s[end] == '[' {
			name, n := bracket(s[end:])
			if n == 0 {
				return nil, end
			}
			steps = append(steps, pathStep{name, end + 1})
			end += n
		}
		switch {
		case end == len(s):
			return steps, -1
		case s[end] != '.':
			return nil, end
		}
		at = end + 1
	}
}

// bracket reads [name] or ["any name"]; n is its length, 0 if it is neither.
func bracket(s string) (name string, n int) {
	if strings.HasPrefix(s, `["`) {
		q, err := strconv.QuotedPrefix(s[1:])
		if err != nil || !strings.HasPrefix(s[1+len(q):], "]") {
			return "", 0
		}
		name, err = strconv.Unquote(q)
		if err != nil {
			return "", 0
		}
		return name, len(q) + 2
	}
	end := strings.IndexByte(s, ']')
	if end < 2 || strings.ContainsAny(s[1:end], "[.") {
		return "", 0
	}
	return s[1:end], end + 1
}
