package view

import (
	"fmt"
	"io"
	"strings"

	"pipe/internal/diag"
	"pipe/lockfile"
	"pipe/pipeline/plan"
)

// StatusOptions say how much is shown.
type StatusOptions struct {
	Style Style
	Why   bool // all reasons, one a line; else the first
	All   bool // also stages of which nothing is to be said
	Dry   bool // in the words of `repro --dry`
}

// Status writes what a run would do with each stage, and where the heads are.
func Status(w io.Writer, p *plan.Plan, o StatusOptions) error {
	var b strings.Builder
	names, words := 0, 0
	var shown []*plan.Step
	for _, s := range p.Steps {
		if !o.All && quiet(s) {
			continue
		}
		shown = append(shown, s)
		names = max(names, diag.Columns(s.Stage.Name))
		words = max(words, len(word(s, o.Dry)))
	}
	for _, s := range shown {
		line := pad(s.Stage.Name, names) + "  " + o.Style.status(s.Status, pad(word(s, o.Dry), words))
		if !o.Why && len(s.Why) > 0 {
			line += "  " + Reason(s.Why[0])
			if more := len(s.Why) - 1; more > 0 {
				line += o.Style.dim(fmt.Sprintf(" (+%d more)", more))
			}
		}
		b.WriteString(strings.TrimRight(line, " ") + "\n")
		if o.Why {
			for _, r := range s.Why {
				b.WriteString("    " + Reason(r) + "\n")
			}
		}
		details(&b, s, o)
	}
	b.WriteString(summary(p, o.Dry))
	return send(w, &b)
}

// quiet reports whether nothing is to be said of a stage.
func quiet(s *plan.Step) bool {
	if s.Status != plan.UpToDate || len(s.Notes) > 0 || len(s.Missing) > 0 {
		return false
	}
	for _, o := range s.Outs {
		if o.Rel != plan.Same || o.Moves {
			return false
		}
	}
	return true
}

// details writes what stands below a stage's line: its heads, notes and what to do.
func details(b *strings.Builder, s *plan.Step, o StatusOptions) {
	for _, out := range s.Outs {
		if t := head(out, s.Status); t != "" {
			b.WriteString("    " + out.Key.String() + ": " + t + "\n")
		}
		if o.Dry && out.BaseRows > 0 && out.Out.Mode == "append" && s.Status == plan.Stale {
			b.WriteString("    " + out.Key.String() + ": rows are added to " + plural(out.BaseRows, "row") + "\n")
		}
	}
	if s.Status == plan.Reuse && s.Run != "" {
		b.WriteString("    made by run " + s.Run + "\n")
	}
	for _, n := range s.Notes {
		b.WriteString("    " + o.Style.yellow("note:") + " " + n + "\n")
	}
	if s.Stop != nil && s.Stop.Hint != "" {
		b.WriteString("    " + o.Style.green("hint:") + " " + s.Stop.Hint + "\n")
	}
	for _, m := range s.Missing {
		if m.Hint != "" {
			b.WriteString("    " + o.Style.green("hint:") + " " + m.Hint + "\n")
		}
	}
}

// head says where the head of a table is, unless it is where the lock says.
func head(o plan.OutStep, status plan.Status) string {
	by := ""
	if o.HeadBy != "" {
		by = ": " + o.HeadBy
	}
	switch o.Rel {
	case plan.Behind:
		return "head is behind" + publish(o)
	case plan.Ahead, plan.Aside:
		return "head is " + string(o.Rel) + by + publish(o)
	case plan.Foreign:
		if status == plan.Diverged {
			return "" // the reason says so
		}
		return "head is foreign" + by + publish(o)
	case plan.NoHead:
		if o.Moves {
			return "no head" + publish(o)
		}
	case plan.Same:
		if o.Moves {
			return "head moves to " + string(o.Reuse)
		}
	}
	return ""
}

func publish(o plan.OutStep) string {
	if o.Moves {
		return "; it will be moved"
	}
	return ""
}

func word(s *plan.Step, dry bool) string {
	if dry {
		switch s.Status {
		case plan.Stale:
			return "will run"
		case plan.Pending:
			return "may run"
		}
	}
	return string(s.Status)
}

