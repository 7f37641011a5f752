package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"text/tabwriter"

	"github.com/urfave/cli/v2"

	"heddle/harness/config"
	"heddle/harness/connect"
	"heddle/harness/experiment"
	"heddle/harness/runs"
)

func runCommand() *cli.Command {
	var o experiment.Options
	return &cli.Command{
		Name:      "run",
		Usage:     "run an experiment on a cluster and capture it",
		ArgsUsage: "EXPERIMENT.yaml",
		Description: `Every workload of the experiment runs under every model, repeated. Results go to
a run folder, whose path is printed. A run that was interrupted is taken up with
--resume. For example:

   heddle lab up
   heddle run first.yaml
   heddle run --resume RUN-FOLDER`,
		Flags: []cli.Flag{
			runsFlag(&o.Root),
			&cli.StringFlag{Name: "run-name", Destination: &o.Name, Usage: "`NAME` of the run folder (default: time and experiment)"},
			&cli.StringFlag{Name: "resume", Destination: &o.Resume, Usage: "take up the unfinished run in `DIR`"},
			&cli.StringFlag{Name: "cluster", Usage: "`CLUSTER` file or lab, instead of the experiment's"},
			&cli.BoolFlag{Name: "json", Usage: "print the results as JSON"},
		},
		Action: func(c *cli.Context) error { return runExperiment(c, &o) },
	}
}

func runExperiment(c *cli.Context, o *experiment.Options) error {
	files, err := arguments(c)
	if err != nil {
		return err
	}
	if (o.Resume == "") != (len(files) == 1) || len(files) > 1 {
		return withCode(exitUsage, errors.New("run takes one experiment file, or --resume and a run folder"))
	}
	file := filepath.Join(o.Resume, "experiment.yaml")
	if len(files) == 1 {
		file = files[0]
	}
	e, err := config.LoadExperiment(file)
	if err != nil {
		return withCode(exitUsage, err)
	}
	if o.Source, err = os.ReadFile(file); err != nil {
		return withCode(exitUsage, err)
	}
	o.Experiment = e
	switch {
	case c.IsSet("cluster"):
		o.Cluster, err = loadCluster(c.String("cluster"))
	case o.Resume != "":
		o.Cluster, err = config.LoadCluster(filepath.Join(o.Resume, "cluster.yaml"))
	default:
		o.Cluster, err = loadCluster(e.Cluster)
	}
	if err != nil {
		return err
	}
	o.Others = map[string]*config.Cluster{}
	for _, m := range e.Models {
		if m.Cluster == e.Cluster {
			continue
		}
		if o.Resume != "" {
			o.Others[m.Cluster], err = config.LoadCluster(filepath.Join(o.Resume, "cluster-"+m.Label+".yaml"))
		} else {
			o.Others[m.Cluster], err = loadCluster(m.Cluster)
		}
		if err != nil {
			return err
		}
	}
	if o.Root, err = runsRoot(o.Root); err != nil {
		return err
	}
	o.Command = os.Args
	p := newProgress(os.Stderr)
	o.Progress = p.step
	run, err := experiment.Run(c.Context, *o)
	p.close()
	if run != nil {
		if perr := printResults(c.App.Writer, run, c.Bool("json")); err == nil {
			err = perr
		}
		fmt.Fprintln(os.Stderr, "run folder:", run.Dir)
	}
	return runError(err)
}

// printResults prints a row a job.
func printResults(out io.Writer, run *runs.Run, asJSON bool) error {
	results, err := experiment.Results(run)
	if err != nil {
		return err
	}
	if asJSON {
		e := json.NewEncoder(out)
		e.SetIndent("", "  ")
		return e.Encode(struct {
			Folder string              `json:"folder"`
			Trials []experiment.Result `json:"trials"`
		}{run.Dir, results})
	}
	if len(results) == 0 {
		return nil
	}
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "trial\tjob\toutcome\tcompletion s\tmakespan s\twarnings")
	for _, r := range results {
		for _, j := range r.Jobs {
			fmt.Fprintf(w, "%s\t%s\t%s\t%.1f\t%.1f\t%d\n", r.Trial, j.ID, j.Outcome, float64(j.CompletionMs)/1000, float64(r.MakespanMs)/1000, len(r.Warnings))
		}
	}
	if err := w.Flush(); err != nil {
		return err
	}
	for _, r := range results {
		if r.Plan != nil {
			fmt.Fprintf(out, "%s  %v\n", r.Trial, r.Plan)
		}
	}
	return nil
}

func runsFlag(root *string) cli.Flag {
	return &cli.StringFlag{Name: "runs", Destination: root, Usage: "folder of run folders, `DIR` (default: in the user's state folder)"}
}

// runsRoot is the folder that was given, or the usual one.
func runsRoot(given string) (string, error) {
	if given != "" {
		return given, nil
	}
	return runs.DefaultRoot()
}

func noArguments(c *cli.Context) error {
	if c.NArg() > 0 {
		return withCode(exitUsage, fmt.Errorf("%s takes no argument, got %q", c.Command.Name, c.Args().First()))
	}
	return nil
}

// runError gives an error of a run its exit code.
func runError(err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, runs.ErrExists), errors.Is(err, runs.ErrNotRun), errors.Is(err, runs.ErrRunning), errors.As(err, new(*config.Error)):
		return withCode(exitUsage, err)
	case connect.Unable(err):
		return withCode(exitCluster, err)
	}
	return err
}
