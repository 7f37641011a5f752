package sim

import (
	"heddle/harness/sched"
	"heddle/harness/sim/kernel"
	"heddle/harness/state"
	"heddle/traces"
)

// hearing tells the scheduler model what happens, besides asking it for decisions.
type hearing struct {
	view      *state.View
	observer  sched.Observer     // nil: the model is none
	ticker    sched.Ticker       // nil: the model is none
	predicts  *sched.Predictions // nil: what the model predicts is not recorded
	recorder  *recorder
	everyBeat bool // the model is a sched.EveryHeartbeat
	full      bool // the model hears the heartbeats of full nodes
}

// begin finds out what the model of a run hears. It gives it the network and the
// capacity to come, if it asks for them.
func (h *hearing) begin(c *Config, v *state.View, r *recorder) error {
	if err := sched.CheckPeriod(c.Model); err != nil {
		return err
	}
	*h = hearing{view: v, recorder: r}
	h.observer, _ = sched.As[sched.Observer](c.Model)
	h.ticker, _ = sched.As[sched.Ticker](c.Model)
	if c.Record != nil && h.observer != nil {
		h.predicts = sched.PredictionsOf(c.Model)
	}
	_, h.everyBeat = sched.As[sched.EveryHeartbeat](c.Model)
	h.full = h.everyBeat && h.observer != nil
	return nil
}

func (h *hearing) tell(e sched.Event) {
	if h.observer != nil {
		h.observer.Observe(h.view, e)
	}
	if h.predicts != nil {
		if pct, end, ok := h.predicts.Heard(h.view, e); ok {
			h.recorder.predicted(e.Job, pct, end)
		}
	}
}

// task tells of a task that has started, or has ended well.
func (h *hearing) task(what sched.EventKind, id state.JobID, t state.TaskID, n state.NodeID) {
	if h.observer != nil {
		h.tell(sched.Event{What: what, Job: id, Task: t, Node: n})
	}
}

// decision tells what has become of a decision of the model.
func (h *hearing) decision(what sched.EventKind, d sched.Decision, t state.TaskID) {
	if h.observer != nil {
		h.tell(sched.Event{What: what, Job: d.Job, Task: t, Node: d.Node, Decision: d})
	}
}

// beat tells of a heartbeat of node n, and of the newest sample of its load, if there
// is one.
func (h *hearing) beat(n state.NodeID, nowMs int64, sample *traces.NodeSample) {
	e := sched.Event{What: sched.NodeReported, Node: n}
	if sample != nil {
		e.Sample, e.SampleAgeMs = sample, nowMs-int64(sample.T)/1e6
	}
	h.tell(e)
}

// clocks tick at the multiples of their periods, while there are jobs that have not
// ended, and once afterwards.
type clocks struct {
	events *kernel.Events
	each   [kindsOfClock]clock
}

type clock struct {
	periodMs int64 // 0: the clock stands
	set      bool  // its next tick is an event to come
}

// Kinds of clock.
const (
	clockLoad    = iota // steps of the load averages
	clockSample         // samples of the nodes' load
	clockModel          // ticks of a model that is a sched.Ticker
	clockPreempt        // rounds of a model that is a sched.Preempter
	kindsOfClock
)

// awaitAll schedules the next tick of each clock.
func (c *clocks) awaitAll() {
	for i := range c.each {
		c.await(uint32(i))
	}
}

func (c *clocks) await(i uint32) {
	if x := &c.each[i]; x.periodMs > 0 && !x.set {
		x.set = true
		c.events.Push(sched.NextTick(c.events.Now, x.periodMs), evTick, i, 0)
	}
}
