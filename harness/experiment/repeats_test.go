package experiment

import (
	"slices"
	"testing"

	"heddle/harness/config"
	"heddle/harness/replay"
	"heddle/harness/replay/calibration"
	"heddle/harness/replay/recorded"
	"heddle/harness/sim"
	"heddle/harness/stats"
	"heddle/harness/workload"
)

// control simulates trials of one workload under YARN, in memory.
func control(t *testing.T) func(seed uint64) *sim.Result {
	t.Helper()
	e := must(config.ParseExperiment("e.yaml", []byte("workloads: [{name: wordcount, size: 128MiB, maps: 16, reduces: 2}]")))
	twin := must(workload.Of(e.Workloads[0]).Twin(t.Context(), e.Cache))
	h, disk := must2(workload.Cluster(config.DefaultCluster()))
	events := must(twin.Events(&h.Cluster, disk, e.Seed))
	trace := must(recorded.New(twin.Workload, h, slices.Values(events)))
	costs := calibration.Uncalibrated(h.Cluster, twin.Costs)
	return func(seed uint64) *sim.Result {
		r, _ := must2(replay.Run(&replay.Config{
			Trace: trace, Model: e.Models[0], Seed: seed, Calibration: costs, Modelled: true, Repeats: true, Work: twin.Work(), After: twin.After(),
		}))
		return r
	}
}

// YARN against YARN is told apart by chance only: in about one of twenty experiments of
// six repeats, if both have random numbers of their own, and never if they have the
// same ones.
func TestControl(t *testing.T) {
	t.Parallel()
	const experiments, repeats = 200, 6
	run := control(t)
	seen := map[string]bool{}
	paired, unpaired := 0, 0
	for i := range uint64(experiments) {
		var as, bs []float64
		for r := range uint64(repeats) {
			a, b := run(1+2*(i*repeats+r)), run(2+2*(i*repeats+r))
			as, bs = append(as, float64(a.MakespanMs)), append(bs, float64(b.MakespanMs))
			seen[a.Digest.String()], seen[b.Digest.String()] = true, true
		}
		if stats.PairedRatio(as, bs).P < 1-stats.Level {
			paired++
		}
		if stats.Ratio(as, bs).P < 1-stats.Level {
			unpaired++
		}
	}
	if n := 2 * experiments * repeats; len(seen) != n {
		t.Errorf("%d repeats have %d schedules", n, len(seen))
	}
	// Of 200 experiments with a probability of 5 %, more than 16 come out in one of 40
	// such tests.
	t.Logf("told apart in %d of %d experiments by pairs, in %d without pairs", paired, experiments, unpaired)
	if most := 16; paired > most || unpaired > most {
		t.Errorf("YARN is told from YARN in %d of %d experiments by pairs, and in %d without pairs; want at most %d", paired, experiments,
			unpaired, most)
	}
	if a, b := run(7), run(7); a.Digest != b.Digest || a.MakespanMs != b.MakespanMs {
		t.Errorf("the same seed gives schedule %s of %d ms and %s of %d ms", a.Digest, a.MakespanMs, b.Digest, b.MakespanMs)
	}
}
