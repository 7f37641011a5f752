package cmd

import (
	"errors"
	"fmt"
	"math"
	"os"

	"github.com/urfave/cli/v2"

	"heddle/harness/replay/calibration"
	"heddle/harness/replay/recorded"
	"heddle/harness/results"
	"heddle/traces/printable"
)

// tracesOfRun reads the traces of all trials of a run folder.
func tracesOfRun(path string, unverified bool) (*results.Run, []*recorded.Trace, error) {
	run, err := results.Open(path, unverified)
	if err != nil {
		return nil, nil, err
	}
	var list []*recorded.Trace
	for i := range run.Trials {
		t, err := recorded.Load(run.TracePath(&run.Trials[i]))
		if err != nil {
			return nil, nil, err
		}
		list = append(list, t)
	}
	return run, list, nil
}

func speedFlag() cli.Flag {
	return &cli.StringFlag{Name: "speed-of", Usage: "with --calibration: compute as fast as processors did in `RUN`, a short run right before of a workload of the calibration"}
}

// speedOf returns the speed of the processors in the run or trace of the flag --speed-of, relative
// to those of the calibration; 1 without the flag.
func speedOf(c *cli.Context, costs *calibration.Calibration) (float64, error) {
	path := c.String("speed-of")
	switch {
	case path == "":
		return 1, nil
	case costs == nil:
		return 0, errors.New("--speed-of: want --calibration with it, whose processors are compared; to fit to that run alone, give it as --calibration")
	}
	var list []*recorded.Trace
	info, err := os.Stat(path)
	if err == nil && info.IsDir() {
		_, list, err = tracesOfRun(path, c.Bool("unverified"))
	} else if err == nil {
		var t *recorded.Trace
		t, err = recorded.Load(path)
		list = append(list, t)
	}
	if err != nil {
		return 0, fmt.Errorf("--speed-of: %w", err)
	}
	speed := costs.Speed(list...)
	if math.IsNaN(speed) {
		return 0, fmt.Errorf("--speed-of %s: fewer than half of its maps did the work of maps of the calibration, by workload (it has %s), input and Hadoop's counter of CPU time; run one of its workloads with the same block size, or fit the calibration anew", path, costs.Names())
	}
	printable.Fprintf(c.App.ErrWriter, "speed of the processors: %.2f times that of the calibration, by %s\n", speed, path)
	return speed, nil
}
