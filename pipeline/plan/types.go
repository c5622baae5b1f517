// Package plan decides: the status of each stage and why, what an append is built on, what is reused, which heads may move. It is
// pure: the same code makes the preview and decides right before a stage runs. The rules are those of docs/identity.md.
//
// It never reads a file, a table, git or a clock, and changes nothing that it is given.
package plan

import (
	"pipe/internal/diag"
	"pipe/lockfile"
	"pipe/pipeline"
	"pipe/pipeline/fingerprint"
	"pipe/sinks"
)

// Status says what a run will do with a stage.
type Status string

// The statuses.
const (
	UpToDate Status = "up to date"
	Reuse    Status = "reuse"    // live snapshots with the wanted fingerprint exist: nothing runs
	Stale    Status = "stale"    // runs
	Pending  Status = "pending"  // something above it runs; it may yet be cut off
	Diverged Status = "diverged" // a run would stop here with exit status 4
	Frozen   Status = "frozen"   // the user said so
)

// Relation says where the head of a table is, seen from the lock (docs/identity.md, section 1).
type Relation string

// The relations. NoHead: the table or its ref does not exist.
const (
	Same    Relation = "same"
	Behind  Relation = "behind"
	Ahead   Relation = "ahead"
	Aside   Relation = "aside"
	Foreign Relation = "foreign"
	NoHead  Relation = "none"
)

// World is all that a decision looks at, observed once.
type World struct {
	Graph   *pipeline.Graph
	Lock    *lockfile.Lock
	Tables  map[TableKey]*sinks.Table // a table that does not exist is absent
	Files   map[string]File           // deps (paths and patterns as the definition has them) and file outs
	Env     map[string]string         // "sha256:..." of each inherited variable; absent: not set
	Kinds   map[string]int            // version of each kind of stage
	History History
	Ref     string                     // the ref that this run moves
	Held    map[TableKey]bool          // tables whose heads this run may not move: a detached HEAD on a shared catalog
	Entries map[string]*lockfile.Entry // entries made by this run so far; they stand before Lock's
	Unknown map[string]bool            // stages whose outcome is not known yet: what hangs below them is pending
	Content map[sinks.Target]Content   // by sink-qualified table (TableKey.String): what scans of foreign snapshots found
}

// Content is what is known of a snapshot's rows.
type Content struct {
	Digest fingerprint.Digest
	Sum    string
	Rows   int64
}

// TableKey names a table in a sink.
type TableKey struct{ Sink, Table string }

// DefaultSink is the sink of a project that names none; its tables are shown without it.
const DefaultSink = "lake"

// String is the table's name, with its sink before it unless that is the default one. It labels inputs, so it never changes.
func (k TableKey) String() string {
	if k.Sink == DefaultSink {
		return k.Table
	}
	return k.Sink + "/" + k.Table
}

// File is what was seen of a path.
type File struct {
	Digest  fingerprint.Digest // "" if Missing
	Size    int64
	Missing bool
	Dir     bool
	Err     string // why it could not be read, in the user's words
}

// History is what git knows of past locks.
type History interface {
	// Names reports whether a lock at a commit in HEAD's history names the snapshot.
	Names(key TableKey, id sinks.SnapshotID) bool
	// TurnedAway reports whether a one-parent commit in HEAD's history, or the work tree over HEAD with no merge going on, turned
	// the lock away from the snapshot: the parent's lock names it and this one, which still has an entry for the stage, does not.
	TurnedAway(stage string, key TableKey, id sinks.SnapshotID) bool
	// Contains reports whether a clean revision is HEAD or in its history.
	Contains(revision string) bool
	// Revision is HEAD's commit; "+dirty" at its end if the tree differs from it (the lock aside), "none" without git or commits.
	Revision() string
}

// Reason is one leaf of why.
type Reason struct {
	Kind    string `json:"kind"` // def, dep, param, table, env, parent; out, entry, upstream, force, always, head
	Name    string `json:"name"`
	File    string `json:"file,omitempty"` // params file that a template read
	In      string `json:"in,omitempty"`   // the leaf of the definition that the param went into
	Old     string `json:"old,omitempty"`
	New     string `json:"new,omitempty"`
	Text    string `json:"text,omitempty"` // what Old and New cannot say: "missing", "edited by hand"
	Added   bool   `json:"added,omitempty"`
	Removed bool   `json:"removed,omitempty"`
}

// Step is the decision on one stage.
type Step struct {
	Stage       *pipeline.Stage
	Status      Status
	Why         []Reason
	Fingerprint fingerprint.Fingerprint // of what a run would do; "" while pending
	Inputs      fingerprint.Inputs      // sorted; without what is still unknown while pending
	Outs        []OutStep               // the table outs, in the definition's order
	Stop        *Stop                   // set if and only if Status is Diverged
	Done        *lockfile.Entry         // the entry that stands if nothing runs: the lock's, or the reused one
	Run         string                  // reuse: the run that made the snapshots
	Notes       []string                // what the user should know: "these inputs were appended before, run R"
	Missing     diag.List               // what must be there and is not; a run ends with them before anything starts
}

// OutStep is the decision on one table out.
type OutStep struct {
	Out        pipeline.Out
	Key        TableKey
	Locked     sinks.SnapshotID // L, "" without an entry
	Head       sinks.SnapshotID // H, "" without a head
	Rel        Relation
	HeadBy     string           // run and revision of the head, where pipe made it: "run R of revision G"
	Base       sinks.SnapshotID // what a run builds on
	BaseDigest fingerprint.Digest
	BaseRows   int64
	Reuse      sinks.SnapshotID // reuse: the snapshot that stands
	Keep       sinks.SnapshotID // a run whose rows have the digest KeepDigest keeps this snapshot instead of making one
	KeepDigest fingerprint.Digest
	Moves      bool // an up-to-date or reused out whose head would be moved to it
}

// Stop is why a run ends with exit status 4 before anything runs.
type Stop struct {
	Table string
	Msg   string
	Hint  string
}

// Plan is all steps in the graph's order.
type Plan struct {
	Steps []*Step
	Ref   string
}

// Step gives the step of a stage, or nil.
func (p *Plan) Step(stage string) *Step {
	for _, s := range p.Steps {
		if s.Stage.Name == stage {
			return s
		}
	}
	return nil
}

// UpToDate reports whether a run would do nothing, publishing included.
func (p *Plan) UpToDate() bool {
	for _, s := range p.Steps {
		if s.Status != UpToDate && s.Status != Frozen {
			return false
		}
		for _, o := range s.Outs {
			if o.Moves {
				return false
			}
		}
	}
	return true
}
