// Package loadfit fits what tasks add to the load average of their node, to load averages
// that were measured while they ran, and says how far off that is.
//
// A load average counts the tasks that run or wait for a core or a disk, over about a
// minute. Nodes on which no task ran are left out: what loads them is something else. The
// package leaves out what tasks do to each other: one adds the same load whether its node
// is full or slow.
package loadfit

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"heddle/harness/doc"
	"heddle/traces"
)

// Loads says what the tasks of each workload add to the load average of their node, and
// how far the load averages that were measured are from models of them.
type Loads struct {
	Samples int     `json:"samples"`
	Nodes   int     `json:"nodes"`
	Idle    float64 `json:"idle"` // load of a node without tasks
	// Errors are the root mean square of what is measured less what a model says. With
	// several nodes, each is judged by what the others tell.
	Errors Errors `json:"errors"`
	Tasks  []Task `json:"tasks"`
}

// Errors has the error of each model.
type Errors struct {
	Fitted float64 `json:"fitted"` // tasks of a workload add a load that is fitted, averaged as the kernel does
	// they add the cores that Hadoop counted, as replays without samples have it; nil if it counted
	// none
	Counters *float64 `json:"cpuTime"`
	Constant float64  `json:"constantATask"` // control: each task adds the same fitted load at once, as long as it runs
}

// Task is what a task of a workload adds to the load of its node.
type Task struct {
	Workload string  `json:"workload"`
	Kind     string  `json:"kind"`
	Attempts int     `json:"attempts"`
	Load     float64 `json:"load"`
	Cores    float64 `json:"cores"` // that an attempt used in the mean, by Hadoop's counters; -1: not counted
}

// Columns of the least squares: the kernel's average of 1, the number of tasks, then the
// kernel's average of the tasks of each workload and kind; the last is the load that was
// measured.
const (
	colIdle = iota
	colTasks
	colFirst
	mostLoads = 12 // workloads and kinds; the rest is one
	colLoad   = colFirst + mostLoads
	columns   = colLoad + 1
)

// idleWorth is how many times as wrong a model must be without a load of idle nodes for one
// to be fitted. While tasks run all the time, their load cannot be told from that of the node.
const idleWorth = 1.2

// leastSamples is the least number of samples that a load is fitted to.
const leastSamples = 30

// Fit sums up what the fit needs, node by node. The zero value is ready for use. Calls
// of one trace are in order of time.
type Fit struct {
	nodes []*node
	of    map[traces.Node]*node
	names []Task
	used  [mostLoads]struct{ cpuMs, ms float64 }
}

type node struct {
	tasks   [mostLoads]float64 // that run now
	ran     bool               // whether any has run
	row     [columns]float64
	first   float64 // load at the first sample, which decays
	at      traces.Time
	samples int
	sums    products
}

// Sampled takes a measured load average into account.
func (f *Fit) Sampled(name traces.Node, t traces.Time, load1 float64) {
	n := f.of[name]
	if n == nil {
		if f.of == nil {
			f.of = map[traces.Node]*node{}
		}
		n = &node{first: load1, at: t}
		f.of[name], f.nodes = n, append(f.nodes, n)
		return
	}
	n.until(t)
	n.row[colLoad] = load1 - n.first
	for i, x := range n.row {
		for k, y := range n.row[:i+1] {
			n.sums[i][k] += x * y
			n.sums[k][i] = n.sums[i][k]
		}
	}
	n.samples++
}

// until brings the averages to a time.
func (n *node) until(t traces.Time) {
	decay := math.Exp(-float64(t-n.at) / 60e9)
	n.at = t
	average := func(of *float64, now float64) { *of = float64(*of*decay) + float64(now*(1-decay)) }
	n.first *= decay
	n.row[colTasks] = 0
	average(&n.row[colIdle], 1)
	for i, tasks := range n.tasks {
		n.row[colTasks] += tasks
		average(&n.row[colFirst+i], tasks)
	}
}

