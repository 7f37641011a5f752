package place

import (
	"heddle/harness/sim/draw"
	"heddle/harness/state"
)

// LRU simulates a cache on each node that keeps the blocks read last. A block
// that a node reads from its disk stays in memory until blocks read later need
// the room. HDFS has no such cache. But the page cache works like this, and
// schedulers that predict caches (LARD, CATS) assume one.
//
// The schedulers ACL and CAVA have other rules for what enters the cache.
// Their papers do not describe these rules well enough to implement them. A
// caller that has such a rule of its own calls Read only for blocks that may
// enter the cache.
type LRU struct {
	size  []int64 // by node: size of the cache in bytes
	room  []int64
	newer []uint32 // by node: index in LRU.all of the block that the node read last; 0 if its cache is empty
	older []uint32 // by node: index in LRU.all of the cached block that the node read longest ago
	all   []copied
	spare uint32
	used  int
	table []uint32 // hash table from a node and a block to the index in LRU.all of the node's cached copy
}

type copied struct {
	block        uint64
	bytes        int64
	node         state.NodeID
	newer, older uint32
}

// NewLRU returns an empty cache for each node. The parameter size has the
// number of bytes that each node can cache.
func NewLRU(size []int64) *LRU {
	l := &LRU{
		size: append([]int64(nil), size...), room: make([]int64, len(size)),
		newer: make([]uint32, len(size)), older: make([]uint32, len(size)),
		table: make([]uint32, 64),
	}
	l.Reset()
	return l
}

// Reset removes all blocks from the caches of all nodes.
func (l *LRU) Reset() {
	copy(l.room, l.size)
	clear(l.newer)
	clear(l.older)
	clear(l.table)
	l.all, l.spare, l.used = append(l.all[:0], copied{}), 0, 0
}

// Has reports whether a node has a block in its cache.
func (l *LRU) Has(n state.NodeID, block uint64) bool { return l.table[l.find(n, block)] != 0 }

// Read records that node n has read a block of which it has a replica. It
// returns whether the block was in the node's cache, and appends to evicted
// the blocks that had to leave the cache to make room. A block larger than the
// node's whole cache is not kept.
func (l *LRU) Read(n state.NodeID, block uint64, bytes int64, evicted []uint64) (hit bool, _ []uint64) {
	if i := l.table[l.find(n, block)]; i != 0 {
		l.unlink(i)
		l.link(i)
		return true, evicted
	}
	if bytes > l.size[n] {
		return false, evicted
	}
	for l.room[n] < bytes {
		i := l.older[n]
		evicted = append(evicted, l.all[i].block)
		l.drop(i)
	}
	i := l.spare
	if i != 0 {
		l.spare = l.all[i].older
	} else {
		i = uint32(len(l.all))
		l.all = append(l.all, copied{})
	}
	l.all[i] = copied{block: block, bytes: bytes, node: n}
	l.room[n] -= bytes
	l.link(i)
	if l.used++; 2*l.used > len(l.table) {
		l.grow()
	}
	l.table[l.find(n, block)] = i
	return false, evicted
}

// Lose empties the cache of node n, which was lost, and appends the blocks
// that were in this cache to the slice lost.
func (l *LRU) Lose(n state.NodeID, lost []uint64) []uint64 {
	for l.older[n] != 0 {
		lost = append(lost, l.all[l.older[n]].block)
		l.drop(l.older[n])
	}
	return lost
}

func (l *LRU) drop(i uint32) {
	x := &l.all[i]
	l.remove(l.find(x.node, x.block))
	l.unlink(i)
	l.room[x.node] += x.bytes
	x.older, l.spare = l.spare, i
	l.used--
}

// link marks the cached copy with index i in LRU.all as the block that its
// node has read last.
func (l *LRU) link(i uint32) {
	x := &l.all[i]
	x.newer, x.older = 0, l.newer[x.node]
	if x.older != 0 {
		l.all[x.older].newer = i
	} else {
		l.older[x.node] = i
	}
	l.newer[x.node] = i
}

func (l *LRU) unlink(i uint32) {
	x := &l.all[i]
	if x.newer != 0 {
		l.all[x.newer].older = x.older
	} else {
		l.newer[x.node] = x.older
	}
	if x.older != 0 {
		l.all[x.older].newer = x.newer
	} else {
		l.older[x.node] = x.newer
	}
}

// The LRU cache's hash table of cached copies uses open addressing with linear
// probing. At most half of its positions are used.

func (l *LRU) home(n state.NodeID, block uint64) int {
	return int(uint64(draw.Key(block).At(uint64(n)))) & (len(l.table) - 1)
}

// find returns the position in the hash table of the cached copy of a block on
// node n. If there is no such copy, find returns the free position where the
// copy can be added.
func (l *LRU) find(n state.NodeID, block uint64) int {
	at := l.home(n, block)
	for l.table[at] != 0 {
		if x := &l.all[l.table[at]]; x.block == block && x.node == n {
			break
		}
		at = (at + 1) & (len(l.table) - 1)
	}
	return at
}

// remove empties a position of the hash table of cached copies. It moves up
// those later entries that a search (linear probing) could not reach
// otherwise.
func (l *LRU) remove(at int) {
	mask := len(l.table) - 1
	for next := (at + 1) & mask; l.table[next] != 0; next = (next + 1) & mask {
		x := &l.all[l.table[next]]
		if home := l.home(x.node, x.block); (next-home)&mask >= (next-at)&mask {
			l.table[at] = l.table[next]
			at = next
		}
	}
	l.table[at] = 0
}

func (l *LRU) grow() {
	old := l.table
	l.table = make([]uint32, 2*len(old))
	for _, i := range old {
		if i != 0 {
			l.table[l.find(l.all[i].node, l.all[i].block)] = i
		}
	}
}
