package state

import "slices"

// cache knows the cached copies of one job's input blocks, which come and go
// while the job runs. Each copy is in the linked list of its map, and in the
// linked list of its node as long as the map may wait. A search in a node's
// list removes from it the copies that are gone, and the copies whose map no
// longer waits.
type cache struct {
	pool *pool[int32]
	// hash table from a node to the index in cache.copies, plus 1, of the first cached copy in the node's list; 0 if the list is empty
	nodes  table
	used   int // number of the cluster's nodes that have an entry in the hash table of nodes
	tasks  []int32
	copies []cachedCopy
	spare  int32 // index in cache.copies of the first element in the linked list of unused elements; None if there is none
}

type cachedCopy struct {
	task, node int32 // the map, and the node with the cached copy of its input; node is None if the copy is gone
	// index in cache.copies, plus 1, of the next cached copy on the same node; 0 ends the list; the constant unlisted
	// means that the copy is in no node's list
	ofNode int32
	ofTask int32 // index in cache.copies of the next cached copy of the same map's input; None ends the list
}

const unlisted = -1

func (s *State) layCached(j *job, h *Hosts) {
	if h.count() == 0 {
		return
	}
	c := s.newCache(j, min(h.count(), len(s.nodes)))
	// The loop goes backwards, so that the lowest-numbered map comes first in its
	// node's list of cached copies.
	for t, end := range slices.Backward(h.Ends) {
		start := int32(0)
		if t > 0 {
			start = h.Ends[t-1]
		}
		for _, n := range h.Nodes[start:end] {
			if c.find(int32(t), int32(n)) == None {
				c.add(int32(t), int32(n), len(s.nodes))
			}
		}
	}
}

func (s *State) newCache(j *job, nodes int) *cache {
	c := reuse(&s.caches)
	*c = cache{pool: &s.pool, tasks: s.pool.get(int(j.counts[Map].total)), copies: c.copies[:0], spare: None}
	for t := range c.tasks {
		c.tasks[t] = None
	}
	c.nodes.reset(s.pool.get(tableSize(nodes, len(s.nodes))), len(s.nodes))
	j.cached = c
	return c
}

func (s *State) retire(c *cache) {
	s.pool.put(c.tasks)
	s.pool.put(c.nodes.slots)
	s.caches = append(s.caches, c)
}

// Cached records that node n has just cached the input block of map t.
func (s *State) Cached(id JobID, t TaskID, n NodeID) {
	j := &s.jobs[id]
	if j.ended || t < 0 || int32(t) >= j.counts[Map].total {
		return
	}
	c := j.cached
	if c == nil {
		c = s.newCache(j, 1)
	}
	if c.find(int32(t), int32(n)) != None {
		return
	}
	if c.tasks[t] == None && isSet(j.waiting[Map].bits, int32(t)) {
		j.cachedTasks++
	}
	c.add(int32(t), int32(n), len(s.nodes))
	if s.near[nearCache].on {
		s.near[nearCache].add(int32(n), id)
	}
	j.inputChanges++
}

// Uncached records that node n no longer caches the input block of map t.
func (s *State) Uncached(id JobID, t TaskID, n NodeID) {
	j := &s.jobs[id]
	if c := j.cached; c != nil && t >= 0 && int(t) < len(c.tasks) && c.remove(int32(t), int32(n)) {
		j.inputChanges++
		if c.tasks[t] == None && isSet(j.waiting[Map].bits, int32(t)) {
			j.cachedTasks--
		}
	}
}

// find returns the index in cache.copies of the cached copy of map t's input
// on node n, or None if the node does not cache this input.
func (c *cache) find(t, n int32) int32 {
	i := c.of(t)
	for i != None && c.copies[i].node != n {
		i = c.copies[i].ofTask
	}
	return i
}

// of returns the index in cache.copies of the first cached copy of map t's
// input, or None if no node caches this input.
func (c *cache) of(t int32) int32 {
	if uint(t) >= uint(len(c.tasks)) {
		return None
	}
	return c.tasks[t]
}

// add adds the cached copy of map t's input on node n to the lists of the map
// and of the node. The parameter all is the number of nodes in the cluster.
func (c *cache) add(t, n int32, all int) {
	i := c.spare
	if i == None {
		i = int32(len(c.copies))
		c.copies = append(c.copies, cachedCopy{})
	} else {
		c.spare = c.copies[i].ofTask
	}
	c.copies[i] = cachedCopy{task: t, node: n, ofTask: c.tasks[t]}
	c.tasks[t] = i
	if c.nodes.find(n) < 0 {
		if c.used++; tableSize(min(c.used, all), all) > len(c.nodes.slots) {
			c.grow(all)
		}
	}
	c.list(i)
}

// grow doubles the size of the hash table of nodes with cached copies, but not
// beyond one entry for each node of the cluster. The parameter all is the
// number of nodes in the cluster.
func (c *cache) grow(all int) {
	old := c.nodes.slots
	c.nodes.reset(c.pool.get(tableSize(min(2*c.used, all), all)), all)
	for i := 0; i < len(old); i += 2 {
		if old[i] != 0 {
			c.nodes.slots[c.nodes.insert(old[i]-1)+1] = old[i+1]
		}
	}
	c.pool.put(old)
}

// list puts the cached copy with index i at the beginning of its node's list
// of cached copies.
func (c *cache) list(i int32) {
	first := &c.nodes.slots[c.nodes.insert(c.copies[i].node)+1]
	c.copies[i].ofNode, *first = *first, i+1
}

func (c *cache) remove(t, n int32) bool {
	for link := &c.tasks[t]; *link != None; link = &c.copies[*link].ofTask {
		i := *link
		if x := &c.copies[i]; x.node == n {
			*link, x.node = x.ofTask, None
			if x.ofNode == unlisted {
				c.drop(i)
			}
			return true
		}
	}
	return false
}

func (c *cache) drop(i int32) { c.copies[i].ofTask, c.spare = c.spare, i }

// first returns a waiting map whose input is cached on node n, or None if
// there is none. Maps whose input was cached after the job's submission, and
// maps that wait again, come first. The other maps follow by ascending number.
func (c *cache) first(n int32, waiting []int32) TaskID {
	at := c.nodes.find(n)
	if at < 0 {
		return None
	}
	for first := &c.nodes.slots[at+1]; *first != 0; {
		i := *first - 1
		x := &c.copies[i]
		if x.node != None && isSet(waiting, x.task) {
			return TaskID(x.task)
		}
		*first, x.ofNode = x.ofNode, unlisted
		if x.node == None {
			c.drop(i)
		}
	}
	return None
}

// each calls yield with the waiting maps whose input is cached on node n, until
// yield returns false.
func (c *cache) each(n int32, waiting []int32, yield func(TaskID) bool) {
	at := c.nodes.find(n)
	if at < 0 {
		return
	}
	for next := c.nodes.slots[at+1]; next != 0; {
		x := &c.copies[next-1]
		if x.node != None && isSet(waiting, x.task) && !yield(TaskID(x.task)) {
			return
		}
		next = x.ofNode
	}
}

// relist puts the cached copies of map t's input back into their nodes' lists,
// because the map waits again.
func (c *cache) relist(t int32) {
	for i := c.tasks[t]; i != None; i = c.copies[i].ofTask {
		if c.copies[i].ofNode == unlisted {
			c.list(i)
		}
	}
}
