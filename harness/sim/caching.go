package sim

import (
	"heddle/harness/sim/place"
	"heddle/harness/state"
)

// following holds the nodes' caches when every block that a node reads enters
// its cache (Config.CacheReads). It also records which maps of unfinished jobs
// read each block.
type following struct {
	cache   *place.LRU
	readers map[uint64][]reader // by block: the map tasks that read it; never ranged over, because Go's map order is random
	evicted []uint64
}

// reader is a map task of an unfinished job. The task reads a block whose
// cached copies are simulated.
type reader struct {
	job  state.JobID
	task state.TaskID
}

func (s *Sim) beginCaching() {
	s.caching = following{}
	if !s.CacheReads {
		return
	}
	sizes := make([]int64, len(s.Cluster.Nodes))
	for n := range sizes {
		sizes[n] = s.Cluster.Nodes[n].CacheBytes
	}
	s.caching.cache, s.caching.readers = place.NewLRU(sizes), map[uint64][]reader{}
}

// expectReads tells package state which of a new job's blocks are cached. It
// also records which maps read each block, so that later changes in the caches
// reach package state.
func (s *Sim) expectReads(j *job, x *Job) {
	c := &s.caching
	if c.cache == nil || len(x.Blocks) != int(x.Maps) {
		return
	}
	j.blocks = append(j.blocks[:0], x.Blocks...)
	for t, b := range x.Blocks {
		c.readers[uint64(b)] = append(c.readers[uint64(b)], reader{j.id, state.TaskID(t)})
		for _, n := range of(&x.Replicas, int32(t)) {
			if c.cache.Has(n, uint64(b)) {
				s.state.Cached(j.id, state.TaskID(t), n)
			}
		}
	}
}

// hasRead records that map t has read its input from a copy on node n. The
// block then enters the node's cache.
func (s *Sim) hasRead(j *job, t state.TaskID, n state.NodeID, bytes int64) {
	c := &s.caching
	b := uint64(j.blocks[t])
	hit, evicted := c.cache.Read(n, b, bytes, c.evicted[:0])
	s.evict(n, evicted)
	if !hit && c.cache.Has(n, b) {
		for _, r := range c.readers[b] {
			s.state.Cached(r.job, r.task, n)
		}
	}
}

// evict tells package state that the given blocks have left the cache of node
// n.
func (s *Sim) evict(n state.NodeID, blocks []uint64) {
	c := &s.caching
	c.evicted = blocks
	for _, b := range blocks {
		for _, r := range c.readers[b] {
			s.state.Uncached(r.job, r.task, n)
		}
	}
}

// forgetReads removes the maps of an ended job from the record of which maps
// read each block.
func (s *Sim) forgetReads(j *job) {
	c := &s.caching
	for t, b := range j.blocks {
		list := c.readers[uint64(b)]
		for i, r := range list {
			if r.job == j.id && r.task == state.TaskID(t) {
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
	j.blocks = j.blocks[:0]
}
