package cmd

import (
	"fmt"

	"github.com/urfave/cli/v2"

	"heddle/harness/config"
	"heddle/harness/experiment"
	"heddle/harness/lab"
)

// findSimulated chooses the cluster that an experiment is simulated on. It is
// that of the flag --cluster, or of the cluster file that the experiment names,
// or that of the run given with --calibration, or else the default cluster.
// Which lab is on this machine makes no difference, unless --cluster names it.
func findSimulated(c *cli.Context, o *runOptions, x *experiment.Options) (err error) {
	var from string
	name := x.Experiment.Cluster
	switch {
	case o.Cluster != "":
		from = "--cluster " + o.Cluster
		x.Cluster, err = loadMachines(o.Cluster)
	case config.IsClusterFile(name):
		from = name
		x.Cluster, err = loadMachines(name)
	case name != lab.Default().Name:
		return usagef("cluster: %s is the name of a lab, and a simulation is not to depend on how a lab was last started; --cluster "+
			"%s simulates that lab, --cluster FILE another cluster", name, name)
	default:
		x.Cluster, err = experiment.ClusterOf(o.Calibration, o.Unverified)
		if from = "the run " + o.Calibration; x.Cluster == nil && err == nil {
			from = "heddle's default, whatever lab there is"
			x.Cluster = config.DefaultCluster()
		}
	}
	if err != nil {
		return usage(err)
	}
	fmt.Fprintf(c.App.ErrWriter, "simulated cluster: %s (%s)", x.Cluster.Name, from)
	if m := x.Cluster.Machines; m != nil {
		fmt.Fprintf(c.App.ErrWriter, ": %d nodes of %d slots in %d racks", m.Nodes, m.Slots, m.Racks)
	}
	fmt.Fprintln(c.App.ErrWriter, "; --cluster FILE takes another")
	return nil
}
