package sim

import (
	"fmt"
	"testing"

	"heddle/harness/sim/kernel"
	"heddle/harness/state"
)

// tester is what *testing.T and *rapid.T have in common.
type tester interface {
	Helper()
	Fatal(args ...any)
	Fatalf(format string, args ...any)
}

// apart returns what a part of the simulator stands on, for a test of this part alone.
// No job has been submitted.
func apart(t tester, c *Config) *base {
	t.Helper()
	if c.Source == nil {
		c.Source = &Jobs{}
	}
	b := new(base)
	if err := b.begin(c, new(Result)); err != nil {
		t.Fatal(err)
	}
	return b
}

// submit puts a job into the cluster, and returns its index in the table of jobs.
func (b *base) submit(t tester, x *Job) int32 {
	t.Helper()
	id := must(b.state.Submit(&x.JobSpec))
	b.r.Jobs = append(b.r.Jobs, JobResult{SubmitMs: b.events.Now, StartMs: -1, EndMs: -1})
	return b.jobs.add(id, x, nil)
}

// until takes all events up to a time, and moves the clock there. It gives them to do,
// which may be nil, and returns them as "kind id at ms".
func (b *base) until(ms int64, do func(kernel.Event)) (taken []string) {
	for next := b.events.Next(); next <= ms; next = b.events.Next() {
		b.events.Advance(next)
		b.state.SetNow(b.events.Now * 1e6)
		for list := b.events.Take(); len(list) > 0; list = b.events.Take() {
			for _, e := range list {
				taken = append(taken, fmt.Sprintf("%d %d at %d", e.Kind(), e.ID, b.events.Now))
				if do != nil {
					do(e)
				}
			}
		}
	}
	b.events.Advance(ms)
	b.state.SetNow(b.events.Now * 1e6)
	return taken
}

// allFree reports whether no container is on any node.
func (b *base) allFree() error {
	for n := range state.NodeID(b.view.Nodes()) {
		if free, size := b.view.Free(n), b.view.Capacity(n); free != size {
			return fmt.Errorf("node %d has %v free of %v", n, free, size)
		}
	}
	return nil
}

var _ tester = (*testing.T)(nil)
