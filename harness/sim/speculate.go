package sim

import (
	"math"
	"slices"

	"heddle/harness/state"
	"heddle/traces"
)

const (
	scanMs      = 1000   // ms between two scans for slow attempts, Hadoop's default
	foundMs     = 15_000 // ms until the next scan, after a scan that found a slow attempt; Hadoop's default
	lateAgeMs   = 60_000 // speculation by LATE: an attempt must have run for so many ms before it can count as slow
	lateSlots   = 10     // speculation by LATE: percent of the running attempts that may be speculative
	latePercent = 25     // speculation by LATE: attempts whose progress per time, or nodes whose number of successful attempts, is below this percentile count as slow
)

// wanted is a speculative attempt (a second attempt at a slow task) that waits
// for a container.
type wanted struct {
	attempt int32 // index in Sim.attempts of the slow attempt at the same task
	gen     uint32
}

// moments describes the durations of attempts: their count n, their mean, and
// m2, the sum of the squared deviations from the mean (Welford's method). In
// the computation of m2, a product is converted to float64, so that all
// machines round it alike.
type moments struct{ n, mean, m2 float64 }

func (m *moments) add(x float64) {
	m.n++
	d := x - m.mean
	m.mean += d / m.n
	m.m2 += float64(d * (x - m.mean))
}

func (m *moments) deviation() float64 { return math.Sqrt(m.m2 / max(1, m.n)) }

// progress returns the share of its work that an attempt has done, from 0 to
// 1. If the time when the attempt will end is known, the share is that of the
// elapsed time. Otherwise reading or fetching the input counts for two fifths
// of the work, and computing for the rest.
func (s *Sim) progress(a *attempt) float64 {
	ran := float64(s.events.Now - a.startMs)
	if ran <= 0 {
		return 0
	}
	j := &s.jobs.list[a.job]
	if a.phase == finish || s.nodes.flows == nil && a.kind == state.Map {
		return min(1, ran/max(1, float64(a.endMs-a.startMs)))
	}
	const input = 0.4
	w := j.workOf(a.kind, a.task)
	part := func(of int64) float64 { // returns the share that is done of the running transfer or computation; the parameter of is its whole work
		if a.openFlows&1 == 0 || of == 0 {
			return 0
		}
		return 1 - float64(s.nodes.flows.Left(s.events.Now, a.flows[0]))/float64(of)
	}
	switch {
	case a.kind == state.Reduce && a.phase <= compute:
		return input * float64(j.done[state.Map]) / float64(max(1, j.total[state.Map]))
	case a.phase == compute: // phase names the next step, compute, so the attempt still reads its input
		return input * part(w.InputBytes)
	case a.phase < compute:
		return 0
	case a.phase == write && s.nodes.list[a.node].cores:
		return input + float64((1-input)*part(s.draws.computeMs(j, a, w)*1000))
	case a.phase == write:
		began := a.startMs + int64(a.phaseMs)
		return input + float64((1-input)*min(1, float64(s.events.Now-began)/max(1, float64(a.endMs-began))))
	}
	return 1
}

// speculate scans a job for slow attempts and asks for speculative attempts
// beside them. Then it schedules the job's next scan.
func (s *Sim) speculate(slot int32) {
	j := &s.jobs.list[slot]
	if j.ended {
		return
	}
	again := int32(scanMs)
	for k := range state.Kind(2) {
		if s.view.Waiting(j.id, k) > 0 {
			continue
		}
		var id int32
		if s.Speculation == LATE {
			id = s.slowLATE(slot, k)
		} else {
			id = s.slowHadoop(slot, k)
		}
		if id >= 0 {
			s.askSpeculative(id)
			if s.Speculation != LATE {
				again = foundMs
			}
		}
	}
	s.scanIn(again, slot)
}

// askSpeculative asks for a speculative attempt beside a slow attempt. The
// speculative attempt starts on the next suitable node that has room.
func (s *Sim) askSpeculative(id int32) {
	a := &s.attempts[id]
	s.wanted = append(s.wanted, wanted{id, a.gen})
	s.jobs.list[a.job].speculative++
	a.other = asked
}

func (s *Sim) scanIn(ms int32, slot int32) {
	s.events.After(ms, evSpeculate, uint32(slot), s.jobs.list[slot].gen)
}

// asked is the value of an attempt's field other, normally the index of the
// second attempt at the same task, while this second, speculative attempt
// waits for a container.
const asked = -2

