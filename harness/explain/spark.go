package explain

import (
	"cmp"
	"fmt"
	"slices"
	"sort"
	"strconv"
	"strings"

	"heddle/harness/internal/units"
	"heddle/harness/state"
	"heddle/traces"
)

// Causes of applications of Spark. Their waits are those that its log tells: it does not say when executors
// were asked for, nor where the input of a task was.
const (
	sparkStart    Cause = "sparkStart"    // no executor was there yet
	executorsLate Cause = "executorsLate" // tasks waited for an executor beside those that were there
	localityWait  Cause = "localityWait"  // a core was free, and its task waited for one nearer to its data
	spilt         Cause = "spill"         // a task spilled, and such that did not were faster
	sparkSkew     Cause = "sparkSkew"     // a task had more to read than others of its stage
	gc            Cause = "gc"            // garbage collections
	fetchWait     Cause = "fetchWait"     // tasks waited for shuffle blocks
	stageAgain    Cause = "stageAgain"    // a stage ran again, since output of it was lost
	sparkFailed   Cause = "sparkFailed"   // tasks that failed or were killed
	sparkDriver   Cause = "sparkDriver"   // the driver planned, or did what no task does
	delivery      Cause = "delivery"      // tasks were sent, their code was read, and their results came back
	sparkWork     Cause = "sparkWork"     // what tasks must take
	sparkSlower   Cause = "sparkSlower"   // a task took longer than others of its stage, and it is not known why
)

// app is an application of Spark in memory.
type app struct {
	traces.SparkApplication
	stages    map[[2]int32]*stage
	byID      map[int32][]*stage // the attempts of each
	executors map[string]*executor
	first     traces.Time // when the first executor was there; -never: none was
	ends      []*sparkTask
	spilled   int64
	cpus      int32 // cores that a task takes
}

type stage struct {
	traces.SparkStage
	ends         []*sparkTask // those that succeeded, by end
	took, bytes  int64        // medians of these
	medianSpills bool
	best         traces.SparkLocality
}

type executor struct {
	traces.SparkExecutor
	ends  []*sparkTask
	freed []*sparkTask // those whose end left a core free when all were taken, by end
}

type sparkTask struct {
	traces.SparkTask
	stage    *stage
	executor *executor
	held     *sparkTask // that had its core, and whose end is written later than its launch; nil: none
	seen     int        // by which walk
}

// spark takes an event of an application of Spark into account.
func (w *Reader) spark(e traces.Event) {
	j := w.job(traces.JobOf(e))
	if j.app == nil {
		j.app = &app{stages: map[[2]int32]*stage{}, byID: map[int32][]*stage{}, executors: map[string]*executor{}, first: -never, cpus: 1}
	}
	a := j.app
	switch e := e.(type) {
	case *traces.SparkApplication:
		a.SparkApplication = *e
		a.Settings = slices.Clone(e.Settings)
		n, _ := strconv.ParseInt(a.value("spark.task.cpus"), 10, 16)
		a.cpus = int32(max(1, n))
		if j.name, j.submitted = e.Name, at(e.T); e.End != 0 {
			j.ended, j.outcome = at(e.End), e.Outcome
		}
		w.last = max(w.last, at(e.End))
	case *traces.SparkStage:
		s := &stage{SparkStage: *e, best: traces.SparkAny}
		s.Parents = slices.Clone(e.Parents)
		a.stages[[2]int32{e.Stage, e.Attempt}], a.byID[e.Stage] = s, append(a.byID[e.Stage], s)
	case *traces.SparkExecutor:
		a.executors[e.Executor] = &executor{SparkExecutor: *e}
		a.first = min(a.first, at(e.T))
		end := at(e.End)
		if e.End == 0 {
			end = j.ended
		}
		// To jobs of MapReduce its container is what an ApplicationMaster of another job is.
		w.takers = append(
			w.takers,
			&attempt{job: j, node: w.node(e.Node), master: true, need: state.Amounts{e.MemoryBytes}, start: at(e.T), from: at(e.T), end: end},
		)
	case *traces.SparkTask:
		s, x := a.stages[[2]int32{e.Stage, e.StageAttempt}], a.executors[e.Executor]
		if s == nil || x == nil || e.End < e.T { // of a damaged trace, or it has no end
			return
		}
		t := &sparkTask{SparkTask: *e, stage: s, executor: x}
		a.ends, x.ends = append(a.ends, t), append(x.ends, t)
		a.spilled = traces.AddCount(a.spilled, e.SpilledDiskBytes)
		if e.Outcome == traces.Succeeded {
			s.ends = append(s.ends, t)
		}
		if e.Locality != traces.SparkNoPref {
			s.best = min(s.best, e.Locality)
		}
	}
}

