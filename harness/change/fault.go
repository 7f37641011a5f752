package change

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"sync"
	"time"

	"heddle/collectors/hdfs"
	"heddle/harness/config"
	"heddle/traces"
	"heddle/traces/hosts"
	"heddle/yarnclient"
)

// Time limits for bringing a node back to normal: first for the cluster's
// command, then until the node's daemons run.
const (
	commandLimit = 20 * time.Second
	backLimit    = 2 * time.Minute
)

// fault is the kind of faults that heddle causes on nodes. Its value is the fault that
// undoes them: config.FaultUp starts a node that is down, config.FaultSlow gives a
// slow node its normal speed.
type fault string

// undoneBy returns the kind of a fault, to be noted.
func undoneBy(what string) Kind {
	if what == config.FaultSlow {
		return NodeSlow
	}
	return NodeDown
}

// NoteFaults writes to the journal which nodes are to be brought back to normal. It
// is called before the first fault of a trial, since the journal is slow to write
// while nodes are down.
func (h *Hold) NoteFaults(ctx context.Context, what string, nodes []traces.Node) error {
	return h.do("note faults", func() error {
		var list []Change
		for _, n := range nodes {
			list = append(list, Change{Kind: undoneBy(what), Name: string(n)})
		}
		return h.noteAll(ctx, list...)
	})
}

// Fault causes a fault on a node with the cluster file's command, which NoteFaults has
// noted. It returns what the command said.
func (h *Hold) Fault(ctx context.Context, what string, node traces.Node, speed float64) (said string, err error) {
	err = h.do("fault", h.Alive, func() error {
		if !h.noted(key{kind: undoneBy(what), name: string(node)}) {
			return fmt.Errorf("node %s %s: it is not noted", node, what)
		}
		if what == config.FaultDown {
			nodes, err := h.cluster.RM.Nodes(ctx)
			if err != nil {
				return err
			}
			h.mu.Lock()
			for _, n := range nodes {
				if n.Host == string(node) {
					h.downed[n.Host] = n.LastHealthMs
				}
			}
			h.mu.Unlock()
		}
		said, err = fault(what).carryOut(ctx, h.cluster, node, speed)
		return err
	})
	return said, err
}

// carryOut runs the cluster file's command for a fault on one node.
func (f fault) carryOut(ctx context.Context, c *Target, node traces.Node, speed float64) (said string, err error) {
	command := c.Faults.For(string(f), node, speed)
	if len(command) == 0 {
		return "", fmt.Errorf("node %s %s: the cluster file has no command for it, or the node's name has characters that a command may "+
			"not have", node, f)
	}
	out, err := c.Run(ctx, command)
	if err != nil {
		err = fmt.Errorf("%s: %w: %s", strings.Join(command, " "), err, strings.Join(strings.Fields(string(out)), " "))
	}
	return fmt.Sprintf("%q\n%s", command, out), err
}

// Left takes each fault for one that is there until its undoing command has run, since
// a cluster does not show a slow node, and a node that went down only later. After the
// command, a node is back when it runs for the ResourceManager and, if this process
// took it down, has registered anew, and when its DataNode lives.
func (f fault) Left(ctx context.Context, u *undoing, list []Change) (finder, error) {
	var running []yarnclient.Node
	var disks []hdfs.DataNode
	var names hosts.Names
	if string(f) == config.FaultUp && slices.ContainsFunc(list, u.done) {
		var err error
		if running, err = nodes(ctx, u.RM, "RUNNING"); err != nil {
			return nil, err
		}
		if disks, err = u.HDFS.DataNodes(ctx); err != nil && !errors.Is(err, fs.ErrPermission) { // a NameNode may tell it only to superusers
			return nil, err
		}
		for _, n := range running {
			names.See(n.Host, hosts.Ran)
		}
		for _, d := range disks {
			names.See(d.Host, hosts.Stored)
		}
	}
	return func(c Change) finding {
		u.h.mu.RLock()
		before, ours := u.h.downed[c.Name]
		u.h.mu.RUnlock()
		runs := slices.ContainsFunc(running, func(n yarnclient.Node) bool {
			return n.Host == c.Name && (!ours || n.LastHealthMs != before)
		})
		dead := slices.ContainsFunc(disks, func(d hdfs.DataNode) bool { return names.Of(d.Host) == c.Name && !d.Live })
		switch {
		case !u.done(c):
			return finding{left, "no command has undone it"}
		case string(f) == config.FaultUp && !u.hurry && (!runs || dead):
			return finding{coming, "it does not run again; see the logs of its NodeManager and DataNode"}
		}
		return finding{}
	}, nil
}

// Undo runs the commands of all nodes at the same time.
func (f fault) Undo(ctx context.Context, u *undoing, list []Change) []error {
	errs := make([]error, len(list))
	var running sync.WaitGroup
	for i, c := range list {
		running.Go(func() {
			_, errs[i] = f.carryOut(ctx, u.Target, traces.Node(c.Name), 1)
		})
	}
	running.Wait()
	return errs
}
