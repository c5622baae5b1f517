package textio

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"
	"testing/iotest"
	"unicode/utf16"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/google/go-cmp/cmp"
	"github.com/klauspost/compress/zstd"

	"pipe/internal/diag"
	"pipe/pipeline/schema"
)

// trips is the declared table of many tests.
func trips() schema.Schema {
	return schema.Schema{Fields: []schema.Field{
		{Name: "id", Type: schema.Type{Kind: schema.Long}, Required: true},
		{Name: "fare", Type: schema.Type{Kind: schema.Double}},
		{Name: "at", Type: schema.Type{Kind: schema.Timestamp}},
	}}
}

// rewritten reads a text and writes it as JSON lines, which shows both the values and the NULLs.
func rewritten(t *testing.T, text, name string, opts Options) (string, error) {
	t.Helper()
	s, list, err := readAll(t.Context(), text, name, opts)
	if err != nil {
		return "", err
	}
	var out bytes.Buffer
	if err := WriteJSONL(&out, s, batches(list...)); err != nil {
		t.Fatal(err)
	}
	return out.String(), nil
}

func TestReadCSV(t *testing.T) {
	text := func(names ...string) Options { return Options{Columns: columns(schema.String, names...)} }
	for _, row := range []struct {
		name, text string
		opts       Options
		want       string
	}{
		{"NULL is not the empty string", "a,b\n,\"\"\n", text("a", "b"), `{"a":null,"b":""}`},
		{"CRLF", "a,b\r\n1,2\r\n", text("a", "b"), `{"a":"1","b":"2"}`},
		{"CR", "a,b\r1,2\r", text("a", "b"), `{"a":"1","b":"2"}`},
		{"no last newline", "a,b\n1,2", text("a", "b"), `{"a":"1","b":"2"}`},
		{"no last newline, last field empty", "a,b\n1,", text("a", "b"), `{"a":"1","b":null}`},
		{"quotes, delimiters and newlines inside quotes", "a,b\n\"x\"\"y,\nz\",\"\"\"\"\n", text("a", "b"), `{"a":"x\"y,\nz","b":"\""}`},
		{"CRLF inside quotes is kept", "a,b\r\n\"x\r\ny\",\r\n", text("a", "b"), `{"a":"x\r\ny","b":null}`},
		{"blanks are kept", "a,b\n x , y\n", text("a", "b"), `{"a":" x ","b":" y"}`},
		{"blank lines", "\n\na,b\n\n1,2\n\n\n", text("a", "b"), `{"a":"1","b":"2"}`},
		{"blank lines of one column are NULL", "\na\n\nx\n\"\"\n", text("a"), "{\"a\":null}\n{\"a\":\"x\"}\n{\"a\":\"\"}"},
		{"blank lines of one column with CRLF", "a\r\nx\r\n\r\ny\r\n", text("a"), "{\"a\":\"x\"}\n{\"a\":null}\n{\"a\":\"y\"}"},
		{"byte order mark", "\ufeffa,b\n1,2\n", text("a", "b"), `{"a":"1","b":"2"}`},
		{"words for NULL, not in quotes", "a,b\nNA,\"NA\"\n,x\n", Options{Columns: columns(schema.String, "a", "b"), Null: []string{"NA"}}, "{\"a\":null,\"b\":\"NA\"}\n{\"a\":\"\",\"b\":\"x\"}"},
		{
			"words for NULL, in quotes too", "a,b\n\"NA\",\"\"\n",
			Options{Columns: columns(schema.String, "a", "b"), Null: []string{"NA", ""}, NullQuoted: true},
			`{"a":null,"b":null}`,
		},
		{"other delimiter and quote", "a;b\n'x;''y''';2\n", Options{Columns: columns(schema.String, "a", "b"), Delimiter: ';', Quote: '\''}, `{"a":"x;'y'","b":"2"}`},
		{"no quotes", "a,b\n5\" pipe,\"x\n", Options{Columns: columns(schema.String, "a", "b"), Quote: NoQuote}, `{"a":"5\" pipe","b":"\"x"}`},
		{"lines to skip, whatever is on them", "a \"title\r\nmore\na,b\n1,2\n", Options{Columns: columns(schema.String, "a", "b"), Skip: 2}, `{"a":"1","b":"2"}`},
		{"no header", "1,2\n3,4\n", Options{Columns: columns(schema.String, "a", "b"), NoHeader: true}, "{\"a\":\"1\",\"b\":\"2\"}\n{\"a\":\"3\",\"b\":\"4\"}"},
		{"no header, inferred", "1,x\n3,y\n", Options{NoHeader: true}, "{\"column1\":1,\"column2\":\"x\"}\n{\"column1\":3,\"column2\":\"y\"}"},
		{"no header, some declared", "1,2\n", Options{NoHeader: true, Columns: columns(schema.String, "a"), Infer: true}, `{"a":"1","column2":2}`},
		{"an optional column that the file lacks", "b\nx\n", text("a", "b"), `{"b":"x","a":null}`},
		{"some declared, others inferred", "zip,n\n00501,1\n", Options{Columns: columns(schema.Int, "zip"), Infer: true}, `{"zip":501,"n":1}`},
		{"a header alone", "a,b\n", text("a", "b"), ""},
		{"a header alone, without newline", "a,b", text("a", "b"), ""},
		{"nothing at all", "", text("a", "b"), ""},
		{"nested values as JSON", "a\n\"{\"\"x\"\":[1,null]}\"\n", Options{Columns: schema.Schema{Fields: []schema.Field{
			{Name: "a", Type: schema.Type{Kind: schema.Struct, Fields: []schema.Field{
				{Name: "x", Type: schema.Type{Kind: schema.List, Fields: []schema.Field{{Name: "element", Type: schema.Type{Kind: schema.Int}}}}},
			}}},
		}}}, `{"a":{"x":[1,null]}}`},
	} {
		t.Run(row.name, func(t *testing.T) {
			for _, size := range []int{1, 3, 1 << 20} {
				row.opts.chunk = size
				got, err := rewritten(t, row.text, "x.csv", row.opts)
				if err != nil {
					t.Fatalf("%v in chunks of %d bytes", err, size)
				}
				if d := cmp.Diff(row.want, strings.TrimSuffix(got, "\n")); d != "" {
					t.Errorf("in chunks of %d bytes: %s", size, d)
				}
			}
		})
	}
}

