package cmd

import (
	"errors"
	"fmt"
	"strings"

	"github.com/urfave/cli/v2"
	"golang.org/x/sys/unix"

	"heddle/harness/lab"
)

func labSet() *cli.Command {
	var to lab.Config // settings given by the flags of "heddle lab set", which change a running lab
	return &cli.Command{
		Name:  "set",
		Usage: "change links, disks and CPU shares of a running lab, until it is next started",
		Description: `For example:

   heddle lab set --node r1n1 --disk 20MB/s --link 100Mbit --cpus 0.4
   heddle lab set --rack 1 --uplink 30Mbit`,
		Flags: []cli.Flag{
			labNameFlag,
			&cli.StringSliceFlag{Name: "node", Usage: "`NODE` to change; may be repeated (default: all workers, or all of --rack)"},
			&cli.IntFlag{Name: "rack", Usage: "`RACK` whose uplink or nodes to change"},
			&cli.GenericFlag{Name: "disk", Value: &to.Disk, DefaultText: "as it is", Usage: "rate at which the node reads from its disk; 0 is no limit"},
			&cli.GenericFlag{Name: "link", Value: &to.Link, DefaultText: "as it is", Usage: "rate of the node's link; 0 is no limit"},
			&cli.GenericFlag{Name: "uplink", Value: &to.Uplink, DefaultText: "as it is", Usage: "rate of the rack's uplink; 0 is no limit"},
			&cli.Float64Flag{Name: "cpus", DefaultText: "as it is", Usage: "cores of the node; 0 is no limit"},
			&cli.Float64Flag{Name: "speed", DefaultText: "as it is", Usage: "instead of --cpus, the part of its cores that the node may use, more than 0 to 1; without --cpus at the start it has a core per slot"},
		},
		Action: func(c *cli.Context) error {
			l, err := runningLab(c)
			if err != nil {
				return err
			}
			change := lab.Change{Nodes: several(c, "node"), Rack: c.Int("rack")}
			change.Disk, change.Link, change.Uplink = given(c, "disk", to.Disk), given(c, "link", to.Link), given(c, "uplink", to.Uplink)
			change.CPUs, change.Speed = given(c, "cpus", c.Float64("cpus")), given(c, "speed", c.Float64("speed"))
			return labError(l.Set(change))
		},
	}
}

// given returns the value of a flag, nil if the command line does not have it.
func given[T any](c *cli.Context, flag string, value T) *T {
	if !c.IsSet(flag) {
		return nil
	}
	return &value
}

func labKill() *cli.Command {
	return &cli.Command{
		Name:        "kill",
		Usage:       "kill one daemon, or everything on a worker, to see what a failure does",
		ArgsUsage:   "NODE [DAEMON]",
		Description: "For example:\n\n   heddle lab kill r1n1 nodemanager\n   heddle lab kill r1n1",
		Flags: []cli.Flag{
			labNameFlag,
			&cli.StringFlag{Name: "signal", Value: "KILL", Usage: "`NAME` of the signal"},
		},
		Action: withDaemon(func(c *cli.Context, node, daemon string) error {
			signal := unix.SignalNum("SIG" + strings.TrimPrefix(strings.ToUpper(c.String("signal")), "SIG"))
			if signal == 0 {
				return withCode(exitUsage, fmt.Errorf("lab kill: --signal %s: want the name of a signal, such as TERM", c.String("signal")))
			}
			l, err := runningLab(c)
			if err != nil {
				return err
			}
			if daemon == "" && c.IsSet("signal") {
				return withCode(exitUsage, errors.New("lab kill: --signal: want a DAEMON with it; a whole node always gets KILL"))
			}
			if daemon == "" {
				return labError(l.KillNode(c.Context, node))
			}
			return labError(l.Kill(c.Context, node, daemon, signal))
		}),
	}
}

func labStart() *cli.Command {
	return &cli.Command{
		Name:        "start",
		Usage:       "start a killed daemon, or all daemons of a worker that do not run",
		ArgsUsage:   "NODE [DAEMON]",
		Description: "For example:\n\n   heddle lab start r1n1 nodemanager",
		Flags:       []cli.Flag{labNameFlag},
		Action: withDaemon(func(c *cli.Context, node, daemon string) error {
			l, err := runningLab(c)
			if err != nil {
				return err
			}
			if daemon == "" {
				return labError(l.StartNode(c.Context, node))
			}
			return labError(l.Start(c.Context, node, daemon))
		}),
	}
}

// withDaemon makes an action of a function that gets the node and the Hadoop daemon
// that the command line names. The daemon is "" if the command line names only a node.
func withDaemon(action func(c *cli.Context, node, daemon string) error) cli.ActionFunc {
	return withArguments(func(c *cli.Context, args []string) error {
		if len(args) != 1 && len(args) != 2 {
			return withCode(exitUsage, fmt.Errorf("%s: want a NODE, and a DAEMON or none; found %q", commandName(c), args))
		}
		return action(c, args[0], append(args, "")[1])
	})
}
