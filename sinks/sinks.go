// Package sinks is what pipe needs of a table format: observe, write, publish, read. Each format is one package below; the
// conformance suite is sinks/sinktest.
//
// Two names of a table never mix: a ref moves, a snapshot never changes. Rows are written to snapshots that no reader of a head
// sees, on the ref of the run; Publish then moves the heads of all tables at one instant (where Atomic).
package sinks

import (
	"context"
	"errors"
	"iter"

	"github.com/apache/arrow-go/v18/arrow"

	"pipe/pipeline/schema"
)

// Main is the ref that readers of a table see.
const Main = "main"

// RunRef is the name of the ref that holds what run wrote, until its lock is saved.
func RunRef(run string) string { return "pipe.run." + run }

// PinTag is the name of the tag that keeps a snapshot that a lock names from expiry.
func PinTag(id SnapshotID) string { return "pipe.pin." + string(id) }

// SnapshotID names one committed state of a table; "" is no snapshot.
type SnapshotID string

// Op is what a snapshot did to the rows of its parent.
type Op string

// The operations, in Iceberg's words.
const (
	OpAppend    Op = "append"
	OpOverwrite Op = "overwrite"
	OpReplace   Op = "replace" // compaction: other files, the same rows
	OpDelete    Op = "delete"
)

// Snapshot is one committed state of a table, as its metadata tells.
type Snapshot struct {
	ID     SnapshotID
	Parent SnapshotID // may name a snapshot that expired
	Op     Op
	Rows   int64  // of the whole table; -1 if the metadata does not say
	Stamp  *Stamp // nil: not made by pipe
}

// Table is what one look at a table's metadata says. It is a value: nothing in it changes later.
type Table struct {
	Name      string
	UUID      string
	Location  string
	Metadata  string     // where the metadata stands that this was read from
	Snapshots []Snapshot // live ones, in the order of their commits
	Refs      map[string]SnapshotID
	Published map[string]SnapshotID // property pipe.head.<ref>: what pipe last moved the ref to
	Project   string                // property pipe.project: the project that made the table
	Schema    schema.Schema         // the current one
}

// Head gives the snapshot that ref names, or "".
func (t *Table) Head(ref string) SnapshotID {
	if t == nil {
		return ""
	}
	return t.Refs[ref]
}

// Snapshot finds a live snapshot, or nil.
func (t *Table) Snapshot(id SnapshotID) *Snapshot {
	if t == nil || id == "" {
		return nil
	}
	for i := len(t.Snapshots) - 1; i >= 0; i-- {
		if t.Snapshots[i].ID == id {
			return &t.Snapshots[i]
		}
	}
	return nil
}

// Target names one snapshot of one table.
type Target struct {
	Table    string
	Snapshot SnapshotID
}

// Spec is what a table out declares; it counts when the table is made, and its schema when it is replaced.
type Spec struct {
	Table       string
	Schema      schema.Schema
	PartitionBy []schema.Transform
	SortBy      []schema.SortField
	Key         []string
	Properties  map[string]string
	Project     string // written as pipe.project when the table is made
}

// Base says what a new snapshot is built on.
type Base struct {
	Parent SnapshotID // append: its rows stay; replace: the head, whose rows go. "": an empty table, or none
	Append bool
	Run    string // its ref takes the snapshot
}

// Move is one head's move. The zero From means that the ref must not exist.
type Move struct {
	Table    string
	From, To SnapshotID
}

// Publication is one publish: the moves are made all or none where the catalog is Atomic.
type Publication struct {
	Ref   string
	Moves []Move
}

// The three ends of a publish that did not succeed. After ErrConflict nothing moved. After ErrUnknown the caller must observe and
// look for its own snapshot ids; nothing may be retried blindly or deleted.
var (
	ErrConflict = errors.New("another writer moved the table first")
	ErrUnknown  = errors.New("no answer came: the commit may or may not have happened")
	ErrExpired  = errors.New("the snapshot is gone")
	ErrNoTable  = errors.New("no such table")
	// ErrSchema: the base's schema cannot take the rows; the text says how they differ.
	ErrSchema = errors.New("the schema differs")
)

// Observer looks at tables.
type Observer interface {
	// Observe gives what the metadata of each named table says; a table that does not exist is left out. All names are answered
	// as of one instant; metadata is read only for tables whose pointer moved since it was last read.
	Observe(ctx context.Context, tables []string) (map[string]*Table, error)
}

// Reader reads rows of snapshots.
type Reader interface {
	// Scan gives the rows of a snapshot under the schema of that snapshot, in no order, as batches that the caller releases.
	// ErrExpired if the snapshot is gone.
	Scan(ctx context.Context, at Target, opts ScanOptions) (*arrow.Schema, iter.Seq2[arrow.RecordBatch, error], error)
	// Files gives the local paths of the snapshot's Parquet files, each once, and whether they hold its rows exactly as they are
	// (every file has the snapshot's schema, no deletes apply).
	Files(ctx context.Context, at Target) (paths []string, exact bool, err error)
}

// ScanOptions narrows a Scan. The zero value reads everything.
type ScanOptions struct {
	Columns []string
	Limit   int64 // 0: none
}

// Writer makes snapshots and moves refs.
type Writer interface {
	// Begin opens a write onto base; the table is made by Stage if it does not exist. ErrExpired if the base is gone, ErrSchema
	// if it cannot take the rows.
	Begin(ctx context.Context, spec Spec, base Base) (Tx, error)
	// Hold puts the run's ref on a live snapshot, so that it cannot expire before the run ends. ErrExpired if it is gone.
	Hold(ctx context.Context, run string, targets []Target) error
	// Publish moves the heads, sets pipe.head.<ref> and pins the snapshots, in one commit a table. A move whose head is already at
	// To is done, not a conflict, so that the same publication may be sent again.
	Publish(ctx context.Context, p Publication) error
	// Pin tags live snapshots with PinTag and the longest retention. ErrExpired if one is gone. Pinned ones are left alone.
	Pin(ctx context.Context, targets []Target) error
	// Release drops the run's ref from the tables.
	Release(ctx context.Context, run string, tables []string) error
	// Atomic reports whether Publish is all or none.
	Atomic() bool
}

// Catalog is a sink that is open.
type Catalog interface {
	Observer
	Reader
	Writer
	Close() error
}

// Tx is one write in the making. Nothing of it is seen before Stage.
type Tx interface {
	// Schema is the Arrow schema that batches must have, column by column.
	Schema() *arrow.Schema
	// Write takes a batch; safe for several goroutines, blocks while the encoders are busy. The batch stays the caller's.
	Write(ctx context.Context, batch arrow.RecordBatch) error
	// Stage closes the files and commits the snapshot on the run's ref, with the stamp in its summary. No batch at all is legal.
	Stage(ctx context.Context, stamp Stamp) (Snapshot, error)
	// Abort deletes the files. Safe after Stage, where it does nothing.
	Abort(ctx context.Context) error
}
