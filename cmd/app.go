// Package cmd is the command heddle: it measures and decides on which nodes the
// tasks of Hadoop jobs run.
//
// Each command is in one file of this package. It copies the flags into a
// struct of options and makes one call into package harness. Nothing in this
// package decides anything about a cluster.
package cmd

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"

	"github.com/urfave/cli/v2"

	"heddle/harness/config"
	"heddle/harness/nearest"
	"heddle/harness/paper/models"
	"heddle/harness/runs"
	"heddle/harness/sched"
	"heddle/harness/sim"
	"heddle/harness/workload/generate"
)

// Exit codes of all commands.
const (
	exitFailed    = 1 // exit code: the work failed
	exitUsage     = 2 // exit code: bad usage or bad input
	exitCluster   = 3 // exit code: the cluster cannot be reached, or lacks something that the command needs
	exitThreshold = 4 // exit code: a threshold that the user set was missed, or the trials cannot tell
)

// Own is what a program of another module adds to heddle: a scheduler model, which is a
// sched.Info, or a workload, which is a generate.Workload.
type Own interface {
	// Check says what is wrong with it, and what to change, nil if nothing is.
	Check() error
}

// Main runs the command line of this process and ends the process with the exit
// code. All commands know the given scheduler models and workloads besides those of heddle
// and of papers. So a program of another module whose function main calls Main is heddle
// with models and workloads of its own.
func Main(own ...Own) {
	if err := register(own); err != nil {
		fmt.Fprintln(stderr, "heddle:", err)
		os.Exit(exitUsage)
	}
	os.Exit(run(interruptible(os.Exit), os.Args))
}

func register(own []Own) error {
	all := models.List()
	var workloads []generate.Workload
	for _, x := range own {
		switch x := x.(type) {
		case sched.Info:
			all = append(all, x)
		case generate.Workload:
			workloads = append(workloads, x)
		default:
			return fmt.Errorf("register %T: want a sched.Info or a generate.Workload", x)
		}
	}
	if err := sched.Register(all...); err != nil {
		return err
	}
	return config.RegisterWorkloads(workloads...)
}

// run runs the command line args and returns the exit code.
func run(ctx context.Context, args []string) int {
	err := newApp().RunContext(ctx, args)
	if flushed := stdout.Flush(); err == nil { // else the command has failed already, often by the same
		err = flushed
	}
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
		return exitUsage // the cli library returns an error of this type if the user asks for help on an unknown command
	}
	return exitFailed
}

func newApp() *cli.App {
	said := &notes{escaper: stderr}
	app := &cli.App{
		Name:                 "heddle",
		Usage:                "measure and steer how work is placed on Hadoop clusters",
		Version:              runs.ThisBuild().String(),
		EnableBashCompletion: true,
		// A comma may be part of a value, such as a=30,b=70 or a path. See several.
		DisableSliceFlagSeparator: true,
		Writer:                    stdout,
		ErrWriter:                 said,
		// The cli library must not print errors, because the function run
		// prints each error once, at the end.
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
			manCommand(),
			modelsCommand(),
			paperCommand(),
			replayCommand(),
			reportCommand(),
			restoreCommand(),
			runCommand(),
			runsCommand(),
			schemaCommand(),
			sweepCommand(),
			taskCommand(),
			traceCommand(),
		},
	}
	finish(app.Commands, said)
	return app
}

// finish sets what the cli library does at a wrong flag or a missing
// subcommand, and adds the flags that all commands have. It does this for each
// command and its subcommands, because subcommands do not inherit it.
func finish(commands []*cli.Command, said *notes) {
	for _, c := range commands {
		c.OnUsageError = usageError
		c.BashComplete = completer(c)
		finish(c.Subcommands, said)
		if c.Action == nil {
			c.Action = noCommand
			continue
		}
		if !c.Hidden {
			c.Flags = append(c.Flags, said.quietFlag())
		}
		c.HideHelpCommand = true // no subcommand "help" or "h", since the user may mean a file of this name
		if c.ArgsUsage == "" {
			c.Action = withoutArguments(c.Action)
		}
	}
}

// usageError says what is wrong with a command line. For an unknown flag it
// names the one that was probably meant.
func usageError(c *cli.Context, err error, _ bool) error {
	help := commandName(c) + " --help lists the flags"
	name, unknown := strings.CutPrefix(err.Error(), "flag provided but not defined: -")
	if !unknown {
		return withCode(exitUsage, fmt.Errorf("%w; %s", err, help))
	}
	var flags []string
	for _, f := range c.Command.Flags {
		flags = append(flags, f.Names()...)
	}
	if near := nearest.Name(name, flags); near != "" {
		help = "did you mean " + dashed(near) + "? " + help
	}
	return withCode(exitUsage, fmt.Errorf("unknown flag %s; %s", dashed(name), help))
}

// dashed returns the name of a flag as the user types it.
func dashed(name string) string {
	if len(name) == 1 {
		return "-" + name
	}
	return "--" + name
}

// noCommand is the action of heddle, and of commands like "heddle lab", if the
// subcommand is missing or unknown. It returns an error.
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
	text := fmt.Sprintf("unknown command %q", name)
	var commands []string
	for _, x := range c.Command.VisibleCommands() {
		commands = append(commands, x.Name)
	}
	if near := nearest.Name(name, commands); near != "" {
		text += fmt.Sprintf("; did you mean %q? ", near)
	} else {
		text += "; "
	}
	return withCode(exitUsage, fmt.Errorf("%s%s --help lists them", text, commandName(c)))
}

// commandName returns the name of a command as the user types it.
func commandName(c *cli.Context) string { return cmp.Or(c.Command.HelpName, c.App.Name) }

// withCode gives an error the exit code with which the process is to end.
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
