package lanes

// Sizes of a grid. It has at most as many rows and bins; when it needs more, it adds up
// pairs of them.
const (
	mostRows = 320
	mostBins = 1280
)

// grid has what is kept of a trial with too many attempts: for each row of nodes and each
// bin, for how long attempts ran, in ms.
type grid struct {
	PerRow  int       `json:"perRow"`  // nodes in a row
	WidthMs int64     `json:"widthMs"` // of a bin
	From    int64     `json:"from"`    // start of the first bin
	Rows    int       `json:"rows"`    // at the end, how many there are, and how many bins the longest has
	Bins    int       `json:"bins"`
	rows    [][]int64 // of each row, its bins one after the other
}

// newGrid returns an empty grid for so many nodes, whose first bin begins at a time.
func newGrid(nodes int, from int64) *grid {
	g := &grid{PerRow: 1, WidthMs: 250, From: from}
	for nodes > g.PerRow*mostRows {
		g.PerRow *= 2
	}
	return g
}

// add adds the time that an attempt ran.
func (g *grid) add(b bar) {
	for int(b.node)/g.PerRow >= mostRows {
		g.pairRows()
	}
	row := int(b.node) / g.PerRow
	for len(g.rows) <= row {
		g.rows = append(g.rows, nil)
	}
	from, to := max(b.from, g.From), max(b.to, g.From) // a trace in order has nothing before its first event
	for to-g.From > g.WidthMs*mostBins {
		g.pairBins()
	}
	for from < to {
		bin := (from - g.From) / g.WidthMs
		for int64(len(g.rows[row])) <= bin {
			g.rows[row] = append(g.rows[row], 0)
		}
		next := min(to, g.From+(bin+1)*g.WidthMs)
		g.rows[row][bin] += next - from
		from = next
	}
}

// pairBins makes each bin twice as wide.
func (g *grid) pairBins() {
	g.WidthMs *= 2
	for r, cells := range g.rows {
		paired := make([]int64, (len(cells)+1)/2)
		for i, ms := range cells {
			paired[i/2] += ms
		}
		g.rows[r] = paired
	}
}

// pairRows puts the nodes of two rows into one.
func (g *grid) pairRows() {
	g.PerRow *= 2
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
