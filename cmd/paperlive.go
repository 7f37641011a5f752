package cmd

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/urfave/cli/v2"

	"heddle/harness/config"
	"heddle/harness/doc"
	"heddle/harness/experiment"
	"heddle/harness/lab"
	"heddle/harness/measure"
	"heddle/harness/paper"
	"heddle/harness/results"
)

// livePaper returns the results of a paper's experiment on a cluster. They come
// from an existing run, or from a run that livePaper starts.
func livePaper(c *cli.Context, o *paperOptions, p *paper.Paper, parts []string) (paperResult, error) {
	dir := o.LiveRun
	switch {
	case dir != "" && len(parts) > 0:
		return nil, usagef("%q: a live run has no figures; want no FIGURE", parts[0])
	case dir != "" && o.Live:
		return nil, usagef("both --live and --live-run; want one of them")
	case dir == "":
		var err error
		if dir, err = runLivePaper(c, o, p, strings.Join(parts, " ")); err != nil {
			return nil, err
		}
	}
	t, err := p.Live.Read(dir, o.Unverified)
	if err != nil {
		return nil, usage(err)
	}
	return &paper.Report{
		Paper: p.Name, Title: p.Title, Source: p.Source, Live: t,
		Criteria: []paper.Criterion{}, Figures: []*paper.Figure{},
	}, nil
}

// paperExperiment returns one of the paper's experiments for a cluster, by its name, with
// the seed that a flag gives. It writes the paper's files to the user's cache folder,
// where a run that is resumed finds them again.
func paperExperiment(c *cli.Context, o *paperOptions, p *paper.Paper, name string) (x *experiment.Options, folder string, err error) {
	file, err := p.Live.Experiment(name)
	if err != nil {
		return nil, "", usagef("paper %s: %w", p.Name, err)
	}
	if folder, err = os.UserCacheDir(); err != nil {
		return nil, "", fmt.Errorf("find the folder for the experiment of paper %s: %w", p.Name, err)
	}
	folder = filepath.Join(folder, "heddle", "papers", p.Name)
	if err := p.Live.Write(folder); err != nil {
		return nil, "", err
	}
	x = &experiment.Options{Command: os.Args, Others: map[string]*config.Cluster{}}
	if x.Source, err = os.ReadFile(filepath.Join(folder, file)); err != nil {
		return nil, "", fmt.Errorf("read the experiment of paper %s: %w", p.Name, err)
	}
	if x.Experiment, err = config.ParseExperiment(filepath.Join(folder, strings.TrimSuffix(p.Name+"-"+name, "-")+".yaml"),
		x.Source); err != nil {
		return nil, "", err
	}
	if c.IsSet("seed") {
		x.Experiment.Seed = o.Seed
	}
	return x, folder, nil
}

// paperForecast simulates a few repeats of the paper's experiment, and says
// how many would tell its models' times apart. Unless a flag names a cluster, it
// simulates the lab that the experiment is made for.
func paperForecast(c *cli.Context, o *paperOptions, p *paper.Paper, name string) (*experiment.Forecast, error) {
	x, files, err := paperExperiment(c, o, p, name)
	if err != nil {
		return nil, err
	}
	lab := filepath.Join(files, paper.LabFile)
	for i := range x.Experiment.Models {
		x.Experiment.Models[i].Cluster = lab
	}
	x.Experiment.Cluster = lab
	folder, err := os.MkdirTemp("", "heddle-paper-")
	if err != nil {
		return nil, fmt.Errorf("make folder for the simulation: %w", err)
	}
	defer os.RemoveAll(folder)
	dir, _, _, err := simulateLike(c, &runOptions{Cluster: o.Cluster}, *x, folder)
	if err != nil {
		return nil, err
	}
	like, err := results.Open(dir, false)
	if err != nil {
		return nil, err
	}
	expected, err := p.Live.Expected(dir)
	if err != nil {
		return nil, err
	}
	for _, line := range expected {
		fmt.Fprintln(c.App.ErrWriter, "as simulated:", line)
	}
	metrics, err := measure.Find([]string{"jobCompletion"})
	if err != nil {
		return nil, err
	}
	return experiment.Expect(x.Experiment, like, metrics[0], paperTellPct), nil
}

// paperTellPct is the difference of times, in percent, that a live run of a
// paper's experiment should tell.
const paperTellPct = 5

// runLivePaper runs one of the paper's experiments on a cluster and returns the run
// folder. Before it begins it says how many repeats are needed.
func runLivePaper(c *cli.Context, o *paperOptions, p *paper.Paper, name string) (string, error) {
	x, _, err := paperExperiment(c, o, p, name)
	if err != nil {
		return "", err
	}
	f, err := paperForecast(c, o, p, name)
	if err != nil {
		fmt.Fprintln(c.App.ErrWriter, "the number of repeats needed is not known:", err)
	} else if err := doc.WriteText(c.App.ErrWriter, f.Doc(), false); err != nil {
		return "", err
	}
	cluster := x.Experiment.Cluster
	if o.Cluster != "" { // as in findClusters: the experiment's models keep the name of their cluster
		cluster = o.Cluster
	}
	if x.Cluster, err = loadCluster(cluster); err != nil {
		return "", err
	}
	flags, err := p.Live.Unlike(x.Cluster)
	if err != nil {
		return "", err
	}
	if len(flags) > 0 {
		warn("the experiment is made for other machines than this cluster's, so expect other times; a lab like those: " +
			"heddle lab up " + strings.Join(flags, " "))
	}
	x.Name = o.RunName
	if x.Root, err = runsRoot(o.Runs); err != nil {
		return "", err
	}
	changesCluster(c, cluster)
	progress := newRunProgress(c)
	x.Progress = progress.step
	x.ShareCores = lab.ShareCores
	run, err := experiment.Run(c.Context, *x)
	progress.close()
	if run == nil {
		return "", err
	}
	fmt.Fprintln(c.App.ErrWriter, "run folder:", run.Dir)
	return run.Dir, err
}
