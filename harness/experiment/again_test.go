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
	measured, err := results.Open("../fidelity/testdata/run", false)
	if err != nil {
		t.Fatal(err)
	}
	var list []*recorded.Trace
	for i := range measured.Trials {
		x, err := recorded.Load(measured.TracePath(&measured.Trials[i]))
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, x)
	}
	costs, err := replay.Calibrate(list, recorded.Change{}, "")
	if err != nil {
		t.Fatal(err)
	}
	if costs.Sharing == 0 || costs.Sharing == 1 {
		t.Fatalf("the calibration has the nodes' own cores (sharing %v): nothing shows whether sharing is applied twice", costs.Sharing)
	}
	hosts := *costs
	hosts.HostCores = 1.5
	for name, costs := range map[string]*calibration.Calibration{"cores of nodes": costs, "cores of the machine": &hosts} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			source := []byte("name: again\nmodels: [fifo, delay, yarn]\nrepeats: 2\ncoldReads: false\nworkloads: [{name: wordcount, label: other, size: 96MiB, maps: 12, reduces: 3, jobs: 2}]\n")
			e, err := config.ParseExperiment("again.yaml", source)
			if err != nil {
				t.Fatal(err)
			}
			run, err := Simulate(t.Context(), Options{Experiment: e, Source: source, Cluster: config.DefaultCluster(), Root: t.TempDir(), Name: "run"}, costs)
			if err != nil {
				t.Fatal(err)
			}
			simulated, err := results.Open(run.Dir, false)
			if err != nil {
				t.Fatal(err)
			}
			for i := range simulated.Trials {
				trial := &simulated.Trials[i]
				path := simulated.TracePath(trial)
				x, err := recorded.Load(path)
				if err != nil {
					t.Fatal(err)
				}
				again, _, err := replay.Run(&replay.Config{
					Trace: x, Model: x.OwnModel(), Behaviour: x.OwnBehaviour(), Seed: e.Seed + uint64(trial.Repeat-1), Calibration: costs, Modelled: true, Repeats: true,
				})
				if err != nil {
					t.Fatal(err)
				}
				h, events, err := tracefile.ReadFile(path)
				if err != nil {
					t.Fatal(err)
				}
				if was := measure.Of(h, slices.Values(events)).ScheduleDigest; again.Digest.String() != was {
					t.Errorf("%s: the replay has the schedule %s, the trial %s: makespan %d ms, and %d ms in the trial", trial.Name, again.Digest, was, again.MakespanMs, trial.MakespanMs)
				}
			}
		})
	}
}
