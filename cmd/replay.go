package cmd

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/urfave/cli/v2"

	"heddle/harness/experiment"
	"heddle/harness/measure"
	"heddle/harness/replay"
	"heddle/harness/replay/calibration"
	"heddle/harness/replay/recorded"
	"heddle/traces/tracefile"
)

type replayOptions struct {
	experiment.ReplayPlan
	queueOptions
	Metric       []string `flag:"metric" list:"," suggest:"metrics" text:"a column for METRIC of heddle compare, or all; may be repeated" of:"METRIC" without:"makespan, mean completion, locality"`
	Calibrate    bool     `flag:"calibrate" text:"fit a calibration to the traces and print it; do not replay" heading:"What tasks take"`
	Runs         string   `flag:"runs" text:"keep the results as a run folder in DIR, for heddle compare" of:"DIR" without:"keep nothing" heading:"Files"`
	RunName      string   `flag:"run-name" text:"keep the results as a run folder of this NAME, without --runs in the user's state folder" of:"NAME" heading:"Files"`
	Traces       bool     `flag:"traces" text:"with --runs or --run-name, also keep the trace and each replay's trace" heading:"Files"`
	Out          string   `flag:"out" text:"write the simulated trace to FILE; only for a single trace, model and seed" of:"FILE" heading:"Files"`
	Reasons      bool     `flag:"reasons" text:"with --traces or --out: record with each decision what the model saw, for heddle trace why" heading:"Files"`
	Partial      bool     `flag:"partial" text:"go on if more than one job, and more than 1 % of the jobs, of another tool's trace are left out" heading:"Files"`
	Observations bool     `flag:"observations" text:"the files are from heddle run --record-observations: repeat steering's decisions on them" heading:"Files"`
	printed
}

func runReplay(c *cli.Context, o *replayOptions, files []string) (err error) {
	switch err := o.check(c); {
	case err != nil:
		return err
	case o.Observations:
		return replayObservations(c, files)
	}
	kept := experiment.Replays{Name: o.RunName, Command: os.Args, Traces: o.Traces}
	defer kept.Close()
	if o.kept() {
		if kept.Root, err = newRun(o.Runs, o.RunName); err != nil {
			return err
		}
	}
	if err := absent(o.written()...); err != nil {
		return err
	}
	var metrics []measure.Metric
	if o.Metric != nil {
		if metrics, err = measure.Find(o.Metric); err != nil {
			return usage(err)
		}
	}
	models, queueFiles, err := o.models()
	if err != nil {
		return usage(err)
	}
	warnKeys(models)
	p := &replayProgress{work: work{progress: newProgress(c)}}
	defer p.close()
	list, were, err := loadTraces(c, o, p.progress, files, &kept)
	if err != nil {
		return usage(err)
	}
	if o.Calibrate {
		return calibrate(c, o, list)
	}
	cluster, err := o.cluster(c, o, list)
	if err != nil {
		return usage(err)
	}
	p.show(func() []string { return []string{"fit what tasks and Hadoop cost"} })
	configs, note, warnings, err := o.Configs(list, models)
	say(c, note)
	warn(warnings...)
	if err != nil {
		return usage(err)
	}
	for i := range configs {
		configs[i].WithoutEvents, configs[i].Sanity, configs[i].Reasons = onlyTable(c, o), true, o.Reasons
		configs[i].Interrupted = c.Context.Err
	}
	stream, err := o.stream(configs)
	if err != nil {
		return err
	}
	if stream != nil {
		defer stream.Close()
	}
	kept.Record(configs)
	p.watch(configs)
	outcomes, err := replay.Outcomes(configs)
	if err != nil {
		return usage(err)
	}
	if stream != nil {
		p.show(func() []string { return []string{"write " + o.Out} })
		if err := stream.WriteFile(o.Out, outcomes[0].Header); err != nil {
			return fmt.Errorf("write simulated trace: %w", err)
		}
	}
	p.close()
	if o.Against != "" {
		return o.printWhatIf(c, list[0], cluster, queueFiles, were[0], outcomes)
	}
	warnOf(outcomes)
	return printReplays(c, o, &kept, replay.Beside(were, outcomes), metrics, configs[0].Calibration)
}