func TestReadJSONL(t *testing.T) {
	typ := func(k schema.Kind, f ...schema.Field) schema.Type { return schema.Type{Kind: k, Fields: f} }
	one := func(t schema.Type) Options {
		return Options{Columns: schema.Schema{Fields: []schema.Field{{Name: "a", Type: t}}}}
	}
	element := func(t schema.Type) schema.Field { return schema.Field{Name: "element", Type: t} }
	words := typ(schema.Map, schema.Field{Name: "key", Type: typ(schema.Long), Required: true}, schema.Field{Name: "value", Type: typ(schema.String)})
	pairs := typ(schema.Map, schema.Field{Name: "key", Type: typ(schema.List, element(typ(schema.Int))), Required: true}, schema.Field{Name: "value", Type: typ(schema.Int)})
	for _, row := range []struct {
		name, text string
		opts       Options
		want       string
	}{
		{"a missing key is NULL", "{}\n", one(typ(schema.Long)), `{"a":null}`},
		{"blank lines and blanks", "\n \t\r\n { \"a\" : 1 } \r\n\n", one(typ(schema.Long)), `{"a":1}`},
		{"keys in any order", "{\"b\":1,\"a\":2}\n{\"a\":3,\"b\":4}\n", Options{Columns: columns(schema.Long, "a", "b")}, "{\"a\":2,\"b\":1}\n{\"a\":3,\"b\":4}"},
		{"integers in full", `{"a":9223372036854775807}`, one(typ(schema.Long)), `{"a":9223372036854775807}`},
		{"integers with a zero fraction", `{"a":3.0}`, one(typ(schema.Long)), `{"a":3}`},
		{"a number as text", `{"a":"12"}`, one(typ(schema.Long)), `{"a":12}`},
		{"decimals in full", `{"a":12345678901234567890123456.789}`, one(schema.Type{Kind: schema.Decimal, Precision: 38, Scale: 3}), `{"a":"12345678901234567890123456.789"}`},
		{"infinity", `{"a":"-Infinity"}`, one(typ(schema.Double)), `{"a":"-Infinity"}`},
		{"escapes", `{"a":"\"\\\/\b\f\n\r\t\u00e9\ud83d\ude00\u0000"}`, one(typ(schema.String)), `{"a":"\"\\/\u0008\u000c\n\r\té😀\u0000"}`},
		{"a key with escapes", `{"\u0061":1}`, one(typ(schema.Long)), `{"a":1}`},
		{"any value as text", "{\"a\":[1, {\"x\":null}]}\n{\"a\":1.50}\n{\"a\":true}\n{\"a\":null}\n", one(typ(schema.String)), "{\"a\":\"[1, {\\\"x\\\":null}]\"}\n{\"a\":\"1.50\"}\n{\"a\":\"true\"}\n{\"a\":null}"},
		{"words for NULL", `{"a":"NA"}`, Options{Columns: columns(schema.Long, "a"), Null: []string{"NA"}}, `{"a":null}`},
		{"a map with keys of numbers", `{"a":{"1":"x","2":null}}`, one(words), `{"a":{"1":"x","2":null}}`},
		{"a map as a list of entries", `{"a":[{"key":1,"value":"x"},{"value":null,"key":2}]}`, one(words), `{"a":{"1":"x","2":null}}`},
		{"a map with keys of lists", `{"a":[{"key":[1],"value":5}]}`, one(pairs), `{"a":[{"key":[1],"value":5}]}`},
		{"byte order mark", "\ufeff{\"a\":1}\n", one(typ(schema.Long)), `{"a":1}`},
		{"no bytes", "", one(typ(schema.Long)), ""},
	} {
		t.Run(row.name, func(t *testing.T) {
			for _, size := range []int{1, 3, 1 << 20} {
				row.opts.chunk = size
				got, err := rewritten(t, row.text, "x.jsonl", row.opts)
				if err != nil {
					t.Fatalf("%v in chunks of %d bytes", err, size)
				}
				if d := cmp.Diff(row.want, strings.TrimSuffix(got, "\n")); d != "" {
					t.Errorf("in chunks of %d bytes: %s", size, d)
				}
			}
		})
	}
}

