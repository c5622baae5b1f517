// Package arch holds no code, only the tests that keep docs/architecture.md true: who may import whom, where each library is named,
// what no package may call. A change of direction is a change of the tables here, in the same commit, where a reviewer sees it.
//
// It never runs in the program.
package arch