// slowHadoop returns the attempt of a job for which a speculative attempt
// would save the most time, or -1 if there is none.
//
// Source: Hadoop 3.4 DefaultSpeculator and LegacyTaskRuntimeEstimator. An
// attempt's total time is estimated from its progress. A speculative attempt's
// time is taken to be the mean time of the successful attempts. At least one
// task in twenty of the job must have ended, and the slow attempt must have
// run longer than the mean time plus one standard deviation.
func (s *Sim) slowHadoop(slot int32, k state.Kind) int32 {
	j := &s.jobs.list[slot]
	took := &j.took[k]
	running := s.view.Running(j.id, k)
	if took.n == 0 || took.n < 0.05*float64(j.total[k]) || j.speculative >= max(10, j.total[k]/100, running/10) {
		return -1
	}
	best, most := int32(-1), 0.0
	for id := range s.attempts {
		a := &s.attempts[id]
		ran := float64(s.events.Now - a.startMs)
		if a.job != slot || a.kind != k || a.other != -1 || ran < took.mean+took.deviation() {
			continue
		}
		p := s.progress(a)
		if p <= 0 {
			continue
		}
		if saves := ran/p - ran - took.mean; saves > most {
			best, most = int32(id), saves
		}
	}
	return best
}

// slowLATE considers the quarter of the job's running attempts that progress
// most slowly. Of these it returns the attempt with the longest estimated time
// left, or -1 if there is none.
//
// Source: Zaharia, Konwinski, Joseph, Katz, Stoica, "Improving MapReduce
// Performance in Heterogeneous Environments", OSDI 2008, section 4, with its
// thresholds, quoted from memory.
func (s *Sim) slowLATE(slot int32, k state.Kind) int32 {
	j := &s.jobs.list[slot]
	if len(s.wanted)+int(j.speculative) >= max(1, s.running*lateSlots/100) {
		return -1
	}
	rates := s.rates[:0]
	for id := range s.attempts {
		if a := &s.attempts[id]; a.job == slot && a.kind == k && s.events.Now > a.startMs {
			rates = append(rates, s.progress(a)/float64(s.events.Now-a.startMs))
		}
	}
	s.rates = rates
	if len(rates) == 0 {
		return -1
	}
	slices.Sort(rates)
	threshold := rates[len(rates)*latePercent/100]
	best, most := int32(-1), 0.0
	for id := range s.attempts {
		a := &s.attempts[id]
		ran := s.events.Now - a.startMs
		if a.job != slot || a.kind != k || a.other != -1 || ran < lateAgeMs {
			continue
		}
		p := s.progress(a)
		if rate := p / float64(ran); rate > 0 && rate <= threshold && (1-p)/rate > most {
			best, most = int32(id), (1-p)/rate
		}
	}
	return best
}

// placeSpeculative starts waiting speculative attempts on node n as long as
// the node has room, in the order in which they were asked for. A speculative
// attempt does not start on the node of the slow attempt at the same task.
func (s *Sim) placeSpeculative(n state.NodeID) {
	if s.Speculation == LATE && s.nodes.isSlow(n) {
		return
	}
	kept := s.wanted[:0]
	for _, x := range s.wanted {
		a := &s.attempts[x.attempt]
		if a.gen != x.gen || a.other != asked {
			continue
		}
		slot := a.job
		j := &s.jobs.list[slot]
		if a.node == n || !s.view.Fits(n, j.id, a.kind) {
			kept = append(kept, x)
			continue
		}
		j.tried(a.task)
		kind, task := a.kind, a.task
		s.state.Hold(n, j.id, j.size[kind])
		id := s.launch(slot, kind, task, n)
		b := &s.attempts[id]
		b.speculative, b.other, b.rerun = true, x.attempt, false
		s.attempts[x.attempt].other = id
		s.r.Attempts.Speculative++
	}
	s.wanted = kept
}

// killOther is called when attempt a at a task has succeeded. It ends the
// other attempt at the same task. It returns the node of the ended attempt, or
// the node of a if the other attempt had not started.
func (s *Sim) killOther(a *attempt) state.NodeID {
	other := a.other
	a.other = -1
	j := &s.jobs.list[a.job]
	if j.speculative--; other == asked {
		return a.node
	}
	b := &s.attempts[other]
	s.freeze(other)
	b.other = -1
	held := a
	if b.speculative {
		held = b
	}
	s.state.Release(held.node, j.id, j.size[a.kind])
	s.r.Attempts.Killed++
	s.close(other, traces.Killed)
	return b.node
}
