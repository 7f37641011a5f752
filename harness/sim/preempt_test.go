package sim

import (
	"fmt"
	"strings"
	"testing"

	"heddle/harness/sched"
	"heddle/harness/state"
	"heddle/traces"
)

// TestPreemption has a queue fill a cluster of 40 containers of which half are guaranteed to another. Jobs
// come after 10 s, to either. When how many containers are taken is computed by hand.
//
// Of a late job, only the ApplicationMaster asks at first, for one container, which is chosen at 12 s and ended at 27 s.
// Then its user may have 19 more. With the defaults, a round wants a tenth of the cluster at most, and a fifth of
// that, 819 MB: one container, each 18 s.
//
// In the same queue, a round takes a fifth of the guarantee: four. A second user may have 21 of 41, which are the 40 and one that
// would be next: of 38 maps, 17 are taken before the first has no more than this. If another queue loses 19 in a round, four
// are less than that; of twice the guarantee, 21 are left, and of the 18 that a job wants 17 count as taken.
func TestPreemption(t *testing.T) {
	const on = "yarn.resourcemanager.scheduler.monitor.enable=true\n"
	const p = "yarn.resourcemanager.monitor.capacity.preemption."
	const all = on + p + "natural_termination_factor=1\n" + p + "total_preemption_per_round=1\n"
	const within = all + p + "intra-queue-preemption.enabled=true\n"
	const byPriority = within + p + "intra-queue-preemption.preemption-order-policy=priority_first\n"
	for name, x := range map[string]struct{ keys, kills, late string }{
		"off":                           {p + "natural_termination_factor=1", "", "b@b"},
		"as shipped":                    {on, "27:1 45:1 63:1 ", "b@b"},
		"all that is due":               {all, "27:1 45:19 ", "b@b"},
		"sooner":                        {all + p + "monitoring_interval=1000\n" + p + "max_wait_before_kill=4000", "15:1 20:19 ", "b@b"},
		"four of a round":               {all + p + "total_preemption_per_round=0.1", "27:1 45:4 63:4 ", "b@b"},
		"observed":                      {all + p + "observe_only=true", "", "b@b"},
		"within what is ignored":        {all + p + "max_ignored_over_capacity=1", "", "b@b"},
		"beyond what is ignored":        {all + p + "max_ignored_over_capacity=0.9", "27:1 45:19 ", "b@b"},
		"not of this queue":             {all + "root.a.disable_preemption=true", "", "b@b"},
		"not of any queue but this":     {all + "root.disable_preemption=true\nroot.a.disable_preemption=false", "27:1 45:19 ", "b@b"},
		"what the other cannot have":    {all + "root.b.maximum-capacity=50\nroot.b.user-limit-factor=0.5", "27:1 45:9 ", "b@b"},
		"a higher priority":             {byPriority, "27:1 45:4 63:4 ", "a@a"},
		"all but the ApplicationMaster": {byPriority + p + "intra-queue-preemption.max-allowable-limit=2", "27:1 45:38 ", "a@a"},
		"a higher priority, all at its user's limit": {within, "", "a@a"},
		"another user": {within + "minimum-user-limit-percent=50", "27:1 45:4 63:4 ", "b@a"},
		"another user, all of his": {
			within + "minimum-user-limit-percent=50\n" + p + "intra-queue-preemption.max-allowable-limit=2",
			"27:1 45:17 ", "b@a",
		},
		"below the threshold":   {byPriority + p + "intra-queue-preemption.minimum-threshold=2.1", "", "a@a"},
		"at the threshold":      {byPriority + p + "intra-queue-preemption.minimum-threshold=2", "27:1 45:4 63:4 ", "a@a"},
		"not within this queue": {byPriority + "root.a.intra-queue-preemption.disable_preemption=true", "", "a@a"},
		"neither within":        {byPriority + "root.a.disable_preemption=true", "", "a@a"},
		"both":                  {byPriority, "27:2 45:19 63:4 ", "a@a b@b"},
		"both in a round":       {byPriority + p + "intra-queue-preemption.max-allowable-limit=2", "27:2 45:20 63:17 ", "a@a b@b"},
		"no more than a round takes": {
			byPriority + p + "intra-queue-preemption.max-allowable-limit=2\n" + p + "total_preemption_per_round=0.48",
			"27:2 45:19 63:18 ", "a@a b@b",
		},
	} {
		t.Run(name, func(t *testing.T) {
			m := must(sched.New("capacity", sched.Params{"queues": "root.queues=a,b\nroot.a.capacity=50\nroot.a.user-limit-factor=2\nroot.b.capacity=50\nnode-locality-delay=-1\n" +
				"per-node-heartbeat.maximum-offswitch-assignments=9\nmaximum-am-resource-percent=1\n" + x.keys}))
			c := &Config{Model: m, Costs: NoCosts(), MinAllocation: state.Resource{MemoryMB: 1024, VCores: 1}}
			for i := range 10 {
				c.Cluster.Nodes = append(c.Cluster.Nodes,
					Node{Name: fmt.Sprint("n", i), Rack: "r", Capacity: state.Resource{MemoryMB: 4096, VCores: 4}})
			}
			size := state.Resource{MemoryMB: 1024, VCores: 1}
			job := func(of string, priority, ms int32, at int64) Job {
				user, queue, _ := strings.Cut(of, "@")
				return Job{
					JobSpec: state.JobSpec{Name: of, User: user, Queue: queue, Priority: priority, Maps: 39, MapSize: size, ReduceSize: size},
					MapWork: []Work{{FixedMs: ms}}, AMSize: size, SubmitMs: at,
				}
			}
			list := []Job{job("a@a", 0, 65_000, 0)}
			for of := range strings.FieldsSeq(x.late) {
				list = append(list, job(of, 1, 10_000, 10_000))
			}
			c.Source = &Jobs{List: list}
			var kills strings.Builder
			last, count := int64(0), 0
			c.Ended = func(e AttemptEnd) {
				if e.Job == 0 && e.UpMs != 0 {
					t.Error("the ApplicationMaster of the first job is taken")
				}
				if e.Outcome != traces.Killed || e.EndMs > 65_000 {
					return
				}
				if e.Job != 0 {
					t.Errorf("a map of job %d is taken at %d ms", e.Job, e.EndMs)
				}
				if e.EndMs != last && count > 0 {
					fmt.Fprintf(&kills, "%d:%d ", last/1000, count)
					count = 0
				}
				last, count = e.EndMs, count+1
			}
			must(Run(c))
			if count > 0 {
				fmt.Fprintf(&kills, "%d:%d ", last/1000, count)
			}
			if kills.String() != x.kills {
				t.Errorf("containers are taken at %q, want %q", kills.String(), x.kills)
			}
		})
	}
}

