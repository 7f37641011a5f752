package cmd

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"os/signal"
	"slices"
	"strings"
	"time"

	"github.com/urfave/cli/v2"
	"golang.org/x/sys/unix"

	"heddle/harness/lab"
	"heddle/harness/option"
)

type (
	onLabNamed struct {
		Lab string `flag:"name" text:"which lab; several can run side by side"`
	}
	statusOptions struct {
		onLabNamed
		printed
	}
	envOptions struct {
		onLabNamed
		asJSON
	}
	upOptions struct {
		onLabNamed
		lab.Config `heading:"Machines"`
		asJSON
	}
	downOptions struct {
		onLabNamed
		Purge bool `flag:"purge" text:"remove HDFS data, logs and settings too"`
	}
	killOptions struct {
		onLabNamed
		Signal string `flag:"signal" text:"NAME of the signal" of:"NAME"`
	}
)

// usual is the lab that commands are about unless another is named.
var usual = onLabNamed{"lab"}

func labCommand() *cli.Command {
	subcommands := []*cli.Command{
		command("lab up", &upOptions{onLabNamed: usual, Config: lab.Default()}, labUp),
		command("lab down", &downOptions{onLabNamed: usual}, labDown),
		command("lab status", &statusOptions{onLabNamed: usual}, withLab(labStatus)),
		labExec(),
		command("lab env", &envOptions{onLabNamed: usual}, withLab(labEnv)),
		command("lab set", &setOptions{onLabNamed: usual}, labSet),
		command("lab kill", &killOptions{usual, "KILL"}, labKill),
		command("lab start", &onLabNamed{usual.Lab}, labStart),
	}
	for _, c := range subcommands {
		c.Before = needLinux
	}
	return parent("lab", subcommands...)
}

func needLinux(*cli.Context) error { return withCode(exitCluster, lab.NeedLinux()) }

func labUp(c *cli.Context, o *upOptions, _ []string) error {
	o.Config.Name = o.Lab
	conf, err := keepSettings(c, o.Config)
	if err != nil {
		return usage(err)
	}
	if err := conf.Validate(); err != nil {
		return usage(err)
	}
	if conf.Executable, err = os.Executable(); err != nil {
		return err
	}
	began := time.Now()
	putsBack(c, "lab "+conf.Name+": what was started is taken down", "heddle lab down --name "+conf.Name)
	l, err := lab.Up(c.Context, conf, func(e lab.Event) { fmt.Fprintln(c.App.ErrWriter, e) })
	if err != nil {
		return err
	}
	took := time.Since(began)
	fmt.Fprintf(c.App.ErrWriter, "lab %s is up, %.1f s\n", l.Name, took.Seconds())
	return printText(c, labIsUp{l.Name, l.ClusterFile(), took.Milliseconds()}, l.ClusterFile()+"\n")
}

// labIsUp is what "heddle lab up" prints as JSON once the lab (Hadoop cluster
// on this machine) is running.
type labIsUp struct {
	Name        string `json:"name"`
	ClusterFile string `json:"clusterFile"`
	TookMs      int64  `json:"tookMs"`
}

// keepSettings returns the settings with which the lab (a Hadoop cluster on
// this machine) was last started. Where the user gives a flag, its value
// replaces the setting. It says what else differs from the defaults.
func keepSettings(c *cli.Context, given lab.Config) (lab.Config, error) {
	l, err := lab.Open(given.Name)
	if errors.Is(err, lab.ErrNotFound) {
		return given, nil
	}
	if err != nil {
		return given, err
	}
	kept, standard := l.Config(), lab.Default()
	news, usually := option.Of(&given), option.Of(&standard)
	var unusual []string
	for i, o := range option.Of(&kept) {
		switch is := o.String(); {
		case c.IsSet(o.Name):
			o.Take(news[i])
		case is != usually[i].String():
			unusual = append(unusual, "--"+o.Name+"="+is)
		}
	}
	// A warning, so that --quiet does not hide it: with --kerberos kept it is another lab.
	warn(fmt.Sprintf("lab %s takes over from its last start: %s; 'heddle lab down --purge --name %[1]s' forgets all of it",
		given.Name, strings.Join(append(unusual, "files in HDFS", "ended applications", "node labels"), ", ")))
	kept.Name = given.Name
	return kept, nil
}

