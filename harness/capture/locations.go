package capture

import (
	"slices"
	"sort"

	"heddle/collectors/hdfs"
	"heddle/collectors/yarn"
	"heddle/traces"
)

// locations is what the NameNode answered about blocks, sample after sample,
// kept as changes. It is not safe for use by several goroutines.
type locations struct {
	blocks map[traces.Block]*blockHistory
	order  []traces.Block // by first appearance, so that events come out alike
	racks  map[traces.Node]string
}

type blockHistory struct {
	path          string
	offset, bytes int64
	sampledAt     []traces.Time // ascending
	placements    []placement   // one where the answer changed, ascending
}

// placement is where a block was from T on.
type placement struct {
	t                traces.Time
	replicas, cached []traces.Node // each in order of name
}

func newLocations() *locations {
	return &locations{blocks: map[traces.Block]*blockHistory{}, racks: map[traces.Node]string{}}
}

// add notes the NameNode's answer about a file's blocks, received at t. Answers
// about one block come in order of time.
func (l *locations) add(t traces.Time, path string, blocks []hdfs.Block) {
	for _, b := range blocks {
		id := traces.Block(b.ID)
		h := l.blocks[id]
		if h == nil {
			h = &blockHistory{path: yarn.WithoutScheme(path), offset: b.Offset, bytes: b.Length}
			l.blocks[id] = h
			l.order = append(l.order, id)
		}
		if n := len(h.sampledAt); n > 0 && h.sampledAt[n-1] == t {
			continue // two splits of one block in the same answer
		}
		h.sampledAt = append(h.sampledAt, t)
		p := placement{t: t}
		for _, r := range b.Replicas {
			node := traces.Node(r.Host)
			l.racks[node] = r.Rack
			p.replicas = append(p.replicas, node)
			if r.Cached {
				p.cached = append(p.cached, node)
			}
		}
		slices.Sort(p.replicas)
		slices.Sort(p.cached)
		if n := len(h.placements); n == 0 || !p.sameAs(h.placements[n-1]) {
			h.placements = append(h.placements, p)
		}
	}
}

func (p placement) sameAs(q placement) bool {
	return slices.Equal(p.replicas, q.replicas) && slices.Equal(p.cached, q.cached)
}

// levelAt is how near node was to a block at t, by the last sample at or before
// t, and how old that sample was; LevelUnknown and -1 where there is none.
func (l *locations) levelAt(id traces.Block, node traces.Node, rack string, t traces.Time) (traces.Level, int64) {
	h := l.blocks[id]
	if h == nil {
		return traces.LevelUnknown, -1
	}
	n := sort.Search(len(h.sampledAt), func(i int) bool { return h.sampledAt[i] > t })
	if n == 0 {
		return traces.LevelUnknown, -1
	}
	age := int64(t - h.sampledAt[n-1])
	n = sort.Search(len(h.placements), func(i int) bool { return h.placements[i].t > t })
	p := h.placements[n-1]
	if slices.Contains(p.cached, node) {
		return traces.LevelCache, age
	}
	if slices.Contains(p.replicas, node) {
		return traces.LevelNode, age
	}
	for _, replica := range p.replicas {
		if rack != "" && l.racks[replica] == rack {
			return traces.LevelRack, age
		}
	}
	if len(p.replicas) == 0 {
		return traces.LevelUnknown, age // nobody has it: the block is lost
	}
	return traces.LevelOff, age
}

// events tells the samples as arrivals and departures of replicas and cached
// copies, in order of time.
func (l *locations) events() []traces.Event {
	var events []traces.Event
	for _, id := range l.order {
		h := l.blocks[id]
		var before placement
		for _, p := range h.placements {
			for _, node := range missing(before.replicas, p.replicas) {
				events = append(events, &traces.BlockReplica{T: p.t, Block: id, Node: node, Path: h.path, OffsetBytes: h.offset, LengthBytes: h.bytes})
			}
			for _, node := range missing(before.cached, p.cached) {
				events = append(events, &traces.BlockCached{T: p.t, Block: id, Node: node})
			}
			for _, node := range missing(p.cached, before.cached) {
				events = append(events, &traces.BlockCached{T: p.t, Block: id, Node: node, Gone: true})
			}
			for _, node := range missing(p.replicas, before.replicas) {
				events = append(events, &traces.BlockReplica{T: p.t, Block: id, Node: node, Path: h.path, OffsetBytes: h.offset, LengthBytes: h.bytes, Gone: true})
			}
			before = p
		}
	}
	return events
}

// missing are the elements of want that have lacks.
func missing(have, want []traces.Node) []traces.Node {
	var m []traces.Node
	for _, w := range want {
		if !slices.Contains(have, w) {
			m = append(m, w)
		}
	}
	return m
}
