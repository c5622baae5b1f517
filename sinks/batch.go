package sinks

import (
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"pipe/internal/diag"
)

// CheckBatch reports whether a batch fits the schema of a Tx: the same columns in the same order, of the same types, and no NULL
// where a value is required, at any depth. Whether the batch's own schema calls a column nullable does not count, only its values.
// What a NULL struct, list or map hides is not looked at.
func CheckBatch(want *arrow.Schema, batch arrow.RecordBatch) error {
	if int(batch.NumCols()) != want.NumFields() {
		return fmt.Errorf("a batch has %d columns, the table has %d", batch.NumCols(), want.NumFields())
	}
	for i, f := range want.Fields() {
		if got := batch.ColumnName(i); got != f.Name {
			return fmt.Errorf("column %d of a batch is %q, the table has %q there", i+1, got, f.Name)
		}
		col := batch.Column(i)
		if !sameType(f.Type, col.DataType()) {
			return fmt.Errorf("column %q of a batch is %s, the table has %s", f.Name, col.DataType(), f.Type)
		}
		if err := checkNulls(f.Name, f, col, nil); err != nil {
			return err
		}
	}
	return nil
}

// sameType compares types by what their buffers mean: names of list elements and nullability of parts do not count.
func sameType(a, b arrow.DataType) bool {
	switch x := a.(type) {
	case *arrow.StructType:
		y, ok := b.(*arrow.StructType)
		if !ok || x.NumFields() != y.NumFields() {
			return false
		}
		for i := range x.NumFields() {
			if x.Field(i).Name != y.Field(i).Name || !sameType(x.Field(i).Type, y.Field(i).Type) {
				return false
			}
		}
		return true
	case *arrow.MapType:
		y, ok := b.(*arrow.MapType)
		return ok && sameType(x.KeyType(), y.KeyType()) && sameType(x.ItemType(), y.ItemType())
	case *arrow.ListType:
		y, ok := b.(*arrow.ListType)
		return ok && sameType(x.Elem(), y.Elem())
	}
	return arrow.TypeEqual(a, b)
}

// checkNulls looks for a NULL in f where it is required. hidden tells which positions of the array are under a NULL of a parent; nil:
// none.
func checkNulls(path string, f arrow.Field, a arrow.Array, hidden func(int) bool) error {
	if !f.Nullable && a.NullN() > 0 {
		for i := range a.Len() {
			if a.IsNull(i) && (hidden == nil || !hidden(i)) {
				return &diag.Error{
					Exit: diag.Failed, Msg: fmt.Sprintf("NULL in the required column %q", path),
					Hint: fmt.Sprintf("let the stage make a value in each row, or declare %q without required", path),
				}
			}
		}
	}
	if !anyRequired(f.Type) {
		return nil
	}
	under := hidden
	if a.NullN() > 0 {
		under = func(i int) bool { return a.IsNull(i) || hidden != nil && hidden(i) }
	}
	switch x := a.(type) {
	case *array.Struct:
		st := f.Type.(*arrow.StructType)
		for i, part := range st.Fields() {
			if err := checkNulls(joinPath(path, part.Name), part, x.Field(i), under); err != nil {
				return err
			}
		}
	case *array.Map: // before List: a Map is one
		mt := f.Type.(*arrow.MapType)
		seen := inRanges(x, x.Keys().Len(), under)
		for _, part := range []struct {
			name  string
			field arrow.Field
			array arrow.Array
		}{{"key", mt.KeyField(), x.Keys()}, {"value", mt.ItemField(), x.Items()}} {
			if err := checkNulls(joinPath(path, part.name), part.field, part.array, seen); err != nil {
				return err
			}
		}
	case *array.List:
		elem := f.Type.(*arrow.ListType).ElemField()
		return checkNulls(joinPath(path, "element"), elem, x.ListValues(), inRanges(x, x.ListValues().Len(), under))
	}
	return nil
}

// inRanges tells which elements belong to no list that counts. The elements of a sliced list array reach beyond its rows, and a NULL
// list may have elements.
func inRanges(a array.ListLike, n int, hidden func(int) bool) func(int) bool {
	seen := make([]bool, n)
	for i := range a.Len() {
		if hidden != nil && hidden(i) {
			continue
		}
		from, to := a.ValueOffsets(i)
		for j := from; j < to; j++ {
			seen[j] = true
		}
	}
	return func(i int) bool { return !seen[i] }
}

// anyRequired reports whether any part of a type is required.
func anyRequired(dt arrow.DataType) bool {
	nested, ok := dt.(arrow.NestedType)
	if !ok {
		return false
	}
	for _, f := range nested.Fields() {
		if !f.Nullable || anyRequired(f.Type) {
			return true
		}
	}
	return false
}
