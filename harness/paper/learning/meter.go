package learning

import (
	"fmt"
	"math"
	"time"

	"heddle/harness/paper"
	"heddle/harness/paper/learning/model"
	"heddle/harness/sched"
	"heddle/harness/sim/draw"
	"heddle/harness/state"
	"heddle/traces"
)

// meter stands between the simulator and a model. It computes each node's load average
// from the tasks that run there, as the kernel does from those that are runnable, and
// puts it into the node's reports. It also notes what the nodes did. The simulator's own
// load model is for tasks that use at most a core; here some load a node like two.
type meter struct {
	sched.Model
	observer sched.Observer // nil: the model is none
	key      draw.Key
	load     float64 // of a task
	noise    float64
	limit    float64
	slowMs   int64
	fromMs   int64 // from when the figures count
	nodes    [nodes]meteredNode
	blocks   []block
	series   []paper.Point
}

// meteredNode is the load of a node now, and sums over the time that counts.
type meteredNode struct {
	tasks       int
	load1       float64
	nextMs      int64 // next time at which the kernel looks
	sinceMs     int64 // time of the last change
	area, loads float64
	beats, over int64
	starts      int64 // in minutes 2 to 4 after the node 0 became slow
}

// block counts judged decisions: [assigned][overloaded].
type block [2][2]float64

// decay is what an interval of 5 s leaves of the 1-minute load average.
var decay = math.Exp(-5. / 60)

func newMeter(x *testbed, m sched.Model, key draw.Key) *meter {
	w := &meter{Model: m, key: key, load: cores / kinds[must(kindOf(x.Job))].tasks, noise: x.Noise, limit: x.Target * cores, slowMs: time.Duration(x.SlowAt).Milliseconds()}
	if x.Maps == 0 {
		w.fromMs = warmMs
	}
	w.observer, _ = sched.As[sched.Observer](m)
	for i := range w.nodes {
		w.nodes[i].nextMs = beatMs
	}
	model.Watch(m, func(j model.Judgement) {
		if n := len(w.blocks); n == 0 || w.blocks[n-1].count() == blockOfScores {
			w.blocks = append(w.blocks, block{})
		}
		w.blocks[len(w.blocks)-1][index(j.Assigned)][index(j.Overload)]++
	})
	return w
}

func index(is bool) int {
	if is {
		return 1
	}
	return 0
}

// Unwrap returns the model, so that drivers find what else it can do.
func (w *meter) Unwrap() sched.Model { return w.Model }

// EveryHeartbeat has the simulator show full nodes too.
func (w *meter) EveryHeartbeat() {}

// Observe keeps the load, and passes the event on with it.
func (w *meter) Observe(v *state.View, e sched.Event) {
	nowMs := v.Now() / 1e6
	switch e.What {
	case sched.TaskStarted, sched.TaskEnded:
		n := w.at(e.Node, nowMs)
		if e.What == sched.TaskStarted {
			n.tasks++
			if after := nowMs - w.slowMs; w.slowMs > 0 && after >= 120_000 && after < 240_000 {
				n.starts++
			}
		} else {
			n.tasks--
		}
	case sched.NodeReported:
		n := w.at(e.Node, nowMs)
		e.Sample = &traces.NodeSample{Load1: n.load1}
		if e.Node == 0 {
			w.series = append(w.series, paper.Point{X: float64(nowMs) / 60_000, Y: n.load1 / w.limit * 100})
		}
	}
	if w.observer != nil {
		w.observer.Observe(v, e)
	}
}

// normal draws from about the normal distribution, as the sum of twelve fractions.
func normal(key draw.Key) float64 {
	sum := -6.
	for i := range uint64(12) {
		sum += key.At(i).Fraction()
	}
	return sum
}

// at brings a node to the time now: the kernel looks every 5 s at how many tasks are
// runnable. Each task's load then is that of the job, more or less by chance.
func (w *meter) at(id state.NodeID, nowMs int64) *meteredNode {
	n := &w.nodes[id]
	for ; n.nextMs <= nowMs; n.nextMs += beatMs {
		runnable := float64(n.tasks) * w.load
		if n.tasks > 0 {
			runnable *= math.Max(0, 1+w.noise*normal(w.key.At(uint64(id)).At(uint64(n.nextMs)))/math.Sqrt(float64(n.tasks)))
		}
		n.load1 = float64(n.load1*decay) + float64(runnable*(1-decay))
		if n.nextMs >= w.fromMs {
			n.beats, n.loads = n.beats+1, n.loads+n.load1
			if math.Ceil(10*n.load1) > 10*w.limit {
				n.over++
			}
		}
	}
	if from := max(n.sinceMs, w.fromMs); nowMs > from {
		n.area += float64(n.tasks) * float64(nowMs-from)
	}
	n.sinceMs = nowMs
	return n
}

// note adds the figures of a run. The time that counts is from 600 s on, or all of a run
// whose number of maps is given.
func (w *meter) note(out *paper.Simulation, makespanMs int64, run int) {
	notes := out.Notes
	minutes := float64(makespanMs) / 60_000
	notes[fmt.Sprint("minutes", run)], out.Seconds = minutes, minutes*60
	area, loads, beats, over, others := 0., 0., 0., 0., 0.
	for i := range w.nodes {
		n := w.nodes[i]
		area, loads, beats, over = area+n.area, loads+n.loads, beats+float64(n.beats), over+float64(n.over)
		if i > 0 {
			others += float64(n.starts) / (nodes - 1)
		}
	}
	notes["tasks"] = area / nodes / math.Max(float64(makespanMs-w.fromMs), 1)
	notes["load"], notes["overPct"] = loads/math.Max(beats, 1), 100*over/math.Max(beats, 1)
	notes["ofTarget"] = notes["load"] / w.limit
	notes["slowStarts"] = float64(w.nodes[0].starts) / math.Max(others, 1)
	out.Series["minutes"] = append(out.Series["minutes"], paper.Point{X: float64(run), Y: minutes})
	if run > 1 {
		return
	}
	out.Series["load"] = w.series
	for i, b := range w.blocks {
		if i == shownBlocks || b.count() < blockOfScores {
			break
		}
		for name, y := range map[string]float64{"all": b.all(), "assigned": b.assigned(), "balanced": b.balanced()} {
			notes[fmt.Sprint(name, i+1)] = y
			out.Series[name] = append(out.Series[name], paper.Point{X: float64((i + 1) * blockOfScores), Y: y})
		}
	}
}

// shownBlocks is the number of blocks of decisions whose accuracy is shown.
const shownBlocks = 6

func (b *block) count() int { return int(b[0][0] + b[0][1] + b[1][0] + b[1][1]) }

// all is the share of decisions that were right, in percent: an assignment after which
// the node is not overloaded, and a refusal after which it is.
func (b *block) all() float64 { return 100 * (b[1][0] + b[0][1]) / float64(b.count()) }

// assigned is the same for assignments alone.
func (b *block) assigned() float64 { return 100 * b[1][0] / math.Max(b[1][0]+b[1][1], 1) }

// balanced is the mean of the shares of overloads that were refused and of others that
// were not.
func (b *block) balanced() float64 {
	over, not := b[0][1]+b[1][1], b[0][0]+b[1][0]
	if over == 0 {
		return 100 * b[1][0] / not
	}
	if not == 0 {
		return 100 * b[0][1] / over
	}
	return 50*b[0][1]/over + 50*b[1][0]/not
}
