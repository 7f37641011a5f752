package steer

import (
	"slices"
	"time"
)

// grantWait says how long a decision waits for its container. YARN on a busy machine
// takes longer to grant one, so the time follows the waits that were measured lately:
// it is 4 times their 95th percentile. Waits that are longer than the limit are never
// measured. So the time also doubles if a decision waits in vain for a container that
// its ApplicationMaster still asks for, while no other decision gets one. It stays
// doubled until the next container comes.
type grantWait struct {
	least   time.Duration // the shortest time that a decision waits
	waits   []time.Duration
	next    int // index in waits that the next wait replaces, once there are lastWaits of them
	doubled int // how many times the limit was doubled since the last container
	cameAt  time.Time
}

// lastWaits is how many waits grantWait remembers: those of a minute or so.
const lastWaits = 64

// enoughWaits is how many waits tell what is usual on a cluster. Until so many are
// known, decisions wait 4 times the shortest time.
const enoughWaits = 16

// mostPatience is the longest time that a decision waits, so that a node does not stay
// idle for minutes where a container never comes.
const mostPatience = time.Minute

// limit returns how long a decision that is carried out now waits for its container.
func (w *grantWait) limit() time.Duration {
	limit := w.least
	n := len(w.waits)
	if n < enoughWaits {
		limit = 4 * w.least
	}
	if n > 0 {
		limit = max(limit, 4*slices.Sorted(slices.Values(w.waits))[(n-1)*95/100])
	}
	for range w.doubled {
		limit = min(2*limit, mostPatience)
	}
	return max(w.least, min(limit, mostPatience))
}

// times returns a time that suits an idle cluster, such as that of a heartbeat, as many
// times longer as decisions wait longer now than on an idle cluster.
func (w *grantWait) times(idle time.Duration) time.Duration {
	return time.Duration(float64(idle) * (float64(w.limit()) / float64(w.least)))
}

// came notes that a container came now, and how long its decision waited for it.
func (w *grantWait) came(now time.Time, after time.Duration) {
	w.doubled, w.cameAt = 0, now
	if len(w.waits) < lastWaits {
		w.waits = append(w.waits, after)
		return
	}
	w.waits[w.next] = after
	w.next = (w.next + 1) % lastWaits
}

// inVain notes that a decision waited since the given time, for as long as the limit
// was then, and got no container though its job still asked for one. That tells nothing
// new if other decisions got containers meanwhile, so that the cluster is not slow, or
// if decisions wait longer by now.
func (w *grantWait) inVain(since time.Time, limit time.Duration) {
	if !w.cameAt.After(since) && limit >= w.limit() && limit < mostPatience {
		w.doubled++
	}
}
