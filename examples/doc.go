// Package examples holds the example projects, each a folder, and the tests that run them with the real command. It never holds code
// that a project needs.
package examples
