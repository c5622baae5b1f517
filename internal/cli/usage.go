package cli

import (
	"regexp"
	"strings"

	"github.com/spf13/cobra"

	"pipe/internal/diag"
)

func unknownVerb(root *cobra.Command, verb string) error {
	var names []string
	for _, c := range root.Commands() {
		if !c.Hidden {
			names = append(names, c.Name())
		}
	}
	e := diag.Errorf(diag.Pos{}, "no verb is called %q", verb)
	if c := diag.Closest(verb, names); c != "" {
		return e.With("did you mean pipe %s?", c)
	}
	return e.With("there are: %s", strings.Join(names, ", "))
}

var (
	longFlag  = regexp.MustCompile(`^unknown flag: --([^=]*)`)
	shortFlag = regexp.MustCompile(`^unknown shorthand flag: '(.)' in`)
	argOf     = regexp.MustCompile(`^invalid argument "(.*)" for "(?:-., )?(--[^"]+)" flag: `)
	needsArg  = regexp.MustCompile(`^flag needs an argument: (?:(--\S+)|'(.)' in)`)
)

// flagError puts what the flag library says into our words.
func flagError(cmd *cobra.Command, err error) error {
	text := err.Error()
	help := cmd.CommandPath() + " --help"
	if m := longFlag.FindStringSubmatch(text); m != nil {
		e := diag.Errorf(diag.Pos{}, "%s has no flag --%s", cmd.CommandPath(), m[1])
		if c := diag.Closest(m[1], flagNames(cmd)); c != "" {
			return e.With("did you mean --%s?", c)
		}
		return e.With("%s lists the flags", help)
	}
	if m := shortFlag.FindStringSubmatch(text); m != nil {
		return diag.Errorf(diag.Pos{}, "%s has no flag -%s", cmd.CommandPath(), m[1]).With("%s lists the flags", help)
	}
	if m := argOf.FindStringSubmatch(text); m != nil {
		f := cmd.Flags().Lookup(strings.TrimPrefix(m[2], "--"))
		expected := "another value"
		if f != nil {
			switch f.Value.Type() {
			case "int", "int64":
				expected = "a whole number"
			case "bool":
				expected = "true or false"
			}
		}
		return diag.Errorf(diag.Pos{}, "%s is %q, expected %s", m[2], m[1], expected)
	}
	if m := needsArg.FindStringSubmatch(text); m != nil {
		name := m[1]
		if name == "" {
			name = "-" + m[2]
		}
		return diag.Errorf(diag.Pos{}, "%s needs a value", name).With("%s lists the flags", help)
	}
	return diag.Errorf(diag.Pos{}, "%s", text).With("%s lists the flags", help)
}

func flagNames(cmd *cobra.Command) []string {
	var names []string
	for _, line := range strings.Split(cmd.LocalFlags().FlagUsages()+cmd.InheritedFlags().FlagUsages(), "\n") {
		if _, rest, ok := strings.Cut(line, "--"); ok {
			name, _, _ := strings.Cut(rest, " ")
			names = append(names, name)
		}
	}
	return names
}

// exactly takes the arguments that names lists, no more and no fewer.
func exactly(names ...string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) < len(names) {
			return diag.Errorf(diag.Pos{}, "%s needs %s", cmd.CommandPath(), names[len(args)]).With("usage: %s", cmd.UseLine())
		}
		if len(args) > len(names) {
			return diag.Errorf(diag.Pos{}, "%s does not take %q", cmd.CommandPath(), args[len(names)]).With("usage: %s", cmd.UseLine())
		}
		return nil
	}
}

func completionCommand() *cobra.Command {
	shells := []string{"bash", "fish", "powershell", "zsh"}
	return &cobra.Command{
		Use:   "completion SHELL",
		Short: "Write a script that completes verbs, flags, stages and tables in bash, zsh, fish or powershell",
		Long: `Write a completion script to stdout. For the current shell:

    source <(pipe completion bash)`,
		Args:      exactly("SHELL"),
		ValidArgs: shells,
		RunE: func(cmd *cobra.Command, args []string) error {
			out, root := cmd.OutOrStdout(), cmd.Root()
			switch args[0] {
			case "bash":
				return root.GenBashCompletionV2(out, true)
			case "fish":
				return root.GenFishCompletion(out, true)
			case "powershell":
				return root.GenPowerShellCompletionWithDesc(out)
			case "zsh":
				return root.GenZshCompletion(out)
			}
			return oneOf("SHELL", args[0], shells...)
		},
	}
}
