package state

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
