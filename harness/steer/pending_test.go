package steer

import (
	"math"
	"testing"
	"time"

	"heddle/harness/sched"
	"heddle/harness/state"
	"heddle/traces"
	"heddle/yarnclient"
)

// oneJob is a Core with a node of some containers and a job of two maps and a reduce,
// whose master runs. The node is not offered before its field skipped is unset.
func oneJob(t *testing.T, containers int) (*Core, *node, *job) {
	t.Helper()
	size := state.Resource{MemoryMB: 512, VCores: 1}
	o := Options{
		Setup: Setup{Beat: time.Hour, Smallest: size, Triples: []string{"00"}}, Origin: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC), RM: 1,
		Nodes: []yarnclient.Node{{
			ID: "n:1", Host: "n", Rack: "/r", State: "RUNNING",
			Total: yarnclient.Resource{MemoryMB: int64(containers) * 512, VCores: containers},
		}},
	}
	var err error
	if o.Model, err = sched.New("fifo", nil); err != nil {
		t.Fatal(err)
	}
	c, _, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	c.Step(o.Origin, nil)
	c.nodes[0].skipped = true
	c.submit(yarnclient.App{ID: "application_1_0001", State: "RUNNING"}, &Submission{Number: "00", Tag: "a"}, &JobFiles{
		Spec: state.JobSpec{Name: "a", Maps: 2, Reduces: 1, MapSize: size, ReduceSize: size}, Splits: [][]string{{"n"}, {"n"}}, Beat: time.Second,
	})
	return c, c.nodes[0], c.jobs[0]
}

// requests are what a master of containers of 512 MB waits for.
func requests(maps, reduces int64) []yarnclient.PartitionUse {
	return []yarnclient.PartitionUse{{Partition: "m00", PendingMB: 512 * maps}, {Partition: "r00", PendingMB: 512 * reduces}}
}

// TestReduceTakenBack has a master that asks for a reduce and then, as MapReduce's
// does where a map waits and it believes the cluster full, for the map instead. The
// model would have the reduce first; the map must get the node all the same.
func TestReduceTakenBack(t *testing.T) {
	c, n, j := oneJob(t, 1)
	decided := func() (kinds []state.Kind) {
		for _, a := range c.out {
			if r, ok := a.(*Record); ok {
				if d, ok := r.Event.(*traces.Decision); ok {
					kinds = append(kinds, d.What)
				}
			}
		}
		return kinds
	}
	j.sawPending(requests(0, 1), c.now)
	for range 3 {
		j.sawPending(requests(1, 0), c.now)
	}
	n.skipped = false
	n.offer()
	if got := decided(); len(got) != 1 || got[0] != state.Map {
		t.Fatalf("decided are %v, want a map: the reduce is no longer asked for", got)
	}
	j.sawPending(requests(0, 1), c.now)
	if got := c.view.Waiting(j.id, state.Reduce); got != 1 {
		t.Errorf("%d reduces wait when the master asks for one again", got)
	}
}

// TestListsAtOnce: where nodes have the labels of many jobs, each job's containers are listed
// after a pause in which some of the others are, so that a ResourceManager of a thousand nodes
// is not asked sixteen things at a time.
func TestListsAtOnce(t *testing.T) {
	for jobs, want := range map[int]time.Duration{1: 40 * time.Millisecond, 2: 40 * time.Millisecond, 16: 520 * time.Millisecond} {
		c, _, j := oneJob(t, 1)
		j.opened = 1
		for range jobs - 1 {
			c.jobs = append(c.jobs, j)
		}
		c.out = nil
		j.polls.off() // it rings now
		j.poll()
		sent := c.now
		c.now = sent.Add(40 * time.Millisecond)
		c.observed(Observation{Answers: asked(t, c, AskContainers), Sent: sent, Received: c.now, Answer: []yarnclient.Container{}})
		if got := j.polls.at.Sub(c.now); got != want {
			t.Errorf("%d jobs: the next list after %v, want %v", jobs, got, want)
		}
	}
}

// TestAbsurdSizes has a ResourceManager that tells sizes beyond all bounds: no count overflows, and a label
// lacks no more room than all nodes have.
func TestAbsurdSizes(t *testing.T) {
	for _, mb := range []int64{math.MaxInt64, math.MaxInt64 - 1000, 1 << 45, -1, math.MinInt64} {
		c, n, j := oneJob(t, 4)
		for range 2 {
			j.vain, j.usedAskedAt = 2, time.Time{}
			c.out = nil
			j.inVain(state.Map)
			c.observed(Observation{Answers: asked(t, c, AskUsed), Sent: c.now, Received: c.now, Answer: mb})
		}
		if lost := c.lost["m00"]; lost < 0 || lost > n.size.full.MemoryMB {
			t.Errorf("of %d MB used, a label lacks %d MB", mb, lost)
		}
		pending := j.countAsked([]yarnclient.PartitionUse{{Partition: "m00", PendingMB: mb}, {Partition: "m00", PendingMB: mb}})
		if pending[state.Map] < 0 {
			t.Errorf("%d MB pending are %d maps", mb, pending[state.Map])
		}
	}
}

// TestReserved: memory that is reserved for a job's container comes free; what is reserved for no job is lost.
func TestReserved(t *testing.T) {
	c, _, j := oneJob(t, 1)
	for _, x := range []struct{ reservedMB, lostMB int64 }{{512, 0}, {0, 512}} {
		j.sawPending([]yarnclient.PartitionUse{{Partition: "m00", PendingMB: 512, ReservedMB: x.reservedMB}}, c.now)
		for range 2 {
			j.vain, j.usedAskedAt = 2, time.Time{}
			c.out = nil
			j.inVain(state.Map)
			c.observed(Observation{Answers: asked(t, c, AskUsed), Sent: c.now, Received: c.now, Answer: int64(512)})
		}
		if got := c.lost["m00"]; got != x.lostMB {
			t.Errorf("of 512 MB used, %d are reserved for the job: the label lacks %d MB, want %d", x.reservedMB, got, x.lostMB)
		}
	}
}
