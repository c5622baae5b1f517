package iceberg

import (
	"encoding/binary"
	"maps"
	"slices"

	"pipe/pipeline/fingerprint"
	"pipe/pipeline/schema"
	"pipe/sinks"
)

// The cache's own encoding: numbers as varints, texts and lists with their length before them. A run that finds nothing to do reads
// the states of all tables, and the general codecs take longer for it than everything else together.

func encodeTables(tables map[string]*sinks.Table) []byte {
	w := writer{}
	w.num(int64(len(tables)))
	for _, name := range slices.Sorted(maps.Keys(tables)) {
		w.table(tables[name])
	}
	return w.b
}

// decodeTables gives nothing for a text that encodeTables did not make.
func decodeTables(s string) []*sinks.Table {
	r := reader{s: s}
	out := list(&r, r.table)
	if r.bad || r.s != "" {
		return nil
	}
	return out
}

type writer struct{ b []byte }

func (w *writer) num(n int64)   { w.b = binary.AppendVarint(w.b, n) }
func (w *writer) text(s string) { w.num(int64(len(s))); w.b = append(w.b, s...) }
func (w *writer) flag(b bool)   { w.b = append(w.b, map[bool]byte{true: 1}[b]) }

func writeMap[V ~string](w *writer, m map[string]V) {
	w.num(int64(len(m)))
	for _, k := range slices.Sorted(maps.Keys(m)) {
		w.text(k)
		w.text(string(m[k]))
	}
}

func (w *writer) table(t *sinks.Table) {
	for _, s := range []string{t.Name, t.UUID, t.Location, t.Metadata, t.Project} {
		w.text(s)
	}
	writeMap(w, t.Refs)
	writeMap(w, t.Published)
	w.fields(t.Schema.Fields)
	w.num(int64(len(t.Snapshots)))
	for _, s := range t.Snapshots {
		w.text(string(s.ID))
		w.text(string(s.Parent))
		w.text(string(s.Op))
		w.num(s.Rows)
		w.flag(s.Stamp != nil)
		if s.Stamp != nil {
			w.stamp(s.Stamp)
		}
	}
}

func (w *writer) stamp(s *sinks.Stamp) {
	for _, x := range []string{s.Stage, string(s.Fingerprint), string(s.Digest), s.Sum, s.Run, string(s.ParentDigest), s.Revision, s.Version} {
		w.text(x)
	}
	w.num(s.Rows)
	w.num(s.ParentRows)
	writeMap(w, s.Outs)
	writeMap(w, s.Extra)
}

func (w *writer) fields(fields []schema.Field) {
	w.num(int64(len(fields)))
	for _, f := range fields {
		w.text(f.Name)
		w.text(f.Doc)
		w.flag(f.Required)
		w.text(string(f.Type.Kind))
		w.num(int64(f.Type.Precision))
		w.num(int64(f.Type.Scale))
		w.num(int64(f.Type.Length))
		w.fields(f.Type.Fields)
	}
}

// reader takes what writer wrote off the front of s. The texts that it gives share s. After a mistake it is bad and gives zeros.
type reader struct {
	s   string
	bad bool
}

func (r *reader) num() int64 {
	// as long a head of s as a varint can be: the conversion of so short a one costs nothing
	n, size := binary.Varint([]byte(r.s[:min(len(r.s), binary.MaxVarintLen64)]))
	if size <= 0 {
		r.fail()
		return 0
	}
	r.s = r.s[size:]
	return n
}

func (r *reader) fail() { r.bad, r.s = true, "" }

// length reads a count of things of which each takes a byte at least.
func (r *reader) length() int {
	n := r.num()
	if n < 0 || n > int64(len(r.s)) {
		r.fail()
		return 0
	}
	return int(n)
}

func (r *reader) text() string {
	n := r.length()
	t := r.s[:n]
	r.s = r.s[n:]
	return t
}

func (r *reader) flag() bool {
	if r.s == "" || r.s[0] > 1 {
		r.fail()
		return false
	}
	b := r.s[0] == 1
	r.s = r.s[1:]
	return b
}

// list gives nil for none.
func list[T any](r *reader, one func() T) []T {
	n := r.length()
	if n == 0 {
		return nil
	}
	out := make([]T, 0, min(n, 1024)) // n is only as true as the file
	for range n {
		if r.bad {
			return nil
		}
		out = append(out, one())
	}
	return out
}

func readMap[V ~string](r *reader) map[string]V {
	n := r.length()
	m := make(map[string]V, min(n, 1024))
	for range n {
		if r.bad {
			return nil
		}
		k := r.text()
		m[k] = V(r.text())
	}
	return m
}

func (r *reader) table() *sinks.Table {
	t := &sinks.Table{Name: r.text(), UUID: r.text(), Location: r.text(), Metadata: r.text(), Project: r.text()}
	t.Refs = readMap[sinks.SnapshotID](r)
	t.Published = readMap[sinks.SnapshotID](r)
	t.Schema.Fields = list(r, r.field)
	t.Snapshots = list(r, r.snapshot)
	return t
}

func (r *reader) snapshot() sinks.Snapshot {
	s := sinks.Snapshot{ID: sinks.SnapshotID(r.text()), Parent: sinks.SnapshotID(r.text()), Op: sinks.Op(r.text()), Rows: r.num()}
	if r.flag() {
		s.Stamp = r.stamp()
	}
	return s
}

func (r *reader) stamp() *sinks.Stamp {
	s := &sinks.Stamp{
		Stage: r.text(), Fingerprint: fingerprint.Fingerprint(r.text()), Digest: fingerprint.Digest(r.text()), Sum: r.text(),
		Run: r.text(), ParentDigest: fingerprint.Digest(r.text()), Revision: r.text(), Version: r.text(),
	}
	s.Rows, s.ParentRows = r.num(), r.num()
	if m := readMap[fingerprint.Digest](r); len(m) > 0 {
		s.Outs = m
	}
	if m := readMap[string](r); len(m) > 0 {
		s.Extra = m
	}
	return s
}

func (r *reader) field() schema.Field {
	f := schema.Field{Name: r.text(), Doc: r.text(), Required: r.flag(), Type: schema.Type{Kind: schema.Kind(r.text())}}
	f.Type.Precision, f.Type.Scale, f.Type.Length = int(r.num()), int(r.num()), int(r.num())
	f.Type.Fields = list(r, r.field)
	return f
}