// Started notes the start of an attempt. The end of the attempt is noted with the column
// that Started returns; 0 if its node has no sample so far.
func (f *Fit) Started(name traces.Node, t traces.Time, workload string, kind traces.TaskKind) (column int8) {
	n := f.of[name]
	if n == nil {
		return 0
	}
	i := f.columnOf(workload, kind.String())
	n.until(t)
	n.tasks[i]++
	n.ran = true
	f.names[i].Attempts++
	return int8(i + 1)
}

// columnOf returns the place of a workload and kind among the names.
func (f *Fit) columnOf(workload, kind string) int {
	i := slices.IndexFunc(f.names, func(x Task) bool { return x.Workload == workload && x.Kind == kind })
	if i < 0 && len(f.names) < mostLoads {
		i = len(f.names)
		f.names = append(f.names, Task{Workload: workload, Kind: kind})
	} else if i < 0 {
		i = mostLoads - 1
		f.names[i].Workload, f.names[i].Kind = "others", "task"
	}
	return i
}

// Ended notes the end of an attempt that started at a time.
func (f *Fit) Ended(name traces.Node, column int8, from, to traces.Time, cpuMs int64) {
	n := f.of[name]
	if n == nil || column == 0 {
		return
	}
	n.until(to)
	n.tasks[column-1]--
	if x := &f.used[column-1]; cpuMs > 0 {
		x.cpuMs, x.ms = x.cpuMs+float64(cpuMs), x.ms+float64(to-from)/1e6
	}
}

// Add adds what was summed up of another trace. Its nodes count as others.
func (f *Fit) Add(o *Fit) {
	to := make([]int, columns) // where each column of the other is here
	for i := range to {
		to[i] = i
	}
	for i, x := range o.names {
		k := f.columnOf(x.Workload, x.Kind)
		f.names[k].Attempts += x.Attempts
		f.used[k].cpuMs, f.used[k].ms = f.used[k].cpuMs+o.used[i].cpuMs, f.used[k].ms+o.used[i].ms
		to[colFirst+i] = colFirst + k
	}
	for _, n := range o.nodes {
		own := &node{ran: n.ran, samples: n.samples}
		for i := range n.sums {
			for k, x := range n.sums[i] {
				own.sums[to[i]][to[k]] += x
			}
		}
		f.nodes = append(f.nodes, own)
	}
}

// Loads returns what is fitted, nil if there are too few samples.
func (f *Fit) Loads() *Loads {
	ran := *f
	ran.nodes = slices.DeleteFunc(slices.Clone(f.nodes), func(n *node) bool { return !n.ran || n.samples == 0 })
	return ran.loads()
}

func (f *Fit) loads() *Loads {
	x := &Loads{Nodes: len(f.nodes), Tasks: slices.Clone(f.names)}
	for _, n := range f.nodes {
		x.Samples += n.samples
	}
	if x.Samples < leastSamples || len(f.names) == 0 {
		return nil
	}
	byTask := []int{colIdle}
	for i := range f.names {
		byTask = append(byTask, colFirst+i)
	}
	all, others := f.sums()
	wrong := f.errorOf(byTask, others)
	if without := f.errorOf(byTask[1:], others); without < idleWorth*wrong {
		byTask, wrong = byTask[1:], without
	}
	fitted := leastSquares(all, byTask)
	x.Idle = fitted[colIdle]
	var cores [columns]float64
	counted := true
	for i := range x.Tasks {
		x.Tasks[i].Load, x.Tasks[i].Cores = fitted[colFirst+i], -1
		if u := f.used[i]; u.ms > 0 {
			x.Tasks[i].Cores, cores[colFirst+i] = u.cpuMs/u.ms, u.cpuMs/u.ms
		}
		counted = counted && x.Tasks[i].Cores >= 0
	}
	x.Errors.Fitted, x.Errors.Constant = wrong, f.errorOf([]int{colIdle, colTasks}, others)
	if counted {
		x.Errors.Counters = new(math.Sqrt(squares(all, cores) / float64(x.Samples)))
	}
	return x
}

