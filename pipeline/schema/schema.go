// Package schema is the shape of a table in Iceberg's words: named, typed, required or optional columns, nested.
//
// It knows nothing of Arrow, Parquet or field ids; package sinks converts.
package schema

// Kind is one of Iceberg's v2 types.
type Kind string

// The types, as written in pipeline.yaml and in the lock.
const (
	Boolean     Kind = "boolean"
	Int         Kind = "int"
	Long        Kind = "long"
	Float       Kind = "float"
	Double      Kind = "double"
	Decimal     Kind = "decimal"
	Date        Kind = "date"
	Time        Kind = "time"
	Timestamp   Kind = "timestamp"   // microseconds, no zone
	TimestampTz Kind = "timestamptz" // microseconds, UTC
	String      Kind = "string"
	UUID        Kind = "uuid"
	Fixed       Kind = "fixed"
	Binary      Kind = "binary"
	List        Kind = "list"
	Map         Kind = "map"
	Struct      Kind = "struct"
)

// Type is a type with its arguments.
type Type struct {
	Kind      Kind
	Precision int     // decimal
	Scale     int     // decimal
	Length    int     // fixed
	Fields    []Field // struct: its fields; list: one, "element"; map: two, "key" (required) and "value"
}

// Field is a column, or a part of one.
type Field struct {
	Name     string
	Type     Type
	Required bool
	Doc      string
}

// Schema is the columns of a table in order. Names are unique, case counts.
type Schema struct {
	Fields []Field
}

// Transform is one field of a partition spec: day(ts), bucket(16, id), truncate(4, s), or a bare column (identity).
type Transform struct {
	Name   string // identity, year, month, day, hour, bucket, truncate
	Arg    int    // bucket, truncate
	Column string
}

// SortField is one field of a sort order.
type SortField struct {
	Column     string
	Descending bool
	NullsLast  bool
}
