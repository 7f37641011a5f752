// Package cmd is the command heddle: it measures and decides on which nodes the
// tasks of Hadoop jobs run.
//
// Each command is in one file of this package. It copies the flags into a
// struct of options and makes one call into package harness. What help says of it
// is in help.txt. Nothing in this package decides anything about a cluster.
package cmd

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"heddle/harness/config"
	"heddle/harness/experiment"
	"heddle/harness/export"
	"heddle/harness/nearest"
	"heddle/harness/option"
	"heddle/harness/paper/models"
	"heddle/harness/runs"
	"heddle/harness/sched"
	"heddle/harness/workload/generate"
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

func newApp() *cli.App {
	said := &notes{escaper: stderr}
	app := &cli.App{
		Name:                 "heddle",
		UsageText:            "heddle COMMAND [options] [arguments]",
		Usage:                "measure and steer how work is placed on Hadoop clusters",
		Version:              runs.ThisBuild().String(),
		EnableBashCompletion: true,
		// A comma may be part of a value, such as a=30,b=70 or a path. See several.
		DisableSliceFlagSeparator: true,
		Writer:                    stdout,
		ErrWriter:                 said,
		// The cli library must not print errors, because the function run
		// prints each error once, at the end.
		ExitErrHandler:        func(*cli.Context, error) {},
		OnUsageError:          usageError,
		Action:                noCommand,
		CustomAppHelpTemplate: helpTemplate + "\nVERSION:\n   {{.Version}}\n",
	}
	for _, g := range groups() {
		for _, c := range g.commands {
			c.Category = g.name
		}
		app.Commands = append(app.Commands, g.commands...)
	}
	finish(app.Commands, said)
	return app
}

// group is commands under one heading of help.
type group struct {
	name     string
	commands []*cli.Command
}

// groups has all commands, those of the first hour first.
func groups() []group {
	return []group{
		{"The first hour", []*cli.Command{
			demoCommand(),
			command("run", &runOptions{Tell: "5%", Metric: "makespan"}, runRun),
			reader("compare", &compareOptions{}, runCompare),
			reader("explain", &explainOptions{}, runExplain),
			reader("report", &reportOptions{}, runReport),
			command("replay", &replayOptions{ReplayPlan: experiment.DefaultReplayPlan()}, runReplay),
			reader("fidelity", &fidelityOptions{}, runFidelity),
		}},
		{"Runs and traces", []*cli.Command{
			parent(
				"runs",
				command("runs list", &listOptions{}, runsList),
				reader("runs show", &runShowOptions{}, runsShow),
				reader("runs export", &exportOptions{Rows: export.Trials}, exportRuns),
				command("runs rm", &removeOptions{}, removeRuns),
			),
			traceCommand(),
			command("sweep", &sweepOptions{}, runSweep),
			command("paper", &paperOptions{Seed: 1}, runPaper),
			modelsCommand(),
			command("bench", &benchOptions{Repeat: 5, SWIM: "."}, runBench),
		}},
		{"Clusters", []*cli.Command{
			labCommand(),
			command("doctor", &doctorOptions{inCluster: onLab()}, runDoctor),
			command("capture", &captureOptions{inCluster: onLab()}, runCapture),
			parent("labels", command("labels show", &showOptions{inCluster: onLab()}, labelsShow), labelsPrepare()),
			restoreCommand(),
			command("agent", &agentOptions{inCluster: onLab()}, runAgent),
		}},
		{"Shells and editors", []*cli.Command{
			reader("schema", &struct{}{}, runSchema),
			completionCommand(),
			hidden(command("man", &struct{}{}, runMan)),
			hidden(taskCommand()),
		}},
	}
}

// finish sets what the cli library does at a wrong flag or a missing
// subcommand, and adds the flags that all commands have. It does this for each
// command and its subcommands, because subcommands do not inherit it.
func finish(commands []*cli.Command, said *notes) {
	for _, c := range commands {
		c.OnUsageError = usageError
		c.BashComplete = completer(c)
		c.CustomHelpTemplate = helpTemplate
		finish(c.Subcommands, said)
		if c.Action == nil {
			c.Action = noCommand
			continue
		}
		if !c.Hidden {
			c.Flags = append(c.Flags, said.quietFlag())
		}
		c.HideHelpCommand = true // no subcommand "help" or "h", since the user may mean a file of this name
	}
}

// usageError says what is wrong with a command line. For an unknown flag it
// names the one that was probably meant.
func usageError(c *cli.Context, err error, _ bool) error {
	help := commandName(c) + " --help lists the flags"
	name, unknown := strings.CutPrefix(err.Error(), "flag provided but not defined: -")
	if !unknown {
		return usagef("%s; %s", wrongValue.ReplaceAllString(err.Error(), "--$1 "), help)
	}
	if slices.ContainsFunc(keysOf(c.Command), func(o *option.Option) bool { return o.Name == name }) {
		return usagef("--%s is a key of --set: use --set %s=VALUE", name, name)
	}
	if now := former[shortName(c)+" "+name]; now != "" {
		return usagef("--%s is gone: %s", name, now)
	}
	var flags []string
	for _, f := range c.Command.Flags {
		flags = append(flags, f.Names()...)
	}
	if near := nearest.Name(name, flags); near != "" {
		help = "did you mean " + dashed(near) + "? " + help
	}
	return usagef("unknown flag %s; %s", dashed(name), help)
}

// wrongValue is how package flag begins what it says of a value.
var wrongValue = regexp.MustCompile(`^invalid (?:boolean )?value ".*" for flag -([a-z-]+): `)

// former has what to use in place of flags and commands that there were, by their command.
var former = map[string]string{
	"replay uplink-mbit": "use --uplink with a unit, such as --uplink 30Mbit",
	"paper parts":        "name them behind the paper",
	"paper model-param":  "use --set MODEL.NAME=VALUE",
	"paper axes":         "use --set axes=AXIS,AXIS",
	"paper full":         "use --set full=true",
	"paper live":         "--experiments DIR writes the paper's experiments, and heddle run runs them",
	"paper live-run":     "use heddle compare RUN",
	"paper dry-run":      "--experiments DIR writes the paper's experiments, and heddle run --dry-run forecasts them",
	"doctor fix-plan":    "doctor prints the property, its value, the file and the daemon to restart of what is missing",
	"demo simulate":      "heddle demo does that by itself; --hadoop is the way with Hadoop",
	"compare untold":     "use --cannot-tell",
	"labels restore":     "use heddle restore",
	"run serve":          "RUN/report.html is kept up to date while the run goes on",
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
		return errors.Join(help(c), usagef("%s needs a command", commandName(c)))
	}
	if now := former[shortName(c)+" "+name]; now != "" {
		return usagef("%s is gone: %s", name, now)
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
	return usagef("%s%s --help lists them", text, commandName(c))
}

// commandName returns the name of a command as the user types it.
func commandName(c *cli.Context) string { return cmp.Or(c.Command.HelpName, c.App.Name) }

// shortName returns it without heddle's own.
func shortName(c *cli.Context) string { return strings.TrimPrefix(commandName(c), c.App.Name+" ") }
