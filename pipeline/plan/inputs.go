package plan

import (
	"sort"
	"strconv"
	"strings"

	"pipe/internal/diag"
	"pipe/lockfile"
	"pipe/pipeline"
	"pipe/pipeline/fingerprint"
	"pipe/sinks"
)

// wanted is what the inputs of a stage are now, the parents of its appends aside.
type wanted struct {
	inputs  fingerprint.Inputs // sorted; without the unknown ones
	unknown []string           // stages above whose outcome is open
	missing diag.List
}

// inputs walks everything that decides a rerun, once.
func (w *World) inputs(s *pipeline.Stage) wanted {
	var x wanted
	add := func(kind, name, value, from string) {
		x.inputs = append(x.inputs, fingerprint.Input{Kind: kind, Name: name, Value: value, From: from})
	}
	for _, l := range s.Def {
		add(fingerprint.Def, l.Name, l.Value, l.From)
	}
	// Version 1 writes no line, so that a kind may begin without one and an unchanged stage keeps its fingerprint.
	if v := w.Kinds[s.Kind]; v > 1 {
		add(fingerprint.Def, "version of "+s.Kind, strconv.Itoa(v), "")
	}
	for _, p := range s.Params {
		name := p.Name
		if p.File != "params.yaml" {
			name = p.File + ":" + p.Name
		}
		if p.Value == nil {
			x.missing = append(x.missing, &diag.Error{Exit: diag.Usage, Pos: p.Pos, Stage: s.Name, Msg: "param " + p.Name + " is not in " + p.File})
			continue
		}
		add(fingerprint.Param, name, p.Value.Canonical(), "")
	}
	for _, v := range s.Env {
		if v.Inherit {
			value, ok := w.Env[v.Name]
			if !ok {
				value = "unset"
			}
			add(fingerprint.Env, v.Name, value, "")
		}
	}
	for _, d := range s.Deps {
		if d.Table != "" {
			w.tableInput(s, d, &x, add)
		} else {
			w.fileInput(s, d, &x, add)
		}
	}
	x.inputs.Sort()
	x.inputs = unique(x.inputs)
	return x
}

// unique drops repeated labels of a sorted list: naming one dep or param twice says nothing new.
func unique(in fingerprint.Inputs) fingerprint.Inputs {
	out := in[:0]
	for i, v := range in {
		if i == 0 || v.Kind != in[i-1].Kind || v.Name != in[i-1].Name {
			out = append(out, v)
		}
	}
	return out
}

func (w *World) fileInput(s *pipeline.Stage, d pipeline.Dep, x *wanted, add func(kind, name, value, from string)) {
	made := false
	for _, up := range w.Graph.Upstream(s.Name) {
		if makes(w.Graph.Stage(up), d) {
			made = true
			if w.Unknown[up] {
				x.unknown = append(x.unknown, up)
				return
			}
		}
	}
	f, ok := w.Files[d.Path]
	switch {
	case !ok || f.Missing:
		e := &diag.Error{Exit: diag.Usage, Pos: d.Pos, Stage: s.Name, Msg: "stage " + s.Name + " needs " + d.Path + ", which does not exist"}
		if d.Glob {
			e.Msg = "stage " + s.Name + " needs " + d.Path + ", which no file matches"
		}
		if made {
			e.Hint = "run the stage that makes it first: pipe repro " + s.Name
		}
		x.missing = append(x.missing, e)
	case f.Err != "":
		x.missing = append(x.missing, &diag.Error{Exit: diag.Usage, Pos: d.Pos, Stage: s.Name, Msg: "stage " + s.Name + " needs " + d.Path + ": " + f.Err})
	default:
		add(fingerprint.Dep, d.Path, string(f.Digest), "")
	}
}

// makes reports whether a file out of the stage is, lies under or contains the dep.
func makes(s *pipeline.Stage, d pipeline.Dep) bool {
	for _, o := range s.Outs {
		if o.Path == "" {
			continue
		}
		if d.Glob || o.Path == d.Path || strings.HasPrefix(o.Path, d.Path+"/") || strings.HasPrefix(d.Path, o.Path+"/") || d.Path == "." {
			return true
		}
	}
	return false
}

