package tabledigest

import (
	"encoding/hex"
	"fmt"
	"reflect"
	"strconv"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"pgregory.net/rapid"

	"pipe/pipeline/schema"
)

// randomTable is a table of any columns, nested up to two levels, with up to 40 rows.
func randomTable(t *rapid.T) ([]schema.Field, [][]any) {
	fields := randomFields(t, "c", rapid.IntRange(1, 4).Draw(t, "columns"), 2)
	rows := make([][]any, rapid.IntRange(0, 40).Draw(t, "rows"))
	for i := range rows {
		for _, f := range fields {
			rows[i] = append(rows[i], randomValue(t, f))
		}
	}
	return fields, rows
}

func randomFields(t *rapid.T, prefix string, n, depth int) []schema.Field {
	fields := make([]schema.Field, n)
	for i := range fields {
		fields[i] = schema.Field{Name: prefix + strconv.Itoa(i), Type: randomType(t, depth)}
	}
	return fields
}

func randomType(t *rapid.T, depth int) schema.Type {
	kinds := []schema.Kind{
		schema.Boolean, schema.Int, schema.Long, schema.Double, schema.Decimal, schema.Date, schema.Timestamp, schema.String, schema.UUID,
		schema.Fixed, schema.Binary,
	}
	if depth > 0 {
		kinds = append(kinds, schema.List, schema.Map, schema.Struct)
	}
	typ := schema.Type{Kind: rapid.SampledFrom(kinds).Draw(t, "kind")}
	switch typ.Kind {
	case schema.Decimal:
		typ.Precision, typ.Scale = 38, 2
	case schema.Fixed:
		typ.Length = 3
	case schema.List:
		typ.Fields = []schema.Field{{Name: "element", Type: randomType(t, depth-1)}}
	case schema.Map:
		typ.Fields = []schema.Field{{Name: "key", Type: schema.Type{Kind: schema.Long}, Required: true}, {Name: "value", Type: randomType(t, depth-1)}}
	case schema.Struct:
		typ.Fields = randomFields(t, "f", rapid.IntRange(1, 3).Draw(t, "fields"), depth-1)
	}
	return typ
}

func randomValue(t *rapid.T, f schema.Field) any {
	if !f.Required && rapid.IntRange(0, 3).Draw(t, "null") == 0 {
		return nil
	}
	switch f.Type.Kind {
	case schema.Boolean:
		return rapid.Bool().Draw(t, "bool")
	case schema.Int, schema.Date:
		return strconv.Itoa(int(rapid.Int32().Draw(t, "int")))
	case schema.Long, schema.Timestamp, schema.Decimal:
		return strconv.FormatInt(rapid.Int64().Draw(t, "long"), 10)
	case schema.Double:
		return strconv.FormatFloat(rapid.Float64().Draw(t, "double"), 'x', -1, 64)
	case schema.String:
		return rapid.String().Draw(t, "string")
	case schema.UUID:
		return randomBytes(t, 16)
	case schema.Fixed:
		return randomBytes(t, f.Type.Length)
	case schema.Binary:
		return randomBytes(t, rapid.IntRange(0, 20).Draw(t, "length"))
	case schema.List:
		list := []any{}
		for range rapid.IntRange(0, 3).Draw(t, "elements") {
			list = append(list, randomValue(t, f.Type.Fields[0]))
		}
		return list
	case schema.Map:
		entries := []any{}
		for i := range rapid.IntRange(0, 3).Draw(t, "entries") {
			entries = append(entries, []any{strconv.Itoa(i), randomValue(t, f.Type.Fields[1])})
		}
		return entries
	case schema.Struct:
		m := map[string]any{}
		for _, x := range f.Type.Fields {
			m[x.Name] = randomValue(t, x)
		}
		return m
	}
	panic(f.Type.Kind)
}

func randomBytes(t *rapid.T, n int) string {
	return hex.EncodeToString(rapid.SliceOfN(rapid.Byte(), n, n).Draw(t, "bytes"))
}

