package lanes

import "heddle/traces"

// Sizes of a grid. It has at most as many rows and bins; when it needs more, it adds up
// pairs of them.
const (
	mostRows = 320
	mostBins = 1280
	// kinds of running attempts in a grid: maps by level of locality, and reduces.
	gridKinds  = int(traces.LevelOff) + 2
	gridReduce = gridKinds - 1
)

// grid has what is kept of a trial with too many attempts: for each row of nodes, bin and
// kind, for how long attempts ran, in ms; and for each bin, for how long tasks waited.
type grid struct {
	perRow  int       // nodes in a row
	widthMs int64     // of a bin
	from    int64     // start of the first bin
	rows    [][]int64 // of each row, its bins one after the other, each with all kinds
	waits   [2][]int64
}

// newGrid returns an empty grid for so many nodes, whose first bin begins at a time.
func newGrid(nodes int, from int64) *grid {
	g := &grid{perRow: 1, widthMs: 250, from: from}
	for nodes > g.perRow*mostRows {
		g.perRow *= 2
	}
	return g
}

// add adds the time that an attempt ran.
func (g *grid) add(b bar) {
	for int(b.node)/g.perRow >= mostRows {
		g.pairRows()
	}
	kind := gridReduce
	if b.kind == traces.Map {
		kind = min(int(b.replica), gridReduce-1)
	}
	row := int(b.node) / g.perRow
	for len(g.rows) <= row {
		g.rows = append(g.rows, nil)
	}
	g.spread(b.from, b.to, func(bin int, ms int64) {
		cells := &g.rows[row]
		for len(*cells) < (bin+1)*gridKinds {
			*cells = append(*cells, 0)
		}
		(*cells)[bin*gridKinds+kind] += ms
	})
}

// wait adds the time that a task waited.
func (g *grid) wait(w wait) {
	g.spread(w.from, w.to, func(bin int, ms int64) {
		cells := &g.waits[w.kind&1]
		for len(*cells) <= bin {
			*cells = append(*cells, 0)
		}
		(*cells)[bin] += ms
	})
}

// spread calls put for each bin between two times with the time that falls into it.
func (g *grid) spread(from, to int64, put func(bin int, ms int64)) {
	from, to = max(from, g.from), max(to, g.from) // a trace in order has nothing before its first event
	for to-g.from > g.widthMs*mostBins {
		g.pairBins()
	}
	for from < to {
		bin := (from - g.from) / g.widthMs
		next := min(to, g.from+(bin+1)*g.widthMs)
		put(int(bin), next-from)
		from = next
	}
}

// pairBins makes each bin twice as wide.
func (g *grid) pairBins() {
	g.widthMs *= 2
	for r, cells := range g.rows {
		g.rows[r] = paired(cells, gridKinds)
	}
	for k, cells := range g.waits {
		g.waits[k] = paired(cells, 1)
	}
}

// paired adds up pairs of groups of size numbers each.
func paired(cells []int64, size int) []int64 {
	out := make([]int64, (len(cells)/size+1)/2*size)
	for i, n := range cells {
		out[i/(2*size)*size+i%size] += n
	}
	return out
}

// pairRows puts the nodes of two rows into one.
func (g *grid) pairRows() {
	g.perRow *= 2
	var rows [][]int64
	for i := 0; i < len(g.rows); i += 2 {
		a := g.rows[i]
		if i+1 < len(g.rows) {
			b := g.rows[i+1]
			if len(a) < len(b) {
				a, b = b, a
			}
			for k, n := range b {
				a[k] += n
			}
		}
		rows = append(rows, a)
	}
	g.rows = rows
}
