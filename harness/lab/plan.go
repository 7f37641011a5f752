package lab

import (
	"fmt"
	"net/netip"
	"path/filepath"
	"slices"
	"strings"

	"heddle/harness/config"
)

// plan is everything that is computed from a lab's configuration: nodes,
// names, addresses and paths. It is never stored.
type plan struct {
	savedPlan
	Name    string
	root    string // path of the lab's state folder, which has the lab's configuration and HDFS data
	triples int    // jobs that node labels steer at a time; 0: require.Triples
	nodes   []node // all nodes of the lab: the master, with Config.HA master2 and keeper, then the workers by rack
	// queues is a capacity-scheduler.xml in place of the lab's, without node labels; "" is the lab's.
	queues string
}

// node is one node of the lab: a master, the keeper or a worker.
type node struct {
	name    string // the node's host name, which is also its name in Hadoop: "master", "r1n2"
	rack    int    // number of the node's rack; 0 is the core of the network, where the masters are
	ip      netip.Addr
	cores   float64 // CPU limit of the node in cores; 0 means no limit
	daemons []daemon
}

// Hadoop's default ports. All nodes use the same ports, as each node has its
// own address.
const (
	portNN      = 8020
	portNNHTTP  = 9870
	portRM      = 8088
	portHistory = 19888
	portNM      = 45454
	portNMHTTP  = 8042
	portDNHTTP  = 9864
	portAgent   = 9177
	portJournal = 8485
	portZK      = 2181
	portZKFC    = 8019

	// in place of the web ports, in a secured lab
	portNNHTTPS      = 9871
	portRMHTTPS      = 8090
	portHistoryHTTPS = 19890
	portNMHTTPS      = 8044
	portDNHTTPS      = 9865
)

const (
	// hadoopUser is the user that runs the daemons and owns the lab's files in
	// HDFS.
	hadoopUser = "root"
	// last byte of the address of this machine, and of the master, in the lab's
	// network
	hostPlace   = 254
	masterPlace = 1
	firstNet    = 100 // the lab's network is 10.N.0.0/16, with N from 100 to 199
	lastNet     = 199
)

func newPlan(root string, saved savedPlan) plan {
	c := saved.Cfg
	p := plan{savedPlan: saved, Name: c.Name, root: root}
	addr := func(rack, n int) netip.Addr {
		return netip.AddrFrom4([4]byte{10, byte(saved.Network), byte(rack), byte(n)})
	}
	master := node{name: "master", ip: addr(0, masterPlace), daemons: []daemon{nameNode, resourceManager, historyServer}}
	if c.Scheduler == Capacity {
		// ApplicationMasters run on the master, so that workers can be moved
		// between node labels at any time.
		master.daemons = append(master.daemons, nodeManager)
	}
	if c.HA {
		master.daemons = append(master.daemons, failoverController)
	}
	if c.Kerberos {
		master.daemons = append(master.daemons, kdc)
	}
	p.nodes = append(p.nodes, master)
	if c.HA {
		p.nodes = append(p.nodes,
			node{name: "master2", ip: addr(0, masterPlace+1), daemons: []daemon{nameNode, resourceManager, failoverController}},
			node{name: "keeper", ip: addr(0, masterPlace+2), daemons: []daemon{zooKeeper, journalNode}})
	}
	inRack := map[int]int{}
	for i := range c.Nodes {
		rack := config.RackOf(i, c.Nodes, c.Racks)
		inRack[rack]++
		number := inRack[rack]
		n := node{name: fmt.Sprintf("r%dn%d", rack, number), rack: rack, ip: addr(rack, number), daemons: []daemon{dataNode, nodeManager}}
		if len(c.CPUs) > 0 {
			n.cores = c.CPUs[i%len(c.CPUs)]
		}
		p.nodes = append(p.nodes, n)
	}
	return p
}

func (p *plan) path(parts ...string) string {
	return filepath.Join(append([]string{p.root}, parts...)...)
}

func (p *plan) nodePath(node string, parts ...string) string {
	return p.path(append([]string{"nodes", node}, parts...)...)
}

// web returns the web address of a daemon of a node, whose port in a lab that is not
// secured is given. Tickets are for names, so a secured lab's addresses have names.
func (p *plan) web(n node, port int) string {
	if !p.Cfg.Kerberos {
		return fmt.Sprintf("http://%s:%d", n.ip, port)
	}
	return fmt.Sprintf("https://%s:%d", n.name, p.webPort(port))
}

// webPort returns the port that a lab has in place of one without HTTPS.
func (p *plan) webPort(port int) int {
	if !p.Cfg.Kerberos {
		return port
	}
	return map[int]int{
		portNNHTTP: portNNHTTPS, portRM: portRMHTTPS, portHistory: portHistoryHTTPS, portNMHTTP: portNMHTTPS, portDNHTTP: portDNHTTPS,
	}[port]
}

// host returns what others call a node by: its name if they need a ticket for it.
func (p *plan) host(n node) string {
	if p.Cfg.Kerberos {
		return n.name
	}
	return n.ip.String()
}

func (p *plan) master() node { return p.nodes[0] }
func (p *plan) workers() []node {
	return slices.DeleteFunc(slices.Clone(p.nodes), func(n node) bool { return n.rack == 0 })
}

// masters returns the nodes that have a NameNode and a ResourceManager.
func (p *plan) masters() []node {
	if p.Cfg.HA {
		return p.nodes[:2]
	}
	return p.nodes[:1]
}

// The method labels reports whether the lab's YARN scheduler supports node
// labels.
func (p *plan) labels() bool { return p.Cfg.Scheduler == Capacity && p.queues == "" }

// The method node returns the lab node with this name.
func (p *plan) node(name string) (node, error) {
	var names []string
	for _, n := range p.nodes {
		if n.name == name {
			return n, nil
		}
		names = append(names, n.name)
	}
	return node{}, fmt.Errorf("lab %s has no node %q; it has %s", p.Name, name, strings.Join(names, ", "))
}

// namespace returns the name of a node's network namespace: a prefix, the
// lab's name, a dot and the node's name. Lab names contain no dot, so names of
// two labs cannot be confused.
func (p *plan) namespace(node string) string { return namespacePrefix(p.Name) + node }

const namespaceFolder = "/run/netns"

func namespacePrefix(lab string) string { return "heddle." + lab + "." }

// device returns the name of a network device of the lab on this machine. With
// the longest node name it has 12 characters; Linux allows 15.
func (p *plan) device(what string) string { return fmt.Sprintf("h%d-%s", p.Network, what) }

// alias returns the text that marks all network devices of a lab, so that they
// can be found by the lab's name alone.
func alias(lab string) string { return "heddle lab " + lab }

// The method cgroup returns the path of a node's control group, relative to the
// mount point of control groups.
func (p *plan) cgroup(node string) string { return filepath.Join(cgroupOf(p.Name), node) }

func cgroupOf(lab string) string { return filepath.Join(allLabs, lab) }

// allLabs is the control group that contains those of all labs.
const allLabs = "heddle"

func (p *plan) hostIP() netip.Addr {
	return netip.AddrFrom4([4]byte{10, byte(p.Network), 0, hostPlace})
}

func rackPath(rack int) string {
	if rack == 0 {
		return "/core"
	}
	return fmt.Sprintf("/rack%d", rack)
}
