package place

import (
	"cmp"
	"math"
	"slices"

	"heddle/harness/sim/draw"
	"heddle/harness/state"
)

// Cache is the memory that DataNodes have for cached copies, as directives fill
// it. For a cache that follows what is read see LRU.
type Cache struct {
	size []int64 // by node
	room []int64
}

// NewCache is an empty cache of so many bytes on each node.
func NewCache(size []int64) *Cache {
	return &Cache{size: slices.Clone(size), room: slices.Clone(size)}
}

// Room is how many bytes a node has left.
func (c *Cache) Room(n state.NodeID) int64 { return c.room[n] }

// Free gives back the room of one copy.
func (c *Cache) Free(n state.NodeID, bytes int64) { c.room[n] = min(c.size[n], c.room[n]+bytes) }

// Directive is how much of a file HDFS is told to cache.
type Directive struct {
	Blocks int // how many of its blocks
	Copies int // of each
}

// File adds to cached the nodes that cache each block of a file, and returns how
// many blocks are cached. A copy is on a node that has a replica and room. Block i
// of the file is block i of replicas, and blockBytes long.
//
// The blocks are spread over the file as evenly as can be, from a place that the
// key draws; where there is room for all, those of a smaller directive are among
// those of a larger one. A block without a replica on a node with room is passed
// over for the next, so fewer blocks than told are cached only if no other has
// one. Which of the replicas is drawn in proportion to the free shares of the
// nodes' caches, as the NameNode does it (CacheReplicationMonitor of Hadoop 3.4),
// which knows them later than here.
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

// spread is number b of a sequence in [0, 1) of which any stretch is spread
// evenly: the multiples of the golden ratio, modulo 1, from a drawn one on.
func spread(key draw.Key, b int) float64 {
	const ratio = 0x9e3779b97f4a7c15 // of 2^64
	return draw.Key(uint64(key) + uint64(b)*ratio).Fraction()
}

// block appends to to the nodes, of those with replicas, that cache a block.
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

// chance is in proportion to the free share of a node's cache; 0 if it has the
// block already or no room for it.
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
