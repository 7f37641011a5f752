package sim

import (
	"math"

	"heddle/harness/sched"
	"heddle/harness/sim/fluid"
	"heddle/harness/state"
	"heddle/traces"
)

// This file is the model of the nodes' load. It says how many tasks of a node run
// or wait for its disk, and makes samples of that as an agent on the node would.
//
// A task that computes counts as one that runs, also while it waits for a core. One
// that uses p % of a core counts as p/100 if it gets that much. If it gets less, it
// is ready to run for longer: it computes for a time c, then sleeps for c*(1-p)/p,
// again and again. So with x of a core it runs or is ready for 1 - x*(1/p - 1) of
// the time. A task that reads from a disk or writes to it counts as one on the node
// that has the disk.
//
// The model leaves out the threads of daemons, ApplicationMasters and attempts that
// fail, transfers between nodes, and cached reads. A task of Work.FixedMs sleeps,
// unless it has a share of a core, which it then uses as if alone. A computation that began before a node became slow
// keeps the share of a core that it
// had. Without a limit of the disk, reading and writing take no time.
//
// Where Config.Loads says what a task adds, it is that. JVMs have more threads than one:
// on a lab, tasks that should add a load of 0.9 by the rules above added 1.2 to 1.7.

// load has the state of the load model.
type load struct {
	*base
	list  []nodeLoad
	doing []doing    // by index in attempts.list: what the attempt does
	given [][2]int64 // by index in jobs.list and kind of task: Config.Loads; oneTask stands for 1
	askMs int64      // time of the last step of the load averages
}

// nodeLoad is what the load model knows of one node.
type nodeLoad struct {
	average  int64 // the 1-minute load average; oneTask stands for 1
	active   int64 // number of tasks that run or wait for the disk, in the same unit
	coreUs   int64 // time of a core that tasks have used since the last sample, in microseconds
	read     int64 // bytes that tasks have read from the disk since then
	written  int64
	memoryMB int64
	tasks    int32
	sample   *traces.NodeSample // the last; nil: there is none
}

// doing is a computation or transfer of an attempt.
type doing struct {
	what    activity
	slot    uint8 // index of the flow in the field flows of the attempt
	percent uint8 // share of a core of a computation
	node    state.NodeID
	flow    fluid.Flow // Ended: only the time says how far it is
	from    int64      // time in ms at which it begins
	to      int64      // time at which it ends, if no flow says so
	amount  int64      // core microseconds or bytes in all
	given   int64      // what the node's counters have of these
}

type activity uint8

const (
	waiting activity = iota
	computing
	reading
	writing
)

// The kernel's load average, as kernel/sched/loadavg.c computes it: fixed-point
// numbers of 11 binary digits, every 5 s, with e^(-5/60) as 1884/2048.
const (
	oneTask      = 1 << 11
	decay        = 1884
	loadPeriodMs = 5000
)

// calcLoad is one step of the load average.
func calcLoad(average, active int64) int64 {
	next := average*decay + active*(oneTask-decay)
	if active >= average {
		next += oneTask - 1
	}
	return next / oneTask
}

// loadOf returns the load model of a run, or nil if neither the caller nor the
// scheduler model asks for samples.
func loadOf(b *base) *load {
	if _, asks := sched.As[sched.HearsLoad](b.Model); asks && b.SampleMs == 0 {
		b.SampleMs = 1000
	}
	if b.SampleMs == 0 {
		return nil
	}
	return &load{base: b, list: make([]nodeLoad, len(b.Cluster.Nodes))}
}

// submitted notes the loads of a job's tasks.
func (l *load) submitted(job int32, loads [2]float64) {
	for int(job) >= len(l.given) {
		l.given = append(l.given, [2]int64{})
	}
	for k, x := range loads {
		l.given[job][k] = inTasks(x)
	}
}

// begins notes that an attempt begins a computation or transfer.
func (l *load) begins(id int32, d doing) {
	for int(id) >= len(l.doing) {
		l.doing = append(l.doing, doing{})
	}
	l.doing[id] = d
}

