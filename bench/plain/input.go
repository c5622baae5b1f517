package plain

import (
	"os"
	"path/filepath"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/ipc"
)

// Input is the rows in memory.
type Input struct {
	Schema  *arrow.Schema
	Batches []arrow.RecordBatch
	Rows    int64
}

// Read reads an Arrow file.
func Read(file string) (*Input, error) {
	f, err := os.Open(filepath.Clean(file))
	if err != nil {
		return nil, err
	}
	defer f.Close()
	r, err := ipc.NewFileReader(f)
	if err != nil {
		return nil, err
	}
	in := &Input{Schema: r.Schema()}
	for i := range r.NumRecords() {
		b, err := r.RecordBatchAt(i)
		if err != nil {
			return nil, err
		}
		in.Batches = append(in.Batches, b)
		in.Rows += b.NumRows()
	}
	return in, nil
}

// Each hands the batches to two workers.
func (in *Input) Each(do func(worker int, b arrow.RecordBatch) error) error {
	work := make(chan arrow.RecordBatch)
	errs := make(chan error, writers)
	for i := range writers {
		go func() {
			var err error
			for b := range work {
				if err == nil {
					err = do(i, b)
				}
			}
			errs <- err
		}()
	}
	for _, b := range in.Batches {
		work <- b
	}
	close(work)
	var first error
	for range writers {
		if err := <-errs; first == nil {
			first = err
		}
	}
	return first
}

// writers is how many cores write.
const writers = 2

// Size gives the megabytes of the files below a folder.
func Size(dir string) (float64, error) {
	var n int64
	err := filepath.WalkDir(dir, func(_ string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		info, err := d.Info()
		if err == nil && filepath.Ext(d.Name()) == ".parquet" {
			n += info.Size()
		}
		return err
	})
	return float64(n) / (1 << 20), err
}
