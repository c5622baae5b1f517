package view

import (
	"io"
	"strconv"
	"strings"

	"pipe/pipeline/fingerprint"
	"pipe/pipeline/plan"
)

type fingerprintJSON struct {
	Stage       string      `json:"stage"`
	Fingerprint string      `json:"fingerprint"` // "" while something above the stage has to run first
	Inputs      []inputJSON `json:"inputs"`
}

type inputJSON struct {
	Kind  string `json:"kind"`
	Name  string `json:"name"`
	Value string `json:"value"`
	From  string `json:"from,omitempty"`
}

// Fingerprint writes exactly the text that is hashed, one line a fact, and below it the fingerprint: SHA-256 of all lines but the
// last. While something above the stage has to run first, the last line names it instead.
func Fingerprint(w io.Writer, s *plan.Step) error {
	var b strings.Builder
	b.WriteString(Hashed(s.Inputs))
	if s.Fingerprint == "" {
		b.WriteString("not known yet: " + unknown(s) + "\n")
	} else {
		b.WriteString("= " + string(s.Fingerprint) + "\n")
	}
	return send(w, &b)
}

// Hashed is the text that fingerprint.Inputs.Sum hashes (docs/fingerprint.md).
func Hashed(in fingerprint.Inputs) string {
	var b strings.Builder
	b.WriteString("pipe fingerprint 1\n")
	for _, x := range in {
		b.WriteString(x.Kind + " " + strconv.Quote(x.Name) + " " + strconv.Quote(x.Value) + "\n")
	}
	return b.String()
}

func unknown(s *plan.Step) string {
	var first []string
	for _, r := range s.Why {
		if r.Kind == "upstream" {
			first = append(first, r.Name)
		}
	}
	if len(first) == 0 {
		return "stage " + s.Stage.Name + " is " + string(s.Status)
	}
	return strings.Join(first, ", ") + " runs first"
}

// FingerprintJSON writes the same for programs.
func FingerprintJSON(w io.Writer, s *plan.Step) error {
	v := fingerprintJSON{Stage: s.Stage.Name, Fingerprint: string(s.Fingerprint), Inputs: []inputJSON{}}
	for _, x := range s.Inputs {
		v.Inputs = append(v.Inputs, inputJSON(x))
	}
	return JSON(w, v)
}
