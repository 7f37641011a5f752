package cmd

import (
	"errors"
	"flag"
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
)

var labNameFlag = &cli.StringFlag{Name: "name", Value: "lab", Usage: "which lab; several can run side by side"}

func labCommand() *cli.Command {
	subcommands := []*cli.Command{
		labUp(), labDown(), labStatus(), labExec(), labEnv(), labSet(), labKill(), labStart(),
	}
	for _, c := range subcommands {
		c.Before = needLinux
	}
	return &cli.Command{
		Name:  "lab",
		Usage: "a real Hadoop cluster on this machine",
		Description: `Starts unmodified Hadoop with one network namespace per node, shaped links and
limited disks. Needs Linux and root. For example:

   heddle lab up --nodes 4 --racks 2
   eval "$(heddle lab env)"; hadoop fs -ls /
   heddle lab set --node r1n1 --cpus 0.4
   heddle lab down`,
		Subcommands: subcommands,
	}
}

func needLinux(*cli.Context) error { return withCode(exitCluster, lab.NeedLinux()) }

// labFlags returns the command line flags that describe a lab, a Hadoop cluster
// on this machine. The flags set the fields of c, the lab's configuration.
func labFlags(c *lab.Config) []cli.Flag {
	generic := func(name, usage, def string, v cli.Generic) cli.Flag {
		return &cli.GenericFlag{Name: name, Usage: usage, Value: v, DefaultText: def}
	}
	return []cli.Flag{
		labNameFlag,
		&cli.IntFlag{Name: "nodes", Value: c.Nodes, Destination: &c.Nodes, Usage: "workers in all"},
		&cli.IntFlag{Name: "racks", Value: c.Racks, Destination: &c.Racks, Usage: "racks that the workers are in"},
		&cli.IntFlag{Name: "slots", Value: c.Slots, Destination: &c.Slots, Usage: "containers per node"},
		generic("container", "memory per container", "512MiB", &c.Container),
		generic("cpus", "cores per node; a list makes nodes differ; 0 is no limit", "0", &c.CPUs),
		generic("memory", "memory per node, page cache included; 0 is no limit, auto is what slots, daemons and cache need", "auto", &c.Memory),
		generic("disk", "rate at which a node reads from its disk; 0 is no limit", "80MB/s", &c.Disk),
		generic("link", "rate of a node's link; 0 is no limit", "200Mbit", &c.Link),
		generic("uplink", "rate of a rack's uplink; 0 is no limit", "60Mbit", &c.Uplink),
		generic("cache", "HDFS cache per DataNode; 0 is none", "64MiB", &c.Cache),
		generic("block-size", "HDFS block size of new files", "16MiB", &c.BlockSize),
		&cli.IntFlag{Name: "replication", Value: c.Replication, Destination: &c.Replication, Usage: "replicas of new files"},
		generic("nm-heartbeat", "heartbeat interval of NodeManagers", "200ms", &c.NMHeartbeat),
		generic("am-heartbeat", "heartbeat interval of ApplicationMasters", "200ms", &c.AMHeartbeat),
		generic("node-expiry", "silence after which a node counts as lost; shorter ones lose nodes of a busy machine", "2m", &c.NodeExpiry),
		&cli.StringFlag{Name: "scheduler", Value: c.Scheduler, Destination: &c.Scheduler, Usage: "capacity (has node labels) or fair (has none)"},
		&cli.BoolFlag{Name: "async", Value: c.Async, Destination: &c.Async, Usage: "allocate without waiting for heartbeats"},
		&cli.BoolFlag{Name: "ha", Value: c.HA, Destination: &c.HA, Usage: "two NameNodes and two ResourceManagers, which take over from each other"},
		&cli.BoolFlag{Name: "cds", Value: c.CDS, Destination: &c.CDS, Usage: "start JVMs from a class-data archive"},
		&cli.BoolFlag{Name: "kerberos", Value: c.Kerberos, Destination: &c.Kerberos, Usage: "secure the lab: tickets of a realm of its own, HTTPS, encrypted blocks and calls"},
		&cli.StringFlag{Name: "hadoop", Value: c.Hadoop, Destination: &c.Hadoop, EnvVars: []string{"HEDDLE_HADOOP"}, Usage: "Hadoop's `VERSION` from Maven Central: " + strings.Join(lab.Hadoops(), ", ")},
		&cli.StringFlag{Name: "hadoop-home", Value: c.HadoopHome, Destination: &c.HadoopHome, Usage: "an unpacked Hadoop `DIR` instead of the one from Maven Central"},
	}
}

