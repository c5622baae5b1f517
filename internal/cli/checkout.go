package cli

import (
	"context"
	"errors"

	"github.com/spf13/cobra"

	"pipe/internal/view"
	"pipe/pipeline/run"
)

func (a *app) checkoutCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "checkout [TABLE...]",
		Short: "Move the heads of tables to what the lock says",
		Long: `Move the heads of the tables, all or those named, to the snapshots in pipeline.lock: forward or back, because you say so. No row is
read or written, and the snapshots that the heads leave stay readable by their ids.`,
		ValidArgsFunction: a.completeTargets,
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.runCheckout(cmd.Context(), args)
		},
	}
}

func (a *app) runCheckout(ctx context.Context, tables []string) (err error) {
	s, err := a.open(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	talk := a.talk(s.names())
	moves, err := s.project.Checkout(ctx, tables, func(e run.Event) { talk.Event(e) })
	talk.Close()
	if err != nil {
		return err
	}
	if a.json {
		return view.CheckoutJSON(a.env.Stdout, moves)
	}
	return view.Checkout(a.env.Stdout, moves)
}