// Every mistake is told with its place, the value and what was expected.
func TestMistakes(t *testing.T) {
	declared := Options{Columns: trips()}
	for _, row := range []struct {
		name, file, text string
		opts             Options
		want             []string
	}{
		{"values", "t.csv", "id,fare,at\n1,\"12,5\",\n,1,\nx,2,2025-02-30 00:00:00\n9999999999999999999,1e999,2025-01-02 03:04:05.1234567\n1,1,2025-01-02T00:00:00Z\n", declared, []string{
			`t.csv:2:4: column 2 ("fare"): expected double, got "12,5"`,
			`t.csv:3:1: column 1 ("id") is required: expected long, got NULL`,
			`t.csv:4:1: column 1 ("id"): expected long, got "x"`,
			`t.csv:4:5: column 3 ("at"): expected timestamp, got "2025-02-30 00:00:00": there is no such day`,
			`t.csv:5:1: column 1 ("id"): expected long, got "9999999999999999999": it is out of range`,
			`t.csv:5:21: column 2 ("fare"): expected double, got "1e999": it is out of range`,
			`t.csv:5:27: column 3 ("at"): expected timestamp, got "2025-01-02 03:04:05.1234567": it is finer than a microsecond`,
			`t.csv:6:5: column 3 ("at"): expected timestamp, got "2025-01-02T00:00:00Z": it has a zone`,
		}},
		{"lines inside quotes count, columns are characters", "t.csv", "id,fare,at\n\"1\",\"\n\",\n", Options{Columns: columns(schema.Long, "id", "fare", "at")}, []string{
			`t.csv:2:6: column 2 ("fare"): expected long, got "\n"`,
		}},
		{"columns are characters", "t.csv", "a,b\néé,x\n", Options{Columns: schema.Schema{Fields: []schema.Field{
			{Name: "a", Type: schema.Type{Kind: schema.String}},
			{Name: "b", Type: schema.Type{Kind: schema.Long}},
		}}}, []string{`t.csv:2:4: column 2 ("b"): expected long, got "x"`}},
		{"names", "t.csv", "id,fair,at,id\n", declared, []string{
			`t.csv:1:4: expected one of "id", "fare", "at", got the column "fair"`,
			`t.csv:1:12: the name "id" stands twice: columns 1 and 4`,
		}},
		{"no name", "t.csv", "a,,b\n", Options{}, []string{`t.csv:1:3: column 2 has no name`}},
		{"a required column is not there", "t.csv", "fare\n", declared, []string{`t.csv: expected a column "id", and the file has none`}},
		{"a column with a declared type is not there", "t.csv", "a\n", Options{Columns: columns(schema.Long, "b"), Infer: true}, []string{`t.csv: expected a column "b", and the file has none`}},
		{"ragged, a quote in a field", "t.csv", "id,fare,at\n1,2\n1,2,3,4\n\n1,a\"b,\n", declared, []string{
			`t.csv:2:4: expected 3 fields as in the header, got 2 fields`,
			`t.csv:3:7: expected 3 fields as in the header, got 4 fields`,
			`t.csv:5:4: a quote inside a field that does not start with one (field 2)`,
		}},
		{"ragged without a header", "t.csv", "1,2\n3\n", Options{NoHeader: true}, []string{`t.csv:2:2: expected 2 fields as in the first record, got 1 field`}},
		{"text after a quote", "t.csv", "id,fare,at\n1,\"2\"x,\n", declared, []string{`t.csv:2:6: expected ',' or the end of the line after a closing quote, got 'x' (field 2)`}},
		{"a quote that is never closed", "t.csv", "id,fare,at\n1,\"2,\n3,4,5\n", declared, []string{`t.csv:2:3: a quote is opened here and never closed`}},
		{"an empty field in quotes", "t.csv", "id,fare,at\n1,\"\",\n", declared, []string{`t.csv:2:4: column 2 ("fare"): expected double, got an empty field in quotes`}},
		{"an empty field where another word is NULL", "t.csv", "id,fare,at\n1,,NA\n", Options{Columns: trips(), Null: []string{"NA"}}, []string{`t.csv:2:3: column 2 ("fare"): expected double, got an empty field`}},
		{"no header", "t.csv", "", Options{}, []string{`t.csv: expected a header, and the file is empty`}},
		{"nested", "t.csv", "l\n\"[1,\"\"x\"\"]\"\n", Options{Columns: schema.Schema{Fields: []schema.Field{
			{Name: "l", Type: schema.Type{Kind: schema.List, Fields: []schema.Field{{Name: "element", Type: schema.Type{Kind: schema.Int}}}}},
		}}}, []string{`t.csv:2:2: column 1 ("l"): column "l.element": expected int, got the text "x"`}},
		{"not UTF-8", "t.csv", "a\nab\xe9\n", Options{}, []string{"t.csv:2:3: expected UTF-8, got the byte 0xe9 (byte 3 of the line)"}},
		{"NUL", "t.csv", "a\nb\n\x00\n", Options{}, []string{"t.csv:3:1: a NUL byte"}},
		{"packed without its name", "t.csv", "\x1f\x8b\x08", Options{}, []string{"t.csv: expected text as UTF-8, but it is packed with gzip"}},
		{"a name that is not true", "t.csv.zst", "a,b\n", Options{}, []string{"t.csv.zst: expected zstd data, as the name says: invalid input: magic number mismatch"}},
		{"no format", "t.xlsx", "", Options{}, []string{"t.xlsx: expected csv or jsonl, and the name says neither"}},
		{"objects", "t.jsonl", `{"id":1,"fare":"x","at":5}
{"fare":1}
{"id":null}
{"id":1,"farr":2}
{"id":1,"id":2}
{"id":1.5}
{"id":[]}
{"id":1} x
`, declared, []string{
			`t.jsonl:1:16: column "fare": expected double, got the text "x"`,
			`t.jsonl:2:1: column "id": it is required, and the object lacks it`,
			`t.jsonl:3:7: column "id": it is required: expected long, got NULL`,
			`t.jsonl:4:9: expected one of "id", "fare", "at", got "farr"`,
			`t.jsonl:5:9: the key "id" stands twice in one object`,
			`t.jsonl:6:7: column "id": expected long, got 1.5`,
			`t.jsonl:7:7: column "id": expected long, got a list`,
			`t.jsonl:8:10: expected nothing after the object, got 'x'`,
		}},
		{"no JSON", "t.jsonl", "{\"a\":tru}\n{\"a\":\"\\ud800\"}\n{\"a\":\"\\q\"}\n{\"a\":\"x\ty\"}\n{\"a\":\"x}\n{\"a\":01}\n{\"a\":1.}\n{a:1}\n{\"a\" 1}\n[1]\n", Options{}, []string{
			`t.jsonl:1:6: expected a value: text in quotes, a number, true, false, null, a list or an object`,
			`t.jsonl:2:7: half a pair of \u escapes: no character is written so`,
			`t.jsonl:3:7: expected an escape that JSON has, got \q`,
			`t.jsonl:4:8: expected text without control characters, got byte 0x09; write it as \u0009`,
			`t.jsonl:5:6: a quote is opened here and not closed on its line`,
			`t.jsonl:6:6: expected a number as JSON has it: digits without leading zeros`,
			`t.jsonl:7:8: expected a digit after the point, got '}'`,
			`t.jsonl:8:2: expected a key in quotes, got 'a'`,
			`t.jsonl:9:6: expected a colon after the key, got '1'`,
			`t.jsonl:10:1: expected an object, got '['`,
		}},
		{"a key twice in what is inferred", "t.jsonl", `{"a":{"x":1,"x":2}}`, Options{}, []string{`t.jsonl:1:13: the key "x" stands twice in one object`}},
		{"a key without a name", "t.jsonl", `{"":1}`, Options{}, []string{`t.jsonl:1:2: a key without a name cannot be a column`}},
		{"no end", "t.jsonl", "{\"a\":1\n{\"a\":\n{\n", Options{Columns: columns(schema.Long, "a")}, []string{
			`t.jsonl:1:7: expected a comma or }, got the end of the text`,
			`t.jsonl:2:6: expected a value, got the end of the text`,
			`t.jsonl:3:2: expected a key in quotes, got the end of the text`,
		}},
		{"mixed types", "t.jsonl", "{\"a\":1}\n{\"a\":\"x\",\"b\":{\"c\":[1,{}]}}\n", Options{}, []string{
			`t.jsonl:2:6: column "a": text here, a number in line 1; no type keeps both as they are`,
			`t.jsonl:2:22: column "b.c.element": an object here, a number in line 2; no type keeps both as they are`,
		}},
		{"numbers that no type keeps", "t.jsonl", "{\"a\":12345678901234567890}\n", Options{}, []string{`t.jsonl:1:6: column "a": numbers of which neither long nor double keeps every digit, from this line on`}},
		{"nothing to infer from", "t.jsonl", "\n", Options{}, []string{`t.jsonl: expected rows to infer columns from, got none`}},
		{"a map with a key twice", "t.jsonl", `{"a":{"x":1,"x":2}}`, Options{Columns: schema.Schema{Fields: []schema.Field{{Name: "a", Type: schema.Type{Kind: schema.Map, Fields: []schema.Field{
			{Name: "key", Type: schema.Type{Kind: schema.String}, Required: true},
			{Name: "value", Type: schema.Type{Kind: schema.Int}},
		}}}}}}, []string{`t.jsonl:1:13: the key "x" stands twice in one map`}},
		{"too deep", "t.jsonl", `{"a":` + strings.Repeat("[", 200), Options{}, []string{`t.jsonl:1:105: values are nested deeper than 100`}},
	} {
		t.Run(row.name, func(t *testing.T) {
			for _, size := range []int{1, 1 << 20} {
				row.opts.chunk, row.opts.Threads = size, 2
				_, err := rewritten(t, row.text, row.file, row.opts)
				var got []string
				for _, e := range diag.All(err) {
					got = append(got, e.Error())
				}
				want := row.want
				if size == 1 && len(got) > 0 && len(got) < len(want) {
					want = want[:len(got)] // a chunk is a record here, and the first with mistakes ends the reading
				}
				if d := cmp.Diff(want, got); d != "" {
					t.Errorf("in chunks of %d bytes: %s", size, d)
				}
			}
		})
	}
}

