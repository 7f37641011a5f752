package lab

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"net"
	"net/http"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"heddle/harness/internal/poll"
	"heddle/harness/require"
	"heddle/traces/printable"
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
var startOrder = []daemon{
	zooKeeper, journalNode, resourceManager, nameNode,
	failoverController, agent, dataNode, nodeManager, historyServer,
}

// startMissing starts the daemons that do not run and waits until the cluster
// can take jobs. It starts all daemons at once, except those that startsAfter
// has something for. Each daemon is asked by a goroutine of
// its own, since a daemon that is starting may take seconds for an answer.
func (l *Lab) startMissing(ctx context.Context, say func(Event)) error {
	ctx, cancel := context.WithTimeout(ctx, upLimit)
	defer cancel()
	var mu sync.Mutex
	pending := map[string]bool{} // the daemons that are not ready yet, as "node daemon"
	if err := l.startKDC(ctx, say); err != nil {
		return err
	}
	open, asking := errgroup.WithContext(ctx)
	var seen registrations
	election := sync.OnceValue(func() error { return l.makeElection(asking) })
	// fresh: no ResourceManager runs, so no run steers the cluster
	fresh := !slices.ContainsFunc(l.masters(), func(n node) bool { return l.pid(n, resourceManager) != 0 })
	for _, d := range startOrder {
		for _, n := range l.nodes {
			if !slices.Contains(l.daemonsOf(n), d) {
				continue
			}
			start := l.pid(n, d) == 0
			if start && d == nameNode {
				if err := l.beforeNameNode(ctx, n); err != nil {
					return err
				}
			}
			after := l.startsAfter(n, d, &seen, election)
			if start && after == nil {
				if err := l.startDaemon(n, d); err != nil {
					return err
				}
			}
			name := n.name + " " + string(d)
			mu.Lock() // daemons that were started before may be ready already
			pending[name] = true
			mu.Unlock()
			open.Go(func() error {
				if start && after != nil {
					if err := after(asking); err != nil {
						return err
					}
					if err := l.startDaemon(n, d); err != nil {
						return err
					}
				}
				if err := l.serves(asking, &seen, n, d, fresh); err != nil {
					return err
				}
				mu.Lock()
				defer mu.Unlock()
				if delete(pending, name); start {
					say(Event{Node: n.name, Daemon: string(d), What: "ready"})
				}
				return nil
			})
		}
	}
	err := open.Wait()
	if err != nil && ctx.Err() != nil {
		names := slices.Sorted(maps.Keys(pending))
		return fmt.Errorf("wait for %s: %w; logs are in %s", strings.Join(names, ", "), err, l.path("nodes", "*", "log"))
	}
	return err
}

// serves waits until a daemon is ready, and has the ResourceManager make its labels.
func (l *Lab) serves(ctx context.Context, seen *registrations, n node, d daemon, fresh bool) error {
	if err := l.awaitReady(ctx, seen, n, d); err != nil || d != resourceManager || n.name != l.master().name {
		return err
	}
	return unansweredAgain(ctx, func() error { return l.makeLabels(ctx, fresh) })
}

// startsAfter returns a function that waits for what a daemon needs at its start, or
// nil if the daemon waits by itself. The history server would try HDFS again only every
// 10 s. What needs ZooKeeper would end without it. A ResourceManager makes the place of
// the queues' settings in ZooKeeper before it writes them there, and another one that
// reads in between ends with a NullPointerException.
func (l *Lab) startsAfter(n node, d daemon, seen *registrations, election func() error) func(context.Context) error {
	zk := func(ctx context.Context) error {
		keeper := l.nodes[len(l.masters())].ip.String()
		return until(ctx, func() bool { return listens(ctx, keeper, portZK) })
	}
	switch {
	case d == historyServer:
		return func(ctx context.Context) error {
			return until(ctx, func() bool { return l.dataNodes(ctx, seen).writable })
		}
	case d == resourceManager && n.name != l.master().name:
		return func(ctx context.Context) error {
			return until(ctx, func() bool { return l.haState(ctx, l.master(), d) != "" })
		}
	case d == resourceManager && l.Cfg.HA:
		return zk
	case d == failoverController:
		return func(ctx context.Context) error {
			if err := zk(ctx); err != nil {
				return err
			}
			return election()
		}
	}
	return nil
}

// awaitReady waits until a daemon serves requests, or has died.
func (l *Lab) awaitReady(ctx context.Context, seen *registrations, n node, d daemon) error {
	return poll.Until(ctx, pollEvery, func() (bool, error) {
		if l.pid(n, d) == 0 {
			return false, l.died(n, d)
		}
		return l.ready(ctx, seen, n, d), nil
	})
}

