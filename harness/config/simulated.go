package config

import (
	_ "embed"
	"fmt"
	"strings"

	"go.yaml.in/yaml/v4"
)

//go:embed default.yaml
var defaultCluster []byte

// DefaultCluster returns the cluster that a simulation has if nothing names another.
// It is the same on every machine, whatever lab was started there.
func DefaultCluster() *Cluster {
	c, err := ParseCluster("default.yaml", defaultCluster)
	if err != nil {
		panic(err) // the file is part of this program
	}
	c.User = ""
	return c
}

// Described returns what a simulation knows of a cluster: the values of the keys
// machines and rates of its file, with defaults filled in. The keys are written like
// "machines.nodes".
func (c *Cluster) Described() map[string]string {
	known := map[string]string{}
	data, err := yaml.Marshal(struct {
		Machines *Machines `yaml:"machines"`
		Rates    Rates     `yaml:"rates"`
	}{c.Machines, c.Rates})
	var tree map[string]map[string]any
	if err == nil {
		err = yaml.Unmarshal(data, &tree)
	}
	if err != nil {
		panic(err) // the types of a cluster file can be written and read
	}
	for part, keys := range tree {
		for key, value := range keys {
			known[part+"."+key] = strings.Trim(fmt.Sprint(value), "[]")
		}
	}
	return known
}