func (w *World) tableInput(s *pipeline.Stage, d pipeline.Dep, x *wanted, add func(kind, name, value, from string)) {
	key := TableKey{d.Sink, d.Table}
	if p := w.Graph.Producer(d.Sink, d.Table); p != nil && d.At == "" {
		if w.Unknown[p.Name] {
			x.unknown = append(x.unknown, p.Name)
			return
		}
		if o := tableOut(w.entry(p.Name), key); o != nil {
			add(fingerprint.Table, key.String(), string(o.Digest), "")
			return
		}
		x.missing = append(x.missing, (&diag.Error{
			Exit: diag.Usage, Pos: d.Pos, Stage: s.Name,
			Msg: "stage " + s.Name + " needs " + key.String() + ", which stage " + p.Name + " has not made yet",
		}).With("pipe repro %s", p.Name))
		return
	}
	id, why := w.source(d)
	if why != "" {
		x.missing = append(x.missing, &diag.Error{Exit: diag.Usage, Pos: d.Pos, Stage: s.Name, Msg: "stage " + s.Name + " needs " + key.String() + why})
		return
	}
	add(fingerprint.Table, key.String(), id, "")
}

// source gives the identity of a table that no stage here makes: the digest where pipe wrote its newest snapshot that is no
// compaction, else the table's uuid and that snapshot's id.
func (w *World) source(d pipeline.Dep) (id, why string) {
	t := w.Tables[TableKey{d.Sink, d.Table}]
	if t == nil {
		return "", ", which does not exist"
	}
	at := w.sourceSnapshot(d)
	if at == "" {
		if d.At != "" {
			return "", " at " + d.At + ", which is not there"
		}
		return "uuid " + t.UUID + " empty", ""
	}
	s := belowCompactions(t, at)
	if s.Stamp != nil {
		return string(s.Stamp.Digest), ""
	}
	return "uuid " + t.UUID + " snapshot " + string(s.ID), ""
}

// sourceSnapshot gives the snapshot at which a source is read: the pinned one, else the head.
func (w *World) sourceSnapshot(d pipeline.Dep) sinks.SnapshotID {
	t := w.Tables[TableKey{d.Sink, d.Table}]
	if d.At == "" {
		return t.Head(w.Ref)
	}
	if s := t.Snapshot(sinks.SnapshotID(d.At)); s != nil {
		return s.ID
	}
	return t.Head(d.At)
}

// ReadAt gives the snapshot at which a stage reads a table dep, once everything above it is known; "" if there is none. A dep made
// by this pipeline is read at its producer's entry, only a source at its head.
func (w *World) ReadAt(d pipeline.Dep) sinks.SnapshotID {
	key := TableKey{d.Sink, d.Table}
	if p := w.Graph.Producer(d.Sink, d.Table); p != nil && d.At == "" {
		e := w.entry(p.Name)
		if e == nil {
			return ""
		}
		return w.standing(p, e)[key]
	}
	if w.Tables[key] == nil {
		return ""
	}
	return w.sourceSnapshot(d)
}

// entry gives what is known of a stage's last run: this run's entry, else the lock's.
func (w *World) entry(stage string) *lockfile.Entry {
	if e := w.Entries[stage]; e != nil {
		return e
	}
	return w.Lock.Stages[stage]
}

func tableOut(e *lockfile.Entry, key TableKey) *lockfile.Out {
	if e == nil {
		return nil
	}
	for i, o := range e.Outs {
		if o.Table == key.Table && o.Sink == key.Sink && o.Table != "" {
			return &e.Outs[i]
		}
	}
	return nil
}

func fileOut(e *lockfile.Entry, path string) *lockfile.Out {
	if e == nil {
		return nil
	}
	for i, o := range e.Outs {
		if o.Path == path && path != "" {
			return &e.Outs[i]
		}
	}
	return nil
}

// withParents adds the parents of the appends to the inputs and sorts them.
func withParents(in fingerprint.Inputs, parents map[TableKey]fingerprint.Digest) fingerprint.Inputs {
	out := append(fingerprint.Inputs(nil), in...)
	keys := make([]TableKey, 0, len(parents))
	for k := range parents {
		keys = append(keys, k)
	}
	sort.Slice(keys, func(i, j int) bool { return keys[i].String() < keys[j].String() })
	for _, k := range keys {
		out = append(out, fingerprint.Input{Kind: fingerprint.Parent, Name: k.String(), Value: string(parents[k])})
	}
	out.Sort()
	return out
}

// reasons turns the difference of two lists of inputs into what a user reads.
func reasons(before, after fingerprint.Inputs) []Reason {
	var out []Reason
	for _, c := range fingerprint.Diff(before, after) {
		r := Reason{Kind: c.Kind, Name: c.Name, Old: c.Old, New: c.New, Added: c.Added, Removed: c.Removed}
		switch name, file, ok := strings.Cut(c.From, " in "); {
		case ok && !strings.Contains(c.From, ", "):
			r.Kind, r.Name, r.File, r.In = fingerprint.Param, name, file, c.Name
		case c.Kind == fingerprint.Param:
			r.File = "params.yaml"
			if file, name, ok := strings.Cut(c.Name, ":"); ok {
				r.File, r.Name = file, name
			}
		}
		out = append(out, r)
	}
	return out
}
