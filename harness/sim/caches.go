package sim

import (
	"heddle/harness/sim/place"
	"heddle/harness/state"
	"heddle/traces"
)

// caches are the nodes' caches when every block that a node reads enters its cache
// (Config.CacheReads). They tell package state which maps of unfinished jobs have a
// cached copy of their block.
type caches struct {
	state   *state.State
	lru     *place.LRU          // nil: blocks that are read do not enter a cache
	readers map[uint64][]reader // by block: the maps that read it; never ranged over, because Go's map order is random
	evicted []uint64
}

// reader is a map of an unfinished job.
type reader struct {
	job  state.JobID
	task state.TaskID
}

// begin empties the caches, which keep what is read if keep is true.
func (c *caches) begin(s *state.State, nodes []Node, keep bool) {
	*c = caches{state: s}
	if !keep {
		return
	}
	sizes := make([]int64, len(nodes))
	for n := range sizes {
		sizes[n] = nodes[n].CacheBytes
	}
	c.lru, c.readers = place.NewLRU(sizes), map[uint64][]reader{}
}

// expect notes which block each map of a new job reads, and tells package state which
// of them are cached on a node with a replica. It returns the blocks, appended to
// the slice in the parameter to: none, if nothing that is read enters a cache.
func (c *caches) expect(to []traces.Block, id state.JobID, x *Job) []traces.Block {
	if c.lru == nil || len(x.Blocks) != int(x.Maps) {
		return to
	}
	for t, b := range x.Blocks {
		c.readers[uint64(b)] = append(c.readers[uint64(b)], reader{id, state.TaskID(t)})
		for _, n := range of(&x.Replicas, int32(t)) {
			if c.lru.Has(n, uint64(b)) {
				c.state.Cached(id, state.TaskID(t), n)
			}
		}
	}
	return append(to, x.Blocks...)
}

// read notes that a map has read its block from a copy on node n. The block then
// enters the node's cache.
func (c *caches) read(block traces.Block, n state.NodeID, bytes int64) {
	b := uint64(block)
	hit, evicted := c.lru.Read(n, b, bytes, c.evicted[:0])
	c.evict(n, evicted)
	if !hit && c.lru.Has(n, b) {
		for _, r := range c.readers[b] {
			c.state.Cached(r.job, r.task, n)
		}
	}
}

// lose empties the cache of a node that is lost.
func (c *caches) lose(n state.NodeID) {
	if c.lru != nil {
		c.evict(n, c.lru.Lose(n, c.evicted[:0]))
	}
}

// evict tells package state that the given blocks have left the cache of node n.
func (c *caches) evict(n state.NodeID, blocks []uint64) {
	c.evicted = blocks
	for _, b := range blocks {
		for _, r := range c.readers[b] {
			c.state.Uncached(r.job, r.task, n)
		}
	}
}

// forget drops the maps of a job that has ended, of which expect returned the blocks.
func (c *caches) forget(id state.JobID, blocks []traces.Block) {
	for t, b := range blocks {
		list := c.readers[uint64(b)]
		for i, r := range list {
			if r.job == id && r.task == state.TaskID(t) {
				list = append(list[:i], list[i+1:]...)
				break
			}
		}
		if len(list) == 0 {
			delete(c.readers, uint64(b))
		} else {
			c.readers[uint64(b)] = list
		}
	}
}