func labUp() *cli.Command {
	conf := lab.Default()
	return &cli.Command{
		Name:  "up",
		Usage: "start the lab; returns at once when it is up",
		Description: `Flags that are not given keep their values from the lab's last start, which it says.
Its HDFS data is there again, unless 'down --purge' has removed it. For example:

   heddle lab up --nodes 6 --racks 3 --cpus 1,0.5 --uplink 30Mbit`,
		Flags: append(labFlags(&conf), jsonFlag()),
		Action: func(c *cli.Context) error {
			conf.Name = c.String("name")
			conf, err := keepSettings(c, conf)
			if err != nil {
				return withCode(exitUsage, err)
			}
			if err := conf.Validate(); err != nil {
				return withCode(exitUsage, err)
			}
			if conf.Executable, err = os.Executable(); err != nil {
				return err
			}
			began := time.Now()
			putsBack(c, "lab "+conf.Name+": what was started is taken down", "heddle lab down --name "+conf.Name)
			l, err := lab.Up(c.Context, conf, func(e lab.Event) { fmt.Fprintln(c.App.ErrWriter, e) })
			if err != nil {
				return labError(err)
			}
			took := time.Since(began)
			fmt.Fprintf(c.App.ErrWriter, "lab %s is up, %.1f s\n", l.Name, took.Seconds())
			result := labIsUp{l.Name, l.ClusterFile(), took.Milliseconds()}
			return printResult(c, result, func(out io.Writer) error {
				_, err := fmt.Fprintln(out, result.ClusterFile)
				return err
			})
		},
	}
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
	kept, usual := l.Config(), lab.Default()
	keeps, usually := labSettings(&kept), labSettings(&usual)
	var unusual []string
	for _, f := range labFlags(&kept) {
		name := f.Names()[0]
		value := keeps.Lookup(name).Value
		switch is := value.String(); {
		case name == "name":
		case c.IsSet(name):
			if err := value.Set(fmt.Sprint(c.Generic(name))); err != nil {
				return given, err
			}
		case is != usually.Lookup(name).Value.String():
			unusual = append(unusual, "--"+name+"="+is)
		}
	}
	// A warning, so that --quiet does not hide it: with --kerberos kept it is another lab.
	warn(fmt.Sprintf("lab %s takes over from its last start: %s; 'heddle lab down --purge --name %[1]s' forgets all of it",
		given.Name, strings.Join(append(unusual, "files in HDFS", "ended applications", "node labels"), ", ")))
	kept.Name = given.Name
	return kept, nil
}

// labSettings returns the flags that set the fields of c, by their names.
func labSettings(c *lab.Config) *flag.FlagSet {
	set := flag.NewFlagSet("lab", flag.ContinueOnError)
	for _, f := range labFlags(c) {
		_ = f.Apply(set) // ignore the error: it would be about a variable of the environment, and no flag has one
	}
	return set
}

// labError adds an exit code to an error of starting or stopping a lab, a
// Hadoop cluster on this machine.
func labError(err error) error {
	var missing *lab.MissingError
	switch {
	case errors.As(err, &missing), errors.Is(err, lab.ErrNotFound), errors.Is(err, lab.ErrDown):
		return withCode(exitCluster, err)
	case errors.Is(err, lab.ErrBadName):
		return withCode(exitUsage, err)
	}
	return withCode(exitFailed, err)
}

