package place

import (
	"cmp"
	"math"
	"slices"

	"heddle/harness/sim/draw"
	"heddle/harness/state"
)

// Cache is the memory that DataNodes have for cached copies, filled by cache
// directives. For a cache that follows reads, see LRU.
type Cache struct {
	size []int64 // size of the cache in bytes, by node
	room []int64
}

// NewCache returns an empty cache with the given bytes on each node.
func NewCache(size []int64) *Cache {
	return &Cache{size: slices.Clone(size), room: slices.Clone(size)}
}

// Room returns how many bytes a node has left.
func (c *Cache) Room(n state.NodeID) int64 { return c.room[n] }

// Free gives back the room of one copy.
func (c *Cache) Free(n state.NodeID, bytes int64) { c.room[n] = min(c.size[n], c.room[n]+bytes) }

// Directive says how much of a file HDFS is told to cache.
type Directive struct {
	Blocks int // how many of its blocks
	Copies int // cached copies of each block
}

// File adds to cached the nodes that cache each block of a file, and returns
// how many blocks are cached. A copy can only be on a node that has a replica
// and room. Block i of the file is block i of replicas, blockBytes long.
//
// The cached blocks are spread evenly over the file, from a place that the key
// draws. If there is room for all, the blocks of a smaller directive are also
// in a larger one. A block whose replicas are all on full nodes is replaced by
// the next one. So fewer blocks than told are cached only if no other block has
// a node with room. Among the replicas, one is drawn in proportion to the free
// share of the nodes' caches, as in the NameNode (CacheReplicationMonitor of
// Hadoop 3.4). The NameNode learns these shares later than this model does.
func (c *Cache) File(cached *state.Hosts, key draw.Key, replicas *state.Hosts, blockBytes int64, d Directive) int {
	order := make([]int, len(replicas.Ends))
	for b := range order {
		order[b] = b
	}
	slices.SortFunc(order, func(a, b int) int { return cmp.Compare(spread(key, a), spread(key, b)) })
	copies := make([][]state.NodeID, len(order))
	blocks := 0
	for _, b := range order {
		if blocks >= d.Blocks {
			break
		}
		start := int32(0)
		if b > 0 {
			start = replicas.Ends[b-1]
		}
		copies[b] = c.block(nil, key.At(uint64(b)), replicas.Nodes[start:replicas.Ends[b]], blockBytes, d.Copies)
		if len(copies[b]) > 0 {
			blocks++
		}
	}
	for _, nodes := range copies {
		cached.Add(nodes...)
	}
	return blocks
}

// spread returns number b of a sequence in [0, 1) that is evenly spread however
// long it is: the multiples of the golden ratio modulo 1, from a drawn start.
func spread(key draw.Key, b int) float64 {
	const ratio = 0x9e3779b97f4a7c15 // golden ratio less 1, times 2^64
	return draw.Key(uint64(key) + uint64(b)*ratio).Fraction()
}

// block appends to to the nodes, chosen among those with replicas, that cache a
// block.
func (c *Cache) block(to []state.NodeID, key draw.Key, replicas []state.NodeID, bytes int64, copies int) []state.NodeID {
	begin := len(to)
	for i := range copies {
		total := uint64(0)
		for _, n := range replicas {
			total += c.chance(to[begin:], n, bytes)
		}
		if total == 0 {
			break
		}
		at := uint64(key.At(uint64(i)).Below(int(total)))
		for _, n := range replicas {
			chance := c.chance(to[begin:], n, bytes)
			if at < chance {
				c.room[n] -= bytes
				to = append(to, n)
				break
			}
			at -= chance
		}
	}
	return to
}

// chance returns a number in proportion to the free share of a node's cache, 0
// if the node caches the block already or has no room.
func (c *Cache) chance(have []state.NodeID, n state.NodeID, bytes int64) uint64 {
	room, size := c.room[n], c.size[n]
	if room < bytes || size <= 0 {
		return 0
	}
	for _, x := range have {
		if x == n {
			return 0
		}
	}
	if size > math.MaxInt64>>20 {
		room, size = room>>20, size>>20
	}
	return uint64(room<<20/size) + 1
}
