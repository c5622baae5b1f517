package view

import (
	"encoding/json"
	"io"
	"strings"

	"pipe/internal/diag"
)

// Errors writes every error inside err: the place, what is wrong, the source line with a marker, and what to do.
func Errors(w io.Writer, st Style, err error) error {
	return messages(w, st, st.red("error:"), diag.All(err))
}

// Warnings writes what is legal and probably not meant.
func Warnings(w io.Writer, st Style, list diag.List) error {
	return messages(w, st, st.yellow("warning:"), list)
}

func messages(w io.Writer, st Style, label string, list diag.List) error {
	var b strings.Builder
	for _, e := range list {
		b.WriteString(label + " ")
		if at := e.Pos.String(); at != "" {
			b.WriteString(st.bold(at+":") + " ")
		}
		if e.Stage != "" && !strings.Contains(e.Msg, "stage "+e.Stage) {
			b.WriteString("stage " + e.Stage + ": ")
		}
		b.WriteString(strings.TrimRight(e.Msg, "\n") + "\n")
		if s := e.Snippet(); s != "" {
			source, marker, _ := strings.Cut(s, "\n")
			b.WriteString(st.dim(source) + "\n")
			if marker != "" {
				b.WriteString(st.red(marker) + "\n")
			}
		}
		if e.Hint != "" {
			b.WriteString(st.green("hint:") + " " + e.Hint + "\n")
		}
	}
	return send(w, &b)
}

// errorJSON is one error for programs.
type errorJSON struct {
	Message string `json:"message"`
	Stage   string `json:"stage,omitempty"`
	File    string `json:"file,omitempty"`
	Line    int    `json:"line,omitempty"`
	Column  int    `json:"column,omitempty"`
	Hint    string `json:"hint,omitempty"`
}

func errorsJSON(err error) []errorJSON {
	var out []errorJSON
	for _, e := range diag.All(err) {
		out = append(out, errorJSON{e.Msg, e.Stage, e.Pos.File, e.Pos.Line, e.Pos.Col, e.Hint})
	}
	return out
}

// ErrorsJSON writes {"errors": [...]}.
func ErrorsJSON(w io.Writer, err error) error {
	return JSON(w, map[string]any{"errors": errorsJSON(err)})
}

// JSON writes a value as one indented object.
func JSON(w io.Writer, v any) error {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false) // "500 -> 1000" stays readable
	e.SetIndent("", "  ")
	return e.Encode(v)
}
