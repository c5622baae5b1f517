package pipeline_test

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"pipe/internal/diag"
	"pipe/pipeline"
)

// project is a file system of texts.
func project(files map[string]string) fstest.MapFS {
	fsys := fstest.MapFS{}
	for name, text := range files {
		fsys[name] = &fstest.MapFile{Data: []byte(text)}
	}
	return fsys
}

func load(t *testing.T, files map[string]string) *pipeline.Graph {
	t.Helper()
	g, err := pipeline.Load(project(files), "pipeline.yaml")
	if err != nil {
		t.Fatalf("%s", told(diag.All(err)))
	}
	return g
}

// stage loads a project of one stage, s, whose keys are the text.
func stage(t *testing.T, params, text string) *pipeline.Stage {
	t.Helper()
	files := map[string]string{"pipeline.yaml": "stages:\n  s:\n    " + strings.ReplaceAll(text, "\n", "\n    ") + "\n"}
	if params != "" {
		files["params.yaml"] = params
	}
	return load(t, files).Stages[0]
}

func facts(s *pipeline.Stage) []string {
	var out []string
	for _, l := range s.Def {
		f := l.Name + ": " + l.Value
		if l.From != "" {
			f += "  # " + l.From
		}
		out = append(out, f)
	}
	return out
}

func TestTheRootProject(t *testing.T) {
	g, err := pipeline.Load(os.DirFS(".."), "pipeline.yaml")
	if err != nil {
		t.Fatalf("%s", told(diag.All(err)))
	}
	if diff := cmp.Diff([]string{"events", "events_by_type"}, g.Order()); diff != "" {
		t.Error(diff)
	}
	if p := g.Producer("lake", "prod.events"); p == nil || p.Name != "events" || p.Outs[0].Mode != pipeline.Append {
		t.Errorf("prod.events is made by %+v", p)
	}
	want := []string{
		"cmd: ./by_type.sh 10  # report.top in params.yaml",
		"dep prod.events format: csv",
		"out prod.events_by_type mode: replace",
		"out prod.events_by_type schema event_type: string required",
		"out prod.events_by_type schema n: long required",
	}
	if diff := cmp.Diff(want, facts(g.Stage("events_by_type"))); diff != "" {
		t.Error(diff)
	}
	if !slices.Contains(facts(g.Stage("events")), "with.rows: 500  # data.num_records in params.yaml") {
		t.Errorf("%q", facts(g.Stage("events")))
	}
	if diff := cmp.Diff([]string{"pipeline.yaml", "params.yaml"}, g.Files); diff != "" {
		t.Error(diff)
	}
}

