package lockfile

import (
	"errors"
	"slices"
	"strconv"
	"strings"

	"pipe/internal/diag"
	"pipe/pipeline/fingerprint"
)

// Parse reads the file; name stands in errors. What it accepts, Encode gives back byte by byte. Anything else is a diag.List with
// the place of each mistake, at most one a stage: a file that was cut off, holds conflict markers, is of a newer version, or is not
// as Encode writes it.
func Parse(name string, data []byte) (*Lock, error) {
	p := &parser{name: name, text: string(data)}
	if list := p.conflicts(); len(list) > 0 {
		return nil, list.Err()
	}
	if e := p.whole(); e != nil {
		return nil, diag.List{e}.Err()
	}
	lock := p.file()
	if len(p.errs) > 0 {
		return nil, p.errs.Err()
	}
	return lock, nil
}

// parser goes through the text line by line. line is the current one without its end, start is where it begins, no counts it from 1;
// after the last line, eof is set and line is "".
type parser struct {
	name, text string
	rest       string
	line       string
	start      int
	no         int
	eof        bool
	errs       diag.List
	again      []byte // a block as Encode writes it
}

func (p *parser) next() {
	p.no++
	p.start = len(p.text) - len(p.rest)
	end := strings.IndexByte(p.rest, '\n')
	switch {
	case end >= 0:
		p.line, p.rest = p.rest[:end], p.rest[end+1:]
	case p.rest != "":
		p.line, p.rest = p.rest, ""
	default:
		p.line, p.eof = "", true
	}
}

// mistake is an error at a line that Parse itself words; hint may be empty for the usual one.
func (p *parser) mistake(no int, line, format string, args ...any) *diag.Error {
	col := 1
	for col <= len(line) && line[col-1] == ' ' {
		col++
	}
	e := diag.Errorf(diag.Pos{File: p.name, Line: no, Col: col}, format, args...)
	e.Line = line
	return e.With("pipe writes this file, edit no line of it: git checkout %s brings the last good one back, pipe repro then brings it up to date", p.name)
}

func (p *parser) expected(what string) *diag.Error {
	if p.eof || p.line == footer {
		return p.mistake(p.no, p.line, "the file ends where %s was expected", what)
	}
	return p.mistake(p.no, p.line, "expected %s", what)
}

// whole looks at what concerns the file as a whole: is there any, is it of our version, does it end.
func (p *parser) whole() *diag.Error {
	lost := "git checkout " + p.name + " brings the last good one back; without one, delete it: pipe repro then finds again what the tables hold"
	if strings.TrimSpace(p.text) == "" {
		e := p.mistake(0, "", "the file is empty: expected %q and what follows", header)
		e.Pos.Col = 0
		return e.With("%s", lost)
	}
	no := 0
	for line := range strings.Lines(p.text) {
		no++
		line = strings.TrimSuffix(line, "\n")
		if strings.HasSuffix(line, "\r") {
			return p.mistake(no, strings.TrimSuffix(line, "\r"), "the line ends with a carriage return").
				With("add \"%s text eol=lf\" to .gitattributes, then git checkout %s", p.name, p.name)
		}
		if v, ok := strings.CutPrefix(line, "version: "); ok && v != "" && v != strconv.Itoa(Version) {
			return p.otherVersion(no, line, v)
		}
		if strings.HasPrefix(line, " ") {
			break
		}
	}
	if text := strings.TrimRight(p.text, " \t\n"); !strings.HasSuffix(text, "\n"+footer) {
		last := strings.Count(text, "\n") + 1
		e := p.mistake(last, text[strings.LastIndexByte(text, '\n')+1:], "the file was cut off: its last line is not %q", footer)
		return e.With("%s", lost)
	}
	return nil
}

