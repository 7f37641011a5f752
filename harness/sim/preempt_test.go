package sim

import (
	"fmt"
	"strings"
	"testing"

	"heddle/harness/sched"
	"heddle/harness/state"
	"heddle/traces"
)

// TestPreemption has a queue fill a cluster of 40 containers of which half are guaranteed to another, whose
// job comes after 10 s. When how many containers are taken is computed by hand.
//
// Of the late job, only the ApplicationMaster asks at first, for one container, which is chosen at 12 s and ended at 27 s.
// Then its user may have 19 more. With the defaults, a round wants a tenth of the cluster at most, and a fifth of
// that, 819 MB: one container, each 18 s.
func TestPreemption(t *testing.T) {
	const on = "yarn.resourcemanager.scheduler.monitor.enable=true\n"
	const p = "yarn.resourcemanager.monitor.capacity.preemption."
	const all = on + p + "natural_termination_factor=1\n" + p + "total_preemption_per_round=1\n"
	for name, x := range map[string]struct{ keys, kills string }{
		"off":                        {p + "natural_termination_factor=1", ""},
		"as shipped":                 {on, "27:1 45:1 63:1 "},
		"all that is due":            {all, "27:1 45:19 "},
		"sooner":                     {all + p + "monitoring_interval=1000\n" + p + "max_wait_before_kill=4000", "15:1 20:19 "},
		"four of a round":            {all + p + "total_preemption_per_round=0.1", "27:1 45:4 63:4 "},
		"observed":                   {all + p + "observe_only=true", ""},
		"within what is ignored":     {all + p + "max_ignored_over_capacity=1", ""},
		"beyond what is ignored":     {all + p + "max_ignored_over_capacity=0.9", "27:1 45:19 "},
		"not of this queue":          {all + "root.a.disable_preemption=true", ""},
		"not of any queue but this":  {all + "root.disable_preemption=true\nroot.a.disable_preemption=false", "27:1 45:19 "},
		"what the other cannot have": {all + "root.b.maximum-capacity=50\nroot.b.user-limit-factor=0.5", "27:1 45:9 "},
	} {
		t.Run(name, func(t *testing.T) {
			m := must(sched.New("capacity", sched.Params{"queues": "root.queues=a,b\nroot.a.capacity=50\nroot.a.user-limit-factor=2\nroot.b.capacity=50\nnode-locality-delay=-1\n" +
				"per-node-heartbeat.maximum-offswitch-assignments=9\nmaximum-am-resource-percent=1\n" + x.keys}))
			c := &Config{Model: m, Costs: NoCosts(), MinAllocation: state.Resource{MemoryMB: 1024, VCores: 1}}
			for i := range 10 {
				c.Cluster.Nodes = append(c.Cluster.Nodes, Node{Name: fmt.Sprint("n", i), Rack: "r", Capacity: state.Resource{MemoryMB: 4096, VCores: 4}})
			}
			size := state.Resource{MemoryMB: 1024, VCores: 1}
			job := func(queue string, maps, ms int32, at int64) Job {
				return Job{
					JobSpec: state.JobSpec{Name: queue, User: queue, Queue: queue, Maps: maps, MapSize: size, ReduceSize: size},
					MapWork: []Work{{FixedMs: ms}}, AMSize: size, SubmitMs: at,
				}
			}
			c.Source = &Jobs{List: []Job{job("a", 39, 65_000, 0), job("b", 39, 10_000, 10_000)}}
			var kills strings.Builder
			last, count := int64(0), 0
			c.Ended = func(e AttemptEnd) {
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
