// Package lab runs a real, unmodified Hadoop cluster on this one Linux machine.
// NameNode, ResourceManager and JobHistoryServer run on a master, and with
// Config.HA a second NameNode and ResourceManager on another; each worker
// runs a DataNode and a NodeManager. Each node has its own network namespace,
// and so its own address, host name, link, disk rate, CPU share and memory.
//
// The package describes the cluster by a config.Cluster, as for a physical
// cluster: no package outside may depend on the cluster being the lab.
//
// A lab has a name, a state folder ("heddle/labs/NAME" under the user's state
// directory) and a network 10.N.0.0/16. Several labs can run side by side.
// After a reboot, the state folder is enough to bring the lab up again. After a
// killed Up, the name is enough to remove everything that it left.
//
// Hadoop comes from Maven Central or from an unpacked distribution
// (distribution.go). The lab needs root, and cgroup v1 or v2.
//
// Words:
//
//   - worker: a node that stores blocks and runs tasks, "r1n2" in rack 1
//   - master: the node of the Hadoop masters; ApplicationMasters run there too
//   - keeper: with Config.HA, the node with what the masters share
//   - core: the part of the network outside all racks, with the masters and this machine
//   - uplink: the link between a rack's switch and the core
//   - mark: an argument of a daemon's command line that tells whose daemon it is
package lab

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"

	"go.yaml.in/yaml/v4"
	"golang.org/x/sys/unix"

	"heddle/harness/config"
	"heddle/harness/internal/poll"
	"heddle/yarnclient"
)

// Lab is a Hadoop cluster on this machine, running or not.
type Lab struct {
	plan
	cgroups cgroups
	rm      *yarnclient.RM
	history *yarnclient.History
	pages   *http.Client // for what daemons serve at /jmx
}

// ErrNotFound means that no lab with this name has a state folder.
var ErrNotFound = errors.New("no such lab")

// ErrDown means that a lab is not running.
var ErrDown = errors.New("it is down")

// NeedUp returns an error that wraps ErrDown if none of the lab's nodes exist.
func (l *Lab) NeedUp() error {
	if len(namespaces(l.Name)) > 0 {
		return nil
	}
	return fmt.Errorf("lab %s: %w; start it with 'heddle lab up --name %s'", l.Name, ErrDown, l.Name)
}

// Open returns a lab that was brought up before, running or not.
func Open(name string) (*Lab, error) {
	root, err := stateFolder(name)
	if err != nil {
		return nil, err
	}
	data, err := os.ReadFile(filepath.Join(root, "lab.json"))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("open lab %s: %w; start it with 'heddle lab up --name %s'", name, ErrNotFound, name)
	}
	if err != nil {
		return nil, fmt.Errorf("open lab %s: %w", name, err)
	}
	saved := savedPlan{Cfg: Config{NodeExpiry: Default().NodeExpiry, Hadoop: DefaultHadoop}} // files of earlier versions have neither
	if err := json.Unmarshal(data, &saved); err != nil {
		return nil, fmt.Errorf("open lab %s: read %s: %w; 'heddle lab down --purge --name %s' removes it",
			name, filepath.Join(root, "lab.json"), err, name)
	}
	if c := saved.Cfg; c.Racks < 1 || c.Racks > c.Nodes {
		return nil, fmt.Errorf("open lab %s: %s says %d racks of %d nodes: want 1 to the number of nodes; 'heddle lab down --purge --name "+
			"%s' removes it", name, filepath.Join(root, "lab.json"), c.Racks, c.Nodes, name)
	}
	saved.Cfg.Name = name
	return open(root, saved)
}

func open(root string, saved savedPlan) (*Lab, error) {
	cg, err := findCgroups("/")
	if err != nil {
		return nil, err
	}
	l := &Lab{plan: newPlan(root, saved), cgroups: cg}
	return l, l.connect()
}

// connect makes the clients of the lab's daemons. Those of a secured lab have a user's
// ticket, and trust the lab's authority.
func (l *Lab) connect() (err error) {
	var transport http.RoundTripper
	l.pages = &http.Client{Timeout: answerLimit, Transport: &http.Transport{DisableKeepAlives: true}}
	if l.Cfg.Kerberos {
		if transport, err = l.secureTransport(); err != nil {
			return err
		}
		l.pages.Transport = transport
	}
	at := func(addresses ...string) yarnclient.Options {
		return yarnclient.Options{
			Addresses: addresses, Transport: transport,
			User: l.webUser(), Timeout: answerLimit, Retries: -1, // clients without retries, since their callers repeat failed requests themselves
		}
	}
	if l.rm, err = yarnclient.NewRM(at(l.resourceManagers()...)); err != nil {
		return err
	}
	l.history, err = yarnclient.NewHistory(at(l.historyServer()))
	return err
}

