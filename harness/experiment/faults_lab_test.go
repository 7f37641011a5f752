package experiment

import (
	"net"
	"slices"
	"strconv"
	"testing"
	"time"

	"heddle/harness/change"
	"heddle/harness/clients"
	"heddle/harness/config"
	heddlelab "heddle/harness/lab"
	"heddle/harness/lab/labtest"
	"heddle/harness/replay"
	"heddle/harness/replay/recorded"
	"heddle/harness/results"
	"heddle/traces"
)

const lostNode = `
name: lost
workloads:
  - {name: wordcount, size: 48MiB, maps: 6, reduces: 2, settings: {dfs.blocksize: 8388608}}
speculation: none
faults:
  - {at: 7s, node: r1n2, what: down}
  - {at: 26s, node: r1n2, what: up}
`

// TestNodeLost has a worker go down while a job runs, for longer than YARN waits
// for it, and come back. The trace has both, its replay loses the node too, and
// nothing of it stays on the cluster.
func TestNodeLost(t *testing.T) {
	labtest.Long(t)
	c, clients := lab(t)
	run := must(runText(t, c, lostNode))
	h, events := readTrace(t, run)
	if list, want := wentAndCame(t, events), []string{"down r1n2", "up r1n2"}; !slices.Equal(list, want) {
		t.Errorf("nodes: %v, want %v", list, want)
	}
	whole(t, clients)
	trace := must(recorded.New("lost", h, slices.Values(events)))
	again, _ := must2(replay.Run(&replay.Config{Trace: trace, Model: trace.OwnModel(), Seed: 1}))
	trials := must(results.List(run))
	t.Logf("%d ms measured, %d ms replayed", trials[0].MakespanMs, again.MakespanMs)
}

// wentAndCame is what workers did after the trace's first second, in which they
// are first seen.
func wentAndCame(t *testing.T, events []traces.Event) (list []string) {
	t.Helper()
	for _, event := range events {
		switch e := event.(type) {
		case *traces.NodeDown:
			list = append(list, "down "+string(e.Node))
		case *traces.NodeUp:
			if e.T > 1e9 {
				list = append(list, "up "+string(e.Node))
			}
		case *traces.Note:
			t.Log(e.T, e.Text)
		}
	}
	return list
}

// whole says whether all workers run and no note of faults is left. It waits
// until the DataNodes accept connections, so that the next test can write files.
func whole(t *testing.T, c *clients.Clients) {
	t.Helper()
	nodes := must(c.RM.Nodes(t.Context(), "RUNNING"))
	if len(nodes) != 5 {
		t.Errorf("%d nodes run, want 4 and the master's", len(nodes))
	}
	if !within(time.Minute, func() bool { return allWrite(t, c) }) {
		t.Error("not all DataNodes accept connections")
	}
}

// allWrite reports whether each worker's DataNode accepts connections.
func allWrite(t *testing.T, c *clients.Clients) bool {
	t.Helper()
	nodes := must(c.HDFS.DataNodes(t.Context()))
	n := 0
	for _, node := range nodes {
		conn, err := c.Config.DialContext()(t.Context(), "tcp", net.JoinHostPort(node.IP, strconv.Itoa(node.Port)))
		if err == nil && node.Live {
			n++
		}
		if err == nil {
			conn.Close()
		}
	}
	return n == 4
}

// TestLeftFaults leaves a node down as a run does that is killed. A restore brings it
// back.
func TestLeftFaults(t *testing.T) {
	c, clients := lab(t)
	l := labtest.Shared(t) // while it is whole
	target := must(change.Connect(c))
	defer target.Close()
	hold := must(change.Take(t.Context(), target, change.Options{Purpose: "a test"}))
	for what, node := range map[string]traces.Node{config.FaultDown: "r2n2", config.FaultSlow: "r1n1"} {
		mustDo(t, hold.NoteFaults(t.Context(), what, []traces.Node{node}))
		must(hold.Fault(t.Context(), what, node, 0.5))
	}
	if n := running(t, l, "r2n2"); n > 0 {
		t.Errorf("%d daemons run on r2n2, which is down", n)
	}
	hold.Abandon()
	report, err := change.Restore(t.Context(), target, change.RestoreOptions{})
	if err != nil || len(report.Back) != 2 {
		t.Fatalf("%+v, %v; want both nodes put back", report, err)
	}
	if n := running(t, l, "r2n2"); n != 3 {
		t.Errorf("%d daemons run on r2n2, want agent, DataNode and NodeManager", n)
	}
	whole(t, clients)
}

// running counts a node's daemons that run.
func running(t *testing.T, l *heddlelab.Lab, node string) (n int) {
	t.Helper()
	for _, d := range l.Status(t.Context()).Daemons {
		if d.Node == node && d.PID > 0 {
			n++
		}
	}
	return n
}