// withLab makes an action of a function that gets the lab (Hadoop cluster on this
// machine) that the flag --name names.
func withLab[O any](action func(c *cli.Context, o *O, l *lab.Lab) error) func(*cli.Context, *O, []string) error {
	return func(c *cli.Context, o *O, _ []string) error {
		l, err := lab.Open(c.String("name"))
		if err != nil {
			return err
		}
		return action(c, o, l)
	}
}

// runningLab opens the lab that the flag --name names. It returns an error if the lab is
// down.
func runningLab(c *cli.Context) (*lab.Lab, error) {
	l, err := lab.Open(c.String("name"))
	if err == nil {
		err = l.NeedUp()
	}
	return l, err
}

func labDown(c *cli.Context, o *downOptions, _ []string) error {
	if err := lab.NeedRoot(); err != nil {
		return err
	}
	began := time.Now()
	putsBack(c, "nothing; lab "+o.Lab+" is taken down to the end", "heddle lab down --name "+o.Lab)
	if err := lab.Down(c.Context, o.Lab, o.Purge); err != nil {
		return err
	}
	fmt.Fprintf(c.App.ErrWriter, "lab %s is down, %.1f s\n", o.Lab, time.Since(began).Seconds())
	return nil
}

func labStatus(c *cli.Context, _ *statusOptions, l *lab.Lab) error {
	return show(c, l.Status(c.Context))
}

func labExec() *cli.Command {
	c := parent("lab exec")
	c.Flags = flagsOf(&onLabNamed{usual.Lab})
	c.Action = func(c *cli.Context) error {
		node, command := c.Args().First(), c.Args().Tail()
		if len(command) > 0 && command[0] == "--" {
			command = command[1:]
		}
		if len(command) == 0 {
			return usagef("lab exec: want a NODE and a COMMAND")
		}
		l, err := runningLab(c)
		if err != nil {
			return err
		}
		putsBack(c, "nothing; "+command[0]+" gets SIGTERM", "check whether "+command[0]+" still runs")
		// ctrl-C also reaches the command that runs in the lab. If that
		// command is a shell, it continues. So heddle must not end at
		// SIGINT: it receives the signal and does nothing. It does not
		// ignore the signal, since the command would inherit that.
		signal.Reset(os.Interrupt)
		signal.Notify(make(chan os.Signal, 1), os.Interrupt)
		cmd := l.Command(c.Context, node, command...)
		cmd.Cancel = func() error { return cmd.Process.Signal(unix.SIGTERM) }
		cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
		err = cmd.Run()
		var exit *exec.ExitError
		if errors.As(err, &exit) && exit.Exited() {
			return withCode(exit.ExitCode(), fmt.Errorf("%s: %w", command[0], err))
		}
		return err
	}
	return c
}

func labEnv(c *cli.Context, _ *envOptions, l *lab.Lab) error {
	if err := l.NeedUp(); err != nil {
		warn(err.Error())
	}
	variables := map[string]string{}
	for _, e := range l.Env() {
		name, value, _ := strings.Cut(e, "=")
		variables[name] = value
	}
	return printResult(c, variables, func(out io.Writer) error { return writeEnv(asIs(out), variables) })
}

// writeEnv writes shell commands that set environment variables, so that
// Hadoop's programs in a shell use the lab, a Hadoop cluster on this machine.
// Its line for PATH only adds one folder of the lab.
func writeEnv(out io.Writer, variables map[string]string) error {
	var text strings.Builder
	for _, name := range slices.Sorted(maps.Keys(variables)) {
		value, rest := variables[name], ""
		if name == "PATH" {
			value, _, _ = strings.Cut(value, ":")
			rest = `:"$PATH"`
		}
		fmt.Fprintf(&text, "export %s='%s'%s\n", name, strings.ReplaceAll(value, "'", `'\''`), rest)
	}
	_, err := io.WriteString(out, text.String())
	return err
}
