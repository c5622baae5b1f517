package command

import (
	"encoding/json"
	"fmt"
	"strings"

	"pipe/internal/diag"
	"pipe/stages"
)

// VarName is the part of a variable's name that stands for a table: "prod.events" is PROD_EVENTS in PIPE_IN_PROD_EVENTS.
func VarName(table string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r >= 'A' && r <= 'Z', r >= '0' && r <= '9':
			return r
		case r >= 'a' && r <= 'z':
			return r - 'a' + 'A'
		}
		return '_'
	}, table)
}

// longestVar is what Linux takes of one variable, name and "=" included.
const longestVar = 128<<10 - 1

// environment is the caller's, with what the stage sets over it and what pipe tells over that.
func environment(t *stages.Task, ins []in, outs []out) ([]string, error) {
	var env []string
	inherited := map[string]bool{}
	for _, kv := range t.Environ {
		name, _, _ := strings.Cut(kv, "=")
		if strings.HasPrefix(name, "PIPE_IN_") || strings.HasPrefix(name, "PIPE_OUT_") {
			continue // of a pipe around this one
		}
		inherited[name] = true
		env = append(env, kv)
	}
	for _, name := range t.Stage.Secrets {
		if !inherited[name] {
			return nil, (&diag.Error{
				Exit: diag.Failed, Pos: t.Stage.Pos, Stage: t.Stage.Name,
				Msg: fmt.Sprintf("the secret %s is not set in the environment", name),
			}).With("run: export %s=...", name)
		}
	}
	for _, v := range t.Stage.Env {
		if !v.Inherit {
			env = append(env, v.Name+"="+v.Value)
		}
	}
	params := t.Params
	if params == nil {
		params = map[string]any{}
	}
	text, err := json.Marshal(params)
	if err != nil {
		return nil, fmt.Errorf("params as JSON: %w", err)
	}
	env = append(env, "PIPE_ROOT="+t.Root, "PIPE_STAGE="+t.Stage.Name, "PIPE_RUN="+t.Run, "PIPE_PARAMS="+string(text),
		"DVC_ROOT="+t.Root, "DVC_STAGE="+t.Stage.Name) // scripts that come from DVC know these
	for _, x := range ins {
		env = append(env, "PIPE_IN_"+VarName(x.table)+"="+x.path)
	}
	for _, x := range outs {
		env = append(env, "PIPE_OUT_"+VarName(x.table.Out.Table)+"="+x.dir)
	}
	for _, kv := range env {
		if len(kv) > longestVar {
			name, _, _ := strings.Cut(kv, "=")
			hint := "shorten it"
			if name == "PIPE_PARAMS" {
				hint = "list fewer names under params; the program can read the file itself, with the file as a dep"
			}
			return nil, &diag.Error{
				Exit: diag.Failed, Pos: t.Stage.Pos, Stage: t.Stage.Name, Hint: hint,
				Msg: fmt.Sprintf("the variable %s is %d bytes long; a program takes %d", name, len(kv), longestVar),
			}
		}
	}
	return env, nil
}

// secretValues are the texts that must not be seen in a log. One of several lines is looked for line by line, since a log is.
func secretValues(t *stages.Task) [][]byte {
	var values [][]byte
	for _, name := range t.Stage.Secrets {
		for _, kv := range t.Environ {
			if v, ok := strings.CutPrefix(kv, name+"="); ok {
				for line := range strings.Lines(v) {
					if line = strings.TrimRight(line, "\r\n"); len(line) >= shortestSecret {
						values = append(values, []byte(line))
					}
				}
			}
		}
	}
	return values
}

// shortestSecret keeps "1" or "on" from blotting out half a log.
const shortestSecret = 4
