package sched

import (
	"math"
	"slices"

	"heddle/harness/state"
)

// matching fills all free slots at once with the best total locality. Other
// models are measured against it.
//
// Rule. On a heartbeat, take all nodes with room and all waiting maps, and
// choose pairs of a slot and a map, each slot and each map at most once. A
// pair's weight depends on its level; the sum of the weights is to be the
// largest possible. Among choices with the same sum, the one with maps of
// earlier jobs is taken. Before that, re-runs and reduces go to the node that
// reported. No slot stays free to wait for a better map.
//
// Source. Bipartite matching as in Zhang, Li, Zhao, PDCAT 2016 (known from its
// abstract): tasks by priority, weights by level, maximum-weight matching. Here
// by the Hungarian method with potentials (Kuhn 1955, Munkres 1957). Example:
// with weights [[4 3] [3 1]], the pairs of weight 3 and 3 (sum 6) beat those of
// weight 4 and 1 (sum 5).
//
// Parameters.
//
//	cache, node, rack, off  weight (4, 3, 2, 1)  of a pair of that level
//	slots                   slots (64)           matched at most per round
//
// Differs. The paper's weights are not known. The result is the best of one
// round, not of a run, since the model never waits. More slots than the limit
// are matched in several rounds. At each level of a node it looks at only as
// many maps as there are slots. More maps could not raise the sum, as they
// would stay unmatched. The cost grows with slots² times the maps looked at.
type matching struct {
	Cache int64 `default:"4" unit:"weight" max:"1e6" text:"of a map started at this level"`
	Node  int64 `default:"3" unit:"weight" max:"1e6" text:"of a map started at this level"`
	Rack  int64 `default:"2" unit:"weight" max:"1e6" text:"of a map started at this level"`
	Off   int64 `default:"1" unit:"weight" max:"1e6" text:"of a map started at this level"`
	Slots int   `default:"64" unit:"slots" min:"1" max:"4096" text:"matched at most per round; cost grows with its square"`

	weights [4]int64       // weight of a pair of slot and map by locality level, from cache-local to off-rack
	rows    []state.NodeID // for each free slot (row of the cost matrix), its node
	columns []column
	cost    []int64 // the matrix of costs of giving a slot (row) a map (column), row by row
	solver  assignment
}

type column struct {
	job   state.JobID
	task  state.TaskID
	place int32 // position, in FIFO order, of the map's job
}

var matchingInfo = Info{
	Name:    "matching",
	Use:     ForControl,
	Summary: "fills all free slots at once so that locality is best: the upper bound of a round",
	Source:  "maximum-weight bipartite matching; Zhang, Li, Zhao, PDCAT 2016 (abstract)",
	Params:  ParamsOf[matching](),
	Build: func(a Args) (Model, error) {
		m := ValuesOf[matching](a)
		m.weights = [...]int64{m.Cache, m.Node, m.Rack, m.Off}
		return &m, nil
	},
}

func (m *matching) Name() string { return "matching" }

func (m *matching) Round(v *state.View, free []state.NodeID, out []Decision) []Decision {
	if p, ok := firstRerunOrReduce(v, free[0]); ok {
		return append(out, p.On(free[0]))
	}
	if m.findSlots(v, free); len(m.rows) == 0 {
		return out
	}
	m.findMaps(v)
	m.weigh(v)
	return m.decide(v, out)
}

// findSlots lists the free slots of the nodes with room. A slot has the
// container size of the smallest waiting map.
func (m *matching) findSlots(v *state.View, free []state.NodeID) {
	m.rows = m.rows[:0]
	jobs := v.WaitingJobs(state.Map)
	if len(jobs) == 0 {
		return
	}
	size := leastSize(v)
	for _, n := range free {
		most := len(m.rows) + int(v.FreeSlots(n, state.Map))
		for left := v.Free(n); left.Holds(size) && len(m.rows) < min(m.Slots, most); left = left.Sub(size) {
			if m.rows = append(m.rows, n); size == (state.Resource{}) {
				break // waiting containers of size 0 take no room, so one slot for the node is enough
			}
		}
	}
}

// leastSize returns the least memory and the fewest cores that the container
// of any waiting map takes.
func leastSize(v *state.View) state.Resource {
	least := state.Resource{MemoryMB: math.MaxInt32, VCores: math.MaxInt32}
	for _, id := range v.WaitingJobs(state.Map) {
		size := v.ContainerSize(id, state.Map)
		least = state.Resource{MemoryMB: min(least.MemoryMB, size.MemoryMB), VCores: min(least.VCores, size.VCores)}
	}
	return least
}

