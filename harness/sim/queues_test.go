package sim

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"heddle/harness/sched"
	"heddle/harness/state"
)

// queueJobs runs jobs of four maps of 10 s each, all submitted at once, on 10 nodes of four containers
// under a file of queues. Each job is given as user@queue. It returns when jobs end, in s.
func queueJobs(t *testing.T, file string, jobs ...string) (ends []int64, refused []string) {
	t.Helper()
	return labelledJobs(t, 0, file, jobs...)
}

// labelledJobs is queueJobs where the last nodes have the label gpu. A job may ask for a label, as
// user@queue:label.
func labelledJobs(t *testing.T, gpus int, file string, jobs ...string) (ends []int64, refused []string) {
	t.Helper()
	digest := uint64(0)
	for again := range 2 {
		m := must(sched.New("capacity", sched.Params{"queues": file +
			"\nnode-locality-delay=-1\nper-node-heartbeat.maximum-offswitch-assignments=9"}))
		c := &Config{Model: m, Costs: NoCosts(), MinAllocation: state.Resource{MemoryMB: 1024, VCores: 1}}
		for i := range 10 {
			c.Cluster.Nodes = append(c.Cluster.Nodes, Node{Name: fmt.Sprint("n", i), Rack: "r", Capacity: state.Resource{MemoryMB: 4096, VCores: 4}})
		}
		for i := range gpus {
			c.Cluster.Nodes[9-i].Label = "gpu"
		}
		var list []Job
		for i, name := range jobs {
			user, queue, _ := strings.Cut(name, "@")
			queue, label, _ := strings.Cut(queue, ":")
			size := state.Resource{MemoryMB: 1024, VCores: 1}
			list = append(list, Job{
				JobSpec: state.JobSpec{Name: fmt.Sprint("j", i), User: user, Queue: queue, Label: label, Maps: 4, MapSize: size, ReduceSize: size},
				MapWork: []Work{{FixedMs: 10_000}}, AMSize: size,
			})
		}
		c.Source = &Jobs{List: list}
		r := must(Run(c))
		if again > 0 && uint64(r.Digest) != digest {
			t.Error("a second run has another schedule")
		}
		digest, ends, refused = uint64(r.Digest), nil, nil
		for _, j := range r.Jobs {
			ends = append(ends, j.EndMs/1000)
			refused = append(refused, j.Refused)
		}
	}
	return ends, refused
}

const oneQueue = "root.queues=a\nroot.a.capacity=100\nroot.a.user-limit-factor=1\n"

