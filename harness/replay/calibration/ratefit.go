package calibration

import (
	"fmt"
	"math"

	"heddle/harness/replay/recorded"
	"heddle/harness/stats"
	"heddle/traces"
)

// Rates of disks and links that neither the traces nor the user give are fitted to
// the times of maps. Maps that read from their node's disk, compared with maps that
// read a cached copy, give the disk's rate. Maps that read from their rack, compared
// with those that read on their node, give the link's rate; maps that read from
// another rack give the uplink's. A rate is accepted if the difference is larger
// than twice its standard error. Replays then correct the rate, because they know
// which tasks share the disk or link.

// minLevelSamples is how many maps a locality level must have, at least, to be
// compared with other levels.
const minLevelSamples = 5

// leastRate is the lowest rate of a disk or link, in bytes/s, that a fit accepts. It
// is far below what any machine that runs Hadoop has.
const leastRate = 100_000

// perMiB says how many ms longer, for each MiB of input, the maps at one locality
// level take than maps of the same workload at the nearest level: mean, standard
// error, and number of maps.
type perMiB struct {
	mean, stderr float64
	samples      int
}

// levelCosts returns, by locality level, how many ms longer maps take for each MiB
// than maps of the same workload at the nearest level.
func levelCosts(list []*recorded.Trace) [traces.LevelOff + 1]perMiB {
	byName := map[string][]sample{}
	count := [traces.LevelOff + 1]int{}
	for _, t := range list {
		for _, s := range samples(t) {
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

// rateFit is an unknown rate of a disk or link that is to be fitted. It compares maps
// at two locality levels: those at the level in the field with use the disk or link,
// those at the level in the field less do not.
type rateFit struct {
	name       string
	rate       *int64
	with, less traces.Level
	fitted     bool
}

// rateFits returns the rates of disks and links that must be fitted, because neither
// the user nor a trace gives them.
func (c *Calibration) rateFits(list []*recorded.Trace, given *recorded.Change) []*rateFit {
	told := map[string]bool{"disk": given.Disk.Given, "link": given.Link.Given, "uplink": given.Uplink.Given}
	for _, t := range list {
		r := t.Rates()
		told["disk"] = told["disk"] || len(r.Disk) > 0
		told["link"] = told["link"] || len(r.Link) > 0
		told["uplink"] = told["uplink"] || len(r.Uplink) > 0
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

// fitRates fits the unknown rates of disks and links to how much longer maps take
// when their input is farther away.
func (c *Calibration) fitRates(list []*recorded.Trace, given *recorded.Change) []*rateFit {
	costs := levelCosts(rateCost.measured(list))
	fits := c.rateFits(list, given)
	for _, f := range fits {
		d, stderr, ok := f.difference(costs)
		if !ok || d <= 2*stderr {
			continue
		}
		if rate := int64(1000 * (1 << 20) / d); rate < leastRate {
			c.Warnings = append(c.Warnings, fmt.Sprintf("%s: a rate of %d bytes/s, from a difference of %.0f +- %.0f ms for each MiB on %d "+
				"samples, is rejected as too slow for anything that runs Hadoop; the replay has no limit there",
				f.name, rate, d, stderr, costs[f.with].samples))
		} else {
			*f.rate = rate
			f.fitted = true
			c.FittedRates = append(c.FittedRates, f.name)
		}
	}
	return fits
}

// difference returns how many ms longer the reading of one MiB takes if it passes
// this disk or link, with the standard error of this number.
func (f *rateFit) difference(costs [traces.LevelOff + 1]perMiB) (ms, stderr float64, ok bool) {
	a, b := costs[f.with], costs[f.less]
	return a.mean - b.mean, math.Hypot(a.stderr, b.stderr), a.samples > 0 && b.samples > 0
}

// correctRates changes the fitted rates of disks and links so that simulated maps
// differ in time between locality levels as the recorded maps do.
func correctRates(fits []*rateFit, measured, simulated [traces.LevelOff + 1]perMiB) {
	for _, f := range fits {
		was, _, ok1 := f.difference(measured)
		is, _, ok2 := f.difference(simulated)
		if f.fitted && ok1 && ok2 && was > 0 {
			*f.rate = max(leastRate, int64(float64(*f.rate)*min(max(is/was, 0.5), 2)))
		}
	}
}
