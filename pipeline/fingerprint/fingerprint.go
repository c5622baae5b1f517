// Package fingerprint names inputs. One walk over a stage's Inputs makes the hash, the lock's record and the explanation, so that
// the three cannot disagree. The encoding is written down in docs/fingerprint.md.
//
// It never reads a file, a table or a clock.
package fingerprint

import (
	"crypto/sha256"
	"encoding/hex"
	"sort"
	"strconv"
)

// Digest names content: a file's bytes ("sha256:<hex>") or a table's rows ("1:<hex>", the number being the version of the encoding).
type Digest string

// Fingerprint names inputs: "1:<hex>", the number being the version of the encoding.
type Fingerprint string

// None stands where there is no content: the parent of an append onto a table without rows.
const None Digest = "none"

// Version is the encoding that Sum writes.
const Version = 1

// Kinds of inputs, in the order in which they are shown.
const (
	Def    = "def"    // the stage's own definition
	Dep    = "dep"    // a file, directory or glob
	Param  = "param"  // a tracked param
	Table  = "table"  // a table dep
	Env    = "env"    // a variable of the caller, by the hash of its value
	Parent = "parent" // the table that an append is built on
)

// Input is one labelled fact that decides a rerun.
type Input struct {
	Kind  string `json:"kind"`
	Name  string `json:"name"`
	Value string `json:"value"`
	From  string `json:"from,omitempty"` // where a template took the value from ("data.rows in params.yaml"); shown, never hashed
}

// Inputs are the facts of one stage. Sorted by kind (in the order of the constants above) and name; (Kind, Name) is unique.
type Inputs []Input

// rank gives the place of a kind.
func rank(kind string) int {
	switch kind {
	case Dep:
		return 1
	case Param:
		return 2
	case Table:
		return 3
	case Env:
		return 4
	case Parent:
		return 5
	}
	return 0
}

// Less is the order of inputs in the hash, in the lock and on the screen.
func Less(a, b Input) bool {
	if a.Kind != b.Kind {
		if ra, rb := rank(a.Kind), rank(b.Kind); ra != rb {
			return ra < rb
		}
	}
	return a.Name < b.Name
}

// Sort puts the inputs into their one order.
func (in Inputs) Sort() {
	sort.SliceStable(in, func(i, j int) bool { return Less(in[i], in[j]) })
}

// Get gives the value of one input.
func (in Inputs) Get(kind, name string) (string, bool) {
	for _, x := range in {
		if x.Kind == kind && x.Name == name {
			return x.Value, true
		}
	}
	return "", false
}

// Sum is the fingerprint of the inputs: SHA-256 over a heading and one line a fact, kind, quoted name and quoted value.
// The inputs must be sorted.
func (in Inputs) Sum() Fingerprint {
	sum := sha256.Sum256(in.encode())
	return Fingerprint("1:" + hex.EncodeToString(sum[:]))
}

// encode gives the text that Sum hashes. All that is not ASCII is escaped: which characters strconv.Quote shows as they are depends
// on the Unicode version of the Go release, and a new release must not rerun anything.
func (in Inputs) encode() []byte {
	b := append(make([]byte, 0, 1024), "pipe fingerprint 1\n"...)
	for _, x := range in {
		b = append(b, x.Kind...)
		b = strconv.AppendQuoteToASCII(append(b, ' '), x.Name)
		b = strconv.AppendQuoteToASCII(append(b, ' '), x.Value)
		b = append(b, '\n')
	}
	return b
}

// Without gives the inputs less those of one kind.
func (in Inputs) Without(kind string) Inputs {
	out := make(Inputs, 0, len(in))
	for _, x := range in {
		if x.Kind != kind {
			out = append(out, x)
		}
	}
	return out
}

// Equal reports whether two sorted lists state the same facts; From does not count.
func Equal(a, b Inputs) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if a[i].Kind != b[i].Kind || a[i].Name != b[i].Name || a[i].Value != b[i].Value {
			return false
		}
	}
	return true
}

// Change is one input that differs. Added and Removed tell an absent side from an empty one.
type Change struct {
	Kind, Name, From string
	Old, New         string
	Added, Removed   bool
}

// Diff lists what differs between two sorted lists, in their order.
func Diff(before, after Inputs) []Change {
	var out []Change
	i, j := 0, 0
	for i < len(before) || j < len(after) {
		switch {
		case j == len(after) || i < len(before) && Less(before[i], after[j]):
			x := before[i]
			out = append(out, Change{Kind: x.Kind, Name: x.Name, From: x.From, Old: x.Value, Removed: true})
			i++
		case i == len(before) || Less(after[j], before[i]):
			x := after[j]
			out = append(out, Change{Kind: x.Kind, Name: x.Name, From: x.From, New: x.Value, Added: true})
			j++
		default:
			if x, y := before[i], after[j]; x.Value != y.Value {
				out = append(out, Change{Kind: y.Kind, Name: y.Name, From: y.From, Old: x.Value, New: y.Value})
			}
			i, j = i+1, j+1
		}
	}
	return out
}
