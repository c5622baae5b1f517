package cli

import (
	"fmt"

	"github.com/spf13/cobra"

	"pipe/internal/diag"
	"pipe/internal/repo"
	"pipe/internal/view"
)

func (a *app) validateCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "validate",
		Short: "Check pipeline.yaml, its params, the lock and the sinks, and report every mistake at once",
		Args:  exactly(),
		RunE:  func(*cobra.Command, []string) error { return a.runValidate() },
	}
}

func (a *app) runValidate() error {
	d, err := a.define()
	if err != nil {
		return err
	}
	defer func() { _ = d.git.Close() }()
	if _, err := a.sinkOptions(d); err != nil {
		quoteLines(d.layout.Root, diag.All(err))
		return err
	}
	if a.json {
		return view.JSON(a.env.Stdout, map[string]any{"stages": len(d.graph.Stages), "files": d.graph.Files})
	}
	word := "stages"
	if len(d.graph.Stages) == 1 {
		word = "stage"
	}
	_, err = fmt.Fprintf(a.env.Stdout, "%s: %d %s, ok\n", repo.PipelineFile, len(d.graph.Stages), word)
	return err
}
