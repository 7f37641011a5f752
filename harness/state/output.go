package state

import (
	"errors"
	"fmt"
	"slices"
)

// AddMapOutput adds the bytes of one map to the output of a job's maps that node n stores
// for the job's reduces. The parameter bytes is negative if output is lost.
func (s *State) AddMapOutput(id JobID, n NodeID, bytes int64) {
	j := &s.jobs[id]
	if j.ended {
		return
	}
	if len(j.out) < len(s.nodes) { // the job's first output, or a node has been added since
		if cap(j.out) < len(s.nodes) {
			j.out = append(make([]int64, 0, len(s.nodes)), j.out...)
		}
		before := len(j.out)
		j.out = j.out[:len(s.nodes)]
		clear(j.out[before:])
	}
	j.out[n] += bytes
	switch {
	case bytes > 0:
		j.outs++
	case bytes < 0:
		j.outs--
	}
}

// MapOutputs returns of how many maps MapOutput has the output. On a real cluster it
// becomes known some time after a map is done. A map without output does not count.
func (v *View) MapOutputs(id JobID) int32 { return v.s.jobs[id].outs }

// MapOutput returns, by node, how many bytes of the job's map output the node
// stores for the job's reduces. The list is empty while no map of the job has
// succeeded, after the job's end, and if the driver does not count these
// bytes: it does so for models that ask for them, see sched.UsesMapOutput.
func (v *View) MapOutput(id JobID) []int64 { return v.s.jobs[id].out }

// ReduceShares returns how the output of each of the job's maps is divided among its
// reduces, in proportion, by the reduces' numbers. It is nil if that is not known, as of
// most jobs on a real cluster, and after the job's end. The caller must not change it.
func (v *View) ReduceShares(id JobID) []int64 { return v.s.shares[id] }

func (s *State) setShares(id JobID, shares []int64) {
	if s.shares == nil {
		s.shares = map[JobID][]int64{}
	}
	s.shares[id] = slices.Clone(shares)
}

// checkShares checks how a job's map output is divided among its reduces.
func (s *JobSpec) checkShares() error {
	if s.ReduceShares == nil {
		return nil
	}
	if len(s.ReduceShares) != int(s.Reduces) {
		return fmt.Errorf("shares of map output are given for %d reduces, and it has %d", len(s.ReduceShares), s.Reduces)
	}
	sum := int64(0)
	for i, x := range s.ReduceShares {
		if x < 0 || x > MaxShares-sum {
			return fmt.Errorf(
				"the share of map output of reduce %d is %d: it must be 0 or more, and all together at most %d",
				i,
				x,
				int64(MaxShares),
			)
		}
		sum += x
	}
	if sum == 0 && s.Reduces > 0 {
		return errors.New("all reduces' shares of map output are 0; leave them out to divide evenly")
	}
	return nil
}

// MaxShares is the largest sum of a job's JobSpec.ReduceShares.
const MaxShares = 1 << 62
