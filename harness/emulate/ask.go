package emulate

import (
	"cmp"
	"maps"
	"slices"

	"heddle/collectors/hdfs/ipc"
	"heddle/yarnclient"
)

// asks is what an ApplicationMaster asks its ResourceManager for, as Hadoop's
// RMContainerRequestor keeps it: for each priority and place, how many containers. What has
// changed is sent with the next heartbeat.
type asks struct {
	count   map[ask]int64
	changed map[ask]bool
	release []containerID // containers to give back
	size    map[int]ipc.Message
	label   map[int]string // node label expression, by priority
}

// ask is a kind of request: its priority, and the host, rack or * where a container may be.
type ask struct {
	priority int
	place    string
}

const anywhere = "*"

// add asks for n more containers that may be at any of the places. A container near is
// preferred.
func (a *asks) add(priority int, near []string, n int64) {
	for _, place := range append(near, anywhere) {
		key := ask{priority, place}
		a.count[key] += n
		a.changed[key] = true
	}
}

// message returns the fields of an allocate call for what has changed.
func (a *asks) message() ipc.Message {
	var m ipc.Message
	keys := slices.SortedFunc(maps.Keys(a.changed), func(x, y ask) int {
		return cmp.Or(cmp.Compare(x.priority, y.priority), cmp.Compare(x.place, y.place))
	})
	for _, key := range keys {
		r := ipc.Message{}.Put(1, ipc.Message{}.Int(1, int64(key.priority))).Text(2, key.place).Put(3, a.size[key.priority]).
			Int(4, a.count[key]).Int(5, 1)
		if label := a.label[key.priority]; label != "" && key.place == anywhere { // elsewhere YARN refuses labels
			r = r.Text(6, label)
		}
		m = m.Put(1, r)
	}
	for _, id := range a.release {
		m = m.Put(2, []byte(id))
	}
	return m
}

// sent forgets what was sent.
func (a *asks) sent() {
	clear(a.changed)
	a.release = nil
	maps.DeleteFunc(a.count, func(_ ask, n int64) bool { return n == 0 })
}

// again has all be sent once more.
func (a *asks) again() {
	for key := range a.count {
		a.changed[key] = true
	}
}

// isMap reports whether a container of a priority is for a map.
func isMap(priority int) bool {
	return priority == yarnclient.PriorityMap || priority == yarnclient.PriorityFailedMap
}
