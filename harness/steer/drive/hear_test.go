package drive

import (
	"testing"
	"testing/synctest"
	"time"

	"heddle/harness/sched"
	"heddle/harness/sched/schedtest"
	"heddle/yarnclient/yarntest"
)

// TestModelHears steers two jobs, with a pause between them, under a model in a
// wrapper: it hears all that a driver can tell it, as in the simulator.
func TestModelHears(t *testing.T) {
	l := &schedtest.Listener{NodeModel: greedy{}, Period: 300}
	model := schedtest.Wrap(sched.PerNode{NodeModel: l})
	var stopped, again time.Duration
	synctest.Test(t, func(t *testing.T) {
		f := steered(t, yarntest.Config{Nodes: workers(2), Async: async}, func(_ *fake, o *Options) { o.Core.Model = model })
		began := f.d.Core.Origin
		f.await(5*time.Minute, f.submit("a", 20, 2))
		f.wait(2 * time.Second)
		stopped = time.Since(began)
		f.wait(20 * time.Second)
		again = time.Since(began)
		f.await(5*time.Minute, f.submit("b", 8, 1))
		f.wait(2 * time.Second)
		f.stop()
	})
	for what, times := range map[string]int{"job submitted": 2, "job ended": 2, "task started": 31, "task ended": 31, "confirmed": 31, "warmup": 2} {
		if l.Heard[what] != times {
			t.Errorf("%s: heard %d times, want %d", what, l.Heard[what], times)
		}
	}
	if len(l.TicksNs) < 10 {
		t.Fatalf("%d ticks in all", len(l.TicksNs))
	}
	for i, at := range l.TicksNs {
		if period := l.Period * 1e6; at%period > 1e6 || i > 0 && at/period == l.TicksNs[i-1]/period || at == 0 {
			t.Errorf("tick %d at %d ns: want each multiple of the period at most once", i, at)
		}
		if at > int64(stopped) && at < int64(again) {
			t.Errorf("tick %d at %d ns, while no job was alive", i, at)
		}
	}
	// In 20 s without a job, two nodes report every 200 ms each.
	if l.Full == 0 || l.Idle < 2*100 {
		t.Errorf("%d reports of full nodes and %d of idle ones, want some and 200", l.Full, l.Idle)
	}
	l.Period = 0 // a model that asks for impossible ticks is refused
	synctest.Test(t, func(t *testing.T) {
		f := steered(t, yarntest.Config{Nodes: workers(2), Async: async})
		o := f.d.Options
		o.Core.Model = model
		if _, err := start(t.Context(), f, o); err == nil {
			t.Error("a model with a period of 0 ms is steered with")
		}
		f.stop()
	})
}
