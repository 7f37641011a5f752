package lab

import (
	"context"
	"fmt"
	"os"
	"strings"
)

// Status lists the lab's daemons and says which of them run and which are
// ready.
type Status struct {
	Name string `json:"name"`
	// State is the state of the lab: "up", "down", or "partial" when only some
	// of its daemons run.
	State       string `json:"state"`
	Network     string `json:"network"`
	Folder      string `json:"folder"`
	ClusterFile string `json:"clusterFile"`
	// User is the Unix user id of Hadoop's daemons and containers.
	User int `json:"user"`
	// PSSBytes is how many bytes of memory all daemons use. Memory that
	// several daemons share, such as the class-data archive, counts once.
	PSSBytes int64          `json:"pssBytes"`
	Daemons  []DaemonStatus `json:"daemons"`
}

// DaemonStatus is the status of one daemon of the lab.
type DaemonStatus struct {
	Node    string `json:"node"`
	Address string `json:"address"`
	Daemon  string `json:"daemon"`
	PID     int    `json:"pid,omitempty"` // process id of the daemon; 0 if the daemon does not run
	// Ready is true if the daemon serves requests. A DataNode must also be
	// registered with the NameNode, and a NodeManager with the ResourceManager.
	Ready    bool  `json:"ready"`
	RSSBytes int64 `json:"rssBytes,omitempty"`
}

// Status looks at the processes of the lab's daemons, and asks the NameNode and
// the ResourceManager which nodes are registered.
func (l *Lab) Status(ctx context.Context) Status {
	s := Status{Name: l.Name, Network: fmt.Sprintf("10.%d.0.0/16", l.Network), Folder: l.root, ClusterFile: l.ClusterFile(), User: l.uid()}
	running, ready := 0, 0
	var seen observed
	if l.running() {
		seen = l.observe(ctx)
	}
	for _, n := range l.nodes {
		for _, d := range l.daemonsOf(n) {
			one := DaemonStatus{Node: n.name, Address: n.ip.String(), Daemon: string(d), PID: l.pid(n, d)}
			if one.PID != 0 {
				running++
				one.Ready = l.ready(ctx, seen, n, d)
				one.RSSBytes = memory(one.PID, "Rss")
				s.PSSBytes += memory(one.PID, "Pss")
			}
			if one.Ready {
				ready++
			}
			s.Daemons = append(s.Daemons, one)
		}
	}
	switch {
	case ready == len(s.Daemons):
		s.State = "up"
	case running == 0 && len(namespaces(l.Name)) == 0:
		s.State = "down"
	default:
		s.State = "partial"
	}
	return s
}

// String returns the status of the lab as a table.
func (s Status) String() string {
	var out strings.Builder
	fmt.Fprintf(&out, "lab %s: %s, network %s, state in %s\n", s.Name, s.State, s.Network, s.Folder)
	if s.State != "down" {
		fmt.Fprintf(&out, "of this machine only root reaches it; Hadoop and its containers run as user %d\n", s.User)
	}
	for _, d := range s.Daemons {
		state := "down"
		switch {
		case d.Ready:
			state = "ready"
		case d.PID != 0:
			state = "not ready"
		}
		fmt.Fprintf(&out, "%-8s %-13s %-16s %-10s", d.Node, d.Address, d.Daemon, state)
		if d.PID != 0 {
			fmt.Fprintf(&out, " pid %-8d %4d MiB", d.PID, d.RSSBytes>>20)
		}
		out.WriteByte('\n')
	}
	if s.PSSBytes > 0 {
		fmt.Fprintf(&out, "daemons use %d MiB, shared pages counted once\n", s.PSSBytes>>20)
	}
	return out.String()
}

// memory reads one sum of a process's memory, such as "Pss", from its
// smaps_rollup file in /proc, and returns it in bytes.
func memory(pid int, kind string) int64 {
	text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/smaps_rollup", pid))
	_, after, _ := strings.Cut(string(text), "\n"+kind+":")
	var kib int64
	_, _ = fmt.Sscan(after, &kib) // ignore the error: the process has ended, so its memory counts as 0
	return kib << 10
}
