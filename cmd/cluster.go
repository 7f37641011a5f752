package cmd

import (
	"errors"
	"fmt"
	"io/fs"

	"heddle/harness/config"
	"heddle/harness/lab"
)

// loadCluster reads a cluster's description. The argument text is the path of a
// cluster file, or the name of a lab (a Hadoop cluster on this machine) that is
// running.
func loadCluster(text string) (*config.Cluster, error) {
	file := text
	if !config.IsClusterFile(text) {
		l, err := lab.Open(text)
		if errors.Is(err, lab.ErrNotFound) {
			return nil, noLab(text)
		} else if err != nil {
			return nil, usage(err)
		}
		file = l.ClusterFile()
	}
	c, err := config.LoadCluster(file)
	switch {
	case errors.Is(err, fs.ErrNotExist) && file != text:
		return nil, noLab(text)
	case err != nil:
		return nil, usage(err)
	}
	return c, withCode(exitCluster, c.Supported())
}

// loadMachines reads the description of a cluster that the user names for a
// simulation. The argument text is the path of a cluster file, or the name of a
// lab (a Hadoop cluster on this machine), which need not run.
func loadMachines(text string) (*config.Cluster, error) {
	if config.IsClusterFile(text) {
		c, err := config.LoadCluster(text)
		return c, usage(err)
	}
	l, err := lab.Open(text)
	switch {
	case errors.Is(err, lab.ErrNotFound):
		return nil, usagef("no lab was ever started under the name %s; want the name of a lab or a cluster file, which ends in .yaml", text)
	case err != nil:
		return nil, usage(err)
	}
	set := l.Config()
	return &config.Cluster{Name: text, Rates: set.Rates(), Machines: set.Machines()}, nil
}

func noLab(name string) error {
	return withCode(exitCluster, fmt.Errorf("no lab named %s is up; start it with 'heddle lab up --name %s', or name a cluster file "+
		"with --cluster", name, name))
}
