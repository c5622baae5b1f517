package iceberg_test

import (
	"bytes"
	"crypto/rand"
	"database/sql"
	"encoding/json"
	"fmt"
	mathrand "math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/compress"
	"github.com/apache/arrow-go/v18/parquet/pqarrow"

	"pipe/sinks"
	"pipe/sinks/iceberg"
)

const (
	benchBatches = 16
	benchRows    = 1 << 16 // in a batch: about a million in all
)

// events makes the batches that the writers write: two keys, a word, a time and a text, as logs of events have.
func events(b testing.TB, s *arrow.Schema) []arrow.RecordBatch {
	b.Helper()
	r := mathrand.New(mathrand.NewPCG(1, 2))
	kinds := []string{"login", "click", "purchase", "logout"}
	out := make([]arrow.RecordBatch, benchBatches)
	for i := range out {
		rb := array.NewRecordBuilder(memory.DefaultAllocator, s)
		for j := range benchRows {
			rb.Field(0).(*array.StringBuilder).Append(fmt.Sprintf("%016x%016x", r.Uint64(), r.Uint64()))
			rb.Field(1).(*array.Int64Builder).Append(r.Int64N(4000) + 1000)
			rb.Field(2).(*array.StringBuilder).Append(kinds[r.IntN(4)])
			rb.Field(3).(*array.TimestampBuilder).Append(arrow.Timestamp(1735689600_000000 + int64(i*benchRows+j)*1000))
			rb.Field(4).(*array.StringBuilder).Append(fmt.Sprintf(`{"page":"/p/%d","amount":%d.%02d}`, r.IntN(1000), r.IntN(500), r.IntN(100)))
		}
		out[i] = rb.NewRecordBatch()
	}
	return out
}

func eventColumns(b testing.TB) sinks.Spec {
	return sinks.Spec{Table: "prod.events", Schema: columns(b, "event_id: string", "user_id: long", "event_type: string", "at: timestamp", "payload: string")}
}

// BenchmarkWrite compares a whole write, commit included, with the Parquet encoder alone under the settings of iceberg.md 2.6.
func BenchmarkWrite(b *testing.B) {
	spec := eventColumns(b)
	batches := events(b, sinks.ArrowSchema(spec.Schema))
	total := float64(benchBatches * benchRows)
	b.Run("tx", func(b *testing.B) {
		l := lake{root: b.TempDir()}
		c := l.open(b)
		var base sinks.SnapshotID
		for i := 0; b.Loop(); i++ {
			tx, err := c.Begin(b.Context(), spec, sinks.Base{Parent: base, Run: fmt.Sprint(i)})
			if err != nil {
				b.Fatal(err)
			}
			for _, x := range batches {
				if err := tx.Write(b.Context(), x); err != nil {
					b.Fatal(err)
				}
			}
			s, err := tx.Stage(b.Context(), stamp("r"))
			if err != nil {
				b.Fatal(err)
			}
			base = s.ID
		}
		b.ReportMetric(total*float64(b.N)/b.Elapsed().Seconds(), "rows/s")
	})
	b.Run("pqarrow", func(b *testing.B) {
		dir := b.TempDir()
		props := parquet.NewWriterProperties(
			parquet.WithCompression(compress.Codecs.Zstd), parquet.WithCompressionLevel(1), parquet.WithMaxRowGroupLength(1<<20), parquet.WithStats(true),
		)
		for b.Loop() {
			var wg sync.WaitGroup
			n := runtime.GOMAXPROCS(0)
			for w := range n {
				wg.Go(func() {
					f, err := os.Create(filepath.Join(dir, fmt.Sprint(w)))
					if err != nil {
						b.Error(err)
						return
					}
					pw, err := pqarrow.NewFileWriter(batches[0].Schema(), f, props, pqarrow.DefaultWriterProps())
					if err != nil {
						b.Error(err)
						return
					}
					for i := w; i < len(batches); i += n {
						if err := pw.WriteBuffered(batches[i]); err != nil {
							b.Error(err)
						}
					}
					if err := pw.Close(); err != nil {
						b.Error(err)
					}
				})
			}
			wg.Wait()
		}
		b.ReportMetric(total*float64(b.N)/b.Elapsed().Seconds(), "rows/s")
	})
}

// BenchmarkObserve is a run that finds nothing to do: one look at 10,000 tables by a process that was just started.
func BenchmarkObserve(b *testing.B) {
	const tables = 10_000
	l := lake{root: b.TempDir()}
	names := manyTables(b, l, tables)
	b.Run("first", func(b *testing.B) {
		for b.Loop() {
			if err := os.RemoveAll(l.options().CacheDir); err != nil {
				b.Fatal(err)
			}
			observeAll(b, l, names)
		}
	})
	b.Run("again", func(b *testing.B) {
		observeAll(b, l, names)
		for b.Loop() {
			observeAll(b, l, names)
		}
	})
}

func observeAll(b *testing.B, l lake, names []string) {
	b.Helper()
	c, err := iceberg.Open(b.Context(), l.options())
	if err != nil {
		b.Fatal(err)
	}
	got, err := c.Observe(b.Context(), names)
	if err != nil {
		b.Fatal(err)
	}
	if len(got) != len(names) || len(got[names[17]].Snapshots) != 1 {
		b.Fatalf("%d tables", len(got))
	}
	if err := c.Close(); err != nil {
		b.Fatal(err)
	}
}

