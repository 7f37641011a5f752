package place

import (
	"cmp"
	"math"
	"slices"

	"heddle/harness/sim/draw"
	"heddle/harness/state"
)

// Cache simulates the HDFS cache: the memory of each DataNode for cached
// copies, filled by cache directives. The type LRU simulates another kind of
// cache, which keeps the blocks read last.
type Cache struct {
	size []int64 // by node: size of the DataNode's cache in bytes
	room []int64
}

// NewCache returns an empty HDFS cache. The parameter size has the number of
// bytes that each node can cache.
func NewCache(size []int64) *Cache {
	return &Cache{size: slices.Clone(size), room: slices.Clone(size)}
}

// Directive says how much of a file HDFS is told to cache.
type Directive struct {
	Blocks int // number of the file's blocks to cache
	Copies int // number of cached copies of each block
}

// File caches blocks of a file as directive d says. It adds the nodes that
// cache each block to the list in the parameter cached, and returns how many
// blocks are cached. A cached copy can only be on a node that has a replica of
// the block, and has room. The parameter replicas has the nodes that store
// each of the file's blocks, and blockBytes is the length of a block.
//
// The cached blocks are spread evenly over the file, from a start that is
// drawn with key. If there is room for all, a directive for more blocks caches
// the blocks of a smaller directive, and further ones. If all nodes with
// replicas of a block are full, another block is cached in its place. So fewer
// blocks than d says are cached only if no other block has a node with room.
// Among the nodes with replicas of a block, one is drawn in proportion to the
// free share of its cache, as in the NameNode (CacheReplicationMonitor of
// Hadoop 3.4). The real NameNode learns the free shares only from later
// heartbeats; this simulation knows them at once.
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

// spread returns the b-th element of a sequence of numbers from 0 to 1, by
// which the blocks of a file are sorted for caching. The first n elements are
// spread evenly for any n: they are multiples of the golden ratio modulo 1,
// from a start that is drawn with key.
func spread(key draw.Key, b int) float64 {
	const ratio = 0x9e3779b97f4a7c15 // golden ratio minus 1 (0.618), times 2^64
	return draw.Key(uint64(key) + uint64(b)*ratio).Fraction()
}

// block chooses the nodes that cache a block, among the nodes with a replica
// of the block. It appends the chosen nodes to the slice in the parameter to,
// and returns the slice.
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

// chance returns the weight with which a node is drawn to cache a block. The
// weight is in proportion to the free share of the node's cache. It is 0 if
// the node already caches the block or has no room for it.
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
