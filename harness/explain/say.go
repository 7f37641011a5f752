package explain

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"heddle/traces"
	"heddle/traces/printable"
)

// MarshalJSON writes the time in seconds.
func (t Ns) MarshalJSON() ([]byte, error) {
	return strconv.AppendFloat(nil, float64(t)/1e9, 'f', -1, 64), nil
}

func (t Ns) String() string { return strconv.FormatFloat(float64(t)/1e9, 'f', 1, 64) + " s" }

// lines adds up the steps by cause: causes first, then what must be.
func (w *Reader) lines(steps []Step, whole Ns) (list []Line) {
	by := map[Cause][]Step{}
	for _, s := range steps {
		by[s.Cause] = append(by[s.Cause], s)
	}
	for c, steps := range by { // sorted below
		l := Line{Cause: c}
		said := says[c]
		if said[0] == "" {
			said, l.Inherent = mustBe[c], true
		}
		for _, s := range steps {
			l.Seconds += Ns(s.To - s.From)
		}
		l.Share = 100 * float64(l.Seconds) / float64(max(1, whole))
		l.Sentence, l.Change = w.fillIn(said, steps)
		if a := longest(steps).Attempt; a.Job != "" && c != handOver {
			l.Ask = a.String()
		}
		list = append(list, l)
	}
	slices.SortFunc(list, func(a, b Line) int {
		return cmp.Or(cmp.Compare(b2i(a.Inherent), b2i(b.Inherent)), cmp.Compare(b.Seconds, a.Seconds), cmp.Compare(a.Cause, b.Cause))
	})
	return list
}