func TestTemplatesInText(t *testing.T) {
	const params = "lr: 1e-4\nzip: 007\nbig: 123456789012345678901\nflag: TRUE\noff: false\nver: 1.10\nhex: 0x1F\nname: 'a b'\nday: 2025-01-01\n" +
		"a: {b: {c: deep}, 'x.y': odd, 1: one}\nl: [first, {k: v}, last]\ntext: '${lr}'\nd-ash_2: z\nnaïve: n\n"
	for _, c := range []struct{ text, want string }{
		{"${lr}", "1e-4"},
		{"x ${lr} y ${ver}", "x 1e-4 y 1.10"},
		{"${zip}${big}", "007123456789012345678901"},
		{"-${flag}-${off}-", "-true-false-"},
		{"a ${hex}", "a 0x1F"},
		{"a ${name}", "a a b"},
		{"a ${day}", "a 2025-01-01"},
		{"a ${a.b.c}", "a deep"},
		{"a ${ a.b.c }", "a deep"},
		{"a ${a[b].c} ${a[b][c]}", "a deep deep"},
		{`a ${a["x.y"]}`, "a odd"},
		{"a ${a.1} ${a[1]}", "a one one"},
		{"a ${l[0]} ${l.0} ${l[-1]} ${l.-1} ${l[1].k}", "a first first last last v"},
		{"a ${d-ash_2} ${naïve}", "a z n"},
		{`a \${lr} ${lr}`, "a ${lr} 1e-4"},
		{`\${lr}`, "${lr}"},
		{`a \\${lr}`, `a \${lr}`},
		{"a $lr $(lr) {lr} $${lr}", "a $lr $(lr) {lr} $1e-4"},
		{"a ${text}", "a ${lr}"},
		{"a }${lr}{", "a }1e-4{"},
	} {
		t.Run(c.text, func(t *testing.T) {
			quoted, err := json.Marshal(c.text)
			if err != nil {
				t.Fatal(err)
			}
			if got := stage(t, params, "cmd: "+string(quoted)).Cmd[0]; got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

func TestATemplateAloneKeepsItsType(t *testing.T) {
	const params = "n: 3\ndata: {rows: 500, cols: [a, {b: 1}], none: null}\nfiles: [x.csv, y.csv]\nflag: true\nwhen: 1h\nout: {table: prod.t, mode: append}\n"
	s := stage(t, params, "use: generate\nwith: {n: \"${n}\", s: \"'${n}'\", d: \"${data}\", \"k${n}\": \"${flag}\"}\ndeps: [in.csv, \"${files}\"]\n"+
		"outs: [\"${out}\"]\nfrozen: ${flag}\ntimeout: ${when}\nretries: ${n}")
	want := []string{
		"out prod.t mode: append  # out.mode in params.yaml",
		"use: generate",
		"with.d.cols[0]: a  # data.cols[0] in params.yaml",
		"with.d.cols[1].b: 1  # data.cols[1].b in params.yaml",
		"with.d.none: null  # data.none in params.yaml",
		"with.d.rows: 500  # data.rows in params.yaml",
		"with.k3: true  # flag in params.yaml",
		"with.n: 3  # n in params.yaml",
		"with.s: '3'  # n in params.yaml",
	}
	if diff := cmp.Diff(want, facts(s)); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	var deps []string
	for _, d := range s.Deps {
		deps = append(deps, d.Path)
	}
	if diff := cmp.Diff([]string{"in.csv", "x.csv", "y.csv"}, deps); diff != "" {
		t.Error(diff)
	}
	if !s.Frozen || s.Timeout != 3600 || s.Retries != 3 {
		t.Errorf("%+v", s)
	}
	if n := s.With.Get("n"); n.Kind != pipeline.Int || n.Pos.File != "pipeline.yaml" || n.Pos.Line != 4 {
		t.Errorf("%+v", n)
	}
}

func TestVarsMergeDeeply(t *testing.T) {
	g := load(t, map[string]string{
		"pipeline.yaml":    "vars: [conf/a.yaml, {data: {c: 3}, env: dev}, b.json, \"b.json\", \"c.toml:x, y\", params.yaml]\nstages:\n  s: {cmd: \"${data.a} ${data.b} ${data.c} ${env} ${j} ${x} ${y.z}\"}\n",
		"params.yaml":      "data: {a: 1}\n",
		"conf/a.yaml":      "data: {b: 2}\n",
		"b.json":           `{"j": 1.50}`,
		"c.toml":           "x = 'tom'\nw = 1\n[y]\nz = 2\n",
		"conf/params.yaml": "unread: [\n",
	})
	want := "cmd: 1 2 3 dev 1.50 tom 2  # data.a in params.yaml, data.b in conf/a.yaml, data.c in pipeline.yaml, env in pipeline.yaml, j in b.json, x in c.toml, y.z in c.toml"
	if diff := cmp.Diff([]string{want}, facts(g.Stages[0])); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	if diff := cmp.Diff([]string{"pipeline.yaml", "params.yaml", "conf/a.yaml", "b.json", "c.toml"}, g.Files); diff != "" {
		t.Error(diff)
	}
}

func TestDefinitionThatCounts(t *testing.T) {
	s := stage(t, "", `cmd: [one, "two\n"]
shell: [sh, -e, -c]
env: {B: 1e-4, A: , C: "x"}
secrets: [TOKEN]
deps: [a.csv, {path: "b/*.csv"}, {table: prod.in, columns: [x, y]}, {table: prod.pin, at: 123, format: jsonl}]
outs:
- {path: o ut, cache: false, persist: true}
- table: prod.out
  mode: append
  schema: {ts: date, id: long   required, m: "map<string,long>", c: {type: int, required: true, doc: a count}}
  partition_by: [days(ts), bucket(4, id)]
  sort_by: [id desc nulls last]
  key: [id]
  properties: {a: b}
  on_diverge: rebase
desc: d
meta: {x: 1}
timeout: 1h
retries: 2
frozen: true
publish: run`)
	want := []string{
		"cmd[0]: one",
		`cmd[1]: "two\n"`,
		"dep prod.in columns[0]: x",
		"dep prod.in columns[1]: y",
		"dep prod.in format: parquet",
		`dep prod.pin at: "123"`,
		"dep prod.pin format: jsonl",
		`env B: "1e-4"`,
		"env C: x",
		`out "o ut": file`,
		"out prod.out key[0]: id",
		"out prod.out mode: append",
		"out prod.out partition_by[0]: day(ts)",
		"out prod.out partition_by[1]: bucket(4, id)",
		"out prod.out schema c: int required",
		"out prod.out schema id: long required",
		"out prod.out schema m: map<string, long>",
		"out prod.out schema ts: date",
		"out prod.out sort_by[0]: id desc",
		"shell[0]: sh",
		"shell[1]: -e",
		"shell[2]: -c",
	}
	if diff := cmp.Diff(want, facts(s)); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	if diff := cmp.Diff([]pipeline.EnvVar{{Name: "B", Value: "1e-4"}, {Name: "A", Inherit: true}, {Name: "C", Value: "x"}}, s.Env); diff != "" {
		t.Error(diff)
	}
}

func TestWhatIsNoChange(t *testing.T) {
	for _, c := range []struct{ name, params, a, b string }{
		{"comments, order of keys, quotes, flow style", "", "cmd: echo a\ndeps: [x, y]\nouts: [o]", "# hi\nouts:\n- 'o'   # the out\ndeps: [\"y\", x]\ncmd: |-\n  echo a"},
		{"defaults written out", "", "cmd: x\ndeps: [{table: a.b}]\nouts: [{table: a.c}, {path: f}]", "cmd: x\nwdir: .\ndeps: [{table: a.b, format: parquet, sink: lake}]\nouts: [{table: a.c, mode: replace, sink: lake, on_diverge: fail}, {path: f, cache: true, persist: false}]\nfrozen: false\nretries: 0\npublish: run"},
		{"a list of one command", "", "cmd: x", "cmd: [x]"},
		{"a constant moved into params", "n: 5", "use: g\nwith: {n: 5}", "use: g\nwith: {n: \"${n}\"}"},
		{"another way to write a number", "n: 1e-4", "use: g\nwith: {n: 0.0001}", "use: g\nwith: {n: \"${n}\"}"},
		{"keys of with in another order", "", "use: g\nwith: {a: 1, b: {c: 2, d: 3}}", "use: g\nwith: {b: {d: 3, c: 2}, a: 1}"},
		{"with that says nothing", "", "use: g", "use: g\nwith: {}"},
		{"what does not count", "", "cmd: x\nouts: [{table: a.b}]", "cmd: x\nouts: [{table: a.b, on_diverge: rebase, desc: d, properties: {a: b}}]\ndesc: d\nmeta: [1]\ntimeout: 5m\nretries: 3\nfrozen: true\nsecrets: [A]\nenv: {B: }"},
		{"other names of one type", "", "cmd: x\nouts: [{table: a.b, schema: {t: timestamp required}, partition_by: [day(t)], sort_by: [t]}]", "cmd: x\nouts: [{table: a.b, schema: {t: {required: true, type: timestamp, doc: d}}, partition_by: [\"days( t )\"], sort_by: [t asc nulls first]}]"},
		{"columns of a schema in another order", "", "cmd: x\nouts: [{table: a.b, schema: {a: int, b: int}}]", "cmd: x\nouts: [{table: a.b, schema: {b: int, a: int}}]"},
		{"format of a dep that no program sees", "", "use: g\ndeps: [{table: a.b}]", "use: g\ndeps: [{table: a.b, format: csv}]"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if diff := cmp.Diff(bare(stage(t, c.params, c.a)), bare(stage(t, c.params, c.b))); diff != "" {
				t.Errorf("(-a +b)\n%s", diff)
			}
		})
	}
}

func TestWhatIsAChange(t *testing.T) {
	const base = "cmd: x\nwdir: sub\nshell: [sh, -c]\nenv: {A: 1}\ndeps: [{table: a.b, format: csv, columns: [x, y], at: v1}]\nouts: [f, {table: a.c, schema: {x: int, y: int}, partition_by: [x], sort_by: [x], key: []}]"
	load := func(t *testing.T, text string) []string {
		t.Helper()
		fsys := project(map[string]string{
			"pipeline.yaml": "sinks:\n  lake: {uri: a, warehouse: b}\n  two: {uri: c, warehouse: d}\nstages:\n  s:\n    " + strings.ReplaceAll(text, "\n", "\n    "),
			"sub/x":         "", "sub2/x": "",
		})
		g, err := pipeline.Load(fsys, "pipeline.yaml")
		if err != nil {
			t.Fatal(err)
		}
		return bare(g.Stages[0])
	}
	seen := map[string]string{}
	for _, c := range []struct{ name, old, new string }{
		{"nothing", "", ""},
		{"cmd", "cmd: x", "cmd: x y"},
		{"spaces in cmd", "cmd: x", "cmd: \"x \""},
		{"two commands", "cmd: x", "cmd: [x, x]"},
		{"use", "cmd: x\n", "use: x\n"},
		{"wdir", "wdir: sub", "wdir: sub2"},
		{"shell", "[sh, -c]", "[sh, -e, -c]"},
		{"env", "A: 1", "A: 2"},
		{"env set or taken", "A: 1", "A: "},
		{"format", "csv", "jsonl"},
		{"columns in another order", "[x, y]", "[y, x]"},
		{"at", "v1", "v2"},
		{"file out", "[f, ", "[g, "},
		{"sink", "table: a.c", "table: a.c, sink: two"},
		{"table", "a.c", "a.d"},
		{"mode", "table: a.c", "table: a.c, mode: append"},
		{"type of a column", "x: int", "x: long"},
		{"required", "y: int", "y: int required"},
		{"column", "y: int", "z: int"},
		{"partitions", "partition_by: [x]", "partition_by: [\"bucket(4, x)\"]"},
		{"sort order", "sort_by: [x]", "sort_by: [x desc]"},
		{"sort column", "sort_by: [x]", "sort_by: [y]"},
	} {
		t.Run(c.name, func(t *testing.T) {
			text := base
			if c.old != "" {
				text = strings.Replace(base, c.old, c.new, 1)
			}
			if strings.Contains(text, "use:") {
				text = strings.Replace(text, "shell: [sh, -c]\n", "", 1)
			}
			def := strings.Join(load(t, text), "\n")
			if other, twice := seen[def]; twice {
				t.Errorf("defines the same as %q", other)
			}
			seen[def] = c.name
		})
	}
}

// bare gives the definition without its origins.
func bare(s *pipeline.Stage) []string {
	var out []string
	for _, l := range s.Def {
		out = append(out, l.Name+": "+l.Value)
	}
	return out
}

func TestDefIsSortedAndItsNamesAreUnique(t *testing.T) {
	for _, s := range load(t, map[string]string{"pipeline.yaml": `
stages:
  a:
    use: x
    with: {b: {c: 1}, "b.c": 2, "b[0]": 3, l: [1, [2], {x: 3}], "": 4, "e": {}}
    outs: ["prod.t mode", {table: prod.t, schema: {a: int, "a b": int, "mode": string}}]
`}).Stages {
		names := make([]string, len(s.Def))
		for i, l := range s.Def {
			names[i] = l.Name
		}
		if !slices.IsSorted(names) || len(slices.Compact(slices.Clone(names))) != len(names) {
			t.Errorf("%q", names)
		}
	}
}

func TestAnchorsAndMerges(t *testing.T) {
	g := load(t, map[string]string{"pipeline.yaml": `
x-base: &base {env: {A: 1}, timeout: 5m, deps: &deps [a.csv]}
x-more: &more {timeout: 9m, retries: 4, desc: more}
stages:
  one: {<<: *base, cmd: x}
  two: {<<: [*base, *more], cmd: y, desc: own, env: {B: 2}}
  three: {cmd: z, deps: *deps}
`})
	one, two, three := g.Stage("one"), g.Stage("two"), g.Stage("three")
	if one.Env[0].Name != "A" || one.Timeout != 300 || one.Deps[0].Path != "a.csv" {
		t.Errorf("%+v", one)
	}
	if two.Timeout != 300 || two.Retries != 4 || two.Desc != "own" || len(two.Env) != 1 || two.Env[0].Name != "B" {
		t.Errorf("the first map, and a key of one's own, come first: %+v", two)
	}
	if three.Deps[0].Path != "a.csv" {
		t.Errorf("%+v", three)
	}
}

func TestAliasBombsAreRefused(t *testing.T) {
	var b strings.Builder
	b.WriteString("x-a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n")
	for i := range 20 {
		fmt.Fprintf(&b, "x-a%d: &a%d [%s]\n", i+1, i+1, strings.TrimSuffix(strings.Repeat(fmt.Sprintf("*a%d, ", i), 10), ", "))
	}
	b.WriteString("stages:\n  s: {cmd: x, meta: *a20}\n")
	_, err := pipeline.Load(project(map[string]string{"pipeline.yaml": b.String()}), "pipeline.yaml")
	if err == nil || !strings.Contains(err.Error(), "aliases expand to more than 2000000 values") {
		t.Errorf("got %v", err)
	}
}

func TestDefaultsAndSinks(t *testing.T) {
	g := load(t, map[string]string{"pipeline.yaml": `
sinks:
  big: {format: iceberg, uri: "sqlite:${env:LAKE}/c.db", warehouse: w}
defaults: {timeout: 90, retries: 2}
stages:
  a: {cmd: x, outs: [{table: a.b}]}
  b: {cmd: x, timeout: 1h30m, retries: 0}
`})
	a, b := g.Stage("a"), g.Stage("b")
	if a.Outs[0].Sink != "big" || a.Timeout != 90 || a.Retries != 2 || b.Timeout != 5400 || b.Retries != 0 {
		t.Errorf("%+v\n%+v", a, b)
	}
	if s := g.Sinks["big"]; s.Catalog != "sql" || s.Options["uri"] != "sqlite:${env:LAKE}/c.db" || s.OptionPos["uri"].Line != 3 {
		t.Errorf("%+v", s)
	}
	g = load(t, map[string]string{"pipeline.yaml": "stages: {a: {cmd: x}}"})
	if s := g.Sinks["lake"]; len(g.Sinks) != 1 || s.Format != "iceberg" || s.Options["uri"] != "sqlite:.pipe/catalog.db" || s.Options["warehouse"] != ".pipe/warehouse" {
		t.Errorf("%+v", s)
	}
}

func TestPathsOfAStageAreRelativeToItsWdir(t *testing.T) {
	g := load(t, map[string]string{
		"pipeline.yaml":       "stages:\n  s: {cmd: x, wdir: sub/dir, deps: [a.csv, ../b.csv, ../../c, /abs/d, './e/*.csv'], outs: [o, ../p/], params: [lr, {../../x.json: [k]}]}\n",
		"sub/dir/params.yaml": "lr: 1\n",
		"x.json":              `{"k": 2}`,
	})
	s := g.Stages[0]
	var got []string
	for _, d := range s.Deps {
		got = append(got, fmt.Sprint(d.Path, " ", d.Glob))
	}
	for _, o := range s.Outs {
		got = append(got, o.Path)
	}
	for _, p := range s.Params {
		got = append(got, p.File+":"+p.Name)
	}
	want := []string{
		"sub/dir/a.csv false", "sub/b.csv false", "c false", "/abs/d false", "sub/dir/e/*.csv true",
		"sub/dir/o", "sub/p", "sub/dir/params.yaml:lr", "x.json:k",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

func TestParams(t *testing.T) {
	g := load(t, map[string]string{
		"pipeline.yaml": "stages:\n  s: {cmd: x, params: [lr, data, \"l[1].k\", l.0, lr, {o.yaml: [b]}, {all.yaml: , params.yaml: [lr, lr]}]}\n",
		"params.yaml":   "lr: 1e-4\ndata: {rows: 5, deep: {x: [1, 2], e: {}}}\nl: [a, {k: v}]\n",
		"o.yaml":        "b: 1\nc: 2\n", "all.yaml": "x: {y: 1}\nz: []\n",
	})
	var got []string
	for _, p := range g.Stages[0].Params {
		got = append(got, p.File+" "+p.Name+" "+p.Value.Canonical())
	}
	want := []string{
		"params.yaml lr 0.0001", "params.yaml data.rows 5", "params.yaml data.deep.x [1, 2]", "params.yaml data.deep.e {}",
		"params.yaml l[1].k v", "params.yaml l[0] a", "o.yaml b 1", "all.yaml x.y 1", "all.yaml z []",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

func TestAFileThatCannotBeReadIsSaid(t *testing.T) {
	_, err := pipeline.Load(fstest.MapFS{}, "pipeline.yaml")
	if got := told(diag.All(err)); got != "pipeline.yaml: does not exist\nhint: pipe init writes a small project to start from\n" {
		t.Errorf("%s", got)
	}
	_, err = pipeline.Load(fstest.MapFS{"pipeline.yaml": {Mode: fs.ModeDir}}, "pipeline.yaml")
	if err == nil || !strings.HasPrefix(err.Error(), "pipeline.yaml: cannot be read: ") {
		t.Errorf("%v", err)
	}
}

func TestABrokenStageStaysInTheGraph(t *testing.T) {
	g, err := pipeline.Load(project(map[string]string{"pipeline.yaml": "stages:\n  a: {cmdd: x, outs: [a.csv]}\n  b: {cmd: \"${no}\", deps: [a.csv]}\n  c: 5\n"}), "pipeline.yaml")
	if err == nil || g == nil {
		t.Fatalf("%v, %v", g, err)
	}
	if diff := cmp.Diff([]string{"a"}, g.Upstream("b")); diff != "" {
		t.Error(diff)
	}
	if len(g.Order()) != 3 {
		t.Errorf("%q", g.Order())
	}
}

// valid is as much of JSON Schema as JSONSchema uses.
func valid(schema map[string]any, v any) bool {
	if types, ok := schema["type"]; ok {
		is := ""
		switch v := v.(type) {
		case nil:
			is = "null"
		case bool:
			is = "boolean"
		case string:
			is = "string"
		case float64:
			is = "number"
			if v == float64(int64(v)) && fmt.Sprint(types) == "integer" {
				is = "integer"
			}
		case []any:
			is = "array"
		case map[string]any:
			is = "object"
		}
		if !slices.Contains(strings.Fields(strings.Trim(fmt.Sprint(types), "[]")), is) {
			return false
		}
	}
	ok := true
	for _, word := range []string{"anyOf", "oneOf"} {
		if list, is := schema[word].([]any); is {
			n := 0
			for _, s := range list {
				if valid(s.(map[string]any), v) {
					n++
				}
			}
			ok = ok && (word == "anyOf" && n > 0 || n == 1)
		}
	}
	if words, is := schema["enum"].([]any); is {
		ok = ok && slices.Contains(words, v)
	}
	if least, is := schema["minimum"].(float64); is {
		ok = ok && v.(float64) >= least
	}
	if p, is := schema["pattern"].(string); is {
		ok = ok && regexp.MustCompile(p).MatchString(v.(string))
	}
	if list, is := v.([]any); is {
		if least, has := schema["minItems"].(float64); has && len(list) < int(least) {
			return false
		}
		if items, has := schema["items"].(map[string]any); has {
			for _, x := range list {
				ok = ok && valid(items, x)
			}
		}
	}
	m, is := v.(map[string]any)
	if !is {
		return ok
	}
	required, _ := schema["required"].([]any)
	for _, name := range required {
		_, has := m[name.(string)]
		ok = ok && has
	}
	props, _ := schema["properties"].(map[string]any)
	patterns, _ := schema["patternProperties"].(map[string]any)
next:
	for name, x := range m {
		if s, has := props[name].(map[string]any); has {
			ok = ok && valid(s, x)
			continue
		}
		for p := range patterns {
			if regexp.MustCompile(p).MatchString(name) {
				continue next
			}
		}
		switch more := schema["additionalProperties"].(type) {
		case bool:
			ok = ok && more
		case map[string]any:
			ok = ok && valid(more, x)
		}
	}
	return ok
}

func TestJSONSchemaAgreesWithLoad(t *testing.T) {
	var schema map[string]any
	if err := json.Unmarshal(pipeline.JSONSchema(), &schema); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		text string
		ok   bool
	}{
		{`{"stages": {"a": {"cmd": "x"}}}`, true},
		{`{"x-a": 1, "vars": ["params.yaml", {"e": 1}], "sinks": {"lake": {"format": "iceberg", "uri": "u", "warehouse": "w"}}, "defaults": {"timeout": 60, "retries": 1, "sink": "lake", "publish": "run"}, "stages": {}}`, true},
		{`{"stages": {"a": {"cmd": ["x", "y"], "deps": ["f", {"path": "g"}, {"table": "a.b", "format": "csv", "columns": ["x"], "at": 1}], "outs": ["h", {"path": "i", "cache": false, "persist": true}], "env": {"A": 1, "B": null}, "secrets": ["S"], "shell": ["sh", "-c"], "frozen": true, "always": false, "desc": "d", "meta": [1], "timeout": "1h", "publish": "run"}}}`, true},
		{`{"stages": {"a": {"use": "x", "with": {"any": 1}, "outs": [{"table": "a.b", "mode": "append", "on_diverge": "fail", "key": ["x"], "sort_by": ["x"], "partition_by": ["x"], "properties": {"p": "q"}, "schema": {"x": "int required", "y": {"type": "int", "doc": "d"}}}]}}}`, true},
		{`{"stages": {"a": {"cmd": "x", "mode": 1}}}`, false},
		{`{"stages": {"a": {"cmd": "x", "use": "y"}}}`, false},
		{`{"stages": {"a": {"outs": ["x"]}}}`, false},
		{`{"stages": {"a": {"cmd": "x", "deps": "y"}}}`, false},
		{`{"stages": {"a": {"cmd": "x", "deps": [{"tabel": "a.b"}]}}}`, false},
		{`{"stages": {"a": {"cmd": "x", "outs": [{"table": "a.b", "mode": "apend"}]}}}`, false},
		{`{"stages": {"a": {"cmd": "x", "outs": [{"table": "a.b", "schema": {"x": {"typ": "int"}}}]}}}`, false},
		{`{"stages": {"a": {"cmd": "x", "frozen": "yes"}}}`, false},
		{`{"stages": {"a": {"cmd": "x", "retries": -1}}}`, false},
		{`{"stages": {"a": {"cmd": []}}}`, false},
		{`{"stages": {"a": {"cmd": "x", "foreach": [1]}}}`, false},
		{`{"stagess": {}}`, false},
		{`{"sinks": {"lake": {"formt": "iceberg"}}, "stages": {}}`, false},
	} {
		t.Run(c.text, func(t *testing.T) {
			var v any
			if err := json.Unmarshal([]byte(c.text), &v); err != nil {
				t.Fatal(err)
			}
			if got := valid(schema, v); got != c.ok {
				t.Errorf("the schema says %v", got)
			}
			_, err := pipeline.Load(project(map[string]string{"pipeline.yaml": c.text, "params.yaml": ""}), "pipeline.yaml")
			if (err == nil) != c.ok {
				t.Errorf("Load says %v", err)
			}
		})
	}
	for name, p := range maps.All(schema["properties"].(map[string]any)) {
		if p.(map[string]any)["description"] == "" {
			t.Errorf("%s has no description", name)
		}
	}
}
