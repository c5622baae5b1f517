// Package app is the pipe command as a function, for programs that bring kinds of stages of their own:
//
//	package main
//
//	import (
//		"pipe/cmd/pipe/app"
//		"pipe/stages"
//	)
//
//	func main() {
//		app.Main(map[string]stages.Kind{
//			"orders": {Version: 1, Run: orders}, // use: orders
//		})
//	}
//
// The program takes all verbs and flags of pipe. It decides nothing itself: it turns signals into a cancelled context, and hands the
// process's streams to the command line.
package app

import (
	"context"
	"os"
	"os/signal"
	"syscall"
	"time"

	"pipe/internal/cli"
	"pipe/stages"
)

// Main runs the command that the process was called with, and ends the process with its exit status. The built-in kinds of stages
// are always there; kinds adds more by the name that stands behind use: in pipeline.yaml, and may replace a built-in one.
//
// The first SIGINT or SIGTERM ends a run in good order: the commit in hand is finished or abandoned, the lock is saved, and the exit
// status is 130. A second one kills the process, which costs nothing but the time to run again.
func Main(kinds map[string]stages.Kind) {
	os.Exit(run(kinds))
}

func run(kinds map[string]stages.Kind) int {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	asked := make(chan os.Signal, 1)
	signal.Notify(asked, os.Interrupt, syscall.SIGTERM)
	go func() {
		select {
		case <-asked:
		case <-ctx.Done():
		}
		// The signals have their own meaning again before anybody learns of the cancel, so that a second one is never swallowed.
		signal.Stop(asked)
		cancel()
	}()

	// A reader that went away (pipe show | head) is an error of a write, not a death in the middle of a commit. The signal is not
	// ignored outright: programs that stages start would inherit that.
	broken := make(chan os.Signal, 1)
	signal.Notify(broken, syscall.SIGPIPE)
	defer signal.Stop(broken)

	return cli.Main(ctx, os.Args[1:], cli.Env{
		Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr,
		Environ: os.Environ(), Getenv: os.Getenv, Getwd: os.Getwd, Now: time.Now,
	}, kinds)
}
