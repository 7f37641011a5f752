package experiment

import (
	"context"
	"fmt"

	"heddle/harness/clients"
	"heddle/harness/config"
	"heddle/traces"
	"heddle/yarnclient"
)

// refusal returns an error that lists the problems of an experiment file, nil if there
// are none.
func refusal(e *config.Experiment, list ...config.Problem) error {
	if len(list) == 0 {
		return nil
	}
	return &config.Error{File: e.Name, Problems: list}
}

// refuseKeys returns an error that lists those keys of an experiment file that
// the cluster does not support, and the deadlines by jobs' times alone that are not
// known of it. A run that is resumed has recorded its own.
func (o *Options) refuseKeys(c *config.Cluster) error {
	e := o.Experiment
	var list []config.Problem
	refuse := func(bad bool, path, format string, args ...any) {
		if bad {
			list = append(list, config.Problem{Path: path, Message: fmt.Sprintf(format, args...)})
		}
	}
	refuse(e.Actuator == config.ActuatorIdeal, "actuator", "no cluster starts each decision at once; want %s, or use --simulate",
		config.ActuatorLabels)
	refuse(e.CachePolicy != "", "cachePolicy", "cluster %s has the HDFS cache only, which has no policy; remove the key, or use --simulate",
		c.Name)
	refuse(e.Speculation == config.SpeculationLATE, "speculation", "Hadoop has no rule %s; want %s or %s, or use --simulate",
		config.SpeculationLATE, config.SpeculationNone, config.SpeculationHadoop)
	for i := range e.Models {
		refuse(e.Models[i].FollowsQueues(), fmt.Sprintf("models[%d]", i), "a ResourceManager follows a file of its own; want %s, with "+
			"machines.queues for one that is emulated, or use --simulate", config.ModelYARN)
	}
	for i := range e.Faults {
		f, path := &e.Faults[i], fmt.Sprintf("faults[%d]", i)
		refuse(f.What == config.FaultFailAttempts, path+".what", "no cluster supports %s; use --simulate", f.What)
		refuse(f.What != config.FaultFailAttempts && c.Faults.For(f.What, "node", 1) == nil, path+".what",
			"the file of cluster %s has no command for %s; want one under faults: (nodeDown and nodeUp, or nodeSlow)", c.Name, f.What)
	}
	for i, w := range e.Workloads {
		text, _ := w.Deadline.MarshalText()
		why := ""
		switch {
		case !ofAlone(w) || o.Resume != "":
		case o.Calibration == nil:
			why = "which is not known on a cluster before it ran; give --calibration with a run of this cluster, use --simulate, or give a time " +
				"after the submission, such as 90s"
		case c.Machines == nil:
			why = fmt.Sprintf("but the file of cluster %s has no machines to simulate it on; add them, or give a time after the submission, "+
				"such as 90s", c.Name)
		}
		refuse(why != "", fmt.Sprintf("workloads[%d].deadline", i), "%s of the time that a job takes alone, %s", text, why)
	}
	return refusal(e, list...)
}

// refuseNodes returns an error that lists those faults and changes of capacity of
// an experiment that name a node which does not exist.
func refuseNodes(e *config.Experiment, nodes []traces.NodeFacts) error {
	var list []config.Problem
	for i := range e.Faults {
		if _, err := e.Faults[i].On(nodes); err != nil {
			list = append(list, config.Problem{Path: fmt.Sprintf("faults[%d]", i), Message: err.Error()})
		}
	}
	if _, err := e.Capacity.Timetable(nodes); err != nil {
		list = append(list, config.Problem{Path: "capacity", Message: err.Error()})
	}
	return refusal(e, list...)
}

// refuseNodesOf calls refuseNodes with the workers of a cluster. Workers that
// are down count too, since a killed run with faults may have stopped them.
func refuseNodesOf(ctx context.Context, e *config.Experiment, c *clients.Clients) error {
	if len(e.Faults) == 0 && !e.Capacity.Given() {
		return nil
	}
	list, err := c.RM.Nodes(ctx, "RUNNING", "LOST", "UNHEALTHY", "SHUTDOWN", "REBOOTED")
	if err != nil {
		return err
	}
	return refuseNodes(e, factsOf(list))
}

func factsOf(list []yarnclient.Node) []traces.NodeFacts {
	var nodes []traces.NodeFacts
	for _, n := range list {
		nodes = append(nodes, traces.NodeFacts{Node: traces.Node(n.Host), Rack: n.Rack})
	}
	return nodes
}
