package sim

import (
	"math"
	"slices"

	"heddle/harness/state"
)

// speculation finds attempts that are slow beside others of their job, and starts speculative
// attempts at the same tasks, by the rule of Config.Speculation.
type speculation struct {
	*base
	attempts *attempts
	wanted   []wanted  // speculative attempts that wait for a container
	rates    []float64 // memory for slowLATE
}

// begin has no speculative attempt wait.
func (sp *speculation) begin(b *base, at *attempts) {
	*sp = speculation{base: b, attempts: at, wanted: sp.wanted[:0], rates: sp.rates}
}

const (
	scanMs      = 1000   // ms between two scans for slow attempts, Hadoop's default
	foundMs     = 15_000 // ms until the next scan, after a scan that found a slow attempt; Hadoop's default
	lateAgeMs   = 60_000 // speculation by LATE: an attempt must have run for so many ms before it can count as slow
	latePortion = 10     // speculation by LATE: percent of the running attempts of all jobs that may be speculative
	// speculation by LATE: attempts whose progress per time, or nodes whose number of successful attempts, is below this
	// percentile count as slow
	latePercent = 25
)

// wanted is a speculative attempt (a second attempt at a slow task) that waits
// for a container.
type wanted struct {
	attempt int32 // index in attempts.list of the slow attempt at the same task
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
func (at *attempts) progress(id int32) float64 {
	a, x := &at.list[id], &at.rest[id]
	ran := float64(at.events.Now - a.startMs)
	if ran <= 0 {
		return 0
	}
	j := &at.jobs.list[a.job]
	if a.phase == finish || at.nodes.flows == nil && a.kind == state.Map {
		return min(1, ran/max(1, float64(x.endMs)))
	}
	if since := at.since(a); a.is(booked) && since < x.readFrom {
		return 0
	} else if a.is(booked) && since < x.readTo {
		at.unbook(a.node) // so that its flow tells what is left
	}
	const input = 0.4
	w := j.workOf(a.kind, a.task)
	// returns the share that is done of the running transfer or computation; the parameter of is its whole work
	part := func(of int64) float64 {
		if a.openFlows&1 == 0 || of == 0 {
			return 0
		}
		return 1 - float64(at.nodes.flows.Left(at.events.Now, at.flows[id][0]))/float64(of)
	}
	switch {
	case a.kind == state.Reduce && a.phase <= compute:
		return input * float64(j.done[state.Map]) / float64(max(1, j.total[state.Map]))
	case a.phase == compute: // phase names the next step, compute, so the attempt still reads its input
		return input * part(w.InputBytes)
	case a.phase < compute:
		return 0
	case a.phase == write && at.nodes.list[a.node].cores:
		return input + float64((1-input)*part(at.draws.computeMs(j, a, w)*1000))
	case a.phase == write:
		computed := ran - float64(x.readTo)
		return input + float64((1-input)*min(1, computed/max(1, float64(x.endMs-x.readTo))))
	}
	return 1
}

// scan scans a job for slow attempts and asks for speculative attempts
// beside them. Then it schedules the job's next scan.
func (sp *speculation) scan(slot int32) {
	j := &sp.jobs.list[slot]
	if j.ended {
		return
	}
	again := int32(scanMs)
	for k := range state.Kind(2) {
		if sp.view.Waiting(j.id, k) > 0 {
			continue
		}
		var id int32
		if sp.Speculation == LATE {
			id = sp.slowLATE(slot, k)
		} else {
			id = sp.slowHadoop(slot, k)
		}
		if id >= 0 {
			sp.ask(id)
			if sp.Speculation != LATE {
				again = foundMs
			}
		}
	}
	sp.scanIn(again, slot)
}

// ask asks for a speculative attempt beside a slow attempt. The
// speculative attempt starts on the next suitable node that has room.
func (sp *speculation) ask(id int32) {
	a := &sp.attempts.list[id]
	sp.wanted = append(sp.wanted, wanted{id, a.gen})
	sp.jobs.list[a.job].speculative++
	a.marks |= doubled
	sp.attempts.rest[id].other = asked
}

func (sp *speculation) scanIn(ms int32, slot int32) {
	sp.events.After(ms, evSpeculate, uint32(slot), sp.jobs.list[slot].gen)
}

// asked is the value of rest.other, normally the index of the second attempt at
// the same task, while this second, speculative attempt waits for a container.
const asked = -1

// slowHadoop returns the attempt of a job for which a speculative attempt
// would save the most time, or -1 if there is none.
//
// Source: Hadoop 3.4 DefaultSpeculator and LegacyTaskRuntimeEstimator. An
// attempt's total time is estimated from its progress. A speculative attempt's
// time is taken to be the mean time of the successful attempts. At least one
// task in twenty of the job must have ended, and the slow attempt must have
// run longer than the mean time plus one standard deviation.
func (sp *speculation) slowHadoop(slot int32, k state.Kind) int32 {
	j := &sp.jobs.list[slot]
	took := &j.took[k]
	running := sp.view.Running(j.id, k)
	if took.n == 0 || took.n < 0.05*float64(j.total[k]) || j.speculative >= max(10, j.total[k]/100, running/10) {
		return -1
	}
	best, most := int32(-1), 0.0
	for id := range sp.attempts.list {
		a := &sp.attempts.list[id]
		ran := float64(sp.events.Now - a.startMs)
		if a.job != slot || a.kind != k || a.is(doubled) || ran < took.mean+took.deviation() {
			continue
		}
		p := sp.attempts.progress(int32(id))
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
// thresholds, quoted from memory. Its SpeculativeCap limits the speculative
// attempts of the whole cluster, as a share of the slots. YARN has no slots, so
// that here it is a share of the attempts that run.
func (sp *speculation) slowLATE(slot int32, k state.Kind) int32 {
	if sp.speculative() >= max(1, sp.attempts.running*latePortion/100) {
		return -1
	}
	rates := sp.rates[:0]
	for id := range sp.attempts.list {
		if a := &sp.attempts.list[id]; a.job == slot && a.kind == k && sp.events.Now > a.startMs {
			rates = append(rates, sp.attempts.progress(int32(id))/float64(sp.events.Now-a.startMs))
		}
	}
	sp.rates = rates
	if len(rates) == 0 {
		return -1
	}
	slices.Sort(rates)
	threshold := rates[len(rates)*latePercent/100]
	best, most := int32(-1), 0.0
	for id := range sp.attempts.list {
		a := &sp.attempts.list[id]
		ran := sp.events.Now - a.startMs
		if a.job != slot || a.kind != k || a.is(doubled) || ran < lateAgeMs {
			continue
		}
		p := sp.attempts.progress(int32(id))
		if rate := p / float64(ran); rate > 0 && rate <= threshold && (1-p)/rate > most {
			best, most = int32(id), (1-p)/rate
		}
	}
	return best
}

// speculative returns how many speculative attempts of all jobs run or are asked for.
func (sp *speculation) speculative() int {
	n := 0
	for _, id := range sp.view.Active() {
		n += int(sp.jobs.of(id).speculative)
	}
	return n
}

// place starts waiting speculative attempts on node n as long as
// the node has room, in the order in which they were asked for. A speculative
// attempt does not start on the node of the slow attempt at the same task.
func (sp *speculation) place(n state.NodeID) {
	if sp.Speculation == LATE && sp.nodes.isSlow(n) {
		return
	}
	kept := sp.wanted[:0]
	for _, x := range sp.wanted {
		a := &sp.attempts.list[x.attempt]
		if a.gen != x.gen || !a.is(doubled) || sp.attempts.rest[x.attempt].other != asked {
			continue
		}
		slot := a.job
		j := &sp.jobs.list[slot]
		if a.node == n || !sp.view.Fits(n, j.id, a.kind) {
			kept = append(kept, x)
			continue
		}
		j.tried(a.task)
		kind, task := a.kind, a.task
		sp.state.Hold(n, j.id, j.size[kind])
		id := sp.attempts.launch(slot, kind, task, n)
		b := &sp.attempts.list[id]
		b.marks = b.marks&^rerun | speculative | doubled
		sp.attempts.rest[id].other, sp.attempts.rest[x.attempt].other = x.attempt, id
		sp.r.Attempts.Speculative++
	}
	sp.wanted = kept
}
