package explain

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"

	"heddle/traces"
	"heddle/traces/printable"
)

// MarshalJSON writes the time in seconds.
func (t Ns) MarshalJSON() ([]byte, error) {
	return strconv.AppendFloat(nil, float64(t)/1e9, 'f', -1, 64), nil
}

func (t Ns) String() string { return strconv.FormatFloat(float64(t)/1e9, 'f', 1, 64) + " s" }

// lines adds up the steps by cause: causes first, then what must be.
func (w *world) lines(steps []Step, whole Ns) (list []Line) {
	by := map[Cause][]Step{}
	for _, s := range steps {
		by[s.Cause] = append(by[s.Cause], s)
	}
	for c, steps := range by { // sorted below
		l := Line{Cause: c, Inherent: c.inherent()}
		for _, s := range steps {
			l.Seconds += Ns(s.To - s.From)
		}
		l.Share = 100 * float64(l.Seconds) / float64(max(1, whole))
		a := most(steps)
		l.Sentence, l.Change = w.say(c, steps)
		l.Sentence, l.Change = a.Job.Words(l.Sentence), a.Job.Words(l.Change)
		if a.Attempt.Job != "" && c != handOver {
			l.Ask = a.Attempt.String()
		}
		list = append(list, l)
	}
	slices.SortFunc(list, func(a, b Line) int {
		return cmp.Or(cmp.Compare(b2i(a.Inherent), b2i(b.Inherent)), cmp.Compare(b.Seconds, a.Seconds), cmp.Compare(a.Cause, b.Cause))
	})
	return list
}

// most returns the longest of some steps: of several, the one that was first.
func most(steps []Step) Step {
	return slices.MaxFunc(steps, func(a, b Step) int { return cmp.Or(cmp.Compare(a.To-a.From, b.To-b.From), cmp.Compare(b.From, a.From)) })
}

// top returns the name with the most time among steps, and its time.
func top(steps []Step, of func(Step) string) (name string, sum Ns) {
	sums := map[string]Ns{}
	for _, s := range steps {
		sums[of(s)] += Ns(s.To - s.From)
	}
	for n, t := range sums { // the order does not matter
		if t > sum || t == sum && n < name {
			name, sum = n, t
		}
	}
	return name, sum
}

// the words of a task: "m7 of job_1_0001".
func (s Step) task() string { return taskName(s.Attempt) }

func taskName(a traces.Attempt) string {
	if a.Job == "" {
		return "a task"
	}
	return fmt.Sprintf("%s%d of %s", a.Kind.Letter(), a.Index, a.Job)
}

func orNone(name string) string { return cmp.Or(name, "an unknown node") }

// say says what happened in some steps of a cause, and what would change it.
func (w *world) say(c Cause, steps []Step) (sentence, change string) {
	x := most(steps)
	span := Ns(x.To - x.From)
	whole := span + Ns(x.Typical)
	node, on := top(steps, func(s Step) string { return string(s.Node) })
	job, ofJob := top(steps, func(s Step) string { return string(s.Job) })
	switch c {
	case reducesHold:
		return fmt.Sprintf("reduces of %s held the containers that its own maps waited for, and could not end without these maps", job),
			"fewer reduces (key reduces), mapreduce.job.reduce.slowstart.completedmaps: 1, or more slots"
	case othersHold:
		other, of := top(steps, func(s Step) string { return string(s.Other.Job) })
		return fmt.Sprintf("its tasks waited for containers that other jobs held, %s most of all (%v)", other, of),
			"the queue's capacity or the job's priority, another model, or more nodes"
	case masterWait:
		return fmt.Sprintf("jobs waited for their ApplicationMaster longer than one takes to start here (%v), %s most of all (%v)", Ns(w.least),
				job, ofJob),
			"yarn.scheduler.capacity.maximum-am-resource-percent"
	case kept:
		return fmt.Sprintf("a node had room, and a task that waited did not get it, such as %s for %v: by the queue's limits, or since the "+
				"scheduler waited for a node nearer to its input", x.task(), span),
			"yarn.scheduler.capacity.node-locality-delay, the queue's maximum-capacity, or the model's parameters"
	case slowNode:
		return fmt.Sprintf("%s was slower than the other nodes (%v): %s took %v there in place of %v",
			orNone(node), on, x.task(), whole, Ns(x.Typical)), "look at that node, take it out, or mapreduce.map.speculative"
	case farRead:
		return fmt.Sprintf("maps read their input from other nodes: %s on %s took %v in place of the %v of maps with their input at hand",
				x.task(), orNone(string(x.Node)), whole, Ns(x.Typical)),
			"yarn.scheduler.capacity.node-locality-delay, the replication of the input, or key cache"
	case skew:
		return fmt.Sprintf("some tasks had more to read: %s read %.1f times as much as is typical", x.task(), x.Load),
			"another split size (mapreduce.input.fileinputformat.split.maxsize) or partitioner"
	case slower:
		return fmt.Sprintf("not known why: attempts took longer than such typically do: %s on %s took %v in place of %v",
			x.task(), orNone(string(x.Node)), whole, Ns(x.Typical)), ""
	case disk:
		return fmt.Sprintf("disks were read as fast as they can: that of %s at %s (%v)", orNone(node), rate(x.Load), on),
			"key cache, more nodes, or faster disks"
	case link:
		return fmt.Sprintf("links were as full as they can be: that of %s at %s (%v)", orNone(node), rate(x.Load), on),
			"fewer bytes to move (mapreduce.map.output.compress, a combiner), locality, or faster links"
	case cores:
		return fmt.Sprintf("more attempts computed than there are cores: %.1f on %.4g in the longest piece", x.Load, x.Cores),
			"more cores, or nodes with cores of their own"
	}
	return w.sayLost(c, steps, x, node, on, job, ofJob)
}

