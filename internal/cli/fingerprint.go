package cli

import (
	"context"
	"errors"
	"maps"
	"slices"

	"github.com/spf13/cobra"

	"pipe/internal/diag"
	"pipe/internal/view"
	"pipe/pipeline/plan"
	"pipe/pipeline/run"
)

func (a *app) fingerprintCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "fingerprint STAGE",
		Short: "Write the text whose hash decides whether a stage runs, one fact a line",
		Long: `Write exactly the text that is hashed for a stage, one fact a line, and below it the fingerprint: the SHA-256 of all lines but the
last, after the version of the encoding.`,
		Args:              exactly("STAGE"),
		ValidArgsFunction: a.completeTargets,
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.runFingerprint(cmd.Context(), args[0])
		},
	}
}

func (a *app) runFingerprint(ctx context.Context, target string) (err error) {
	s, err := a.open(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	stage, err := one(s.definition, target)
	if err != nil {
		return err
	}
	p, err := s.project.Status(ctx, run.Options{Targets: []string{stage}})
	if err != nil {
		return err
	}
	step := p.Step(stage)
	if step == nil {
		return diag.Errorf(diag.Pos{}, "stage %s is not in the plan", stage)
	}
	if len(step.Missing) > 0 {
		return step.Missing.Err()
	}
	if a.json {
		return view.FingerprintJSON(a.env.Stdout, step)
	}
	return view.Fingerprint(a.env.Stdout, step)
}

// one gives the stage that a target names; a group is more than one.
func one(d *definition, target string) (string, error) {
	sel, err := plan.Select(d.graph, plan.Request{Targets: []string{target}, Single: true})
	if err != nil {
		return "", err
	}
	names := slices.Sorted(maps.Keys(sel.Targets))
	if len(names) != 1 {
		return "", diag.Errorf(diag.Pos{}, "%s is a group of %d stages, expected one", target, len(names)).With("pipe fingerprint %s", names[0])
	}
	return names[0], nil
}
