package experiment

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os/exec"
	"path"
	"slices"
	"strconv"
	"testing"
	"time"

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
	run, err := runText(t, c, lostNode)
	if err != nil {
		t.Fatal(err)
	}
	h, events := readTrace(t, run)
	if list, want := wentAndCame(t, events), []string{"down r1n2", "up r1n2"}; !slices.Equal(list, want) {
		t.Errorf("nodes: %v, want %v", list, want)
	}
	whole(t, clients)
	trace, err := recorded.New("lost", h, slices.Values(events))
	if err != nil {
		t.Fatal(err)
	}
	again, _, err := replay.Run(&replay.Config{Trace: trace, Model: trace.OwnModel(), Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	trials, err := results.List(run)
	if err != nil {
		t.Fatal(err)
	}
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
	nodes, err := c.RM.Nodes(t.Context(), "RUNNING")
	if err != nil {
		t.Fatal(err)
	}
	if len(nodes) != 5 {
		t.Errorf("%d nodes run, want 4 and the master's", len(nodes))
	}
	if !within(time.Minute, func() bool { return allWrite(t, c) }) {
		t.Error("not all DataNodes accept connections")
	}
	if notes, err := c.HDFS.Names(t.Context(), faultsRoot); len(notes) > 0 || err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("notes of faults: %v, %v", notes, err)
	}
}

// allWrite reports whether each worker's DataNode accepts connections.
func allWrite(t *testing.T, c *clients.Clients) bool {
	t.Helper()
	nodes, err := c.HDFS.DataNodes(t.Context())
	if err != nil {
		t.Fatal(err)
	}
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

// TestLeftFaults leaves a node down as a run does that is killed. The next brings
// it back.
func TestLeftFaults(t *testing.T) {
	c, clients := lab(t)
	l := labtest.Shared(t) // while it is whole
	dead := exec.Command("true")
	if err := dead.Run(); err != nil {
		t.Fatal(err)
	}
	files, err := clients.HDFS.Files()
	if err != nil {
		t.Fatal(err)
	}
	note := path.Join(faultsRoot, fmt.Sprintf("%s%d-1-0", ownPrefix(faultsPrefix), dead.Process.Pid))
	for _, u := range []undo{{config.FaultUp, "r2n2"}, {config.FaultSlow, "r1n1"}} {
		if err := files.MkdirAll(path.Join(note, u.String()), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for _, command := range [][]string{c.Faults.For(config.FaultDown, "r2n2", 0), c.Faults.For(config.FaultSlow, "r1n1", 0.5)} {
		if err := carryOutFault(t.Context(), nil, command); err != nil {
			t.Fatal(err)
		}
	}
	if n := running(t, l, "r2n2"); n > 0 {
		t.Errorf("%d daemons run on r2n2, which is down", n)
	}
	if err := undoLeftFaults(t.Context(), clients, func(text string) { t.Log(text) }); err != nil {
		t.Fatal(err)
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
