package cmd

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/urfave/cli/v2"

	"heddle/harness/fidelity"
	"heddle/harness/measure"
	"heddle/harness/results"
)

func fidelityCommand() *cli.Command {
	var o fidelity.Options
	cluster := slices.DeleteFunc(flagsOf(&o.Cluster), func(f cli.Flag) bool {
		return !slices.Contains([]string{"host-cores", "disk", "link", "uplink", "am-heartbeat"}, f.Names()[0])
	})
	return &cli.Command{
		Name:      "fidelity",
		Usage:     "how much replays differ from what a run measured",
		ArgsUsage: "RUN [RUN …]",
		Description: `Replays every trial of a finished run under its own model, calibrated on the other
repeats of its workload, and compares job completion time, makespan, task times and
locality. Then it predicts each model from the others' runs. With --across, it predicts
runs that differ in their input, cluster or model from those that the calibration is
fitted to, says which interval 95 of 100 new runs are in, and whether it tells the
faster of two models. Runs of one experiment on clusters that are alike count as one, so
that clusters which cannot be up together can take turns. Flags give rates of the cluster
that its traces do not have. For example:

   heddle fidelity RUN-FOLDER
   heddle fidelity --metric waiting.p95 --metric slowdown RUN-FOLDER
   heddle fidelity --max-error 5% RUN-FOLDER && echo good enough
   heddle fidelity --across RUN-FOLDER OTHER-RUN ANOTHER-RUN
   heddle fidelity --across RUN-FOLDER:wordcount:fifo RUN-FOLDER
   heddle fidelity --json RUN-FOLDER | jq '.own[] | {workload, model, meanAbsErrorPct}'`,
		Flags: append([]cli.Flag{
			&cli.StringSliceFlag{Name: "across", Usage: "fit to the run folder `RUN`, RUN:WORKLOAD, or RUN:WORKLOAD:MODEL, and predict the runs of the arguments with that, but for the trials fitted to; may be repeated"},
			&cli.StringFlag{Name: "max-error", Usage: "end with code 4 if a workload and model's mean error is above `PERCENT`"},
			&cli.StringSliceFlag{Name: "metric", Usage: "errors of `METRIC` of heddle compare too, or of all; may be repeated"},
			&cli.IntFlag{Name: "seeds", Value: 5, Destination: &o.Seeds, DefaultText: fmt.Sprintf("5; with --across %d", acrossSeeds), Usage: "replay each trial with seeds 1 to `N` and take the mean"},
			&cli.BoolFlag{Name: "others", Destination: &o.Others, Usage: "replay each run beside the load by other programs that it recorded, where that differs from the load that was fitted to"},
			unverifiedFlag(),
			tableFlag(), jsonFlag(),
		}, cluster...),
		Action: withArguments(func(c *cli.Context, dirs []string) error { return runFidelity(c, dirs, &o) }),
	}
}

// acrossSeeds is enough for chance in replays to be less than what is asked of
// predictions: with 5 seeds, means of one job on a lab were off by 3 % for chance alone.
const acrossSeeds = 20

func runFidelity(c *cli.Context, dirs []string, o *fidelity.Options) (err error) {
	o.Interrupted, o.Unverified = c.Context.Err, c.Bool("unverified")
	if o.Seeds < 1 || o.Seeds > 1000 {
		return withCode(exitUsage, fmt.Errorf("--seeds %d: want 1 to 1000", o.Seeds))
	}
	if c.IsSet("across") {
		if !c.IsSet("seeds") {
			o.Seeds = acrossSeeds
		}
		return runAcross(c, dirs, o)
	}
	if len(dirs) != 1 {
		return withCode(exitUsage, errors.New("want one run folder; 'heddle run' prints the path of its run folder"))
	}
	if info, err := os.Stat(dirs[0]); err == nil && info.Mode().IsRegular() {
		text := fmt.Sprintf("%s is a file: each trial is predicted from the other repeats of its run, so fidelity takes the folder of a run", dirs[0])
		if run := results.RunOf(dirs[0]); run != "" {
			text += "; heddle fidelity " + run
		} else {
			text += "; heddle replay " + dirs[0] + " simulates a trace"
		}
		return withCode(exitUsage, errors.New(text))
	}
	if c.IsSet("metric") {
		if o.Metrics, err = measure.Find(several(c, "metric")); err != nil {
			return withCode(exitUsage, err)
		}
	}
	most := -1.0
	if text := c.String("max-error"); text != "" {
		if most, err = strconv.ParseFloat(strings.TrimSuffix(text, "%"), 64); err != nil || !(most >= 0) {
			return withCode(exitUsage, fmt.Errorf("--max-error %q: want a percentage such as 5%%", text))
		}
	}
	report, err := fidelity.Of(dirs[0], *o)
	if err != nil {
		return withCode(exitUsage, err)
	}
	err = printDoc(c, report, report.Doc())
	if worst := report.Worst(); err == nil && most >= 0 && !(float64(worst.MeanAbsErrorPct) <= most) {
		return withCode(exitThreshold, fmt.Errorf("%s under %s: the mean error of predictions is %.1f %%, above --max-error %g%%", worst.Workload, worst.Model, worst.MeanAbsErrorPct, most))
	}
	return err
}

// runAcross predicts the runs in the folders dirs from the runs of the flag --across.
func runAcross(c *cli.Context, dirs []string, o *fidelity.Options) error {
	switch {
	case len(dirs) == 0:
		return withCode(exitUsage, errors.New("--across: want run folders to predict as arguments"))
	case c.IsSet("metric"), c.IsSet("max-error"):
		return withCode(exitUsage, errors.New("--across: --metric and --max-error are for the runs of one folder; want --across without them"))
	}
	report, err := fidelity.AcrossRuns(c.StringSlice("across"), dirs, *o)
	if err != nil {
		return withCode(exitUsage, err)
	}
	return printDoc(c, report, report.Doc())
}
