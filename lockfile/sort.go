package lockfile

import "slices"

// Sort puts the entry's inputs and outs into the order in which they are written.
func (e *Entry) Sort() {
	e.Inputs.Sort()
	slices.SortStableFunc(e.Outs, compareOuts)
}
