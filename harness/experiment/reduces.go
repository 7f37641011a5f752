package experiment

import (
	"context"
	"strconv"

	"heddle/harness/clients"
	"heddle/harness/config"
	"heddle/harness/require"
	"heddle/harness/runs"
	"heddle/traces"
)

// fillReduces sets the reduces of the workloads that name none, by what the clusters have
// for containers, and tells what it has set. A run that is resumed keeps what it began with.
func (o *Options) fillReduces(clusters ...config.Room) {
	if o.Resume != "" {
		return
	}
	filled, notes := o.Experiment.FillReduces(clusters...)
	o.reduces = map[string]string{}
	for label, w := range filled {
		o.reduces[reducesKey+label], o.reduces[slowStartKey+label] = strconv.Itoa(w.Reduces), w.Settings[config.SlowStart]
	}
	for _, text := range notes {
		o.Progress(Step{Doing: "plan", Text: text})
	}
}

// Keys of a run's settings: what was set in a workload that named no reduces.
const (
	reducesKey   = "reduces."
	slowStartKey = "slowStart."
)

// keepReduces sets in the experiment of a run that is resumed what was set when it began.
func keepReduces(e *config.Experiment, m runs.Manifest) {
	for i := range e.Workloads {
		w := &e.Workloads[i]
		if n, err := strconv.Atoi(m.Settings[reducesKey+w.Label]); err == nil && w.Reduces == 0 {
			w.Reduces = n
			w.SetSlowStart(m.Settings[slowStartKey+w.Label])
		}
	}
}

// roomOf returns what a described cluster has for containers.
func roomOf(c *config.Cluster) config.Room {
	facts, _ := c.Machines.Facts(c.Name, c.Rates)
	return config.Room{Workers: facts.Nodes, ContainerBytes: int64(c.Machines.Container), Checkout: c.HiBench != ""}
}

// roomNow asks a cluster what it has for containers, unless its file says.
func roomNow(ctx context.Context, c *clients.Clients) (config.Room, error) {
	if c.Config.Machines != nil {
		return roomOf(c.Config), nil
	}
	r := config.Room{ContainerBytes: 1 << 30, Checkout: c.Config.HiBench != ""} // Hadoop's default
	nodes, err := c.RM.Nodes(ctx, "RUNNING")
	for _, n := range nodes {
		if n.Label() != require.Masters {
			r.Workers = append(r.Workers, traces.NodeFacts{Node: traces.Node(n.Host), Rack: n.Rack, MemoryBytes: (n.UsedMB + n.AvailMB) << 20})
		}
	}
	if value, cerr := c.History.Conf(ctx, "mapreduce.map.memory.mb"); cerr == nil {
		if mb, perr := strconv.ParseInt(value, 10, 32); perr == nil && mb > 0 {
			r.ContainerBytes = mb << 20
		}
	}
	return r, err
}
