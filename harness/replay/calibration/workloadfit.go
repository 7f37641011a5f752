package calibration

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"

	"heddle/harness/replay/recorded"
	"heddle/harness/stats"
	"heddle/traces"
)

// fitWorkloads fits the computing times of maps and reduces for each workload (kind
// of job).
func (c *Calibration) fitWorkloads(list []*recorded.Trace) {
	byName := map[string][]sample{}
	jobs := map[string][]*recorded.Job{}
	for _, t := range workloadCost.measured(list) {
		for _, s := range computed(t, c.shared(), c.TaskStart.Value, c.readMs(t)) {
			byName[s.workload] = append(byName[s.workload], s)
		}
		for _, j := range t.Jobs {
			jobs[j.Kind()] = append(jobs[j.Kind()], j)
		}
	}
	for _, name := range sortedKeys(jobs) {
		w := Workload{Workload: name, Jobs: len(jobs[name])}
		w.MapOutputPerByte, w.ReduceOutputPerByte = outputs(jobs[name])
		w.Map, w.Reduce = fitPhase(byName[name], traces.Map), fitPhase(byName[name], traces.Reduce)
		if w.Map.Samples == 0 {
			c.Warnings = append(c.Warnings, fmt.Sprintf("no map of workload %q has a duration: its maps take no time in replays", name))
		}
		c.Workloads = append(c.Workloads, w)
	}
}

// outputs returns two ratios for a workload: how many bytes reduces fetch for each
// byte that maps read, and how many bytes reduces write for each byte that they
// fetch. For jobs without reduces, the first is how many bytes maps write for each
// byte that they read.
func outputs(jobs []*recorded.Job) (mapOut, reduceOut float64) {
	var in, fetched, written int64
	for _, j := range jobs {
		for k := range j.Tasks {
			for i := range j.Tasks[k] {
				t := &j.Tasks[k][i]
				if k == 0 {
					in += t.Input()
				}
				if t.Won != nil {
					written += t.Won.WrittenBytes
				}
			}
		}
		fetched += j.Shuffled()
	}
	ratio := func(a, b int64) float64 {
		if b == 0 {
			return 0
		}
		return float64(a) / float64(b)
	}
	if fetched == 0 {
		return ratio(written, in), 0
	}
	return ratio(fetched, in), ratio(written, fetched)
}

// fitPhase fits a line through the computing times of attempts by the bytes that they
// read: a fixed time plus a time for each byte. If all read about the same number of
// bytes, the line cannot be found: maps and large reduces then get only a time for each
// byte, and other reduces only a fixed time.
func fitPhase(list []sample, kind traces.TaskKind) Phase {
	list = slices.DeleteFunc(slices.Clone(list), func(s sample) bool { return s.kind != kind })
	p := Phase{Samples: len(list), Corrected: 1}
	if len(list) == 0 {
		return p
	}
	var ms, mib []float64
	var points []stats.Point
	took, alone := 0.0, 0.0
	for _, s := range list {
		ms, mib = append(ms, s.ms), append(mib, float64(s.bytes)/(1<<20))
		points = append(points, stats.Point{X: float64(s.bytes) / (1 << 20), Y: s.ms})
		took, alone = took+s.tookMs, alone+s.ms
	}
	p.SharedPct = 100 * (took/alone - 1)
	mean, meanMiB := stats.Mean(ms).Value, stats.Mean(mib).Value
	switch {
	case len(list) >= 8 && stats.Spread(mib) > 0.2:
		p.MsPerMiB = max(0, stats.LineOf(points).Slope.Value)
		p.FixedMs = mean - p.MsPerMiB*meanMiB
		if p.FixedMs < 0 {
			p.FixedMs, p.MsPerMiB = 0, mean/meanMiB
		}
	case kind == traces.Map && meanMiB*(1<<20) >= smallBytes, meanMiB >= largeReduceMiB:
		p.MsPerMiB, p.SpreadMiB = mean/meanMiB, meanMiB
	default:
		p.FixedMs = mean
	}
	var ratios []float64
	byLevel := map[traces.Level][]float64{}
	for _, s := range list {
		if kind == traces.Map && s.bytes < smallBytes && p.at(s.bytes) < 1 {
			continue // skip the map of an empty file: it only starts its JVM and computes nothing
		}
		r := s.ms / max(1e-9, p.at(s.bytes))
		ratios = append(ratios, r)
		byLevel[s.level] = append(byLevel[s.level], r)
		p.ErrorPct += 100 * math.Abs(r-1) / float64(len(list))
	}
	p.Spread = evenQuantiles(ratios)
	if near := median(byLevel[traces.LevelNode]); kind == traces.Map && near > 0 {
		p.Levels = map[string]Figure{}
		for _, l := range levelNames {
			if xs := byLevel[l]; len(xs) > 0 {
				f := figure(xs)
				p.Levels[l.String()] = Figure{Value: median(xs) / near, Samples: len(xs), Error: f.Error / near}
			}
		}
	}
	return p
}

// smallBytes is how much a map must read, at least, for its duration to count as
// depending on bytes.
const smallBytes = 64 << 10

// largeReduceMiB is from which size on what a reduce does after the last map is taken for
// work on bytes. Small reduces of WordCount take 0.21 s of CPU time if they fetch 33 kB,
// and 0.27 s for 133 kB. A fit to those of 6 and 19 MiB of a synthetic job has 0.7 s and
// 35 ms a MiB.
const largeReduceMiB = 16

// evenQuantiles returns evenly spaced quantiles of the numbers xs. They are scaled so
// that numbers drawn at random between them have a mean of 1.
func evenQuantiles(xs []float64) []float64 {
	if len(xs) < 3 {
		return nil
	}
	q := make([]float64, spreadPoints)
	for i := range q {
		q[i] = stats.Quantile(xs, float64(i)/(spreadPoints-1))
	}
	overMean(q)
	return q
}

// overMean scales evenly spaced quantiles so that numbers drawn at random between
// them have a mean of 1.
func overMean(q []float64) {
	mean := 0.0
	for i := 1; i < len(q); i++ {
		mean += (q[i-1] + q[i]) / 2 / float64(len(q)-1)
	}
	for i := range q {
		q[i] /= mean
	}
}

// readMs returns a function that computes, in ms, how long one map alone waits for
// its input on the disks and links with known rates.
func (c *Calibration) readMs(t *recorded.Trace) func(traces.Node, traces.Level, int64) float64 {
	told := t.Rates()
	racks := map[traces.Node]string{}
	for _, n := range t.Nodes {
		racks[n.Node] = n.Rack
	}
	return func(n traces.Node, l traces.Level, bytes int64) float64 {
		rate := math.Inf(1)
		limit := func(r int64) {
			if r > 0 {
				rate = min(rate, float64(r))
			}
		}
		if l != traces.LevelCache {
			limit(cmp.Or(told.Disk[n], c.DiskBytesPerSec))
		}
		if l == traces.LevelRack || l == traces.LevelOff {
			limit(cmp.Or(told.Link[n], c.LinkBytesPerSec))
		}
		if l == traces.LevelOff {
			limit(cmp.Or(told.Uplink[racks[n]], c.UplinkBytesPerSec))
		}
		return 1000 * float64(bytes) / rate
	}
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