// until waits until done returns true.
func until(ctx context.Context, done func() bool) error {
	return poll.Until(ctx, pollEvery, func() (bool, error) { return done(), nil })
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
		if strings.Contains(line, " ERROR ") || strings.Contains(line, " FATAL ") ||
			strings.Contains(line, "Exception: ") && !strings.HasPrefix(line, "\t") {
			why = append(why, line)
		}
	}
	why = why[max(0, len(why)-reasons):]
	return strings.Join(append(why, lines[split:]...), "\n")
}

// ready reports whether a running daemon serves requests. It asks a daemon of a
// worker first, and then the NameNode or the ResourceManager, which still count a
// dead worker for about 15 s. A daemon that does not answer counts as not ready.
func (l *Lab) ready(ctx context.Context, seen *registrations, n node, d daemon) bool {
	switch d {
	case nameNode:
		return l.hdfsAt(ctx, n).writable && (!l.Cfg.HA || l.haState(ctx, n, d) != "")
	case dataNode:
		return l.registered(ctx, n) && l.dataNodes(ctx, seen).live[n.name]
	case resourceManager:
		// A ResourceManager that has just started answers with status 200 but wrong
		// content until its state is ACTIVE or STANDBY.
		state := l.haState(ctx, n, d)
		return state == active || state == standby
	case nodeManager:
		// A NodeManager opens its web port last, just before it registers with
		// the ResourceManager.
		return listens(ctx, n.ip.String(), l.webPort(portNMHTTP)) && l.nodeManagers(ctx, seen)[n.name]
	case historyServer:
		_, err := l.history.Info(ctx)
		return err == nil
	case kdc:
		return listens(ctx, n.ip.String(), portKDC)
	default:
		ports := map[daemon]int{agent: portAgent, failoverController: portZKFC, journalNode: portJournal, zooKeeper: portZK}
		return listens(ctx, n.ip.String(), ports[d])
	}
}

// registered asks a DataNode whether it is registered with a NameNode.
func (l *Lab) registered(ctx context.Context, n node) bool {
	var info struct {
		Beans []struct{ BPServiceActorInfo string }
	}
	if !l.get(ctx, n, portDNHTTP, "/jmx?qry=Hadoop:service=DataNode,name=DataNodeInfo", &info) || len(info.Beans) != 1 {
		return false
	}
	type actor struct{ ActorState string } // of one NameNode
	var actors []actor
	err := json.Unmarshal([]byte(info.Beans[0].BPServiceActorInfo), &actors)
	return err == nil && slices.ContainsFunc(actors, func(a actor) bool { return a.ActorState == "RUNNING" })
}

// registrations has the last answers of the NameNode and the ResourceManager about the
// lab's nodes, for all who ask about one of them at about the same time.
type registrations struct {
	hdfs         answer[hdfs]
	nodeManagers answer[map[string]bool]
}

// hdfs is what a NameNode reports at one moment.
type hdfs struct {
	writable bool            // true: the NameNode is up and out of safe mode, so files can be written
	live     map[string]bool // names of the nodes with a live DataNode
}

// answer is what a daemon said last.
type answer[T any] struct {
	mu   sync.Mutex
	at   time.Time
	said T
}

// or returns the last answer, or a new one if that is older than pollEvery.
func (a *answer[T]) or(ask func() T) T {
	a.mu.Lock()
	defer a.mu.Unlock()
	if time.Since(a.at) >= pollEvery {
		a.said, a.at = ask(), time.Now()
	}
	return a.said
}

// dataNodes asks the active NameNode about HDFS. A NameNode that does not answer
// counts as down.
func (l *Lab) dataNodes(ctx context.Context, seen *registrations) hdfs {
	return seen.hdfs.or(func() hdfs {
		for _, n := range l.masters() {
			if !l.Cfg.HA || l.haState(ctx, n, nameNode) == active {
				return l.hdfsAt(ctx, n)
			}
		}
		return hdfs{}
	})
}

func (l *Lab) hdfsAt(ctx context.Context, n node) hdfs {
	s := hdfs{live: map[string]bool{}}
	var info struct {
		Beans []struct {
			Safemode  string
			LiveNodes string
		}
	}
	if l.get(ctx, n, portNNHTTP, "/jmx?qry=Hadoop:service=NameNode,name=NameNodeInfo", &info) && len(info.Beans) == 1 {
		s.writable = info.Beans[0].Safemode == ""
		var live map[string]any
		// ignore the error: if the list of DataNodes cannot be parsed, none counts as live
		_ = json.Unmarshal([]byte(info.Beans[0].LiveNodes), &live)
		for name := range live {
			host, _, _ := strings.Cut(name, ":")
			s.live[host] = true
		}
	}
	return s
}

