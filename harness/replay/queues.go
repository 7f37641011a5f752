package replay

import (
	"heddle/harness/sched"
	"heddle/harness/sim"
	"heddle/harness/state"
)

// What YARN takes if nothing else is set: the smallest container, in MB, and the time between
// rounds of asynchronous scheduling. uncounted is more cores than containers of a node can use.
const shippedMinMB, shippedAsyncMs, uncounted = 1024, 5, 1 << 10

// byQueues sets what a capacity-scheduler.xml says of all nodes, if the model follows one:
// whether YARN counts cores, and when it looks for room. Limits are of whole smallest
// containers: of YARN's as shipped, unless the trace knows better or asks for smaller ones.
func (c *Config) byQueues(x *sim.Config) {
	f := sched.QueuesOf(x.Model)
	if f == nil {
		return
	}
	if f.Async && x.Costs.AsyncMs == 0 {
		x.Costs.AsyncMs = shippedAsyncMs
	}
	for i := range x.Cluster.Nodes {
		if n := &x.Cluster.Nodes[i]; !f.Dominant {
			n.Capacity.VCores = uncounted
		}
	}
	if x.MinAllocation.MemoryMB == 0 {
		x.MinAllocation = state.Resource{MemoryMB: min(shippedMinMB, c.Trace.SmallestMB()), VCores: 1}
	}
}
