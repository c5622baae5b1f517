package textio

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"iter"
	"unicode/utf8"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
)

const flushBytes = 256 << 10

// WriteCSV writes rows as CSV: a header, LF at the end of each line, NULL as the empty field, the empty string as "", quotes only
// where they are needed. It releases the batches. What CSV cannot hold (a NUL byte, text that is not UTF-8, no columns) is an error
// that names the column and the row, counted from 1. After an error part of the rows may have been written.
func WriteCSV(w io.Writer, s *arrow.Schema, rows iter.Seq2[arrow.RecordBatch, error]) error {
	if s.NumFields() == 0 {
		return errors.New("write CSV: there are no columns")
	}
	var head []byte
	for i, f := range s.Fields() {
		if i > 0 {
			head = append(head, ',')
		}
		if bytes.IndexByte([]byte(f.Name), 0) >= 0 || !utf8.ValidString(f.Name) {
			return fmt.Errorf("write CSV: column %q: a name that CSV cannot hold", f.Name)
		}
		head = appendField(head, []byte(f.Name))
	}
	return write(w, append(head, '\n'), rows, csvFields, func(dst []byte, fields []fieldWriter, row int) ([]byte, int, error) {
		var err error
		for i, f := range fields {
			if i > 0 {
				dst = append(dst, ',')
			}
			if f.array.IsNull(row) {
				continue
			}
			if dst, err = f.write(dst, row); err != nil {
				return dst, i, err
			}
		}
		return dst, 0, nil
	})
}

// WriteJSONL writes rows as JSON objects, one a line, with every column in the schema's order and NULL as null. It releases the
// batches. Text that is not UTF-8 is an error that names the column and the row, counted from 1.
func WriteJSONL(w io.Writer, s *arrow.Schema, rows iter.Seq2[arrow.RecordBatch, error]) error {
	keys := make([][]byte, s.NumFields())
	for i, f := range s.Fields() {
		if !utf8.ValidString(f.Name) {
			return fmt.Errorf("write JSON: column %q: %w", f.Name, errNotUTF8)
		}
		keys[i] = append(appendJSONString([]byte{','}, []byte(f.Name)), ':')
	}
	if len(keys) > 0 {
		keys[0][0] = '{'
	}
	return write(w, nil, rows, jsonOf, func(dst []byte, fields []fieldWriter, row int) ([]byte, int, error) {
		if len(fields) == 0 {
			return append(dst, '{', '}'), 0, nil
		}
		var err error
		for i, f := range fields {
			if dst, err = f.write(append(dst, keys[i]...), row); err != nil {
				return dst, i, err
			}
		}
		return append(dst, '}'), 0, nil
	})
}

// fieldWriter writes one column of a batch.
type fieldWriter struct {
	array arrow.Array
	write writeFunc
}

// write is what both formats share. line appends a row, and says which column an error is of.
func write(w io.Writer, head []byte, rows iter.Seq2[arrow.RecordBatch, error], of func(arrow.Array) (writeFunc, error),
	line func(dst []byte, fields []fieldWriter, row int) ([]byte, int, error),
) error {
	buf, done := head, int64(0)
	batch := func(b arrow.RecordBatch) error {
		defer b.Release()
		fields := make([]fieldWriter, b.NumCols())
		for i := range fields {
			f, err := of(b.Column(i))
			if err != nil {
				return fmt.Errorf("write column %q: %w", b.ColumnName(i), err)
			}
			fields[i] = fieldWriter{b.Column(i), f}
		}
		for row := range int(b.NumRows()) {
			var err error
			var column int
			if buf, column, err = line(buf, fields, row); err != nil {
				return fmt.Errorf("write column %q, row %d: %w", b.ColumnName(column), done+int64(row)+1, err)
			}
			if buf = append(buf, '\n'); len(buf) >= flushBytes {
				if _, err := w.Write(buf); err != nil {
					return err
				}
				buf = buf[:0]
			}
		}
		done += b.NumRows()
		return nil
	}
	for b, err := range rows {
		if err != nil {
			return err
		}
		if err := batch(b); err != nil {
			return err
		}
	}
	_, err := w.Write(buf)
	return err
}

// csvFields gives how an array's values are written as fields: text where it needs quotes is quoted, nested values are JSON.
func csvFields(a arrow.Array) (writeFunc, error) {
	f, err := textOf(a)
	if err != nil {
		if f, err = jsonOf(a); err != nil {
			return nil, err
		}
	}
	switch values := a; values.DataType().ID() {
	case arrow.STRING, arrow.LARGE_STRING, arrow.STRING_VIEW, arrow.DICTIONARY, arrow.LIST, arrow.LARGE_LIST, arrow.FIXED_SIZE_LIST,
		arrow.MAP, arrow.STRUCT:
	default:
		return f, nil
	}
	dict, _ := a.(*array.Dictionary)
	var buf []byte
	return func(dst []byte, i int) ([]byte, error) {
		if dict != nil && dict.Dictionary().IsNull(dict.GetValueIndex(i)) {
			return dst, nil
		}
		var err error
		if buf, err = f(buf[:0], i); err != nil {
			return dst, err
		}
		if bytes.IndexByte(buf, 0) >= 0 {
			return dst, errors.New("text with a NUL byte, which CSV cannot hold")
		}
		return appendField(dst, buf), nil
	}, nil
}

// appendField writes a text as a field, in quotes where it would read as another.
func appendField(dst, s []byte) []byte {
	if len(s) > 0 && !needsQuotes(s) {
		return append(dst, s...)
	}
	dst = append(dst, '"')
	for _, c := range s {
		if c == '"' {
			dst = append(dst, '"')
		}
		dst = append(dst, c)
	}
	return append(dst, '"')
}

// needsQuotes: a byte order mark at the start of a file would be taken for the file's.
func needsQuotes(s []byte) bool {
	for _, c := range s {
		if c == ',' || c == '"' || c == '\n' || c == '\r' {
			return true
		}
	}
	return bytes.HasPrefix(s, []byte("\ufeff"))
}
