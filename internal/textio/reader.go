package textio

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"

	"github.com/apache/arrow-go/v18/arrow"
	"golang.org/x/sync/errgroup"

	"pipe/internal/diag"
	"pipe/pipeline/schema"
	"pipe/sinks"
)

// Reader reads a text file as batches, in the order of the file. It is for one goroutine; parsing uses several, which all end
// before a call returns.
type Reader struct {
	ctx    context.Context // of Open: Next has none, so that it has the shape of the other readers of batches
	name   string
	opts   Options
	schema *arrow.Schema
	split  *splitter
	parse  func(s *arrow.Schema, c *chunk, most int) ([]arrow.RecordBatch, error)
	ahead  []chunk // read, and not yet parsed
	ready  []arrow.RecordBatch
	err    error // why nothing comes after ready
	closes []func()
}

// Open reads what must be known before the first row: the header of a CSV file, and the types of the columns that are not declared,
// for which the whole input is read. The name is what errors call it, and its end says how it is packed. Mistakes of the file are
// a *diag.Error or a diag.List with exit status Failed. ctx ends Next, too.
func Open(ctx context.Context, r io.Reader, name string, opts Options) (*Reader, error) {
	opts, err := opts.withDefaults(name)
	if err != nil {
		return nil, err
	}
	x := &Reader{ctx: ctx, name: name, opts: opts}
	open := x.openCSV
	if opts.Format == JSONL {
		open = x.openJSONL
	}
	if err := open(r); err != nil {
		x.Close()
		return nil, err
	}
	return x, nil
}

// Schema gives the columns of the batches. CSV: those of the file in its order, then declared ones that it lacks. JSONL: the
// declared ones in their order, then the inferred ones in the order in which the file first has them.
func (r *Reader) Schema() *arrow.Schema { return r.schema }

// Next gives the next batch, which the caller releases; io.EOF after the last. After an error it gives the same error again.
func (r *Reader) Next() (arrow.RecordBatch, error) {
	for len(r.ready) == 0 {
		if r.err != nil {
			return nil, r.err
		}
		r.fill()
	}
	b := r.ready[0]
	r.ready = r.ready[1:]
	return b, nil
}

// Close frees what the reader holds, and the batches that were not taken. It does not close the io.Reader.
func (r *Reader) Close() error {
	for _, b := range r.ready {
		b.Release()
	}
	r.ready, r.err = nil, errors.New("the reader is closed")
	for i := len(r.closes) - 1; i >= 0; i-- {
		r.closes[i]()
	}
	r.closes = nil
	return nil
}

// start opens the text of an input from its start, and leaves out the lines to skip.
func (r *Reader) start(in io.Reader) error {
	text, close, err := utf8Input(in, r.name)
	if err != nil {
		return err
	}
	r.closes = append(r.closes, close)
	if err := skipLines(text, r.name, r.opts.Skip); err != nil {
		return err
	}
	r.split = &splitter{r: text, name: r.name, json: r.opts.Format == JSONL, size: r.opts.chunk, limit: r.opts.record, line: 1 + r.opts.Skip}
	if !r.split.json && r.opts.Quote != NoQuote {
		r.split.quote = byte(r.opts.Quote)
	}
	return nil
}

// fill parses the chunks that were read ahead, while the next are read.
func (r *Reader) fill() {
	if err := r.ctx.Err(); err != nil {
		r.err = err
		return
	}
	if len(r.ahead) == 0 {
		if r.ahead, r.err = r.read(); r.err != nil {
			return
		}
	}
	chunks := r.ahead
	batches := make([][]arrow.RecordBatch, len(chunks))
	errs := make([]error, len(chunks))
	var g errgroup.Group
	for i := range chunks {
		g.Go(func() error {
			batches[i], errs[i] = r.parse(r.schema, &chunks[i], r.opts.BatchRows)
			return nil
		})
	}
	ahead, readErr := r.read()
	r.ahead = ahead
	_ = g.Wait() // errors are in errs, in the order of the file
	for i := range chunks {
		switch {
		case r.err != nil:
			for _, b := range batches[i] {
				b.Release()
			}
		case errs[i] != nil:
			r.err = errs[i]
		default:
			r.ready = append(r.ready, batches[i]...)
		}
	}
	if r.err == nil {
		r.err = readErr
	}
}

// read gives up to as many chunks as there are goroutines. Chunks that came before an error are given without it: it comes again.
func (r *Reader) read() ([]chunk, error) {
	var out []chunk
	for len(out) < r.opts.Threads {
		c, err := r.split.next()
		if err != nil {
			if len(out) > 0 {
				return out, nil
			}
			return nil, err
		}
		out = append(out, c)
	}
	return out, nil
}