// webUser is the user whom requests name: nobody, if they have a ticket.
func (p *plan) webUser() string {
	if p.Cfg.Kerberos {
		return ""
	}
	return hadoopUser
}

// savedPlan is the content of the file lab.json. The lab's nodes, addresses
// and paths are computed from it.
type savedPlan struct {
	Cfg     Config `json:"config"`
	Network int    `json:"network"` // the number N of the lab's network 10.N.0.0/16
	// Classpath is the Java class path of the Hadoop with which the lab was
	// last started. Archive is the path of that Hadoop's class-data archive.
	Classpath string `json:"classpath,omitempty"`
	Archive   string `json:"archive,omitempty"`
	Java      string `json:"java,omitempty"` // JAVA_HOME of the lab's daemons
}

func (l *Lab) save() error {
	data, err := json.MarshalIndent(l.savedPlan, "", "  ")
	if err != nil {
		return err
	}
	return writeFile(l.path("lab.json"), append(data, '\n'), 0o644)
}

// Config returns the configuration of the lab's last start.
func (l *Lab) Config() Config { return l.Cfg }

// ClassDataSharing reports whether the lab's JVMs start from a class-data
// archive, which saves most of their start time.
func (l *Lab) ClassDataSharing() bool { return l.Archive != "" }

// ClusterFile returns the path of the lab's cluster file, which Up writes.
func (l *Lab) ClusterFile() string { return l.path("cluster.yaml") }

// Cluster returns the lab's addresses and settings, as its cluster file gives
// them.
func (l *Lab) Cluster() config.Cluster {
	c := config.Cluster{
		Name:             l.Name,
		ResourceManagers: l.resourceManagers(),
		HistoryServer:    l.historyServer(),
		User:             hadoopUser,
		Hosts:            map[string]string{},
		Hadoop:           config.Hadoop{Home: l.path("home"), Conf: l.path("conf")},
		Rates:            l.Cfg.Rates(),
		Machines:         l.Cfg.Machines(),
		Cgroup:           cgroupOf(l.Name),
	}
	for _, n := range l.masters() {
		c.NameNodes = append(c.NameNodes, fmt.Sprintf("%s:%d", l.host(n), portNN))
	}
	l.secureCluster(&c)
	if l.hasAgents() { // the cluster file's commands that cause faults need the heddle binary that agents run
		state := "XDG_STATE_HOME=" + filepath.Join(l.path(), "../../..") // who runs a command may have another home
		run := func(command ...string) []string {
			return append([]string{"env", state, l.path("bin", "heddle"), "lab", command[0], "--name", l.Name}, command[1:]...)
		}
		c.Faults = &config.FaultCommands{
			NodeDown: run("kill", "{node}"), NodeUp: run("start", "{node}"), NodeSlow: run("set", "--node", "{node}", "--speed", "{speed}"),
		}
	}
	for _, n := range l.nodes {
		c.Hosts[n.name] = n.ip.String()
		if l.hasAgents() {
			c.Agents = append(c.Agents, config.Agent{
				Node:      n.name,
				URL:       fmt.Sprintf("http://%s:%d", n.ip, portAgent),
				TokenFile: l.path("agent.token"),
			})
		}
	}
	return c
}

// resourceManagers returns the web addresses of the lab's ResourceManagers.
func (l *Lab) resourceManagers() []string {
	var addresses []string
	for _, n := range l.masters() {
		addresses = append(addresses, l.web(n, portRM))
	}
	return addresses
}

func (l *Lab) historyServer() string { return l.web(l.master(), portHistory) }

func (l *Lab) writeCluster(c config.Cluster) error {
	data, err := yaml.Marshal(c)
	if err != nil {
		return err
	}
	return writeFile(l.ClusterFile(), data, 0o644)
}

// lock waits until no other process brings this lab up or down. Then it keeps
// other processes out until unlock is called. The lock file is beside the
// state folder, so that a purge does not remove it.
func lock(ctx context.Context, name string) (unlock func(), err error) {
	root, err := stateFolder(name)
	if err != nil {
		return nil, err
	}
	unlock, err = lockFile(ctx, filepath.Join(filepath.Dir(root), "."+name+".lock"))
	if err != nil {
		return nil, fmt.Errorf("lock lab %s, which another command is bringing up or down: %w", name, err)
	}
	return unlock, nil
}

func lockFile(ctx context.Context, path string) (unlock func(), err error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return nil, err
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	err = poll.Until(ctx, pollEvery, func() (bool, error) {
		err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		if errors.Is(err, unix.EWOULDBLOCK) {
			return false, nil
		}
		return err == nil, err
	})
	if err != nil {
		f.Close()
		return nil, err
	}
	return func() { f.Close() }, nil
}
