package cmd

import (
	"errors"
	"fmt"
	"os"

	"github.com/urfave/cli/v2"

	"heddle/harness/demo"
	"heddle/harness/lab"
)

type demoOptions struct {
	Simulate bool `flag:"simulate" text:"replay measured traces that are part of heddle, without Hadoop or root"`
	demo.Options
	inRuns
	printed
}

func demoCommand() *cli.Command {
	o := demoOptions{Options: demo.Options{Lab: lab.Default(), Command: os.Args}}
	o.Lab.Name = "demo"
	return command(&cli.Command{
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
	}, &o, runDemo)
}

func runDemo(c *cli.Context, o *demoOptions, _ []string) (err error) {
	if o.Simulate && (o.Install || o.Keep) {
		return usagef("--install, --keep: want no --simulate with them; it starts no Hadoop")
	}
	if !o.Simulate {
		if err := needLinux(c); err != nil {
			return err
		}
	}
	if o.Root, err = runsRoot(o.Runs); err != nil {
		return err
	}
	if o.Simulate {
		s, err := demo.Simulate(c.Context, o.Root, o.Command)
		if err != nil {
			return err
		}
		if err := show(c, s); err != nil {
			return err
		}
		fmt.Fprintln(c.App.ErrWriter, "run folder:", s.Folder)
		next(c, "heddle replay --model yarn --model delay --nodes 8 --racks 2", s.Trace)
		return nil
	}
	if o.Lab.Executable, err = os.Executable(); err != nil {
		return err
	}
	o.Log = c.App.ErrWriter
	putsBack(c, "the lab demo, which is taken down", "heddle lab down --name demo")
	progress := newRunProgress(c)
	defer progress.close()
	o.Progress = progress.step
	found, err := demo.Run(c.Context, o.Options)
	if found == nil {
		return err
	}
	return errors.Join(show(c, found), err)
}
