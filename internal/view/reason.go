package view

import (
	"strings"

	"pipe/pipeline/fingerprint"
	"pipe/pipeline/plan"
)

// valueWidth is how much of a value stands in a line; --json has all of it.
const valueWidth = 60

// Reason gives one leaf of why, in one line: "param data.num_records 500 -> 1000 (with.rows)".
func Reason(r plan.Reason) string {
	switch r.Kind {
	case fingerprint.Def, fingerprint.Param:
		return change(r, value(r.Old), value(r.New))
	case fingerprint.Dep, fingerprint.Table, fingerprint.Env, fingerprint.Parent:
		return change(r, digest(r.Old), digest(r.New))
	case "out":
		return "out " + r.Name + " " + r.Text
	case "upstream":
		return r.Name + " " + r.Text
	}
	return r.Text
}

func change(r plan.Reason, before, after string) string {
	var b strings.Builder
	b.WriteString(r.Kind + " " + r.Name)
	if r.File != "" && r.File != "params.yaml" {
		b.WriteString(" in " + r.File)
	}
	switch {
	case r.Text != "":
		b.WriteString(": " + r.Text)
	case r.Added:
		b.WriteString(" added: " + after)
	case r.Removed:
		b.WriteString(" removed: " + before)
	default:
		b.WriteString(" " + before + " -> " + after)
	}
	if r.In != "" {
		b.WriteString(" (" + r.In + ")")
	}
	return b.String()
}

func value(v string) string {
	if v == "" {
		return `""`
	}
	return cut(oneLine(v), valueWidth)
}

// digest shortens what names content: nobody compares 64 digits by eye.
func digest(v string) string {
	head, hex, ok := strings.Cut(v, ":")
	if !ok || len(hex) < 32 || strings.ContainsAny(hex, " :") {
		return value(v)
	}
	if head == "sha256" {
		return hex[:8]
	}
	return head + ":" + hex[:8]
}
