package plain

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/compress"
	"github.com/apache/arrow-go/v18/parquet/pqarrow"
)

// Write is what a Go program does without a table format: one Parquet file a core, zstd level 1.
func Write(in *Input, dir string) (*Line, error) {
	props := parquet.NewWriterProperties(
		parquet.WithCompression(compress.Codecs.Zstd), parquet.WithCompressionLevel(1), parquet.WithMaxRowGroupLength(1<<20), parquet.WithStats(true))
	files := make([]*pqarrow.FileWriter, writers)
	c := Start()
	for i := range files {
		f, err := os.Create(filepath.Join(dir, fmt.Sprintf("%d.parquet", i)))
		if err != nil {
			return nil, err
		}
		if files[i], err = pqarrow.NewFileWriter(in.Schema, f, props, pqarrow.DefaultWriterProps()); err != nil {
			return nil, err
		}
	}
	if err := in.Each(func(i int, b arrow.RecordBatch) error { return files[i].WriteBuffered(b) }); err != nil {
		return nil, err
	}
	for _, f := range files {
		if err := f.Close(); err != nil {
			return nil, err
		}
	}
	return Finish(c, in, dir)
}

// Finish stops the clock and weighs the files.
func Finish(c Clock, in *Input, dir string) (*Line, error) {
	l := c.Stop(in.Rows)
	var err error
	l.MB, err = Size(dir)
	return l, err
}
