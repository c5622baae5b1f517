package iceberg

import (
	"fmt"

	ice "github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/table"

	"pipe/pipeline/schema"
)

// ids gives out field ids: those of an older schema where name and type are the same, fresh ones else.
type ids struct {
	next int
}

func (x *ids) fresh() int { x.next++; return x.next }

// columns gives the library's fields for ours. old is what stood at the same place before; its ids are kept where name and type fit.
func (x *ids) columns(fields []schema.Field, old []ice.NestedField) []ice.NestedField {
	out := make([]ice.NestedField, len(fields))
	for i, f := range fields {
		had := named(old, f.Name)
		n := ice.NestedField{Name: f.Name, Required: f.Required, Doc: f.Doc}
		if had != nil && sameKind(f.Type, had.Type) {
			n.ID = had.ID
			n.Type = x.typ(f.Type, had.Type)
		} else {
			n.ID = x.fresh()
			n.Type = x.typ(f.Type, nil)
		}
		out[i] = n
	}
	return out
}

func named(fields []ice.NestedField, name string) *ice.NestedField {
	for i := range fields {
		if fields[i].Name == name {
			return &fields[i]
		}
	}
	return nil
}

// sameKind reports whether a column may keep its id: primitives must be equal, nested ones of one kind are looked at part by part.
func sameKind(t schema.Type, old ice.Type) bool {
	got := fromType(old)
	if !t.Primitive() {
		return t.Kind == got.Kind
	}
	return t.Equal(got)
}

func (x *ids) typ(t schema.Type, old ice.Type) ice.Type {
	switch t.Kind {
	case schema.Boolean:
		return ice.PrimitiveTypes.Bool
	case schema.Int:
		return ice.PrimitiveTypes.Int32
	case schema.Long:
		return ice.PrimitiveTypes.Int64
	case schema.Float:
		return ice.PrimitiveTypes.Float32
	case schema.Double:
		return ice.PrimitiveTypes.Float64
	case schema.Decimal:
		return ice.DecimalTypeOf(t.Precision, t.Scale)
	case schema.Date:
		return ice.PrimitiveTypes.Date
	case schema.Time:
		return ice.PrimitiveTypes.Time
	case schema.Timestamp:
		return ice.PrimitiveTypes.Timestamp
	case schema.TimestampTz:
		return ice.PrimitiveTypes.TimestampTz
	case schema.UUID:
		return ice.PrimitiveTypes.UUID
	case schema.Fixed:
		return ice.FixedTypeOf(t.Length)
	case schema.Binary:
		return ice.PrimitiveTypes.Binary
	case schema.List:
		var parts []ice.NestedField
		if l, ok := old.(*ice.ListType); ok {
			parts = []ice.NestedField{{ID: l.ElementID, Name: "element", Type: l.Element}}
		}
		e := x.columns([]schema.Field{{Name: "element", Type: t.Fields[0].Type, Required: t.Fields[0].Required}}, parts)[0]
		return &ice.ListType{ElementID: e.ID, Element: e.Type, ElementRequired: e.Required}
	case schema.Map:
		var parts []ice.NestedField
		if m, ok := old.(*ice.MapType); ok {
			parts = []ice.NestedField{{ID: m.KeyID, Name: "key", Type: m.KeyType}, {ID: m.ValueID, Name: "value", Type: m.ValueType}}
		}
		kv := x.columns([]schema.Field{
			{Name: "key", Type: t.Fields[0].Type, Required: true}, {Name: "value", Type: t.Fields[1].Type, Required: t.Fields[1].Required},
		}, parts)
		return &ice.MapType{KeyID: kv[0].ID, KeyType: kv[0].Type, ValueID: kv[1].ID, ValueType: kv[1].Type, ValueRequired: kv[1].Required}
	case schema.Struct:
		var parts []ice.NestedField
		if s, ok := old.(*ice.StructType); ok {
			parts = s.FieldList
		}
		return &ice.StructType{FieldList: x.columns(t.Fields, parts)}
	default:
		return ice.PrimitiveTypes.String
	}
}

