package exchange

import (
	"cmp"
	"maps"
	"slices"

	"heddle/traces"
	"heddle/traces/hosts"
	"heddle/traces/internal/racks"
	"heddle/traces/mend"
)

var (
	oneMachine  mend.Kind = "a machine with two names: taken as one, by the name that YARN or the list of nodes has for it"
	twoMachines mend.Kind = "names that may be of one machine, which is not certain: kept apart"
)

var twoRacks mend.Kind = "a host in two racks: taken as in the first"

// nodes collects the nodes of the cluster. First come the nodes of topology
// files, in the order of those files. Then come the hosts on which an attempt
// or an ApplicationMaster ran, sorted by rack and name. Without a topology
// file, hosts that only store data are nodes too.
type nodes struct {
	rackOf *racks.Table
	names  hosts.Names
	log    *mend.Log
	listed []traces.NodeFacts
	tables []traces.NodeFacts // machines of rack tables, which need not be nodes
	known  map[traces.Node]bool
	seen   map[traces.Node]string // hosts that jobs name, for example in splits, each with its rack
	ran    map[traces.Node]bool   // hosts on which an attempt or an ApplicationMaster ran
}

func newNodes(rackOf *racks.Table, log *mend.Log) *nodes {
	return &nodes{rackOf: rackOf, log: log, known: map[traces.Node]bool{}, seen: map[traces.Node]string{}, ran: map[traces.Node]bool{}}
}

// The method table takes the racks of machines that may be nodes.
func (n *nodes) table(machines []traces.NodeFacts) {
	n.tables = append(n.tables, machines...)
	for _, m := range machines {
		n.names.See(string(m.Node), 0)
		n.rackOf.Tell(n.rackOf.Name(string(m.Node)), m.Rack)
	}
}

// The method list adds the nodes that a topology file lists.
func (n *nodes) list(nodes []traces.NodeFacts) {
	for _, f := range nodes {
		f.Node = traces.Node(n.rackOf.Name(string(f.Node)))
		n.names.See(string(f.Node), hosts.Listed)
		if f.Node != "" && !n.known[f.Node] {
			f.Worker = true
			n.known[f.Node] = true
			n.listed = append(n.listed, f)
			n.rackOf.Tell(string(f.Node), f.Rack)
		}
	}
}

// The method use adds a host on which an attempt or an ApplicationMaster ran.
// The argument rack is empty if the rack is not known.
func (n *nodes) use(host traces.Node, rack string) error {
	n.names.See(string(host), hosts.Ran)
	if host != "" && !n.known[host] {
		n.ran[host] = true
	}
	return n.see(host, rack)
}

// The method see adds a host that a job names, for example as the host of a
// split. The argument rack is empty if it is not known.
func (n *nodes) see(host traces.Node, rack string) error {
	n.names.See(string(host), 0)
	if host == "" || n.known[host] {
		return nil
	}
	had, ok := n.seen[host]
	if !ok || had == "" {
		n.seen[host] = rack
		n.rackOf.Tell(string(host), rack)
		return nil
	}
	if rack != "" && rack != had {
		return n.log.Add(twoRacks, string(host), rack)
	}
	return nil
}

// tell records which machines had two names in the files, and which may have.
func (n *nodes) tell(same map[string]string) error {
	for _, other := range slices.Sorted(maps.Keys(same)) {
		if err := n.log.Add(oneMachine, "its hosts", other+" and "+same[other]); err != nil {
			return err
		}
	}
	for _, doubt := range n.names.Doubts() {
		if err := n.log.Add(twoMachines, "its hosts", doubt); err != nil {
			return err
		}
	}
	return nil
}

// rackless returns the number of hosts whose rack none of the input files names.
func (n *nodes) rackless() int {
	count := 0
	for host := range n.seen {
		if !n.known[host] && n.rackOf.Of(string(host)) == "" {
			count++
		}
	}
	return count
}

// facts returns all nodes of the cluster for the trace's header: those of
// topology files in the order of the files, then the others sorted by rack and
// name. If no file names nodes or hosts, they are the machines of rack tables.
func (n *nodes) facts() []traces.NodeFacts {
	if len(n.listed)+len(n.seen) == 0 && len(n.tables) > 0 {
		n.list(tabled(n.tables))
	}
	all := slices.Clone(n.listed)
	var seen []traces.NodeFacts
	for _, host := range slices.Sorted(maps.Keys(n.seen)) {
		if !n.known[host] && (n.ran[host] || len(n.listed) == 0) {
			seen = append(seen, traces.NodeFacts{Node: host, Rack: n.rackOf.Of(string(host)), Worker: true})
		}
	}
	slices.SortStableFunc(seen, func(a, b traces.NodeFacts) int { return cmp.Compare(a.Rack, b.Rack) })
	return append(all, seen...)
}
