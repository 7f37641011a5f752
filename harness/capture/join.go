package capture

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"heddle/collectors/yarn"
	"heddle/traces"
	"heddle/traces/hosts"
	"heddle/traces/jhist"
)

// joiner makes trace events from what a capture has recorded of a job. Event times
// count from the field start.
type joiner struct {
	Options
	start     time.Time
	locations *locations // where input blocks were, over time; nil if the trace is made from history files alone
	racks     map[traces.Node]string
	machines  *hosts.Names // which names mean the same machine
}

// The method events returns the events of a job that has ended: those in its history
// file, with input split and locality added for each map.
func (jn *joiner) events(j *jobRecord) []traces.Event {
	if j.history == nil {
		return jn.withoutHistory(j)
	}
	j.history.HostRacks = jn.racks
	for _, t := range j.history.Tasks {
		jn.stored(t.SplitHosts)
	}
	j.history.Rename(jn.machines.Of)
	events := jhist.Events(j.history, jn.start.UnixNano())
	for _, event := range events {
		switch e := event.(type) {
		case *traces.JobSubmitted:
			e.Workload, e.Costs = jn.Workload, jn.Costs
			jn.addTold(e, j)
			describe(e, j.conf)
		case *traces.TaskScheduled:
			jn.locate(e, j)
		case *traces.AttemptStarted:
			if e.Rack == "" {
				e.Rack = jn.racks[e.Node]
			}
			jn.setReplicaLocality(e, j)
		}
	}
	return events
}

// names says which machines have several names, and which may have.
func (jn *joiner) names() (list []string) {
	same := jn.machines.Same()
	for _, other := range slices.Sorted(maps.Keys(same))[:min(1, len(same))] {
		list = append(list, fmt.Sprintf("%d names of HDFS and YARN are of machines with another name, such as %s and %s: taken as one",
			len(same), other, same[other]))
	}
	return append(list, jn.machines.Doubts()...)
}

// stored takes names of hosts as HDFS has them.
func (jn *joiner) stored(names []string) {
	for _, name := range names {
		jn.machines.See(name, hosts.Stored)
	}
}

// withoutHistory returns the events of a job that has no history file: its submission
// and its end, as the ResourceManager reports them.
func (jn *joiner) withoutHistory(j *jobRecord) []traces.Event {
	events := []traces.Event{jn.submitted(j)}
	if j.app.Ended() {
		events = append(events, jn.finished(j))
	}
	return events
}

func (jn *joiner) submitted(j *jobRecord) *traces.JobSubmitted {
	e := &traces.JobSubmitted{
		T: jn.at(j.app.StartedMs), Job: j.id, Name: j.app.Name, User: j.app.User, Queue: j.app.Queue,
		Priority: int32(j.app.Priority), Maps: int32(len(j.hosts)), Workload: jn.Workload, Costs: jn.Costs,
	}
	jn.addTold(e, j)
	describe(e, j.conf)
	return e
}

// addTold adds to a job's submission what YARN does not know: its pool and its terms.
func (jn *joiner) addTold(e *traces.JobSubmitted, j *jobRecord) {
	for tag := range strings.SplitSeq(j.app.Tags, ",") {
		e.Pool = cmp.Or(e.Pool, jn.Pools[tag])
		e.Terms = cmp.Or(e.Terms, jn.Terms[tag])
	}
}

func (jn *joiner) finished(j *jobRecord) *traces.JobFinished {
	e := traces.Uncounted(jn.at(j.app.FinishedMs), j.id, outcomes[j.app.FinalStatus])
	e.Diagnostics = j.app.Diagnostics
	return e
}

// locate adds to the event that schedules a map which file range it reads, the hosts
// that its split names, and the split's blocks.
func (jn *joiner) locate(e *traces.TaskScheduled, j *jobRecord) {
	i := int(e.Task.Index)
	if e.Task.Kind != traces.Map {
		return
	}
	if i < len(j.hosts) {
		e.SplitHosts = e.SplitHosts[:0]
		jn.stored(j.hosts[i])
		for _, host := range j.hosts[i] {
			e.SplitHosts = append(e.SplitHosts, traces.Node(jn.machines.Of(host)))
		}
	}
	if i < len(j.splits) {
		e.Path, e.OffsetBytes, e.LengthBytes = inputPath(j.splits[i]), j.splits[i].Offset, j.splits[i].Length
	}
	if i < len(j.blocks) {
		e.Blocks = j.blocks[i]
	}
}

// setReplicaLocality sets how near a map attempt ran to the replicas and cached copies
// of its input. If a split has several blocks, only the first counts, because the hosts
// that the split names are those of the first block.
func (jn *joiner) setReplicaLocality(e *traces.AttemptStarted, j *jobRecord) {
	e.SampleAgeNs = -1
	i := int(e.Attempt.Index)
	if e.Attempt.Kind != traces.Map || jn.locations == nil || i >= len(j.blocks) || len(j.blocks[i]) == 0 {
		return
	}
	e.ReplicaLocality, e.SampleAgeNs = jn.locations.levelAt(j.blocks[i][0], e.Node, jn.racks[e.Node], e.T)
}

// The method at converts Unix time in ms, in which Hadoop gives times, to a time in the
// trace.
func (jn *joiner) at(unixMs int64) traces.Time {
	return traces.Time(unixMs*1e6 - jn.start.UnixNano())
}

// describe adds to the event of the job's submission those settings of the job that
// matter for placement. For a property that is not set, it uses Hadoop's default.
func describe(e *traces.JobSubmitted, conf yarn.Conf) {
	if conf == nil {
		return
	}
	maps, reduces := conf.Container("map"), conf.Container("reduce")
	e.MapMemoryBytes, e.MapVCores, e.MapLabel = maps.MemoryMB<<20, maps.VCores, maps.Label
	e.ReduceMemoryBytes, e.ReduceVCores, e.ReduceLabel = reduces.MemoryMB<<20, reduces.VCores, reduces.Label
	e.SlowStart = conf.SlowStart()
	e.Speculation = conf.Bool("mapreduce.map.speculative", true) || conf.Bool("mapreduce.reduce.speculative", true)
	if e.Reduces == 0 {
		if n, err := strconv.ParseInt(conf["mapreduce.job.reduces"], 10, 32); err == nil {
			e.Reduces = int32(n)
		}
	}
}
