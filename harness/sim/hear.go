package sim

import (
	"slices"

	"heddle/harness/sched"
	"heddle/harness/state"
	"heddle/traces"
)

// This file tells the scheduler model what happens, besides asking it for
// decisions.

// hearing is what the scheduler model wants to hear.
type hearing struct {
	observer  sched.Observer // nil: the model is none
	everyBeat bool           // the model is a sched.EveryHeartbeat
	full      bool           // the model hears the heartbeats of full nodes
	ticker    sched.Ticker   // nil: the model is none
	predicts  *sched.Predictions
}

func (s *Sim) beginHearing() error {
	if err := sched.CheckPeriod(s.Model); err != nil {
		return err
	}
	h := hearing{}
	h.observer, _ = sched.As[sched.Observer](s.Model)
	h.ticker, _ = sched.As[sched.Ticker](s.Model)
	if s.Record != nil && h.observer != nil {
		h.predicts = sched.PredictionsOf(s.Model)
	}
	_, h.everyBeat = sched.As[sched.EveryHeartbeat](s.Model)
	h.full = h.everyBeat && h.observer != nil
	s.hears = h
	_, uses := sched.As[sched.UsesMapOutput](s.Model)
	s.keepsOutput = s.NodeFetches || uses
	s.clocks = [clocks]clock{}
	if h.ticker != nil {
		s.clocks[clockModel].periodMs = h.ticker.PeriodMs()
	}
	if s.beginLoad(); s.load != nil {
		s.clocks[clockLoad].periodMs, s.clocks[clockSample].periodMs = loadPeriodMs, s.SampleMs
	}
	return nil
}

// tellNetwork gives the model the rates of links, if some have a limit and it wants them.
func (s *Sim) tellNetwork() {
	m, ok := sched.As[sched.HearsNetwork](s.Model)
	if ok && (slices.ContainsFunc(s.Cluster.Nodes, func(n Node) bool { return n.LinkBytesPerSec > 0 }) ||
		slices.ContainsFunc(s.Cluster.Racks, func(r Rack) bool { return r.UplinkBytesPerSec > 0 })) {
		m.Network(s.rateBetween)
	}
}

// rateBetween returns the rate of the slowest link or uplink between two nodes in
// bytes/s, 0 if none has a limit.
func (s *Sim) rateBetween(from, to state.NodeID) int64 {
	a, b := s.view.Rack(from), s.view.Rack(to)
	rates := []int64{s.Cluster.Nodes[from].LinkBytesPerSec, s.Cluster.Nodes[to].LinkBytesPerSec}
	for _, r := range s.Cluster.Racks {
		if a != b && (r.Name == s.view.RackName(a) || r.Name == s.view.RackName(b)) {
			rates = append(rates, r.UplinkBytesPerSec)
		}
	}
	slowest := int64(0)
	for _, rate := range rates {
		if rate > 0 && (slowest == 0 || rate < slowest) {
			slowest = rate
		}
	}
	return slowest
}

func (s *Sim) observe(e sched.Event) {
	if s.hears.observer != nil {
		s.hears.observer.Observe(s.view, e)
	}
	if s.hears.predicts != nil {
		if pct, end, ok := s.hears.predicts.Heard(s.view, e); ok {
			s.Record(&traces.JobPredicted{T: s.at(), Job: s.jobs.of(e.Job).name, DonePct: pct, End: traces.Time(end)})
		}
	}
}

// observeTask and observeDecision tell the scheduler model what happened to a
// task, or to one of the model's decisions, if the model is a sched.Observer.
func (s *Sim) observeTask(what sched.EventKind, id state.JobID, t state.TaskID, n state.NodeID) {
	if s.hears.observer != nil {
		s.observe(sched.Event{What: what, Job: id, Task: t, Node: n})
	}
}

func (s *Sim) observeDecision(what sched.EventKind, d sched.Decision, t state.TaskID) {
	if s.hears.observer != nil {
		s.observe(sched.Event{What: what, Job: d.Job, Task: t, Node: d.Node, Decision: d})
	}
}

// report tells the scheduler model of a heartbeat of node n.
func (s *Sim) report(n state.NodeID) {
	if s.hears.observer == nil {
		return
	}
	e := sched.Event{What: sched.NodeReported, Node: n}
	if s.load != nil {
		if x := s.load.nodes[n].sample; x != nil {
			e.Sample, e.SampleAgeMs = x, s.events.Now-int64(x.T)/1e6
		}
	}
	s.observe(e)
}

// clock ticks at the multiples of its period, while there are jobs that have not
// ended, and once afterwards.
type clock struct {
	periodMs int64 // 0: the clock stands
	set      bool  // its next tick is among the events of the wheel
}

// The clocks, in the order of Sim.clocks.
const (
	clockLoad   = iota // steps of the load averages
	clockSample        // samples of the nodes' load
	clockModel         // ticks of a model that is a sched.Ticker
	clocks
)

// awaitTicks schedules the next tick of each clock.
func (s *Sim) awaitTicks() {
	for i := range s.clocks {
		s.awaitTick(uint32(i))
	}
}

func (s *Sim) awaitTick(i uint32) {
	if c := &s.clocks[i]; c.periodMs > 0 && !c.set && s.jobs.live > 0 {
		c.set = true
		s.events.Push(sched.NextTick(s.events.Now, c.periodMs), evTick, i, 0)
	}
}

// tick handles a tick of a clock. A model does not hear the one after the end of the
// last job.
func (s *Sim) tick(i uint32) {
	s.clocks[i].set = false
	switch {
	case i == clockLoad:
		s.averageLoad()
	case i == clockSample:
		s.sampleNodes()
	case s.jobs.live > 0:
		s.hears.ticker.Tick(s.view)
	}
	s.awaitTick(i)
}
