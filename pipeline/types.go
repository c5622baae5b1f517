// Package pipeline reads a project's definition: pipeline.yaml and the params that its templates use, into a checked graph of
// stages. Load is pure on an fs.FS and reports every mistake of a file at once, with its place.
//
// It never looks at code, data, tables or the lock, and never runs anything.
package pipeline

import (
	"pipe/internal/diag"
	"pipe/pipeline/schema"
)

// Graph is a checked definition: names are unique, every edge leads somewhere, there is no cycle.
type Graph struct {
	Stages    []*Stage          // in file order, after expansion
	Sinks     map[string]*Sink  // at least one
	Publish   string            // defaults.publish: "run" or "stage"
	Files     []string          // what Load read, relative to the root: pipeline.yaml, params.yaml, vars files
	Warn      diag.List         // what is legal and probably not meant (always on an append, an unclosed ${)
	byName    map[string]*Stage // filled by Load
	ups       map[string][]string
	downs     map[string][]string
	producers map[tableName]*Stage
	order     []string
}

// Sink is a configured place for tables.
type Sink struct {
	Name      string
	Format    string            // iceberg, delta, memory (tests)
	Catalog   string            // sql, rest, ... (iceberg)
	Options   map[string]string // uri, warehouse, location and what else the format takes; as written
	Pos       diag.Pos
	OptionPos map[string]diag.Pos
}

// Stage is the definition of one stage: no state and no decision is in it.
type Stage struct {
	Name  string
	Group string // the name in pipeline.yaml of a foreach or matrix stage; "" otherwise
	Desc  string
	Pos   diag.Pos

	Kind   string   // "cmd", "sql" or the name after use:
	Cmd    []string // of a cmd: its scripts, each run in a shell of its own
	CmdPos []diag.Pos
	SQL    string // of a sql stage, as written
	With   *Value // of use:, a map or nil

	Deps    []Dep
	Params  []Param
	Outs    []Out
	Dir     string // wdir relative to the root; "." by default
	Env     []EnvVar
	Secrets []string
	Shell   []string // nil: bash --noprofile --norc -eo pipefail -c

	Frozen, Always bool
	Timeout        float64 // seconds of one attempt; 0: none
	Retries        int
	Publish        string // "run" or "stage"

	// Def is the definition that counts, flattened after templating: kind-neutral keys ("cmd", "with.rows", "out prod.events
	// mode") to canonical text, with the params that a template read. Keys that do not count are not in it.
	Def []Leaf
}

// Leaf is one fact of a definition.
type Leaf struct {
	Name  string
	Value string // canonical text of the typed value (Value.Canonical)
	From  string // "data.num_records in params.yaml", when a template put it there; several joined by ", "
	Pos   diag.Pos
}

// Dep is an input. Exactly one of Path and Table is set.
type Dep struct {
	Path string // relative to the root, cleaned, with slashes; absolute for what lies outside
	Glob bool   // Path is a pattern

	Table   string
	Sink    string
	At      string   // snapshot id or tag; pinned
	Format  string   // parquet (default), arrow, csv, jsonl: how a cmd sees it
	Columns []string // nil: all

	Pos diag.Pos
}

// Param is a tracked param, already resolved.
type Param struct {
	File  string // relative to the root
	Name  string // dotted; with a whole file each leaf becomes one Param
	Value *Value
	Pos   diag.Pos
}

// EnvVar sets a variable, or takes the caller's (Inherit).
type EnvVar struct {
	Name    string
	Value   string
	Inherit bool
}

// Mode says what a run does with the rows that a table has.
type Mode string

// Modes of a table out.
const (
	Replace Mode = "replace"
	Append  Mode = "append"
)

// Out is an output. Exactly one of Path and Table is set.
type Out struct {
	Path    string // relative to the root; absolute for what lies outside
	Cache   bool
	Persist bool

	Table       string
	Sink        string
	Mode        Mode
	Schema      *schema.Schema // nil: the first run's columns
	PartitionBy []schema.Transform
	SortBy      []schema.SortField
	Key         []string
	Properties  map[string]string
	OnDiverge   string // fail, rebase, overwrite

	Pos diag.Pos
}

// Stage gives a stage by name, or nil.
func (g *Graph) Stage(name string) *Stage { return g.byName[name] }

// Upstream gives the direct predecessors of a stage, in file order.
func (g *Graph) Upstream(name string) []string { return g.ups[name] }

// Downstream gives the direct successors of a stage, in file order.
func (g *Graph) Downstream(name string) []string { return g.downs[name] }

// Order gives all stages so that each comes after its upstream; independents in file order (depth first, as `repro -j1` runs them).
func (g *Graph) Order() []string { return g.order }

// Producer gives the stage whose out is this table of this sink, or nil.
func (g *Graph) Producer(sink, table string) *Stage { return g.producers[tableName{sink, table}] }
