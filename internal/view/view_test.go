package view_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"pipe/internal/diag"
	"pipe/internal/view"
	"pipe/lockfile"
	"pipe/pipeline"
	"pipe/pipeline/fingerprint"
	"pipe/pipeline/plan"
	"pipe/pipeline/run"
	"pipe/pipeline/schema"
	"pipe/sinks"
)

// draw gives what a view writes.
func draw(t *testing.T, f func(b *strings.Builder) error) string {
	t.Helper()
	var b strings.Builder
	if err := f(&b); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func want(t *testing.T, got, want string) {
	t.Helper()
	if d := cmp.Diff(strings.TrimPrefix(want, "\n"), got); d != "" {
		t.Errorf("-want +got\n%s", d)
	}
}

// same compares JSON as values, so that white space does not count.
func same(t *testing.T, got, want string) {
	t.Helper()
	var g, w any
	if err := json.Unmarshal([]byte(got), &g); err != nil {
		t.Fatalf("%v in %s", err, got)
	}
	if err := json.Unmarshal([]byte(want), &w); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(w, g); d != "" {
		t.Errorf("-want +got\n%s", d)
	}
}

func TestReason(t *testing.T) {
	long := "sha256:0c9b1f2e" + strings.Repeat("0", 56)
	other := "sha256:77aa41de" + strings.Repeat("1", 56)
	for name, c := range map[string]struct {
		reason plan.Reason
		want   string
	}{
		"a param behind a template": {
			plan.Reason{Kind: "param", Name: "data.num_records", File: "params.yaml", In: "with.rows", Old: "500", New: "1000"},
			"param data.num_records 500 -> 1000 (with.rows)",
		},
		"a tracked param": {plan.Reason{Kind: "param", Name: "top", File: "params.yaml", Old: "1", New: "2"}, "param top 1 -> 2"},
		"another file":    {plan.Reason{Kind: "param", Name: "top", File: "conf.toml", Old: "1", New: "2"}, "param top in conf.toml 1 -> 2"},
		"new":             {plan.Reason{Kind: "param", Name: "top", New: "2", Added: true}, "param top added: 2"},
		"gone":            {plan.Reason{Kind: "param", Name: "top", Old: "2", Removed: true}, "param top removed: 2"},
		"emptied":         {plan.Reason{Kind: "param", Name: "top", Old: "2"}, `param top 2 -> ""`},
		"a definition":    {plan.Reason{Kind: "def", Name: "cmd", Old: "a\nb", New: "c\x1b[31m"}, `def cmd a\nb -> c\x1b[31m`},
		"a file":          {plan.Reason{Kind: "dep", Name: "in.csv", Old: long, New: other}, "dep in.csv 0c9b1f2e -> 77aa41de"},
		"a table": {
			plan.Reason{Kind: "table", Name: "p.t", Old: "1:" + long[7:], New: "uuid 5 snapshot 6"},
			"table p.t 1:0c9b1f2e -> uuid 5 snapshot 6",
		},
		"a base":    {plan.Reason{Kind: "parent", Name: "p.t", Old: "none", New: "1:" + long[7:]}, "parent p.t none -> 1:0c9b1f2e"},
		"above":     {plan.Reason{Kind: "upstream", Name: "events", Text: "runs first"}, "events runs first"},
		"an out":    {plan.Reason{Kind: "out", Name: "a.txt", Text: "missing"}, "out a.txt missing"},
		"no entry":  {plan.Reason{Kind: "entry", Name: "events", Text: "no entry in pipeline.lock"}, "no entry in pipeline.lock"},
		"cut short": {plan.Reason{Kind: "def", Name: "cmd", Old: strings.Repeat("x", 80), New: "y"}, "def cmd " + strings.Repeat("x", 59) + "… -> y"},
	} {
		t.Run(name, func(t *testing.T) { want(t, view.Reason(c.reason), c.want) })
	}
}

func stage(name string, outs ...pipeline.Out) *pipeline.Stage {
	return &pipeline.Stage{Name: name, Outs: outs}
}

func table(name string, mode pipeline.Mode) pipeline.Out {
	return pipeline.Out{Table: name, Sink: "lake", Mode: mode}
}

func outStep(o pipeline.Out, rel plan.Relation) plan.OutStep {
	return plan.OutStep{Out: o, Key: plan.TableKey{Sink: o.Sink, Table: o.Table}, Locked: "11", Rel: rel}
}

// stalePlan is a plan of the events example after an edit of its param, and a third stage that is left alone.
func stalePlan() *plan.Plan {
	events, types := table("prod.events", pipeline.Append), table("prod.events_by_type", pipeline.Replace)
	first := outStep(events, plan.Ahead)
	first.HeadBy, first.BaseRows = "run R of revision G", 500
	return &plan.Plan{Ref: "main", Steps: []*plan.Step{
		{
			Stage: stage("events", events), Status: plan.Stale, Outs: []plan.OutStep{first},
			Why: []plan.Reason{
				{Kind: "param", Name: "data.num_records", File: "params.yaml", In: "with.rows", Old: "500", New: "1000"},
				{Kind: "always", Name: "events", Text: "always runs"},
			},
			Notes: []string{"these inputs were appended to prod.events before, run Q"},
		},
		{
			Stage: stage("events_by_type", types), Status: plan.Pending, Outs: []plan.OutStep{outStep(types, plan.Same)},
			Why: []plan.Reason{{Kind: "upstream", Name: "events", Text: "runs first"}},
		},
		{Stage: stage("other"), Status: plan.UpToDate},
	}}
}

func TestStatus(t *testing.T) {
	got := draw(t, func(b *strings.Builder) error { return view.Status(b, stalePlan(), view.StatusOptions{}) })
	want(t, got, `
events          stale    param data.num_records 500 -> 1000 (with.rows) (+1 more)
    prod.events: head is ahead: run R of revision G
    note: these inputs were appended to prod.events before, run Q
events_by_type  pending  events runs first
3 stages: 1 stale, 1 pending, 1 up to date.
`)
}

func TestStatusWhyNamesEveryLeaf(t *testing.T) {
	got := draw(t, func(b *strings.Builder) error {
		return view.Status(b, stalePlan(), view.StatusOptions{Why: true, All: true})
	})
	want(t, got, `
events          stale
    param data.num_records 500 -> 1000 (with.rows)
    always runs
    prod.events: head is ahead: run R of revision G
    note: these inputs were appended to prod.events before, run Q
events_by_type  pending
    events runs first
other           up to date
3 stages: 1 stale, 1 pending, 1 up to date.
`)
}

func TestDrySaysHowMuchIsAddedToWhat(t *testing.T) {
	got := draw(t, func(b *strings.Builder) error {
		return view.Status(b, stalePlan(), view.StatusOptions{Dry: true})
	})
	want(t, got, `
events          will run  param data.num_records 500 -> 1000 (with.rows) (+1 more)
    prod.events: head is ahead: run R of revision G
    prod.events: rows are added to 500 rows
    note: these inputs were appended to prod.events before, run Q
events_by_type  may run   events runs first
3 stages: 1 will run, 1 may run, 1 up to date.
`)
}

func TestUpToDateIsOneLine(t *testing.T) {
	p := &plan.Plan{Steps: []*plan.Step{{Stage: stage("a"), Status: plan.UpToDate}, {Stage: stage("b"), Status: plan.UpToDate}}}
	want(t, draw(t, func(b *strings.Builder) error { return view.Status(b, p, view.StatusOptions{}) }), "Up to date: 2 stages.\n")
}

func TestUpToDateWithAHeadElsewhereSaysWhere(t *testing.T) {
	o := outStep(table("prod.events", pipeline.Append), plan.Ahead)
	o.HeadBy = "run R of revision G"
	p := &plan.Plan{Steps: []*plan.Step{{Stage: stage("events"), Status: plan.UpToDate, Outs: []plan.OutStep{o}}}}
	show := func() string {
		return draw(t, func(b *strings.Builder) error { return view.Status(b, p, view.StatusOptions{}) })
	}
	want(t, show(), `
events  up to date
    prod.events: head is ahead: run R of revision G
Up to date: 1 stage.
`)
	p.Steps[0].Outs[0].Moves = true
	want(t, show(), `
events  up to date
    prod.events: head is ahead: run R of revision G; it will be moved
1 stage: 1 up to date; 1 head to be moved.
`)
}

func TestDivergedSaysWhatToDo(t *testing.T) {
	o := outStep(table("prod.events", pipeline.Append), plan.Foreign)
	p := &plan.Plan{Steps: []*plan.Step{{
		Stage: stage("events"), Status: plan.Diverged, Outs: []plan.OutStep{o},
		Why:  []plan.Reason{{Kind: "head", Name: "prod.events", Text: "the head of prod.events was made by another writer"}},
		Stop: &plan.Stop{Table: "prod.events", Msg: "m", Hint: "pipe repro --accept prod.events"},
	}}}
	got := draw(t, func(b *strings.Builder) error { return view.Status(b, p, view.StatusOptions{}) })
	want(t, got, `
events  diverged  the head of prod.events was made by another writer
    hint: pipe repro --accept prod.events
1 stage: 1 diverged.
`)
}

func TestStatusJSON(t *testing.T) {
	p := stalePlan()
	p.Steps[0].Why = p.Steps[0].Why[:1]
	p.Steps[0].Notes, p.Steps[0].Outs[0].HeadBy = nil, ""
	p.Steps = p.Steps[:1]
	p.Steps[0].Stage.Outs = append(p.Steps[0].Stage.Outs, pipeline.Out{Path: "report.html"})
	lock := &lockfile.Lock{Stages: map[string]*lockfile.Entry{"events": {Outs: []lockfile.Out{
		{Table: "prod.events", Sink: "lake", Snapshot: "6511054353144073012", Digest: "1:77aa", Rows: 500},
		{Path: "report.html", Digest: "sha256:0c9b", Size: 8121},
	}}}}
	same(t, draw(t, func(b *strings.Builder) error { return view.StatusJSON(b, p, lock) }), `
{"up_to_date": false, "ref": "main", "stages": [{"name": "events", "status": "stale",
  "why": [{"kind": "param", "name": "data.num_records", "file": "params.yaml", "in": "with.rows", "old": "500", "new": "1000"}],
  "outs": [{"table": "prod.events", "sink": "lake", "snapshot": "6511054353144073012", "digest": "1:77aa", "rows": 500, "head": "ahead"},
           {"path": "report.html", "digest": "sha256:0c9b", "size": 8121}]}]}`)
}

func TestStatusJSONOfNothing(t *testing.T) {
	got := draw(t, func(b *strings.Builder) error { return view.StatusJSON(b, &plan.Plan{}, &lockfile.Lock{}) })
	same(t, got, `{"up_to_date": true, "stages": []}`)
}

func moved(table string, rows, added int64) run.MoveInfo {
	return run.MoveInfo{TableKey: plan.TableKey{Sink: "lake", Table: table}, From: "1", To: "2", Rows: rows, Added: added}
}

func TestTheLastLineOfARun(t *testing.T) {
	outcomes := func(all ...run.Outcome) *run.Result {
		r := &run.Result{}
		for _, o := range all {
			r.Stages = append(r.Stages, run.StageResult{Outcome: o})
		}
		return r
	}
	held := outcomes(run.Ran)
	held.Held = true
	var many []run.MoveInfo
	for range 12 {
		many = append(many, moved("p.t", 1, 0))
	}
	for name, c := range map[string]struct {
		result *run.Result
		moves  []run.MoveInfo
		want   string
	}{
		"published": {
			outcomes(run.Ran, run.Ran),
			[]run.MoveInfo{moved("prod.events", 1500, 1000), moved("prod.events_by_type", 4, 0)},
			"Published prod.events (+1000 rows, 1500), prod.events_by_type (4 rows).",
		},
		"one row":    {outcomes(run.Ran), []run.MoveInfo{moved("p.t", 1, 1)}, "Published p.t (+1 row, 1)."},
		"many":       {outcomes(run.Ran), many, "Published " + strings.Repeat("p.t (1 row), ", 8) + "and 4 more."},
		"nothing":    {outcomes(run.UpToDate, run.Frozen), nil, "Up to date: 2 stages."},
		"files only": {outcomes(run.Ran, run.UpToDate, run.Ran), nil, "Done: 2 ran, 1 up to date."},
		"equal rows": {outcomes(run.RanSame, run.UpToDate), nil, "Done: 1 same, 1 up to date."},
		"held":       {held, nil, "Done: 1 ran; nothing is published."},
	} {
		t.Run(name, func(t *testing.T) {
			want(t, draw(t, func(b *strings.Builder) error { return view.Result(b, c.result, c.moves) }), c.want+"\n")
		})
	}
}

func TestResultJSON(t *testing.T) {
	failed := &diag.Error{Exit: diag.Failed, Stage: "b", Pos: diag.Pos{File: "pipeline.yaml", Line: 4, Col: 3}, Msg: "exit status 3", Hint: "look"}
	r := &run.Result{Run: "01J", Published: true, Seconds: 0.30049, Stages: []run.StageResult{
		{Name: "events", Outcome: run.Ran, Seconds: 0.2, Outs: []run.OutResult{{
			Out:   lockfile.Out{Table: "prod.events", Sink: "lake", Snapshot: "6511054353144073012", Digest: "1:77aa", Rows: 1500},
			Added: 1000,
		}}},
		{Name: "b", Outcome: run.Failed, Err: failed},
	}}
	same(t, draw(t, func(b *strings.Builder) error { return view.ResultJSON(b, r, diag.List{failed}) }), `
{"run": "01J", "published": true, "seconds": 0.3, "stages": [
  {"name": "events", "result": "ran", "seconds": 0.2, "error": null,
   "outs": [{"table": "prod.events", "sink": "lake", "snapshot": "6511054353144073012", "digest": "1:77aa", "rows": 1500, "added": 1000}]},
  {"name": "b", "result": "failed", "seconds": 0, "error": "pipeline.yaml:4:3: exit status 3", "outs": []}],
 "errors": [{"message": "exit status 3", "stage": "b", "file": "pipeline.yaml", "line": 4, "column": 3, "hint": "look"}]}`)
}

func TestErrors(t *testing.T) {
	list := diag.List{
		{Pos: diag.Pos{File: "pipeline.yaml", Line: 3, Col: 5}, Msg: `unknown key "dep"`, Line: "    dep: [x]", Width: 3, Hint: "did you mean deps?"},
		{Msg: "disk full"},
		{Stage: "events", Msg: "exit status 3; its last lines:\n  oh no\n"},
		{Stage: "events", Msg: "stage events needs a.txt"},
	}
	want(t, draw(t, func(b *strings.Builder) error { return view.Errors(b, view.Style{}, list) }), `
error: pipeline.yaml:3:5: unknown key "dep"
   3 |     dep: [x]
     |     ^^^
hint: did you mean deps?
error: disk full
error: stage events: exit status 3; its last lines:
  oh no
error: stage events needs a.txt
`)
	plain := draw(t, func(b *strings.Builder) error { return view.Errors(b, view.Style{}, errors.New("raw")) })
	want(t, plain, "error: raw\n")
	coloured := draw(t, func(b *strings.Builder) error { return view.Errors(b, view.Style{Color: true}, errors.New("raw")) })
	want(t, coloured, "\x1b[31merror:\x1b[0m raw\n")
}

func TestErrorsJSON(t *testing.T) {
	err := diag.Errorf(diag.Pos{File: "pipeline.yaml", Line: 3, Col: 5}, "a -> b").With("c")
	same(t, draw(t, func(b *strings.Builder) error { return view.ErrorsJSON(b, err) }),
		`{"errors": [{"message": "a -> b", "file": "pipeline.yaml", "line": 3, "column": 5, "hint": "c"}]}`)
}

func TestShow(t *testing.T) {
	cells := func(id, text string) []view.Cell {
		return []view.Cell{{Text: id, JSON: json.RawMessage(id)}, {Text: text, JSON: json.RawMessage(`"` + text + `"`)}}
	}
	v := view.Table{
		Key: plan.TableKey{Sink: "lake", Table: "prod.t"}, Location: "/w/prod/t", Metadata: "/w/prod/t/metadata/1.json", Ref: "main",
		Snapshot: &sinks.Snapshot{
			ID: "6511054353144073012", Parent: "5", Op: sinks.OpAppend, Rows: 500,
			Stamp: &sinks.Stamp{Stage: "events", Run: "01J", Revision: "abc", Fingerprint: "1:00", Digest: "1:77aa", Rows: 500},
		},
		Schema: schema.Schema{Fields: []schema.Field{
			{Name: "id", Type: schema.Type{Kind: schema.Long}, Required: true}, {Name: "日本", Type: schema.Type{Kind: schema.String}},
		}},
		Sample: [][]view.Cell{cells("7", "a"), {{Text: "12345678901234", JSON: json.RawMessage("12345678901234")}, {}}},
	}
	want(t, draw(t, func(b *strings.Builder) error { return view.Show(b, v, view.Style{}) }), `
prod.t
  snapshot  6511054353144073012  (head of main)
  parent    5
  made by   stage events, run 01J, revision abc
  digest    1:77aa
  rows      500
  location  /w/prod/t
  metadata  /w/prod/t/metadata/1.json

            id  日本
 long required  string
--------------  ------
             7  a
12345678901234  NULL
(2 of 500 rows)
`)
	same(t, draw(t, func(b *strings.Builder) error { return view.ShowJSON(b, v) }), `
{"table": "prod.t", "sink": "lake", "location": "/w/prod/t", "metadata": "/w/prod/t/metadata/1.json",
 "snapshot": "6511054353144073012", "parent": "5", "ref": "main", "rows": 500,
 "schema": [{"name": "id", "type": "long", "required": true}, {"name": "日本", "type": "string", "required": false}],
 "summary": {"operation": "append", "pipe.stage": "events", "pipe.run": "01J", "pipe.git-revision": "abc", "pipe.fingerprint": "1:00",
   "pipe.digest": "1:77aa", "pipe.sum": "", "pipe.rows": "500", "pipe.parent-digest": "", "pipe.parent-rows": "0", "pipe.version": ""},
 "sample": [{"id": 7, "日本": "a"}, {"id": 12345678901234, "日本": null}]}`)
}

func TestShowKeepsTheTerminalSafe(t *testing.T) {
	v := view.Table{
		Key: plan.TableKey{Sink: "lake", Table: "p.t"}, Schema: schema.Schema{Fields: []schema.Field{{Name: "s", Type: schema.Type{Kind: schema.String}}}},
		Sample: [][]view.Cell{{{Text: "a\x1b]0;title\x07\nb", JSON: json.RawMessage(`"x"`)}}},
	}
	got := draw(t, func(b *strings.Builder) error { return view.Show(b, v, view.Style{}) })
	if strings.ContainsAny(got, "\x1b\x07") || !strings.Contains(got, `a\x1b]0;title\x07\nb`) {
		t.Errorf("a value drives the terminal: %q", got)
	}
}

func TestFingerprintIsTheHashOfWhatIsShown(t *testing.T) {
	in := fingerprint.Inputs{
		{Kind: "def", Name: "cmd", Value: "echo \"a\"\n"}, {Kind: "param", Name: "n", Value: "1", From: "shown, never hashed"},
	}
	s := &plan.Step{Stage: stage("a"), Inputs: in, Fingerprint: in.Sum()}
	got := draw(t, func(b *strings.Builder) error { return view.Fingerprint(b, s) })
	// sha256sum of the first three lines.
	want(t, got, `
pipe fingerprint 1
def "cmd" "echo \"a\"\n"
param "n" "1"
= 1:f16b468a70f6b787311c1f4d2ae4fec9778794521829baf6b372aaf6f7aca23c
`)
}

func TestFingerprintOfAPendingStageNamesWhatRunsFirst(t *testing.T) {
	s := &plan.Step{
		Stage: stage("b"), Status: plan.Pending, Inputs: fingerprint.Inputs{{Kind: "def", Name: "cmd", Value: "x"}},
		Why: []plan.Reason{{Kind: "upstream", Name: "a", Text: "runs first"}},
	}
	got := draw(t, func(b *strings.Builder) error { return view.Fingerprint(b, s) })
	want(t, got, "pipe fingerprint 1\ndef \"cmd\" \"x\"\nnot known yet: a runs first\n")
}
