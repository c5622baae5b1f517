package textio

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"

	"pipe/internal/diag"
	"pipe/pipeline/schema"
)

// cell is one field of a CSV record, as places in its chunk; quotes are not in it.
type cell struct {
	from, to int
	quoted   bool
	doubled  bool // quotes in it stand twice
}

// csvDialect is how records are written.
type csvDialect struct {
	delimiter byte
	quote     byte       // 0: none
	nulls     *nullWords // nil: the empty field
	// nullQuoted says that words in quotes mean NULL too.
	nullQuoted bool
	stops      [256]bool // the bytes that may not stand in a field without quotes
}

func dialectOf(o Options) csvDialect {
	d := csvDialect{delimiter: byte(o.Delimiter), nulls: newNullWords(o.Null), nullQuoted: o.NullQuoted}
	d.stops[d.delimiter], d.stops['\n'], d.stops['\r'] = true, true, true
	if o.Quote != NoQuote {
		d.quote = byte(o.Quote)
		d.stops[d.quote] = true
	}
	return d
}

// record reads one record from at on into cells, and gives where the next begins. There must be one.
func (d *csvDialect) record(c *chunk, at int, cells []cell) ([]cell, int, *diag.Error) {
	b := c.text
	for {
		if d.quote != 0 && at < len(b) && b[at] == d.quote {
			x, end, err := d.quotedCell(c, at)
			if err != nil {
				return nil, 0, err
			}
			cells, at = append(cells, x), end
		} else {
			from := at
			for at < len(b) && !d.stops[b[at]] {
				at++
			}
			if at < len(b) && b[at] == d.quote && d.quote != 0 {
				return nil, 0, c.fault(at, 1, "put the field into quotes and write its own quotes twice",
					"a quote inside a field that does not start with one (field %d)", len(cells)+1)
			}
			cells = append(cells, cell{from: from, to: at})
		}
		if at == len(b) {
			return cells, at, nil
		}
		switch b[at] {
		case d.delimiter:
			at++
		case '\n':
			return cells, at + 1, nil
		case '\r':
			if at+1 < len(b) && b[at+1] == '\n' {
				at++
			}
			return cells, at + 1, nil
		default:
			return nil, 0, c.fault(at, 1, "write a quote inside a field twice", "expected %q or the end of the line after a closing quote, got %q (field %d)",
				d.delimiter, firstRune(b[at:]), len(cells))
		}
	}
}

func firstRune(b []byte) rune { return []rune(string(b[:min(len(b), 4)]))[0] }

// quotedCell reads a field that starts with a quote, and gives the place behind its closing one.
func (d *csvDialect) quotedCell(c *chunk, at int) (cell, int, *diag.Error) {
	x := cell{from: at + 1, quoted: true}
	for i := at + 1; ; {
		k := bytes.IndexByte(c.text[i:], d.quote)
		if k < 0 {
			return x, 0, c.fault(at, 1, "close it; a quote inside a field is written twice", "a quote is opened here and never closed")
		}
		if i += k + 1; i == len(c.text) || c.text[i] != d.quote {
			x.to = i - 1
			return x, i, nil
		}
		x.doubled = true
		i++
	}
}

// value gives the text of a cell; buf may be used for it.
func (d *csvDialect) value(c *chunk, x cell, buf *[]byte) []byte {
	s := c.text[x.from:x.to]
	if !x.doubled {
		return s
	}
	out := (*buf)[:0]
	for i := 0; i < len(s); i++ {
		out = append(out, s[i])
		if s[i] == d.quote {
			i++
		}
	}
	*buf = out
	return out
}

// isNull tells whether a cell means NULL.
func (d *csvDialect) isNull(x cell, value []byte) bool {
	if x.quoted && !d.nullQuoted {
		return false
	}
	if d.nulls == nil {
		return len(value) == 0
	}
	return d.nulls.has(value)
}

// blank tells whether a line has nothing at all on it.
func blank(b []byte, at int) bool { return at < len(b) && (b[at] == '\n' || b[at] == '\r') }

// skipBlank gives the place of the first record at or after at.
func skipBlank(b []byte, at int) int {
	for blank(b, at) {
		at++
	}
	return at
}

// csvFile is a CSV file whose header was read.
type csvFile struct {
	csvDialect
	fields []schema.Field // in the file's order; of undeclared ones only the name is set, until they are inferred
	absent []schema.Field // declared, optional and not in the file
	known  []bool         // which of fields are declared
	header bool
}

