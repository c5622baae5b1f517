package cli

import (
	"io"

	"golang.org/x/term"

	"pipe/internal/view"
)

// terminal gives the descriptor of w, if it is a terminal.
func terminal(w io.Writer) (int, bool) {
	f, ok := w.(interface{ Fd() uintptr })
	if !ok || !term.IsTerminal(int(f.Fd())) {
		return 0, false
	}
	return int(f.Fd()), true
}

func (a *app) style(w io.Writer) view.Style {
	switch a.color {
	case "always":
		return view.Style{Color: true}
	case "never":
		return view.Style{}
	}
	if a.env.Getenv("NO_COLOR") != "" || a.env.Getenv("TERM") == "dumb" {
		return view.Style{}
	}
	_, is := terminal(w)
	return view.Style{Color: is}
}

func (a *app) outStyle() view.Style { return a.style(a.env.Stdout) }
func (a *app) errStyle() view.Style { return a.style(a.env.Stderr) }

// talk begins what is said on stderr while a run lasts.
func (a *app) talk(names []string) view.Talk {
	o := view.TalkOptions{
		Style: a.errStyle(), Quiet: a.quiet, Verbose: a.verbose, Names: view.NameWidth(names), Now: a.env.Now,
	}
	if a.logs == "json" {
		return view.NewLogger(a.env.Stderr, o)
	}
	if fd, is := terminal(a.env.Stderr); is && a.env.Getenv("TERM") != "dumb" {
		o.Size = func() (int, int) {
			columns, rows, err := term.GetSize(fd)
			if err != nil || columns <= 0 {
				return 80, 24
			}
			return columns, rows
		}
	}
	return view.NewPrinter(a.env.Stderr, o)
}
