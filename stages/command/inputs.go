package command

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"path/filepath"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/compress"
	"github.com/apache/arrow-go/v18/parquet/pqarrow"

	"pipe/internal/diag"
	"pipe/internal/textio"
	"pipe/stages"
)

// in is a table dep as the program sees it.
type in struct {
	table string
	path  string // a folder of Parquet files, or one file
	links []link
}

// link is one of the table's own files, lent to the program.
type link struct {
	file  string
	size  int64
	mtime time.Time
}

// offer puts every table dep into the scratch folder.
func offer(ctx context.Context, t *stages.Task) ([]in, error) {
	folder := filepath.Join(t.Scratch, "in")
	if len(t.Tables) > 0 {
		if err := os.MkdirAll(folder, 0o755); err != nil {
			return nil, err
		}
	}
	ins := make([]in, 0, len(t.Tables))
	for _, table := range t.Tables {
		x, err := offerTable(ctx, folder, table)
		if err != nil {
			var e *diag.Error
			if errors.As(err, &e) {
				return nil, err
			}
			return nil, fmt.Errorf("offer %s to the program: %w", table.Dep.Table, err)
		}
		ins = append(ins, x)
	}
	return ins, nil
}

func offerTable(ctx context.Context, folder string, table stages.TableIn) (in, error) {
	x := in{table: table.Dep.Table, path: filepath.Join(folder, VarName(table.Dep.Table))}
	switch table.Dep.Format {
	case "", "parquet":
		return offerParquet(ctx, x, table)
	case "arrow":
		x.path += ".arrow"
		return x, writeRows(ctx, x.path, table, writeArrow)
	case "csv":
		x.path += ".csv"
		return x, writeRows(ctx, x.path, table, textio.WriteCSV)
	case "jsonl":
		x.path += ".jsonl"
		return x, writeRows(ctx, x.path, table, textio.WriteJSONL)
	}
	return in{}, diag.Errorf(table.Dep.Pos, "unknown format %q of %s: expected parquet, arrow, csv or jsonl", table.Dep.Format, table.Dep.Table)
}

// offerParquet lends the table's own files where they are the rows, and writes the rows otherwise. There is always one file, so that
// a program finds the columns of an empty table.
func offerParquet(ctx context.Context, x in, table stages.TableIn) (in, error) {
	if err := os.Mkdir(x.path, 0o755); err != nil {
		return in{}, err
	}
	if len(table.Dep.Columns) == 0 && table.Files != nil {
		files, exact, err := table.Files(ctx)
		if err != nil {
			return in{}, err
		}
		if exact && len(files) > 0 {
			for i, f := range files {
				l, err := lend(f, filepath.Join(x.path, fmt.Sprintf("part-%05d.parquet", i)))
				if err != nil {
					return in{}, err
				}
				x.links = append(x.links, l)
			}
			return x, nil
		}
	}
	return x, writeRows(ctx, filepath.Join(x.path, "part-00000.parquet"), table, writeParquet)
}

// lend links a file of the table. Nobody ever writes such a file again, so it is made read-only for good: a hard link shares its mode.
func lend(file, as string) (link, error) {
	info, err := os.Stat(file)
	if err != nil {
		return link{}, err
	}
	l := link{file: file, size: info.Size(), mtime: info.ModTime()}
	if os.Link(file, as) == nil {
		if info.Mode().Perm()&0o222 != 0 {
			_ = os.Chmod(file, info.Mode().Perm()&^0o222) // a file of another user stays as it is
		}
		return l, nil
	}
	return l, os.Symlink(file, as) // another file system
}

// untouched finds out whether the program wrote into a file that it was lent; as root it can.
func untouched(ins []in) error {
	for _, x := range ins {
		for _, l := range x.links {
			info, err := os.Stat(l.file)
			if err == nil && info.Size() == l.size && info.ModTime().Equal(l.mtime) {
				continue
			}
			return &diag.Error{
				Exit: diag.Broken, Err: err,
				Msg:  fmt.Sprintf("the program changed a file of the table %s: %s", x.table, l.file),
				Hint: "restore the file from a copy; let the program write into PIPE_OUT_... only, or take the table as format: csv",
			}
		}
	}
	return nil
}

type rowWriter func(w io.Writer, s *arrow.Schema, rows iter.Seq2[arrow.RecordBatch, error]) error

func writeRows(ctx context.Context, path string, table stages.TableIn, write rowWriter) error {
	s, rows, err := table.Scan(ctx)
	if err != nil {
		return err
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return err
	}
	if err := write(f, s, rows); err != nil {
		f.Close()
		return err
	}
	return f.Close()
}

func writeArrow(w io.Writer, s *arrow.Schema, rows iter.Seq2[arrow.RecordBatch, error]) error {
	out, err := ipc.NewFileWriter(w, ipc.WithSchema(s))
	if err != nil {
		return err
	}
	for batch, err := range rows {
		if err != nil {
			return err
		}
		err = out.Write(batch)
		batch.Release()
		if err != nil {
			return err
		}
	}
	return out.Close()
}

func writeParquet(w io.Writer, s *arrow.Schema, rows iter.Seq2[arrow.RecordBatch, error]) error {
	props := parquet.NewWriterProperties(parquet.WithCompression(compress.Codecs.Snappy), parquet.WithAllocator(memory.DefaultAllocator))
	// The writer closes what it writes to; the file is closed by its owner.
	out, err := pqarrow.NewFileWriter(s, struct{ io.Writer }{w}, props, pqarrow.NewArrowWriterProperties(pqarrow.WithStoreSchema()))
	if err != nil {
		return err
	}
	for batch, err := range rows {
		if err != nil {
			return err
		}
		err = out.WriteBuffered(batch)
		batch.Release()
		if err != nil {
			return err
		}
		if out.RowGroupTotalBytesWritten() > rowGroupBytes {
			out.NewBufferedRowGroup()
		}
	}
	return out.Close()
}

const rowGroupBytes = 128 << 20
