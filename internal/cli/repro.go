package cli

import (
	"context"
	"errors"
	"sync"

	"github.com/spf13/cobra"

	"pipe/internal/diag"
	"pipe/internal/view"
	"pipe/pipeline/run"
)

type reproOptions struct {
	run run.Options
	dry bool
}

func (a *app) reproCommand() *cobra.Command {
	var o reproOptions
	c := &cobra.Command{
		Use:   "repro [TARGET...] [flags]",
		Short: "Run what changed, publish all tables at one instant, save the lock",
		Long: `Run the stages whose definition, code, params or inputs changed, and what follows them; publish the tables that were made, all at
one instant; save pipeline.lock. What was made before, by a run that was killed, on another branch or by a colleague, is reused.

TARGET is a stage, a group, a table or an out's path; what is above it is brought up to date too.
` + statuses,
		ValidArgsFunction: a.completeTargets,
		RunE: func(cmd *cobra.Command, args []string) error {
			o.run.Targets = args
			return a.runRepro(cmd.Context(), o)
		},
	}
	f := c.Flags()
	f.IntVarP(&o.run.Jobs, "jobs", "j", 0, "how many (`N`) stages run at once (default: the cores); 1 runs them in file order")
	f.BoolVarP(&o.run.Force, "force", "f", false, "run the targets even if nothing changed; an append adds its rows again")
	f.BoolVarP(&o.run.Single, "single-item", "s", false, "only the targets, nothing above them")
	f.BoolVarP(&o.run.KeepGoing, "keep-going", "k", false, "after a failure, run what does not hang on it; nothing is published")
	f.BoolVar(&o.run.Downstream, "downstream", false, "the targets and what follows them")
	f.BoolVar(&o.dry, "dry", false, "say what would be done, and do nothing")
	f.StringArrayVar(&o.run.Accept, "accept", nil, "take the heads of `TARGET`'s tables over as they are (repeatable)")
	f.BoolVar(&o.run.NoPublish, "no-publish", false, "make the snapshots and move no head")
	f.BoolVar(&o.run.NoReuse, "no-reuse", false, "run even where what is wanted was made before")
	f.StringVar(&o.run.Ref, "ref", "", "the table `REF` whose heads move (also PIPE_REF; default main)")
	return c
}

func (a *app) runRepro(ctx context.Context, o reproOptions) (err error) {
	if o.run.Jobs < 0 {
		return diag.Errorf(diag.Pos{}, "--jobs is %d, expected at least 1", o.run.Jobs)
	}
	if o.run.Single && o.run.Downstream {
		return diag.Errorf(diag.Pos{}, "--single-item and --downstream contradict each other").With("leave one of them out")
	}
	if o.run.Downstream && len(o.run.Targets) == 0 {
		return diag.Errorf(diag.Pos{}, "--downstream needs a TARGET to start from").With("pipe repro --downstream STAGE")
	}
	if o.run.Ref == "" {
		o.run.Ref = a.env.Getenv("PIPE_REF")
	}
	s, err := a.open(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	if o.dry {
		return a.dry(ctx, s, o)
	}

	talk := a.talk(s.names())
	var mu sync.Mutex
	var moves []run.MoveInfo
	o.run.OnEvent = func(e run.Event) {
		mu.Lock()
		moves = append(moves, e.Moves...)
		mu.Unlock()
		talk.Event(e)
	}
	o.run.Output = talk.Output
	result, err := s.project.Repro(ctx, o.run)
	talk.Close()

	if a.json && result != nil {
		if werr := view.ResultJSON(a.env.Stdout, result, err); werr != nil {
			return werr
		}
		if err != nil {
			return &silent{diag.ExitOf(err), err, true}
		}
		return nil
	}
	if err != nil {
		return err
	}
	return view.Result(a.env.Stdout, result, moves)
}

func (a *app) dry(ctx context.Context, s *session, o reproOptions) error {
	p, err := s.project.Status(ctx, o.run)
	if err != nil {
		return err
	}
	if a.json {
		return view.StatusJSON(a.env.Stdout, p, s.lock)
	}
	return view.Status(a.env.Stdout, p, view.StatusOptions{
		Style: a.outStyle(), Dry: true, Why: a.verbose, All: a.verbose || len(o.run.Targets) > 0,
	})
}
