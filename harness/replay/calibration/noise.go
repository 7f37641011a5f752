package calibration

import (
	"fmt"
	"math"

	"heddle/harness/replay/recorded"
	"heddle/harness/stats"
	"heddle/traces/printable"
)

// Noise says how much measured runs differ from replays of them, and how much replays
// with different seeds differ among themselves. Both are standard deviations of the
// logarithm of the mean completion time of jobs.
type Noise struct {
	Runs      int     `json:"runs"` // measured runs
	Measured  float64 `json:"measured"`
	Simulated float64 `json:"simulated"`
	// OffPct is by how many percent the replays took longer than the runs, in the mean; nil if the
	// file is of a heddle that did not keep it.
	OffPct *float64 `json:"offPct,omitempty"`
}

// drift is the standard deviation of the logarithm of the processors' speed, between runs
// at different times. Runs of one time cannot tell it. Seven runs on labs of one virtual
// machine had it in one afternoon, by the CPU time of maps that do the same work; see
// MEASUREMENTS.md.
const drift = 0.07

// mostNoise is the largest deviation that a calibration file may have. With it, runs
// differ by a factor of 20,000.
const mostNoise = 10

// noiseOf compares traces with their replays. The result is nil if no job has an end.
func noiseOf(list []replayed) *Noise {
	var measured []float64
	squares, freedom := 0.0, 0
	for len(list) > 0 {
		was := list[0].was
		var logs []float64
		for len(list) > 0 && list[0].was == was {
			if ms := completionMs(list[0].simulated); ms > 0 {
				logs = append(logs, math.Log(ms))
			}
			list = list[1:]
		}
		ms := completionMs(was)
		if len(logs) == 0 || !(ms > 0) {
			continue
		}
		mean := stats.Mean(logs).Value
		measured = append(measured, math.Log(ms)-mean)
		for _, x := range logs {
			squares += (x - mean) * (x - mean)
		}
		freedom += len(logs) - 1
	}
	if len(measured) == 0 {
		return nil
	}
	off := 100 * (math.Exp(-stats.Mean(measured).Value) - 1)
	n := &Noise{Runs: len(measured), OffPct: &off}
	if len(measured) > 1 {
		n.Measured = stats.Deviation(measured)
	}
	if freedom > 0 {
		n.Simulated = math.Sqrt(squares / float64(freedom))
	}
	return n
}

// completionMs returns the mean time from submission to end of the jobs that ended, in ms;
// 0 if none did.
func completionMs(t *recorded.Trace) float64 {
	sum, n := 0.0, 0
	for _, j := range t.Jobs {
		if j.Finished > j.T {
			sum += float64(j.Finished-j.T) / 1e6
			n++
		}
	}
	return sum / float64(max(1, n))
}

// mostOffPct is how far, in percent, replays of the runs fitted to may be off without a warning.
const mostOffPct = 20

// Basis says what times of simulations with the calibration rest on, and whether that is a reason
// to distrust them.
func (c *Calibration) Basis() (text string, doubtful bool) {
	switch n := c.Noise; {
	case len(c.Traces) == 0:
		return "tasks take times that are usual on heddle's lab, not on your cluster: compare models with each other, not with a clock; " +
			"--calibration RUN takes the times of a run of yours", true
	case n == nil || n.OffPct == nil:
		return fmt.Sprintf("task times are those of %s", printable.Count(len(c.Traces), "trace")), false
	default:
		return fmt.Sprintf("task times are those of %s, whose replays are %+.1f %% off in mean completion",
			printable.Count(n.Runs, "run"), *n.OffPct), math.Abs(*n.OffPct) > mostOffPct
	}
}

// NewRun says how long the jobs of a new run take in the mean, and in which interval that
// is in 95 of 100 runs. Other programs may rely on its JSON keys.
type NewRun struct {
	MeanMs float64    `json:"meanMs"`
	CI95Ms [2]float64 `json:"ci95Ms"`
}

// Interval returns the interval that has the time of a new measured run with a
// probability of 95 %. The argument simulated has times of simulated runs, which differ
// in their seeds. ok is false if the calibration was not fitted to two runs at least,
// since one does not tell how much runs differ.
//
// The logarithm of the time is taken to be normal. Its variance is that of the simulated
// runs, and what the measured runs differed more than simulated ones, and the error of
// the fit's mean, and that of drift, since a new run is at another time. Student's
// distribution has the degrees of freedom of that sum. The
// interval supposes that the model is right: it knows how far off the model is for runs
// like those that it was fitted to, and for no others.
func (n *Noise) Interval(simulated []float64) (mean, lo, hi float64, ok bool) {
	var logs []float64
	for _, x := range simulated {
		logs = append(logs, math.Log(x))
	}
	mean = math.Exp(stats.Mean(logs).Value)
	if n == nil || n.Runs < 2 {
		return mean, 0, 0, false
	}
	measured := n.Measured * n.Measured
	own := n.Simulated * n.Simulated
	if len(logs) > 1 {
		own = math.Pow(stats.Deviation(logs), 2)
	}
	more := max(0, measured-n.Simulated*n.Simulated) + measured/float64(n.Runs)
	if own+more == 0 { // of runs in virtual time, which has no drift
		return mean, mean, mean, true
	}
	all := own + more + drift*drift
	// by Welch and Satterthwaite; drift has no end of them
	freedom := all * all / (own*own/float64(max(1, len(logs)-1)) + more*more/float64(n.Runs-1))
	width := stats.Margin(math.Sqrt(all), freedom)
	return mean, mean * math.Exp(-width), mean * math.Exp(width), true
}