// launched notes the start of an attempt whose first timer covers more than its
// launch, because its node has no limit of cores.
func (l *load) launched(id int32, a *attempt, w *Work, launchMs, endMs int64) {
	if a.phase == begin || w.FixedMs > 0 && w.CoresPercent == 0 {
		return
	}
	percent := uint8(0)
	if a.phase == finish {
		percent = w.CoresPercent
	}
	l.computes(id, a, percent, l.events.Now+launchMs, endMs, fluid.Ended)
}

// computes notes that an attempt computes, up to the time to if its flow is Ended.
func (l *load) computes(id int32, a *attempt, percent uint8, from, to int64, f fluid.Flow) {
	if percent == 0 {
		percent = 100
	}
	d := doing{what: computing, percent: percent, node: a.node, flow: f, from: from, to: to, amount: (to - from) * 10 * int64(percent)}
	d.slot = a.lastSlot()
	l.begins(id, d)
}

// moves notes that an attempt reads from the disk of a node or writes to it.
func (l *load) moves(id int32, a *attempt, what activity, n state.NodeID, bytes int64, f fluid.Flow) {
	if f == fluid.Ended {
		return
	}
	l.begins(id, doing{what: what, slot: a.lastSlot(), node: n, flow: f, from: l.events.Now, to: l.events.Now, amount: bytes})
}

// lastSlot returns the index of the flow that the attempt began last.
func (a *attempt) lastSlot() uint8 {
	slot := uint8(0)
	for a.openFlows>>(slot+1) != 0 {
		slot++
	}
	return slot
}

// flowEnded notes that the flow of an attempt with this index has ended.
func (l *load) flowEnded(id int32, slot uint8) {
	if int(id) >= len(l.doing) {
		return
	}
	if d := &l.doing[id]; d.what != waiting && d.flow != fluid.Ended && d.slot == slot {
		l.count(d, d.amount)
		d.what = waiting
	}
}

// settle counts what an attempt has done, and notes that it does nothing now.
func (l *load) settle(id int32) {
	if int(id) >= len(l.doing) {
		return
	}
	d := &l.doing[id]
	l.progress(d)
	d.what = waiting
}

// progress counts what has been done of a computation or transfer by now.
func (l *load) progress(d *doing) {
	switch {
	case d.what == waiting || l.events.Now <= d.from:
	case d.flow != fluid.Ended && d.what == computing:
		// The flow counts work on a node of speed 1, here it is time of a core.
		if left := l.nodes.flows.Left(l.events.Now, d.flow) * l.nodes.list[d.node].slow >> 16; left < d.amount {
			l.count(d, d.amount-left)
		}
	case d.flow != fluid.Ended:
		l.count(d, d.amount-l.nodes.flows.Left(l.events.Now, d.flow))
	case l.events.Now >= d.to:
		l.count(d, d.amount)
	default:
		l.count(d, d.amount*(l.events.Now-d.from)/(d.to-d.from))
	}
}

// count counts what has been done of a computation or transfer, and was not counted
// before.
func (l *load) count(d *doing, done int64) {
	more := max(0, done-d.given)
	d.given += more
	x := &l.list[d.node]
	switch d.what {
	case computing:
		x.coreUs += more
	case reading:
		x.read += more
	case writing:
		x.written += more
	}
}

// activity returns for how many tasks an attempt counts that runs or waits for a
// disk, in units of oneTask.
func (l *load) activity(d *doing) int64 {
	switch p := int64(d.percent); {
	case d.what == waiting || l.events.Now < d.from:
		return 0
	case d.what != computing || p == 100:
		return oneTask
	case d.flow == fluid.Ended:
		return oneTask * p / 100
	default:
		used := l.nodes.flows.Rate(d.flow) * l.nodes.list[d.node].slow >> 16 // microseconds of a core per second
		return max(oneTask*p/100, oneTask-used*oneTask/1e6*(100-p)/p)
	}
}

