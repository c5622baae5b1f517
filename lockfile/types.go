// Package lockfile is pipeline.lock: what the last runs were made from and what they made. The file is a canonical subset of YAML
// with a codec of its own: sorted, one block a stage, no times, hosts, absolute paths or durations; what Parse accepts Encode gives
// back byte by byte.
//
//	# Written by pipe. Keep it in git.
//	version: 1
//	stages:
//	  events:
//	    fingerprint: 1:5b0c...
//	    inputs:
//	      def use: generate
//	      def with.rows: "500"  # data.num_records in params.yaml
//	      parent prod.events: none
//	    outs:
//	      - table: prod.events
//	        sink: lake
//	        snapshot: "6511054353144073012"
//	        digest: 1:77aa...
//	        rows: 500
//	        accepted: true
//	        columns:
//	          - "id: long required"
//	      - path: report.html
//	        digest: sha256:0c9b...
//	        size: 8121
//	# end
//
// Stages stand by name, inputs by kind and name, tables before files. What is empty is {} or [], accepted and columns stand only
// where they say something. A scalar is bare where no YAML parser could read anything but that string, else double-quoted; a
// snapshot's id is always quoted. A key of more than 1000 bytes takes the "? key" form. The comment behind an input says where a
// template took its value from and is read back. The last line tells a whole file from one that was cut off.
//
// It never reads or writes a file; internal/fsx does.
package lockfile

import (
	"maps"
	"slices"
	"strings"

	"pipe/pipeline/fingerprint"
)

// Version is the format that Encode writes and the newest that Parse knows.
const Version = 1

// Lock is the whole file.
type Lock struct {
	Stages map[string]*Entry // by stage name
}

// Entry is one stage's record: what it was made from, and what it made.
type Entry struct {
	Fingerprint fingerprint.Fingerprint `json:"fingerprint"`
	Inputs      fingerprint.Inputs      `json:"inputs,omitempty"` // sorted
	Outs        []Out                   `json:"outs,omitempty"`   // sorted: tables by name, then files by path
}

// Out is one output of an Entry. Exactly one of Table and Path is set.
type Out struct {
	Table    string             `json:"table,omitempty"`
	Sink     string             `json:"sink,omitempty"`
	Snapshot string             `json:"snapshot,omitempty"`
	Digest   fingerprint.Digest `json:"digest"`
	Rows     int64              `json:"rows,omitempty"`
	Accepted bool               `json:"accepted,omitempty"` // the snapshot was taken over by --accept, no run of ours made it
	Columns  []string           `json:"columns,omitempty"`  // "name: type [required]" where the types were inferred, else nil

	Path string `json:"path,omitempty"`
	Size int64  `json:"size,omitempty"`
}

// Names gives the names of the stages, sorted.
func (l *Lock) Names() []string {
	if l == nil {
		return nil
	}
	return slices.Sorted(maps.Keys(l.Stages))
}

// Clone gives a lock that shares nothing with l. The clone of nil is an empty lock.
func (l *Lock) Clone() *Lock {
	c := &Lock{Stages: map[string]*Entry{}}
	if l == nil {
		return c
	}
	for name, e := range l.Stages {
		c.Stages[name] = e.Clone()
	}
	return c
}

// Clone gives an entry that shares nothing with e; nil for nil.
func (e *Entry) Clone() *Entry {
	if e == nil {
		return nil
	}
	c := &Entry{Fingerprint: e.Fingerprint, Inputs: slices.Clone(e.Inputs), Outs: slices.Clone(e.Outs)}
	for i := range c.Outs {
		c.Outs[i].Columns = slices.Clone(c.Outs[i].Columns)
	}
	return c
}

// Equal reports whether two entries are written as the same block: everything counts, where a template took a value from too.
// Nil equals nil only.
func (e *Entry) Equal(o *Entry) bool {
	if e == nil || o == nil {
		return e == o
	}
	return e.Fingerprint == o.Fingerprint && slices.Equal(e.Inputs, o.Inputs) && slices.EqualFunc(e.Outs, o.Outs, equalOut)
}

func equalOut(a, b Out) bool {
	return a.Table == b.Table && a.Sink == b.Sink && a.Snapshot == b.Snapshot && a.Digest == b.Digest && a.Rows == b.Rows &&
		a.Accepted == b.Accepted && slices.Equal(a.Columns, b.Columns) && a.Path == b.Path && a.Size == b.Size
}

// compareOuts is the order of outs: tables by name and sink, then files by path.
func compareOuts(a, b Out) int {
	if (a.Path == "") != (b.Path == "") {
		if a.Path == "" {
			return -1
		}
		return 1
	}
	if c := strings.Compare(a.Table, b.Table); c != 0 {
		return c
	}
	if c := strings.Compare(a.Sink, b.Sink); c != 0 {
		return c
	}
	return strings.Compare(a.Path, b.Path)
}
