package cmd

import (
	"errors"
	"os"

	"github.com/urfave/cli/v2"

	"heddle/harness/demo"
	"heddle/harness/lab"
)

type demoOptions struct {
	Hadoop bool `flag:"hadoop" text:"start Hadoop on this machine, run a workload on it, and stop it"`
	Full   bool `flag:"full" text:"print the tables behind the sentences too"`
	demo.Options
	inRuns
	printed
}

func demoCommand() *cli.Command {
	o := demoOptions{Options: demo.Options{Lab: lab.Default(), Command: os.Args}}
	o.Lab.Name, o.Lab.CDS = "demo", false // the archive takes longer to build than it saves in one short run
	return command("demo", &o, runDemo)
}

func runDemo(c *cli.Context, o *demoOptions, _ []string) (err error) {
	if !o.Hadoop && (o.Install || o.Keep) {
		return usagef("--install, --keep: want --hadoop with them; without it, no Hadoop is started")
	}
	if o.Hadoop {
		if err := needLinux(c); err != nil {
			return err
		}
	}
	if o.Root, err = runsRoot(o.Runs); err != nil {
		return err
	}
	if !o.Hadoop {
		s, err := demo.Simulate(c.Context, o.Root, o.Command)
		if err != nil {
			return err
		}
		s.Full = o.Full
		return show(c, s)
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
