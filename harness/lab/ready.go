package lab

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net"
	"net/http"
	"os"
	"os/exec"
	"slices"
	"strings"
	"time"

	"heddle/harness/internal/poll"
	"heddle/harness/require"
	"heddle/yarnclient"
)

// DaemonError says that a daemon of the lab ended right after its start.
type DaemonError struct {
	Node, Daemon string
	Log          string // the path of the log of the daemon that ended
	Last         string // the last lines of the log of the daemon that ended, and before them the log's last errors
}

func (e *DaemonError) Error() string {
	return fmt.Sprintf("%s on %s died; the end of %s:\n%s", e.Daemon, e.Node, e.Log, e.Last)
}

// startOrder is the order in which daemons are started. First come the daemons
// that take long to start and that other daemons wait for.
var startOrder = []daemon{resourceManager, nameNode, agent, dataNode, nodeManager, historyServer}

// startMissing starts the daemons that do not run and waits until the cluster
// can take jobs. It starts all daemons at once, except the history server,
// which waits until HDFS is writable. If started earlier, the history server
// would try HDFS again only every 10 s.
func (l *Lab) startMissing(ctx context.Context, say func(Event)) error {
	ctx, cancel := context.WithTimeout(ctx, upLimit)
	defer cancel()
	// The map pending has the daemons that are not ready yet. A daemon's value
	// is true if this call of startMissing started the daemon.
	type key struct {
		node string
		d    daemon
	}
	pending := map[key]bool{}
	needHDFS := map[key]bool{} // daemons to be started only when HDFS is writable: the history server
	for _, d := range startOrder {
		for _, n := range l.nodes {
			if !slices.Contains(l.daemonsOf(n), d) {
				continue
			}
			k := key{n.name, d}
			pending[k] = l.pid(n, d) == 0
			switch {
			case !pending[k]:
				continue
			case d == historyServer:
				needHDFS[k] = true
				continue
			case d == nameNode:
				if err := l.format(ctx); err != nil {
					return err
				}
			}
			if err := l.startDaemon(n, d); err != nil {
				return err
			}
		}
	}
	labelled := false
	err := poll.Until(ctx, pollEvery, func() (bool, error) {
		seen := l.observe(ctx)
		if seen.rmActive && !labelled {
			if err := l.makeLabels(ctx, pending[key{"master", resourceManager}]); err != nil {
				return false, err
			}
			labelled = true
		}
		for _, n := range l.nodes {
			for _, d := range l.daemonsOf(n) {
				k := key{n.name, d}
				started, open := pending[k]
				switch {
				case !open:
				case needHDFS[k]:
					if seen.hdfsWritable {
						delete(needHDFS, k)
						if err := l.startDaemon(n, d); err != nil {
							return false, err
						}
					}
				case l.pid(n, d) == 0:
					return false, l.died(n, d)
				case l.ready(ctx, seen, n, d):
					delete(pending, k)
					if started {
						say(Event{Node: n.name, Daemon: string(d), What: "ready"})
					}
				}
			}
		}
		return len(pending) == 0, nil
	})
	if err != nil && ctx.Err() != nil {
		var names []string
		for k := range pending {
			names = append(names, k.node+" "+string(k.d))
		}
		slices.Sort(names)
		return fmt.Errorf("wait for %s: %w; logs are in %s", strings.Join(names, ", "), err, l.path("nodes", "*", "log"))
	}
	return err
}

func (l *Lab) died(n node, d daemon) error {
	log, _ := os.ReadFile(l.logFile(n, d))
	return &DaemonError{Node: n.name, Daemon: string(d), Log: l.logFile(n, d), Last: endOfLog(log)}
}

// endOfLog returns the last lines of a daemon's log, and before them its last
// errors. The reason for a daemon's end often stands further up in the log,
// above a stack trace and the messages of the shutdown.
func endOfLog(log []byte) string {
	const last, reasons = 8, 3
	lines := strings.Split(strings.TrimSpace(string(log)), "\n")
	split := max(0, len(lines)-last)
	var why []string
	for _, line := range lines[:split] {
		if strings.Contains(line, " ERROR ") || strings.Contains(line, " FATAL ") || strings.Contains(line, "Exception: ") && !strings.HasPrefix(line, "\t") {
			why = append(why, line)
		}
	}
	why = why[max(0, len(why)-reasons):]
	return strings.Join(append(why, lines[split:]...), "\n")
}

// observed is what the NameNode and the ResourceManager report at one moment
// about the lab's nodes.
type observed struct {
	hdfsWritable bool            // true: the NameNode is up and out of safe mode, so files can be written
	dataNodes    map[string]bool // names of the nodes with a live DataNode, by the NameNode's report
	rmActive     bool
	nodeManagers map[string]bool // names of the nodes with a running NodeManager, by the ResourceManager's report
	history      bool
}

// ready reports whether a running daemon serves requests. For a daemon of a
// worker it asks the worker too, since NameNode and ResourceManager still
// count a dead worker for about 15 s.
func (l *Lab) ready(ctx context.Context, o observed, n node, d daemon) bool {
	switch d {
	case nameNode:
		return o.hdfsWritable
	case dataNode:
		return o.dataNodes[n.name] && registered(ctx, n)
	case resourceManager:
		return o.rmActive
	case nodeManager:
		// A NodeManager opens its web port last, just before it registers with
		// the ResourceManager.
		return o.nodeManagers[n.name] && listens(ctx, n.ip.String(), portNMHTTP)
	case historyServer:
		return o.history
	default:
		return listens(ctx, n.ip.String(), portAgent)
	}
}

