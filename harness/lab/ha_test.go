package lab_test

import (
	"context"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"heddle/harness/lab"
	"heddle/harness/lab/labtest"
	"heddle/traces/errtest"
)

// Either master may be killed: the other one's daemons become active, with all that
// was in HDFS, and the killed ones come back as standbys. Hadoop's own commands say so.
func TestTwoMasters(t *testing.T) {
	labtest.Need(t)
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
	defer cancel()
	c := labtest.Default()
	c.Name, c.Nodes, c.Racks, c.Replication, c.HA = "labtest-ha", 1, 1, 1, true
	down(t, c.Name, true)
	t.Cleanup(func() { down(t, c.Name, true) })
	l := up(ctx, t, c)

	hadoop := func(argv ...string) string {
		t.Helper()
		out, err := l.Command(ctx, "r1n1", argv...).CombinedOutput()
		if err != nil {
			t.Fatalf("%s: %v\n%s", strings.Join(argv, " "), err, out)
		}
		return string(out)
	}
	// states returns which masters are active, as Hadoop's commands and the lab's
	// status say, and fails where the two differ.
	states := func() (nameNode, resourceManager string) {
		t.Helper()
		nodes := map[string]string{}
		for _, d := range l.Status(ctx).Daemons {
			if d.HA == "active" {
				nodes[d.Daemon] = d.Node
			}
		}
		for _, m := range []struct{ node, nn, rm string }{{"master", "nn1", "rm1"}, {"master2", "nn2", "rm2"}} {
			nn, rm := "standby", "standby"
			if nodes["namenode"] == m.node {
				nn = "active"
			}
			if nodes["resourcemanager"] == m.node {
				rm = "active"
			}
			if got := hadoop("hdfs", "haadmin", "-getServiceState", m.nn); !strings.HasSuffix(got, nn+"\n") {
				t.Errorf("NameNode on %s: haadmin says %q, the lab's status %q", m.node, got, nn)
			}
			if got := hadoop("yarn", "rmadmin", "-getServiceState", m.rm); !strings.HasSuffix(got, rm+"\n") {
				t.Errorf("ResourceManager on %s: rmadmin says %q, the lab's status %q", m.node, got, rm)
			}
		}
		return nodes["namenode"], nodes["resourcemanager"]
	}
	labels := hadoop("yarn", "cluster", "--list-node-labels")
	hadoop("hadoop", "fs", "-put", "/etc/hosts", "/before")
	for range 2 { // the second round is a way back
		was := map[string]string{}
		was["namenode"], was["resourcemanager"] = states()
		for daemon, node := range was {
			mustDo(t, l.Kill(ctx, node, daemon, unix.SIGKILL))
		}
		waitFor(t, 2*time.Minute, "the other masters to be active", func() bool {
			is := map[string]string{}
			for _, d := range l.Status(ctx).Daemons {
				if d.HA == "active" {
					is[d.Daemon] = d.Node
				}
			}
			return len(is) == 2 && is["namenode"] != was["namenode"] && is["resourcemanager"] != was["resourcemanager"]
		})
		hosts := must(os.ReadFile(l.Cluster().Hadoop.Conf + "/../hosts"))
		if got := hadoop("hadoop", "fs", "-cat", "/before"); !strings.HasSuffix(got, string(hosts)) {
			t.Errorf("/before has %q, want %q", got, hosts)
		}
		if got := hadoop("yarn", "cluster", "--list-node-labels"); sorted(got) != sorted(labels) {
			t.Errorf("labels are %s, and were %s", got, labels)
		}
		l = up(ctx, t, c) // starts what was killed
	}
	states()
	down(t, c.Name, false)
	l = up(ctx, t, c)
	hadoop("hadoop", "fs", "-rm", "/before")
	one := c
	one.HA = false
	down(t, c.Name, false)
	errtest.Has(t, errtest.Of(lab.Up(ctx, one, nil)), "--purge")
}

// sorted returns the words of a list with commas in order. The ResourceManager prints
// labels in any order, after lines of its client's log.
func sorted(list string) string {
	_, list, _ = strings.Cut(list, "Node Labels: ")
	words := strings.Split(strings.TrimSpace(list), ",")
	slices.Sort(words)
	return strings.Join(words, ",")
}
