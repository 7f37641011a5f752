package sim

import (
	"fmt"
	"strings"
	"testing"

	"heddle/harness/sched"
	"heddle/harness/sched/schedtest"
	"heddle/harness/state"
	"heddle/traces"
)

// startsNothing is a model that starts no task.
type startsNothing struct{}

func (startsNothing) Name() string { return "starts nothing" }

func (startsNothing) Choose(*state.View, state.NodeID) (sched.Pick, bool) {
	return sched.Pick{}, false
}

// TestModelHears has a node of one slot run two maps of 2.5 s each, while another
// node stays without work after the first of 1 s, and a job after a pause in which
// nothing is alive. A model in two wrappers hears all of it.
func TestModelHears(t *testing.T) {
	l := &schedtest.Listener{NodeModel: newModel(t, "fifo").(sched.PerNode).NodeModel, Period: 300}
	c := &Config{
		Cluster: slots(2, 1), Actuator: Ideal, Costs: NoCosts(), Splits: Planned,
		Model:  schedtest.Wrap(schedtest.Wrap(sched.PerNode{NodeModel: l})),
		Source: &Jobs{List: []Job{simpleJob("a", 100, 2, 1, Work{FixedMs: 2500}), simpleJob("b", 10_000, 1, 0, Work{FixedMs: 1000})}},
	}
	c.Costs.NodeBeatMs = 200
	r := must(Run(c))
	// Job a runs from 100 ms until its maps and its reduce of 1 s have ended, with
	// up to 200 ms until each starts. Job b runs 1 s.
	var want []int64
	for _, j := range r.Jobs {
		for at := j.SubmitMs/300*300 + 300; at < j.EndMs; at += 300 {
			want = append(want, at*1e6)
		}
	}
	if len(want) < 14 || len(l.TicksNs) != len(want) {
		t.Fatalf("%d ticks, want %d, 14 or more", len(l.TicksNs), len(want))
	}
	for i := range want {
		if l.TicksNs[i] != want[i] {
			t.Errorf("tick %d at %d ns, want %d", i, l.TicksNs[i], want[i])
		}
	}
	for what, times := range map[string]int{
		"job submitted": 2, "job ended": 2, "task started": 4, "task ended": 4, "confirmed": 4,
		"cancelled": 0, "plan": 2, "notes": 1, "predict": 0,
	} {
		if l.Heard[what] != times {
			t.Errorf("%s: heard %d times, want %d", what, l.Heard[what], times)
		}
	}
	// Two nodes report 5 times a second each while a job is alive, also when both
	// are full for 2.5 s.
	if least := 2 * 11; l.Full < least {
		t.Errorf("%d reports of full nodes, want %d or more", l.Full, least)
	}
	if r.Notes["ticks"] != float64(len(want)) {
		t.Errorf("notes: %v", r.Notes)
	}
}

// TestPredicted has what a model predicts in the trace: when jobs are submitted, and when
// half and 90 % of their tasks have succeeded.
func TestPredicted(t *testing.T) {
	l := &schedtest.Listener{NodeModel: newModel(t, "fifo").(sched.PerNode).NodeModel, Period: 300}
	c := &Config{
		Cluster: slots(1, 1), Actuator: Ideal, Costs: NoCosts(), Model: schedtest.Wrap(sched.PerNode{NodeModel: l}),
		Source: &Jobs{List: []Job{simpleJob("a", 100, 9, 1, Work{FixedMs: 1000}), simpleJob("b", 200, 1, 0, Work{FixedMs: 1000})}},
	}
	got := []string{}
	c.Record = func(e traces.Event) {
		if e, ok := e.(*traces.JobPredicted); ok {
			got = append(got, fmt.Sprintf("%d %s %d +%d", e.T.Milliseconds(), e.Job, e.DonePct, (e.End-e.T).Milliseconds()))
		}
	}
	must(Run(c))
	expect(t, "predictions", got, "100 a 0 +5000", "200 b 0 +5000", "5100 a 50 +5000", "9100 a 90 +5000")
}

// TestHearingChangesNothing runs one scenario with a model that hears all, and with
// the same model that hears nothing: the schedules are the same.
func TestHearingChangesNothing(t *testing.T) {
	for a := Native; a <= Ideal; a++ {
		quiet := must(Run(scenario(t, "fifo", a, 1)))
		c := scenario(t, "fifo", a, 1)
		l := &schedtest.Listener{NodeModel: c.Model.(sched.PerNode).NodeModel, Period: 7}
		c.Model = sched.PerNode{NodeModel: l}
		r := must(Run(c))
		if r.Digest != quiet.Digest || l.Full == 0 || l.Idle == 0 || len(l.TicksNs) == 0 {
			t.Errorf("actuator %d: digest %v, without hearing %v; %d reports of full nodes, %d of idle ones, %d ticks", a, r.Digest, quiet.Digest,
				l.Full, l.Idle, len(l.TicksNs))
		}
	}
}

// A model that starts nothing ends the run, though its clock ticks on. So does one
// whose clock cannot tick.
func TestTickerThatStartsNothing(t *testing.T) {
	for period, want := range map[int64]string{1000: "stuck", 0: "period"} {
		l := &schedtest.Listener{NodeModel: startsNothing{}, Period: period}
		_, err := Run(&Config{
			Cluster: slots(1, 1), Actuator: Ideal, Costs: DefaultCosts(), Model: sched.PerNode{NodeModel: l},
			Source: &Jobs{List: []Job{simpleJob("a", 0, 1, 0, Work{FixedMs: 1})}},
		})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("a period of %d ms: %v, want an error with %q", period, err, want)
		}
	}
}

// networked is a model that wants the rates of links.
type networked struct {
	sched.Model
	rate func(from, to state.NodeID) int64
}

func (m *networked) Unwrap() sched.Model                            { return m.Model }
func (m *networked) Network(rate func(from, to state.NodeID) int64) { m.rate = rate }

// TestNetwork has a model told the slowest link between two nodes: their own, and between racks
// the uplinks. Without any limit it is told nothing.
func TestNetwork(t *testing.T) {
	for _, limited := range []bool{true, false} {
		fifo := must(sched.New("fifo", nil))
		m := &networked{Model: fifo}
		c := Config{Cluster: slots(3, 2), Costs: NoCosts(), Model: m, Source: &Jobs{List: []Job{shuffle(1)}}}
		for n := range c.Cluster.Nodes {
			c.Cluster.Nodes[n].Rack = []string{"a", "a", "b"}[n]
			if limited {
				c.Cluster.Nodes[n].LinkBytesPerSec = []int64{90, 0, 70}[n]
			}
		}
		if limited {
			c.Cluster.Racks = []Rack{{Name: "a"}, {Name: "b", UplinkBytesPerSec: 50}, {Name: "c", UplinkBytesPerSec: 1}}
		}
		must(Run(&c))
		if !limited {
			if m.rate != nil {
				t.Error("a network without limits was told")
			}
			continue
		}
		for _, want := range [][3]int64{{0, 1, 90}, {1, 0, 90}, {1, 1, 0}, {0, 2, 50}, {2, 1, 50}} {
			if got := m.rate(state.NodeID(want[0]), state.NodeID(want[1])); got != want[2] {
				t.Errorf("from node %d to %d: %d bytes/s, want %d", want[0], want[1], got, want[2])
			}
		}
	}
}
