package tabledigest

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
)

// events is the shape of a table of events: two ids, a time, a word and a number.
func events(rows int) arrow.RecordBatch {
	s := arrow.NewSchema([]arrow.Field{
		{Name: "event_id", Type: arrow.BinaryTypes.String},
		{Name: "user_id", Type: arrow.PrimitiveTypes.Int64},
		{Name: "event_type", Type: arrow.BinaryTypes.String},
		{Name: "event_timestamp", Type: arrow.FixedWidthTypes.Timestamp_us},
		{Name: "amount", Type: arrow.PrimitiveTypes.Float64, Nullable: true},
	}, nil)
	b := array.NewRecordBuilder(memory.DefaultAllocator, s)
	defer b.Release()
	r := rand.New(rand.NewPCG(1, 2))
	words := []string{"login", "click", "purchase", "logout"}
	for range rows {
		b.Field(0).(*array.StringBuilder).Append(fmt.Sprintf("%016x%04x", r.Uint64(), r.Uint32()&0xffff))
		b.Field(1).(*array.Int64Builder).Append(r.Int64N(5000))
		b.Field(2).(*array.StringBuilder).Append(words[r.IntN(4)])
		b.Field(3).(*array.TimestampBuilder).Append(arrow.Timestamp(1_735_689_600_000_000 + r.Int64N(1<<40)))
		if r.IntN(10) == 0 {
			b.Field(4).AppendNull()
		} else {
			b.Field(4).(*array.Float64Builder).Append(r.Float64())
		}
	}
	return b.NewRecordBatch()
}

func BenchmarkBatch(b *testing.B) {
	const rows = 65_536
	batch := events(rows)
	defer batch.Release()
	h, err := New(batch.Schema())
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		h.Batch(batch)
	}
	b.ReportMetric(float64(rows)*float64(b.N)/b.Elapsed().Seconds()/1e6, "Mrow/s")
}
