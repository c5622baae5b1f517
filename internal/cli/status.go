package cli

import (
	"context"
	"errors"

	"github.com/spf13/cobra"

	"pipe/internal/diag"
	"pipe/internal/view"
	"pipe/pipeline/run"
)

type statusOptions struct {
	targets []string
	why     bool
	check   bool
}

func (a *app) statusCommand() *cobra.Command {
	var o statusOptions
	c := &cobra.Command{
		Use:   "status [TARGET...] [flags]",
		Short: "Say what repro would do, and why; run nothing",
		Long: `Say of each stage what repro would do with it: nothing (up to date), take what was made before (reuse), run it (stale), run it if
what is above it changes (pending), or stop before anything runs (diverged). Nothing is run and nothing is written.

TARGET is a stage, a group, a table or an out's path; what is above it is looked at too.`,
		ValidArgsFunction: a.completeTargets,
		RunE: func(cmd *cobra.Command, args []string) error {
			o.targets = args
			return a.runStatus(cmd.Context(), o)
		},
	}
	c.Flags().BoolVar(&o.why, "why", false, "all reasons, one a line")
	c.Flags().BoolVar(&o.check, "check", false, "exit status 3 if repro would do anything")
	return c
}

// errStale ends status --check; what is stale was said.
var errStale = errors.New("repro would do something")

func (a *app) runStatus(ctx context.Context, o statusOptions) (err error) {
	s, err := a.open(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	p, err := s.project.Status(ctx, run.Options{Targets: o.targets})
	if err != nil {
		return err
	}
	if a.json {
		err = view.StatusJSON(a.env.Stdout, p, s.lock)
	} else {
		err = view.Status(a.env.Stdout, p, view.StatusOptions{Style: a.outStyle(), Why: o.why, All: a.verbose || len(o.targets) > 0})
	}
	if err == nil && o.check && !p.UpToDate() {
		return &silent{status: diag.Stale, err: errStale}
	}
	return err
}
