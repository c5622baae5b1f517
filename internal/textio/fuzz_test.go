package textio

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"pipe/internal/diag"
	"pipe/pipeline/schema"
	"pipe/sinks"
)

// What is read is written and read again as the same rows; nothing panics; every error is told to a user; and neither the size of
// chunks nor the number of goroutines changes anything.
func fuzzReader(t *testing.T, text string, opts Options, size uint8) {
	small := opts
	small.chunk, small.Threads = 1+int(size), 2
	as, list, err := readAll(t.Context(), text, "x", opts)
	asSmall, listSmall, errSmall := readAll(t.Context(), text, "x", small)
	if (err == nil) != (errSmall == nil) {
		t.Fatalf("whole: %v; in chunks of %d: %v", err, small.chunk, errSmall)
	}
	if err != nil {
		var e *diag.Error
		if !errors.As(err, &e) || e.Pos.File != "x" || e.Msg == "" {
			t.Fatalf("not an error for a user: %v", err)
		}
		first, firstSmall := diag.All(err)[0], diag.All(errSmall)[0]
		if d := cmp.Diff(first.Error(), firstSmall.Error()); d != "" && !strings.Contains(text, "\x00") && utf8.ValidString(text) {
			t.Fatal(d) // what is no text is told before all else in its chunk
		}
		return
	}
	if !as.Equal(asSmall) {
		t.Fatalf("schemas differ: %s and %s", as, asSmall)
	}
	columns, err := sinks.FromArrow(as)
	if err != nil {
		t.Fatalf("columns that no table has: %v", err)
	}
	want := sum(t, as, list...)
	if got := sum(t, asSmall, listSmall...); got != want {
		t.Fatalf("rows differ in chunks of %d: %v and %v", small.chunk, list, listSmall)
	}
	for _, format := range []Format{CSV, JSONL} {
		var out bytes.Buffer
		write := WriteCSV
		if format == JSONL {
			write = WriteJSONL
		}
		for _, b := range list {
			b.Retain()
		}
		if err := write(&out, as, batches(list...)); err != nil {
			if format == CSV && strings.Contains(err.Error(), "NUL") {
				continue // JSON may hold it as \u0000
			}
			t.Fatal(err)
		}
		asAgain, again, err := readAll(t.Context(), out.String(), "x", Options{Format: format, Columns: columns})
		if err != nil {
			t.Fatalf("%v in %q", err, out.String())
		}
		if got := sum(t, asAgain, again...); got != want {
			t.Fatalf("%q reads back as %v, was %v", out.String(), again, list)
		}
	}
}

func fuzzColumns() schema.Schema {
	s := typesSchema()
	s.Fields = append(s.Fields, schema.Field{Name: "m", Type: schema.Type{Kind: schema.Map, Fields: []schema.Field{
		{Name: "key", Type: schema.Type{Kind: schema.String}, Required: true},
		{Name: "value", Type: schema.Type{Kind: schema.List, Fields: []schema.Field{{Name: "element", Type: schema.Type{Kind: schema.Double}}}}},
	}}}, schema.Field{Name: "bin", Type: schema.Type{Kind: schema.Binary}})
	return s
}

func FuzzCSV(f *testing.F) {
	f.Add("s,l\n\"a\"\"b\",1\n,\r\n", true, uint8(3))
	f.Add("b,d,ts\rtrue,1e3,2025-01-02 03:04:05.000006\r", true, uint8(0))
	f.Add("list,st,m\n\"[1,null]\",\"{\"\"x\"\":1}\",\"{\"\"k\"\":[0.5]}\"\n", true, uint8(9))
	f.Add("a,b\n1,2025-01-01\n1.5,x\n", false, uint8(1))
	f.Add("a\n\n\"\"\n", false, uint8(1))
	f.Add("\ufeffa,\"b\nc\"\n1,\"2", false, uint8(1))
	f.Fuzz(func(t *testing.T, text string, declared bool, size uint8) {
		opts := Options{Format: CSV}
		if declared {
			opts.Columns = fuzzColumns()
		}
		fuzzReader(t, text, opts, size)
	})
}

func FuzzJSONL(f *testing.F) {
	f.Add(`{"s":"a\u00e9\n","l":1,"n":1.5,"list":[1,null],"st":{"x":1},"m":{"k":[1e3]},"bin":"\\x00"}`, true, uint8(3))
	f.Add("{\"b\":true}\n\n{\"d\":\"NaN\",\"ts\":\"2025-01-02\",\"s\":[1, {}]}\n", true, uint8(0))
	f.Add(`{"m":[{"key":"a","value":[1]},{"value":null,"key":"b"}]}`, true, uint8(0))
	f.Add("{\"a\":1,\"b\":[{\"c\":null}]}\n{\"a\":2.5}\n{\"d\":\"2025-01-02\"}", false, uint8(1))
	f.Add(`{"a":{"b":{"c":[[]]}}}`, false, uint8(1))
	f.Fuzz(func(t *testing.T, text string, declared bool, size uint8) {
		opts := Options{Format: JSONL}
		if declared {
			opts.Columns = fuzzColumns()
		}
		fuzzReader(t, text, opts, size)
	})
}

// What is JSON is what the standard library takes for JSON, except that half a pair of \u escapes, a key twice and depth are errors
// here; and strings are read as it reads them.
func FuzzJSONValue(f *testing.F) {
	for _, s := range []string{`"a\ud83d\ude00\/"`, `[1,-0.5e+3,{"a":null}]`, ` true `, `01`, `[1,]`, `{"a":1,}`, `"\x"`, "\"\t\"", `-`, `1.e3`, `nul`, `[`, `"`, `"\`} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if !utf8.ValidString(text) {
			return
		}
		j := jsonText{b: []byte(text)}
		err := j.skip()
		if err == nil {
			err = j.end("the value")
		}
		if err != nil && (strings.Contains(err.msg, "half a pair") || strings.Contains(err.msg, "deeper")) {
			return
		}
		if valid := json.Valid([]byte(text)); valid != (err == nil) {
			t.Fatalf("%q: valid is %v, got %+v", text, valid, err)
		}
		var want string
		if json.Unmarshal([]byte(text), &want) == nil && strings.TrimSpace(text)[0] == '"' {
			j := jsonText{b: []byte(text)}
			j.space()
			if got, err := j.string(); err != nil || string(got) != want {
				t.Fatalf("%q: got %q %+v, want %q", text, got, err, want)
			}
		}
	})
}
