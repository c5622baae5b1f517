package textio

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"

	"pipe/pipeline/schema"
)

func benchSchema() schema.Schema {
	col := func(name string, k schema.Kind) schema.Field {
		return schema.Field{Name: name, Type: schema.Type{Kind: k}}
	}
	return schema.Schema{Fields: []schema.Field{
		col("event_id", schema.UUID), col("user_id", schema.Long), col("event_type", schema.String), col("at", schema.Timestamp), col("amount", schema.Double),
	}}
}

// benchText is a file of events in CSV, about 100 bytes a row.
func benchText(rows int) []byte {
	var b bytes.Buffer
	r := rand.New(rand.NewPCG(1, 2))
	words := []string{"login", "click", "purchase", `"log, out"`}
	b.WriteString("event_id,user_id,event_type,at,amount\n")
	for range rows {
		fmt.Fprintf(&b, "%08x-%04x-%04x-%04x-%012x,%d,%s,2025-%02d-%02d %02d:%02d:%02d.%06d,%.2f\n",
			r.Uint32(), r.Uint32()&0xffff, r.Uint32()&0xffff, r.Uint32()&0xffff, r.Uint64()&0xffffffffffff, r.IntN(5000), words[r.IntN(4)],
			1+r.IntN(12), 1+r.IntN(28), r.IntN(24), r.IntN(60), r.IntN(60), r.IntN(1_000_000), r.Float64()*500)
	}
	return b.Bytes()
}

func drain(b *testing.B, text []byte, name string, opts Options) []arrow.RecordBatch {
	r, err := Open(b.Context(), bytes.NewReader(text), name, opts)
	if err != nil {
		b.Fatal(err)
	}
	defer r.Close()
	var out []arrow.RecordBatch
	for {
		batch, err := r.Next()
		if errors.Is(err, io.EOF) {
			return out
		}
		if err != nil {
			b.Fatal(err)
		}
		out = append(out, batch)
	}
}

func BenchmarkRead(b *testing.B) {
	text := benchText(500_000)
	list := drain(b, text, "x.csv", Options{Columns: benchSchema()})
	var lines bytes.Buffer
	if err := WriteJSONL(&lines, list[0].Schema(), batches(list...)); err != nil {
		b.Fatal(err)
	}
	for name, row := range map[string]struct {
		text []byte
		file string
		opts Options
	}{
		"csv declared":   {text, "x.csv", Options{Columns: benchSchema()}},
		"csv inferred":   {text, "x.csv", Options{}},
		"jsonl declared": {lines.Bytes(), "x.jsonl", Options{Columns: benchSchema()}},
		"jsonl inferred": {lines.Bytes(), "x.jsonl", Options{}},
	} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(row.text)))
			for b.Loop() {
				for _, batch := range drain(b, row.text, row.file, row.opts) {
					batch.Release()
				}
			}
		})
	}
}

func BenchmarkWrite(b *testing.B) {
	list := drain(b, benchText(500_000), "x.csv", Options{Columns: benchSchema()})
	for name, write := range map[string]func(w io.Writer) error{
		"csv":   func(w io.Writer) error { return WriteCSV(w, list[0].Schema(), batches(list...)) },
		"jsonl": func(w io.Writer) error { return WriteJSONL(w, list[0].Schema(), batches(list...)) },
	} {
		b.Run(name, func(b *testing.B) {
			var n counter
			for b.Loop() {
				n = 0
				if err := write(&n); err != nil {
					b.Fatal(err)
				}
			}
			b.SetBytes(int64(n))
		})
	}
}

type counter int64

func (c *counter) Write(p []byte) (int, error) {
	*c += counter(len(p))
	return len(p), nil
}