// manyTables makes one table and copies its metadata under other names, since to commit ten thousand takes minutes.
func manyTables(b *testing.B, l lake, n int) []string {
	b.Helper()
	spec := eventColumns(b)
	s := stage(b, l.open(b), spec, sinks.Base{Run: "r"}, `{"event_id":"a","user_id":1,"event_type":"x","at":"2025-01-01 00:00:00","payload":""}`)
	if err := l.open(b).Publish(b.Context(), sinks.Publication{Ref: sinks.Main, Moves: []sinks.Move{{Table: spec.Table, To: s.ID}}}); err != nil {
		b.Fatal(err)
	}
	m, err := json.Marshal(l.metadata(b, spec.Table))
	if err != nil {
		b.Fatal(err)
	}
	db := l.db(b)
	tx, err := db.Begin()
	if err != nil {
		b.Fatal(err)
	}
	names := make([]string, n)
	uuid := fmt.Sprint(l.metadata(b, spec.Table)["table-uuid"])
	for i := range n {
		name := fmt.Sprintf("t%05d", i)
		names[i] = "many." + name
		dir := filepath.Join(l.warehouse(), "many", name)
		if err := os.MkdirAll(filepath.Join(dir, "metadata"), 0o755); err != nil {
			b.Fatal(err)
		}
		id := make([]byte, 16)
		_, _ = rand.Read(id)
		id[6], id[8] = id[6]&0x0f|0x40, id[8]&0x3f|0x80
		mine := fmt.Sprintf("%x-%x-%x-%x-%x", id[:4], id[4:6], id[6:8], id[8:10], id[10:])
		text := bytes.ReplaceAll(m, []byte(uuid), []byte(mine))
		text = bytes.ReplaceAll(text, []byte(filepath.Join(l.warehouse(), "prod", "events")), []byte(dir))
		path := filepath.Join(dir, "metadata", "00001-"+mine+".metadata.json")
		if err := os.WriteFile(path, text, 0o644); err != nil {
			b.Fatal(err)
		}
		insertTable(b, tx, name, "file://"+path)
	}
	if err := tx.Commit(); err != nil {
		b.Fatal(err)
	}
	return names
}

func insertTable(b *testing.B, tx *sql.Tx, name, location string) {
	b.Helper()
	const insert = `INSERT INTO iceberg_tables (catalog_name, table_namespace, table_name, iceberg_type, metadata_location) VALUES ('lake', 'many', ?, 'TABLE', ?)`
	if _, err := tx.Exec(insert, name, location); err != nil {
		b.Fatal(err)
	}
}

// TestMemoryIsBounded streams many rows and looks at the heap while they are written: not more than the encoders' row groups.
func TestMemoryIsBounded(t *testing.T) {
	l := newLake(t)
	spec := eventColumns(t)
	batches := events(t, sinks.ArrowSchema(spec.Schema))
	tx, err := l.open(t).Begin(t.Context(), spec, sinks.Base{Run: "r1"})
	if err != nil {
		t.Fatal(err)
	}
	runtime.GC()
	var before, now runtime.MemStats
	runtime.ReadMemStats(&before)
	most := uint64(0)
	for range 3 { // 3 M rows, 300 MB of values
		for _, b := range batches {
			if err := tx.Write(t.Context(), b); err != nil {
				t.Fatal(err)
			}
			runtime.ReadMemStats(&now)
			most = max(most, now.HeapInuse)
		}
	}
	if _, err := tx.Stage(t.Context(), stamp("r1")); err != nil {
		t.Fatal(err)
	}
	if grown := (most - min(most, before.HeapInuse)) >> 20; grown > 300 {
		t.Errorf("the heap grew by %d MB", grown)
	} else {
		t.Logf("the heap grew by %d MB", grown)
	}
}

// The library's own limit reads a whole file before it counts.
func TestLimitStopsEarly(t *testing.T) {
	l := newLake(t)
	c := l.open(t)
	spec := eventColumns(t)
	s, err := func() (sinks.Snapshot, error) {
		tx, err := c.Begin(t.Context(), spec, sinks.Base{Run: "r1"})
		if err != nil {
			return sinks.Snapshot{}, err
		}
		for _, b := range events(t, tx.Schema()) {
			if err := tx.Write(t.Context(), b); err != nil {
				return sinks.Snapshot{}, err
			}
		}
		return tx.Stage(t.Context(), stamp("r1"))
	}()
	if err != nil {
		t.Fatal(err)
	}
	took := func(limit int64) (time.Duration, int64) {
		start := time.Now()
		_, seq, err := c.Scan(t.Context(), sinks.Target{Table: spec.Table, Snapshot: s.ID}, sinks.ScanOptions{Limit: limit})
		if err != nil {
			t.Fatal(err)
		}
		n := int64(0)
		for b, err := range seq {
			if err != nil {
				t.Fatal(err)
			}
			n += b.NumRows()
			b.Release()
		}
		return time.Since(start), n
	}
	all, n := took(0)
	if n != benchBatches*benchRows {
		t.Errorf("%d rows", n)
	}
	few, n := took(10)
	if n != 10 {
		t.Errorf("%d rows with a limit of 10", n)
	}
	if few > all/2 {
		t.Errorf("ten rows took %v, all of them %v", few, all)
	}
}