// written are the files that the command writes.
func (o *replayOptions) written() []string {
	list := []string{o.Out, o.Page}
	if o.Calibrate {
		list = append(list, o.Calibration)
	}
	return list
}

// stream makes the only replay write its events where --out will find them; nil without --out.
func (o *replayOptions) stream(configs []replay.Config) (*tracefile.Stream, error) {
	if o.Out == "" {
		return nil, nil
	}
	if len(configs) != 1 {
		return nil, usagef("--out: want a single trace, model and seed; these are %d replays", len(configs))
	}
	stream, err := tracefile.NewStream(filepath.Dir(o.Out))
	if err == nil {
		configs[0].Record = stream.Add
	}
	return stream, err
}

// check returns an error if the options do not go together.
func (o *replayOptions) check(c *cli.Context) error {
	if err := o.queueOptions.check(c, o); err != nil {
		return err
	}
	switch {
	case o.Traces && !o.kept():
		return usagef("--traces: want --runs or --run-name with it; without them nothing is kept")
	case o.Traces && o.Out != "":
		return usagef("both --traces and --out; want one of them")
	case o.Reasons && !o.Traces && o.Out == "":
		return usagef("--reasons: want --traces or --out with it; they are part of a trace")
	}
	return nil
}

// kept reports whether the results become a run folder.
func (o *replayOptions) kept() bool { return o.Runs != "" || o.RunName != "" }

// warnOf prints the warnings of all outcomes together, so that none comes twice.
func warnOf(outcomes []replay.Outcome) {
	warn(replay.EqualSeeds(outcomes)...)
	warnDoubts(outcomes)
}

func warnDoubts(outcomes []replay.Outcome) {
	var doubts []string
	for i := range outcomes {
		doubts = append(doubts, outcomes[i].Warnings...)
	}
	warn(doubts...)
}

// printReplays prints the outcomes, and keeps them if that was asked for.
func printReplays(
	c *cli.Context, o *replayOptions, kept *experiment.Replays, outcomes []replay.Outcome,
	metrics []measure.Metric, costs *calibration.Calibration,
) error {
	for i := range outcomes {
		outcomes[i].Measure(metrics)
	}
	table := append(replay.Doc(outcomes, metrics), replay.Basis(outcomes)...)
	if costs != nil && o.Calibration != "" {
		table = append(table, experiment.NewRunsDoc(costs, experiment.NewReplayed(costs, outcomes))...)
	}
	if err := printDoc(c, outcomes, table); err != nil {
		return err
	}
	if kept.Root != "" {
		run, err := kept.Keep(outcomes)
		if err != nil {
			return err
		}
		fmt.Fprintln(c.App.ErrWriter, "run folder:", run.Dir)
		next(c, "heddle compare", run.Dir)
	} else if o.Out != "" {
		next(c, "heddle trace info", o.Out)
	} else if len(c.LocalFlagNames()) == 0 {
		next(c, "heddle replay --model yarn --model fifo --model delay --seed 1,2,3,4,5,6 --runs runs", c.Args().Slice()...)
	}
	return nil
}

// onlyTable reports whether nothing is asked for but the usual table, of which all
// columns are known without the events of a replay.
func onlyTable(c *cli.Context, o *replayOptions) bool {
	return o.Against != "" || !wantsJSON(c) && o.Metric == nil && !o.kept()
}

func calibrate(c *cli.Context, o *replayOptions, list []*recorded.Trace) error {
	fitted, err := replay.Calibrate(list, o.Change, o.Fetches)
	if err != nil {
		return usage(err)
	}
	if path := o.Calibration; path != "" {
		if err := fitted.WriteFile(path); err != nil {
			return err
		}
	}
	return show(c, fitted)
}
