package drive

import (
	"bytes"
	"maps"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"heddle/harness/config"
	"heddle/harness/sched"
	"heddle/harness/sched/schedtest"
	"heddle/harness/state"
	"heddle/traces"
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
	for what, times := range map[string]int{
		"job submitted": 2, "job ended": 2, "task started": 31, "task ended": 31, "confirmed": 31,
		"warmup": 2, "predict": 5,
	} {
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

// TestTrainsBeside has the second of two jobs need a minute of training. The first one goes
// on meanwhile, each of its containers is heard of, and the second one begins after it.
func TestTrainsBeside(t *testing.T) {
	l := &schedtest.Listener{NodeModel: greedy{}, Period: 300}
	synctest.Test(t, func(t *testing.T) {
		f := steered(t, yarntest.Config{Nodes: workers(2), Async: async},
			func(_ *fake, o *Options) { o.Core.Model = schedtest.Wrap(sched.PerNode{NodeModel: l}) })
		first := f.submit("a", 20, 2)
		f.wait(time.Second) // so that it is the first job to be steered
		l.Learn = func(job state.JobID) {
			if job == 1 {
				f.wait(time.Minute)
			}
		}
		began := time.Now()
		second := f.submit("b", 8, 1)
		f.await(time.Minute, first)
		if n := l.Heard["task ended"]; n != 22 {
			t.Errorf("%d tasks' ends heard while the second job trains, want the first one's 22", n)
		}
		f.await(5*time.Minute, second)
		if took := time.Since(began); took < time.Minute || l.Heard["task ended"] != 31 {
			t.Errorf("after %v %d tasks' ends were heard: want 31, the second job's after a minute", took, l.Heard["task ended"])
		}
		f.stop()
	})
}

// TestModelHearsSamples gives a model the metrics of one of two nodes. It hears them
// with their age, and none of the other node. A recording has them: a model that is
// steered with by the recording hears the same.
func TestModelHearsSamples(t *testing.T) {
	made := schedtest.RegisterListener(t, 500)
	*made = nil
	var kept bytes.Buffer
	synctest.Test(t, func(t *testing.T) {
		f := steered(t, yarntest.Config{Nodes: workers(2), Async: async}, recorded(t, &kept, config.Model{Model: "test-listener"}))
		a := f.submit("a", 20, 2)
		for i := range 5 {
			f.wait(time.Second)
			// The collector took it 300 ms ago.
			f.d.Sampled(traces.NodeSample{T: traces.Time(time.Since(f.d.Core.Origin) - 300*time.Millisecond), Node: "r1n1", Load1: float64(i)})
			f.d.Sampled(traces.NodeSample{Node: "nosuch"})
		}
		f.await(5*time.Minute, a)
		f.stop()
	})
	mustDo(t, Replay(bytes.NewReader(kept.Bytes()), nil))
	if len(*made) != 2 {
		t.Fatalf("%d models were made, want one live and one for the recording", len(*made))
	}
	live, again := (*made)[0], (*made)[1]
	if len(live.Samples) != 5 {
		t.Errorf("%d samples heard, want 5", len(live.Samples))
	}
	for i, x := range live.Samples {
		if x.Node != "r1n1" || x.Load1 != float64(i) {
			t.Errorf("sample %d: load %v of %s, want %d of r1n1", i, x.Load1, x.Node, i)
		}
	}
	// A sample is heard from 300 ms on, until the report before the next one. The job's
	// last report comes up to some seconds after the last sample.
	if live.FreshestMs < 300 || live.FreshestMs > 500 {
		t.Errorf("the freshest sample was %d ms old, want 300 to 500, as nodes report every 200 ms", live.FreshestMs)
	}
	if !slices.Equal(live.Samples, again.Samples) || !maps.Equal(live.Heard, again.Heard) || !slices.Equal(live.TicksNs, again.TicksNs) ||
		live.OldestMs != again.OldestMs {
		t.Errorf("live heard %v and %d samples, by the recording %v and %d", live.Heard, len(live.Samples), again.Heard, len(again.Samples))
	}
}
