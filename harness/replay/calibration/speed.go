package calibration

import (
	"math"
	"slices"

	"heddle/harness/replay/recorded"
)

// MapCost is the CPU time of maps of a workload that read the same number of bytes.
type MapCost struct {
	Bytes int64   `json:"bytes"`
	Maps  int     `json:"maps"`
	CPUMs float64 `json:"cpuMs"` // mean, without what tasks that share a core add for each other
}

// mostMapCosts is how many numbers of bytes are kept for a workload.
const mostMapCosts = 1000

// sameBytes is by which part the inputs of two maps may differ that do the same work.
const sameBytes = 0.1

// mostSpeed is the highest speed that is believed, and its inverse the lowest. Counters of
// other speeds are wrong.
const mostSpeed = 100

// keepCPU keeps the CPU time of the traces' maps.
func (c *Calibration) keepCPU(list []*recorded.Trace) {
	c.CPU = map[string][]MapCost{}
	for _, t := range list {
		c.mapCPU(t, func(workload string, bytes int64, cpuMs float64) {
			costs := c.CPU[workload]
			i := slices.IndexFunc(costs, func(x MapCost) bool { return x.Bytes == bytes })
			if i < 0 {
				if len(costs) == mostMapCosts {
					return
				}
				costs, i = append(costs, MapCost{Bytes: bytes}), len(costs)
				c.CPU[workload] = costs
			}
			x := &costs[i]
			x.CPUMs = (x.CPUMs*float64(x.Maps) + cpuMs) / float64(x.Maps+1)
			x.Maps++
		})
	}
}

// meanCPU returns the mean CPU time, in ms, of the fitted maps of a workload that read about as
// many bytes; 0 if there are none.
func (c *Calibration) meanCPU(workload string, bytes int64) float64 {
	sum, maps := 0.0, 0
	for _, x := range c.CPU[workload] {
		if ratio := float64(x.Bytes) / float64(bytes); x.Bytes == bytes || ratio > 1/(1+sameBytes) && ratio <= 1+sameBytes {
			sum, maps = sum+x.CPUMs*float64(x.Maps), maps+x.Maps
		}
	}
	return sum / float64(max(1, maps))
}

// Speed returns how fast the processors did the same work in traces as in those that the
// calibration was fitted to, whose speed is 1: the CPU time of maps of the same workload with about
// the same input there, divided by the CPU time here. It is NaN if fewer than half of the maps can
// be compared, or if it is no speed of processors.
//
// A processor that is shared with other virtual machines, or with the other thread of
// its core, takes more CPU time for the same work. What tasks that share a core add for each
// other is left out, since replays have it.
func (c *Calibration) Speed(list ...*recorded.Trace) float64 {
	maps, compared := 0, 0
	var there, here float64
	for _, t := range list {
		c.mapCPU(t, func(workload string, bytes int64, cpuMs float64) {
			maps++
			if ms := c.meanCPU(workload, bytes); ms > 0 {
				there, here = there+ms, here+cpuMs
				compared++
			}
		})
	}
	if compared == 0 || 2*compared < maps {
		return math.NaN()
	}
	if speed := there / here; speed >= 1.0/mostSpeed && speed <= mostSpeed {
		return speed
	}
	return math.NaN()
}