func (s Style) status(status plan.Status, text string) string {
	switch status {
	case plan.UpToDate, plan.Reuse:
		return s.green(text)
	case plan.Diverged:
		return s.red(text)
	case plan.Frozen:
		return s.dim(text)
	}
	return s.yellow(text)
}

// summary is the last line: one number a status, in the order in which they matter.
func summary(p *plan.Plan, dry bool) string {
	if p.UpToDate() {
		return "Up to date: " + plural(int64(len(p.Steps)), "stage") + ".\n"
	}
	count := map[string]int{}
	moves := 0
	for _, s := range p.Steps {
		count[word(s, dry)]++
		for _, o := range s.Outs {
			if o.Moves {
				moves++
			}
		}
	}
	var parts []string
	for _, w := range []string{"diverged", "stale", "will run", "pending", "may run", "reuse", "frozen", "up to date"} {
		if count[w] > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", count[w], w))
		}
	}
	line := plural(int64(len(p.Steps)), "stage") + ": " + strings.Join(parts, ", ")
	if moves > 0 {
		line += "; " + plural(int64(moves), "head") + " to be moved"
	}
	return line + ".\n"
}

type statusJSON struct {
	UpToDate bool        `json:"up_to_date"`
	Ref      string      `json:"ref,omitempty"`
	Stages   []stageJSON `json:"stages"`
}

type stageJSON struct {
	Name    string        `json:"name"`
	Status  plan.Status   `json:"status"`
	Why     []plan.Reason `json:"why"`
	Notes   []string      `json:"notes,omitempty"`
	Missing []errorJSON   `json:"missing,omitempty"`
	Hint    string        `json:"hint,omitempty"`
	Run     string        `json:"run,omitempty"` // reuse: the run that made the snapshots
	Outs    []any         `json:"outs"`
}

type tableJSON struct {
	Table    string        `json:"table"`
	Sink     string        `json:"sink"`
	Snapshot string        `json:"snapshot"`
	Digest   string        `json:"digest"`
	Rows     int64         `json:"rows"`
	Added    *int64        `json:"added,omitempty"`
	Head     plan.Relation `json:"head,omitempty"`
	HeadBy   string        `json:"head_by,omitempty"`
	Moves    bool          `json:"moves,omitempty"`
}

type fileJSON struct {
	Path   string `json:"path"`
	Digest string `json:"digest"`
	Size   int64  `json:"size"`
}

// StatusJSON writes the same for programs. What an out is comes from the entry that stands, else from the lock's.
func StatusJSON(w io.Writer, p *plan.Plan, lock *lockfile.Lock) error {
	v := statusJSON{UpToDate: p.UpToDate(), Ref: p.Ref, Stages: []stageJSON{}}
	for _, s := range p.Steps {
		st := stageJSON{Name: s.Stage.Name, Status: s.Status, Why: s.Why, Notes: s.Notes, Run: s.Run, Outs: []any{}}
		if st.Why == nil {
			st.Why = []plan.Reason{}
		}
		if len(s.Missing) > 0 {
			st.Missing = errorsJSON(s.Missing)
		}
		if s.Stop != nil {
			st.Hint = s.Stop.Hint
		}
		entry := s.Done
		if entry == nil {
			entry = lock.Stages[s.Stage.Name]
		}
		for _, o := range s.Outs {
			t := tableJSON{Table: o.Key.Table, Sink: o.Key.Sink, Snapshot: string(o.Locked), Head: o.Rel, HeadBy: o.HeadBy, Moves: o.Moves}
			if e := entryOut(entry, o.Key, ""); e != nil {
				t.Snapshot, t.Digest, t.Rows = e.Snapshot, string(e.Digest), e.Rows
			}
			st.Outs = append(st.Outs, t)
		}
		for _, o := range s.Stage.Outs {
			if e := entryOut(entry, plan.TableKey{}, o.Path); o.Path != "" && e != nil {
				st.Outs = append(st.Outs, fileJSON{e.Path, string(e.Digest), e.Size})
			}
		}
		v.Stages = append(v.Stages, st)
	}
	return JSON(w, v)
}

func entryOut(e *lockfile.Entry, key plan.TableKey, path string) *lockfile.Out {
	if e == nil {
		return nil
	}
	for i, o := range e.Outs {
		if path == "" && o.Table == key.Table && o.Sink == key.Sink || path != "" && o.Path == path {
			return &e.Outs[i]
		}
	}
	return nil
}