// longest returns the longest of some steps: of several, the one that was first.
func longest(steps []Step) Step {
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

// says is what is said of a cause, and which key or setting would change it; of what must be, none. In it,
// of the longest piece, stand $task, its $span, what it would take at $least and took as a $whole, its
// $load on $cores, the $rate and the $node; of all pieces the node, job and other job that had most of their time,
// and that time: $worst $on, $job $sum, $other $of.
var says = map[Cause][2]string{
	reducesHold: {
		"reduces of $job held the containers that its own maps waited for, and could not end without these maps",
		"fewer reduces (key reduces), mapreduce.job.reduce.slowstart.completedmaps: 1, or more slots",
	},
	othersHold: {
		"its tasks waited for containers that other jobs held, $other most of all ($of)",
		"the queue's capacity or the job's priority, another model, or more nodes",
	},
	masterWait: {
		"jobs waited for their ApplicationMaster longer than one takes to start here ($start), $job most of all ($sum)",
		"yarn.scheduler.capacity.maximum-am-resource-percent",
	},
	kept: {
		"a node had room, and a task that waited did not get it, such as $task for $span: by the queue's limits, or since the scheduler " +
			"waited for a node nearer to its input",
		"yarn.scheduler.capacity.node-locality-delay, the queue's maximum-capacity, or the model's parameters",
	},
	slowNode: {
		"$worst was slower than the other nodes ($on): $task took $whole there in place of $least",
		"look at that node, take it out, or mapreduce.map.speculative",
	},
	farRead: {
		"maps read their input from other nodes, or not from the cache: $task on $node took $whole in place of the $least of maps " +
			"with it nearer",
		"yarn.scheduler.capacity.node-locality-delay, the replication of the input, or key cache",
	},
	skew: {
		"some tasks had more to read: $task read $load times as much as is typical",
		"another split size (mapreduce.input.fileinputformat.split.maxsize) or partitioner",
	},
	disk: {"disks were read as fast as they can: that of $worst at $rate ($on)", "key cache, more nodes, or faster disks"},
	link: {
		"links were as full as they can be: that of $worst at $rate ($on)",
		"fewer bytes to move (mapreduce.map.output.compress, a combiner), locality, or faster links",
	},
	cores: {
		"more attempts computed than there are cores: $load on $cores in the longest piece",
		"more cores, or nodes with cores of their own",
	},
	failed: {
		"attempts failed and ran again, most of this on $worst ($on), such as $task",
		"what the logs of these attempts say; take the node out if it is always the same",
	},
	nodeLost: {
		"a node was lost, and what ran or lay there was run again, such as $task",
		"yarn.resourcemanager.nm.liveness-monitor.expiry-interval-ms",
	},
	preempted: {
		"YARN killed attempts to give their containers to others, such as $task",
		"yarn.resourcemanager.scheduler.monitor.enable, the queues' capacities",
	},
	speculation: {"slow attempts ran until a speculative one had replaced them, such as $task", "mapreduce.map.speculative"},
	killed:      {"attempts were killed and ran again, such as $task"},
	masterLost:  {"an ApplicationMaster of $job was lost, and another one started", "yarn.resourcemanager.am.max-attempts"},
	sparkStart: {
		"no executor was there yet: $parts ($job)",
		"spark.yarn.jars or spark.yarn.archive in HDFS, room in the queue, or one application in place of several",
	},
	executorsLate: {
		"tasks waited for an executor that came later: $spark for $span",
		"spark.dynamicAllocation.initialExecutors, schedulerBacklogTimeout, $instances, or room in the queue",
	},
	localityWait: {
		"a core was free, and its task waited for one nearer to its data: $spark ran there after all ($locality), after $span",
		"$wait",
	},
	sparkSkew: {
		"tasks had more to read than others of their stage: $spark took $whole in place of $least, and read $read, $load times the median",
		"spark.sql.adaptive.skewJoin.enabled, $partitions, or another key",
	},
	spilt: {"a task spilled $spilt to disk, which others did not: $spark", "$memory, spark.memory.fraction, $partitions"},
	gc:    {"garbage collections, the longest in $spark ($span)", "$memory, or fewer tasks an executor"},
	fetchWait: {
		"tasks waited for blocks of shuffles, $spark for $span",
		"spark.reducer.maxSizeInFlight, fewer bytes, or faster links",
	},
	stageAgain: {
		"stages ran again, since output of theirs was lost: $stage",
		"spark.shuffle.service.enabled, spark.decommission.enabled",
	},
	sparkFailed: {"tasks failed or were killed, such as $spark: $error", "what the logs of that executor say"},
}

// mustBe is the same of what must be.
var mustBe = map[Cause][2]string{
	ownWork:     {"the work of tasks that wait for each other or for the same container: $tasks, most of $job ($sum)"},
	masterStart: {"ApplicationMasters started, which takes $start here at least"},
	handOver: {
		"containers on their way: heartbeats and launches, $span each at most",
		"yarn.app.mapreduce.am.scheduler.heartbeat.interval-ms, the NodeManagers' heartbeat",
	},
	jobEnd:        {"from the last task of a job to its end: commit and history"},
	submittedLate: {"nothing to do: $job was not yet submitted"},
	askedLate:     {"not known: $task was asked for $span after its ApplicationMaster was up, and the trace does not say why"},
	slower:        {"not known why: attempts took longer than such typically do: $task on $node took $whole in place of $least"},
	unknown:       {"not known: $why"},
	sparkSlower:   {"not known why: tasks took longer than others of their stage: $spark took $whole in place of $least"},
	sparkDriver:   {"the driver was at work and no task that counts: plans, listings, commits, and its own program ($job)"},
	delivery:      {"tasks on their way: sent, their code read, their results brought back"},
	sparkWork:     {"the work of tasks that wait for each other or for the same core: $tasks, most of $stage"},
}

// fillIn puts into sentences what some steps of a cause were, in the words of their Hadoop.
func (w *Reader) fillIn(said [2]string, steps []Step) (sentence, change string) {
	x := longest(steps)
	span := x.To - x.From
	worst, on := top(steps, func(s Step) string { return string(s.Node) })
	job, sum := top(steps, func(s Step) string { return string(s.Job) })
	other, of := top(steps, func(s Step) string { return string(s.Other.Job) })
	text := strings.NewReplacer(append(w.sparkWords(steps),
		"$tasks", printable.Count(len(steps), "task"), "$task", x.task(), "$span", Ns(span).String(), "$least", Ns(x.Typical).String(),
		"$whole", Ns(span+x.Typical).String(), "$load", fmt.Sprintf("%.1f", x.Load), "$cores", fmt.Sprintf("%.4g", x.Cores),
		"$rate", fmt.Sprintf("%.3g MB/s", x.Load/1e6), "$node", cmp.Or(string(x.Node), noNode), "$start", Ns(w.least).String(),
		"$worst", cmp.Or(worst, noNode), "$on", on.String(), "$job", job, "$sum", sum.String(), "$other", other, "$of", of.String(),
		"$why", w.notKnown(x))...)
	return x.Job.Words(text.Replace(said[0])), x.Job.Words(text.Replace(said[1]))
}

const noNode = "an unknown node"

// task is in words what a piece is of: "m7 of job_1_0001".
func (s Step) task() string {
	if s.Attempt.Job == "" {
		return "a task"
	}
	return fmt.Sprintf("%s%d of %s", s.Attempt.Kind.Letter(), s.Attempt.Index, s.Attempt.Job)
}

func (w *Reader) notKnown(x Step) string {
	j := w.jobs[x.Job]
	switch {
	case j == nil:
		return "the trace does not lead on from here"
	case len(j.masters) == 0:
		return fmt.Sprintf("the trace does not say when the ApplicationMaster of %s was up", x.Job)
	case x.Attempt.Job == "":
		return fmt.Sprintf("no task of %s that ended explains it", x.Job)
	}
	if w.byCount && w.sparked() {
		return x.task() + " waited while executors of Spark held room, and the trace does not say how much nodes have"
	}
	return x.task() + " waited while no node had room, and no attempt ended that made room for it"
}

// unknown lists what the trace does not tell.
func (w *Reader) unknown() (list []string) {
	list = w.sparkUnknown()
	if w.byCount {
		list = append(list, w.order[0].id.Words("the trace does not say how much memory nodes or containers have: a node counts as full if as "+
			"many attempts run there as ever ran at once"))
	}
	if len(w.header.Synthetic) > 0 && w.header.Origin != traces.Simulated {
		list = append(list, fmt.Sprintf("not recorded, but made up by the import: %v", w.header.Synthetic))
	}
	return list
}
