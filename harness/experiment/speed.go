package experiment

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"os"

	"heddle/harness/replay"
	"heddle/harness/replay/calibration"
	"heddle/harness/replay/recorded"
	"heddle/harness/results"
)

// Fit returns the calibration in the file at a path, or one that is fitted to the run folder
// there; nil without a path. The text says how the run was unlike the experiment.
func (o *Options) Fit(path string) (costs *calibration.Calibration, unlike string, err error) {
	if path == "" {
		return nil, "", nil
	}
	if info, err := os.Stat(path); err != nil || !info.IsDir() {
		costs, err = calibration.Read(path)
		return costs, "", err
	}
	run, list, err := TracesOf(path, o.Unverified)
	if err != nil {
		return nil, "", err
	}
	costs, err = replay.Calibrate(list, recorded.Change{}, o.Experiment.Fetches)
	if err == nil && len(costs.Workloads) == 0 {
		err = fmt.Errorf("calibration: run %s measured no task: want one of a cluster", path)
	}
	return costs, Unlike(o.Experiment, run.Run, true), err
}

// SetSpeed sets the speed of the processors to that in the run or trace at a path, see
// SpeedOf.
func (o *Options) SetSpeed(path string, costs *calibration.Calibration) (note string, err error) {
	if o.Speed, note, err = SpeedOf(path, o.Unverified, costs); err != nil || o.Speed == 1 {
		return note, err
	}
	settings := map[string]string{"speedOfProcessors": fmt.Sprintf("%.4g", o.Speed)}
	maps.Copy(settings, o.Settings)
	o.Settings = settings
	return note, nil
}

// TracesOf reads the traces of all trials of a run folder.
func TracesOf(path string, unverified bool) (*results.Run, []*recorded.Trace, error) {
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

// SpeedOf returns the speed of the processors in the run or trace at a path, relative to
// those of the calibration, and says so; 1 without a path.
func SpeedOf(path string, unverified bool, costs *calibration.Calibration) (speed float64, note string, err error) {
	switch {
	case path == "":
		return 1, "", nil
	case costs == nil:
		return 0, "", errors.New("--speed-of: want --calibration with it, whose processors are compared; to fit to that run alone, " +
			"give it as --calibration")
	}
	var list []*recorded.Trace
	info, err := os.Stat(path)
	if err == nil && info.IsDir() {
		_, list, err = TracesOf(path, unverified)
	} else if err == nil {
		var t *recorded.Trace
		t, err = recorded.Load(path)
		list = append(list, t)
	}
	if err != nil {
		return 0, "", fmt.Errorf("--speed-of: %w", err)
	}
	speed = costs.Speed(list...)
	if math.IsNaN(speed) {
		return 0, "", fmt.Errorf("--speed-of %s: fewer than half of its maps did the work of maps of the calibration, by workload "+
			"(it has %s), input and Hadoop's counter of CPU time; run one of its workloads "+
			"with the same block size, or fit the calibration anew", path, costs.Names())
	}
	return speed, fmt.Sprintf("speed of the processors: %.2f times that of the calibration, by %s", speed, path), nil
}
