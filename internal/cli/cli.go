// Package cli is the command line: one file a verb, each an options struct, its flags, and a function that runs it. It wires kinds
// of stages, sinks, git and views together.
//
// It holds no rule of the domain: what is to be done is decided in pipeline/plan, done in pipeline/run, and drawn in internal/view.
package cli

import (
	"context"
	"errors"
	"io"
	"log"
	"log/slog"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"pipe/internal/diag"
	"pipe/internal/view"
	"pipe/stages"
)

// Env is what a process has around it.
type Env struct {
	Stdin   io.Reader
	Stdout  io.Writer
	Stderr  io.Writer
	Environ []string // as os.Environ gives it
	Getenv  func(string) string
	Getwd   func() (string, error)
	Now     func() time.Time
}

// app is one call of the command.
type app struct {
	env     Env
	kinds   map[string]stages.Kind
	dir     string
	json    bool
	quiet   bool
	verbose bool
	color   string
	logs    string
}

// Main runs one command and gives its exit status (diag.Exit). The built-in kinds of stages are there already; kinds adds to them
// and may replace them. A cancelled ctx ends the command in good order, with status 130.
//
// It sets the process's log and slog: libraries write to them, and what they say is shown under -v only.
func Main(ctx context.Context, args []string, env Env, kinds map[string]stages.Kind) int {
	a := &app{env: env, kinds: withBuiltIn(kinds)}
	// Also where the flags do not parse: the errors then are JSON too.
	a.json = slices.Contains(args, "--json")
	a.color, a.logs = "auto", "text"
	a.listen(io.Discard)
	root := a.command()
	root.SetArgs(args)
	root.SetIn(env.Stdin)
	root.SetOut(env.Stdout)
	root.SetErr(env.Stderr)
	return a.exit(ctx, root.ExecuteContext(ctx))
}

// listen sends what libraries log to w.
func (a *app) listen(w io.Writer) {
	log.SetOutput(w)
	slog.SetDefault(slog.New(slog.NewTextHandler(w, nil)))
}

// silent is the end of a command whose answer on stdout has said what is wrong.
type silent struct {
	status diag.Exit
	err    error
	log    bool // say it in a JSON log all the same
}

func (s *silent) Error() string { return s.err.Error() }
func (s *silent) Unwrap() error { return s.err }

// exit shows the error, if there is one to show, and gives the exit status. It is the only place that decides either.
func (a *app) exit(ctx context.Context, err error) int {
	if err == nil {
		return 0
	}
	var said *silent
	if errors.As(err, &said) {
		if said.log && a.logs == "json" {
			view.ErrorLog(a.env.Stderr, a.env.Now(), err)
		}
		return int(said.status)
	}
	if errors.Is(err, syscall.EPIPE) {
		return 0 // who reads has seen enough: pipe show ... | head
	}
	if ctx.Err() != nil && errors.Is(err, context.Canceled) && diag.ExitOf(err) != diag.Interrupted {
		err = &diag.Error{Exit: diag.Interrupted, Msg: "interrupted", Err: err}
	}
	if a.json {
		_ = view.ErrorsJSON(a.env.Stdout, err)
	}
	switch {
	case a.logs == "json":
		view.ErrorLog(a.env.Stderr, a.env.Now(), err)
	case !a.json:
		_ = view.Errors(a.env.Stderr, a.errStyle(), err)
	}
	return int(diag.ExitOf(err))
}

const statuses = `
Exit status: 0 done, 1 a stage or a check failed, 2 usage or file error, 3 stale under --check, 4 a head is not what the lock says
or another writer was first, 5 the environment is broken or needs recovery, 130 interrupted.`

// command makes the tree of verbs.
func (a *app) command() *cobra.Command {
	root := &cobra.Command{
		Use:   "pipe",
		Short: "Transactional ETL: rerun what changed, commit each table as one snapshot, keep the record in git",
		Long: `pipe reruns the stages of pipeline.yaml whose code, params or inputs changed, commits what each of them makes as one
atomic snapshot of an Iceberg table, and records the snapshots in pipeline.lock, which goes into git.
` + statuses,
		SilenceErrors: true,
		SilenceUsage:  true,
		Args:          cobra.ArbitraryArgs, // an unknown verb is told by us, with a suggestion
		PersistentPreRunE: func(cmd *cobra.Command, _ []string) error {
			return a.settings()
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				return unknownVerb(cmd, args[0])
			}
			return cmd.Help()
		},
		CompletionOptions: cobra.CompletionOptions{DisableDefaultCmd: true},
	}
	f := root.PersistentFlags()
	f.StringVarP(&a.dir, "dir", "C", "", "`DIR` is the project's folder, in place of the one that holds pipeline.yaml here or above (also PIPE_DIR)")
	f.BoolVar(&a.json, "json", a.json, "answer with one JSON object")
	f.BoolVarP(&a.quiet, "quiet", "q", false, "say nothing on stderr but errors")
	f.BoolVarP(&a.verbose, "verbose", "v", false, "say more: stages that need nothing, what libraries log")
	f.StringVar(&a.color, "color", "auto", "`WHEN` text is coloured: auto, always or never")
	f.StringVar(&a.logs, "log-format", "text", "`FORMAT` of stderr: text, or json, one object a line")
	root.SetFlagErrorFunc(flagError)
	root.SetHelpCommand(&cobra.Command{Hidden: true, Use: "no-help"}) // --help does it
	root.AddCommand(
		a.initCommand(), a.validateCommand(), a.statusCommand(), a.reproCommand(), a.checkoutCommand(), a.dagCommand(), a.showCommand(),
		a.fingerprintCommand(), a.schemaCommand(), completionCommand(), a.versionCommand(),
	)
	for _, c := range root.Commands() {
		c.DisableFlagsInUseLine = true
	}
	return root
}

// settings checks the global flags and applies what must stand before a verb runs.
func (a *app) settings() error {
	if err := oneOf("--color", a.color, "auto", "always", "never"); err != nil {
		a.color = "auto"
		return err
	}
	if err := oneOf("--log-format", a.logs, "text", "json"); err != nil {
		a.logs = "text"
		return err
	}
	if a.verbose {
		a.listen(a.env.Stderr)
	}
	return nil
}

func oneOf(flag, got string, words ...string) error {
	if slices.Contains(words, got) {
		return nil
	}
	last := len(words) - 1
	e := diag.Errorf(diag.Pos{}, "%s is %q, expected %s or %s", flag, got, strings.Join(words[:last], ", "), words[last])
	if c := diag.Closest(got, words); c != "" {
		return e.With("did you mean %s?", c)
	}
	return e
}
