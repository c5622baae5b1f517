package textio

import (
	"bytes"

	"github.com/apache/arrow-go/v18/arrow"

	"pipe/pipeline/schema"
)

// jsonFile is a file of JSON lines whose columns are known.
type jsonFile struct {
	fields []schema.Field
	nulls  *nullWords
}

// each calls object for each line of a chunk that is not blank, at the brace that opens it.
func (f *jsonFile) each(c *chunk, faults *faults, object func(j *jsonText) *jsonFault) {
	if err := c.check(); err != nil {
		faults.add(err)
		return
	}
	j := jsonText{nulls: f.nulls}
	for at := 0; at < len(c.text) && !faults.full(); {
		end := len(c.text)
		if i := bytes.IndexByte(c.text[at:], '\n'); i >= 0 {
			end = at + i
		}
		j.b, j.at, j.depth = c.text[:end], at, 0
		at = end + 1
		if j.space(); j.at == end {
			continue
		}
		err := func() *jsonFault {
			if j.b[j.at] != '{' {
				err := j.unexpected("an object")
				err.hint = "write one object a line; for a file that is one list: jq -c '.[]'"
				return err
			}
			if err := object(&j); err != nil {
				return err
			}
			return j.end("the object")
		}()
		if err != nil {
			faults.add(c.fault(err.off, err.width, err.hint, "%s", err.msg))
		}
	}
}

// parse makes batches of a chunk.
func (f *jsonFile) parse(s *arrow.Schema, c *chunk, most int) ([]arrow.RecordBatch, error) {
	b := newBuilding(s, f.fields, c.ends+1, most)
	defer b.release()
	row := &column{
		field: schema.Field{Type: schema.Type{Kind: schema.Struct, Fields: f.fields}},
		parts: b.columns, names: make(map[string]int, len(f.fields)), seen: make([]int, len(f.fields)),
	}
	for i, x := range f.fields {
		row.names[x.Name] = i
	}
	f.each(c, &b.faults, func(j *jsonText) *jsonFault {
		err := j.structure(row)
		if err == nil {
			b.row()
		}
		return err
	})
	return b.done()
}
