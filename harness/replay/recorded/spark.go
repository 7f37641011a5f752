package recorded

import (
	"cmp"
	"errors"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"heddle/traces"
	"heddle/traces/printable"
)

// application is an application of Spark while its trace is read.
type application struct {
	traces.SparkApplication
	settings  map[string]string
	executors []traces.SparkExecutor
	last      traces.Time // of its events: its end, if the trace lacks that
}

// mostLaunch is the longest that a container is taken to start before its executor registers.
const mostLaunch = traces.Time(30 * time.Second)

// spark keeps what an event says of an application of Spark and its executors.
func (b *builder) spark(e traces.Event) {
	id := traces.JobOf(e)
	a := b.apps[id]
	if a == nil {
		a = &application{settings: map[string]string{}}
		b.apps[id] = a
	}
	a.last = max(a.last, e.At())
	switch e := e.(type) {
	case *traces.SparkApplication:
		a.SparkApplication = *e
		for _, s := range e.Settings {
			name, value, _ := strings.Cut(s, "=")
			a.settings[name] = value
		}
	case *traces.SparkExecutor:
		a.executors, a.last = append(a.executors, *e), max(a.last, e.End)
	case *traces.SparkTask:
		a.last = max(a.last, e.End)
	}
}

// applications adds the applications of Spark as jobs whose reduces are the executors, and gives
// their events to the function also.
func (b *builder) applications(also func(traces.Event, bool)) error {
	all := len(b.apps)
	maps.DeleteFunc(b.apps, func(_ traces.JobID, a *application) bool {
		return !strings.HasPrefix(a.settings["spark.master"], "yarn")
	})
	if n := all - len(b.apps); n > 0 {
		b.warn("%s of Spark did not run on YARN: left out", printable.Count(n, "application"))
		if len(b.apps)+len(b.Jobs) == 0 {
			return errors.New("none of its applications of Spark ran on YARN")
		}
	}
	b.Launch, b.ExecutorAskMs = mostLaunch, map[traces.JobID][]int64{}
	for _, a := range b.apps { // in any order
		if len(a.executors) > 0 {
			b.Launch = min(b.Launch, max(0, a.executors[0].T-a.up()))
		}
	}
	for _, id := range slices.Sorted(maps.Keys(b.apps)) {
		for _, e := range b.asJob(b.apps[id]) {
			if err := b.add(e); err != nil {
				return err
			}
			also(e, b.counted)
		}
	}
	return nil
}

// up returns when the ApplicationMaster was up.
func (a *application) up() traces.Time { return max(a.T, cmp.Or(a.AMStart, a.Start)) }

// asJob returns the events of the job that an application is taken for, and notes when it asks for executors.
func (b *builder) asJob(a *application) []traces.Event {
	up, atOnce := a.up(), a.atOnce()
	end := max(up, cmp.Or(a.End, a.last))
	j := &traces.JobSubmitted{T: a.T, Job: a.App, Name: a.Name, User: a.User, Queue: a.Queue, Reduces: int32(len(a.executors))}
	am := &traces.JobStarted{T: up, Job: a.App, AMNode: a.AMNode, AMMemoryBytes: a.AMMemoryBytes}
	if a.settings["spark.submit.deployMode"] == "cluster" {
		am.AMNode = a.Driver
	} else if am.AMNode == "" { // of older Spark
		am.AMMemoryBytes = 0
	}
	events := []traces.Event{j, am}
	for i, x := range a.executors {
		j.ReduceMemoryBytes, j.ReduceVCores = max(j.ReduceMemoryBytes, x.MemoryBytes), max(j.ReduceVCores, x.Cores)
		id := traces.Attempt{Task: traces.Task{Job: a.App, Kind: traces.Reduce, Index: int32(i)}}
		from, askMs := max(up, x.T-b.Launch), int64(0)
		if i >= atOnce {
			askMs = (from - up).Milliseconds()
		}
		b.ExecutorAskMs[a.App] = append(b.ExecutorAskMs[a.App], askMs)
		events = append(events, &traces.AttemptStarted{T: from, Attempt: id, Node: x.Node}, &traces.AttemptFinished{
			T: max(from, cmp.Or(x.End, end)), Attempt: id, Outcome: traces.Succeeded, Counters: traces.NoCounters,
		})
	}
	if a.End > 0 {
		events = append(events, &traces.JobFinished{T: end, Job: a.App, Outcome: a.Outcome, Counters: traces.NoCounters})
	}
	return events
}

// atOnce returns how many executors the application asks for when its ApplicationMaster is up, by
// Spark's rules.
func (a *application) atOnce() int {
	n, unset := strconv.Atoi(a.settings["spark.executor.instances"])
	if a.settings["spark.dynamicAllocation.enabled"] != "true" {
		if unset != nil {
			return 2
		}
		return n
	}
	for _, name := range []string{"initial", "min"} {
		more, _ := strconv.Atoi(a.settings["spark.dynamicAllocation."+name+"Executors"]) // 0 without it
		n = max(n, more)
	}
	return n
}