// TestPreemptionForEver: two queues have half of a cluster each that runs one container. Whoever has it uses twice what
// is guaranteed and loses it after 18 s, a map takes 50 s, and none of the queues comes before the other.
func TestPreemptionForEver(t *testing.T) {
	const p = "yarn.resourcemanager.monitor.capacity.preemption."
	for keys, want := range map[string]string{
		"":                                   "taken from jobs of a since a task last succeeded, for jobs of a, b;",
		p + "max_wait_before_kill=60000":     "",
		p + "max_ignored_over_capacity=1":    "",
		p + "total_preemption_per_round=0.9": "",
		"root.a.disable_preemption=true":     "",
	} {
		m := must(sched.New("capacity", sched.Params{"queues": "root.queues=a,b\nroot.a.capacity=50\nroot.a.user-limit-factor=2\nroot.b.capacity=50\nroot.b.user-limit-factor=2\n" +
			"yarn.resourcemanager.scheduler.monitor.enable=true\n" + p + "natural_termination_factor=1\n" + p + "total_preemption_per_round=1\n" +
			keys}))
		size := state.Resource{MemoryMB: 1024, VCores: 1}
		c := &Config{Model: m, Costs: NoCosts(), MinAllocation: size}
		c.Cluster.Nodes = []Node{{Name: "n", Rack: "r", Capacity: size}}
		var list []Job
		for _, queue := range []string{"a", "b"} {
			list = append(list, Job{
				JobSpec: state.JobSpec{Name: queue, User: queue, Queue: queue, Maps: 1, MapSize: size, ReduceSize: size},
				MapWork: []Work{{FixedMs: 50_000}},
			})
		}
		c.Source = &Jobs{List: list}
		_, err := Run(c)
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%q: error %v, want %q", keys, err, want)
		}
	}
}