// nodeManagers asks the ResourceManager for the names of the nodes with a running
// NodeManager.
func (l *Lab) nodeManagers(ctx context.Context, seen *registrations) map[string]bool {
	return seen.nodeManagers.or(func() map[string]bool {
		names := map[string]bool{}
		nodes, _ := l.rm.Nodes(ctx, "RUNNING") // a ResourceManager that does not answer knows of none
		for _, n := range nodes {
			names[n.Host] = true
		}
		return names
	})
}

// answerLimit is how long a daemon of the lab may take for one answer, even
// while the daemon is starting.
const answerLimit = 2 * time.Second

// get reads the JSON that NameNode and DataNode serve at /jmx. It returns false
// if the daemon did not answer or its JSON could not be read.
func (l *Lab) get(ctx context.Context, n node, port int, path string, into any) bool {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, l.web(n, port)+path, nil)
	if err != nil {
		return false
	}
	resp, err := l.pages.Do(req)
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

// unansweredAgain calls a function until it does not fail for want of an answer: while
// all daemons start, the ResourceManager may be too busy for one. The function must
// bear to be called twice.
func unansweredAgain(ctx context.Context, call func() error) error {
	var err error
	ended := until(ctx, func() bool {
		err = call()
		unanswered := new(yarnclient.RequestError)
		return err == nil || !errors.As(err, &unanswered) || unanswered.Status != 0
	})
	return cmp.Or(err, ended)
}

// makeLabels adds the node labels for steered jobs, and gives the master's
// NodeManager the label of ApplicationMasters. If the ResourceManager was just
// started (fresh), it also removes labels that earlier steering left on
// workers. The nodes need not be registered yet.
func (l *Lab) makeLabels(ctx context.Context, fresh bool) error {
	if !l.labels() {
		return nil
	}
	if err := l.rm.AddLabels(ctx, true, append(l.queueLabels(), require.Parking)...); err != nil {
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
	options := []string{"-format", "-nonInteractive", "-force"}
	if l.Cfg.HA { // shareEdits formats the JournalNode
		options = append([]string{"-Ddfs.namenode.shared.edits.dir="}, options...)
	}
	out, err := l.runMain(ctx, l.master(), nameNode, options...)
	if err != nil {
		os.RemoveAll(l.nodePath("master", "name"))
		return fmt.Errorf("format HDFS: %w\n%s", err, printable.LastLines(out, 12))
	}
	return nil
}

// beforeNameNode makes HDFS's folders such that a NameNode starts with them.
func (l *Lab) beforeNameNode(ctx context.Context, n node) error {
	if err := l.format(ctx); err != nil {
		return err
	}
	if err := l.shareEdits(ctx); err != nil {
		return err
	}
	return l.dropUnwritten(n)
}

// dropUnwritten removes segments of HDFS's edit log that a NameNode had filled with ones, as
// it does before it writes into them, when it was killed. They have no edits, and the next
// NameNode would not start with them.
func (l *Lab) dropUnwritten(n node) error {
	root, err := os.OpenRoot(l.nodePath(n.name, "name")) // its owner is not root
	if err != nil {
		return err
	}
	defer root.Close()
	segments, err := fs.Glob(root.FS(), "current/edits_inprogress_*")
	for _, name := range segments {
		f, err := root.Open(name)
		if err != nil {
			return err
		}
		begin := make([]byte, 4)
		_, err = io.ReadFull(f, begin)
		f.Close()
		if err == nil && bytes.Equal(begin, []byte{0xff, 0xff, 0xff, 0xff}) {
			if err := root.Remove(name); err != nil {
				return err
			}
		}
	}
	return err
}

// runMain runs the program of a daemon as a command, to its end.
func (l *Lab) runMain(ctx context.Context, n node, d daemon, options ...string) (output []byte, err error) {
	argv := append(l.argv(n, d), options...)
	return l.asHadoop(ctx, n, slices.DeleteFunc(argv, func(arg string) bool { return arg == l.mark(n, d) })...)
}

// asHadoop runs a command on a node as the user of Hadoop's daemons, to its end.
func (l *Lab) asHadoop(ctx context.Context, n node, argv ...string) (output []byte, err error) {
	cmd := exec.CommandContext(ctx, l.nodePath(n.name, "enter"), append([]string{l.unprivileged()}, argv...)...)
	cmd.Env = append(os.Environ(), "HADOOP_USER_NAME="+hadoopUser, "HADOOP_CONF_DIR="+l.path("conf"))
	return cmd.CombinedOutput()
}
