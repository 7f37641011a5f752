package cmd

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/urfave/cli/v2"

	"heddle/harness/config"
	"heddle/harness/results"
	"heddle/harness/runs"
	"heddle/harness/sweep"
)

type sweepOptions struct {
	named
	Resume string `flag:"resume" text:"continue the unfinished sweep in DIR, or print what a finished one gave" of:"DIR"`
	DryRun bool   `flag:"dry-run" text:"print what would run, its time and memory, by a few replays; keep nothing"`
	printed
}

func runSweep(c *cli.Context, o *sweepOptions, files []string) error {
	switch {
	case (o.Resume == "") != (len(files) == 1):
		return usagef("want either one sweep file, or --resume with a run folder")
	case o.Resume != "" && (o.Runs != "" || o.RunName != "" || o.DryRun):
		return usagef("--resume: want it without --runs, --run-name and --dry-run")
	}
	plan, run, err := openSweep(c, o, files)
	if err != nil {
		return err
	}
	if run != nil {
		defer run.Close()
	}
	if o.DryRun {
		cost, err := sweep.Expect(c.Context, plan)
		if err != nil {
			return usage(err)
		}
		return show(c, cost)
	}
	if run.Manifest().State != runs.Finished {
		return finishSweep(c, plan, run)
	}
	trials, err := results.List(run)
	if err != nil {
		return err
	}
	report, err := sweep.ReportOf(plan, trials)
	if err != nil {
		return err
	}
	return showSweep(c, plan, run, report)
}

// showSweep prints what a finished sweep gave, and fails if no setting keeps its thresholds.
func showSweep(c *cli.Context, plan *sweep.Plan, run *runs.Run, report *sweep.Report) error {
	best, after := report.Answers.Best, []string{"heddle compare", run.Dir}
	if best != nil && best.QueuesFile != "" {
		best.QueuesFile = filepath.Join(run.Dir, best.QueuesFile)
		after = []string{"heddle doctor --queues", best.QueuesFile}
	}
	if err := show(c, report); err != nil {
		return err
	}
	if best == nil && len(plan.Thresholds) > 0 {
		return withCode(exitThreshold, errors.New("no setting is shown to keep all thresholds"))
	}
	next(c, after[0], after[1])
	return nil
}

// finishSweep runs the replays of a sweep that have no result yet, and prints what all gave.
func finishSweep(c *cli.Context, plan *sweep.Plan, run *runs.Run) error {
	w := &work{progress: newProgress(c)}
	defer w.close()
	before := 0
	w.show(func() []string { return []string{"no replay has ended yet"} })
	rows, err := sweep.Run(c.Context, sweep.Options{Plan: plan, Run: run, Where: sweep.Local, Progress: func(done, all int) {
		if w.estimate.since.IsZero() { // what an earlier process did tells nothing of this one's speed
			before = done
		}
		w.counted(float64(done-before), float64(all-before), func() string { return fmt.Sprintf("%d of %d replays", done, all) })
	}})
	w.close()
	fmt.Fprintln(c.App.ErrWriter, "run folder:", run.Dir)
	if err != nil {
		if c.Context.Err() != nil { // any other error would come again
			next(c, "heddle sweep --resume", run.Dir)
		}
		return err
	}
	if rows.Damaged > 0 {
		warn(fmt.Sprintf("%s: lines that were cut off: %d; their replays ran again", run.Dir, rows.Damaged))
	}
	report, err := sweep.NewReport(plan, rows)
	if err != nil {
		return err
	}
	return showSweep(c, plan, run, report)
}

// openSweep makes the plan of a sweep file, and its run folder. With --dry-run it makes
// no folder. With --resume it takes up a run folder.
func openSweep(c *cli.Context, o *sweepOptions, files []string) (*sweep.Plan, *runs.Run, error) {
	if o.Resume != "" {
		run, plan, err := sweep.Open(o.Resume)
		if err != nil || run.Manifest().State == runs.Finished {
			return plan, run, usage(err)
		}
		err = run.Resume()
		return plan, run, err
	}
	s, source, err := config.LoadSweep(files[0])
	if err != nil {
		return nil, nil, usage(err)
	}
	warnKeys(s.Models)
	plan, err := sweep.New(s)
	if err == nil {
		err = plan.Load(c.Context)
	}
	if err != nil || o.DryRun {
		return plan, nil, usage(err)
	}
	root, err := runsRoot(o.Runs)
	if err != nil {
		return nil, nil, err
	}
	run, err := sweep.Begin(root, o.RunName, plan, source, os.Args)
	return plan, run, err
}
