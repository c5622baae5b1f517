package tabledigest

import (
	"encoding/json"
	"fmt"
	"os"
	"strconv"
	"testing"

	"pipe/pipeline/schema"
)

// vectorTable is a table of testdata/vectors.json, made by testdata/vectors.py.
type vectorTable struct {
	Name   string
	Fields []vectorField
	Rows   [][]any
	Sum    string
	Digest string
}

type vectorField struct {
	Name     string
	Required bool
	Type     struct {
		Kind                     schema.Kind
		Precision, Scale, Length int
		Fields                   []vectorField
	}
}

func fieldsOf(in []vectorField) []schema.Field {
	var out []schema.Field
	for _, f := range in {
		out = append(out, schema.Field{Name: f.Name, Required: f.Required, Type: schema.Type{
			Kind: f.Type.Kind, Precision: f.Type.Precision, Scale: f.Type.Scale, Length: f.Type.Length, Fields: fieldsOf(f.Type.Fields),
		}})
	}
	return out
}

func TestVectors(t *testing.T) {
	data, err := os.ReadFile("testdata/vectors.json")
	if err != nil {
		t.Fatal(err)
	}
	var v struct {
		Mix    []struct{ X, Lo, Hi string }
		Seal   []struct{ In, Out string }
		Tables []vectorTable
	}
	if err := json.Unmarshal(data, &v); err != nil {
		t.Fatal(err)
	}
	if len(v.Mix) == 0 || len(v.Seal) == 0 || len(v.Tables) < 30 {
		t.Fatalf("too few vectors: %d, %d, %d", len(v.Mix), len(v.Seal), len(v.Tables))
	}
	for _, m := range v.Mix {
		x, err := strconv.ParseUint(m.X, 16, 64)
		if err != nil {
			t.Fatal(err)
		}
		if lo, hi := fmt.Sprintf("%016x", mixLo(x)), fmt.Sprintf("%016x", mixHi(x)); lo != m.Lo || hi != m.Hi {
			t.Errorf("mix(%s): got %s %s, want %s %s", m.X, lo, hi, m.Lo, m.Hi)
		}
	}
	for _, s := range v.Seal {
		hi, _ := strconv.ParseUint(s.In[:16], 16, 64)
		lo, _ := strconv.ParseUint(s.In[16:], 16, 64)
		lo, hi = seal(lo, hi)
		if got := fmt.Sprintf("%016x%016x", hi, lo); got != s.Out {
			t.Errorf("seal(%s): got %s, want %s", s.In, got, s.Out)
		}
	}
	for _, table := range v.Tables {
		t.Run(table.Name, func(t *testing.T) {
			fields := fieldsOf(table.Fields)
			b := batchOf(arrowFields(fields), table.Rows)
			defer b.Release()
			sum := sumOf(t, b)
			if got := sum.String(); got != table.Sum {
				t.Errorf("sum: got %s, want %s", got, table.Sum)
			}
			if got := Digest(sum, schema.Schema{Fields: fields}); string(got) != table.Digest {
				t.Errorf("digest: got %s, want %s", got, table.Digest)
			}
		})
	}
}

// The first number of SplitMix64 from seed 0, as its author publishes it.
func TestMixIsSplitMix64(t *testing.T) {
	if got := mixLo(0x9e3779b97f4a7c15); got != 0xe220a8397b1dcdaf {
		t.Errorf("got %x", got)
	}
}
