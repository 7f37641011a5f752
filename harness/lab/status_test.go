package lab_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"heddle/harness/doc"
	"heddle/harness/lab"
)

// TestStatusText: a daemon that is down has neither a process nor memory.
func TestStatusText(t *testing.T) {
	s := lab.Status{
		Name: "lab", State: "partial", Hadoop: "3.4.2", Network: "10.1.0.0/16", Folder: "/l", User: 997, PSSBytes: 900 << 20,
		Daemons: []lab.DaemonStatus{
			{Node: "master", Address: "10.1.0.2", Daemon: "namenode", PID: 4711, Ready: true, RSSBytes: 300 << 20},
			{Node: "r1n1", Address: "10.1.0.3", Daemon: "datanode", PID: 81, RSSBytes: 1 << 30},
			{Node: "r1n1", Address: "10.1.0.3", Daemon: "nodemanager"},
		},
	}
	const want = `lab lab: partial, Hadoop 3.4.2, network 10.1.0.0/16, state in /l; of this machine only root reaches
it; Hadoop and its containers run as user 997

node    address   daemon       state       pid     memory
master  10.1.0.2  namenode     ready      4711  300.0 MiB
r1n1    10.1.0.3  datanode     not ready    81    1.0 GiB
r1n1    10.1.0.3  nodemanager  down
note: daemons use 900.0 MiB, shared pages counted once
`
	var out strings.Builder
	mustDo(t, doc.WriteText(&out, s.Doc(), false))
	if d := cmp.Diff(want, out.String()); d != "" {
		t.Errorf("(-want +got)\n%s", d)
	}
}
