package plan

import (
	"bufio"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"pipe/lockfile"
	"pipe/pipeline"
	"pipe/pipeline/fingerprint"
	"pipe/sinks"
)

// A vector is one decision of the executable model (model/vectors.py) with all that it looked at.
type vector struct {
	Scenario string
	Kind     string
	Ask      struct {
		Stage         string
		Accept, Force bool
	}
	Answer struct {
		Status   string
		Base     map[string]string
		Reuse    map[string]string
		Conflict bool
		Moves    []struct{ Table, From, To string }
	}
	World struct {
		Stages []struct {
			Name string
			Outs []struct {
				Table string
				Mode  pipeline.Mode
			}
			Deps  []string
			Param bool
			Code  int
		}
		P        int
		Ref      string
		Detached bool
		Tables   map[string]struct {
			Refs      map[string]string
			Published string
			Snapshots []struct {
				ID, Parent, Op, Digest, Run, Rev string
				FP                               *modelInputs
				Rows                             int64
				ParentDigest                     string `json:"parent_digest"`
				ParentRows                       int64  `json:"parent_rows"`
			}
		}
		Lock, Entries map[string]modelEntry
		Names         [][]string
		Turned        [][]string
		Contains      []string
	}
}

type modelInputs struct {
	Stage   string
	Code    int
	P       *int
	Deps    []string
	Parents map[string]string
}

type modelEntry struct {
	FP   *modelInputs
	Outs []struct {
		Table, ID, Digest string
		Rows              int64
	}
}

func key(table string) TableKey { return TableKey{DefaultSink, "m." + table} }

func (v *vector) graph(t *testing.T) *pipeline.Graph {
	t.Helper()
	var b strings.Builder
	b.WriteString("stages:\n")
	for _, s := range v.World.Stages {
		fmt.Fprintf(&b, "  %s:\n    use: model\n    with: {code: %d}\n", s.Name, s.Code)
		if s.Param {
			b.WriteString("    params: [p]\n")
		}
		if len(s.Deps) > 0 {
			b.WriteString("    deps:\n")
			for _, d := range s.Deps {
				fmt.Fprintf(&b, "    - {table: m.%s}\n", d)
			}
		}
		b.WriteString("    outs:\n")
		for _, o := range s.Outs {
			fmt.Fprintf(&b, "    - {table: m.%s, mode: %s}\n", o.Table, o.Mode)
		}
	}
	g, err := pipeline.Load(fstest.MapFS{
		"pipeline.yaml": {Data: []byte(b.String())},
		"params.yaml":   {Data: fmt.Appendf(nil, "p: %d\n", v.World.P)},
	}, "pipeline.yaml")
	if err != nil {
		t.Fatalf("%s\n%v", b.String(), err)
	}
	return g
}

// inputs gives the product's inputs for the model's: the stage's present ones with the code, the param and the digests put in.
func (v *vector) inputs(g *pipeline.Graph, m *modelInputs) fingerprint.Inputs {
	if m == nil {
		return nil
	}
	var in fingerprint.Inputs
	s := g.Stage(m.Stage)
	for _, l := range s.Def {
		value := l.Value
		if l.Name == "with.code" {
			value = fmt.Sprint(m.Code)
		}
		in = append(in, fingerprint.Input{Kind: fingerprint.Def, Name: l.Name, Value: value})
	}
	if m.P != nil {
		in = append(in, fingerprint.Input{Kind: fingerprint.Param, Name: "p", Value: fmt.Sprint(*m.P)})
	}
	for i, d := range m.Deps {
		in = append(in, fingerprint.Input{Kind: fingerprint.Table, Name: s.Deps[i].Table, Value: d})
	}
	parents := map[TableKey]fingerprint.Digest{}
	for t, d := range m.Parents {
		parents[key(t)] = fingerprint.Digest(d)
	}
	in.Sort()
	return withParents(in, parents)
}

func (v *vector) entry(g *pipeline.Graph, m modelEntry) *lockfile.Entry {
	e := &lockfile.Entry{Inputs: v.inputs(g, m.FP)}
	if m.FP != nil {
		e.Fingerprint = e.Inputs.Sum()
	}
	for _, o := range m.Outs {
		e.Outs = append(e.Outs, lockfile.Out{
			Table: "m." + o.Table, Sink: DefaultSink, Snapshot: o.ID, Digest: fingerprint.Digest(o.Digest), Rows: o.Rows,
		})
	}
	e.Sort()
	return e
}