func (p *parser) otherVersion(no int, line, v string) *diag.Error {
	n, err := strconv.ParseUint(v, 10, 64)
	if (err == nil || errors.Is(err, strconv.ErrRange)) && n > Version {
		return p.mistake(no, line, "the lock is of version %s, this pipe knows version %d", v, Version).
			With("install a newer pipe: a colleague's wrote this file")
	}
	return p.mistake(no, line, "unknown version %s of the lock, this pipe knows version %d", v, Version)
}

// canonical compares a block, whose first line has the number no, with what Encode makes of it. It catches all that reading by meaning
// lets through: quotes and blanks too many, 007.
func (p *parser) canonical(no int, block, want string) *diag.Error {
	for block != want {
		var a, b string
		a, block, _ = strings.Cut(block, "\n")
		b, want, _ = strings.Cut(want, "\n")
		if a != b {
			return p.mistake(no, a, "not as pipe writes it, which is: %s", short(b))
		}
		no++
	}
	return nil
}

// show gives text in quotes, and of a long one its beginning.
func show(text string) string { return "\"" + short(text) + "\"" }

func short(line string) string {
	const most = 120
	if line = strings.TrimSpace(line); len(line) > most {
		return strings.ToValidUTF8(line[:most], "") + "..."
	}
	return line
}

// file reads the text by meaning.
func (p *parser) file() *Lock {
	lock := &Lock{Stages: map[string]*Entry{}}
	p.rest = p.text
	p.next()
	if p.line != header {
		p.errs = append(p.errs, p.expected(show(header)))
	} else {
		p.next()
	}
	if v := "version: " + strconv.Itoa(Version); p.line != v {
		p.errs = append(p.errs, p.expected(show(v)))
		return lock
	}
	p.next()
	switch p.line {
	case "stages: {}":
		p.next()
	case "stages:":
		p.next()
		p.stages(lock)
	default:
		p.errs = append(p.errs, p.expected("\"stages:\""))
		return lock
	}
	if p.line != footer {
		p.errs = append(p.errs, p.expected("a stage's name, indented by two, or "+show(footer)))
		return lock
	}
	if !strings.HasSuffix(p.text, footer+"\n") || p.rest != "" {
		p.errs = append(p.errs, p.mistake(p.no, p.line, "expected one line end behind %q and nothing more", footer))
	}
	return lock
}

// isStage reports whether the line begins a stage's block.
func (p *parser) isStage() bool {
	return len(p.line) > 2 && p.line[:2] == "  " && p.line[2] != ' ' && p.line[2] != ':'
}

func (p *parser) stages(lock *Lock) {
	last := ""
	for p.isStage() {
		no, line, from := p.no, p.line, p.start
		name, entry, e := p.stage()
		if e == nil {
			p.again = appendEntry(p.again[:0], name, entry)
			if block := p.text[from:p.start]; block != string(p.again) {
				e = p.canonical(no, block, string(p.again))
			}
		}
		if e == nil {
			switch {
			case lock.Stages[name] != nil:
				e = p.mistake(no, line, "stage %s stands twice", name).
					With("delete one of its blocks, then pipe repro")
			case name < last:
				e = p.mistake(no, line, "stage %s must stand before stage %s: stages are sorted by name", name, last).
					With("move its block up, or git checkout %s and pipe repro", p.name)
			}
			lock.Stages[name] = entry
			last = max(last, name)
		}
		if e != nil {
			p.errs = append(p.errs, e)
			for !p.isStage() && !p.eof && p.line != footer {
				p.next()
			}
		}
	}
}

// stage reads one block. After an error the current line is any line of the block but its first.
func (p *parser) stage() (string, *Entry, *diag.Error) {
	name, tail, e := p.key("  ")
	if e == nil && tail != "" {
		e = p.expected("nothing behind a stage's name")
	}
	p.next()
	if e != nil {
		return "", nil, e
	}
	entry := &Entry{}
	value, e := p.field("    ", "fingerprint")
	if e != nil {
		return "", nil, e
	}
	entry.Fingerprint = fingerprint.Fingerprint(value)
	if entry.Inputs, e = p.inputs(); e != nil {
		return "", nil, e
	}
	if entry.Outs, e = p.outs(); e != nil {
		return "", nil, e
	}
	if !p.isStage() && p.line != footer {
		return "", nil, p.expected("the next stage, or " + show(footer))
	}
	return name, entry, nil
}

