package cmd

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/urfave/cli/v2"

	"heddle/harness/experiment"
	"heddle/harness/results"
)

type captureOptions struct {
	inCluster
	named
	Live bool `flag:"live" text:"capture the jobs that are submitted from now on"`
	experiment.CaptureOptions
	printed
}

func runCapture(c *cli.Context, o *captureOptions, jobs []string) (err error) {
	if o.Live == (len(jobs) > 0) {
		return usagef("want either job ids or --live")
	}
	to := o.CaptureOptions
	if to.Cluster, err = loadCluster(o.inCluster.Cluster); err != nil {
		return err
	}
	if to.Root, err = runsRoot(o.Runs); err != nil {
		return err
	}
	putsBack(c, "nothing, the cluster is as it was; the trace is being finished",
		"the trace is not finished; 'heddle capture JOB-ID …' makes one from the jobs' history")
	p := newRunProgress(c)
	to.Name, to.Jobs, to.Command, to.Progress = o.RunName, jobs, os.Args, p.step
	to.Started = func() { fmt.Fprintln(c.App.ErrWriter, "capturing jobs that are submitted from now on; ctrl-C ends it") }
	run, result, err := experiment.Capture(c.Context, to)
	p.close()
	if err != nil {
		return err
	}
	warn(result.Warnings...)
	trace := filepath.Join(run.TrialDir("capture"), results.TraceFile)
	fmt.Fprintln(c.App.ErrWriter, "trace:", trace)
	if err := show(c, result.Figures); err != nil {
		return err
	}
	next(c, "heddle replay --model yarn --model delay", trace)
	return nil
}
