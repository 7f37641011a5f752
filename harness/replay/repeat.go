package replay

import (
	"math"

	"heddle/harness/sim"
	"heddle/harness/sim/draw"
	"heddle/traces"
)

// Repeats of a measured trial differ although nothing was changed between them. What
// of this Config.Repeats simulates is here; README.md says how much that is.

// Assumed if no calibration says how much times differ between attempts and jobs: the
// standard deviation of a task's computing time, and the largest deviation of the
// start of an ApplicationMaster and of the end of a job, as parts of their means. With
// these, simulated repeats of fidelity.yaml differ about as much as measured ones do.
const (
	typicalTaskSpread  = 0.25
	typicalStartSpread = 0.20
)

// typicalSpread has the quantiles of a normal distribution around 1, cut off at two
// standard deviations, in the form of Phase.Spread.
func typicalSpread() []float64 {
	upper := []float64{0.126, 0.253, 0.385, 0.524, 0.674, 0.842, 1.036, 1.282, 1.645, 2} // in standard deviations, at 55, 60 … 100 %
	list := make([]float64, 2*len(upper)+1)
	list[len(upper)] = 1
	for i, z := range upper {
		list[len(upper)+1+i], list[len(upper)-1-i] = 1+z*typicalTaskSpread, 1-z*typicalTaskSpread
	}
	return list
}

// vary sets those times of a job that differ between repeats. The random numbers depend
// on the seed and the job alone, so that all scheduler models of a repeat get the same.
func (m *jobMaker) vary(j *sim.Job) {
	key := draw.Stream(m.Seed, "job start and end").At(traces.HashName(string(j.ID)))
	c, f := m.costs(m.header().Actuator), m.Calibration
	j.AMStartMs = within(c.AMStartMs, f.AMStart, key.At(0))
	j.FinishMs = within(c.FinishMs, f.Finish, key.At(1))
	if _, given := m.Work[j.ID]; given { // the calibration says nothing of these tasks
		spread := ratios(typicalSpread())
		j.Spread = [2][]sim.Ratio{spread, spread}
	}
}

// within draws a time near its mean. All times are equally likely whose distance from
// the mean is at most twice the measured mean distance, f.Error.
func within(ms int32, f Figure, key draw.Key) int32 {
	most := typicalStartSpread * float64(ms)
	if f.Samples > 0 {
		most = min(2*f.Error, f.Value)
	}
	width := int(min(max(0, math.Round(most)), math.MaxInt32/4))
	return max(1, ms-int32(width)+int32(key.Below(2*width+1)))
}