// TestQueueLimits has jobs wait for what their queue or user may have, as computed by hand.
func TestQueueLimits(t *testing.T) {
	for name, x := range map[string]struct {
		file string
		jobs []string
		ends string
	}{
		"room for all": {
			oneQueue + "maximum-am-resource-percent=0.5",
			[]string{"u@a", "u@a", "u@a", "u@a"},
			"[10 10 10 10]",
		},
		"a tenth for masters: four": {oneQueue, []string{"u@a", "u@a", "u@a", "u@a", "u@a", "u@a"}, "[10 10 10 10 20 20]"},
		"masters of one user: two": {
			oneQueue + "root.a.minimum-user-limit-percent=50\nroot.a.user-limit-factor=1",
			[]string{"u@a", "v@a", "u@a", "u@a", "v@a"},
			"[10 10 10 20 10]",
		},
		"a maximum of ten":                  {"root.queues=a,b\nroot.a.capacity=25\nroot.a.maximum-capacity=25\nroot.b.capacity=75\nmaximum-am-resource-percent=1", []string{"u@a", "u@a", "u@root.a", "u@b"}, "[10 20 20 10]"},
		"what b leaves":                     {"root.queues=a,b\nroot.a.capacity=25\nroot.a.user-limit-factor=4\nroot.b.capacity=75\nmaximum-am-resource-percent=1", []string{"u@a", "u@a", "u@a", "u@a"}, "[10 10 10 10]"},
		"two run at a time":                 {oneQueue + "root.a.max-parallel-apps=2", []string{"u@a", "u@a", "u@a"}, "[10 10 20]"},
		"one of each user at a time":        {oneQueue + "user.max-parallel-apps=1", []string{"u@a", "u@a", "v@a"}, "[10 20 10]"},
		"what is left of three levels":      {"root.queues=a\nroot.a.capacity=100\nroot.a.queues=x,y\nroot.a.x.capacity=1w\nroot.a.y.capacity=1w\nroot.a.x.user-limit-factor=2\nmaximum-am-resource-percent=1", []string{"u@x", "u@x", "u@x", "u@x", "u@x"}, "[10 10 10 10 10]"},
		"masters rounded up to two of five": {"root.queues=a,b\nroot.a.capacity=[memory=5120,vcores=5]\nroot.a.maximum-capacity=[memory=5120,vcores=5]\nroot.b.capacity=[memory=1024,vcores=1]\nmaximum-am-resource-percent=0.3", []string{"u@a", "u@a"}, "[20 30]"},
		"an idle user's share is there": {
			oneQueue + "root.a.minimum-user-limit-percent=25\nmaximum-am-resource-percent=0.5",
			[]string{"u@a", "u@a", "u@a", "u@a", "u@a", "u@a", "u@a", "u@a"},
			"[10 10 10 10 10 10 10 10]",
		},
	} {
		if ends, refused := queueJobs(t, x.file, x.jobs...); fmt.Sprint(ends) != x.ends || strings.Join(refused, "") != "" {
			t.Errorf("%s: jobs end at %v s %q, want %s", name, ends, refused, x.ends)
		}
	}
}

// TestNodeLabels has jobs run on the nodes of a label or on the others, by what their queues have of
// each: two nodes of four containers have the label gpu, eight have none, and a job takes five.
func TestNodeLabels(t *testing.T) {
	const file = "root.queues=etl,ml\nroot.etl.capacity=100\nroot.etl.accessible-node-labels=\nroot.ml.capacity=0\nroot.ml.accessible-node-labels=gpu\n" +
		"root.ml.accessible-node-labels.gpu.capacity=100\nroot.ml.default-node-label-expression=gpu\nmaximum-am-resource-percent=0.5\nroot.ml.user-limit-factor=2\n"
	etl := []string{"u@etl", "u@etl", "u@etl", "u@etl", "u@etl", "u@etl"}
	const noneOfGPU = "queue root.etl may not use nodes of label gpu"
	for name, x := range map[string]struct {
		gpus    int
		jobs    []string
		ends    string
		refused string
	}{
		"labels by queues":              {2, append([]string{"u@ml", "u@ml"}, etl...), "[10 20 10 10 10 10 10 10]", ""},
		"a job asks for a label":        {2, []string{"u@etl:gpu", "u@ml:gpu"}, "[0 10]", noneOfGPU},
		"no node has it":                {2, []string{"u@ml:fpga", "u@ml"}, "[0 10]", "queue root.ml may not use nodes of label fpga"},
		"labels of a cluster with none": {0, []string{"u@etl:gpu", "u@etl"}, "[10 10]", ""},
	} {
		ends, refused := labelledJobs(t, x.gpus, file, x.jobs...)
		if fmt.Sprint(ends) != x.ends || strings.Join(refused, "") != x.refused {
			t.Errorf("%s: jobs end at %v s %q, want %s %q", name, ends, refused, x.ends, x.refused)
		}
	}
}

// TestQueuesRefuse has jobs refused, with the reason, and others go on.
func TestQueuesRefuse(t *testing.T) {
	for file, want := range map[string]string{
		oneQueue + "root.a.maximum-applications=2":                               "already has 2 applications",
		oneQueue + "root.a.maximum-applications=4\nroot.a.user-limit-factor=0.5": "already has 2 applications of user u",
		"root.queues=a,b\nroot.a.capacity=100\nroot.b.capacity=0":                "",
	} {
		_, refused := queueJobs(t, file, "u@a", "u@a", "u@a")
		if refused[0]+refused[1] != "" || !strings.Contains(refused[2], want) || (want == "") != (refused[2] == "") {
			t.Errorf("%s\nrefuses %q, want the third: %s", file, refused, want)
		}
	}
	ends, refused := queueJobs(t, oneQueue, "u@a", "u@b", "u@a")
	if ends[0] != 10 || ends[1] != 0 || ends[2] != 10 || !strings.Contains(refused[1], `queue "b"`) {
		t.Errorf("jobs end at %v s, refused %q", ends, refused)
	}
}

