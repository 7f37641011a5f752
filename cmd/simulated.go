package cmd

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/urfave/cli/v2"

	"heddle/harness/config"
	"heddle/harness/experiment"
	"heddle/harness/lab"
	"heddle/harness/runs"
)

// findSimulated chooses the cluster that an experiment is simulated on. It is
// that of the flag --cluster, or of the cluster file that the experiment names,
// or that of the run given with --calibration, or else the default cluster.
// Which lab is on this machine makes no difference, unless --cluster names it.
func findSimulated(c *cli.Context, o *experiment.Options) (err error) {
	var from string
	name := o.Experiment.Cluster
	switch {
	case c.IsSet("cluster"):
		from = "--cluster " + c.String("cluster")
		o.Cluster, err = loadMachines(c.String("cluster"))
	case config.IsClusterFile(name):
		from = name
		o.Cluster, err = loadMachines(name)
	case name != lab.Default().Name:
		return withCode(exitUsage, fmt.Errorf("cluster: %s is the name of a lab, and a simulation is not to depend on how a lab was last started; --cluster %s simulates that lab, --cluster FILE another cluster", name, name))
	default:
		o.Cluster, err = calibratedCluster(c.String("calibration"), o.Unverified)
		if from = "the run " + c.String("calibration"); o.Cluster == nil && err == nil {
			from = "heddle's default, whatever lab there is"
			o.Cluster = config.DefaultCluster()
		}
	}
	if err != nil {
		return err
	}
	fmt.Fprintf(c.App.ErrWriter, "simulated cluster: %s (%s)", o.Cluster.Name, from)
	if m := o.Cluster.Machines; m != nil {
		fmt.Fprintf(c.App.ErrWriter, ": %d nodes of %d slots in %d racks", m.Nodes, m.Slots, m.Racks)
	}
	fmt.Fprintln(c.App.ErrWriter, "; --cluster FILE takes another")
	return nil
}

// calibratedCluster returns the cluster of the run folder that a calibration is
// fitted to. It returns nil if the calibration is a file, or if the run kept no
// description of its cluster.
func calibratedCluster(calibration string, unverified bool) (*config.Cluster, error) {
	const file = "cluster.yaml"
	if info, err := os.Stat(calibration); err != nil || !info.IsDir() {
		return nil, nil // calibrationOf reports a file that cannot be read
	}
	run, err := runs.Open(calibration)
	if err != nil {
		return nil, withCode(exitUsage, err)
	}
	run.Unverified = unverified
	if _, ok := run.File(file); !ok {
		return nil, nil
	}
	data, err := run.ReadFile(file)
	if err != nil {
		return nil, withCode(exitUsage, err)
	}
	cluster, err := config.ParseCluster(filepath.Join(calibration, file), data)
	if err == nil && cluster.Machines == nil {
		err = fmt.Errorf("calibration: %s does not describe its nodes (key machines); give a cluster file that does, with --cluster", filepath.Join(calibration, file))
	}
	return cluster, withCode(exitUsage, err)
}
