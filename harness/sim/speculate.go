package sim

import (
	"math"
	"slices"

	"heddle/harness/state"
	"heddle/traces"
)

const (
	scanMs      = 1000   // between looks for slow attempts, as Hadoop ships
	copiedMs    = 15_000 // after one has been found
	lateAgeMs   = 60_000 // LATE: before an attempt may be found slow
	lateSlots   = 10     // LATE: percent of running attempts that may be copies
	latePercent = 25     // LATE: percentile of rates, and of nodes
)

// wanted is a copy that waits for room.
type wanted struct {
	attempt int32 // the slow one
	gen     uint32
}

// moments are of numbers that come one by one (Welford). Products are converted,
// so that no machine adds to them before it rounds.
type moments struct{ n, mean, m2 float64 }

func (m *moments) add(x float64) {
	m.n++
	d := x - m.mean
	m.mean += d / m.n
	m.m2 += float64(d * (x - m.mean))
}

func (m *moments) deviation() float64 { return math.Sqrt(m.m2 / max(1, m.n)) }

// progress is how much of its work an attempt has done: time, while what it
// does has a known end; else two fifths for its input and the rest for what it
// computes.
func (s *Sim) progress(a *attempt) float64 {
	ran := float64(s.now - a.startMs)
	if ran <= 0 {
		return 0
	}
	j := &s.jobs[a.job]
	if a.phase == finish || s.shared == nil && a.kind == state.Map {
		return min(1, ran/max(1, float64(a.endMs-a.startMs)))
	}
	const input = 0.4
	w := s.workOf(j, a.kind, a.task)
	part := func(of int64) float64 { // of a flow's whole, that has gone by
		if a.open&1 == 0 || of == 0 {
			return 0
		}
		return 1 - float64(s.shared.Left(s.now, a.flows[0]))/float64(of)
	}
	switch {
	case a.kind == state.Reduce && a.phase <= compute:
		return input * float64(j.done[state.Map]) / float64(max(1, j.total[state.Map]))
	case a.phase == compute: // it reads, and will compute then
		return input * part(w.InputBytes)
	case a.phase < compute:
		return 0
	case a.phase == write && s.nodes[a.node].cores:
		return input + float64((1-input)*part(s.computeMs(j, a, w)*1000))
	case a.phase == write:
		return input + float64((1-input)*min(1, float64(s.now-a.phaseMs)/max(1, float64(a.endMs-a.phaseMs))))
	}
	return 1
}

// speculate looks for slow attempts of a job, and comes again.
func (s *Sim) speculate(slot int32) {
	j := &s.jobs[slot]
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
			s.askCopy(id)
			if s.Speculation != LATE {
				again = copiedMs
			}
		}
	}
	s.scanIn(again, slot)
}

// askCopy has a copy of an attempt start where there is room.
func (s *Sim) askCopy(id int32) {
	a := &s.attempts[id]
	s.copies = append(s.copies, wanted{id, a.gen})
	s.jobs[a.job].copies++
	a.twin = asked
}

func (s *Sim) scanIn(ms int32, slot int32) {
	s.looks++
	s.after(ms, evSpeculate, uint32(slot), s.jobs[slot].gen)
}

// asked is the twin of an attempt whose copy waits for room.
const asked = -2

// slowHadoop is the attempt of which a copy would save most, -1 none.
//
// Source: Hadoop 3.4 DefaultSpeculator and LegacyTaskRuntimeEstimator. An
// attempt's time is estimated from its progress, a copy's is the mean of those
// that have ended; one task in twenty must have, and the attempt must have run
// for longer than their mean and one deviation.
func (s *Sim) slowHadoop(slot int32, k state.Kind) int32 {
	j := &s.jobs[slot]
	took := &j.took[k]
	running := s.view.Running(j.id, k)
	if took.n == 0 || took.n < 0.05*float64(j.total[k]) || j.copies >= max(10, j.total[k]/100, running/10) {
		return -1
	}
	best, most := int32(-1), 0.0
	for id := range s.attempts {
		a := &s.attempts[id]
		ran := float64(s.now - a.startMs)
		if a.job != slot || a.kind != k || a.twin != -1 || ran < took.mean+took.deviation() {
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

// slowLATE is the attempt with the longest time left of those that progress more
// slowly than three in four of the job's, -1 none.
//
// Source: Zaharia, Konwinski, Joseph, Katz, Stoica, "Improving MapReduce
// Performance in Heterogeneous Environments", OSDI 2008, section 4, with its
// thresholds; from memory of it.
func (s *Sim) slowLATE(slot int32, k state.Kind) int32 {
	j := &s.jobs[slot]
	if len(s.copies)+int(j.copies) >= max(1, s.running*lateSlots/100) {
		return -1
	}
	rates := s.rates[:0]
	for id := range s.attempts {
		if a := &s.attempts[id]; a.job == slot && a.kind == k && s.now > a.startMs {
			rates = append(rates, s.progress(a)/float64(s.now-a.startMs))
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
		ran := s.now - a.startMs
		if a.job != slot || a.kind != k || a.twin != -1 || ran < lateAgeMs {
			continue
		}
		p := s.progress(a)
		if rate := p / float64(ran); rate > 0 && rate <= threshold && (1-p)/rate > most {
			best, most = int32(id), (1-p)/rate
		}
	}
	return best
}

// placeCopies starts copies in n's room, in the order they were asked for, each
// on another node than the slow attempt's.
func (s *Sim) placeCopies(n state.NodeID) {
	if s.Speculation == LATE && s.slowNode(n) {
		return
	}
	kept := s.copies[:0]
	for _, x := range s.copies {
		a := &s.attempts[x.attempt]
		if a.gen != x.gen || a.twin != asked {
			continue
		}
		slot := a.job
		j := &s.jobs[slot]
		if a.node == n || !s.view.Fits(n, j.id, a.kind) {
			kept = append(kept, x)
			continue
		}
		s.tried(j, a.task)
		kind, task := a.kind, a.task
		s.state.Hold(n, j.id, j.size[kind])
		id := s.launch(slot, kind, task, n)
		b := &s.attempts[id]
		b.copied, b.twin, b.rerun = true, x.attempt, false
		s.attempts[x.attempt].twin = id
		s.r.Attempts.Speculative++
	}
	s.copies = kept
}

// slowNode says whether fewer attempts have succeeded on n than on three in four
// of the nodes.
func (s *Sim) slowNode(n state.NodeID) bool {
	less := 0
	for i := range s.nodes {
		if s.nodes[i].done < s.nodes[n].done {
			less++
		}
	}
	return less*100 < latePercent*len(s.nodes) && s.nodes[n].done > 0
}

// killTwin ends the other attempt at a task that has succeeded, and returns the
// node where that was. The State knows the task where it was started first.
func (s *Sim) killTwin(a *attempt) state.NodeID {
	twin := a.twin
	a.twin = -1
	j := &s.jobs[a.job]
	if j.copies--; twin == asked {
		return a.node
	}
	b := &s.attempts[twin]
	s.freeze(twin)
	b.twin = -1
	held := a
	if b.copied {
		held = b
	}
	s.state.Release(held.node, j.id, j.size[a.kind])
	s.r.Attempts.Killed++
	s.close(twin, traces.Killed)
	return b.node
}
