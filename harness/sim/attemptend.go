package sim

import (
	"heddle/harness/sched"
	"heddle/harness/state"
	"heddle/traces"
)

// succeed marks an attempt, and its task, as succeeded.
func (s *Sim) succeed(id int32) {
	a := &s.attempts[id]
	slot, n := a.job, a.node
	other := n
	if a.other != -1 {
		other = s.killOther(a)
	}
	j := &s.jobs.list[slot]
	w := j.workOf(a.kind, a.task)
	if err := s.state.Finish(j.id, a.task); err != nil {
		panic(err) // a programming error in this package: package state does not know the task as running
	}
	j.done[a.kind]++
	s.r.Attempts.Succeeded++
	if a.kind == state.Map {
		s.r.Maps[a.level]++
		s.r.Bytes.Read[a.level] += w.InputBytes
		if len(j.ran) > 0 {
			j.ran[a.task] = success{n, a.level}
		}
	} else {
		s.r.Bytes.Shuffled += a.bytes
	}
	if a.kind == state.Map && j.total[state.Reduce] > 0 {
		s.putOut(j, n, w.OutputBytes)
	} else {
		s.r.Bytes.Written += w.OutputBytes
	}
	if s.Speculation != NoSpeculation {
		j.took[a.kind].add(float64(s.events.Now - a.startMs))
		s.nodes.list[n].done++
	}
	s.close(id, traces.Succeeded)
	s.nodes.noteRoom(n)
	s.nodes.noteRoom(other)
	s.hears.task(sched.TaskEnded, j.id, a.task, n)
	if a.kind == state.Map && j.total[state.Reduce] > 0 {
		s.mapDone(slot)
	}
	s.endIfDone(slot)
}

// putOut adds bytes to the map output that node n stores for the job's
// reduces. The parameter bytes is negative if output is lost with its node.
func (s *Sim) putOut(j *job, n state.NodeID, bytes int64) {
	s.r.Bytes.MapOutput += bytes
	rack := s.nodes.list[n].rack
	j.out[rack] += bytes
	j.outBytes += bytes
	if s.keepsOutput {
		s.state.AddMapOutput(j.id, n, bytes)
	}
	j.lately[(j.done[state.Map]-1)&int32(len(j.lately)-1)] = rack
}

// close records the end of an attempt and frees the attempt's slot in memory
// for reuse.
func (s *Sim) close(id int32, how traces.Outcome) {
	a := &s.attempts[id]
	j := &s.jobs.list[a.job]
	i := int32(a.task)
	if a.kind == state.Reduce {
		i -= j.total[state.Map]
	}
	launched := s.events.Now >= a.startMs
	if launched {
		s.r.Digest.AddHashed(j.hash, a.kind, i, int32(a.number), s.nodes.list[a.node].hash, traces.Time(a.startMs*1e6), traces.Time(s.events.Now*1e6))
	}
	s.recorder.attemptEnded(a, how, launched)
	if a.rerun {
		s.r.Attempts.Reruns++
	}
	if a.fetch >= 0 {
		s.spareFetch = append(s.spareFetch, a.fetch)
	}
	a.gen++
	a.job = -1
	s.running--
	s.idle = append(s.idle, id)
}
