package textio

import (
	"errors"
	"fmt"
	"io"
	"slices"

	"pipe/internal/diag"
	"pipe/pipeline/schema"
	"pipe/sinks"
)

func (r *Reader) openCSV(in io.Reader) error {
	f := &csvFile{csvDialect: dialectOf(r.opts), header: !r.opts.NoHeader}
	twice, start := io.ReadSeeker(nil), int64(0)
	if r.opts.infer() {
		var close func()
		var err error
		if twice, start, close, err = again(in, r.name, r.opts); err != nil {
			return err
		}
		r.closes = append(r.closes, close)
		in = twice
	}
	if err := r.start(in); err != nil {
		return err
	}
	if err := r.head(f); err != nil {
		return err
	}
	if err := f.inferTypes(r); err != nil {
		return err
	}
	if f.inferred() {
		if _, err := twice.Seek(start, io.SeekStart); err != nil {
			return readError(r.name, err)
		}
		if err := r.start(twice); err != nil {
			return err
		}
		if _, _, err := r.firstRecord(f); err != nil {
			return err
		}
	}
	r.parse = f.parse
	r.schema = sinks.ArrowSchema(schema.Schema{Fields: f.all()})
	return nil
}

func (f *csvFile) inferred() bool {
	for _, known := range f.known {
		if !known {
			return true
		}
	}
	return false
}

// inferTypes reads the rest of the input for the types of what is not declared.
func (f *csvFile) inferTypes(r *Reader) error {
	if !f.inferred() {
		return nil
	}
	seen := make([]class, len(f.fields))
	err := survey(r, f.infer, func(part []class) {
		for i, c := range part {
			seen[i] |= c
		}
	})
	if err != nil {
		return err
	}
	for i, known := range f.known {
		if !known {
			f.fields[i].Type = schema.Type{Kind: csvType(seen[i])}
		}
	}
	return nil
}

// firstRecord reads the first record that is not blank. If it is a header, what follows it comes next; else it comes again.
func (r *Reader) firstRecord(f *csvFile) (*chunk, []cell, error) {
	for {
		c, err := r.split.next()
		if err != nil {
			return nil, nil, err
		}
		if e := c.check(); e != nil {
			return nil, nil, e
		}
		at := skipBlank(c.text, 0)
		if at == len(c.text) && !(r.opts.NoHeader && len(r.opts.Columns.Fields) == 1) {
			continue
		}
		if r.opts.NoHeader {
			r.split.first = &chunk{name: c.name, text: c.text, line: c.line, ends: c.ends}
		}
		cells, next, e := f.record(&c, at, nil)
		if e != nil {
			return nil, nil, e
		}
		if !r.opts.NoHeader {
			rest := chunk{name: c.name, text: c.text[next:], line: c.line + newlines(c.text[:next])}
			rest.ends = newlines(rest.text)
			r.split.first = &rest
		}
		return &c, cells, nil
	}
}

// head reads the names of the columns and matches them with the declared ones.
func (r *Reader) head(f *csvFile) error {
	declared := r.opts.Columns.Fields
	c, cells, err := r.firstRecord(f)
	switch {
	case errors.Is(err, io.EOF) && !r.opts.infer():
		f.take(declared, len(declared)) // no bytes at all: no rows
		return nil
	case errors.Is(err, io.EOF):
		return &diag.Error{
			Exit: diag.Failed, Pos: diag.Pos{File: r.name}, Msg: "expected a header, and the file is empty",
			Hint: "write the header even where there are no rows, or declare the columns",
		}
	case err != nil:
		return err
	}
	if r.opts.NoHeader {
		return r.unnamed(f, c, cells)
	}
	var faults diag.List
	var buf []byte
	have := make([]string, len(cells))
	for i, x := range cells {
		have[i] = string(f.value(c, x, &buf))
	}
	at := map[string]int{} // where a name stands first
	for i, x := range cells {
		name, width := have[i], max(1, x.to-x.from)
		first, twice := at[name]
		if !twice {
			at[name] = i
		}
		field := r.opts.Columns.Field(name)
		switch {
		case name == "":
			faults = append(faults, c.fault(x.from, 1, "give it a name, or take its delimiter out of every line", "column %d has no name", i+1))
		case twice:
			faults = append(faults, c.fault(x.from, width, "give each column a name of its own",
				"the name %q stands twice: columns %d and %d", name, first+1, i+1))
		case field != nil:
			f.fields, f.known = append(f.fields, *field), append(f.known, true)
		case r.opts.infer():
			f.fields, f.known = append(f.fields, schema.Field{Name: name}), append(f.known, false)
		default:
			hint := "declare it, or leave it out"
			if near := diag.Closest(name, missing(declared, have)); near != "" {
				hint = fmt.Sprintf("did you mean %q?", near)
			}
			faults = append(faults, c.fault(x.from, width, hint, "expected one of %s, got the column %q", names(declared), name))
		}
	}
	for _, x := range declared {
		switch _, ok := at[x.Name]; {
		case ok:
		case r.opts.infer(), x.Required:
			faults = append(faults, r.lacking(x, have))
		default:
			f.absent = append(f.absent, x)
		}
	}
	return faults.Err()
}

// missing gives the names of declared columns that a header lacks.
func missing(declared []schema.Field, have []string) []string {
	var out []string
	for _, x := range declared {
		if !slices.Contains(have, x.Name) {
			out = append(out, x.Name)
		}
	}
	return out
}

// unnamed names the columns of a file without header by their place.
func (r *Reader) unnamed(f *csvFile, c *chunk, cells []cell) error {
	declared := r.opts.Columns.Fields
	if !r.opts.infer() {
		f.take(declared, len(declared)) // a record of another length is a fault like any other
		return nil
	}
	if len(declared) > len(cells) {
		return c.fault(cells[0].from, 1, "take some out", "expected %s, got %s", count(len(declared), "field"), count(len(cells), "field"))
	}
	f.take(declared, len(cells))
	return nil
}

func (f *csvFile) take(declared []schema.Field, n int) {
	for i := range n {
		if i < len(declared) {
			f.fields, f.known = append(f.fields, declared[i]), append(f.known, true)
			continue
		}
		f.fields, f.known = append(f.fields, schema.Field{Name: fmt.Sprintf("column%d", i+1)}), append(f.known, false)
	}
}