// errorOf returns the error of a fit with these columns: of each node by a fit to the sums of
// the others.
func (f *Fit) errorOf(use []int, others []products) float64 {
	sum, samples := 0.0, 0
	for i, n := range f.nodes {
		sum += squares(&n.sums, leastSquares(&others[i], use))
		samples += n.samples
	}
	return math.Sqrt(sum / float64(samples))
}

// sums returns the sums of all nodes, and for each node those of the others; of a single node
// they are its own. The others are those before it and those behind it: all less its own
// would leave, by rounding, what no other node has.
func (f *Fit) sums() (all *products, others []products) {
	others = make([]products, len(f.nodes))
	var before, behind products
	for i, n := range f.nodes {
		others[i].add(&before)
		before.add(&n.sums)
	}
	for i, n := range slices.Backward(f.nodes) {
		others[i].add(&behind)
		behind.add(&n.sums)
	}
	if len(others) == 1 {
		others[0] = before
	}
	return &before, others
}

// products are sums over samples of the products of two columns.
type products [columns][columns]float64

func (p *products) add(o *products) {
	for i := range p {
		for k := range p {
			p[i][k] += o[i][k]
		}
	}
}

// squares returns the sum of the squares of what is measured less what the factors say.
func squares(sum *products, factors [columns]float64) float64 {
	factors[colLoad] = -1
	x := 0.0
	for i, a := range factors {
		for k, b := range factors {
			x += float64(a * b * sum[i][k])
		}
	}
	return max(0, x)
}

// leastSquares returns the factors of the used columns that explain the load best, none
// below 0: it goes through the columns again and again, each time with the best factor
// beside the others.
func leastSquares(sum *products, use []int) (factors [columns]float64) {
	for range 1000 {
		most := 0.0
		for _, i := range use {
			if sum[i][i] <= 0 {
				continue
			}
			left := sum[i][colLoad]
			for _, k := range use {
				if k != i {
					left -= float64(factors[k] * sum[i][k])
				}
			}
			next := max(0, left/sum[i][i])
			most = max(most, math.Abs(next-factors[i]))
			factors[i] = next
		}
		if most < 1e-9 {
			break
		}
	}
	return factors
}

// Of returns the load of a task; 0 if it was not fitted.
func (f *Loads) Of(workload string, kind traces.TaskKind) float64 {
	if f == nil {
		return 0
	}
	i := slices.IndexFunc(f.Tasks, func(x Task) bool { return x.Workload == workload && x.Kind == kind.String() })
	if i < 0 {
		return 0
	}
	return f.Tasks[i].Load
}

// Doc returns the loads for people to read.
func (f *Loads) Doc() doc.Doc {
	t := doc.NewTable("loads", "tasks that load their node", "", "attempts", "load", "cores by CPU time")
	for _, x := range f.Tasks {
		t.Add(x.Workload, x.Kind, x.Attempts, doc.Fixed(x.Load, 2, ""), doc.Known(x.Cores >= 0, doc.Fixed(x.Cores, 2, "")))
	}
	counters := ""
	if x := f.Errors.Counters; x != nil {
		counters = fmt.Sprintf(" by %.2f with the cores of their CPU time instead,", *x)
	}
	of := cmp.Or(map[int]string{1: "one node, to which the load was fitted"}[f.Nodes], fmt.Sprintf("%d nodes, each judged by the others",
		f.Nodes))
	return doc.Doc{t, doc.Text(fmt.Sprintf("Load averages, %d samples of %s: the model, in which a task adds that load as the kernel "+
		"averages it, is off by %.2f;%s a control, in which each task adds the same load at once, by %.2f. An idle node has %.2f.",
		f.Samples, of, f.Errors.Fitted, counters, f.Errors.Constant, f.Idle))}
}
