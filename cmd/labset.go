package cmd

import (
	"strings"

	"github.com/urfave/cli/v2"
	"golang.org/x/sys/unix"

	"heddle/harness/lab"
)

type setOptions struct {
	onLabNamed
	lab.Change
}

func labSet() *cli.Command {
	return command(&cli.Command{
		Name:  "set",
		Usage: "change links, disks and CPU shares of a running lab, until it is next started",
		Description: `For example:

   heddle lab set --node r1n1 --disk 20MB/s --link 100Mbit --cpus 0.4
   heddle lab set --rack 1 --uplink 30Mbit`,
	}, &setOptions{onLabNamed: usual}, func(c *cli.Context, o *setOptions, _ []string) error {
		l, err := runningLab(c)
		if err != nil {
			return err
		}
		return l.Set(o.Change)
	})
}

func labKill() *cli.Command {
	return command(&cli.Command{
		Name:        "kill",
		Usage:       "kill one daemon, or everything on a worker, to see what a failure does",
		ArgsUsage:   "NODE [DAEMON]",
		Description: "For example:\n\n   heddle lab kill r1n1 nodemanager\n   heddle lab kill r1n1",
	}, &killOptions{usual, "KILL"}, func(c *cli.Context, o *killOptions, args []string) error {
		signal := unix.SignalNum("SIG" + strings.TrimPrefix(strings.ToUpper(o.Signal), "SIG"))
		if signal == 0 {
			return usagef("lab kill: --signal %s: want the name of a signal, such as TERM", o.Signal)
		}
		l, err := runningLab(c)
		switch {
		case err != nil:
			return err
		case len(args) == 2:
			return l.Kill(c.Context, args[0], args[1], signal)
		case c.IsSet("signal"):
			return usagef("lab kill: --signal: want a DAEMON with it; a whole node always gets KILL")
		}
		return l.KillNode(c.Context, args[0])
	})
}

func labStart() *cli.Command {
	return command(&cli.Command{
		Name:        "start",
		Usage:       "start a killed daemon, or all daemons of a worker that do not run",
		ArgsUsage:   "NODE [DAEMON]",
		Description: "For example:\n\n   heddle lab start r1n1 nodemanager",
	}, &onLabNamed{usual.Lab}, func(c *cli.Context, _ *onLabNamed, args []string) error {
		l, err := runningLab(c)
		switch {
		case err != nil:
			return err
		case len(args) == 2:
			return l.Start(c.Context, args[0], args[1])
		}
		return l.StartNode(c.Context, args[0])
	})
}
