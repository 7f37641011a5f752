package main

import (
	"errors"
	"fmt"
	"io/fs"

	"github.com/urfave/cli/v2"

	"heddle/harness/config"
	"heddle/harness/lab"
)

// clusterFlag is --cluster, for commands that need one.
func clusterFlag() cli.Flag {
	return &cli.StringFlag{Name: "cluster", Value: "lab", Usage: "a cluster `FILE`, or the name of a lab that is up"}
}

// loadCluster finds the cluster that text names: a cluster file, or a lab that
// is up. Commands take text from --cluster or from an experiment.
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

func noLab(name string) error {
	return withCode(exitCluster, fmt.Errorf("no lab named %s is up: heddle lab up --name %s", name, name))
}
