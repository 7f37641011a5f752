package sim

import (
	"heddle/harness/sim/place"
	"heddle/harness/state"
)

// following is caches that follow what is read, and who waits to read what.
type following struct {
	cache   *place.LRU
	readers map[uint64][]reader // by block; looked up, never ranged over
	evicted []uint64
}

// reader is a map of a job that has not ended.
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

// expectReads has the State know which of a new job's blocks are in memory, and
// keeps it informed until the job ends.
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

// hasRead says that node n, where a replica or a cached copy is, has read map t's
// input.
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

// evict says that node n has not got blocks in memory any more.
func (s *Sim) evict(n state.NodeID, blocks []uint64) {
	c := &s.caching
	c.evicted = blocks
	for _, b := range blocks {
		for _, r := range c.readers[b] {
			s.state.Uncached(r.job, r.task, n)
		}
	}
}

// forgetReads is the end of a job.
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
