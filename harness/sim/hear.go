package sim

import (
	"heddle/harness/sched"
	"heddle/harness/state"
)

// This file tells the scheduler model what happens, besides asking it for
// decisions.

// hearing is what the scheduler model wants to hear.
type hearing struct {
	observer  sched.Observer // nil: the model is none
	everyBeat bool           // the model is a sched.EveryHeartbeat
	full      bool           // the model hears the heartbeats of full nodes
	ticker    sched.Ticker   // nil: the model is none
	ticks     bool           // the next tick is among the events of the wheel
}

func (s *Sim) beginHearing() error {
	if err := sched.CheckPeriod(s.Model); err != nil {
		return err
	}
	h := hearing{}
	h.observer, _ = sched.As[sched.Observer](s.Model)
	h.ticker, _ = sched.As[sched.Ticker](s.Model)
	_, h.everyBeat = sched.As[sched.EveryHeartbeat](s.Model)
	h.full = h.everyBeat && h.observer != nil
	s.hears = h
	return nil
}

func (s *Sim) observe(e sched.Event) {
	if s.hears.observer != nil {
		s.hears.observer.Observe(s.view, e)
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

// awaitTick schedules the next tick of a model that is a sched.Ticker, while
// there are jobs that have not ended.
func (s *Sim) awaitTick() {
	if h := &s.hears; h.ticker != nil && !h.ticks && s.live > 0 {
		h.ticks = true
		s.idleEvents++
		s.wheel.push(sched.NextTick(s.now, h.ticker.PeriodMs()), tag(evTick, 0), 0)
	}
}

// tick handles a tick. The last one comes after the end of the last job; the
// model does not hear it.
func (s *Sim) tick() {
	s.hears.ticks = false
	if s.live > 0 {
		s.hears.ticker.Tick(s.view)
		s.awaitTick()
	}
}