// measure sorts tasks by end, and finds out what is typical of each stage.
func (a *app) measure() {
	byEnd := func(x, y *sparkTask) int { return cmp.Compare(x.End, y.End) }
	slices.SortStableFunc(a.ends, byEnd)
	for _, x := range a.executors { // the order does not matter
		slices.SortStableFunc(x.ends, byEnd)
		x.sweep(a.cpus)
	}
	middle := func(list []*sparkTask, of func(*sparkTask) int64) int64 {
		var all []int64
		for _, t := range list {
			all = append(all, of(t))
		}
		slices.Sort(all)
		return all[(len(all)-1)/2]
	}
	for _, s := range a.stages {
		slices.SortStableFunc(s.ends, byEnd)
		if len(s.ends) >= enough {
			s.took, s.bytes = middle(s.ends, func(t *sparkTask) int64 { return int64(t.own()) }), middle(s.ends, (*sparkTask).read)
			s.medianSpills = middle(s.ends, func(t *sparkTask) int64 { return t.SpilledDiskBytes }) > 0
		}
	}
}

// read is how many bytes a task read.
func (t *sparkTask) read() int64 {
	return max(0, t.InputBytes) + max(0, t.ShuffleLocalBytes) + max(0, t.ShuffleRemoteBytes)
}

// part is a part of a task's time.
type part struct {
	cause Cause
	took  traces.Time
}

// parts divides a task's time: waits for shuffle blocks, garbage collections, what is not its run, and the rest.
func (t *sparkTask) parts() (list [3]part, own traces.Time) {
	own = t.End - t.T
	outside, ms := traces.Time(0), func(n int64) traces.Time { return traces.Time(min(n, traces.MostTime/1e6) * 1e6) }
	if t.RunMs >= 0 {
		outside = own - ms(t.RunMs)
	}
	for i, p := range []part{{delivery, outside}, {fetchWait, ms(t.FetchWaitMs)}, {gc, ms(t.GCMs)}} {
		p.took = max(0, min(p.took, own))
		list[i], own = p, own-p.took
	}
	return list, own
}

func (t *sparkTask) own() traces.Time {
	_, own := t.parts()
	return own
}

// spark goes from the end of an application, or from where the walk is, to its submission.
func (k *walk) spark(j *job) {
	a := j.app
	t := k.lastOf(a.ends, k.at, true)
	if t == nil {
		t = k.lastOf(a.ends, k.at, false)
	}
	if t != nil {
		k.to(t.End, Step{Cause: sparkDriver, Job: j.id})
	}
	for t != nil && k.at > k.floor {
		t.seen = k.id
		k.ranSpark(j, t)
		t = k.waitedSpark(j, t)
	}
	k.to(min(k.at, max(a.first, j.submitted)), Step{Cause: sparkDriver, Job: j.id})
	k.to(j.submitted, Step{Cause: sparkStart, Job: j.id})
}

// lastOf returns the task of a list, ordered by end, that ended last at a time or before, and was not met before.
func (k *walk) lastOf(list []*sparkTask, t traces.Time, good bool) *sparkTask {
	i := sort.Search(len(list), func(i int) bool { return list[i].End > t })
	for _, x := range slices.Backward(list[:i]) {
		if x.seen != k.id && (!good || x.Outcome == traces.Succeeded) {
			return x
		}
	}
	return nil
}

// ranSpark goes to the launch of a task.
func (k *walk) ranSpark(j *job, t *sparkTask) {
	s := Step{Job: j.id, Node: t.Node, ran: t}
	to := func(c Cause, took traces.Time) {
		s.Cause = c
		k.to(max(t.T, k.at-took), s)
	}
	parts, own := t.parts()
	switch {
	case t.Outcome != traces.Succeeded:
		to(sparkFailed, k.at-t.T)
		return
	case t.StageAttempt > 0:
		to(stageAgain, k.at-t.T)
		return
	}
	for _, p := range parts {
		to(p.cause, p.took)
	}
	if typical := traces.Time(t.stage.took); typical > 0 && float64(own) > standsOut*float64(typical) {
		c := sparkSlower
		switch bytes := t.read(); {
		case t.stage.bytes > 0 && float64(bytes) > standsOut*float64(t.stage.bytes):
			c, s.Load = sparkSkew, float64(bytes)/float64(t.stage.bytes)
		case t.SpilledDiskBytes > 0 && !t.stage.medianSpills:
			c = spilt
		}
		s.Typical = typical
		to(c, own-typical)
	}
	to(sparkWork, k.at-t.T)
}