// TestNodeIsReserved has a large container wait for room on its node, which small ones that come
// first to what is free do not take.
func TestNodeIsReserved(t *testing.T) {
	const file = "root.queues=a\nroot.a.capacity=100\nroot.a.ordering-policy=fair\nnode-locality-delay=-1\n" +
		"per-node-heartbeat.maximum-offswitch-assignments=9\n"
	for more, want := range map[string]int64{"": 22, "root.a.ordering-policy=fifo": 34} {
		m := must(sched.New("capacity", sched.Params{"queues": file + more}))
		small := Job{
			JobSpec: state.JobSpec{Name: "small", Queue: "a", Maps: 8, MapSize: state.Resource{MemoryMB: 1024, VCores: 1}},
			MapWork: []Work{
				{FixedMs: 10_000},
				{FixedMs: 11_000},
				{FixedMs: 12_000},
				{FixedMs: 13_000},
				{FixedMs: 10_000},
				{FixedMs: 11_000},
				{FixedMs: 12_000},
				{FixedMs: 13_000},
			},
		}
		large := Job{
			JobSpec: state.JobSpec{Name: "large", Queue: "a", Maps: 1, MapSize: state.Resource{MemoryMB: 3072, VCores: 1}},
			MapWork: []Work{{FixedMs: 10_000}}, SubmitMs: 1000,
		}
		r := must(Run(&Config{
			Cluster: Machines{Nodes: []Node{{Name: "n", Capacity: state.Resource{MemoryMB: 4096, VCores: 8}}}},
			Model:   m, Costs: NoCosts(), MinAllocation: state.Resource{MemoryMB: 512, VCores: 1}, Source: &Jobs{List: []Job{small, large}},
		}))
		if got := (r.Jobs[1].EndMs + 500) / 1000; got != want {
			t.Errorf("%s: the large job ends at %d ms, want %d s", more, r.Jobs[1].EndMs, want)
		}
	}
}

// TestSurplus has a node of four containers report at full seconds, of which each gives one, and
// masters half a second later. Job a hears of its maps at 2.5, 3.5 and 4.5 s. Then it has said at 3.5 and 4.5 s
// that it wants those once more of which it heard just then: it gets a fourth container at 5 s, hears of it at
// 5.5 s, and gives it back at 6.5 s. Job b, which is next, gets it at 7 s.
func TestSurplus(t *testing.T) {
	m := must(sched.New("capacity", sched.Params{"queues": oneQueue}))
	a := Job{
		JobSpec: state.JobSpec{Name: "a", Queue: "a", Maps: 3, MapSize: state.Resource{MemoryMB: 1024, VCores: 1}},
		MapWork: []Work{{FixedMs: 60_000}},
	}
	b := a
	b.Name, b.Maps = "b", 1
	c := &Config{Model: m, Costs: NoCosts(), MinAllocation: a.MapSize, Source: &Jobs{List: []Job{a, b}}}
	c.Cluster.Nodes = []Node{{Name: "n", Capacity: state.Resource{MemoryMB: 4096, VCores: 4}}}
	c.Costs.NodeBeatMs, c.Costs.AMBeatMs, c.Costs.AMStartMs = 1000, 1000, 500
	var starts []int64
	c.Ended = func(e AttemptEnd) { starts = append(starts, e.StartMs) }
	r := must(Run(c))
	if slices.Sort(starts); fmt.Sprint(starts) != "[2500 3500 4500 7500]" || r.Decisions.Unused != 1 {
		t.Errorf("maps start at %d ms and %d containers are given back, want 2500, 3500, 4500 and 7500, and 1", starts, r.Decisions.Unused)
	}
}
