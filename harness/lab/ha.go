package lab

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"heddle/traces/printable"
)

// With Config.HA the lab has two masters. The node "keeper" has what they share:
// a JournalNode with HDFS's edits, and a ZooKeeper server, by which they agree on
// who is active and where the ResourceManagers keep applications. A physical
// cluster has three of each. Here either master may fail, but not the keeper.
//
// Beside each NameNode runs Hadoop's failover controller. It makes the NameNode
// active when the other one fails. ResourceManagers need no such help.

// shareEdits prepares HDFS for its second NameNode, unless that was done before. It
// gives the NameNode a copy of what the first one has after it was formatted, and
// makes the JournalNode's folder, with the same ids. The copy comes last, under its
// final name only when it is whole.
func (l *Lab) shareEdits(ctx context.Context) error {
	if !l.Cfg.HA {
		return nil
	}
	name := l.nodePath("master2", "name")
	if _, err := os.Stat(name + "/current"); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	const script = `set -e
mkdir -p "$3/lab/current/paxos"
sed 's/NAME_NODE/JOURNAL_NODE/; /^blockpoolID=/d' "$1/current/VERSION" >"$3/lab/current/VERSION"
rm -rf "$2/new"
cp -r "$1/current" "$2/new"
mv "$2/new" "$2/current"`
	out, err := l.asHadoop(ctx, l.master(), "sh", "-c", script, "sh", l.nodePath("master", "name"), name, l.nodePath("keeper", "journal"))
	if err != nil {
		return fmt.Errorf("prepare HDFS for a second NameNode: %w\n%s", err, printable.LastLines(out, 12))
	}
	return nil
}

// zkForgotten empties ZooKeeper: applications and queue settings of the lab's last
// start do not come back. It must not run.
func (l *Lab) zkForgotten() error {
	return errors.Join(os.RemoveAll(l.nodePath("keeper", "zookeeper")), os.RemoveAll(l.electionFile()))
}

// electionFile is a file that exists once ZooKeeper has the folder in which failover
// controllers elect a NameNode.
func (l *Lab) electionFile() string { return l.nodePath("keeper", "election") }

// makeElection makes the folder in ZooKeeper in which failover controllers elect the
// active NameNode, unless it was made before. Without it they do not start.
func (l *Lab) makeElection(ctx context.Context) error {
	if _, err := os.Stat(l.electionFile()); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	out, err := l.runMain(ctx, l.master(), failoverController, "-formatZK", "-nonInteractive")
	if err != nil && !bytes.Contains(out, []byte("already exists")) {
		return fmt.Errorf("make the election of a NameNode in ZooKeeper: %w\n%s", err, printable.LastLines(out, 12))
	}
	return writeFile(l.electionFile(), nil, 0o644)
}

// haState returns what a NameNode or ResourceManager says of itself, in lower case:
// "active" or "standby", or another word while it starts. It is empty if there is no
// answer.
func (l *Lab) haState(ctx context.Context, n node, d daemon) string {
	switch d {
	case nameNode:
		var status struct{ Beans []struct{ State string } }
		if l.get(ctx, n, portNNHTTP, "/jmx?qry=Hadoop:service=NameNode,name=NameNodeStatus", &status) && len(status.Beans) == 1 {
			return strings.ToLower(status.Beans[0].State)
		}
	case resourceManager:
		var info struct{ ClusterInfo struct{ HAState string } }
		if l.get(ctx, n, portRM, "/ws/v1/cluster/info", &info) {
			return strings.ToLower(info.ClusterInfo.HAState)
		}
	}
	return ""
}

const (
	active  = "active"
	standby = "standby"
)