func TestPackedAndEncoded(t *testing.T) {
	const text = "a,b\n1,é😀\n"
	var gz bytes.Buffer
	z := gzip.NewWriter(&gz)
	io.WriteString(z, text[:3])
	z.Close()
	z.Reset(&gz) // a second member, as appending to a .gz makes
	io.WriteString(z, text[3:])
	z.Close()
	packer, err := zstd.NewWriter(nil)
	if err != nil {
		t.Fatal(err)
	}
	zst := packer.EncodeAll([]byte(text), nil)
	var little, big bytes.Buffer
	for _, u := range append([]uint16{0xfeff}, utf16.Encode([]rune(text))...) {
		little.Write([]byte{byte(u), byte(u >> 8)})
		big.Write([]byte{byte(u >> 8), byte(u)})
	}
	for name, row := range map[string]struct {
		file, text string
	}{
		"plain":                {"x.csv", text},
		"gzip":                 {"x.csv.gz", gz.String()},
		"zstd":                 {"x.CSV.ZST", string(zst)},
		"UTF-16 little-endian": {"x.csv", little.String()},
		"UTF-16 big-endian":    {"x.csv", big.String()},
	} {
		t.Run(name, func(t *testing.T) {
			// One byte a time, and no way back: what is inferred needs a copy.
			r, err := Open(t.Context(), iotest.OneByteReader(strings.NewReader(row.text)), row.file, Options{Format: CSV, Scratch: t.TempDir()})
			if err != nil {
				t.Fatal(err)
			}
			defer r.Close()
			b, err := r.Next()
			if err != nil {
				t.Fatal(err)
			}
			var out bytes.Buffer
			if err := WriteCSV(&out, r.Schema(), batches(b)); err != nil || out.String() != text {
				t.Errorf("got %q, %v", out.String(), err)
			}
		})
	}
	for name, row := range map[string]struct{ file, text, want string }{
		"gzip that ends early":            {"x.csv.gz", gz.String()[:gz.Len()-4], "x.csv.gz: expected gzip data, as the name says: unexpected EOF"},
		"zstd that ends early":            {"x.csv.zst", string(zst[:len(zst)-2]), "x.csv.zst: expected zstd data, as the name says: unexpected EOF"},
		"UTF-16 that ends early":          {"x.csv", little.String()[:little.Len()-1], "x.csv: expected text as UTF-8, but its UTF-16 ends in the middle of a character"},
		"half a pair in UTF-16":           {"x.csv", "\xff\xfe\x3d\xd8a\x00", "x.csv: expected text as UTF-8, but half a UTF-16 pair stands at byte 3"},
		"half a pair at the UTF-16's end": {"x.csv", "\xff\xfe\x3d\xd8", "x.csv: expected text as UTF-8, but half a UTF-16 pair stands at byte 3"},
		"UTF-32":                          {"x.csv", "\xff\xfe\x00\x00a\x00\x00\x00", "x.csv: expected text as UTF-8, but it is UTF-32"},
	} {
		t.Run(name, func(t *testing.T) {
			if _, _, err := readAll(t.Context(), row.text, row.file, Options{}); err == nil || err.Error() != row.want || diag.ExitOf(err) != diag.Failed {
				t.Errorf("got %v, want %s", err, row.want)
			}
		})
	}
}