// waitedSpark goes from the launch of a task to the end of the one that it waited for: the one whose core it got, or
// the last one of the stages whose output it reads. nil: it waited for the driver or its first executor.
func (k *walk) waitedSpark(j *job, t *sparkTask) *sparkTask {
	submitted, there := min(t.T, at(t.stage.T)), min(t.T, at(t.executor.T))
	held := k.holds(t)
	ready := max(submitted, there)
	freed := traces.Time(never)
	if held != nil {
		freed = min(t.T, held.End)
	}
	ready = max(ready, freed)
	s := Step{Cause: delivery, Job: j.id, Node: t.Node, ran: t}
	if t.Locality > t.stage.best && k.at-ready > handOverMost/3 {
		s.Cause = localityWait
	}
	k.to(ready, s)
	if ready == freed && freed > submitted {
		return held
	}
	s.Cause = executorsLate
	k.to(max(submitted, min(there, j.app.first)), s)
	s.Cause = sparkStart
	k.to(submitted, s)
	var before *sparkTask
	for _, p := range t.stage.Parents {
		for _, x := range j.app.byID[p] {
			if y := k.lastOf(x.ends, submitted, true); y != nil && (before == nil || y.End > before.End) {
				before = y
			}
		}
	}
	if before == nil {
		before = k.lastOf(j.app.ends, submitted, false)
	}
	if before != nil {
		k.to(before.End, Step{Cause: sparkDriver, Job: j.id})
	}
	return before
}

// sweep finds out which tasks waited for a core, and which ends left one free when all were taken. The driver gives a
// core away as soon as it hears that a task is done, which is a little before the task's end is written.
func (x *executor) sweep(cpus int32) {
	starts := slices.SortedStableFunc(slices.Values(x.ends), func(a, b *sparkTask) int { return cmp.Compare(a.T, b.T) })
	slots, ended := int(max(1, x.Cores/cpus)), 0
	for i, t := range starts {
		for ; ended < len(x.ends) && x.ends[ended].End <= t.T; ended++ {
			if i-ended >= slots {
				x.freed = append(x.freed, x.ends[ended])
			}
		}
		if i-ended >= slots {
			k := slices.IndexFunc(x.ends[ended:], func(y *sparkTask) bool { return y != t && y.T < t.T })
			t.held = x.ends[ended+max(0, k)]
		}
	}
}

// holds returns the task whose end gave a core to another one; nil: one was free.
func (k *walk) holds(t *sparkTask) *sparkTask {
	if y := t.held; y != nil && y != t && y.seen != k.id {
		return y
	}
	return k.lastOf(t.executor.freed, t.T, false)
}

// value returns the value of a setting; empty: the log does not have it.
func (a *app) value(name string) string {
	for _, s := range a.Settings {
		if value, ok := strings.CutPrefix(s, name+"="); ok {
			return value
		}
	}
	return ""
}

// setting returns the name of a setting with its value, or with the usual one if the log does not have it.
func (a *app) setting(name, usual string) string {
	if value := a.value(name); value != "" {
		return name + " (now " + value + ")"
	}
	return name + " (not set; " + usual + ")"
}

// sparkWords are the words of a sentence about pieces of an application.
func (w *Reader) sparkWords(steps []Step) []string {
	x := longest(steps)
	j := w.jobs[x.Job]
	if j == nil || j.app == nil {
		return nil
	}
	a := j.app
	words := []string{
		"$wait", a.setting("spark.locality.wait", "3s"), "$memory", a.setting("spark.executor.memory", "1g"), "$partitions",
		a.setting("spark.sql.shuffle.partitions", "200"), "$instances", a.setting("spark.executor.instances", "2, or as allocated dynamically"),
	}
	if t := x.ran; t != nil {
		words = append(words, "$stage", fmt.Sprintf("stage %d.%d (%s)", t.Stage, t.StageAttempt, t.stage.Name), "$spark",
			fmt.Sprintf("task %d of stage %d.%d on executor %s", t.Index, t.Stage, t.StageAttempt, t.Executor),
			"$read", units.Size(t.read()).Rounded(), "$spilt", units.Size(max(0, t.SpilledDiskBytes)).Rounded(), "$locality", t.Locality.String(),
			"$error", t.Error)
	}
	start := cmp.Or(a.Start, a.T)
	text := Ns(start-a.T).String() + " until its driver ran"
	if a.AMStart > start && a.AMStart <= a.first {
		text += ", " + Ns(a.AMStart-start).String() + " until its ApplicationMaster was up"
		start = a.AMStart
	}
	if a.first != -never {
		text += ", " + Ns(a.first-start).String() + " until its first executor had registered"
	}
	return append(words, "$parts", text)
}

// sparked reports whether applications of Spark ran beside jobs of MapReduce.
func (w *Reader) sparked() bool {
	return slices.ContainsFunc(w.order, func(j *job) bool { return j.app != nil })
}

// sparkUnknown lists what the logs of applications do not tell.
func (w *Reader) sparkUnknown() (list []string) {
	if !w.sparked() {
		return nil
	}
	list = []string{"where the input of Spark's tasks was, and when executors were asked for, is in no event log"}
	bytes := int64(0)
	for _, j := range w.order {
		if j.app != nil {
			bytes = traces.AddCount(bytes, j.app.spilled)
		}
	}
	if bytes > 0 {
		list = append(list, fmt.Sprintf("tasks spilled %s to disk; how long that took is in no event log", units.Size(bytes).Rounded()))
	}
	return list
}
