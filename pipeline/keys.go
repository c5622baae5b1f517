package pipeline

import (
	"encoding/json"
	"maps"
	"slices"
)

// keyDef is one key that a map of pipeline.yaml may have. The loader and the JSON Schema are made from the same tables.
type keyDef struct {
	name  string
	form  form
	desc  string
	later bool // reserved: using it is an error today
}

// form is what a key takes, as JSON Schema says it. A template may stand for any value.
type form map[string]any

var (
	templateForm = form{"type": "string", "pattern": `\$\{`}
	textForm     = form{"type": []string{"string", "number", "boolean"}}
	boolForm     = orTemplate(form{"type": "boolean"})
	countForm    = orTemplate(form{"type": "integer", "minimum": 0})
	anyForm      = form{}
	mapForm      = form{"type": "object"}
	listForm     = orTemplate(form{"type": "array"})
	textsForm    = orTemplate(form{"type": "array", "items": textForm})
	cmdForm      = form{"anyOf": []any{textForm, form{"type": "array", "items": textForm, "minItems": 1}}}
	durationForm = form{"type": []string{"string", "number"}}
	durationDoc  = "a duration: 90s, 15m, 2h, 1h30m"
)

func orTemplate(f form) form { return form{"anyOf": []any{f, templateForm}} }

func oneOf(words ...string) form { return orTemplate(form{"enum": words}) }

var topKeys = []keyDef{
	{name: "vars", form: listForm, desc: "files and maps of values for templates, beside params.yaml"},
	{name: "sinks", form: mapForm, desc: "places for tables"},
	{name: "defaults", form: mapForm, desc: "what stages take when they say nothing"},
	{name: "stages", form: mapForm, desc: "the stages, by name"},
}

var sinkKeys = []keyDef{
	{name: "format", form: oneOf("iceberg", "delta", "memory"), desc: "the table format"},
	{name: "catalog", form: oneOf("sql", "rest", "glue", "hive", "hadoop"), desc: "the kind of catalog"},
	{name: "uri", form: textForm, desc: "where the catalog is: sqlite:<path>"},
	{name: "warehouse", form: textForm, desc: "the folder of the tables"},
	{name: "location", form: textForm, desc: "the folder of Delta tables"},
	{name: "branching", desc: "table branches that follow git branches", later: true},
}

var defaultKeys = []keyDef{
	{name: "sink", form: textForm, desc: "the sink of tables that name none"},
	{name: "publish", form: oneOf("run"), desc: "when heads move: once at the end, or after each stage"},
	{name: "timeout", form: durationForm, desc: durationDoc},
	{name: "retries", form: countForm, desc: "attempts after a failure"},
	{name: "memory", desc: "memory of queries", later: true},
	{name: "threads", desc: "threads of queries", later: true},
}

var stageKeys = []keyDef{
	{name: "cmd", form: cmdForm, desc: "a script for one shell, or a list of them, each in a shell of its own"},
	{name: "sql", form: textForm, desc: "a query, or a file of one"},
	{name: "use", form: textForm, desc: "a built-in or registered Go stage"},
	{name: "with", form: mapForm, desc: "the arguments of use"},
	{name: "deps", form: listForm, desc: "inputs: paths, globs, {path:}, {table:}"},
	{name: "params", form: listForm, desc: "tracked params: names, {file: [names]}, {file: }"},
	{name: "outs", form: listForm, desc: "outputs: paths, {path:}, {table:}"},
	{name: "wdir", form: textForm, desc: "the working directory; paths of the stage are relative to it"},
	{name: "env", form: mapForm, desc: "variables: NAME: value sets it, NAME: takes the caller's; both count"},
	{name: "secrets", form: textsForm, desc: "variables that are passed on and never counted, stored or shown"},
	{name: "vars", later: true, desc: "values for the templates of this stage"},
	{name: "foreach", later: true, desc: "one stage for each item"},
	{name: "do", later: true, desc: "the stage of a foreach"},
	{name: "matrix", later: true, desc: "one stage for each combination"},
	{name: "name", later: true, desc: "the names of a matrix"},
	{name: "frozen", form: boolForm, desc: "never run"},
	{name: "always", form: boolForm, desc: "run each time"},
	{name: "desc", form: textForm, desc: "shown; does not count"},
	{name: "meta", form: anyForm, desc: "yours; does not count"},
	{name: "timeout", form: durationForm, desc: durationDoc + "; of one attempt"},
	{name: "retries", form: countForm, desc: "attempts after a failure"},
	{name: "shell", form: textsForm, desc: "the shell of cmd, as a list: [sh, -e, -c]"},
	{name: "publish", form: oneOf("run"), desc: "when the heads of this stage move"},
	{name: "checks", later: true, desc: "checks of the outs"},
}

