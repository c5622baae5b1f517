package command

import (
	"context"
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"

	"pipe/internal/conform"
	"pipe/internal/diag"
)

// common is the schema that the rows of all files fit: columns by name, each as wide as the widest of them. The first file's order
// counts.
func common(ctx context.Context, files []*source) (*arrow.Schema, error) {
	var fields []arrow.Field
	var from []string // the file that each field was first seen in
	at := map[string]int{}
	for i, f := range files {
		r, err := f.open(ctx)
		if err != nil {
			return nil, err
		}
		s := r.schema
		if len(files) == 1 {
			f.ready = r // what was inferred need not be inferred twice
			return s, nil
		}
		r.close()
		seen := make(map[string]bool, s.NumFields())
		for _, field := range s.Fields() {
			seen[field.Name] = true
			j, ok := at[field.Name]
			if !ok {
				if i > 0 {
					if f.kind != "jsonl" {
						return nil, otherColumns(f, files[0], field.Name, false)
					}
					field.Nullable = true
				}
				at[field.Name] = len(fields)
				fields, from = append(fields, field), append(from, f.name)
				continue
			}
			wide, ok := wider(fields[j].Type, field.Type)
			if !ok {
				return nil, &diag.Error{
					Exit: diag.Failed,
					Msg:  fmt.Sprintf("column %q is %s in %s and %s in %s", field.Name, conform.Describe(fields[j].Type), from[j], conform.Describe(field.Type), f.name),
					Hint: "declare the out's schema, or write one type",
				}
			}
			fields[j].Type = wide
			fields[j].Nullable = fields[j].Nullable || field.Nullable
		}
		for j, field := range fields {
			if !seen[field.Name] {
				if f.kind != "jsonl" {
					return nil, otherColumns(f, files[0], field.Name, true)
				}
				fields[j].Nullable = true // a key that is left out is NULL
			}
		}
	}
	return arrow.NewSchema(fields, nil), nil
}

func otherColumns(f, first *source, column string, missing bool) error {
	what := "has a column"
	if missing {
		what = "lacks the column"
	}
	return &diag.Error{
		Exit: diag.Failed, Msg: fmt.Sprintf("%s %s %q, unlike %s", f.name, what, column, first.name),
		Hint: "write the same columns into every file",
	}
}

// wider gives the type that holds the values of both, where one does.
func wider(a, b arrow.DataType) (arrow.DataType, bool) {
	switch {
	case arrow.TypeEqual(a, b), b.ID() == arrow.NULL:
		return a, true
	case a.ID() == arrow.NULL:
		return b, true
	case rank(a) > 0 && rank(b) > 0:
		if max(rank(a), rank(b)) == 1 {
			return arrow.PrimitiveTypes.Int32, true
		}
		return arrow.PrimitiveTypes.Int64, true
	case isDouble(a) && rank(b) > 0 || isDouble(b) && rank(a) > 0 || isFloat(a) && isFloat(b):
		return arrow.PrimitiveTypes.Float64, true
	case isString(a) && isString(b):
		return arrow.BinaryTypes.String, true
	}
	da, oka := a.(*arrow.Decimal128Type)
	db, okb := b.(*arrow.Decimal128Type)
	if oka && okb && da.Scale == db.Scale {
		return &arrow.Decimal128Type{Precision: max(da.Precision, db.Precision), Scale: da.Scale}, true
	}
	return nil, false
}

// rank is the table's integer that holds a type's values: 1 is int, 2 is long, 0 is none.
func rank(t arrow.DataType) int {
	switch t.ID() {
	case arrow.INT8, arrow.INT16, arrow.INT32, arrow.UINT8, arrow.UINT16:
		return 1
	case arrow.INT64, arrow.UINT32:
		return 2
	}
	return 0
}

func isDouble(t arrow.DataType) bool { return t.ID() == arrow.FLOAT64 }

func isFloat(t arrow.DataType) bool { return t.ID() == arrow.FLOAT32 || t.ID() == arrow.FLOAT64 }

func isString(t arrow.DataType) bool {
	return t.ID() == arrow.STRING || t.ID() == arrow.LARGE_STRING || t.ID() == arrow.STRING_VIEW
}