// withLab makes an action of a function that gets the lab (Hadoop cluster on this
// machine) that the flag --name names.
func withLab(action func(c *cli.Context, l *lab.Lab) error) cli.ActionFunc {
	return func(c *cli.Context) error {
		l, err := lab.Open(c.String("name"))
		if err != nil {
			return labError(err)
		}
		return action(c, l)
	}
}

// runningLab opens the lab that the flag --name names. It returns an error if the lab is
// down.
func runningLab(c *cli.Context) (*lab.Lab, error) {
	l, err := lab.Open(c.String("name"))
	if err == nil {
		err = l.NeedUp()
	}
	return l, labError(err)
}

func labDown() *cli.Command {
	return &cli.Command{
		Name:        "down",
		Usage:       "stop the lab and remove all but its HDFS data",
		Description: "Works on half-started labs too. For example:\n\n   heddle lab down --purge",
		Flags: []cli.Flag{
			labNameFlag,
			&cli.BoolFlag{Name: "purge", Usage: "remove HDFS data, logs and settings too"},
			&cli.IntFlag{Name: "when-gone", Hidden: true, Usage: "wait until the process `PID` has ended, and no other process uses the lab"},
		},
		Action: func(c *cli.Context) error {
			if err := lab.NeedRoot(); err != nil {
				return labError(err)
			}
			if pid := c.Int("when-gone"); pid != 0 {
				return labError(lab.DownWhenGone(c.Context, c.String("name"), pid, c.Bool("purge")))
			}
			began, name := time.Now(), c.String("name")
			putsBack(c, "nothing; lab "+name+" is taken down to the end", "heddle lab down --name "+name)
			if err := lab.Down(c.Context, name, c.Bool("purge")); err != nil {
				return labError(err)
			}
			fmt.Fprintf(c.App.ErrWriter, "lab %s is down, %.1f s\n", name, time.Since(began).Seconds())
			return nil
		},
	}
}

func labStatus() *cli.Command {
	return &cli.Command{
		Name:        "status",
		Usage:       "which daemons run, and which are ready",
		Description: "For example:\n\n   heddle lab status --json",
		Flags:       []cli.Flag{labNameFlag, tableFlag(), jsonFlag()},
		Action: withLab(func(c *cli.Context, l *lab.Lab) error {
			status := l.Status(c.Context)
			return printDoc(c, status, status.Doc())
		}),
	}
}

func labExec() *cli.Command {
	return &cli.Command{
		Name:      "exec",
		Usage:     "run a command on a node",
		ArgsUsage: "NODE COMMAND [ARGUMENTS]",
		Description: `The command has the node's network, host name and limits, and Hadoop's commands on
its PATH. For example:

   heddle lab exec master hadoop fs -ls /
   heddle lab exec --name other r1n1 ip addr`,
		Flags: []cli.Flag{labNameFlag},
		Action: func(c *cli.Context) error {
			node, command := c.Args().First(), c.Args().Tail()
			if len(command) > 0 && command[0] == "--" {
				command = command[1:]
			}
			if len(command) == 0 {
				return withCode(exitUsage, errors.New("lab exec: want a NODE and a COMMAND"))
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
		},
	}
}

func labEnv() *cli.Command {
	return &cli.Command{
		Name:        "env",
		Usage:       "print shell commands that make Hadoop's commands use the lab",
		Description: "For example:\n\n   eval \"$(heddle lab env)\"",
		Flags:       []cli.Flag{labNameFlag, tableFlag(), jsonFlag()},
		Action: withLab(func(c *cli.Context, l *lab.Lab) error {
			if err := l.NeedUp(); err != nil {
				warn(err.Error())
			}
			variables := map[string]string{}
			for _, e := range l.Env() {
				name, value, _ := strings.Cut(e, "=")
				variables[name] = value
			}
			return printResult(c, variables, func(out io.Writer) error { return writeEnv(asIs(out), variables) })
		}),
	}
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
