package view

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"pipe/internal/diag"
	"pipe/pipeline/plan"
	"pipe/pipeline/schema"
	"pipe/sinks"
)

// cellWidth is how much of a value a table of people's size shows; --json has all of it.
const cellWidth = 40

// Cell is one value of a sample: as text, and as JSON. Of a NULL, both are empty.
type Cell struct {
	Text string
	JSON json.RawMessage
}

// Null reports whether the cell holds no value. An empty text is one: its JSON is "".
func (c Cell) Null() bool { return c.JSON == nil }

// Table is what `show` shows: one table at one snapshot.
type Table struct {
	Key      plan.TableKey
	Location string
	Metadata string
	Snapshot *sinks.Snapshot // nil: the table has none
	Ref      string          // the ref whose head the snapshot is; "" if none
	Schema   schema.Schema
	Sample   [][]Cell // rows, in no order
}

// Show writes where the table is, what made the snapshot, and a sample of its rows under their columns.
func Show(w io.Writer, t Table, st Style) error {
	var b strings.Builder
	b.WriteString(st.bold(t.Key.String()) + "\n")
	fact := func(name, text string) { b.WriteString("  " + pad(name, 10) + oneLine(text) + "\n") }
	rows := int64(0)
	if s := t.Snapshot; s != nil {
		rows = s.Rows
		at := string(s.ID)
		if t.Ref != "" {
			at += "  (head of " + t.Ref + ")"
		}
		fact("snapshot", at)
		if s.Parent != "" {
			fact("parent", string(s.Parent))
		}
		if m := s.Stamp; m != nil {
			by := "stage " + m.Stage + ", run " + m.Run
			if m.Revision != "" && m.Revision != "none" {
				by += ", revision " + m.Revision
			}
			fact("made by", by)
			fact("digest", string(m.Digest))
		}
	} else {
		fact("snapshot", "none")
	}
	if rows >= 0 {
		fact("rows", fmt.Sprint(rows))
	}
	fact("location", t.Location)
	fact("metadata", t.Metadata)
	b.WriteString("\n")
	sample(&b, t, st)
	if len(t.Sample) > 0 && rows > int64(len(t.Sample)) {
		b.WriteString(st.dim(fmt.Sprintf("(%d of %s)", len(t.Sample), plural(rows, "row"))) + "\n")
	}
	return send(w, &b)
}

// sample writes names, types and rows, each column as wide as its widest cell.
func sample(b *strings.Builder, t Table, st Style) {
	fields := t.Schema.Fields
	widths := make([]int, len(fields))
	text := func(c Cell) string {
		if c.Null() {
			return "NULL"
		}
		return cut(oneLine(c.Text), cellWidth)
	}
	types := make([]string, len(fields))
	for i, f := range fields {
		types[i] = cut(f.Type.String(), cellWidth)
		if f.Required {
			types[i] += " required"
		}
		widths[i] = max(diag.Columns(oneLine(f.Name)), diag.Columns(types[i]))
		for _, r := range t.Sample {
			widths[i] = max(widths[i], diag.Columns(text(r[i])))
		}
	}
	row := func(cell func(i int) (plain, shown string)) {
		var line strings.Builder
		for i, f := range fields {
			plain, shown := cell(i)
			gap := strings.Repeat(" ", max(0, widths[i]-diag.Columns(plain)))
			switch {
			case number(f.Type.Kind):
				line.WriteString(gap + shown)
			case i < len(fields)-1:
				line.WriteString(shown + gap)
			default:
				line.WriteString(shown)
			}
			if i < len(fields)-1 {
				line.WriteString("  ")
			}
		}
		b.WriteString(line.String() + "\n")
	}
	row(func(i int) (string, string) { n := oneLine(fields[i].Name); return n, st.bold(n) })
	row(func(i int) (string, string) { return types[i], st.dim(types[i]) })
	row(func(i int) (string, string) { r := strings.Repeat("-", widths[i]); return r, st.dim(r) })
	for _, r := range t.Sample {
		row(func(i int) (string, string) {
			c := text(r[i])
			if r[i].Null() {
				return c, st.dim(c)
			}
			return c, c
		})
	}
}

func number(k schema.Kind) bool {
	switch k {
	case schema.Int, schema.Long, schema.Float, schema.Double, schema.Decimal:
		return true
	}
	return false
}

type showJSON struct {
	Table    string            `json:"table"`
	Sink     string            `json:"sink"`
	Location string            `json:"location"`
	Metadata string            `json:"metadata"`
	Snapshot *string           `json:"snapshot"`
	Parent   *string           `json:"parent"`
	Ref      *string           `json:"ref"`
	Rows     int64             `json:"rows"`
	Schema   []columnJSON      `json:"schema"`
	Summary  map[string]string `json:"summary"`
	Sample   []json.RawMessage `json:"sample"`
}

type columnJSON struct {
	Name     string `json:"name"`
	Type     string `json:"type"`
	Required bool   `json:"required"`
	Doc      string `json:"doc,omitempty"`
}

// ShowJSON writes the same for programs. Ids are texts: they are larger than what a JSON number holds exactly. The columns of a
// sample's rows stand in the table's order.
func ShowJSON(w io.Writer, t Table) error {
	v := showJSON{
		Table: t.Key.Table, Sink: t.Key.Sink, Location: t.Location, Metadata: t.Metadata, Ref: optional(t.Ref),
		Schema: []columnJSON{}, Summary: map[string]string{}, Sample: []json.RawMessage{},
	}
	if s := t.Snapshot; s != nil {
		v.Snapshot, v.Parent, v.Rows = optional(string(s.ID)), optional(string(s.Parent)), s.Rows
		if s.Stamp != nil {
			v.Summary = s.Stamp.Properties()
		}
		v.Summary["operation"] = string(s.Op)
	}
	for _, f := range t.Schema.Fields {
		v.Schema = append(v.Schema, columnJSON{f.Name, f.Type.String(), f.Required, f.Doc})
	}
	for _, r := range t.Sample {
		row, err := object(t.Schema.Fields, r)
		if err != nil {
			return err
		}
		v.Sample = append(v.Sample, row)
	}
	return JSON(w, v)
}

func optional(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

func object(fields []schema.Field, cells []Cell) (json.RawMessage, error) {
	b := []byte{'{'}
	for i, f := range fields {
		if i > 0 {
			b = append(b, ',')
		}
		name, err := json.Marshal(f.Name)
		if err != nil {
			return nil, err
		}
		b = append(append(b, name...), ':')
		if cells[i].Null() {
			b = append(b, "null"...)
		} else {
			b = append(b, cells[i].JSON...)
		}
	}
	return append(b, '}'), nil
}
