package calibration

import (
	"cmp"
	"slices"

	"heddle/harness/replay/recorded"
	"heddle/harness/sim"
	"heddle/traces"
)

// sample is the computing time of one attempt, and the bytes that the attempt read.
type sample struct {
	workload string
	kind     traces.TaskKind
	level    traces.Level
	bytes    int64
	ms       float64 // computing time of the attempt, in ms
	tookMs   float64
	cpuMs    float64 // CPU time by Hadoop's counter without what contention added; it leaves out the start of the JVM; 0: not reported
	lastPart float64 // the fraction of a core that the attempt had when it ended
}

// The function computed returns the computing time of each attempt that succeeded.
// The argument with says which cores the attempts are assumed to share. The function
// subtracts startMs for the JVM's start, unless the attempt is a reduce that started
// before its job's last map ended. If limits is not nil, it also subtracts the time
// that links and disks need for the input.
func computed(t *recorded.Trace, with sharing, startMs float64,
	limits func(node traces.Node, level traces.Level, bytes int64) float64,
) []sample {
	busy := map[traces.Node]*load{}
	host := &load{cores: with.host, contention: with.contention}
	for _, n := range t.Nodes {
		b := host
		if with.host == 0 {
			b = &load{cores: with.node * coresOf(n.Cores)}
		}
		busy[n.Node] = b
	}
	lasts, shuffled := map[*recorded.Job]traces.Time{}, map[*recorded.Job]int64{}
	for _, j := range t.Jobs {
		lasts[j], shuffled[j] = j.LastMap(), j.Shuffled()
	}
	type piece struct{ from, to traces.Time }
	at := func(j *recorded.Job, a *recorded.Attempt) piece {
		p := piece{a.Start, a.End}
		if a.Kind == traces.Reduce {
			p.from = max(p.from, min(lasts[j], a.End))
		}
		return p
	}
	each := func(do func(j *recorded.Job, task *recorded.Task, a *recorded.Attempt)) {
		for _, j := range t.Jobs {
			for k := range j.Tasks {
				for i := range j.Tasks[k] {
					if a := j.Tasks[k][i].Won; a != nil && a.End > a.Start {
						do(j, &j.Tasks[k][i], a)
					}
				}
			}
		}
	}
	each(func(j *recorded.Job, _ *recorded.Task, a *recorded.Attempt) {
		if b := busy[t.NodeOf(a)]; b != nil {
			p := at(j, a)
			b.changes = append(b.changes, loadChange{p.from, 1}, loadChange{p.to, -1})
		}
	})
	for _, b := range busy {
		if b.at == nil {
			b.sum()
		}
	}
	var list []sample
	each(func(j *recorded.Job, task *recorded.Task, a *recorded.Attempt) {
		b := busy[t.NodeOf(a)]
		if b == nil {
			return
		}
		p := at(j, a)
		start := startMs - float64(p.from-a.Start)/1e6
		s := sample{
			workload: j.Kind(), kind: a.Kind, level: a.Level, tookMs: float64(p.to-p.from) / 1e6,
			ms: b.between(p.from, p.to), cpuMs: a.CPUMs() / b.slowedBetween(p.from, p.to), lastPart: b.before(p.to),
		}
		if s.kind == traces.Map {
			s.bytes = task.Input()
			if limits != nil {
				s.ms = max(1, s.ms-limits(t.NodeOf(a), a.Level, s.bytes))
			}
		} else {
			s.bytes = shuffled[j] / int64(len(j.Tasks[traces.Reduce]))
		}
		if start > 0 {
			s.ms = max(1, s.ms-start)
		}
		list = append(list, s)
	})
	return list
}

// mapCPU calls do with each map of a trace that succeeded and whose CPU time is known.
// cpuMs is that CPU time without what contention added to it.
func (c *Calibration) mapCPU(t *recorded.Trace, do func(workload string, bytes int64, cpuMs float64)) {
	for _, s := range computed(t, c.shared(), 0, nil) {
		if s.kind == traces.Map && s.cpuMs > 0 {
			do(s.workload, s.bytes, s.cpuMs)
		}
	}
}

// The function samples returns the whole duration of each attempt that succeeded,
// waits for input included.
func samples(t *recorded.Trace) []sample { return computed(t, sharing{}, 0, nil) }

// durationsMs returns the durations of the attempts that succeeded. For a reduce
// that started before its job's last map ended, time counts from the end of that
// map.
func durationsMs(t *recorded.Trace, kind traces.TaskKind) []float64 {
	var list []float64
	for _, s := range samples(t) {
		if s.kind == kind {
			list = append(list, s.tookMs)
		}
	}
	return list
}

// load records how many attempts run on a node over time, and from that how much
// computing time each attempt gets.
type load struct {
	cores      float64 // number of cores that the attempts of this node share; 0: each attempt has a core of its own
	contention float64 // see sim.Slowed
	changes    []loadChange
	// Entry at[i] is the computing time, in ms, that an attempt gets on this node if it
	// runs from changes[0] to changes[i].
	at []float64
	// Entry cpu[i] is the CPU time, in ms, that an attempt has meanwhile, which contention
	// makes longer than the computing time.
	cpu []float64
	// Entry parts[i] is the fraction of a core that each attempt has before changes[i].
	parts []float64
}

type loadChange struct {
	t    traces.Time
	more int
}

// sum computes, for each change in the number of attempts on a node, how much
// computing time one attempt would have got until then. The result is the field at.
func (l *load) sum() {
	slices.SortStableFunc(l.changes, func(a, b loadChange) int { return cmp.Compare(a.t, b.t) })
	l.at, l.cpu, l.parts = make([]float64, len(l.changes)), make([]float64, len(l.changes)), make([]float64, len(l.changes))
	running := 0
	for i := range l.changes {
		if i > 0 {
			ms := float64(l.changes[i].t-l.changes[i-1].t) / 1e6 * l.part(running)
			l.cpu[i] = l.cpu[i-1] + ms
			l.at[i] = l.at[i-1] + ms/l.slowed(running)
		}
		l.parts[i] = l.part(running)
		running += l.changes[i].more
	}
}

// part returns the fraction of a core that each of n attempts on a node gets.
func (l *load) part(n int) float64 {
	if l.cores == 0 || n == 0 {
		return 1
	}
	return min(1, l.cores/float64(n))
}

// slowed returns by which factor each of n attempts on a node takes longer to compute.
func (l *load) slowed(n int) float64 {
	if l.contention == 0 {
		return 1
	}
	return sim.Slowed(l.contention, float64(n)/l.cores)
}

// slowedBetween returns by which factor contention made the CPU time longer of an attempt
// that runs on this node between the two times.
func (l *load) slowedBetween(from, to traces.Time) float64 {
	a, b := l.find(from), l.find(to)
	if ms := l.at[b] - l.at[a]; ms > 0 {
		return (l.cpu[b] - l.cpu[a]) / ms
	}
	return 1
}

// between returns the computing time, in ms, that an attempt gets which runs on this
// node between the two times.
func (l *load) between(from, to traces.Time) float64 { return l.at[l.find(to)] - l.at[l.find(from)] }

// before returns the fraction of a core that an attempt has on this node until the time t.
func (l *load) before(t traces.Time) float64 { return l.parts[l.find(t)] }

// find returns the index of the first change at the time t or later.
func (l *load) find(t traces.Time) int {
	i, _ := slices.BinarySearchFunc(l.changes, t, func(c loadChange, t traces.Time) int { return cmp.Compare(c.t, t) })
	return min(i, len(l.changes)-1)
}