// key reads "key:" or the long "? key" and ":" form at an indent, and gives what follows the colon, blank cut off. The current line
// is then the one that holds the colon.
func (p *parser) key(indent string) (key, tail string, e *diag.Error) {
	s, ok := strings.CutPrefix(p.line, indent)
	if !ok || s == "" {
		return "", "", p.expected("a key")
	}
	long := false
	if long = strings.HasPrefix(s, "? "); long {
		s = s[2:]
	}
	switch {
	case s != "" && s[0] == '"':
		if key, s, ok = cutQuoted(s); !ok {
			return "", "", p.expected("a key in double quotes that are closed and hold no unknown escape")
		}
	case long:
		key, s = s, ""
	default:
		end := strings.Index(s, ": ")
		if end < 0 {
			end = max(0, len(s)-1)
		}
		key, s = s[:end], s[end:]
	}
	if long && s == "" {
		p.next()
		if s, ok = strings.CutPrefix(p.line, indent); !ok {
			return "", "", p.expected("a colon")
		}
	}
	switch {
	case strings.HasPrefix(s, ": "):
		return key, s[2:], nil
	case s == ":":
		return key, "", nil
	}
	return "", "", p.expected("a colon behind the key")
}

// scalar reads all of s as one scalar; with comment, text behind "  # " too.
func (p *parser) scalar(s string, comment bool) (value, from string, e *diag.Error) {
	if s != "" && s[0] == '"' {
		var ok bool
		if value, s, ok = cutQuoted(s); !ok {
			return "", "", p.expected("a value in double quotes that are closed and hold no unknown escape")
		}
	} else {
		end := strings.Index(s, "  # ")
		if end < 0 {
			end = len(s)
		}
		value, s = s[:end], s[end:]
		if value == "" {
			return "", "", p.expected("a value")
		}
	}
	if s == "" {
		return value, "", nil
	}
	s, ok := strings.CutPrefix(s, "  # ")
	if !ok || !comment || s == "" {
		return "", "", p.expected("nothing behind the value")
	}
	if s[0] != '"' {
		return value, s, nil
	}
	from, s, ok = cutQuoted(s)
	if !ok || s != "" {
		return "", "", p.expected("a comment in double quotes that are closed")
	}
	return value, from, nil
}

// field reads one "name: value" line.
func (p *parser) field(indent, name string) (string, *diag.Error) {
	s, ok := strings.CutPrefix(p.line, indent)
	if ok {
		s, ok = strings.CutPrefix(s, name)
	}
	if ok {
		s, ok = strings.CutPrefix(s, ": ")
	}
	if !ok {
		return "", p.expected("\"" + name + ": ...\"")
	}
	value, _, e := p.scalar(s, false)
	if e == nil {
		p.next()
	}
	return value, e
}

func (p *parser) number(indent, name string) (int64, *diag.Error) {
	no, line := p.no, p.line
	value, e := p.field(indent, name)
	if e != nil {
		return 0, e
	}
	n, err := strconv.ParseInt(value, 10, 64)
	if err != nil {
		return 0, p.mistake(no, line, "expected a whole number, found %s", show(value))
	}
	return n, nil
}

