package replay

import (
	"heddle/harness/sim"
	"heddle/traces"
)

// Tasks returns the number of tasks that the replay simulates.
func (c *Config) Tasks() int64 {
	n := int64(0)
	for _, j := range c.Trace.Jobs {
		n += int64(len(j.Tasks[traces.Map]) + len(j.Tasks[traces.Reduce]))
	}
	for i := range c.Trace.List {
		rules, j := c.Trace.Header.List, &c.Trace.List[i]
		n += rules.Maps(j) + rules.Reduces(j)
	}
	return n
}

// tellProgress makes a simulation call c.Progress, if that is not nil.
func (c *Config) tellProgress(x *sim.Config) {
	if c.Progress == nil {
		return
	}
	done, all := int64(0), c.Tasks()
	x.Ended = func(e sim.AttemptEnd) {
		if e.Outcome == traces.Succeeded {
			done++
		}
	}
	x.Interrupted = func() error {
		c.Progress(min(done, all)) // a task whose output was lost with its node succeeds twice
		if c.Interrupted == nil {
			return nil
		}
		return c.Interrupted()
	}
}
