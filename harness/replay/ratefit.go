package replay

import (
	"fmt"
	"math"

	"heddle/harness/stats"
	"heddle/traces"
)

// Rates that neither the traces nor the user tell are fitted to what maps take
// at each level: a map with its input on its node's disk against one with a
// cached copy gives the disk's rate, one in the rack against that the link's,
// one elsewhere the uplink's. A rate is taken where the difference is larger than
// twice its standard error, and corrected by replays, which know who shares it.

// minLevelSamples is how many maps a level takes to be looked at.
const minLevelSamples = 5

// leastRate, in bytes/s, is of the slowest disk or link that is believed: a tenth
// of what Hadoop's first clusters had for each of ten tasks.
const leastRate = 100_000

// perMiB is by how many ms for each MiB maps at a level take longer than those of
// the same workload at the nearest.
type perMiB struct {
	mean, stderr float64
	samples      int
}

// levelCosts are those of all traces, by level.
func levelCosts(list []*Trace) [traces.LevelOff + 1]perMiB {
	byName := map[string][]sample{}
	count := [traces.LevelOff + 1]int{}
	for _, t := range list {
		for _, s := range t.samples() {
			if s.kind == traces.Map && s.bytes >= smallBytes && s.level.Valid() {
				byName[s.workload] = append(byName[s.workload], s)
				count[s.level]++
			}
		}
	}
	near := traces.LevelCache
	if count[near] < minLevelSamples {
		near = traces.LevelNode
	}
	var costs [traces.LevelOff + 1]perMiB
	var diffs [traces.LevelOff + 1][]float64
	for _, name := range sortedKeys(byName) {
		sum, n := 0.0, 0.0
		for _, s := range byName[name] {
			if s.level == near {
				sum, n = sum+s.tookMs, n+1
			}
		}
		if n == 0 {
			continue
		}
		for _, s := range byName[name] {
			diffs[s.level] = append(diffs[s.level], (s.tookMs-sum/n)/(float64(s.bytes)/(1<<20)))
		}
	}
	for l, xs := range diffs {
		if len(xs) < minLevelSamples {
			continue
		}
		m, squares := stats.Mean(xs).Value, 0.0
		for _, x := range xs {
			squares += (x - m) * (x - m)
		}
		n := float64(len(xs))
		costs[l] = perMiB{m, math.Sqrt(squares / (n - 1) / n), len(xs)}
	}
	return costs
}

// rateFit is a rate, the level that shows it, and the one without it.
type rateFit struct {
	name       string
	rate       *int64
	with, less traces.Level
	fitted     bool
}

// rateFits are those that may be fitted: not told by the user or by any trace.
func (c *Calibration) rateFits(list []*Trace, given *Change) []*rateFit {
	told := map[string]bool{"disk": given.Disk.Given, "link": given.Link.Given, "uplink": given.Uplink.Given}
	for _, t := range list {
		r := ratesOf(t)
		told["disk"] = told["disk"] || len(r.disk) > 0
		told["link"] = told["link"] || len(r.link) > 0
		told["uplink"] = told["uplink"] || len(r.uplink) > 0
	}
	var fits []*rateFit
	for _, f := range []*rateFit{
		{name: "disk", rate: &c.DiskBytesPerSec, with: traces.LevelNode, less: traces.LevelCache},
		{name: "link", rate: &c.LinkBytesPerSec, with: traces.LevelRack, less: traces.LevelNode},
		{name: "uplink", rate: &c.UplinkBytesPerSec, with: traces.LevelOff, less: traces.LevelNode},
	} {
		if !told[f.name] {
			fits = append(fits, f)
		}
	}
	return fits
}

// fitRates fits rates to differences between levels.
func (c *Calibration) fitRates(list []*Trace, given *Change) []*rateFit {
	costs := levelCosts(rateCost.tellers(list))
	fits := c.rateFits(list, given)
	for _, f := range fits {
		d, stderr, ok := f.difference(costs)
		if !ok || d <= 2*stderr {
			continue
		}
		if rate := int64(1000 * (1 << 20) / d); rate < leastRate {
			c.Warnings = append(c.Warnings, fmt.Sprintf("%s: a rate of %d bytes/s, from a difference of %.0f +- %.0f ms for each MiB on %d samples, is not taken: nothing that runs Hadoop is as slow; there is no limit",
				f.name, rate, d, stderr, costs[f.with].samples))
		} else {
			*f.rate = rate
			f.fitted = true
			c.FittedRates = append(c.FittedRates, f.name)
		}
	}
	return fits
}

// difference is what the rate takes for each MiB, with its standard error.
func (f *rateFit) difference(costs [traces.LevelOff + 1]perMiB) (ms, stderr float64, ok bool) {
	a, b := costs[f.with], costs[f.less]
	return a.mean - b.mean, math.Hypot(a.stderr, b.stderr), a.samples > 0 && b.samples > 0
}

// correctRates scales fitted rates until replays show the same differences.
func correctRates(fits []*rateFit, measured, simulated [traces.LevelOff + 1]perMiB) {
	for _, f := range fits {
		was, _, ok1 := f.difference(measured)
		is, _, ok2 := f.difference(simulated)
		if f.fitted && ok1 && ok2 && was > 0 {
			*f.rate = max(leastRate, int64(float64(*f.rate)*min(max(is/was, 0.5), 2)))
		}
	}
}
