package lab

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"strings"

	"heddle/harness/doc"
	"heddle/harness/internal/units"
)

// Status lists the lab's daemons and says which of them run and which are
// ready.
type Status struct {
	Name string `json:"name"`
	// State is the state of the lab: "up", "down", or "partial" when only some
	// of its daemons run.
	State string `json:"state"`
	// Hadoop is the version of Hadoop, or the folder of an unpacked one.
	Hadoop      string `json:"hadoop"`
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
	// HA is "active" or "standby" for the NameNodes and ResourceManagers of a lab
	// that has two of each.
	HA string `json:"ha,omitempty"`
}

// Status looks at the processes of the lab's daemons, and asks the NameNode and
// the ResourceManager which nodes are registered.
func (l *Lab) Status(ctx context.Context) Status {
	s := Status{
		Name: l.Name, Hadoop: cmp.Or(l.Cfg.HadoopHome, l.Cfg.Hadoop),
		Network: fmt.Sprintf("10.%d.0.0/16", l.Network), Folder: l.root, ClusterFile: l.ClusterFile(), User: l.uid(),
	}
	running, ready := 0, 0
	var seen registrations
	for _, n := range l.nodes {
		for _, d := range l.daemonsOf(n) {
			one := DaemonStatus{Node: n.name, Address: n.ip.String(), Daemon: string(d), PID: l.pid(n, d)}
			if one.PID != 0 {
				running++
				one.Ready = l.ready(ctx, &seen, n, d)
				one.RSSBytes = memory(one.PID, "Rss")
				s.PSSBytes += memory(one.PID, "Pss")
				if l.Cfg.HA {
					one.HA = l.haState(ctx, n, d)
				}
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

// Doc returns the status of the lab for people to read.
func (s Status) Doc() doc.Doc {
	text := fmt.Sprintf("lab %s: %s, Hadoop %s, network %s, state in %s", s.Name, s.State, s.Hadoop, s.Network, s.Folder)
	if s.State != "down" {
		text += fmt.Sprintf("; of this machine only root reaches it; Hadoop and its containers run as user %d", s.User)
	}
	t := doc.NewTable("daemons", "node", "address", "daemon", "state", "pid", "memory")
	for _, d := range s.Daemons {
		state, pid, memory := doc.Words("down").In(doc.Bad), doc.Words(""), doc.Words("")
		switch {
		case d.Ready:
			state = doc.Words(strings.TrimSpace("ready " + d.HA)).In(doc.Good)
		case d.PID != 0:
			state = doc.Words("not ready").In(doc.Notable)
		}
		if d.PID != 0 {
			pid, memory = doc.Count(d.PID), doc.Bytes(d.RSSBytes)
		}
		t.Add(d.Node, d.Address, d.Daemon, state, pid, memory)
	}
	var notes doc.Notes
	if s.PSSBytes > 0 {
		notes = doc.Notes{"daemons use " + units.Size(s.PSSBytes).Rounded() + ", shared pages counted once"}
	}
	return doc.Doc{doc.Text(text), t, notes}
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
