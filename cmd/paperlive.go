package cmd

import (
	"errors"
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
func livePaper(c *cli.Context, p *paper.Paper, parts []string) (paperResult, error) {
	dir := c.String("live-run")
	switch {
	case dir != "" && len(parts) > 0:
		return nil, withCode(exitUsage, fmt.Errorf("%q: a live run has no figures; want no FIGURE", parts[0]))
	case dir != "" && c.Bool("live"):
		return nil, withCode(exitUsage, errors.New("both --live and --live-run; want one of them"))
	case dir == "":
		var err error
		if dir, err = runLivePaper(c, p, strings.Join(parts, " ")); err != nil {
			return nil, err
		}
	}
	t, err := p.Live.Read(dir, c.Bool("unverified"))
	if err != nil {
		return nil, withCode(exitUsage, err)
	}
	return &paper.Report{
		Paper: p.Name, Title: p.Title, Source: p.Source, Live: t,
		Criteria: []paper.Criterion{}, Figures: []*paper.Figure{},
	}, nil
}

// paperExperiment returns one of the paper's experiments for a cluster, by its name, with
// the seed that a flag gives. It writes the paper's files to the user's cache folder,
// where a run that is resumed finds them again.
func paperExperiment(c *cli.Context, p *paper.Paper, name string) (o *experiment.Options, folder string, err error) {
	file, err := p.Live.Experiment(name)
	if err != nil {
		return nil, "", withCode(exitUsage, fmt.Errorf("paper %s: %w", p.Name, err))
	}
	if folder, err = os.UserCacheDir(); err != nil {
		return nil, "", fmt.Errorf("find the folder for the experiment of paper %s: %w", p.Name, err)
	}
	folder = filepath.Join(folder, "heddle", "papers", p.Name)
	if err := p.Live.Write(folder); err != nil {
		return nil, "", err
	}
	o = &experiment.Options{Command: os.Args, Others: map[string]*config.Cluster{}}
	if o.Source, err = os.ReadFile(filepath.Join(folder, file)); err != nil {
		return nil, "", fmt.Errorf("read the experiment of paper %s: %w", p.Name, err)
	}
	if o.Experiment, err = config.ParseExperiment(filepath.Join(folder, strings.TrimSuffix(p.Name+"-"+name, "-")+".yaml"), o.Source); err != nil {
		return nil, "", err
	}
	if c.IsSet("seed") {
		o.Experiment.Seed = c.Uint64("seed")
	}
	return o, folder, nil
}

// forecastPaper simulates a few repeats of the paper's experiment, and prints
// how many would tell its models' times apart. Unless a flag names a cluster, it
// simulates the lab that the experiment is made for.
func forecastPaper(c *cli.Context, p *paper.Paper, parts []string) error {
	f, err := paperForecast(c, p, strings.Join(parts, " "))
	if err != nil {
		return err
	}
	return printDoc(c, f, f.Doc())
}

func paperForecast(c *cli.Context, p *paper.Paper, name string) (*experiment.Forecast, error) {
	o, files, err := paperExperiment(c, p, name)
	if err != nil {
		return nil, err
	}
	lab := filepath.Join(files, paper.LabFile)
	for i := range o.Experiment.Models {
		o.Experiment.Models[i].Cluster = lab
	}
	o.Experiment.Cluster = lab
	folder, err := os.MkdirTemp("", "heddle-paper-")
	if err != nil {
		return nil, fmt.Errorf("make folder for the simulation: %w", err)
	}
	defer os.RemoveAll(folder)
	dir, _, _, err := simulateLike(c, *o, folder)
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
	return experiment.Expect(o.Experiment, like, metrics[0], paperTellPct), nil
}

// paperTellPct is the difference of times, in percent, that a live run of a
// paper's experiment should tell.
const paperTellPct = 5

// runLivePaper runs one of the paper's experiments on a cluster and returns the run
// folder. Before it begins it says how many repeats are needed.
func runLivePaper(c *cli.Context, p *paper.Paper, name string) (string, error) {
	o, _, err := paperExperiment(c, p, name)
	if err != nil {
		return "", err
	}
	f, err := paperForecast(c, p, name)
	if err != nil {
		fmt.Fprintln(c.App.ErrWriter, "the number of repeats needed is not known:", err)
	} else if err := doc.WriteText(c.App.ErrWriter, f.Doc(), false); err != nil {
		return "", err
	}
	cluster := o.Experiment.Cluster
	if c.IsSet("cluster") { // as in findClusters: the experiment's models keep the name of their cluster
		cluster = c.String("cluster")
	}
	if o.Cluster, err = loadCluster(cluster); err != nil {
		return "", err
	}
	flags, err := p.Live.Unlike(o.Cluster)
	if err != nil {
		return "", err
	}
	if len(flags) > 0 {
		warn("the experiment is made for other machines than this cluster's, so expect other times; a lab like those: heddle lab up " + strings.Join(flags, " "))
	}
	o.Name = c.String("run-name")
	if o.Root, err = runsRoot(c.String("runs")); err != nil {
		return "", err
	}
	changesCluster(c, cluster)
	progress := newRunProgress(c)
	o.Progress = progress.step
	o.ShareCores = lab.ShareCores
	run, err := experiment.Run(c.Context, *o)
	progress.close()
	if run == nil {
		return "", runError(err)
	}
	fmt.Fprintln(c.App.ErrWriter, "run folder:", run.Dir)
	return run.Dir, runError(err)
}