// findMaps lists the waiting maps that may be matched: for each node and
// locality level, at most as many as there are slots.
func (m *matching) findMaps(v *state.View) {
	m.columns = m.columns[:0]
	for i, n := range m.rows {
		if i > 0 && n == m.rows[i-1] {
			continue
		}
		for level := state.LevelCache; level <= state.LevelOff; level++ {
			if level == state.LevelOff && i > 0 {
				continue // the list of off-rack maps is the same for every node, so add them for the first node only
			}
			found := 0
			v.EachJob(n, level, func(id state.JobID) bool {
				place := int32(v.Place(id, state.Map))
				v.EachMap(id, n, level, func(t state.TaskID) bool {
					m.columns = append(m.columns, column{id, t, place})
					found++
					return found < len(m.rows)
				})
				return found < len(m.rows)
			})
		}
	}
	slices.SortFunc(m.columns, func(a, b column) int {
		if a.place != b.place {
			return int(a.place - b.place)
		}
		return int(a.task - b.task)
	})
	m.columns = slices.Compact(m.columns)
}

// weigh fills the cost matrix. The cost of a pair of slot and map is the
// largest weight minus the pair's weight. The columns after the maps' columns
// stand for slots that stay free.
func (m *matching) weigh(v *state.View) {
	rows, jobs := int64(len(m.rows)), int64(len(v.WaitingJobs(state.Map)))
	width := len(m.columns) + len(m.rows)
	// One unit of locality weight costs more than all penalties for the order
	// of jobs together. So the order of jobs decides only between equal sums of
	// weights.
	step := rows*(jobs+1) + 1
	most := (slices.Max(m.weights[:]) + 1) * step
	m.cost = slices.Grow(m.cost[:0], len(m.rows)*width)[:len(m.rows)*width]
	for r, n := range m.rows {
		row := m.cost[r*width:][:width]
		if r > 0 && n == m.rows[r-1] {
			copy(row, m.cost[(r-1)*width:])
			continue
		}
		for c := range row {
			row[c] = most
		}
		for c, x := range m.columns {
			if v.Fits(n, x.job, state.Map) {
				weight := m.weights[v.Level(x.job, x.task, n)-state.LevelCache]
				row[c] = most - weight*step - (jobs - int64(x.place))
			}
		}
	}
}

// decide solves the cost matrix and appends a decision for each matched pair
// that the node has room for.
func (m *matching) decide(v *state.View, out []Decision) []Decision {
	width := len(m.columns) + len(m.rows)
	pairs := m.solver.solve(m.cost, len(m.rows), width)
	var left state.Resource
	for r, n := range m.rows {
		if r == 0 || n != m.rows[r-1] {
			left = v.Free(n)
		}
		c := pairs[r]
		if c >= len(m.columns) {
			continue
		}
		x := m.columns[c]
		if size := v.ContainerSize(x.job, state.Map); left.Holds(size) {
			left = left.Sub(size)
			out = append(out, MapPick(x.job, x.task, v.Level(x.job, x.task, n)).On(n))
		}
	}
	return out
}

// assignment solves assignment problems: it gives each row of a cost matrix a
// column, at the least total cost. It uses the Hungarian method with
// potentials, adding the rows one by one, each along a shortest augmenting
// path. It reuses its memory between problems.
type assignment struct {
	rowPotential, columnPotential, least []int64
	rowOf, via, columnOf                 []int
	seen                                 []bool
}

// solve assigns each of n rows of the cost matrix to a different one of m
// columns, m >= n, so that the sum of cost[row*m+column] is least. It returns
// the column of each row.
func (a *assignment) solve(cost []int64, n, m int) []int {
	const far = 1 << 62
	a.rowPotential, a.columnPotential, a.least = cleared(a.rowPotential, n+1), cleared(a.columnPotential, m+1), cleared(a.least, m+1)
	a.rowOf, a.via, a.columnOf = cleared(a.rowOf, m+1), cleared(a.via, m+1), cleared(a.columnOf, n)
	a.seen = cleared(a.seen, m+1)
	for row := 1; row <= n; row++ { // the cost matrix's rows and columns are numbered from 1; column 0 is where each augmenting path starts
		a.rowOf[0] = row
		for c := range a.least {
			a.least[c], a.seen[c] = far, false
		}
		at := 0
		for a.rowOf[at] != 0 {
			a.seen[at] = true
			from, next, step := a.rowOf[at], 0, int64(far)
			line := cost[(from-1)*m:][:m]
			for c := 1; c <= m; c++ {
				if a.seen[c] {
					continue
				}
				if d := line[c-1] - a.rowPotential[from] - a.columnPotential[c]; d < a.least[c] {
					a.least[c], a.via[c] = d, at
				}
				if a.least[c] < step {
					step, next = a.least[c], c
				}
			}
			for c := range a.seen {
				if a.seen[c] {
					a.rowPotential[a.rowOf[c]] += step
					a.columnPotential[c] -= step
				} else {
					a.least[c] -= step
				}
			}
			at = next
		}
		for at != 0 {
			a.rowOf[at] = a.rowOf[a.via[at]]
			at = a.via[at]
		}
	}
	for c := 1; c <= m; c++ {
		if r := a.rowOf[c]; r > 0 {
			a.columnOf[r-1] = c - 1
		}
	}
	return a.columnOf
}

// cleared returns a slice of n zeroes. To save an allocation, it uses the
// memory of slice s if that is large enough.
func cleared[T any](s []T, n int) []T {
	s = slices.Grow(s[:0], n)[:n]
	clear(s)
	return s
}
