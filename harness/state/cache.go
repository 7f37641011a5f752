package state

// cache knows the cached copies of one job's input, which come and go while the
// job runs. Each copy is in two linked lists: that of its map, and that of its
// node as long as the map may wait. A look-up removes from a node's list the
// copies that are gone and those whose map no longer waits.
type cache struct {
	pool   *pool[int32]
	nodes  table // node -> first copy of its list + 1, 0 for an empty list
	used   int   // number of nodes in the table
	tasks  []int32
	copies []cachedCopy
	spare  int32 // first of the linked list of unused copies
}

type cachedCopy struct {
	task, node int32 // node is None once the copy is gone
	ofNode     int32 // next copy of the same node + 1, 0 at the end, unlisted in no list
	ofTask     int32 // next copy of the same map, None at the end
}

const unlisted = -1

func (s *State) layCached(j *job, h *Hosts) {
	if h.count() == 0 {
		return
	}
	c := s.newCache(j, min(h.count(), len(s.nodes)))
	// Backwards, so that the lowest-numbered map comes first in its node's
	// list.
	for t := len(h.Ends) - 1; t >= 0; t-- {
		start := int32(0)
		if t > 0 {
			start = h.Ends[t-1]
		}
		for _, n := range h.Nodes[start:h.Ends[t]] {
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

// Cached says that node n now has map t's input in its cache.
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

// Uncached says that node n no longer has map t's input in its cache.
func (s *State) Uncached(id JobID, t TaskID, n NodeID) {
	j := &s.jobs[id]
	if c := j.cached; c != nil && t >= 0 && int(t) < len(c.tasks) && c.remove(int32(t), int32(n)) {
		j.inputChanges++
		if c.tasks[t] == None && isSet(j.waiting[Map].bits, int32(t)) {
			j.cachedTasks--
		}
	}
}

// find returns the copy of map t on node n, None if there is none.
func (c *cache) find(t, n int32) int32 {
	i := c.of(t)
	for i != None && c.copies[i].node != n {
		i = c.copies[i].ofTask
	}
	return i
}

// of returns the first copy of map t, None if there is none.
func (c *cache) of(t int32) int32 {
	if uint(t) >= uint(len(c.tasks)) {
		return None
	}
	return c.tasks[t]
}

// add adds a copy of map t on node n to both lists. all is how many nodes the
// cluster has.
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

// grow doubles the table, but not beyond one entry for each of all nodes.
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

// list puts copy i at the head of its node's list.
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

// first returns a waiting map with a copy on node n, None if there is none. It
// takes the copies that came or waited again after submission first, then those
// known at submission by ascending map number.
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

// each calls yield with the waiting maps that have a copy on node n, until
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

// relist puts the copies of map t, which waits again, back into their nodes'
// lists.
func (c *cache) relist(t int32) {
	for i := c.tasks[t]; i != None; i = c.copies[i].ofTask {
		if c.copies[i].ofNode == unlisted {
			c.list(i)
		}
	}
}
