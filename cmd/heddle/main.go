// Command heddle measures and steers how work is placed on Hadoop clusters.
//
// Each command is one file here: flags into an options struct, then one call
// into the harness. Nothing in this folder decides anything about a cluster.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/urfave/cli/v2"

	"heddle/harness/sim"
)

// Exit codes, the same for every command.
const (
	exitFailed    = 1 // the work was tried and failed
	exitUsage     = 2 // bad usage or bad input
	exitCluster   = 3 // the cluster is not able or not reachable
	exitThreshold = 4 // a threshold that was asked for was missed
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	os.Exit(run(ctx, os.Args))
}

// run is main without the process: the exit code for args.
func run(ctx context.Context, args []string) int {
	err := newApp().RunContext(ctx, args)
	if err == nil {
		return 0
	}
	fmt.Fprintln(os.Stderr, "heddle:", err)
	if errors.Is(err, sim.ErrInterrupted) {
		return exitFailed
	}
	var coded interface{ ExitCode() int }
	if errors.As(err, &coded) {
		return coded.ExitCode()
	}
	return exitFailed
}

func newApp() *cli.App {
	app := &cli.App{
		Name:                 "heddle",
		Usage:                "measure and steer how work is placed on Hadoop clusters",
		EnableBashCompletion: true,
		// Errors are printed once, by run.
		ExitErrHandler: func(*cli.Context, error) {},
		OnUsageError:   usageError,
		Commands: []*cli.Command{
			agentCommand(),
			benchCommand(),
			captureCommand(),
			compareCommand(),
			demoCommand(),
			doctorCommand(),
			fidelityCommand(),
			labCommand(),
			labelsCommand(),
			modelsCommand(),
			paperCommand(),
			replayCommand(),
			runCommand(),
			traceCommand(),
		},
	}
	reportUsage(app.Commands)
	return app
}

// reportUsage gives commands and those below them the app's OnUsageError, which
// they do not inherit.
func reportUsage(commands []*cli.Command) {
	for _, c := range commands {
		c.OnUsageError = usageError
		reportUsage(c.Subcommands)
	}
}

func usageError(_ *cli.Context, err error, _ bool) error {
	return withCode(exitUsage, fmt.Errorf("%w; --help says what there is", err))
}

// withCode gives err the exit code that the process ends with.
func withCode(code int, err error) error {
	if err == nil {
		return nil
	}
	return &codedError{code, err}
}

type codedError struct {
	code int
	err  error
}

func (e *codedError) Error() string { return e.err.Error() }
func (e *codedError) Unwrap() error { return e.err }
func (e *codedError) ExitCode() int { return e.code }

// endsAtOnce is for commands that only compute: a second signal ends them where
// they do not look for the first. Others put a cluster back first.
func endsAtOnce(c *cli.Context) error {
	context.AfterFunc(c.Context, func() { signal.Reset(os.Interrupt, syscall.SIGTERM) })
	return nil
}
