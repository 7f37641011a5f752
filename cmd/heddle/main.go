// Command heddle measures and steers how work is placed on Hadoop clusters.
//
// Each command is one file here: flags into an options struct, then one call
// into the harness. Nothing in this folder decides anything about a cluster.
package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"

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

func main() { os.Exit(run(interruptible(os.Exit), os.Args)) }

// run is main without the process: the exit code for args.
func run(ctx context.Context, args []string) int {
	err := newApp().RunContext(ctx, args)
	err = errors.Join(err, stdout.Flush())
	if err == nil || errors.Is(err, errHelp) {
		return 0
	}
	fmt.Fprintln(stderr, "heddle:", err)
	return exitCode(ctx, err)
}

func exitCode(ctx context.Context, err error) int {
	var coded *codedError
	switch {
	case errors.As(context.Cause(ctx), new(*interruptedError)), errors.Is(err, sim.ErrInterrupted):
		return exitFailed
	case errors.As(err, &coded):
		return coded.code
	case errors.As(err, new(cli.ExitCoder)) && !errors.As(err, new(*exec.ExitError)):
		return exitUsage // the library's own: help for a command that there is not
	}
	return exitFailed
}

func newApp() *cli.App {
	app := &cli.App{
		Name:                 "heddle",
		Usage:                "measure and steer how work is placed on Hadoop clusters",
		Version:              version(),
		EnableBashCompletion: true,
		Writer:               stdout,
		ErrWriter:            stderr,
		// Errors are printed once, by run.
		ExitErrHandler: func(*cli.Context, error) {},
		OnUsageError:   usageError,
		Action:         noCommand,
		Commands: []*cli.Command{
			agentCommand(),
			benchCommand(),
			captureCommand(),
			compareCommand(),
			completionCommand(),
			demoCommand(),
			doctorCommand(),
			fidelityCommand(),
			labCommand(),
			labelsCommand(),
			modelsCommand(),
			paperCommand(),
			replayCommand(),
			runCommand(),
			runsCommand(),
			traceCommand(),
		},
	}
	finish(app.Commands)
	return app
}

// finish gives commands, and those below them, what they do not inherit.
func finish(commands []*cli.Command) {
	for _, c := range commands {
		c.OnUsageError = usageError
		finish(c.Subcommands)
		if c.Action == nil {
			c.Action = noCommand
		} else {
			c.HideHelpCommand = true // "help" and "h" may be names of files
		}
	}
}

// usageError says what is wrong with a command line, and which flag was
// probably meant.
func usageError(c *cli.Context, err error, _ bool) error {
	help := commandName(c) + " --help says what there is"
	name, unknown := strings.CutPrefix(err.Error(), "flag provided but not defined: -")
	if !unknown {
		return withCode(exitUsage, fmt.Errorf("%w; %s", err, help))
	}
	if near := cli.SuggestFlag(c.Command.Flags, name, false); near != "" {
		help = "did you mean " + near + "? " + help
	}
	return withCode(exitUsage, fmt.Errorf("no such flag -%s; %s", name, help))
}

// noCommand answers where a command has to follow and none of ours does.
func noCommand(c *cli.Context) error {
	name := c.Args().First()
	if name == "" {
		help := cli.ShowSubcommandHelp
		if c.Command.HelpName == "" {
			help = cli.ShowAppHelp
		}
		c.App.Writer = c.App.ErrWriter
		return errors.Join(help(c), withCode(exitUsage, fmt.Errorf("%s needs a command", commandName(c))))
	}
	text := fmt.Sprintf("there is no command %q", name)
	if _, near, found := strings.Cut(cli.SuggestCommand(c.Command.VisibleCommands(), name), `"`); found {
		text += fmt.Sprintf(`; did you mean "%s`, near) // with its quote and question mark
	}
	return withCode(exitUsage, fmt.Errorf("%s %s --help lists them", text, commandName(c)))
}

// commandName is a command as one types it.
func commandName(c *cli.Context) string { return cmp.Or(c.Command.HelpName, c.App.Name) }

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
