package recorded

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"heddle/traces"
	"heddle/traces/printable"
)

// sortTasks sorts the tasks and assigns them to their jobs. It warns if jobs
// announced tasks that no event names.
func (b *builder) sortTasks() {
	for _, j := range b.Jobs {
		for k := range j.Tasks {
			j.Tasks[k] = b.tasks[j.number][k].tasks
			slices.SortFunc(j.Tasks[k], func(x, y Task) int { return cmp.Compare(x.Index, y.Index) })
		}
	}
	var lacks, idle traces.JobID
	jobs, lacking, empty := 0, int64(0), 0
	for _, j := range b.Jobs {
		if !j.HasTasks() && j.Maps+j.Reduces == 0 {
			idle, empty = cmp.Or(idle, j.Job), empty+1
		}
		if n := int64(j.Maps) + int64(j.Reduces) - int64(len(j.Tasks[0])+len(j.Tasks[1])); n > 0 {
			lacks = cmp.Or(lacks, j.Job)
			jobs, lacking = jobs+1, lacking+n
		}
	}
	if jobs > 0 {
		claim := "claim"
		if jobs == 1 {
			claim = "claims"
		}
		b.warn("%s, %s first, %s %s that no event names: these tasks are left out",
			printable.Count(jobs, "job"), lacks, claim, printable.Count(lacking, "task"))
	}
	if empty > 0 {
		b.warn("%s, %s first, ran no task: left out", printable.Count(empty, "job"), idle)
	}
}

// finish completes the trace after its last event: it assigns tasks to jobs and sets
// where the input of maps was.
func (b *builder) finish() (*Trace, error) {
	if len(b.Jobs)+len(b.List) == 0 {
		return nil, fmt.Errorf("load trace %s: it has no jobs", b.Name)
	}
	slices.SortStableFunc(b.List, func(x, y traces.JobListed) int { return cmp.Compare(x.T, y.T) })
	slices.SortStableFunc(b.Jobs, func(x, y *Job) int { return cmp.Compare(x.T, y.T) })
	b.sortTasks()
	if n := len(b.uber); n > 0 {
		b.warn("%s ran inside the ApplicationMaster (uber), one task after the other: a replay gives each task a container",
			printable.Count(n, "job"))
	}
	b.unlike()
	for _, j := range b.Jobs {
		for i := range j.Tasks[traces.Map] {
			t := &j.Tasks[traces.Map][i]
			if h := b.blocks[t.block]; h != nil {
				// If a block was first seen after the job's submission, it was on
				// disk before nevertheless: the NameNode was asked about the block
				// only because of this job.
				at := j.T
				if len(h.onDisk) > 0 {
					at = max(at, h.onDisk[0].t)
				}
				t.replicas, t.cached = b.addHosts(nodesAt(h.onDisk, at)), b.addHosts(nodesAt(h.ram, at))
				if t.file == 0 {
					t.file, t.OffsetBytes = h.file, h.offset
				}
			}
			if t.replicas.count == 0 {
				t.replicas = t.splitHosts
			}
		}
	}
	slices.SortFunc(b.Decisions, func(x, y Decision) int { return cmp.Compare(x.ID, y.ID) })
	b.nodesOfJobs()
	b.measureAtOnce()
	return b.Trace, nil
}

// unlike finds jobs that a replay cannot run as they ran. It warns of those that did not end well.
func (b *builder) unlike() {
	was := map[string]int{}
	early, timeless := 0, 0
	for _, j := range b.Jobs {
		switch {
		case !j.HasTasks():
		case j.Outcome == traces.Failed && b.failsAgain(j):
			was["failed, by tasks that fail again in replays: with modelled durations they do not"]++
		case j.Outcome != traces.Succeeded:
			was[j.Outcome.String()+": the replay lets such jobs end well"]++
		default:
			if j.LastEnd() > j.Finished {
				early++
			}
			for _, t := range slices.Concat(j.Tasks[:]...) {
				if t.failed == 0 && (t.Won == nil || t.Won.End <= t.Won.Start) {
					timeless++
				}
			}
		}
	}
	for _, text := range slices.Sorted(maps.Keys(was)) {
		verb := "was"
		if was[text] > 1 {
			verb = "were"
		}
		b.warn("%s %s recorded as %s", printable.Count(was[text], "job"), verb, text)
	}
	if early > 0 {
		b.Unlike = append(b.Unlike, printable.Count(early, "job")+" ended before the last task")
	}
	if timeless > 0 {
		b.Unlike = append(b.Unlike, printable.Count(timeless, "task")+" without a duration")
	}
}

// failsAgain reports whether a task of the job failed so often that the replay's job fails, too.
func (b *builder) failsAgain(j *Job) bool {
	for k, tasks := range j.Tasks {
		for i := range tasks {
			failures := 0
			for _, a := range b.mishaps.tasks[taskKey{j.number, tasks[i].Index, traces.TaskKind(k)}] {
				if a.outcome == traces.Failed {
					failures++
				}
			}
			if tasks[i].Won == nil && failures > mostFailures {
				return true
			}
		}
	}
	return false
}

// nodesAt returns the nodes that had a replica or cached copy of a block at time t.
func nodesAt(list []placed, t traces.Time) []nodeIndex {
	var nodes []nodeIndex
	for _, p := range list {
		if p.t > t {
			break
		}
		if i := slices.Index(nodes, p.node); p.gone && i >= 0 {
			nodes = slices.Delete(nodes, i, i+1)
		} else if !p.gone && i < 0 {
			nodes = append(nodes, p.node)
		}
	}
	return nodes
}

// nodesOfJobs adds the nodes that the events of jobs name to the trace's nodes, if
// the trace's header lists no nodes.
func (b *builder) nodesOfJobs() {
	if len(b.Nodes) > 0 {
		return
	}
	seen := map[nodeIndex]bool{}
	see := func(n nodeIndex) {
		if name := b.nodes[n]; name != "" && !seen[n] {
			seen[n] = true
			b.Nodes = append(b.Nodes, traces.NodeFacts{Node: name, Rack: "/default-rack", Worker: true})
		}
	}
	for _, j := range b.Jobs {
		for _, tasks := range j.Tasks {
			for i := range tasks {
				for _, n := range b.list(tasks[i].splitHosts) {
					see(n)
				}
				if a := tasks[i].Won; a != nil {
					see(a.node)
				}
			}
		}
	}
	slices.SortFunc(b.Nodes, func(x, y traces.NodeFacts) int { return cmp.Compare(x.Node, y.Node) })
}
