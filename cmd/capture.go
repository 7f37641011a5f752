package cmd

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/urfave/cli/v2"

	"heddle/harness/experiment"
	"heddle/harness/results"
)

func captureCommand() *cli.Command {
	var o experiment.CaptureOptions
	return &cli.Command{
		Name:      "capture",
		Usage:     "make a trace of jobs that heddle did not start",
		ArgsUsage: "[JOB-ID …]",
		Description: `With job ids, the trace is made from the jobs' history; it then lacks what each map
read and what was cached. With --live, it has everything about the jobs that are
submitted until ctrl-C, or until --count of them have ended. For example:

   heddle capture --live --count 1 &
   heddle lab exec master -- hadoop jar JAR wordcount IN OUT

   heddle capture job_1795236380513_0001`,
		Flags: []cli.Flag{
			clusterFlag(),
			runsFlag(&o.Root),
			&cli.StringFlag{Name: "run-name", Destination: &o.Name, Usage: "`NAME` of the run folder (default: the time)"},
			&cli.BoolFlag{Name: "live", Usage: "capture the jobs that are submitted from now on"},
			&cli.IntFlag{Name: "count", Destination: &o.Count, Usage: "with --live: end when `N` jobs have ended"},
			tableFlag(), jsonFlag(),
		},
		Action: withArguments(func(c *cli.Context, jobs []string) (err error) {
			if c.Bool("live") == (len(jobs) > 0) {
				return withCode(exitUsage, errors.New("want either job ids or --live"))
			}
			o.Jobs = jobs
			if o.Cluster, err = loadCluster(c.String("cluster")); err != nil {
				return err
			}
			if o.Root, err = runsRoot(o.Root); err != nil {
				return err
			}
			o.Command = os.Args
			putsBack(c, "nothing, the cluster is as it was; the trace is being finished",
				"the trace is not finished; 'heddle capture JOB-ID …' makes one from the jobs' history")
			p := newRunProgress(c)
			o.Started = func() { fmt.Fprintln(c.App.ErrWriter, "capturing jobs that are submitted from now on; ctrl-C ends it") }
			o.Progress = p.step
			run, result, err := experiment.Capture(c.Context, o)
			p.close()
			if err != nil {
				return runError(err)
			}
			warn(result.Warnings...)
			trace := filepath.Join(run.TrialDir("capture"), results.TraceFile)
			fmt.Fprintln(c.App.ErrWriter, "trace:", trace)
			if err := printDoc(c, result.Figures, result.Figures.Doc()); err != nil {
				return err
			}
			next(c, "heddle replay --model yarn --model delay", trace)
			return nil
		}),
	}
}
