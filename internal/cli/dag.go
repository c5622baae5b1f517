package cli

import (
	"github.com/spf13/cobra"

	"pipe/internal/diag"
	"pipe/internal/view"
	"pipe/pipeline/plan"
)

type dagOptions struct {
	targets []string
	format  string
	mermaid bool
	dot     bool
	outs    bool
}

func (a *app) dagCommand() *cobra.Command {
	var o dagOptions
	c := &cobra.Command{
		Use:   "dag [TARGET...] [flags]",
		Short: "Draw the stages and what follows from what",
		Long: `Draw the stages of pipeline.yaml, or the TARGETs and what is above them, as text, as a Mermaid flowchart or as a Graphviz digraph.
In the text, a stage below several others is drawn once, below the last of them; "..." marks the others.`,
		ValidArgsFunction: a.completeTargets,
	}
	f := c.Flags()
	f.StringVar(&o.format, "format", "text", "`FORMAT`: text, mermaid or dot")
	f.BoolVar(&o.mermaid, "mermaid", false, "the same as --format mermaid")
	f.BoolVar(&o.dot, "dot", false, "the same as --format dot")
	f.BoolVarP(&o.outs, "outs", "o", false, "tables and files in place of the stages that make them")
	c.RunE = func(_ *cobra.Command, args []string) error {
		o.targets = args
		if o.mermaid && (o.dot || f.Changed("format")) || o.dot && f.Changed("format") {
			return diag.Errorf(diag.Pos{}, "--format, --mermaid and --dot contradict each other").With("leave one of them")
		}
		return a.runDag(o)
	}
	return c
}

func (a *app) runDag(o dagOptions) error {
	switch {
	case o.mermaid:
		o.format = "mermaid"
	case o.dot:
		o.format = "dot"
	}
	if err := oneOf("--format", o.format, "text", "mermaid", "dot"); err != nil {
		return err
	}
	d, err := a.define()
	if err != nil {
		return err
	}
	defer func() { _ = d.git.Close() }()
	sel, err := plan.Select(d.graph, plan.Request{Targets: o.targets})
	if err != nil {
		return err
	}
	drawing := view.Stages(d.graph, sel.Stages)
	if o.outs {
		drawing = view.Outs(d.graph, sel.Stages)
	}
	switch {
	case a.json:
		return view.DagJSON(a.env.Stdout, drawing)
	case o.format == "mermaid":
		return view.DagMermaid(a.env.Stdout, drawing)
	case o.format == "dot":
		return view.DagDot(a.env.Stdout, drawing)
	}
	return view.DagText(a.env.Stdout, drawing)
}

// completeTargets offers stages and tables to the shell. It says nothing of what is wrong with the project.
func (a *app) completeTargets(_ *cobra.Command, _ []string, _ string) ([]string, cobra.ShellCompDirective) {
	a.quiet = true
	d, err := a.define()
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	defer func() { _ = d.git.Close() }()
	words := d.names()
	for _, s := range d.graph.Stages {
		for _, o := range s.Outs {
			if o.Table != "" {
				words = append(words, plan.TableKey{Sink: o.Sink, Table: o.Table}.String())
			}
		}
	}
	return words, cobra.ShellCompDirectiveNoFileComp
}