// An input that breaks off is an error, not the end of the table, even where the error is the one that io has for it.
func TestInputThatBreaksOff(t *testing.T) {
	for _, cause := range []error{io.ErrUnexpectedEOF, errors.New("connection reset")} {
		for _, opts := range []Options{{Columns: columns(schema.Long, "a")}, {}} {
			in := io.MultiReader(strings.NewReader("a\n1\n2\n"), iotest.ErrReader(cause))
			rows := int64(0)
			r, err := Open(t.Context(), in, "x.csv", opts)
			for err == nil {
				var b arrow.RecordBatch
				if b, err = r.Next(); err == nil {
					rows += b.NumRows()
				}
			}
			if !errors.Is(err, cause) {
				t.Errorf("%v: got %v after %d rows", cause, err, rows)
			}
		}
	}
}

// An input that goes on after an error is not read on: rows may be missing in between.
func TestInputThatBreaksOffAndGoesOn(t *testing.T) {
	in := iotest.TimeoutReader(strings.NewReader("a\n" + strings.Repeat("1\n", 100_000)))
	r, err := Open(t.Context(), in, "x.csv", Options{Columns: columns(schema.Long, "a"), chunk: 1000, Threads: 4})
	for range 1000 {
		if err != nil {
			break
		}
		_, err = r.Next()
	}
	if !errors.Is(err, iotest.ErrTimeout) {
		t.Errorf("got %v", err)
	}
}

