// Package run does what plan decided: it observes, runs stages side by side, stages their snapshots, publishes all heads at one
// instant and saves the lock, in the order of docs/identity.md, section 5, so that a kill at any moment loses nothing and
// duplicates nothing.
//
// It never prints: what happens is told by events.
package run

import (
	"context"
	"io"
	"time"

	"pipe/internal/files"
	"pipe/lockfile"
	"pipe/pipeline"
	"pipe/pipeline/plan"
	"pipe/sinks"
	"pipe/stages"
)

// Project is an open project: everything that a run needs and that does not change while it lasts.
type Project struct {
	Root     string // absolute
	Graph    *pipeline.Graph
	Catalogs map[string]sinks.Catalog // by sink name; only those that the graph uses
	Shared   map[string]bool          // sinks whose catalog is not under the project's own .pipe
	Kinds    map[string]stages.Kind
	Files    *files.Observer
	History  func(keys []plan.TableKey) (plan.History, error) // asked only when a head is not where the lock says
	Revision func() string                                    // HEAD's commit, "+dirty", "none"; asked once, when something is staged
	Detached bool                                             // HEAD names no branch
	ID       func() (string, error)                           // pipe.project: random, made once per project
	Prepare  func() error                                     // makes .pipe ready for writing
	EndGroup func(pid int, start string) error                // ends a process group that a dead run left, if pid still is that process
	Version  string                                           // of pipe
	Environ  []string
	Now      func() time.Time
}

// Options say which stages, and how.
type Options struct {
	Targets    []string // stages, groups, tables, out paths; empty: all
	Single     bool     // -s: only the targets, nothing above them
	Downstream bool     // the targets and what follows them
	Force      bool     // -f
	KeepGoing  bool     // -k
	NoPublish  bool
	NoReuse    bool
	Accept     []string // targets whose heads are taken over
	Ref        string   // "" : main, unless HEAD is detached and the catalog shared
	Jobs       int      // 0: the cores
	OnEvent    func(Event)
	Output     func(stage string) io.Writer // where a stage's output goes beside its log; nil: nowhere
}

// Result says what a run did, stage by stage in the graph's order.
type Result struct {
	Run       string
	Published bool // at least one head moved
	Held      bool // nothing may move: detached HEAD on a shared catalog, or --no-publish
	Stages    []StageResult
	Seconds   float64
}

// Outcome is what became of a stage.
type Outcome string

// The outcomes, in the words of `repro --json`.
const (
	Ran      Outcome = "ran"
	RanSame  Outcome = "same" // ran, rows equal, the old snapshot stays
	Reused   Outcome = "reused"
	UpToDate Outcome = "up to date"
	Failed   Outcome = "failed"
	Skipped  Outcome = "skipped" // something above it failed
	Frozen   Outcome = "frozen"
)

// StageResult is one stage's part of a Result.
type StageResult struct {
	Name    string
	Outcome Outcome
	Seconds float64
	Err     error
	Outs    []OutResult
}

// OutResult is one out of a finished stage.
type OutResult struct {
	lockfile.Out
	Added int64 // append: rows that this run added
	Head  plan.Relation
}

// Event is one thing that happened. Kind says which fields are set.
type Event struct {
	Kind    EventKind
	Time    time.Time
	Run     string
	Stage   string
	Step    *plan.Step // Started, Finished
	Rows    int64      // Progress
	Seconds float64    // Finished, Failed
	Result  *StageResult
	Text    string // Waiting: who holds the mutex; Recovered, Note, Warning: what
	Moves   []MoveInfo
	Err     error
}

// MoveInfo is one head that was moved.
type MoveInfo struct {
	plan.TableKey
	From, To sinks.SnapshotID
	Rows     int64
	Added    int64
}

// EventKind names an event.
type EventKind string

// The events of a run.
const (
	EventWaiting   EventKind = "waiting"   // another process has the project's mutex
	EventRecovered EventKind = "recovered" // a run that was cut off was finished
	EventStarted   EventKind = "started"   // a stage runs
	EventProgress  EventKind = "progress"  // rows so far
	EventFinished  EventKind = "finished"  // a stage ended well, was reused or needed nothing
	EventFailed    EventKind = "failed"    // a stage failed
	EventSkipped   EventKind = "skipped"   // a stage was not tried
	EventPublished EventKind = "published" // heads moved
	EventNote      EventKind = "note"      // something that the user should know
	EventDone      EventKind = "done"
)

// Runner is the face of this package that verbs use; *Project has it.
type Runner interface {
	Status(ctx context.Context, opts Options) (*plan.Plan, error)
	Repro(ctx context.Context, opts Options) (*Result, error)
	Checkout(ctx context.Context, tables []string, on func(Event)) ([]MoveInfo, error)
}
