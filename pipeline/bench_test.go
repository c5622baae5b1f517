package pipeline_test

import (
	"fmt"
	"strings"
	"testing"
	"testing/fstest"

	"pipe/pipeline"
)

// many is a project of n stages of about 380 bytes each, in chains of ten, half of them over tables.
func many(n int) fstest.MapFS {
	var b strings.Builder
	b.WriteString("stages:\n")
	for i := range n {
		fmt.Fprintf(&b, "  stage_%05d:\n    desc: one of many stages that clean a part of the data\n", i)
		fmt.Fprintf(&b, "    cmd: python src/clean.py --part %d --rate ${train.rate} --out data/clean_%05d.csv\n", i, i)
		fmt.Fprintf(&b, "    deps:\n      - src/clean.py\n      - data/raw_%05d.csv\n", i)
		if i%10 != 0 && i%2 == 0 {
			fmt.Fprintf(&b, "      - data/clean_%05d.csv\n", i-1)
		} else if i%10 != 0 {
			fmt.Fprintf(&b, "      - {table: prod.part_%05d, format: csv}\n", i-1)
		}
		b.WriteString("    params:\n      - train.rate\n      - train.epochs\n    outs:\n")
		if i%2 == 0 {
			fmt.Fprintf(&b, "      - {table: prod.part_%05d, mode: append, schema: {id: long required, name: string}}\n", i)
		} else {
			fmt.Fprintf(&b, "      - data/clean_%05d.csv\n", i)
		}
	}
	return fstest.MapFS{
		"pipeline.yaml": {Data: []byte(b.String())},
		"params.yaml":   {Data: []byte("train: {rate: 1e-4, epochs: 20}\n")},
	}
}

func BenchmarkLoad(b *testing.B) {
	for _, n := range []int{100, 1_000, 10_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			fsys := many(n)
			b.SetBytes(int64(len(fsys["pipeline.yaml"].Data)))
			b.ReportAllocs()
			for b.Loop() {
				if _, err := pipeline.Load(fsys, "pipeline.yaml"); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