func (l *load) idle() int64 { return inTasks(l.IdleLoad) }

// inTasks returns a load in units of oneTask, at most that of a million tasks.
func inTasks(load float64) int64 { return int64(math.Round(min(max(0, load), 1e6) * oneTask)) }

// countActive counts the tasks of each node that run or wait for its disk. The
// parameter list has all attempts.
func (l *load) countActive(list []attempt) {
	for n := range l.list {
		l.list[n].active = l.idle()
	}
	given := func(a *attempt) int64 { return l.given[a.job][a.kind] }
	for id := 0; id < len(list) && len(l.Loads) > 0; id++ {
		if a := &list[id]; a.runs() && !a.is(dead) {
			l.list[a.node].active += given(a)
		}
	}
	for id := range l.doing {
		if !list[id].runs() || given(&list[id]) > 0 {
			continue
		}
		l.list[l.doing[id].node].active += l.activity(&l.doing[id])
	}
}

// average makes a step of all load averages. For a time in which no job was
// alive, it makes up for the steps left out.
func (l *load) average(list []attempt) {
	l.countActive(list)
	missed := (l.events.Now-l.askMs)/loadPeriodMs - 1
	l.askMs = l.events.Now
	for n := range l.list {
		x := &l.list[n]
		for i := int64(0); i < missed; i++ {
			was := x.average
			if x.average = calcLoad(was, l.idle()); x.average == was {
				break
			}
		}
		x.average = calcLoad(x.average, x.active)
	}
}

// sample makes a sample of the load of each node that is up.
func (l *load) sample(list []attempt) {
	for id := range l.doing {
		if list[id].runs() {
			l.progress(&l.doing[id])
		}
	}
	for n := range l.list {
		l.list[n].memoryMB, l.list[n].tasks = 0, 0
	}
	for id := range list {
		if a := &list[id]; a.runs() && !a.is(dead) {
			j := &l.jobs.list[a.job]
			l.list[a.node].takes(j.size[a.kind].MemoryMB)
		}
	}
	for _, id := range l.view.Active() {
		if j := l.jobs.of(id); j.amNode != state.None {
			l.list[j.amNode].takes(j.amSize.MemoryMB)
		}
	}
	for n := range l.list {
		if !l.nodes.lost.Has(state.NodeID(n)) {
			l.sampleNode(state.NodeID(n))
		}
	}
}

// takes notes the memory of a container: all that it may have.
func (x *nodeLoad) takes(memoryMB int32) {
	x.memoryMB += int64(memoryMB)
	x.tasks++
}

// sampleNode makes a sample of a node's load. What the model does not have is -1,
// as in a sample of a real node that lacks it.
func (l *load) sampleNode(n state.NodeID) {
	x := &l.list[n]
	us := float64(l.SampleMs) * 1000
	size, free := l.view.Capacity(n), l.view.Free(n)
	x.sample = &traces.NodeSample{
		T: l.recorder.at(), Node: l.recorder.nodeName(n), IntervalNs: l.SampleMs * 1e6,
		CPUUser: float64(x.coreUs) / us, CPUSystem: -1, CPUIOWait: -1, CPUSteal: -1, CPUThrottledNs: -1,
		Load1:           float64(x.average) / oneTask,
		MemoryUsedBytes: x.memoryMB << 20, PageCacheBytes: -1, MemoryFreeBytes: -1,
		DiskReadBytesPerSec: float64(x.read) * 1e6 / us, DiskWriteBytesPerSec: float64(x.written) * 1e6 / us, DiskQueue: -1,
		NetRecvBytesPerSec: -1, NetSentBytesPerSec: -1,
		ContainersRunning: x.tasks, AllocatedMemoryBytes: int64(size.MemoryMB-free.MemoryMB) << 20, AllocatedVCores: size.VCores - free.VCores,
		HDFSCacheUsedBytes: -1,
	}
	x.coreUs, x.read, x.written = 0, 0, 0
	l.recorder.sampled(*x.sample)
}
