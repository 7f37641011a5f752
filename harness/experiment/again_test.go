package experiment

import (
	"slices"
	"testing"

	"heddle/harness/config"
	"heddle/harness/measure"
	"heddle/harness/replay"
	"heddle/harness/replay/calibration"
	"heddle/harness/replay/recorded"
	"heddle/harness/results"
	"heddle/traces/tracefile"
)

// TestReplayOfSimulation holds the two ways to a prediction together: a replay of a
// simulated trial, with the same model, calibration and seed, has the trial's own
// schedule. The calibration was fitted to wordcount under its own name, and the trial's
// workload has another label and other sizes.
func TestReplayOfSimulation(t *testing.T) {
	t.Parallel()
	measured := must(results.Open("../fidelity/testdata/run", false))
	var list []*recorded.Trace
	for i := range measured.Trials {
		x := must(recorded.Load(measured.TracePath(&measured.Trials[i])))
		list = append(list, x)
	}
	costs := must(replay.Calibrate(list, recorded.Change{}, ""))
	if costs.Sharing == 0 || costs.Sharing == 1 {
		t.Fatalf("the calibration has the nodes' own cores (sharing %v): nothing shows whether sharing is applied twice", costs.Sharing)
	}
	hosts := *costs
	hosts.HostCores = 1.5
	for name, costs := range map[string]*calibration.Calibration{"cores of nodes": costs, "cores of the machine": &hosts} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			source := []byte("name: again\nmodels: [fifo, delay, yarn]\nrepeats: 2\ncoldReads: false\nworkloads: [{name: wordcount, label: other, size: 96MiB, maps: 12, reduces: 3, jobs: 2}]\n")
			e := must(config.ParseExperiment("again.yaml", source))
			run := must(Simulate(t.Context(), Options{
				Experiment: e, Source: source, Cluster: config.DefaultCluster(), Root: t.TempDir(),
				Name: "run",
			}, costs))
			simulated := must(results.Open(run.Dir, false))
			for i := range simulated.Trials {
				trial := &simulated.Trials[i]
				path := simulated.TracePath(trial)
				x := must(recorded.Load(path))
				again, _ := must2(replay.Run(&replay.Config{
					Trace: x, Model: x.OwnModel(), Behaviour: x.OwnBehaviour(), Seed: e.Seed + uint64(trial.Repeat-1), Calibration: costs, Modelled: true,
					Repeats: true,
				}))
				h, events := must2(tracefile.ReadFile(path))
				if was := measure.Of(h, slices.Values(events)).ScheduleDigest; again.Digest.String() != was {
					t.Errorf("%s: the replay has the schedule %s, the trial %s: makespan %d ms, and %d ms in the trial", trial.Name, again.Digest, was,
						again.MakespanMs, trial.MakespanMs)
				}
			}
		})
	}
}
