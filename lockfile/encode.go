package lockfile

import (
	"slices"
	"strconv"

	"pipe/pipeline/fingerprint"
)

const (
	header = "# Written by pipe. Keep it in git."
	footer = "# end" // a file without it was cut off
)

// Encode gives the bytes of the file. They depend on nothing but the lock: stages, inputs and outs are sorted.
func (l *Lock) Encode() []byte {
	names := l.Names()
	b := make([]byte, 0, 256+1024*len(names))
	b = append(b, header...)
	b = append(b, "\nversion: "...)
	b = strconv.AppendInt(b, Version, 10)
	if len(names) == 0 {
		b = append(b, "\nstages: {}\n"...)
	} else {
		b = append(b, "\nstages:\n"...)
	}
	for _, name := range names {
		b = appendEntry(b, name, l.Stages[name])
	}
	b = append(b, footer...)
	return append(b, '\n')
}

// appendEntry writes one stage's block.
func appendEntry(b []byte, name string, e *Entry) []byte {
	if e == nil {
		e = &Entry{}
	}
	b = appendKey(b, "  ", appendScalar(nil, name))
	b = append(b, "\n    fingerprint: "...)
	b = appendScalar(b, string(e.Fingerprint))
	b = append(b, "\n    inputs:"...)
	b = appendInputs(b, e.Inputs)
	b = append(b, "    outs:"...)
	return appendOuts(b, e.Outs)
}

// appendKey writes a key with its colon.
func appendKey(b []byte, indent string, key []byte) []byte {
	b = append(b, indent...)
	if len(key) <= keyLimit {
		b = append(b, key...)
		return append(b, ':')
	}
	b = append(b, "? "...)
	b = append(b, key...)
	b = append(b, '\n')
	b = append(b, indent...)
	return append(b, ':')
}

func appendInputs(b []byte, in fingerprint.Inputs) []byte {
	if len(in) == 0 {
		return append(b, " {}\n"...)
	}
	b = append(b, '\n')
	if !slices.IsSortedFunc(in, compareInputs) {
		in = slices.Clone(in)
		in.Sort()
	}
	var key []byte
	for _, x := range in {
		key = appendInputKey(key[:0], x)
		b = appendKey(b, "      ", key)
		b = append(b, ' ')
		b = appendScalar(b, x.Value)
		if x.From != "" {
			b = append(b, "  # "...)
			b = appendComment(b, x.From)
		}
		b = append(b, '\n')
	}
	return b
}

// appendInputKey writes "kind name". A kind is a plain word, so what begins like a number, a bool or a sign is none behind it; only
// a # would be.
func appendInputKey(b []byte, x fingerprint.Input) []byte {
	if x.Name == "" || x.Name[0] == '#' || !isBareRest(x.Name) {
		return appendQuoted(b, x.Kind+" "+x.Name)
	}
	b = append(b, x.Kind...)
	b = append(b, ' ')
	return append(b, x.Name...)
}

func compareInputs(a, b fingerprint.Input) int {
	switch {
	case fingerprint.Less(a, b):
		return -1
	case fingerprint.Less(b, a):
		return 1
	}
	return 0
}

// appendComment writes text behind "# ": as it is, or quoted if it would not come back so.
func appendComment(b []byte, s string) []byte {
	if s[0] == '"' || s[0] == ' ' || s[len(s)-1] == ' ' || !allRaw(s) {
		return appendQuoted(b, s)
	}
	return append(b, s...)
}

func appendOuts(b []byte, outs []Out) []byte {
	if len(outs) == 0 {
		return append(b, " []\n"...)
	}
	b = append(b, '\n')
	if !slices.IsSortedFunc(outs, compareOuts) {
		outs = slices.Clone(outs)
		slices.SortStableFunc(outs, compareOuts)
	}
	for i := range outs {
		b = appendOut(b, &outs[i])
	}
	return b
}

func appendOut(b []byte, o *Out) []byte {
	const first, next = "      - ", "        "
	if o.Path != "" {
		b = appendField(b, first, "path", o.Path)
		b = appendField(b, next, "digest", string(o.Digest))
		return appendInt(b, next, "size", o.Size)
	}
	b = appendField(b, first, "table", o.Table)
	b = appendField(b, next, "sink", o.Sink)
	b = append(b, next...)
	b = append(b, "snapshot: "...)
	b = appendQuoted(b, o.Snapshot) // always quoted: an id is no number, it may exceed 2^53
	b = append(b, '\n')
	b = appendField(b, next, "digest", string(o.Digest))
	b = appendInt(b, next, "rows", o.Rows)
	if o.Accepted {
		b = append(b, "        accepted: true\n"...)
	}
	if len(o.Columns) > 0 {
		b = append(b, "        columns:\n"...)
		for _, c := range o.Columns {
			b = append(b, "          - "...)
			b = appendScalar(b, c)
			b = append(b, '\n')
		}
	}
	return b
}

func appendField(b []byte, indent, key, value string) []byte {
	b = append(b, indent...)
	b = append(b, key...)
	b = append(b, ": "...)
	b = appendScalar(b, value)
	return append(b, '\n')
}

func appendInt(b []byte, indent, key string, value int64) []byte {
	b = append(b, indent...)
	b = append(b, key...)
	b = append(b, ": "...)
	b = strconv.AppendInt(b, value, 10)
	return append(b, '\n')
}
