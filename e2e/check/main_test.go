package main

import (
	"strings"
	"testing"
)

func TestFind(t *testing.T) {
	const doc = `{"run": "R", "stages": [{"name": "events", "outs": [{"table": "prod.events", "rows": 1500, "snapshot": "6511054353144073012"}]}, {"name": "b", "error": null}]}`
	cases := map[string]struct{ path, want, err string }{
		"text":             {"run", "R", ""},
		"stage by name":    {"stages.events.outs.0.rows", "1500", ""},
		"index":            {"stages.1.name", "b", ""},
		"id as text":       {"stages.events.outs.0.snapshot", "6511054353144073012", ""},
		"null":             {"stages.b.error", "null", ""},
		"no such key":      {"stages.events.rows", "", `no "rows" of stages.events.rows`},
		"no such name":     {"stages.c", "", `no "c"`},
		"index too large":  {"stages.2", "", `no "2"`},
		"into what is not": {"run.x", "", `no "x"`},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			got, err := find(strings.NewReader(doc), c.path)
			if got != c.want || (err == nil) != (c.err == "") || err != nil && !strings.Contains(err.Error(), c.err) {
				t.Errorf("find(%q) = %q, %v, want %q, %q", c.path, got, err, c.want, c.err)
			}
		})
	}
}
