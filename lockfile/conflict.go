package lockfile

import (
	"fmt"
	"slices"
	"strings"

	"pipe/internal/diag"
)

// conflicts gives one error for each conflict that git left, naming the stages inside.
func (p *parser) conflicts() diag.List {
	const ours, middle, theirs = "<<<<<<<", "=======", ">>>>>>>"
	if !strings.Contains(p.text, ours) && !strings.Contains(p.text, middle) && !strings.Contains(p.text, theirs) {
		return nil
	}
	var list diag.List
	open := false
	no, stages := 0, []string{}
	close := func() {
		if len(stages) > 0 && len(list) > 0 {
			list[len(list)-1].Msg += fmt.Sprintf(" (in it: %s)", strings.Join(stages, ", "))
		}
		open, stages = false, nil
	}
	for line := range strings.Lines(p.text) {
		no++
		line = strings.TrimRight(line, "\r\n")
		marker := ""
		for _, m := range []string{ours, middle, theirs} {
			if line == m || strings.HasPrefix(line, m+" ") {
				marker = m
			}
		}
		name, isStage := stageName(line)
		switch {
		case marker == ours || marker != "" && !open:
			close()
			open = true
			e := diag.Errorf(diag.Pos{File: p.name, Line: no, Col: 1}, "a merge conflict that is not resolved")
			e.Line = line
			list = append(list, e.With("keep both sides' blocks where they are of different stages, delete the block of a stage that both sides changed, delete the marker lines, then pipe repro"))
		case marker == theirs:
			close()
		case open && isStage && !slices.Contains(stages, name):
			stages = append(stages, name)
		}
	}
	close()
	return list
}

// stageName gives the name of the stage that a line begins, if it begins one.
func stageName(line string) (string, bool) {
	if len(line) < 4 || line[:2] != "  " || line[2] == ' ' || line[len(line)-1] != ':' {
		return "", false
	}
	if line[2] == '"' {
		name, _, ok := cutQuoted(line[2:])
		return name, ok
	}
	return line[2 : len(line)-1], true
}
