package learning

import (
	"fmt"
	"maps"
	"math"

	"heddle/harness/paper"
	"heddle/harness/paper/learning/model"
	"heddle/harness/sched"
	"heddle/harness/sim"
	"heddle/harness/sim/draw"
	"heddle/harness/state"
	"heddle/harness/stats"
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
	loads    map[string]float64 // of a task, by job
	noise    float64
	limit    float64
	fromMs   int64 // from when the figures count
	endMs    int64 // until when
	nowMs    int64
	nodes    [nodes]meteredNode
	allLoads float64 // sum of the loads from the start on
	allBeats float64
	blocks   []stats.Decided // judged decisions
	series   []paper.Point
}

// meteredNode is the load of a node now, and sums over the time that counts.
type meteredNode struct {
	tasks       int
	wants       float64 // load of these tasks
	load1       float64
	nextMs      int64 // next time at which the kernel looks
	sinceMs     int64 // time of the last change
	area, loads float64
	beats, over int64
	peak        float64 // highest load
}

// decay is what an interval of 5 s leaves of the 1-minute load average.
var decay = math.Exp(-5. / 60)

func newMeter(x *testbed, jobs []job, m sched.Model, key draw.Key) *meter {
	w := &meter{
		Model: m,
		key:   key,
		loads: map[string]float64{},
		noise: x.Noise,
		limit: x.Target * cores,
	}
	w.endMs, w.fromMs = x.counts()
	for i := range jobs {
		w.loads[jobName(i, jobs)] = cores / jobs[i].tasks
	}
	w.observer, _ = sched.As[sched.Observer](m)
	for i := range w.nodes {
		w.nodes[i].nextMs = beatMs
	}
	if watched, ok := sched.As[model.Watched](m); ok {
		watched.Watch(w.judged)
	}
	return w
}

// judged counts a decision in the last block, or in a new one if that is full.
func (w *meter) judged(assigned, overloaded bool) {
	if n := len(w.blocks); n == 0 || w.blocks[n-1].Count() == blockOfScores {
		w.blocks = append(w.blocks, stats.Decided{})
	}
	w.blocks[len(w.blocks)-1].Add(assigned, overloaded)
}

// over returns an error once the time that counts is over.
func (w *meter) over() error {
	if w.nowMs > w.endMs {
		return sim.ErrInterrupted
	}
	return nil
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
		load := w.loads[v.JobName(e.Job)]
		if e.What == sched.TaskEnded {
			n.tasks, n.wants = n.tasks-1, n.wants-load
			break
		}
		n.tasks, n.wants = n.tasks+1, n.wants+load
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

// at brings a node to the time now: the kernel looks every 5 s at how many tasks are
// runnable. Each task's load then is that of the job, more or less by chance.
func (w *meter) at(id state.NodeID, nowMs int64) *meteredNode {
	n := &w.nodes[id]
	for ; n.nextMs <= nowMs; n.nextMs += beatMs {
		runnable := n.wants
		if n.tasks > 0 {
			runnable *= math.Max(0, 1+w.noise*w.key.At(uint64(id)).At(uint64(n.nextMs)).Normal()/math.Sqrt(float64(n.tasks)))
		}
		n.load1 = float64(n.load1*decay) + float64(runnable*(1-decay))
		if n.nextMs <= w.endMs {
			w.allLoads, w.allBeats = w.allLoads+n.load1, w.allBeats+1
		}
		if n.nextMs >= w.fromMs && n.nextMs <= w.endMs {
			n.beats, n.loads, n.peak = n.beats+1, n.loads+n.load1, max(n.peak, n.load1)
			if math.Ceil(10*n.load1) > 10*w.limit {
				n.over++
			}
		}
	}
	if from, to := max(n.sinceMs, w.fromMs), min(nowMs, w.endMs); to > from {
		n.area += float64(n.tasks) * float64(to-from)
	}
	n.sinceMs, w.nowMs = nowMs, nowMs
	return n
}

// note adds the figures of a run. The time that counts is from 600 s on, or all of a run
// whose number of maps is given.
func (w *meter) note(out *paper.Simulation, makespanMs int64, run int) {
	notes := out.Notes
	if noter, ok := sched.As[sched.Noter](w.Model); ok {
		maps.Copy(notes, noter.Notes())
	}
	minutes := float64(makespanMs) / 60_000
	notes[fmt.Sprint("minutes", run)], out.Seconds = minutes, minutes*60
	area, loads, beats, over, peak := 0., 0., 0., 0., 0.
	for i := range w.nodes {
		n := &w.nodes[i]
		area, loads, beats, over, peak = area+n.area, loads+n.loads, beats+float64(n.beats), over+float64(n.over), max(peak, n.peak)
	}
	notes["tasks"] = area / nodes / math.Max(float64(makespanMs-w.fromMs), 1)
	notes["load"], notes["overPct"] = loads/math.Max(beats, 1), 100*over/math.Max(beats, 1)
	notes["ofTarget"] = notes["load"] / w.limit
	for name, x := range map[string]float64{
		"ofTarget":    notes["ofTarget"],
		"ofTargetAll": w.allLoads / w.allBeats / w.limit,
		"over":        notes["overPct"],
		"peak":        max(1, peak/w.limit), // what is below the target is no peak
	} {
		notes[fmt.Sprint(name, run)] = x
	}
	out.Series["minutes"] = append(out.Series["minutes"], paper.Point{X: float64(run), Y: minutes})
	if run > 1 {
		return
	}
	out.Series["load"] = w.series
	for i := range shownBlocks {
		b := stats.Decided{} // none were judged: what is right of them is not a number
		if i < len(w.blocks) && w.blocks[i].Count() == blockOfScores {
			b = w.blocks[i]
		}
		y := b.All()
		if notes[fmt.Sprint("right", i+1)] = y; !math.IsNaN(y) {
			out.Series["right"] = append(out.Series["right"], paper.Point{X: float64((i + 1) * blockOfScores), Y: y})
		}
	}
}

// shownBlocks is the number of blocks of decisions whose accuracy is shown.
const shownBlocks = 6
