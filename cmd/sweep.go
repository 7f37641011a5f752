package cmd

import (
	"errors"
	"fmt"
	"os"

	"github.com/urfave/cli/v2"

	"heddle/harness/clients"
	"heddle/harness/config"
	"heddle/harness/results"
	"heddle/harness/runs"
	"heddle/harness/sweep"
	"heddle/traces/printable"
)

func sweepCommand() *cli.Command {
	return &cli.Command{
		Name:      "sweep",
		Usage:     "many replays: traces, models, parameters, clusters and seeds",
		ArgsUsage: "[SWEEP.yaml]",
		Description: `Replays the traces of a sweep file under each of its settings, on all cores, and prints
each setting's figures with their intervals. Results go to a run folder one by one:
a sweep that was ended is continued with --resume, or with the same command and
--run-name. The digest is that of all results; it does not depend on where and in
which order they were computed.

With --on yarn, replays are maps of Hadoop Streaming jobs whose program is this one, and
which YARN repeats if they fail. If heddle is killed, its job goes on, and the same
command or --resume with --on yarn collects what it gave. For example:

   heddle sweep --dry-run sweep.yaml
   heddle sweep --run-name night sweep.yaml
   heddle sweep --resume RUN-FOLDER
   heddle sweep --on yarn --cluster CLUSTER.yaml --run-name night sweep.yaml
   heddle compare --where 'model~^delay' RUN-FOLDER`,
		Flags: []cli.Flag{
			runsFlag(new(string)),
			&cli.StringFlag{Name: "run-name", Usage: "`NAME` of the run folder (default: time and sweep)"},
			&cli.StringFlag{Name: "resume", Usage: "continue the unfinished sweep in `DIR`, or print what a finished one gave"},
			&cli.StringFlag{Name: "on", Value: "local", Usage: "where replays run: local or yarn"},
			clusterFlag(),
			&cli.StringFlag{Name: "queue", Usage: "with --on yarn, the `QUEUE` of its jobs (default: the cluster's)"},
			&cli.BoolFlag{Name: "dry-run", Usage: "print what would run, its time and memory, by a few replays; keep nothing"},
			tableFlag(), jsonFlag(),
		},
		Action: withArguments(runSweep),
	}
}

func runSweep(c *cli.Context, files []string) error {
	switch on := c.String("on"); {
	case (c.String("resume") == "") != (len(files) == 1) || len(files) > 1:
		return withCode(exitUsage, errors.New("want either one sweep file, or --resume with a run folder"))
	case c.IsSet("resume") && (c.IsSet("runs") || c.IsSet("run-name") || c.Bool("dry-run")):
		return withCode(exitUsage, errors.New("--resume: want it without --runs, --run-name and --dry-run"))
	case on != "local" && on != "yarn":
		return withCode(exitUsage, fmt.Errorf("--on %q: want local or yarn", on))
	case on == "local" && (c.IsSet("cluster") || c.IsSet("queue")):
		return withCode(exitUsage, errors.New("--cluster, --queue: want --on yarn with them"))
	}
	plan, run, err := openSweep(c, files)
	if err != nil {
		return runError(err)
	}
	if run != nil {
		defer run.Close()
	}
	if c.Bool("dry-run") {
		cost, err := sweep.Expect(c.Context, plan, plan.Replays, func(sweep.Row) error { return nil })
		if err != nil {
			return withCode(exitUsage, err)
		}
		return printDoc(c, cost, cost.Doc())
	}
	if run.Manifest().State == runs.Finished {
		return printSweep(c, plan, run)
	}
	w := &work{progress: newProgress(c)}
	defer w.close()
	where, clean := sweep.Where(sweep.Local), func() error { return nil }
	if c.String("on") == "yarn" {
		y, err := onYARN(c, run.Dir, w.say)
		if err != nil {
			return err
		}
		defer y.Cluster.Close()
		where, clean = y.Run, func() error { return y.Clean(c.Context, plan) }
		putsBack(c, "the job of the sweep", "the job may still run; heddle sweep --on yarn --resume "+printable.ShellWord(run.Dir)+" collects its results")
	}
	before := 0
	w.show(func() []string { return []string{"no replay has ended yet"} })
	rows, err := sweep.Run(c.Context, sweep.Options{Plan: plan, Run: run, Where: where, Progress: func(done, all int) {
		if w.estimate.since.IsZero() { // what an earlier process did tells nothing of this one's speed
			before = done
		}
		w.counted(float64(done-before), float64(all-before), func() string { return fmt.Sprintf("%d of %d replays", done, all) })
	}})
	w.close()
	fmt.Fprintln(c.App.ErrWriter, "run folder:", run.Dir)
	if err != nil {
		again := "heddle sweep --resume"
		if c.String("on") == "yarn" {
			again = "heddle sweep --on yarn --cluster " + printable.ShellWord(c.String("cluster")) + " --resume"
		}
		next(c, again, run.Dir)
		return runError(err)
	}
	if err := clean(); err != nil {
		warn(err.Error())
	}
	if rows.Damaged > 0 {
		warn(fmt.Sprintf("%s: lines that were cut off: %d; their replays ran again", run.Dir, rows.Damaged))
	}
	report, err := sweep.NewReport(plan, rows)
	if err != nil {
		return err
	}
	if err := printDoc(c, report, report.Doc()); err != nil {
		return err
	}
	next(c, "heddle compare", run.Dir)
	return nil
}

// openSweep makes the plan of a sweep file, and its run folder. With --dry-run it makes
// no folder. With --resume it takes up a run folder.
func openSweep(c *cli.Context, files []string) (*sweep.Plan, *runs.Run, error) {
	if dir := c.String("resume"); dir != "" {
		run, plan, err := sweep.Open(dir)
		if err != nil || run.Manifest().State == runs.Finished {
			return plan, run, withCode(exitUsage, err)
		}
		_, err = run.Resume()
		return plan, run, err
	}
	s, source, err := config.LoadSweep(files[0])
	if err != nil {
		return nil, nil, withCode(exitUsage, err)
	}
	plan, err := sweep.New(s)
	if err != nil || c.Bool("dry-run") {
		return plan, nil, withCode(exitUsage, err)
	}
	root, err := runsRoot(c.String("runs"))
	if err != nil {
		return nil, nil, err
	}
	run, err := sweep.Begin(root, c.String("run-name"), plan, source, os.Args)
	return plan, run, err
}

// onYARN returns the cluster on which the replays of a sweep run.
func onYARN(c *cli.Context, dir string, say func(string)) (*sweep.YARN, error) {
	cluster, err := loadCluster(c.String("cluster"))
	if err != nil {
		return nil, err
	}
	to, err := clients.To(cluster, clients.Patience{})
	if err != nil {
		return nil, withCode(exitUsage, err)
	}
	program, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("find the program of its tasks: %w", err)
	}
	return &sweep.YARN{Cluster: to, Program: program, RunDir: dir, Queue: c.String("queue"), Say: say}, nil
}

// printSweep prints what a finished sweep gave.
func printSweep(c *cli.Context, plan *sweep.Plan, run *runs.Run) error {
	trials, err := results.List(run)
	if err != nil {
		return runError(err)
	}
	report, err := sweep.ReportOf(plan, trials)
	if err != nil {
		return runError(err)
	}
	return printDoc(c, report, report.Doc())
}
