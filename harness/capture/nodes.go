package capture

import (
	"context"
	"errors"
	"io/fs"
	"slices"
	"strings"

	"heddle/collectors/hdfs"
	"heddle/harness/watch"
	"heddle/traces"
)

// The function facts returns the cluster's nodes. It adds three values from heddle's
// configuration of the cluster: the rates of disks and of links, in bytes per second,
// and the number of cores that nodes on one machine share.
func facts(ctx context.Context, w *watch.Watcher) (traces.ClusterFacts, error) {
	nodes, err := nodeFacts(ctx, w)
	f := traces.ClusterFacts{Name: w.Cluster.Config.Name, Nodes: nodes}
	rates := w.Cluster.Config.Rates
	if err != nil {
		return f, err
	}
	f.HostCores = rates.HostCores
	var racks []string
	for _, n := range nodes {
		if !n.Worker {
			continue
		}
		if rates.Disk > 0 {
			f.Disks = append(f.Disks, traces.DiskFacts{Node: n.Node, BytesPerSec: int64(rates.Disk)})
		}
		if rates.Link > 0 {
			f.Links = append(f.Links, traces.LinkFacts{Node: n.Node, BytesPerSec: int64(rates.Link)})
		}
		if !slices.Contains(racks, n.Rack) {
			racks = append(racks, n.Rack)
		}
	}
	slices.Sort(racks)
	for _, rack := range racks {
		if rates.Uplink > 0 {
			f.Links = append(f.Links, traces.LinkFacts{Rack: rack, BytesPerSec: int64(rates.Uplink)})
		}
	}
	return f, nil
}

// nodeFacts returns the running nodes, sorted by name. A node without a DataNode counts
// as a worker only if no node has one: otherwise such nodes are kept for
// ApplicationMasters.
func nodeFacts(ctx context.Context, w *watch.Watcher) ([]traces.NodeFacts, error) {
	nodes, err := w.Nodes(ctx, 0)
	if err != nil {
		return nil, err
	}
	dataNodes, err := w.DataNodes(ctx)
	if err != nil && !errors.Is(err, fs.ErrPermission) { // HDFS gives the list of DataNodes to superusers only
		return nil, err
	}
	byHost := map[string]hdfs.DataNode{}
	for _, d := range dataNodes {
		byHost[d.Host] = d
	}
	var facts []traces.NodeFacts
	for _, n := range nodes {
		if n.State != "RUNNING" {
			continue
		}
		d, holdsData := byHost[n.Host]
		facts = append(facts, traces.NodeFacts{
			Node: traces.Node(n.Host), Rack: n.Rack,
			MemoryBytes: n.Total.MemoryMB << 20, VCores: int32(n.Total.VCores),
			CacheBytes: d.CacheCapacity, Worker: holdsData || len(dataNodes) == 0,
		})
	}
	slices.SortFunc(facts, func(a, b traces.NodeFacts) int { return strings.Compare(string(a.Node), string(b.Node)) })
	return facts, nil
}

func racksOf(nodes []traces.NodeFacts) map[traces.Node]string {
	racks := map[traces.Node]string{}
	for _, n := range nodes {
		racks[n.Node] = n.Rack
	}
	return racks
}