// An input that cannot be read twice is copied, into a file of the scratch folder where it is big, and the file goes away.
func TestCopyOfWhatCannotBeReadTwice(t *testing.T) {
	dir := t.TempDir()
	text := "a,b\n" + strings.Repeat("1,x\n", 1000)
	r, err := Open(t.Context(), iotest.HalfReader(strings.NewReader(text)), "x.csv", Options{Scratch: dir, memory: 100})
	if err != nil {
		t.Fatal(err)
	}
	if files, err := os.ReadDir(dir); err != nil || len(files) != 1 {
		t.Errorf("files in scratch: %v, %v", files, err)
	}
	b, err := r.Next()
	if err != nil || b.NumRows() != 1000 || b.Column(0).DataType().ID() != arrow.INT64 {
		t.Errorf("got %v, %v", b, err)
	}
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := r.Next(); err == nil || errors.Is(err, io.EOF) {
		t.Errorf("after Close: %v", err)
	}
	if files, err := os.ReadDir(dir); err != nil || len(files) != 0 {
		t.Errorf("left in scratch: %v, %v", files, err)
	}
}

// A quote that is never closed ends the reading long before it fills the memory; a long record does not.
func TestRecordsThatDoNotEnd(t *testing.T) {
	opts := Options{Columns: columns(schema.String, "a", "b"), chunk: 16, record: 1000}
	endless := "a,b\n1,2\n3,\"" + strings.Repeat("x\n", 10_000)
	_, _, err := readAll(t.Context(), endless, "x.csv", opts)
	if err == nil || err.Error() != "x.csv:3:1: the record that starts here is longer than 1000 bytes" {
		t.Errorf("got %v", err)
	}
	_, _, err = readAll(t.Context(), `{"a":"`+strings.Repeat("x", 10_000)+`"}`, "x.jsonl", opts)
	if err == nil || err.Error() != "x.jsonl:1:1: the record that starts here is longer than 1000 bytes" {
		t.Errorf("got %v", err)
	}
	long := strings.Repeat("x\n", 400)
	got, err := rewritten(t, "a,b\n1,\""+long+"\"\n", "x.csv", opts)
	if want := `{"a":"1","b":"` + strings.ReplaceAll(long, "\n", `\n`) + "\"}\n"; err != nil || got != want {
		t.Errorf("got %q, %v", got, err)
	}
}

