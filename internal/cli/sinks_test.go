package cli

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"pipe/internal/diag"
	"pipe/internal/repo"
	"pipe/pipeline"
)

func sqlSink(options map[string]string) *pipeline.Sink {
	return &pipeline.Sink{
		Name: "lake", Format: "iceberg", Catalog: "sql", Options: options, Pos: diag.Pos{File: "pipeline.yaml", Line: 2, Col: 3},
		OptionPos: map[string]diag.Pos{"uri": {File: "pipeline.yaml", Line: 2, Col: 20}},
	}
}

func TestSinkOptions(t *testing.T) {
	a := &app{env: Env{Environ: []string{"LAKE=/old", "LAKE=/data/lake", "EMPTY="}}}
	l := repo.Layout{Root: "/p"}
	type m = map[string]string
	for name, c := range map[string]struct {
		options, local      m
		database, warehouse string
		err                 string
	}{
		"nothing said":        {nil, nil, "/p/.pipe/catalog.db", "/p/.pipe/warehouse", ""},
		"relative":            {m{"uri": "sqlite:db/c.db", "warehouse": "wh"}, nil, "/p/db/c.db", "/p/wh", ""},
		"absolute":            {m{"uri": "sqlite:/c.db", "warehouse": "/wh"}, nil, "/c.db", "/wh", ""},
		"SQLAlchemy relative": {m{"uri": "sqlite:///c.db"}, nil, "/p/c.db", "/p/.pipe/warehouse", ""},
		"SQLAlchemy absolute": {m{"uri": "sqlite:////d/c.db", "warehouse": "file:///wh"}, nil, "/d/c.db", "/wh", ""},
		"the last of a variable counts": {
			m{"uri": "sqlite:${env:LAKE}/c.db", "warehouse": "${env:LAKE}${env:EMPTY}/wh"}, nil, "/data/lake/c.db", "/data/lake/wh", "",
		},
		"overridden":      {m{"uri": "sqlite:c.db", "warehouse": "wh"}, m{"uri": "sqlite:/mine.db"}, "/mine.db", "/p/wh", ""},
		"unset variable":  {m{"uri": "sqlite:${env:NOPE}"}, nil, "", "", "pipeline.yaml:2:20: the variable NOPE is not set"},
		"open variable":   {m{"uri": "sqlite:${env:LAKE"}, nil, "", "", "pipeline.yaml:2:20: ${env: has no }"},
		"another scheme":  {m{"uri": "postgresql://x"}, nil, "", "", `pipeline.yaml:2:20: sink lake: uri is "postgresql://x", expected sqlite: and a path`},
		"no path":         {m{"uri": "sqlite:"}, nil, "", "", `pipeline.yaml:2:20: sink lake: uri is "sqlite:", expected sqlite: and a path`},
		"another catalog": {nil, m{"catalog": "rest"}, "", "", "pipe.local.yaml:9:9: sink lake: catalog rest is not supported yet"},
	} {
		t.Run(name, func(t *testing.T) {
			local := map[string]option{}
			for k, v := range c.local {
				local[k] = option{v, diag.Pos{File: "pipe.local.yaml", Line: 9, Col: 9}}
			}
			got, list := a.configure(l, sqlSink(c.options), local)
			err := ""
			if e := list.Err(); e != nil {
				err = e.Error()
			}
			if err != c.err {
				t.Fatalf("error %q, want %q", err, c.err)
			}
			if err == "" && (got.database != c.database || got.warehouse != c.warehouse) {
				t.Errorf("%q and %q, want %q and %q", got.database, got.warehouse, c.database, c.warehouse)
			}
		})
	}
}

func TestLocalFile(t *testing.T) {
	at := func(line, col int) diag.Pos { return diag.Pos{File: "pipe.local.yaml", Line: line, Col: col} }
	for name, c := range map[string]struct {
		text string
		want map[string]map[string]option
		err  string
		hint string
	}{
		"empty":    {text: ""},
		"comments": {text: "# nothing\n"},
		"options": {
			text: "sinks:\n  lake: {uri: 'sqlite:/c.db'}\n",
			want: map[string]map[string]option{"lake": {"uri": {"sqlite:/c.db", at(2, 15)}}},
		},
		"unknown key":    {text: "snks: {}\n", err: `pipe.local.yaml:1:1: unknown key "snks", expected sinks`, hint: "did you mean sinks?"},
		"unknown sink":   {text: "sinks:\n  lakes: {}\n", err: `pipe.local.yaml:2:3: pipeline.yaml has no sink "lakes"`, hint: "did you mean lake?"},
		"unknown option": {text: "sinks:\n  lake: {url: x}\n", err: `pipe.local.yaml:2:10: unknown key "url" of a sink`, hint: "did you mean uri?"},
		"not a text":     {text: "sinks:\n  lake: {uri: [x]}\n", err: "pipe.local.yaml:2:15: expected a text"},
		"not a map":      {text: "sinks: x\n", err: "pipe.local.yaml:1:8: expected a map of sinks"},
		"twice":          {text: "sinks:\n  lake: {uri: a, uri: b}\n", err: `pipe.local.yaml:2:18: the key "uri" stands twice`},
		"no YAML":        {text: "sinks: [\n", err: "pipe.local.yaml: not YAML: line 1: did not find expected node content"},
		"all at once": {
			text: "a: 1\nb: 2\n",
			err:  "pipe.local.yaml:1:1: unknown key \"a\", expected sinks\npipe.local.yaml:2:1: unknown key \"b\", expected sinks", hint: "there are: sinks",
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			if err := os.WriteFile(filepath.Join(dir, "pipe.local.yaml"), []byte(c.text), 0o666); err != nil {
				t.Fatal(err)
			}
			d := &definition{
				layout: repo.Layout{Root: dir}, graph: &pipeline.Graph{Sinks: map[string]*pipeline.Sink{"lake": sqlSink(nil)}},
			}
			got, err := readLocal(d)
			if c.err == "" {
				if err != nil {
					t.Fatal(err)
				}
				if len(got)+len(c.want) > 0 {
					if diff := cmp.Diff(c.want, got, cmp.AllowUnexported(option{})); diff != "" {
						t.Error(diff)
					}
				}
				return
			}
			if err == nil || err.Error() != c.err {
				t.Fatalf("error %q, want %q", err, c.err)
			}
			if hint := diag.All(err)[0].Hint; hint != c.hint {
				t.Errorf("hint %q, want %q", hint, c.hint)
			}
		})
	}
}

func TestNoLocalFile(t *testing.T) {
	d := &definition{layout: repo.Layout{Root: t.TempDir()}, graph: &pipeline.Graph{}}
	if got, err := readLocal(d); got != nil || err != nil {
		t.Fatalf("%v, %v", got, err)
	}
}
