// Package repo is where a project is: its root, the layout of its .pipe folder, and what git knows of it.
//
// It reads git through go-git and its own few lines over raw objects; it never writes to git, never runs the git program, and
// observing a project never creates a file.
package repo