// registered asks a DataNode whether it is registered with the NameNode.
func registered(ctx context.Context, n node) bool {
	var info struct {
		Beans []struct{ BPServiceActorInfo string }
	}
	if !get(ctx, n.ip.String(), portDNHTTP, "/jmx?qry=Hadoop:service=DataNode,name=DataNodeInfo", &info) || len(info.Beans) != 1 {
		return false
	}
	var actors []struct{ ActorState string }
	err := json.Unmarshal([]byte(info.Beans[0].BPServiceActorInfo), &actors)
	return err == nil && len(actors) > 0 && actors[0].ActorState == "RUNNING"
}

// observe asks the NameNode and the ResourceManager about the lab's nodes. A
// daemon that does not answer counts as down.
func (l *Lab) observe(ctx context.Context) observed {
	o := observed{dataNodes: map[string]bool{}, nodeManagers: map[string]bool{}}
	master := l.master().ip.String()
	var hdfs struct {
		Beans []struct {
			Safemode  string
			LiveNodes string
		}
	}
	if get(ctx, master, portNNHTTP, "/jmx?qry=Hadoop:service=NameNode,name=NameNodeInfo", &hdfs) && len(hdfs.Beans) == 1 {
		o.hdfsWritable = hdfs.Beans[0].Safemode == ""
		var live map[string]any
		_ = json.Unmarshal([]byte(hdfs.Beans[0].LiveNodes), &live) // ignore the error: if the list of DataNodes cannot be parsed, none counts as live
		for name := range live {
			host, _, _ := strings.Cut(name, ":")
			o.dataNodes[host] = true
		}
	}
	// A ResourceManager that has just started answers with status 200 but wrong
	// content until its state is ACTIVE.
	info, err := l.rm.Info(ctx)
	o.rmActive = err == nil && info.HAState == yarnclient.HAActive
	if o.rmActive {
		nodes, _ := l.rm.Nodes(ctx, "RUNNING")
		for _, n := range nodes {
			o.nodeManagers[n.Host] = true
		}
	}
	_, err = l.history.Info(ctx)
	o.history = err == nil
	return o
}

var client = &http.Client{Timeout: answerLimit, Transport: &http.Transport{DisableKeepAlives: true}}

// answerLimit is how long a daemon of the lab may take for one answer, even
// while the daemon is starting.
const answerLimit = 2 * time.Second

// get reads the JSON that NameNode and DataNode serve at /jmx. It returns false
// if the daemon did not answer or its JSON could not be read.
func get(ctx context.Context, host string, port int, path string, into any) bool {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, fmt.Sprintf("http://%s:%d%s", host, port, path), nil)
	if err != nil {
		return false
	}
	resp, err := client.Do(req)
	if err != nil {
		return false
	}
	defer resp.Body.Close()
	return resp.StatusCode == http.StatusOK && json.NewDecoder(resp.Body).Decode(into) == nil
}

func listens(ctx context.Context, host string, port int) bool {
	dialer := net.Dialer{Timeout: time.Second}
	conn, err := dialer.DialContext(ctx, "tcp", fmt.Sprintf("%s:%d", host, port))
	if err != nil {
		return false
	}
	conn.Close()
	return true
}

// makeLabels adds the node labels for steered jobs, and gives the master's
// NodeManager the label of ApplicationMasters. If the ResourceManager was just
// started (fresh), it also removes labels that earlier steering left on
// workers. The nodes need not be registered yet.
func (l *Lab) makeLabels(ctx context.Context, fresh bool) error {
	if !l.labels() {
		return nil
	}
	if err := l.rm.AddLabels(ctx, true, append(queueLabels(), require.Parking)...); err != nil {
		return fmt.Errorf("make labels: %w", err)
	}
	id := func(n node) string { return fmt.Sprintf("%s:%d", n.name, portNM) }
	labelOf := map[string]string{id(l.master()): require.Masters}
	if fresh {
		for _, n := range l.workers() {
			labelOf[id(n)] = ""
		}
	}
	if err := l.rm.ReplaceLabels(ctx, labelOf); err != nil {
		return fmt.Errorf("make labels: %w", err)
	}
	return nil
}

// The method format formats HDFS, unless the lab has HDFS data already.
func (l *Lab) format(ctx context.Context) error {
	if l.hasData() {
		return nil
	}
	argv := append([]string{l.unprivileged()}, l.argv(l.master(), nameNode)...)
	argv = append(argv, "-format", "-nonInteractive", "-force")
	argv = slices.DeleteFunc(argv, func(arg string) bool { return arg == l.mark(l.master(), nameNode) })
	cmd := exec.CommandContext(ctx, l.nodePath("master", "enter"), argv...)
	cmd.Env = append(os.Environ(), "HADOOP_USER_NAME="+hadoopUser, "HADOOP_CONF_DIR="+l.path("conf"))
	out, err := cmd.CombinedOutput()
	if err != nil {
		os.RemoveAll(l.nodePath("master", "name"))
		return fmt.Errorf("format HDFS: %w\n%s", err, lastLines(out, 12))
	}
	return nil
}

func sortedKeys[V any](list ...map[string]V) []string {
	var keys []string
	for _, m := range list {
		keys = slices.AppendSeq(keys, maps.Keys(m))
	}
	slices.Sort(keys)
	return slices.Compact(keys)
}
