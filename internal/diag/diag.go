// Package diag holds the errors that a user reads: where, what was expected, and one thing to do.
//
// It never prints and never ends the process; internal/view renders, internal/cli chooses the exit status.
package diag

import (
	"errors"
	"fmt"
	"sort"
	"strings"
)

// Pos is a place in a file. Line and Col count from 1; zero means unknown. File is relative to the project root, with slashes.
type Pos struct {
	File string
	Line int
	Col  int
}

// String gives file:line:col, leaving out what is unknown.
func (p Pos) String() string {
	switch {
	case p.File == "":
		return ""
	case p.Line == 0:
		return p.File
	case p.Col == 0:
		return fmt.Sprintf("%s:%d", p.File, p.Line)
	}
	return fmt.Sprintf("%s:%d:%d", p.File, p.Line, p.Col)
}

// Exit is the exit status that an error asks for.
type Exit int

// The exit statuses of the command.
const (
	Failed      Exit = 1   // a stage or a check failed
	Usage       Exit = 2   // usage or file error; all that is known before a command starts
	Stale       Exit = 3   // stale under --check
	Conflict    Exit = 4   // lost a race, or a head is not what the lock says
	Broken      Exit = 5   // the environment is broken or needs recovery
	Interrupted Exit = 130 // SIGINT or SIGTERM
)

// Error is one mistake or failure, said to the user.
type Error struct {
	Exit  Exit   // zero counts as Usage
	Pos   Pos    // where, if it is in a file
	Stage string // the stage that it concerns, if any
	Msg   string // what is wrong and what was expected; lower case, no full stop
	Line  string // the source line at Pos, for the snippet; may be empty
	Width int    // how many columns the snippet's marker spans; zero counts as one
	Hint  string // one command or edit that helps; may be empty
	Err   error  // the cause, for errors.Is; its text is not shown unless Msg holds it
}

// Error gives "file:line:col: message".
func (e *Error) Error() string {
	if at := e.Pos.String(); at != "" {
		return at + ": " + e.Msg
	}
	return e.Msg
}

// Unwrap gives the cause.
func (e *Error) Unwrap() error { return e.Err }

// Errorf makes an Error at a place.
func Errorf(pos Pos, format string, args ...any) *Error {
	return &Error{Exit: Usage, Pos: pos, Msg: fmt.Sprintf(format, args...)}
}

// With sets the hint and returns e.
func (e *Error) With(hint string, args ...any) *Error {
	e.Hint = fmt.Sprintf(hint, args...)
	return e
}

// List is several errors that belong to one reading of a file; in file order once sorted.
type List []*Error

// Error joins the errors, one a line.
func (l List) Error() string {
	lines := make([]string, len(l))
	for i, e := range l {
		lines[i] = e.Error()
	}
	return strings.Join(lines, "\n")
}

// Unwrap gives the single errors to errors.Is and errors.As.
func (l List) Unwrap() []error {
	errs := make([]error, len(l))
	for i, e := range l {
		errs[i] = e
	}
	return errs
}

// Sort puts the errors in order of file and place.
func (l List) Sort() {
	sort.SliceStable(l, func(i, j int) bool {
		a, b := l[i].Pos, l[j].Pos
		if a.File != b.File {
			return a.File < b.File
		}
		if a.Line != b.Line {
			return a.Line < b.Line
		}
		return a.Col < b.Col
	})
}

// Err gives nil for an empty list, and the sorted list otherwise.
func (l List) Err() error {
	if len(l) == 0 {
		return nil
	}
	l.Sort()
	return l
}

// All gives every Error inside err, in order; an error of another kind comes back as one Error that shows its text.
func All(err error) List {
	var list List
	if errors.As(err, &list) {
		return list
	}
	var one *Error
	if errors.As(err, &one) {
		return List{one}
	}
	if err == nil {
		return nil
	}
	return List{{Exit: Broken, Msg: err.Error(), Err: err}}
}

// ExitOf gives the exit status that err asks for: 0 for nil, the first Error's otherwise.
func ExitOf(err error) Exit {
	all := All(err)
	if len(all) == 0 {
		return 0
	}
	if all[0].Exit == 0 {
		return Usage
	}
	return all[0].Exit
}
