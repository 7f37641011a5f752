package recorded

import (
	"slices"

	"heddle/traces"
)

// coresUsed follows how many cores the nodes of a cluster on one machine use while its
// workers have more attempts than the machine has cores.
type coresUsed struct {
	hostCores float64     // cores of the machine; 0: the nodes are not on one
	running   int         // attempts that run
	starting  int         // ApplicationMasters that start
	up        int         // ApplicationMasters that are up
	since     traces.Time // since when the attempts are enough, and no ApplicationMaster starts
	of        map[traces.Node]use
}

// use is how long a node was sampled, in seconds, how much it computed meanwhile, and how
// long ApplicationMasters were up.
type use struct{ seconds, coreSeconds, masterSeconds float64 }

const (
	// enoughPerCore is how many attempts to a core keep all cores busy, though some of
	// them start or wait.
	enoughPerCore = 2
	// leastUseSeconds is how long each node must have been sampled meanwhile.
	leastUseSeconds = 5
	// leastBusy is which part of the machine's cores all nodes together must have used.
	// If it is less, attempts waited for something else, such as disks, or slept.
	leastBusy = 0.85
)

// changed has this many more attempts run, and ApplicationMasters start, at the time t.
func (c *coresUsed) changed(t traces.Time, attempts, masters int) {
	before := c.short()
	c.running += attempts
	c.starting += masters
	if !before && c.short() {
		c.since = t
	}
}

// short reports whether attempts want more cores than there are, and have none but
// each other to share them with: an ApplicationMaster that starts is simulated as what it
// takes, and must not count as cores that are missing, too.
func (c *coresUsed) short() bool {
	return c.starting == 0 && float64(c.running) >= enoughPerCore*c.hostCores
}

func (c *coresUsed) sampled(e *traces.NodeSample) {
	if c.hostCores <= 0 || e.CPUUser < 0 || e.CPUSystem < 0 || !c.short() || int64(e.T)-e.IntervalNs < int64(c.since) {
		return
	}
	if c.of == nil {
		c.of = map[traces.Node]use{}
	}
	u := c.of[e.Node]
	seconds := float64(e.IntervalNs) / 1e9
	c.of[e.Node] = use{u.seconds + seconds, u.coreSeconds + seconds*(e.CPUUser+e.CPUSystem), u.masterSeconds + seconds*float64(c.up)}
}

// TaskCores returns how many cores the workers used together, on average, while they had
// more attempts than the machine that runs all of them has cores, the cores were
// short, and no ApplicationMaster started. The rest of its cores went to the masters, to
// other programs, or was lost. It is 0 if that is not known. The result mastersUp is how
// many ApplicationMasters were up meanwhile, on average.
func (t *Trace) TaskCores() (cores, mastersUp float64) {
	for _, n := range t.Nodes {
		x := t.used.mean(n.Node)
		if x < 0 {
			return 0, 0
		}
		cores += x
		u := t.used.of[n.Node]
		mastersUp += u.masterSeconds / u.seconds / float64(len(t.Nodes))
	}
	all := cores
	for _, n := range t.masters() {
		all += max(0, t.used.mean(n.Node))
	}
	if all < leastBusy*t.used.hostCores {
		return 0, 0
	}
	return cores, mastersUp
}

// masters returns the nodes of the cluster that run no tasks.
func (t *Trace) masters() (list []traces.NodeFacts) {
	for _, n := range t.Header.Cluster.Nodes {
		if !n.Worker && !slices.ContainsFunc(t.Nodes, func(w traces.NodeFacts) bool { return w.Node == n.Node }) {
			list = append(list, n)
		}
	}
	return list
}

// AMMemoryMB returns how much memory, in MB, an ApplicationMaster takes on the nodes that run
// no tasks, on average; 0 if that is not known.
func (t *Trace) AMMemoryMB() int64 {
	var all held
	for _, n := range t.masters() {
		x := t.held[n.Node]
		all = held{all.memoryMB + x.memoryMB, all.containers + x.containers}
	}
	return all.memoryMB / max(1, all.containers)
}

// memoryHeld is, by node, what YARN had given to containers.
type memoryHeld map[traces.Node]held

// held is the memory and the number of the containers on a node, summed over samples.
type held struct{ memoryMB, containers int64 }

func (m memoryHeld) sampled(e *traces.NodeSample) {
	const most = 1 << 50 // bytes of all containers of a node that are believed
	if e.ContainersRunning > 0 && e.AllocatedMemoryBytes > 0 && e.AllocatedMemoryBytes <= most {
		x := m[e.Node]
		m[e.Node] = held{x.memoryMB + e.AllocatedMemoryBytes>>20, x.containers + int64(e.ContainersRunning)}
	}
}

// mean returns how many cores a node used; -1 if it was not sampled for long enough.
func (c *coresUsed) mean(n traces.Node) float64 {
	u := c.of[n]
	if u.seconds < leastUseSeconds {
		return -1
	}
	return u.coreSeconds / u.seconds
}
