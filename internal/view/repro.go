package view

import (
	"fmt"
	"io"
	"strings"

	"pipe/pipeline/plan"
	"pipe/pipeline/run"
)

// tablesNamed is how many tables the last line names.
const tablesNamed = 8

// Result writes the one line that ends a run that went well: what was published, or that nothing was to do.
func Result(w io.Writer, r *run.Result, moves []run.MoveInfo) error {
	_, err := io.WriteString(w, resultLine(r, moves)+"\n")
	return err
}

func resultLine(r *run.Result, moves []run.MoveInfo) string {
	count := map[run.Outcome]int{}
	idle := true
	for _, s := range r.Stages {
		count[s.Outcome]++
		idle = idle && (s.Outcome == run.UpToDate || s.Outcome == run.Frozen)
	}
	switch {
	case len(moves) > 0:
		return "Published " + Moves(moves) + "."
	case idle:
		return "Up to date: " + plural(int64(len(r.Stages)), "stage") + "."
	}
	var parts []string
	for _, o := range []run.Outcome{run.Ran, run.RanSame, run.Reused, run.UpToDate, run.Frozen, run.Skipped, run.Failed} {
		if count[o] > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", count[o], o))
		}
	}
	line := "Done: " + strings.Join(parts, ", ")
	if r.Held {
		line += "; nothing is published"
	}
	return line + "."
}

// Moves names the tables whose heads moved and how many rows they have: "prod.events (+500 rows, 1500), prod.types (4 rows)".
func Moves(moves []run.MoveInfo) string {
	var parts []string
	for i, m := range moves {
		if i == tablesNamed && len(moves) > tablesNamed+1 {
			parts = append(parts, fmt.Sprintf("and %d more", len(moves)-i))
			break
		}
		rows := plural(m.Rows, "row")
		if m.Added > 0 {
			rows = fmt.Sprintf("+%s, %d", plural(m.Added, "row"), m.Rows)
		}
		parts = append(parts, m.String()+" ("+rows+")")
	}
	return strings.Join(parts, ", ")
}

type resultJSON struct {
	Run       string       `json:"run"`
	Published bool         `json:"published"`
	Held      bool         `json:"held,omitempty"`
	Seconds   float64      `json:"seconds"`
	Stages    []resultItem `json:"stages"`
	Errors    []errorJSON  `json:"errors,omitempty"`
}

type resultItem struct {
	Name    string      `json:"name"`
	Result  run.Outcome `json:"result"`
	Seconds float64     `json:"seconds"`
	Error   *string     `json:"error"`
	Outs    []any       `json:"outs"`
}

// ResultJSON writes the whole run as one object, with what went wrong.
func ResultJSON(w io.Writer, r *run.Result, err error) error {
	v := resultJSON{Run: r.Run, Published: r.Published, Held: r.Held, Seconds: round(r.Seconds), Stages: []resultItem{}, Errors: errorsJSON(err)}
	for _, s := range r.Stages {
		item := resultItem{Name: s.Name, Result: s.Outcome, Seconds: round(s.Seconds), Outs: []any{}}
		if s.Err != nil {
			text := s.Err.Error()
			item.Error = &text
		}
		for _, o := range s.Outs {
			if o.Path != "" {
				item.Outs = append(item.Outs, fileJSON{o.Path, string(o.Digest), o.Size})
				continue
			}
			t := tableJSON{Table: o.Table, Sink: o.Sink, Snapshot: o.Snapshot, Digest: string(o.Digest), Rows: o.Rows, Head: o.Head}
			if o.Added > 0 {
				t.Added = &o.Added
			}
			item.Outs = append(item.Outs, t)
		}
		v.Stages = append(v.Stages, item)
	}
	return JSON(w, v)
}

func round(s float64) float64 { return float64(int64(s*1000+0.5)) / 1000 }

type movesJSON struct {
	Moved []moveJSON `json:"moved"`
}

type moveJSON struct {
	Table string `json:"table"`
	Sink  string `json:"sink"`
	From  string `json:"from"`
	To    string `json:"to"`
	Rows  int64  `json:"rows"`
}

// Checkout writes which heads were moved to what the lock says.
func Checkout(w io.Writer, moves []run.MoveInfo) error {
	if len(moves) == 0 {
		_, err := io.WriteString(w, "All heads are where the lock says.\n")
		return err
	}
	var b strings.Builder
	for _, m := range moves {
		from := string(m.From)
		if from == "" {
			from = "no head"
		}
		fmt.Fprintf(&b, "%s: %s -> %s (%s)\n", m.TableKey, from, m.To, plural(m.Rows, "row"))
	}
	return send(w, &b)
}

// CheckoutJSON writes the same for programs.
func CheckoutJSON(w io.Writer, moves []run.MoveInfo) error {
	v := movesJSON{Moved: []moveJSON{}}
	for _, m := range moves {
		v.Moved = append(v.Moved, moveJSON{m.Table, m.Sink, string(m.From), string(m.To), m.Rows})
	}
	return JSON(w, v)
}

// outs says in a few words what a stage that is done has made.
func outs(r *run.StageResult) string {
	var parts []string
	tables := 0
	for _, o := range r.Outs {
		if o.Table != "" {
			tables++
		}
	}
	for _, o := range r.Outs {
		if o.Path != "" {
			if len(r.Outs) > 1 {
				parts = append(parts, o.Path)
			}
			continue
		}
		text := plural(o.Rows, "row")
		if o.Added > 0 {
			text = plural(o.Added, "row") + " added, " + fmt.Sprintf("%d total", o.Rows)
		}
		if tables > 1 {
			text = plan.TableKey{Sink: o.Sink, Table: o.Table}.String() + " " + text
		}
		parts = append(parts, text)
	}
	return strings.Join(parts, "; ")
}