// all gives the columns of the batches.
func (f *csvFile) all() []schema.Field {
	return append(f.fields[:len(f.fields):len(f.fields)], f.absent...)
}

// columnName names a column in an error.
func (f *csvFile) columnName(i int) string {
	return fmt.Sprintf("column %d (%s)", i+1, strconv.Quote(f.fields[i].Name))
}

// each calls row for each record of a chunk, until it gives false. Its cells are valid during the call.
func (f *csvFile) each(c *chunk, faults *faults, row func(cells []cell) bool) {
	if err := c.check(); err != nil {
		faults.add(err)
		return
	}
	var cells []cell
	for at := 0; at < len(c.text) && !faults.full(); {
		if len(f.fields) != 1 {
			if at = skipBlank(c.text, at); at == len(c.text) {
				return
			}
		}
		start := at
		var err *diag.Error
		if cells, at, err = f.record(c, at, cells[:0]); err != nil {
			faults.add(err) // where the next record begins is not known
			return
		}
		if len(cells) != len(f.fields) {
			faults.add(f.ragged(c, start, cells))
			continue
		}
		if !row(cells) {
			return
		}
	}
}

func (f *csvFile) ragged(c *chunk, start int, cells []cell) *diag.Error {
	where := "the first record"
	if f.header {
		where = "the header"
	}
	off, hint := cells[len(cells)-1].to, "add what is missing; an empty field is NULL"
	if len(cells) > len(f.fields) {
		off = cells[len(f.fields)].from
		hint = fmt.Sprintf("put a field that holds %q into quotes, or take out what is too much", f.delimiter)
	} else if off < start {
		off = start
	}
	return c.fault(off, 1, hint, "expected %s as in %s, got %s", count(len(f.fields), "field"), where, count(len(cells), "field"))
}

func count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return strconv.Itoa(n) + " " + noun + "s"
}

// parse makes batches of a chunk.
func (f *csvFile) parse(s *arrow.Schema, c *chunk, most int) ([]arrow.RecordBatch, error) {
	b := newBuilding(s, f.all(), c.ends+1, most)
	defer b.release()
	var buf []byte
	f.each(c, &b.faults, func(cells []cell) bool {
		for i, x := range cells {
			if err := f.add(c, b.columns[i], i, x, &buf); err != nil {
				b.faults.add(err)
			}
		}
		for _, col := range b.columns[len(cells):] {
			col.builder.AppendNull()
		}
		b.row()
		return true
	})
	return b.done()
}

// add appends one cell to its column.
func (f *csvFile) add(c *chunk, col *column, i int, x cell, buf *[]byte) *diag.Error {
	value := f.value(c, x, buf)
	if f.isNull(x, value) {
		if col.null() {
			return nil
		}
		return c.fault(x.from, x.to-x.from, hintRequired, "%s is required: expected %s, got NULL", f.columnName(i), col.field.Type)
	}
	if col.text == nil {
		j := jsonText{b: value}
		if err := j.whole(col); err != nil {
			return c.fault(x.from, x.to-x.from, err.hint, "%s: %s", f.columnName(i), err.msg)
		}
		return nil
	}
	p := col.text(value)
	if p == "" {
		return nil
	}
	got := quoted(value)
	hint := hintFor(col.field.Type, p)
	if len(value) == 0 && x.quoted {
		got, hint = "an empty field in quotes", "NULL is an empty field without quotes"
	} else if len(value) == 0 {
		got, hint = "an empty field", `the empty field is not among the words that mean NULL`
	}
	return c.fault(x.from, x.to-x.from, hint, "%s: %s", f.columnName(i), mismatch(col.field.Type, got, p))
}

// faults are the mistakes of one chunk, up to a number that one can look through.
type faults struct{ list diag.List }

const mostFaults = 10

func (f *faults) add(e *diag.Error) {
	if e != nil && !f.full() {
		f.list = append(f.list, e)
	}
}

func (f *faults) full() bool { return len(f.list) >= mostFaults }

// names joins names for an error.
func names(fields []schema.Field) string {
	out := make([]string, len(fields))
	for i, f := range fields {
		out[i] = strconv.Quote(f.Name)
	}
	return strings.Join(out, ", ")
}
