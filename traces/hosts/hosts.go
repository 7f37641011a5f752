// Package hosts tells which names mean the same machine. HDFS, YARN and topology files may name
// one machine in several ways: short or with its domain, in capitals, with a dot at the end.
//
// Names of one machine are told from what they are used for. YARN has one name for each of its
// nodes, and HDFS one for each of its DataNodes. So of two names that both ran attempts, or both
// stored blocks, each is a machine of its own. Addresses are not taken as another name, unless maps
// that Hadoop counts as local tell so. Names such as localhost are the only node, if there is one.
package hosts

import (
	"cmp"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"
	"sync"
)

// Role is what a name was used for. A greater one gives its name to the machine.
type Role uint8

// What names are used for: a host that stores blocks, a node of a list, and a node of YARN, where
// attempts run.
const (
	Stored Role = 1 << iota
	Listed
	Ran
)

// Names has the names of hosts. The zero value is ready for use, from several goroutines.
type Names struct {
	mu     sync.Mutex
	roles  map[string]Role
	same   map[string]string
	doubts []string
	local  map[[2]string]bool // see Local
	known  bool               // same and doubts are those of roles
}

// See adds a name, and what it is used for.
func (n *Names) See(name string, as Role) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if name == "" || n.roles[name]&as != 0 {
		return
	}
	if n.roles == nil {
		n.roles = map[string]Role{}
	}
	n.roles[name] |= as
	n.known = false
}

// Local tells that a map ran on a node and was local, though its input was only on a host of another name.
func (n *Names) Local(host, node string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.local == nil {
		n.local = map[[2]string]bool{}
	}
	n.local[[2]string{host, node}] = true
	n.known = false
}

// Of returns the one name of a machine.
func (n *Names) Of(name string) string { return cmp.Or(n.Same()[name], name) }

// Same returns, for each name that is not the one name of its machine, that one. It must not be
// changed.
func (n *Names) Same() map[string]string {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.settle()
	return n.same
}

// Doubts says of which names it is not certain whether they are one machine. Each is then a machine
// of its own.
func (n *Names) Doubts() []string {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.settle()
	return n.doubts
}

// machine is what names that differ in capitals alone are.
type machine struct {
	key   string
	names []string
	role  Role
}

// name returns the one name of the machines together.
func name(roles map[string]Role, all ...*machine) string {
	var names []string
	for _, m := range all {
		names = append(names, m.names...)
	}
	return slices.MaxFunc(names, func(a, b string) int {
		return cmp.Or(cmp.Compare(roles[a], roles[b]), cmp.Compare(len(a), len(b)), cmp.Compare(b, a))
	})
}

// settle finds out which names mean the same machine.
func (n *Names) settle() {
	if n.known {
		return
	}
	n.known, n.same, n.doubts = true, map[string]string{}, nil
	byKey, byLabel := map[string]*machine{}, map[string][]*machine{}
	for _, spelt := range slices.Sorted(maps.Keys(n.roles)) {
		key := keyOf(spelt)
		m := byKey[key]
		if m == nil {
			m = &machine{key: key}
			byKey[key] = m
			if label, _, _ := strings.Cut(key, "."); !isAddress(key) {
				byLabel[label] = append(byLabel[label], m)
			}
		}
		m.names, m.role = append(m.names, spelt), m.role|n.roles[spelt]
	}
	for _, key := range slices.Sorted(maps.Keys(byKey)) {
		n.merge(byKey[key])
	}
	for _, label := range slices.Sorted(maps.Keys(byLabel)) {
		n.label(label, byLabel[label])
	}
	n.told(byKey)
	n.loopback(byKey)
	n.strangers(byKey)
}

// told takes a host without attempts as the node on which all maps ran that were local to it alone.
func (n *Names) told(byKey map[string]*machine) {
	nodes := map[*machine]map[*machine]bool{}
	for pair := range n.local {
		host, node := byKey[keyOf(pair[0])], byKey[keyOf(pair[1])]
		if host != nil && node != nil && host.role&Ran == 0 && n.one(host) != n.one(node) {
			if nodes[host] == nil {
				nodes[host] = map[*machine]bool{}
			}
			nodes[host][node] = true
		}
	}
	for host, near := range nodes {
		if len(near) == 1 {
			for node := range near {
				n.join(node, host)
			}
		}
	}
}

// one returns the one name of a machine's group.
func (n *Names) one(m *machine) string { return cmp.Or(n.same[m.names[0]], m.names[0]) }