func (p *parser) inputs() (fingerprint.Inputs, *diag.Error) {
	switch p.line {
	case "    inputs: {}":
		p.next()
		return nil, nil
	case "    inputs:":
		p.next()
	default:
		return nil, p.expected("\"inputs:\"")
	}
	var in fingerprint.Inputs
	for strings.HasPrefix(p.line, "      ") {
		no, line := p.no, p.line
		key, tail, e := p.key("      ")
		if e != nil {
			return nil, e
		}
		x := fingerprint.Input{}
		if x.Value, x.From, e = p.scalar(tail, true); e != nil {
			return nil, e
		}
		var ok bool
		if x.Kind, x.Name, ok = strings.Cut(key, " "); !ok || !slices.Contains(kinds, x.Kind) {
			return nil, p.mistake(no, line, "expected a kind of input (%s) and its name", strings.Join(kinds, ", "))
		}
		if n := len(in); n > 0 && !fingerprint.Less(in[n-1], x) {
			if in[n-1].Kind == x.Kind && in[n-1].Name == x.Name {
				return nil, p.mistake(no, line, "input %s %s stands twice", x.Kind, x.Name)
			}
			return nil, p.mistake(no, line, "input %s %s must stand before %s %s", x.Kind, x.Name, in[n-1].Kind, in[n-1].Name)
		}
		in = append(in, x)
		p.next()
	}
	if in == nil {
		return nil, p.expected("an input")
	}
	return in, nil
}

func (p *parser) outs() ([]Out, *diag.Error) {
	switch p.line {
	case "    outs: []":
		p.next()
		return nil, nil
	case "    outs:":
		p.next()
	default:
		return nil, p.expected("\"outs:\"")
	}
	var outs []Out
	for strings.HasPrefix(p.line, "      - ") {
		no, line := p.no, p.line
		o, e := p.out()
		if e != nil {
			return nil, e
		}
		if n := len(outs); n > 0 && compareOuts(outs[n-1], o) >= 0 {
			if compareOuts(outs[n-1], o) == 0 {
				return nil, p.mistake(no, line, "out %s stands twice", o.Table+o.Path)
			}
			return nil, p.mistake(no, line, "out %s must stand before %s", o.Table+o.Path, outs[n-1].Table+outs[n-1].Path)
		}
		outs = append(outs, o)
	}
	if outs == nil {
		return nil, p.expected("an out")
	}
	return outs, nil
}

func (p *parser) out() (o Out, e *diag.Error) {
	const first, next = "      - ", "        "
	if strings.HasPrefix(p.line, first+"path:") {
		if o.Path, e = p.field(first, "path"); e != nil {
			return o, e
		}
		if o.Path == "" {
			return o, p.mistake(p.no-1, first+"path: \"\"", "expected a path")
		}
		digest, e := p.field(next, "digest")
		if e != nil {
			return o, e
		}
		o.Digest = fingerprint.Digest(digest)
		o.Size, e = p.number(next, "size")
		return o, e
	}
	if o.Table, e = p.field(first, "table"); e != nil {
		return o, e
	}
	if o.Sink, e = p.field(next, "sink"); e != nil {
		return o, e
	}
	if o.Snapshot, e = p.field(next, "snapshot"); e != nil {
		return o, e
	}
	digest, e := p.field(next, "digest")
	if e != nil {
		return o, e
	}
	o.Digest = fingerprint.Digest(digest)
	if o.Rows, e = p.number(next, "rows"); e != nil {
		return o, e
	}
	if strings.HasPrefix(p.line, next+"accepted:") {
		if p.line != next+"accepted: true" {
			return o, p.expected("\"accepted: true\"")
		}
		o.Accepted = true
		p.next()
	}
	if p.line == next+"columns:" {
		p.next()
		o.Columns, e = p.columns()
	}
	return o, e
}

func (p *parser) columns() ([]string, *diag.Error) {
	var columns []string
	for {
		s, ok := strings.CutPrefix(p.line, "          - ")
		if !ok {
			break
		}
		c, _, e := p.scalar(s, false)
		if e != nil {
			return nil, e
		}
		columns = append(columns, c)
		p.next()
	}
	if columns == nil {
		return nil, p.expected("a column")
	}
	return columns, nil
}

// kinds are the inputs that this version knows.
var kinds = []string{fingerprint.Def, fingerprint.Dep, fingerprint.Param, fingerprint.Table, fingerprint.Env, fingerprint.Parent}
