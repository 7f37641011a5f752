package cmd

import (
	"errors"
	"fmt"
	"os"

	"github.com/urfave/cli/v2"

	"heddle/harness/demo"
	"heddle/harness/lab"
)

func demoCommand() *cli.Command {
	o := demo.Options{Lab: lab.Default(), Command: os.Args}
	o.Lab.Name = "demo"
	return &cli.Command{
		Name:  "demo",
		Usage: "the whole way once: with Hadoop on this machine, or in seconds without",
		Description: `Starts Hadoop here, runs a workload, captures and describes it, and stops Hadoop. That
needs Linux, root, Java 17, Maven and iproute2. With --install it installs what is
missing on Debian. It keeps a run folder. For example:

   heddle demo --install

With --simulate it needs none of that, and no network. Three traces that were measured
on real Hadoop and are part of heddle are replayed in virtual time under YARN's scheduler
and under the model acl, which knows the HDFS cache. It prints how the two compare, and
leaves a run folder with a page for a browser and all traces:

   heddle demo --simulate`,
		Flags: []cli.Flag{
			&cli.BoolFlag{Name: "simulate", Usage: "replay measured traces that are part of heddle, without Hadoop or root"},
			&cli.BoolFlag{Name: "install", Destination: &o.Install, Usage: "install what is missing, with apt-get"},
			&cli.BoolFlag{Name: "keep", Destination: &o.Keep, Usage: "leave the lab up (heddle lab down --name demo)"},
			runsFlag(&o.Root),
			tableFlag(), jsonFlag(),
		},
		Action: func(c *cli.Context) error {
			if c.Bool("simulate") {
				return simulatedDemo(c, &o)
			}
			err := needLinux(c)
			if err != nil {
				return err
			}
			if o.Root, err = runsRoot(o.Root); err != nil {
				return err
			}
			if o.Lab.Executable, err = os.Executable(); err != nil {
				return err
			}
			o.Log = c.App.ErrWriter
			putsBack(c, "the lab demo, which is taken down", "heddle lab down --name demo")
			progress := newRunProgress(c)
			defer progress.close()
			o.Progress = progress.step
			found, err := demo.Run(c.Context, o)
			var missing *demo.NotReadyError
			switch {
			case errors.As(err, &missing):
				return withCode(exitCluster, err)
			case found == nil:
				return runError(err)
			}
			return errors.Join(printDoc(c, found, found.Doc()), err)
		},
	}
}

func simulatedDemo(c *cli.Context, o *demo.Options) error {
	if o.Install || o.Keep {
		return withCode(exitUsage, errors.New("--install, --keep: want no --simulate with them; it starts no Hadoop"))
	}
	root, err := runsRoot(o.Root)
	if err != nil {
		return err
	}
	s, err := demo.Simulate(c.Context, root, o.Command)
	if err != nil {
		return runError(err)
	}
	if err := printDoc(c, s, s.Doc()); err != nil {
		return err
	}
	fmt.Fprintln(c.App.ErrWriter, "run folder:", s.Folder)
	next(c, "heddle replay --model yarn --model delay --nodes 8 --racks 2", s.Trace)
	return nil
}
