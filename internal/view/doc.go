// Package view is how results look: text for people and JSON for programs, with the same facts.
//
// It decides nothing, reads no file and runs nothing; what it writes goes to the writers that it is given.
package view