// fromSchema gives our schema for the library's.
func fromSchema(s *ice.Schema) schema.Schema {
	return schema.Schema{Fields: fromFields(s.Fields())}
}

func fromFields(fields []ice.NestedField) []schema.Field {
	out := make([]schema.Field, len(fields))
	for i, f := range fields {
		out[i] = schema.Field{Name: f.Name, Type: fromType(f.Type), Required: f.Required, Doc: f.Doc}
	}
	return out
}

func fromType(t ice.Type) schema.Type {
	switch t := t.(type) {
	case ice.BooleanType:
		return schema.Type{Kind: schema.Boolean}
	case ice.Int32Type:
		return schema.Type{Kind: schema.Int}
	case ice.Int64Type:
		return schema.Type{Kind: schema.Long}
	case ice.Float32Type:
		return schema.Type{Kind: schema.Float}
	case ice.Float64Type:
		return schema.Type{Kind: schema.Double}
	case ice.DecimalType:
		return schema.Type{Kind: schema.Decimal, Precision: t.Precision(), Scale: t.Scale()}
	case ice.DateType:
		return schema.Type{Kind: schema.Date}
	case ice.TimeType:
		return schema.Type{Kind: schema.Time}
	case ice.TimestampType:
		return schema.Type{Kind: schema.Timestamp}
	case ice.TimestampTzType:
		return schema.Type{Kind: schema.TimestampTz}
	case ice.UUIDType:
		return schema.Type{Kind: schema.UUID}
	case ice.FixedType:
		return schema.Type{Kind: schema.Fixed, Length: t.Len()}
	case ice.BinaryType:
		return schema.Type{Kind: schema.Binary}
	case *ice.ListType:
		return schema.Type{Kind: schema.List, Fields: []schema.Field{{Name: "element", Type: fromType(t.Element), Required: t.ElementRequired}}}
	case *ice.MapType:
		return schema.Type{Kind: schema.Map, Fields: []schema.Field{
			{Name: "key", Type: fromType(t.KeyType), Required: true}, {Name: "value", Type: fromType(t.ValueType), Required: t.ValueRequired},
		}}
	case *ice.StructType:
		return schema.Type{Kind: schema.Struct, Fields: fromFields(t.FieldList)}
	}
	return schema.Type{Kind: schema.String}
}

// layout is how a table's files are divided and sorted, against the ids of a schema.
func partitions(s *ice.Schema, by []schema.Transform, firstID int) (ice.PartitionSpec, error) {
	var fields []ice.PartitionField
	for i, p := range by {
		f, ok := s.FindFieldByName(p.Column)
		if !ok {
			return ice.PartitionSpec{}, fmt.Errorf("partition_by: no column is called %q", p.Column)
		}
		name, text := p.Column, p.Name
		switch p.Name {
		case "identity", "":
			text = "identity"
		case "bucket", "truncate":
			text = fmt.Sprintf("%s[%d]", p.Name, p.Arg)
			name += "_" + p.Name
		default:
			name += "_" + p.Name
		}
		tr, err := ice.ParseTransform(text)
		if err != nil {
			return ice.PartitionSpec{}, fmt.Errorf("partition_by %s: %w", p, err)
		}
		fields = append(fields, ice.PartitionField{SourceIDs: []int{f.ID}, FieldID: firstID + i, Name: name, Transform: tr})
	}
	return ice.NewPartitionSpec(fields...), nil
}

func sortOrder(s *ice.Schema, by []schema.SortField) (table.SortOrder, error) {
	if len(by) == 0 {
		return table.UnsortedSortOrder, nil
	}
	var fields []table.SortField
	for _, b := range by {
		f, ok := s.FindFieldByName(b.Column)
		if !ok {
			return table.SortOrder{}, fmt.Errorf("sort_by: no column is called %q", b.Column)
		}
		x := table.SortField{SourceIDs: []int{f.ID}, Transform: ice.IdentityTransform{}, Direction: table.SortASC, NullOrder: table.NullsFirst}
		if b.Descending {
			x.Direction = table.SortDESC
		}
		if b.NullsLast {
			x.NullOrder = table.NullsLast
		}
		fields = append(fields, x)
	}
	return table.NewSortOrder(1, fields)
}
