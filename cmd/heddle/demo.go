package main

import (
	"errors"
	"os"

	"github.com/urfave/cli/v2"

	"heddle/harness/demo"
	"heddle/harness/lab"
)

func demoCommand() *cli.Command {
	o := demo.Options{Lab: lab.Default(), Out: os.Stdout, Log: os.Stderr, Command: os.Args}
	o.Lab.Name = "demo"
	return &cli.Command{
		Name:  "demo",
		Usage: "start Hadoop here, run a workload, capture and describe it, stop Hadoop",
		Description: `Needs Linux, root, Java 17, Maven and iproute2; with --install it puts in what is
missing on Debian. Leaves a run folder. For example:

   heddle demo --install`,
		Flags: []cli.Flag{
			&cli.BoolFlag{Name: "install", Destination: &o.Install, Usage: "install what is missing, with apt-get"},
			&cli.BoolFlag{Name: "keep", Destination: &o.Keep, Usage: "leave the lab up (heddle lab down --name demo)"},
			runsFlag(&o.Root),
		},
		Action: func(c *cli.Context) error {
			if err := noArguments(c); err != nil {
				return err
			}
			var err error
			if o.Root, err = runsRoot(o.Root); err != nil {
				return err
			}
			if o.Lab.Executable, err = os.Executable(); err != nil {
				return err
			}
			progress := newProgress(os.Stderr)
			defer progress.close()
			o.Progress = progress.step
			err = demo.Run(c.Context, o)
			var missing *demo.NotReadyError
			if errors.As(err, &missing) {
				return withCode(exitCluster, err)
			}
			return runError(err)
		},
	}
}