// sayLost is say for what ran in vain, and for what is no fault.
func (w *world) sayLost(c Cause, steps []Step, x Step, node string, on Ns, job string, ofJob Ns) (sentence, change string) {
	switch c {
	case failed:
		return fmt.Sprintf("attempts failed and ran again, most of this on %s (%v), such as %s", orNone(node), on, x.task()),
			"what the logs of these attempts say; take the node out if it is always the same"
	case nodeLost:
		return fmt.Sprintf("a node was lost, and what ran or lay there was run again, such as %s", x.task()),
			"yarn.resourcemanager.nm.liveness-monitor.expiry-interval-ms"
	case preempted:
		return fmt.Sprintf("YARN killed attempts to give their containers to others, such as %s", x.task()),
			"yarn.resourcemanager.scheduler.monitor.enable, the queues' capacities"
	case speculation:
		return fmt.Sprintf("slow attempts ran until a speculative one had replaced them, such as %s", x.task()), "mapreduce.map.speculative"
	case killed:
		return fmt.Sprintf("attempts were killed and ran again, such as %s", x.task()), ""
	case masterLost:
		return fmt.Sprintf("an ApplicationMaster of %s was lost, and another one started", job), "yarn.resourcemanager.am.max-attempts"
	case ownWork:
		return fmt.Sprintf("the work of tasks that wait for each other or for the same container: %s, most of %s (%v)",
			printable.Count(len(steps), "task"), job, ofJob), ""
	case masterStart:
		return fmt.Sprintf("ApplicationMasters started, which takes %v here at least", Ns(w.least)), ""
	case handOver:
		return fmt.Sprintf("containers on their way: heartbeats and launches, %v each at most", Ns(most(steps).To-most(steps).From)),
			"yarn.app.mapreduce.am.scheduler.heartbeat.interval-ms, the NodeManagers' heartbeat"
	case jobEnd:
		return "from the last task of a job to its end: commit and history", ""
	case askedLate:
		return fmt.Sprintf("not known: %s was asked for %v after its ApplicationMaster was up, and the trace does not say why", x.task(),
			Ns(x.To-x.From)), ""
	case submittedLate:
		return fmt.Sprintf("nothing to do: %s was not yet submitted", job), ""
	}
	return "not known: " + w.notKnown(x), ""
}

func (w *world) notKnown(x Step) string {
	j := w.jobs[x.Job]
	switch {
	case j == nil:
		return "the trace does not lead on from here"
	case len(j.masters) == 0:
		return fmt.Sprintf("the trace does not say when the ApplicationMaster of %s was up", x.Job)
	case x.Attempt.Job == "":
		return fmt.Sprintf("no task of %s that ended explains it", x.Job)
	}
	return fmt.Sprintf("%s waited while no node had room, and no attempt ended that made room for it", x.task())
}

func rate(bytesPerSec float64) string { return fmt.Sprintf("%.3g MB/s", bytesPerSec/1e6) }

// unknown lists what the trace does not tell.
func (w *world) unknown() (list []string) {
	if w.byCount {
		list = append(list, w.order[0].id.Words("the trace does not say how much memory nodes or containers have: a node counts as full if as "+
			"many attempts run there as ever ran at once"))
	}
	if len(w.header.Synthetic) > 0 && w.header.Origin != traces.Simulated {
		list = append(list, fmt.Sprintf("not recorded, but made up by the import: %v", w.header.Synthetic))
	}
	return list
}
