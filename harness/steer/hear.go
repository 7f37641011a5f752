package steer

import (
	"time"

	"heddle/harness/sched"
	"heddle/harness/state"
	"heddle/traces"
)

// This file tells the scheduler model what happens, besides asking it for decisions.

// hearing is what the scheduler model wants to hear.
type hearing struct {
	observer  sched.Observer // nil: the model is none
	everyBeat bool           // the model is a sched.EveryHeartbeat
	ticker    sched.Ticker   // nil: the model is none
	ticks     *alarm         // rings at the ticker's next tick
	predicts  *sched.Predictions
	process   sched.Process // nil: the model is none
}

func (c *Core) beginHearing() error {
	if c.Model == nil {
		return nil
	}
	if err := sched.CheckPeriod(c.Model); err != nil {
		return err
	}
	h := &c.hears
	h.observer, _ = sched.As[sched.Observer](c.Model)
	h.ticker, _ = sched.As[sched.Ticker](c.Model)
	_, h.everyBeat = sched.As[sched.EveryHeartbeat](c.Model)
	h.ticks = c.newAlarm(c.tick)
	h.predicts = sched.PredictionsOf(c.Model)
	h.process, _ = sched.As[sched.Process](c.Model)
	return nil
}

// endIfFailed ends steering if the model can decide no more.
func (c *Core) endIfFailed() {
	if p := c.hears.process; p != nil && p.Failed() != nil {
		c.stop(p.Failed())
	}
}

func (c *Core) observe(e sched.Event) {
	if c.hears.observer != nil {
		c.state.SetNow(int64(c.at()))
		c.hears.observer.Observe(c.view, e)
		if pct, end, ok := c.hears.predicts.Heard(c.view, e); ok {
			c.record(&traces.JobPredicted{T: c.at(), Job: c.jobs[e.Job].jobID(), DonePct: pct, End: traces.Time(end)})
		}
	}
}

// heartbeat is called once in a NodeManager heartbeat interval. It asks the model what
// to start on the node. A model that is a sched.EveryHeartbeat is asked even if nothing
// waits, and hears of the node even if it is full.
func (n *node) heartbeat() {
	switch h := &n.core.hears; {
	case !h.everyBeat:
		n.offer()
	case !n.opportunity() && n.up && n.core.trouble == "":
		n.report()
	}
}

// report tells the model that the node has reported.
func (n *node) report() {
	e := sched.Event{What: sched.NodeReported, Node: n.id, Sample: n.sample}
	if n.sample != nil {
		e.SampleAgeMs = max(0, int64(n.core.at()-n.sample.T)) / 1e6
	}
	n.core.observe(e)
}

// sampled keeps the metrics of a node for the node's next report.
func (c *Core) sampled(x *traces.NodeSample) {
	if id := c.view.NodeNamed(string(x.Node)); id != state.None {
		c.nodes[id].sample = x
	}
}

// awaitTick sets the alarm for the next tick of a model that is a sched.Ticker.
func (c *Core) awaitTick() {
	if h := &c.hears; h.ticker != nil {
		period := time.Duration(h.ticker.PeriodMs()) * time.Millisecond
		h.ticks.in(time.Duration(sched.NextTick(int64(c.at()), int64(period))) - time.Duration(c.at()))
	}
}

// tick lets the model's clock tick, while there are jobs that have not ended.
func (c *Core) tick() {
	for _, j := range c.jobs {
		if !j.ended {
			c.state.SetNow(int64(c.at()))
			c.hears.ticker.Tick(c.view)
			c.awaitTick()
			return
		}
	}
}
