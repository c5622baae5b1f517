package pipeline

import "pipe/internal/diag"

// ValueKind is the type of a Value.
type ValueKind int

// The types of values.
const (
	Null ValueKind = iota
	Bool
	Int
	Float
	String
	List
	Map
)

// Value is a typed value with its source text and place, after templating.
type Value struct {
	Kind  ValueKind
	Text  string // the source text of a scalar: what a template inserts ("1e-4", "007", a string without its quotes)
	Items []*Value
	Keys  []Key // of a Map, in file order
	Pos   diag.Pos
	Reads []string // the params that a template read to make this value: "data.rows in params.yaml"

	bad bool // a mistake in it was reported: nothing more is said of it

	// index says where the keys of a large map stand. It is a hint: a copy whose keys were changed is searched.
	index map[string]int
}

// Key is one entry of a Map.
type Key struct {
	Name  string
	Pos   diag.Pos
	Value *Value
}

// Get gives the entry of a Map, or nil.
func (v *Value) Get(name string) *Value {
	if v == nil {
		return nil
	}
	if i, ok := v.index[name]; ok && i < len(v.Keys) && v.Keys[i].Name == name {
		return v.Keys[i].Value
	}
	for _, k := range v.Keys {
		if k.Name == name {
			return k.Value
		}
	}
	return nil
}