// Any order of rows, cut into any batches at any offsets, with columns in any order, has the sum of the whole.
func TestSumOfAnyLayout(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		fields, rows := randomTable(t)
		plain := arrowFields(fields)
		want := sumOf(t, batchOf(plain, rows))

		order := rapid.Permutation(seq(len(fields))).Draw(t, "column order")
		moved := make([]arrow.Field, len(fields))
		shuffled := make([][]any, len(rows))
		for to, from := range order {
			moved[to] = plain[from]
			if moved[to].Type.ID() == arrow.STRING && rapid.Bool().Draw(t, "dictionary") {
				moved[to].Type = &arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Int16, ValueType: arrow.BinaryTypes.String}
			}
		}
		for to, from := range rapid.Permutation(seq(len(rows))).Draw(t, "row order") {
			for _, c := range order {
				shuffled[to] = append(shuffled[to], rows[from][c])
			}
		}
		batch := batchOf(moved, shuffled)
		h, err := New(batch.Schema())
		if err != nil {
			t.Fatal(err)
		}
		var got Sum
		for at := int64(0); at < batch.NumRows(); {
			next := rapid.Int64Range(at+1, batch.NumRows()).Draw(t, "cut")
			part := batch.NewSlice(at, next)
			got = got.Add(h.Batch(part))
			part.Release()
			at = next
		}
		if got != want {
			t.Fatalf("got %s, want %s", got, want)
		}
		if got.Rows() != int64(len(rows)) {
			t.Fatalf("%d rows, want %d", got.Rows(), len(rows))
		}
	})
}

// The sum of a table and more rows is the sum of the whole, and of a row changed in any cell it is another.
func TestSumTellsOneCell(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		fields, rows := randomTable(t)
		if len(rows) == 0 {
			return
		}
		plain := arrowFields(fields)
		whole := sumOf(t, batchOf(plain, rows))
		at := rapid.IntRange(0, len(rows)-1).Draw(t, "row")
		first, rest := sumOf(t, batchOf(plain, rows[:at])), sumOf(t, batchOf(plain, rows[at:]))
		if first.Add(rest) != whole || whole.Sub(rest) != first {
			t.Fatalf("%s and %s are not %s", first, rest, whole)
		}
		parsed, err := ParseSum(whole.String())
		if err != nil || parsed != whole {
			t.Fatalf("%s parses as %s: %v", whole, parsed, err)
		}
		column := rapid.IntRange(0, len(fields)-1).Draw(t, "column")
		old := rows[at][column]
		value := randomValue(t, fields[column])
		rows[at][column] = value
		if edited := sumOf(t, batchOf(plain, rows)); (edited == whole) != reflect.DeepEqual(old, value) {
			t.Fatalf("%v and %v: sums %s and %s", old, value, whole, edited)
		}
	})
}

func seq(n int) []int {
	out := make([]int, n)
	for i := range out {
		out[i] = i
	}
	return out
}

// A grid of small numbers in three columns is where weak mixing shows first: all rows, all cells and both halves must differ.
func TestNoTwoRowsOfAGridCollide(t *testing.T) {
	const side = 64
	keys := []pair{keyOf("int", "a"), keyOf("int", "b"), keyOf("int", "c")}
	lows, highs := make(map[uint64]string, side*side*side), make(map[uint64]string, side*side*side)
	for i := range uint64(side * side * side) {
		var lo, hi uint64
		for c, v := range []uint64{i % side, i / side % side, i / side / side} {
			lo += mixLo(v ^ keys[c].lo)
			hi += mixHi(v ^ keys[c].hi)
		}
		lo, hi = seal(lo, hi)
		row := fmt.Sprint(i)
		if other, ok := lows[lo]; ok {
			t.Fatalf("low halves of rows %s and %s are equal", row, other)
		}
		if other, ok := highs[hi]; ok {
			t.Fatalf("high halves of rows %s and %s are equal", row, other)
		}
		lows[lo], highs[hi] = row, row
	}
}

// FuzzParseSum: what parses is written back as the same bytes.
func FuzzParseSum(f *testing.F) {
	f.Add("1:fedcba9876543210000000000000000100000000000001f4")
	f.Add("1:")
	f.Add("2:00")
	f.Fuzz(func(t *testing.T, text string) {
		if s, err := ParseSum(text); err == nil && s.String() != text {
			t.Errorf("%q parses and is written as %q", text, s)
		}
	})
}

// FuzzStrings: two rows of two texts have one sum only if they are the same rows.
func FuzzStrings(f *testing.F) {
	f.Add("a", "b", "b", "a")
	f.Add("", "ab", "a", "b")
	f.Fuzz(func(t *testing.T, a, b, c, d string) {
		fields := []arrow.Field{{Name: "x", Type: arrow.BinaryTypes.String}, {Name: "y", Type: arrow.BinaryTypes.String}}
		left, right := sumOf(t, batchOf(fields, [][]any{{a, b}})), sumOf(t, batchOf(fields, [][]any{{c, d}}))
		if (left == right) != (a == c && b == d) {
			t.Errorf("%q %q and %q %q: %s %s", a, b, c, d, left, right)
		}
	})
}
