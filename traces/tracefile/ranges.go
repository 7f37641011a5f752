package tracefile

import (
	"fmt"
	"maps"
	"slices"

	"heddle/traces"
)

// checkHeader calls the function wrong for each number in a header that is out
// of its range, and for links and disks of nodes that the header does not have. The
// argument text is true if what is wrong is not a number.
func checkHeader(h traces.Header, wrong func(what string, text bool)) {
	number := func(v float64, name string, most int64) {
		if !(v >= 0 && v <= float64(most)) {
			wrong(fmt.Sprintf("%s is %v, want %s", name, v, traces.Want(0, most)), false)
		}
	}
	number(float64(h.StartUnixNs), "startUnixNs", traces.MostTime)
	number(h.Cluster.HostCores, "cluster.hostCores", traces.MostCores)
	number(h.Cluster.OthersCores, "cluster.othersCores", traces.MostCores)
	number(float64(h.Cluster.AMMemoryBytes), "cluster.amMemoryBytes", traces.MostBytes)
	seen := map[traces.Node]bool{}
	for i, n := range h.Cluster.Nodes {
		place := fmt.Sprintf("cluster.nodes[%d].", i)
		traces.OutOfRange(&traces.NodeUp{NodeFacts: n}, func(what string, text bool) { wrong(place+what, text) })
		if seen[n.Node] {
			wrong(fmt.Sprintf("%snode is %q, which an earlier node is", place, n.Node), true)
		}
		seen[n.Node] = true
	}
	for i, l := range h.Cluster.Links {
		number(float64(l.BytesPerSec), fmt.Sprintf("cluster.links[%d].bytesPerSec", i), traces.MostBytes)
		if l.Node != "" && !seen[l.Node] {
			wrong(fmt.Sprintf("cluster.links[%d].node is %q, which is no node of the cluster", i, l.Node), true)
		}
	}
	for i, d := range h.Cluster.Disks {
		number(float64(d.BytesPerSec), fmt.Sprintf("cluster.disks[%d].bytesPerSec", i), traces.MostBytes)
		if !seen[d.Node] {
			wrong(fmt.Sprintf("cluster.disks[%d].node is %q, which is no node of the cluster", i, d.Node), true)
		}
	}
	for i, q := range h.Cluster.Queue {
		number(q.Capacity, fmt.Sprintf("cluster.queues[%d].capacity", i), 1)
	}
	for _, kind := range slices.Sorted(maps.Keys(h.Mended)) {
		number(float64(h.Mended[kind]), fmt.Sprintf("mended[%q]", kind), traces.MostBytes)
	}
}
