package main

import (
	"errors"
	"fmt"
	"io/fs"

	"github.com/urfave/cli/v2"

	"heddle/harness/config"
	"heddle/harness/lab"
)

// clusterFlag returns the flag --cluster, for commands that need a cluster.
func clusterFlag() cli.Flag {
	return &cli.StringFlag{Name: "cluster", Value: "lab", Usage: "a cluster `FILE`, or the name of a lab that is up"}
}

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
			return nil, withCode(exitUsage, err)
		}
		file = l.ClusterFile()
	}
	c, err := config.LoadCluster(file)
	switch {
	case errors.Is(err, fs.ErrNotExist) && file != text:
		return nil, noLab(text)
	case err != nil:
		return nil, withCode(exitUsage, err)
	}
	return c, withCode(exitCluster, c.Supported())
}

// loadMachines reads a cluster's description for a simulation. The argument
// text is the path of a cluster file, or the name of a lab (a Hadoop cluster on
// this machine). The lab need not run. Only the default lab need not exist.
func loadMachines(text string) (*config.Cluster, error) {
	if !config.IsClusterFile(text) {
		set := lab.Default()
		l, err := lab.Open(text)
		switch {
		case err == nil:
			set = l.Config()
		case !errors.Is(err, lab.ErrNotFound):
			return nil, withCode(exitUsage, err)
		case text != set.Name: // a lab that was never started has the default settings, but this may be a mistake
			return nil, withCode(exitUsage, fmt.Errorf("no lab was ever started under the name %s; want the name of a lab or a cluster file, which ends in .yaml", text))
		}
		set.Name = text
		return &config.Cluster{Name: text, Rates: set.Rates(), Machines: set.Machines()}, nil
	}
	c, err := config.LoadCluster(text)
	return c, withCode(exitUsage, err)
}

func noLab(name string) error {
	return withCode(exitCluster, fmt.Errorf("no lab named %s is up; start it with 'heddle lab up --name %s'", name, name))
}
