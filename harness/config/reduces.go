package config

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"

	"heddle/traces"
)

// SlowStart is the Hadoop property that says which share of a job's maps must be done
// before its reduces are asked for.
const SlowStart = "mapreduce.job.reduce.slowstart.completedmaps"

// Room is what a cluster has for containers.
type Room struct {
	Workers        []traces.NodeFacts
	ContainerBytes int64 // of a task that does not say
	Checkout       bool  // jobs run through a HiBench checkout, which has a number of reduces of its own
}

// FillReduces sets the reduces of workloads that name no number: as many as HiBench has, but
// at most a quarter of the cluster's slots for all jobs that run at once. More could hold all
// slots while the maps that they wait for find none. Where a quarter of the slots is less
// than a reduce for each job, reduces wait for all maps. It returns what it has set, by
// workload, and what is to be said of this and of numbers that are too large. With several
// clusters, that with the fewest slots counts.
func (e *Experiment) FillReduces(clusters ...Room) (filled map[string]Workload, notes []string) {
	filled = map[string]Workload{}
	for i := range e.Workloads {
		w := &e.Workloads[i]
		n, jobs, slots, checkout := w.JobReduces(), max(1, w.Jobs), e.slots(w, clusters[0]), false
		for _, c := range clusters {
			slots, checkout = min(slots, e.slots(w, c)), checkout || c.Checkout
		}
		open := w.Reduces == 0 && w.Name != Streaming && slices.Contains(workloadKinds[w.Name].keys, "reduces")
		after, set := w.Settings[SlowStart]
		each := ""
		if jobs > 1 {
			each = fmt.Sprintf(" for each of %d jobs", jobs)
		}
		switch share, err := strconv.ParseFloat(after, 64); {
		case n == 0:
		case open && !checkout:
			w.Reduces = max(1, min(n, slots/4/jobs))
			text := fmt.Sprintf("%s: reduces: %d%s", w.Label, w.Reduces, each)
			if w.Reduces*jobs <= slots/4 || set {
				text += fmt.Sprintf(", at most a quarter of the slots (%d)", slots)
			} else {
				w.SetSlowStart("1")
				text += fmt.Sprintf(", after all maps, since a quarter of the slots (%d) is less", slots)
			}
			filled[w.Label] = *w
			notes = append(notes, text+"; the key sets another number")
		case n*jobs >= slots && (err != nil || share < 1):
			own := ""
			if open {
				own = ", HiBench's own number,"
			}
			notes = append(notes, fmt.Sprintf("%s: reduces: %d%s%s can hold all slots (%d) while maps wait, until Hadoop kills some after 300 s; "+
				"give reduces: %d, or the setting %s: 1",
				w.Label, n, own, each, slots, max(1, slots/4/jobs), SlowStart))
		}
	}
	return filled, notes
}

// SetSlowStart sets the property SlowStart, unless the text is empty.
func (w *Workload) SetSlowStart(text string) {
	if text != "" {
		w.Settings = maps.Clone(w.Settings)
		if w.Settings == nil {
			w.Settings = map[string]string{}
		}
		w.Settings[SlowStart] = text
	}
}

// JobReduces returns the number of reduces of each job of a workload; 0 if it has none, or
// they are those of a trace. A workload that names none has HiBench's.
func (w *Workload) JobReduces() int {
	switch _, generated := Generated(w.Name); {
	case w.Name == WorkloadJar:
		n, _ := strconv.Atoi(cmp.Or(w.Settings["mapreduce.job.reduces"], "1"))
		return max(0, n)
	case generated || w.Name == WorkloadTrace || w.Name == Streaming:
		return w.Reduces
	}
	return w.Spec().Shape().Reduces
}

// slots returns how many tasks of a workload a cluster runs at once, at the time when other
// load leaves the least and without the nodes that faults take down.
func (e *Experiment) slots(w *Workload, c Room) int {
	bytes := c.ContainerBytes
	for _, name := range []string{"mapreduce.map.memory.mb", "mapreduce.reduce.memory.mb"} {
		mb, _ := strconv.ParseInt(w.Settings[name], 10, 32)
		bytes = max(bytes, mb<<20)
	}
	down := map[traces.Node]bool{}
	for i := range e.Faults {
		on, _ := e.Faults[i].On(c.Workers) // a node that does not exist is reported elsewhere
		for _, n := range on {
			down[n] = down[n] || e.Faults[i].What == FaultDown
		}
	}
	has, all := map[string]int64{}, int64(0)
	for _, n := range c.Workers {
		if !down[n.Node] {
			has[string(n.Node)] = n.MemoryBytes / max(1, bytes)
			all += has[string(n.Node)]
		}
	}
	least := all
	t, _ := e.Capacity.Timetable(c.Workers)
	for _, x := range t.Changes {
		if !down[traces.Node(x.Node)] {
			left := int64(x.Left.MemoryMB) << 20 / max(1, bytes)
			all, has[x.Node] = all+left-has[x.Node], left
			least = min(least, all)
		}
	}
	return int(least)
}