var depKeys = []keyDef{
	{name: "path", form: textForm, desc: "a file, a folder or a glob"},
	{name: "table", form: textForm, desc: "namespace.name"},
	{name: "sink", form: textForm, desc: "the table's sink"},
	{name: "at", form: textForm, desc: "a snapshot id or tag: pinned"},
	{name: "format", form: oneOf("parquet", "arrow", "csv", "jsonl"), desc: "how a cmd sees the table"},
	{name: "columns", form: textsForm, desc: "only these columns"},
	{name: "read", later: true, desc: "only the rows that arrived"},
}

var outKeys = []keyDef{
	{name: "path", form: textForm, desc: "a file or folder"},
	{name: "cache", form: boolForm, desc: "keep it by digest"},
	{name: "persist", form: boolForm, desc: "leave it in place before a run"},
	{name: "table", form: textForm, desc: "namespace.name"},
	{name: "sink", form: textForm, desc: "the table's sink"},
	{name: "mode", form: oneOf("replace", "append"), desc: "what a run does with the rows that are there"},
	{name: "schema", form: mapForm, desc: "name: type [required]"},
	{name: "partition_by", form: textsForm, desc: "day(ts), bucket(16, id), truncate(4, s), country"},
	{name: "sort_by", form: textsForm, desc: "columns that files are sorted by"},
	{name: "key", form: textsForm, desc: "columns that identify a row"},
	{name: "properties", form: mapForm, desc: "table properties"},
	{name: "on_diverge", form: oneOf("fail", "rebase", "overwrite"), desc: "what to do about a head that pipe did not make"},
	{name: "desc", form: textForm, desc: "shown; does not count"},
}

var columnKeys = []keyDef{
	{name: "type", form: textForm, desc: "long, string, decimal(18,2), ..."},
	{name: "required", form: boolForm, desc: "NULL is no value of it"},
	{name: "doc", form: textForm, desc: "shown; does not count"},
}

// JSONSchema gives the JSON Schema (2020-12) of pipeline.yaml, for editors. It knows keys and their forms; names, types of columns
// and references are checked by Load alone.
func JSONSchema() []byte {
	list := func(item form) form {
		return orTemplate(form{"type": "array", "items": item})
	}
	entry := func(keys []keyDef, special map[string]any) form {
		return form{"anyOf": []any{textForm, object(keys, special)}}
	}
	stage := object(stageKeys, map[string]any{
		"deps": list(entry(depKeys, nil)),
		"outs": list(entry(outKeys, map[string]any{
			"schema": form{"type": "object", "additionalProperties": form{"anyOf": []any{textForm, object(columnKeys, nil)}}},
		})),
		"params": list(form{"anyOf": []any{textForm, form{"type": "object", "additionalProperties": form{
			"anyOf": []any{form{"type": "null"}, textsForm},
		}}}}),
		"env": form{"type": "object", "additionalProperties": form{"anyOf": []any{form{"type": "null"}, textForm}}},
	})
	stage["oneOf"] = []any{form{"required": []string{"cmd"}}, form{"required": []string{"sql"}}, form{"required": []string{"use"}}}
	top := object(topKeys, map[string]any{
		"vars":     form{"type": "array", "items": form{"type": []string{"string", "object"}}},
		"sinks":    form{"type": "object", "additionalProperties": object(sinkKeys, nil)},
		"defaults": object(defaultKeys, nil),
		"stages":   form{"type": "object", "additionalProperties": stage},
	})
	top["$schema"] = "https://json-schema.org/draft/2020-12/schema"
	top["title"] = "pipeline.yaml"
	top["required"] = []string{"stages"}
	top["patternProperties"] = form{"^x-": form{}}
	b, err := json.MarshalIndent(top, "", "  ")
	if err != nil {
		panic("pipeline: plain maps do not encode: " + err.Error())
	}
	return append(b, '\n')
}

// object is a map with known keys, those that are not supported yet left out.
func object(keys []keyDef, special map[string]any) form {
	props := form{}
	for _, k := range keys {
		if k.later {
			continue
		}
		p := maps.Clone(k.form)
		if s, ok := special[k.name].(form); ok {
			p = maps.Clone(s)
		}
		p["description"] = k.desc
		props[k.name] = p
	}
	return form{"type": "object", "additionalProperties": false, "properties": props}
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