func (v *vector) world(g *pipeline.Graph) *World {
	w := &World{
		Graph: g, Lock: &lockfile.Lock{Stages: map[string]*lockfile.Entry{}}, Tables: map[TableKey]*sinks.Table{}, Ref: v.World.Ref,
		Entries: map[string]*lockfile.Entry{}, Unknown: map[string]bool{}, Held: map[TableKey]bool{}, Content: map[sinks.Target]Content{},
		History: &modelHistory{v},
	}
	for n, e := range v.World.Lock {
		w.Lock.Stages[n] = v.entry(g, e)
	}
	for n, e := range v.World.Entries {
		w.Entries[n] = v.entry(g, e)
	}
	for name, m := range v.World.Tables {
		k := key(name)
		w.Held[k] = v.World.Detached
		if len(m.Snapshots) == 0 {
			continue
		}
		t := &sinks.Table{Name: k.Table, UUID: "u-" + name, Refs: map[string]sinks.SnapshotID{}, Published: map[string]sinks.SnapshotID{"main": sinks.SnapshotID(m.Published)}}
		for r, id := range m.Refs {
			t.Refs[r] = sinks.SnapshotID(id)
		}
		for _, s := range m.Snapshots {
			x := sinks.Snapshot{ID: sinks.SnapshotID(s.ID), Parent: sinks.SnapshotID(s.Parent), Op: sinks.Op(s.Op), Rows: s.Rows}
			if s.FP != nil {
				x.Stamp = &sinks.Stamp{
					Fingerprint: v.inputs(g, s.FP).Sum(), Digest: fingerprint.Digest(s.Digest), Rows: s.Rows, Run: s.Run,
					ParentDigest: fingerprint.Digest(s.ParentDigest), ParentRows: s.ParentRows, Revision: s.Rev,
				}
			} else {
				// What a scan of foreign rows would find.
				w.Content[sinks.Target{Table: k.String(), Snapshot: x.ID}] = Content{Digest: fingerprint.Digest(s.Digest), Rows: s.Rows}
			}
			t.Snapshots = append(t.Snapshots, x)
		}
		w.Tables[k] = t
	}
	return w
}

type modelHistory struct{ v *vector }

func (h *modelHistory) Names(k TableKey, id sinks.SnapshotID) bool {
	return slices.ContainsFunc(h.v.World.Names, func(n []string) bool { return key(n[0]) == k && n[1] == string(id) })
}

func (h *modelHistory) TurnedAway(stage string, k TableKey, id sinks.SnapshotID) bool {
	return slices.ContainsFunc(h.v.World.Turned, func(n []string) bool { return n[0] == stage && key(n[1]) == k && n[2] == string(id) })
}

func (h *modelHistory) Contains(rev string) bool { return slices.Contains(h.v.World.Contains, rev) }
func (h *modelHistory) Revision() string         { return "none" }

// TestDecisionsOfTheModel replays what the model decided: the status of a stage, what an append is built on, which snapshots are
// reused, which heads move.
func TestDecisionsOfTheModel(t *testing.T) {
	f, err := os.Open("testdata/decisions.jsonl.gz")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(z)
	lines.Buffer(nil, 1<<24)
	n, bad := 0, map[string]int{}
	for lines.Scan() {
		n++
		var v vector
		if err := json.Unmarshal(lines.Bytes(), &v); err != nil {
			t.Fatal(err)
		}
		want, got := v.want(), v.decideHere(t)
		if d := cmp.Diff(want, got); d != "" {
			bad[v.Scenario]++
			if bad[v.Scenario] <= 2 {
				t.Errorf("line %d, scenario %s, %s %+v (-model +pipe):\n%s\n%s", n, v.Scenario, v.Kind, v.Ask, d, lines.Text())
			}
		}
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
	if n < 3000 {
		t.Errorf("only %d decisions were replayed", n)
	}
	if len(bad) > 0 {
		t.Errorf("of %d decisions differ, by scenario: %v", n, bad)
	}
}

func (v *vector) want() []string {
	if v.Kind == "moves" {
		if v.Answer.Conflict {
			return []string{"conflict"}
		}
		var out []string
		for _, m := range v.Answer.Moves {
			out = append(out, fmt.Sprintf("move %s %q -> %q", m.Table, m.From, m.To))
		}
		slices.Sort(out)
		return out
	}
	out := []string{v.Answer.Status}
	for _, s := range v.World.Stages {
		if s.Name != v.Ask.Stage {
			continue
		}
		for _, o := range s.Outs {
			if b, ok := v.Answer.Base[o.Table]; ok {
				out = append(out, fmt.Sprintf("base of %s %q", o.Table, b))
			}
			if r, ok := v.Answer.Reuse[o.Table]; ok {
				out = append(out, fmt.Sprintf("reuse of %s %q", o.Table, r))
			}
		}
	}
	return out
}

func (v *vector) decideHere(t *testing.T) []string {
	g := v.graph(t)
	w := v.world(g)
	if v.Kind == "moves" {
		all := map[string]bool{}
		for _, s := range g.Stages {
			all[s.Name] = true
		}
		mv, err := w.Moves(all, nil)
		if err != nil {
			return []string{"conflict"}
		}
		var out []string
		for _, m := range mv[DefaultSink] {
			out = append(out, fmt.Sprintf("move %s %q -> %q", strings.TrimPrefix(m.Table, "m."), m.From, m.To))
		}
		slices.Sort(out)
		return out
	}
	st := w.Decide(g.Stage(v.Ask.Stage), Choice{Force: v.Ask.Force, Accept: v.Ask.Accept})
	out := []string{string(st.Status)}
	for _, o := range st.Outs {
		name := strings.TrimPrefix(o.Key.Table, "m.")
		if st.Status == Stale && o.Out.Mode == pipeline.Append {
			out = append(out, fmt.Sprintf("base of %s %q", name, o.Base))
		}
		if st.Status == Reuse {
			out = append(out, fmt.Sprintf("reuse of %s %q", name, o.Reuse))
		}
	}
	return out
}
