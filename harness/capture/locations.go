package capture

import (
	"slices"
	"sort"

	"heddle/collectors/hdfs"
	"heddle/traces"
)

// locations records on which hosts the NameNode reported replicas and cached copies of
// input blocks, as changes over time. It is not safe for concurrent use.
type locations struct {
	blocks map[traces.Block]*blockHistory
	racks  map[traces.Node]string
	// idle are blocks that no job under capture reads now, longest unread first. At
	// most maxIdle of them are kept. If a job reads such a block again, only the
	// changes of its locations are recorded.
	idle []traces.Block
}

const maxIdle = 4096

// samples holds the times, ascending, at which the NameNode was asked about the input
// blocks of one job, and the ids of these blocks.
type samples struct {
	at     []traces.Time
	blocks []traces.Block
}

type blockHistory struct {
	readers    []*samples
	before     traces.Time // time of the NameNode's last answer about the block for jobs that have ended by now; -1: none
	placements []placement // where the block was, oldest first: the NameNode's first answer, and each answer that differs from the one before
}

// placement lists the hosts that have a block's replicas and cached copies from time t
// on.
type placement struct {
	t                traces.Time
	replicas, cached []traces.Node // names of the hosts with a replica, and of those with a cached copy, each list sorted by name
}

func newLocations() *locations {
	return &locations{blocks: map[traces.Block]*blockHistory{}, racks: map[traces.Node]string{}}
}

// The method add stores a NameNode answer about blocks of the file at path. The
// answer's time is the last one in reader.at. It returns events for replicas and cached
// copies that appeared or disappeared. Answers about a block must be added in order of
// time.
func (l *locations) add(reader *samples, path string, blocks []hdfs.Block) []traces.Event {
	var events []traces.Event
	for _, b := range blocks {
		id, p := traces.Block(b.ID), placement{t: reader.at[len(reader.at)-1]}
		h := l.blocks[id]
		if h == nil {
			h = &blockHistory{before: -1}
			l.blocks[id] = h
		}
		if !slices.Contains(h.readers, reader) {
			h.readers = append(h.readers, reader)
			reader.blocks = append(reader.blocks, id)
		}
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
		var was placement
		if n := len(h.placements); n > 0 {
			was = h.placements[n-1]
			if was.t == p.t || p.sameAs(was) { // nothing to record: the block is where it was, or another split in this answer has the same block
				continue
			}
		}
		h.placements = append(h.placements, p)
		events = append(events, changes(was, p, traces.BlockReplica{
			T: p.t, Block: id, Path: hdfs.BarePath(path), OffsetBytes: b.Offset, LengthBytes: b.Length,
		})...)
	}
	return events
}

func changes(was, is placement, of traces.BlockReplica) (events []traces.Event) {
	replica := func(node traces.Node, gone bool) {
		e := of
		e.Node, e.Gone = node, gone
		events = append(events, &e)
	}
	for _, node := range missing(was.replicas, is.replicas) {
		replica(node, false)
	}
	for _, node := range missing(was.cached, is.cached) {
		events = append(events, &traces.BlockCached{T: of.T, Block: of.Block, Node: node})
	}
	for _, node := range missing(is.cached, was.cached) {
		events = append(events, &traces.BlockCached{T: of.T, Block: of.Block, Node: node, Gone: true})
	}
	for _, node := range missing(is.replicas, was.replicas) {
		replica(node, true)
	}
	return events
}

// drop forgets at which times the NameNode was asked about one job's blocks. Blocks
// that no other captured job reads are added to l.idle, of which only the last maxIdle
// blocks are kept.
func (l *locations) drop(reader *samples) {
	for _, id := range reader.blocks {
		h := l.blocks[id]
		h.before = max(h.before, reader.at[len(reader.at)-1])
		h.readers = slices.DeleteFunc(h.readers, func(r *samples) bool { return r == reader })
		if len(h.readers) == 0 {
			h.readers, h.placements = nil, slices.Clone(h.placements[len(h.placements)-1:])
			l.idle = append(l.idle, id)
		}
	}
	for len(l.idle) > maxIdle {
		if h := l.blocks[l.idle[0]]; h != nil && len(h.readers) == 0 {
			delete(l.blocks, l.idle[0])
		}
		l.idle = l.idle[1:]
	}
}

func (p placement) sameAs(q placement) bool {
	return slices.Equal(p.replicas, q.replicas) && slices.Equal(p.cached, q.cached)
}

// levelAt returns how near a block was to the node at time t: in the node's cache, on
// the node, in its rack, or elsewhere. It uses the NameNode's last answer at or before
// t and also returns the age of that answer, in ns. Without such an answer it returns
// LevelUnknown and -1.
func (l *locations) levelAt(id traces.Block, node traces.Node, rack string, t traces.Time) (traces.Level, int64) {
	h := l.blocks[id]
	if h == nil {
		return traces.LevelUnknown, -1
	}
	sampled := traces.Time(-1)
	if h.before <= t {
		sampled = h.before
	}
	for _, r := range h.readers {
		if n := countUntil(r.at, t); n > 0 {
			sampled = max(sampled, r.at[n-1])
		}
	}
	n := sort.Search(len(h.placements), func(i int) bool { return h.placements[i].t > t })
	if n == 0 || sampled < 0 {
		return traces.LevelUnknown, -1
	}
	p, age := h.placements[n-1], int64(t-sampled)
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
		return traces.LevelUnknown, age // the block has no replica left: it is lost
	}
	return traces.LevelOff, age
}

// countUntil returns how many of the given times are at or before t; the times must be
// ascending.
func countUntil(times []traces.Time, t traces.Time) int {
	return sort.Search(len(times), func(i int) bool { return times[i] > t })
}

// missing returns the nodes in want that are not in have, such as nodes that have got a
// replica between two answers of the NameNode.
func missing(have, want []traces.Node) []traces.Node {
	var m []traces.Node
	for _, w := range want {
		if !slices.Contains(have, w) {
			m = append(m, w)
		}
	}
	return m
}
