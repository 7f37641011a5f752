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

func labSet(c *cli.Context, o *setOptions, _ []string) error {
	l, err := runningLab(c)
	if err != nil {
		return err
	}
	return l.Set(o.Change)
}

func labKill(c *cli.Context, o *killOptions, args []string) error {
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
}

func labStart(c *cli.Context, _ *onLabNamed, args []string) error {
	l, err := runningLab(c)
	switch {
	case err != nil:
		return err
	case len(args) == 2:
		return l.Start(c.Context, args[0], args[1])
	}
	return l.StartNode(c.Context, args[0])
}
