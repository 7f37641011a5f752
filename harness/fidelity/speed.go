package fidelity

import (
	"cmp"
	"math"
	"slices"
	"sort"

	"heddle/harness/replay/calibration"
)

// sameBytes is by which part the inputs of two maps may differ that do the same work.
const sameBytes = 0.1

// mostSpeed is the highest speed that is believed, and its inverse the lowest. Counters of
// other speeds are wrong.
const mostSpeed = 100

// known has, by workload, the maps whose CPU time is known, the smallest input first.
type known map[string][]mapCPU

type mapCPU struct {
	bytes int64
	sumMs float64 // CPU time of this map and of those before it, see calibration.MapCPU
}

func knownOf(c *calibration.Calibration, trials []measured) known {
	k := known{}
	for i := range trials {
		c.MapCPU(trials[i].Trace, func(workload string, bytes int64, cpuMs float64) {
			k[workload] = append(k[workload], mapCPU{bytes, cpuMs})
		})
	}
	for _, list := range k {
		slices.SortStableFunc(list, func(a, b mapCPU) int { return cmp.Compare(a.bytes, b.bytes) })
		for i := 1; i < len(list); i++ {
			list[i].sumMs += list[i-1].sumMs
		}
	}
	return k
}

// meanMs returns the mean CPU time of the maps of a workload that read about as many
// bytes; NaN if there are none.
func (k known) meanMs(workload string, bytes int64) float64 {
	list := k[workload]
	upTo := func(bytes float64) int { // how many maps read at most so much
		return sort.Search(len(list), func(i int) bool { return float64(list[i].bytes) > bytes })
	}
	from, to := upTo(float64(bytes)/(1+sameBytes)), upTo(float64(bytes)*(1+sameBytes))
	if from == to {
		return math.NaN()
	}
	sum := list[to-1].sumMs
	if from > 0 {
		sum -= list[from-1].sumMs
	}
	return sum / float64(to-from)
}

// speed returns how fast the processors of a trial did the same work as those of the
// known maps, whose speed is 1: the CPU time of maps of the same workload with about the
// same input there, divided by the CPU time here. It is NaN if fewer than half of the
// trial's maps can be compared, or if it is no speed of processors.
//
// A processor that is shared with other virtual machines, or with the other thread of
// its core, takes more CPU time for the same work. What tasks that share a core add for each
// other is left out, since replays have it.
func (k known) speed(c *calibration.Calibration, x *measured) float64 {
	maps, compared := 0, 0
	var there, here float64
	c.MapCPU(x.Trace, func(workload string, bytes int64, cpuMs float64) {
		maps++
		if ms := k.meanMs(workload, bytes); ms > 0 {
			there, here = there+ms, here+cpuMs
			compared++
		}
	})
	if compared == 0 || 2*compared < maps {
		return math.NaN()
	}
	if speed := there / here; speed >= 1.0/mostSpeed && speed <= mostSpeed {
		return speed
	}
	return math.NaN()
}
