package model

import (
	"cmp"
	"math"
	"slices"

	"heddle/harness/state"
	"heddle/traces"
)

// A feature is one property of a job or of a node, as a whole number.
const (
	jobCPU = iota // hints of the job for the kind of task, 0 to 10
	jobDisk
	jobNetwork
	jobMemory
	load     // load average in bins
	memory   // memory in use, GB rounded down
	cpus     // of the node
	running  // tasks on the node
	features // number of features
)

// featureNames has at last the name of an input of the perceptron that never changes.
var featureNames = [features + 1]string{
	"job CPU",
	"job disk",
	"job network",
	"job memory",
	"load",
	"memory GB",
	"CPUs",
	"tasks",
	"constant",
}

// vector has the value of each feature.
type vector [features]int32

// sample is what is known of a node at a heartbeat.
type sample struct {
	load1               float64
	memoryBytes         int64
	userCores           float64
	diskBytes, netBytes float64 // per second
	cpus                float64
}

func (m *learner) sampleOf(v *state.View, n state.NodeID, s *traces.NodeSample) sample {
	x := sample{cpus: cmp.Or(m.Cpus, float64(v.Capacity(n).VCores))}
	if s != nil { // what was not measured is -1, and counts as 0
		x.load1, x.memoryBytes, x.userCores = math.Max(s.Load1, 0), max(s.MemoryUsedBytes, 0), math.Max(s.CPUUser, 0)
		x.diskBytes = math.Max(s.DiskReadBytesPerSec, 0) + math.Max(s.DiskWriteBytesPerSec, 0)
		x.netBytes = math.Max(s.NetRecvBytesPerSec, 0) + math.Max(s.NetSentBytesPerSec, 0)
	}
	return x
}

// binOf returns the load average in bins: ceil(bins·load).
func (m *learner) binOf(load1 float64) int32 {
	return int32(math.Ceil(math.Min(float64(m.Bins*load1), 1e9)))
}

// overloaded reports whether a node is overloaded if its limits are multiplied by x.
// The load average counts in bins, as the classifier sees it.
func (m *learner) overloaded(s *sample, x float64) bool {
	byLoad := float64(m.binOf(s.load1)) > float64(x*m.Target*s.cpus*m.Bins)
	if m.Overload == "load" {
		return byLoad
	}
	over := []bool{
		byLoad, s.userCores > x*m.UserLimit*s.cpus,
		s.diskBytes > x*m.DiskLimit*1e6, s.netBytes > x*m.NetLimit*1e6,
	}
	if m.Overload == "any" {
		return slices.Contains(over, true)
	}
	return !slices.Contains(over, false)
}

// vectorOf returns the features of a node, with the job's left out.
func (m *learner) vectorOf(s *sample, tasks int32) (x vector) {
	x[load], x[memory], x[cpus], x[running] = m.binOf(s.load1), int32(s.memoryBytes>>30), int32(math.Ceil(s.cpus)), tasks
	return x
}

// jobVector adds a job's hints to the features of a node. A hint that is not given is
// the one that was given most often, the smallest of these, and 5 before any.
func (m *learner) jobVector(x vector, h state.Hints) vector {
	for i, hint := range [4]uint8{h.CPU, h.Disk, h.Network, h.Memory} {
		if hint == 0 {
			hint = 5
			for value, n := range m.given[i] {
				if n > m.given[i][hint] || m.given[i][hint] == 0 && n > 0 {
					hint = uint8(value)
				}
			}
		}
		x[jobCPU+i] = int32(hint)
	}
	return x
}

// count counts the hints of a job, once for each kind of its tasks.
func (m *learner) count(h state.Hints) {
	for i, hint := range [4]uint8{h.CPU, h.Disk, h.Network, h.Memory} {
		if hint > 0 && int(hint) < len(m.given[i]) {
			m.given[i][hint]++
		}
	}
}
