package cmd

import (
	"errors"
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
		Usage: "start Hadoop here, run a workload, capture and describe it, stop Hadoop",
		Description: `Needs Linux, root, Java 17, Maven and iproute2. With --install it installs what is
missing on Debian. It keeps a run folder. For example:

   heddle demo --install`,
		Flags: []cli.Flag{
			&cli.BoolFlag{Name: "install", Destination: &o.Install, Usage: "install what is missing, with apt-get"},
			&cli.BoolFlag{Name: "keep", Destination: &o.Keep, Usage: "leave the lab up (heddle lab down --name demo)"},
			runsFlag(&o.Root),
			tableFlag(),
			jsonFlag(),
		},
		Before: needLinux,
		Action: func(c *cli.Context) error {
			var err error
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
