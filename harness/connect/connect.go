// Package connect turns a cluster file into clients of what it names: the
// ResourceManager, the history server, the NameNode and the agents. Nothing is
// connected before it is asked something; what is reachable is doctor's
// question.
package connect

import (
	"context"
	"errors"
	"fmt"

	"heddle/collectors/hdfs"
	"heddle/collectors/node/agent"
	"heddle/harness/config"
	"heddle/yarnclient"
)

// Cluster holds clients of one cluster. Each is safe for use by many
// goroutines.
type Cluster struct {
	Config  *config.Cluster
	RM      *yarnclient.RM
	History *yarnclient.History
	HDFS    *hdfs.Client
	// Agents are in the order of the cluster file.
	Agents []Agent
}

// Agent is the client of one node's agent.
type Agent struct {
	Node string
	*agent.Client
}

// To makes the clients. It fails on a cluster file that names something
// unusable, such as an agent whose token file cannot be read.
func To(c *config.Cluster) (*Cluster, error) {
	dial := c.DialContext()
	rm, err := yarnclient.NewRM(yarnclient.Options{Addresses: c.ResourceManagers, User: c.User, DialContext: dial})
	if err != nil {
		return nil, err
	}
	history, err := yarnclient.NewHistory(yarnclient.Options{Addresses: []string{c.HistoryServer}, User: c.User, DialContext: dial})
	if err != nil {
		return nil, err
	}
	namenode, err := hdfs.New(hdfs.Options{NameNodes: c.NameNodes, User: c.User, DialContext: dial})
	if err != nil {
		return nil, err
	}
	cluster := &Cluster{Config: c, RM: rm, History: history, HDFS: namenode}
	for _, a := range c.Agents {
		client, err := agent.NewClient(agent.ClientOptions{URL: a.URL, TokenFile: a.TokenFile, CAFile: a.CAFile, DialContext: dial})
		if err != nil {
			return nil, fmt.Errorf("agent of %s: %w", a.Node, err)
		}
		cluster.Agents = append(cluster.Agents, Agent{a.Node, client})
	}
	return cluster, nil
}

// Close ends the connections.
func (c *Cluster) Close() error {
	c.RM.Close()
	c.History.Close()
	return c.HDFS.Close()
}

// DropCaches empties the page cache of every node that has an agent, so that
// the next reads are cold. It fails, after having asked all, where one could
// not or may not.
func (c *Cluster) DropCaches(ctx context.Context) error {
	if len(c.Agents) == 0 {
		return errors.New("drop page caches: the cluster file names no agent; cold reads need one a node, started with --allow-drop-caches")
	}
	var errs []error
	for _, a := range c.Agents {
		if _, err := a.Client.DropCaches(ctx); err != nil {
			errs = append(errs, fmt.Errorf("drop page cache of %s: %w", a.Node, err))
		}
	}
	return errors.Join(errs...)
}
