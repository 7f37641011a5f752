package recorded

import (
	"math"

	"heddle/traces"
)

// coresUsed follows how many cores the workers of a cluster on one machine use while they
// have more work than the machine has cores.
type coresUsed struct {
	running int         // attempts that run
	since   traces.Time // since when they are enough
	of      map[traces.Node]use
}

// use is how long a node was sampled, in seconds, and how much it computed meanwhile.
type use struct{ seconds, coreSeconds float64 }

const (
	// enoughPerCore is how many attempts to a core keep all cores busy, though some of
	// them start or wait.
	enoughPerCore = 2
	// leastUseSeconds is how long each node must have been sampled meanwhile.
	leastUseSeconds = 5
)

// changed has this many more attempts run at the time t.
func (c *coresUsed) changed(t traces.Time, more int, hostCores float64) {
	enough := int(math.Ceil(enoughPerCore * hostCores))
	if more > 0 && c.running < enough && c.running+more >= enough {
		c.since = t
	}
	c.running += more
}

func (c *coresUsed) sampled(e *traces.NodeSample, hostCores float64) {
	if hostCores <= 0 || e.CPUUser < 0 || e.CPUSystem < 0 || float64(c.running) < enoughPerCore*hostCores || int64(e.T)-e.IntervalNs < int64(c.since) {
		return
	}
	if c.of == nil {
		c.of = map[traces.Node]use{}
	}
	u := c.of[e.Node]
	seconds := float64(e.IntervalNs) / 1e9
	c.of[e.Node] = use{u.seconds + seconds, u.coreSeconds + seconds*(e.CPUUser+e.CPUSystem)}
}

// TaskCores returns how many cores the workers used together, on average, while they had
// more attempts than the machine that runs all of them has cores. The rest of its cores
// went to the masters, to other programs, or was lost. It is 0 if that is not known.
func (t *Trace) TaskCores() (cores float64) {
	for _, n := range t.Nodes {
		u := t.used.of[n.Node]
		if u.seconds < leastUseSeconds {
			return 0
		}
		cores += u.coreSeconds / u.seconds
	}
	return cores
}
