package replay

import (
	"math"

	"heddle/harness/replay/calibration"
	"heddle/harness/sim"
	"heddle/harness/sim/draw"
	"heddle/traces"
)

// Repeats of a measured trial differ although nothing was changed between them. What
// of this Config.Repeats simulates is here; README.md says how much that is.

// typicalStartSpread is the largest deviation of the start of an ApplicationMaster and
// of the end of a job, as a part of their means, if no calibration says how much times
// differ between jobs.
const typicalStartSpread = 0.20

// vary sets those times of a job that differ between repeats. The random numbers depend
// on the seed and the job alone, so that all scheduler models of a repeat get the same.
func (c *Config) vary(j *sim.Job) {
	key := draw.Stream(c.Seed, "job start and end").At(traces.HashName(string(j.ID)))
	costs, f := c.costs(c.header().Actuator), c.Calibration
	j.AMStartMs = within(costs.AMStartMs, f.AMStart, key.At(0))
	j.FinishMs = within(costs.FinishMs, f.Finish, key.At(1))
	if _, given := c.Work[j.ID]; given { // the calibration says nothing of these tasks
		spread := calibration.TypicalRatios()
		j.Spread = [2][]sim.Ratio{spread, spread}
	}
}

// within draws a time near its mean. All times are equally likely whose distance from
// the mean is at most twice the measured mean distance, f.Error.
func within(ms int32, f calibration.Figure, key draw.Key) int32 {
	most := typicalStartSpread * float64(ms)
	if f.Samples > 0 {
		most = min(2*f.Error, f.Value)
	}
	width := int(min(max(0, math.Round(most)), math.MaxInt32/4))
	return max(1, ms-int32(width)+int32(key.Below(2*width+1)))
}
