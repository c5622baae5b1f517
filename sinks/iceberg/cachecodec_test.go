package iceberg

import (
	"fmt"
	"reflect"
	"testing"

	"github.com/google/go-cmp/cmp"

	"pipe/sinks"
)

// fill sets every field, so that one that the encoding forgets is missed. Structs nest as deep as depth.
func fill(v reflect.Value, n *int, depth int) {
	*n++
	switch v.Kind() {
	case reflect.String:
		v.SetString(fmt.Sprintf("text %d ü", *n))
	case reflect.Int, reflect.Int64:
		v.SetInt(int64(*n) * 1_000_000_007 * int64(1-2*(*n%2)))
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(v.Elem(), n, depth)
	case reflect.Struct:
		for i := range v.NumField() {
			fill(v.Field(i), n, depth)
		}
	case reflect.Slice:
		if depth > 0 {
			v.Set(reflect.MakeSlice(v.Type(), 2, 2))
			fill(v.Index(0), n, depth-1)
			fill(v.Index(1), n, depth-1)
		}
	case reflect.Map:
		v.Set(reflect.MakeMap(v.Type()))
		for range 2 {
			k, x := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
			fill(k, n, depth)
			fill(x, n, depth)
			v.SetMapIndex(k, x)
		}
	default:
		panic(v.Kind())
	}
}

func TestTheCacheKeepsEveryField(t *testing.T) {
	want := map[string]*sinks.Table{}
	n := 0
	for range 3 {
		var x sinks.Table
		fill(reflect.ValueOf(&x).Elem(), &n, 4)
		want[x.Name] = &x
	}
	empty := &sinks.Table{Name: "empty", Refs: map[string]sinks.SnapshotID{}, Published: map[string]sinks.SnapshotID{}, Snapshots: []sinks.Snapshot{{Rows: -1}}}
	want["empty"] = empty
	got := map[string]*sinks.Table{}
	for _, x := range decodeTables(string(encodeTables(want))) {
		got[x.Name] = x
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

// Whatever the file holds, reading it is safe; and what is read is what was written.
func FuzzDecodeTables(f *testing.F) {
	var x sinks.Table
	n := 0
	fill(reflect.ValueOf(&x).Elem(), &n, 3)
	whole := encodeTables(map[string]*sinks.Table{x.Name: &x, "": {}})
	f.Add(string(whole))
	f.Add(string(whole[:len(whole)/2]))
	f.Add("")
	f.Add("\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80")
	f.Fuzz(func(t *testing.T, s string) {
		tables := map[string]*sinks.Table{}
		for _, t := range decodeTables(s) {
			tables[t.Name] = t
		}
		again := map[string]*sinks.Table{}
		for _, t := range decodeTables(string(encodeTables(tables))) {
			again[t.Name] = t
		}
		if d := cmp.Diff(tables, again); d != "" {
			t.Error(d)
		}
	})
}
