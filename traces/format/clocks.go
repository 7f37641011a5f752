package format

import (
	"math"

	"heddle/traces/mend"
)

// Defects that clocks of hosts that are apart leave in the times of a job.
var (
	EndFirst      mend.Kind = "an attempt that ends before it starts: taken as ending at its start"
	NoStart       mend.Kind = "an attempt that succeeded and has no start: taken as starting with its task"
	JobEndFirst   mend.Kind = "a job that succeeds before an attempt of its own: kept"
	PhasesOutside mend.Kind = "an attempt whose phases are not within it, as its host's clock is apart: " +
		"phases of that host moved to the middle of where they can be"
)

// Clocks finds, for the hosts of a job, how far their clocks are from the one by which attempts
// start and end. A host's own clock says when phases of attempts ended. In Hadoop's histories the
// other is the clock of the ApplicationMaster's host.
type Clocks map[string]*clock

// clock has the least and the most, in ms, that is to be added to times of a host.
type clock struct{ least, most int64 }

// nearMs is by how much, in ms, a phase may be outside of its attempt and still needs no mention.
const nearMs = 1000

// See takes an attempt from start to end in which phases ended. Times that are not above 0 are not
// known.
func (c Clocks) See(host string, start, end int64, phases ...int64) {
	x := c[host]
	if x == nil {
		x = &clock{math.MinInt64, math.MaxInt64}
		c[host] = x
	}
	for _, at := range phases {
		if at > 0 && start > 0 && end >= start {
			x.least, x.most = max(x.least, start-at), min(x.most, end-at)
		}
	}
}

// Fit moves the phases of an attempt of a host to the middle of where all attempts of the host
// allow them, and in any case between start and end. It reports whether they were far off.
func (c Clocks) Fit(host string, start, end int64, phases ...*int64) (far bool) {
	if start <= 0 || end < start {
		return false
	}
	by := int64(0)
	if x := c[host]; x != nil && x.least <= x.most && (x.least > 0 || x.most < 0) {
		by = x.least + (x.most-x.least)/2
	}
	least := start
	for _, at := range phases {
		if *at > 0 {
			was := *at
			far = far || was < start-nearMs || was > end+nearMs
			*at = min(max(was+by, least), end)
			least = *at
		}
	}
	return far
}
