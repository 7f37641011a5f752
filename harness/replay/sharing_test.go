package replay

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"heddle/harness/replay/recorded"
	"heddle/traces"
)

// endsOn returns when maps end that start at these times and need so much computing, in
// seconds, if they share a number of cores and none uses more than one of them.
func endsOn(cores float64, starts, work []float64) []float64 {
	left, ends := slices.Clone(work), make([]float64, len(work))
	const step = 0.001
	for now, done := 0.0, 0; done < len(work); now += step {
		running := 0.0
		for i := range left {
			if left[i] > 0 && starts[i] <= now {
				running++
			}
		}
		for i := range left {
			if left[i] > 0 && starts[i] <= now {
				if left[i] -= step * min(1, cores/running); left[i] <= 0 {
					ends[i] = now + step
					done++
				}
			}
		}
	}
	return ends
}

// runsOn returns the traces of runs whose maps share a number of cores, on two nodes
// that are said to share two. The maps start at times of their own, so that some have
// more of the cores than others.
func runsOn(t *testing.T, cores, spread float64, runs int) (list []*recorded.Trace) {
	rng := rand.New(rand.NewPCG(7, 0))
	for range runs {
		starts, work := make([]float64, 12), make([]float64, 12)
		for i := range work {
			starts[i] = 2 * rng.Float64() * float64(i/4)
			work[i] = 4 * math.Exp(spread*rng.NormFloat64())
		}
		var maps []ran
		for i, end := range endsOn(cores, starts, work) {
			maps = append(maps, ran{1, 10, []traces.Node{"a", "b"}[i%2], 11 + starts[i], 11 + end, false})
		}
		x := traceOf(t, traces.Header{Origin: traces.Recovered, Model: "yarn", Cluster: traces.ClusterFacts{HostCores: 2}}, maps)
		list = append(list, x)
	}
	return list
}

// TestSharing has attempts share what is known that they share, and something else only
// if runs tell it.
func TestSharing(t *testing.T) {
	for _, c := range []struct {
		name          string
		cores, spread float64
		runs          int
		guessed       bool
	}{
		{"two cores, as known", 2, 0.1, 5, false},
		{"two cores, and times that differ much", 2, 0.3, 5, false},
		{"a core for each, five runs", 12, 0.1, 5, true},
		{"a core for each, one run tells nothing", 12, 0.1, 1, false},
	} {
		fitted := must(Calibrate(runsOn(t, c.cores, c.spread, c.runs), recorded.Change{}, ""))
		if fitted.SharingGuessed != c.guessed || fitted.HostCores != map[bool]float64{false: 2}[c.guessed] {
			t.Errorf("%s: guessed: %v, %v cores of the machine, %v of a node's; spread of the times %v", c.name, fitted.SharingGuessed,
				fitted.HostCores, fitted.Sharing, fitted.SharingSpread)
		}
		if c.guessed && fitted.Sharing != 0 {
			t.Errorf("%s: attempts share %v of a node's cores", c.name, fitted.Sharing)
		}
	}
}

// TestOthers has other programs take cores from tasks: with one of two gone, tasks that
// share both take twice as long.
func TestOthers(t *testing.T) {
	x := runsOn(t, 2, 0.1, 3)
	costs := must(Calibrate(x, recorded.Change{}, ""))
	costs.TaskStart.Value = 0
	span := func(others float64) float64 {
		r := must(simulate(&Config{
			Trace: x[0], Model: x[0].OwnModel(), Seed: 1, Calibration: costs, Modelled: true,
			Change: recorded.Change{Others: others},
		}))
		if got := r.Header.Cluster.OthersCores; got != others {
			t.Errorf("others use %v cores in the simulated trace, want %v", got, others)
		}
		return float64(r.Jobs[0].LastMap() - r.Jobs[0].Started)
	}
	if ratio := span(1) / span(0); ratio < 1.8 || ratio > 2.2 {
		t.Errorf("with half of the cores gone, maps take %.2f times as long", ratio)
	}
}

// TestOthersRefused refuses cores of other programs where they would change nothing, or
// are no number of cores.
func TestOthersRefused(t *testing.T) {
	x := runsOn(t, 2, 0.1, 3)
	costs := must(Calibrate(x, recorded.Change{}, ""))
	alone := *costs
	alone.HostCores, alone.Sharing = 0, 1
	for _, c := range []struct {
		name   string
		config Config
		ok     bool
	}{
		{"of a machine that all share", Config{Calibration: costs, Modelled: true, Change: recorded.Change{Others: 1}}, true},
		{"more than there are", Config{Calibration: costs, Modelled: true, Change: recorded.Change{Others: 5}}, true},
		{
			"of a machine that is only told here",
			Config{Calibration: &alone, Modelled: true, Change: recorded.Change{Others: 1, HostCores: 2}},
			true,
		},
		{"of nodes of their own", Config{Calibration: &alone, Modelled: true, Change: recorded.Change{Others: 1}}, false},
		{
			"of nodes whose cores are told",
			Config{Calibration: costs, Modelled: true, Change: recorded.Change{Others: 1, Cores: []float64{2}}},
			false,
		},
		{"with recorded durations", Config{Calibration: costs, Change: recorded.Change{Others: 1}}, false},
		{"less than none", Config{Calibration: costs, Modelled: true, Change: recorded.Change{Others: -1}}, false},
		{"no number", Config{Calibration: costs, Modelled: true, Change: recorded.Change{Others: math.NaN()}}, false},
	} {
		c.config.Trace, c.config.Model, c.config.Seed = x[0], x[0].OwnModel(), 1
		if _, err := simulate(&c.config); (err == nil) != c.ok {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}