// join takes machines as the first of them, which is a node.
func (n *Names) join(node *machine, others ...*machine) {
	n.merge(append(others, node)...)
	for _, m := range others {
		node.role |= m.role
	}
}

// loopback takes names that each machine has for itself as the only node. They are one machine of
// their own if nodes have no other names.
func (n *Names) loopback(byKey map[string]*machine) {
	var loops, nodes []*machine
	names, ran := map[string]bool{}, false
	for _, key := range slices.Sorted(maps.Keys(byKey)) {
		switch m := byKey[key]; {
		case isLoopback(key):
			loops, ran = append(loops, m), ran || m.role&Ran != 0
		case m.role&(Ran|Listed) != 0:
			nodes, names[n.one(m)] = append(nodes, m), true
		}
	}
	switch {
	case len(loops) == 0:
	case len(names) == 0 && ran:
		n.join(slices.MaxFunc(loops, func(a, b *machine) int { return cmp.Compare(a.role, b.role) }), loops...)
	case len(names) == 1 && !ran:
		n.join(nodes[0], append(loops, nodes[1:]...)...)
	default:
		for _, m := range loops {
			if len(names) > 0 && m.role&Ran == 0 && n.one(m) == m.names[0] {
				n.doubt("%s may be %s or another node: taken as a machine of its own", m.names[0], nodes[0].names[0])
			}
		}
	}
}

func keyOf(name string) string { return strings.TrimSuffix(strings.ToLower(name), ".") }

// isLoopback reports whether a name means whichever machine it is used on.
func isLoopback(key string) bool {
	return slices.Contains([]string{
		"localhost", "localhost.localdomain", "localhost4", "localhost6", "ip6-localhost", "127.0.0.1", "127.0.1.1", "::1",
	}, strings.Trim(key, "[]"))
}

func (n *Names) merge(all ...*machine) {
	one := name(n.roles, all...)
	for _, m := range all {
		for _, spelt := range m.names {
			if delete(n.same, spelt); spelt != one {
				n.same[spelt] = one
			}
		}
	}
}

func (n *Names) doubt(format string, args ...any) {
	n.doubts = append(n.doubts, fmt.Sprintf(format, args...))
}

// label handles the names that are equal up to the first dot.
func (n *Names) label(label string, all []*machine) {
	const user = Stored | Ran
	i := slices.IndexFunc(all, func(m *machine) bool { return m.key == label })
	full := all
	if i >= 0 {
		full = slices.Delete(slices.Clone(all), i, i+1)
	}
	switch {
	case len(full) == 0:
	case i < 0 && len(full) == 2 && full[0].role&full[1].role&user == 0 && full[0].role&user != 0 && full[1].role&user != 0:
		n.doubt("%s and %s may be one machine: taken as two", full[0].names[0], full[1].names[0])
	case i < 0:
	case len(full) > 1:
		n.doubt("%s may be %s or %s: taken as a machine of its own", all[i].names[0], full[0].names[0], full[1].names[0])
	case all[i].role&full[0].role&user != 0:
		n.doubt("%s and %s are used side by side: taken as two machines", all[i].names[0], full[0].names[0])
	default:
		n.merge(all[i], full[0])
	}
}

// strangers adds a doubt if blocks are on hosts of which none is a node, and one of both sides has
// addresses alone.
func (n *Names) strangers(byKey map[string]*machine) {
	var first [2]string
	addresses, all := [2]int{}, [2]int{}
	for _, key := range slices.Sorted(maps.Keys(byKey)) {
		m := byKey[key]
		for i, role := range [2]Role{Stored, Ran} {
			if m.role&role != 0 {
				first[i] = cmp.Or(first[i], m.names[0])
				if all[i]++; isAddress(key) {
					addresses[i]++
				}
			}
		}
		if m.role&Stored != 0 && m.role&Ran != 0 {
			return
		}
	}
	if all[0] > 0 && all[1] > 0 && (addresses[0] == all[0]) != (addresses[1] == all[1]) {
		n.doubt("blocks are on %s, and nodes are named otherwise, %s first: taken as other machines, so that no map is near its input",
			first[0], first[1])
	}
}

// isAddress reports whether a name is an address, or localhost.
func isAddress(key string) bool {
	_, err := netip.ParseAddr(strings.Trim(key, "[]"))
	return err == nil || key == "localhost"
}
