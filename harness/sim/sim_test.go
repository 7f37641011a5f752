package sim

import (
	"fmt"
	"testing"

	"heddle/harness/cluster"
	"heddle/harness/sched"
)

// slots is a cluster of nodes with so many slots of 1 GB, in racks of 40.
func slots(nodes, each int) Cluster {
	var c Cluster
	for n := range nodes {
		c.Nodes = append(c.Nodes, Node{
			Name: fmt.Sprint("n", n), Rack: fmt.Sprint("r", n/40),
			Capacity: cluster.Resource{MemoryMB: 1024, VCores: 1}.Times(int32(each)),
		})
	}
	return c
}

func simpleJob(name string, submitMs int64, maps, reduces int32, w ...Work) Job {
	size := cluster.Resource{MemoryMB: 1024, VCores: 1}
	j := Job{SubmitMs: submitMs, SlowStart: 1, MapWork: w, ReduceWork: []Work{{FixedMs: 1000}}}
	j.JobSpec = cluster.JobSpec{Name: name, Queue: "default", Maps: maps, Reduces: reduces, MapSize: size, ReduceSize: size}
	return j
}

func newModel(t testing.TB, name string) sched.Model {
	m, err := sched.New(name, nil)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// One node, one slot, nothing costs anything: jobs run one after the other.
func TestSingleSlotIsFIFO(t *testing.T) {
	source := &Jobs{List: []Job{
		simpleJob("a", 0, 2, 0, Work{FixedMs: 1000}),
		simpleJob("b", 100, 1, 1, Work{FixedMs: 500}),
		simpleJob("c", 10_000, 1, 0, Work{FixedMs: 700}),
	}}
	r, err := Run(&Config{Cluster: slots(1, 1), Source: source, Model: newModel(t, "fifo"), Actuator: Ideal, Costs: NoCosts()})
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []int64{2000, 3500, 10_700} {
		if got := r.Jobs[i].EndMs; got < want || got > want+5 {
			t.Errorf("job %d ended at %d ms, want %d", i, got, want)
		}
	}
}

// quickModels are the models but clqlmrs, which trains before each job for longer
// than a test should take, and planned, which may wait for ever for a node that
// ApplicationMasters have filled.
func quickModels() []string {
	var names []string
	for _, info := range sched.List() {
		if info.Name != "clqlmrs" && info.Name != "planned" {
			names = append(names, info.Name)
		}
	}
	return names
}
