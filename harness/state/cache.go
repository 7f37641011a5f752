package state

// cache is the cached copies of one job's input, which come and go while it
// runs. A copy is in two chains: its map's, and its node's for as long as the
// map may wait. Look-ups drop from a node's chain what no longer waits or is no
// longer cached.
type cache struct {
	pool   *pool[int32]
	nodes  table // node -> first copy of its chain + 1, 0 none
	used   int   // nodes in the table
	tasks  []int32
	copies []cachedCopy
	spare  int32 // chain of dropped copies
}

type cachedCopy struct {
	task, node int32 // node None: no longer cached
	ofNode     int32 // next of the node + 1, 0 the end, unlisted: in no chain
	ofTask     int32 // next of the map, None the end
}

const unlisted = -1

func (s *State) layCached(j *job, h *Hosts) {
	if h.count() == 0 {
		return
	}
	c := s.newCache(j, min(h.count(), len(s.nodes)))
	// Backwards, so that the lowest-numbered map is found first.
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
	c := again(&s.caches)
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

// Cached says that node n has map t's input in its cache.
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
	if c.tasks[t] == None && isSet(j.open[Map].bits, int32(t)) {
		j.cachedTasks++
	}
	c.add(int32(t), int32(n), len(s.nodes))
	if s.near[nearCache].on {
		s.near[nearCache].add(int32(n), id)
	}
	j.moves++
}

// Uncached says that it no longer has.
func (s *State) Uncached(id JobID, t TaskID, n NodeID) {
	j := &s.jobs[id]
	if c := j.cached; c != nil && t >= 0 && int(t) < len(c.tasks) && c.remove(int32(t), int32(n)) {
		j.moves++
		if c.tasks[t] == None && isSet(j.open[Map].bits, int32(t)) {
			j.cachedTasks--
		}
	}
}

// find is the copy of t on n, None if there is none.
func (c *cache) find(t, n int32) int32 {
	i := c.of(t)
	for i != None && c.copies[i].node != n {
		i = c.copies[i].ofTask
	}
	return i
}

// of is the first copy of t, None if there is none.
func (c *cache) of(t int32) int32 {
	if uint(t) >= uint(len(c.tasks)) {
		return None
	}
	return c.tasks[t]
}

// add puts a copy into both chains; all is how many nodes there are.
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

// grow doubles the table, up to a place for each of all nodes.
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

// list puts copy i first into its node's chain.
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

// first is a waiting map with a copy on n. Maps come in ascending order as
// submitted; those cached later, or waiting again, come before.
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

// each yields the waiting maps with a copy on n, until told to stop.
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

// again lists the copies of t, which waits again.
func (c *cache) again(t int32) {
	for i := c.tasks[t]; i != None; i = c.copies[i].ofTask {
		if c.copies[i].ofNode == unlisted {
			c.list(i)
		}
	}
}