func TestCancelledRead(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	r, err := Open(ctx, strings.NewReader("a\n1\n2\n3\n4\n5\n6\n7\n8\n"), "x.csv", Options{Columns: columns(schema.Long, "a"), chunk: 1, Threads: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if _, err := r.Next(); err != nil {
		t.Fatal(err)
	}
	cancel()
	if _, err := r.Next(); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

// The rows before a chunk with a mistake are given, in order, then the mistake, again and again; none of its own rows.
func TestRowsBeforeAMistake(t *testing.T) {
	var text strings.Builder
	text.WriteString("a\n")
	for i := range 1000 {
		fmt.Fprintln(&text, i)
	}
	text.WriteString("x\n1\n")
	r, err := Open(t.Context(), strings.NewReader(text.String()), "x.csv", Options{Columns: columns(schema.Long, "a"), chunk: 50, Threads: 3, BatchRows: 7})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	want, most := int64(0), int64(0)
	for {
		b, err := r.Next()
		if err != nil {
			_, again := r.Next()
			if again == nil || again.Error() != err.Error() || err.Error() != `x.csv:1002:1: column 1 ("a"): expected long, got "x"` {
				t.Errorf("got %v, then %v", err, again)
			}
			break
		}
		for _, v := range b.Column(0).(interface{ Int64Values() []int64 }).Int64Values() {
			if v != want {
				t.Fatalf("got %d, want %d", v, want)
			}
			want++
		}
		most = max(most, b.NumRows())
		b.Release()
	}
	if want < 980 || want > 1000 || most > 7 {
		t.Errorf("%d rows, %d at once", want, most)
	}
}

func TestOptionsThatCannotBe(t *testing.T) {
	for name, opts := range map[string]Options{
		"delimiter of two bytes": {Delimiter: '¦'},
		"newline as delimiter":   {Delimiter: '\n'},
		"no delimiter":           {Delimiter: NoQuote},
		"delimiter as quote":     {Delimiter: '"'},
		"quote of two bytes":     {Quote: '«'},
	} {
		if _, err := Open(t.Context(), strings.NewReader(""), "x.csv", opts); diag.ExitOf(err) != diag.Usage {
			t.Errorf("%s: got %v", name, err)
		}
	}
}

func TestFormatOf(t *testing.T) {
	for name, want := range map[string]Format{
		"a.csv": CSV, "a.CSV.GZ": CSV, "a.tsv.zst": CSV, "dir.jsonl/a.csv": CSV, "a.jsonl": JSONL, "a.ndjson.gz": JSONL,
		"a.json": "", "a.csv.bak": "", "csv": "", "": "", "a.gz": "", "a.parquet": "",
	} {
		if got := FormatOf(name); got != want {
			t.Errorf("%s: got %q, want %q", name, got, want)
		}
	}
}