// survey calls look for every chunk of the input, several at a time, and merge with each result in order.
func survey[T any](r *Reader, look func(*chunk) (T, error), merge func(T)) error {
	for {
		if err := r.ctx.Err(); err != nil {
			return err
		}
		chunks, err := r.read()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		results, errs := make([]T, len(chunks)), make([]error, len(chunks))
		var g errgroup.Group
		for i := range chunks {
			g.Go(func() error {
				results[i], errs[i] = look(&chunks[i])
				return nil
			})
		}
		_ = g.Wait() // errors are in errs, in the order of the file
		for i := range chunks {
			if errs[i] != nil {
				return errs[i]
			}
			merge(results[i])
		}
	}
}

func (r *Reader) openJSONL(in io.Reader) error {
	f := &jsonFile{fields: r.opts.Columns.Fields, nulls: newNullWords(r.opts.Null)}
	if r.opts.infer() {
		twice, start, close, err := again(in, r.name, r.opts)
		if err != nil {
			return err
		}
		r.closes = append(r.closes, close)
		if err := r.start(twice); err != nil {
			return err
		}
		root := &shape{}
		if err := survey(r, f.infer, root.merge); err != nil {
			return err
		}
		if f.fields, err = r.resolve(f.fields, root); err != nil {
			return err
		}
		if _, err := twice.Seek(start, io.SeekStart); err != nil {
			return readError(r.name, err)
		}
		in = twice
	}
	r.parse = f.parse
	r.schema = sinks.ArrowSchema(schema.Schema{Fields: f.fields})
	return r.start(in)
}

// resolve gives the declared columns and those that the objects were seen to have.
func (r *Reader) resolve(declared []schema.Field, root *shape) ([]schema.Field, error) {
	var faults diag.List
	fields := declared[:len(declared):len(declared)]
	for _, x := range declared {
		if root.fields[x.Name] == nil {
			faults = append(faults, r.lacking(x, root.names))
		}
	}
	for _, name := range root.names {
		if r.opts.Columns.Field(name) == nil {
			fields = append(fields, schema.Field{Name: name, Type: root.fields[name].typeOf(name, &faults)})
		}
	}
	if len(fields) == 0 {
		faults = append(faults, &diag.Error{
			Exit: diag.Failed, Pos: diag.Pos{File: r.name}, Msg: "expected rows to infer columns from, got none",
			Hint: "declare the columns",
		})
	}
	return fields, faults.Err()
}

// lacking says that a declared column is not in the file.
func (r *Reader) lacking(x schema.Field, have []string) *diag.Error {
	e := &diag.Error{Exit: diag.Failed, Pos: diag.Pos{File: r.name}, Msg: fmt.Sprintf("expected a column %q, and the file has none", x.Name)}
	e.Hint = "write it, or take it out of the declared columns"
	if near := diag.Closest(x.Name, have); near != "" {
		e.Hint = fmt.Sprintf("did you mean %q?", near)
	}
	return e
}

func (o Options) infer() bool { return o.Infer || len(o.Columns.Fields) == 0 }

func (o Options) withDefaults(name string) (Options, error) {
	if o.Format == "" {
		o.Format = FormatOf(name)
	}
	if o.Format != CSV && o.Format != JSONL {
		return o, diag.Errorf(diag.Pos{File: name}, "expected %s or %s, and the name says neither", CSV, JSONL).
			With("let the name end with .csv, .tsv, .jsonl or .ndjson (and .gz or .zst where it is packed)")
	}
	if o.Delimiter == 0 {
		o.Delimiter = ','
		if extension(name) == ".tsv" {
			o.Delimiter = '\t'
		}
	}
	if o.Quote == 0 {
		o.Quote = '"'
	}
	for what, c := range map[string]rune{"delimiter": o.Delimiter, "quote": o.Quote} {
		if c != NoQuote && (c <= 0 || c > 126 || c == '\n' || c == '\r') || what == "delimiter" && c == NoQuote {
			return o, diag.Errorf(diag.Pos{File: name}, "expected one ASCII character as %s, got %q", what, c)
		}
	}
	if o.Delimiter == o.Quote {
		return o, diag.Errorf(diag.Pos{File: name}, "the delimiter and the quote are both %q", o.Quote)
	}
	if o.BatchRows <= 0 {
		o.BatchRows = defaultBatchRows
	}
	if o.Threads <= 0 {
		o.Threads = runtime.GOMAXPROCS(0)
	}
	o.chunk, o.record, o.memory = cmp.Or(o.chunk, chunkBytes), cmp.Or(o.record, recordBytes), cmp.Or(o.memory, memoryBytes)
	return o, nil
}
