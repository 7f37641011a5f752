package replay

import (
	"fmt"
	"slices"
	"strings"
)

// cost is something that is fitted to traces.
type cost struct {
	name string // as it is printed
	// restsOn are marks of Header.Synthetic. A trace that has one of them says
	// nothing of this cost: what it would be fitted to was made up.
	restsOn []string
	// mostMs is the longest mean that is believed of a time.
	mostMs float64
}

// What is fitted. The bounds are far above what Hadoop takes for it alone: a mean
// beyond them has waiting in it, for room, for a queue's turn, or for data.
var (
	// An ApplicationMaster is localized, starts a JVM and reads the splits: 3 to 10 s.
	amStartCost = cost{"submission to ApplicationMaster's first request", []string{"schedule"}, 60_000}
	// Output is committed and the history written, under Hadoop 1 in a task: 1 to 20 s.
	finishCost = cost{"last task's end to job's end", []string{"durations", "schedule"}, 60_000}
	// The node reports, the master hears of the container, a JVM starts: 0.2 to 4 s,
	// and at most 10 s where a JobTracker hears of each of 1,000 nodes every 10 s.
	turnoverCost = cost{"attempt's end to next start in its place", []string{"nodes", "hosts", "durations", "schedule"}, 15_000}
	// A node changes its label and is offered: 20 to 400 ms.
	labelCost = cost{"decision to container, under labels", []string{"schedule"}, 15_000}
	// A JVM starts: 1 to 2 s. No more is looked for.
	taskStartCost = cost{"start of an attempt, before it takes input", []string{"tasks", "durations", "schedule"}, longestStartMs}

	sharingCost  = cost{name: "sharing of cores", restsOn: []string{"nodes", "hosts", "durations", "schedule"}}
	rateCost     = cost{name: "rates of disks and links", restsOn: []string{"nodes", "tasks", "hosts", "replicas", "durations"}}
	workloadCost = cost{name: "what tasks of a workload take", restsOn: []string{"tasks", "durations"}}

	costs = []*cost{&amStartCost, &finishCost, &turnoverCost, &labelCost, &taskStartCost, &sharingCost, &rateCost, &workloadCost}
)

// told says whether the trace can tell the cost.
func (c *cost) told(t *Trace) bool {
	return !slices.ContainsFunc(c.restsOn, func(mark string) bool { return slices.Contains(t.Header.Synthetic, mark) })
}

// tellers are the traces that can tell the cost.
func (c *cost) tellers(list []*Trace) []*Trace {
	return slices.DeleteFunc(slices.Clone(list), func(t *Trace) bool { return !c.told(t) })
}

// fit is the mean of samples, or no figure at all, with a reason, if that mean
// cannot be the cost.
func (c *cost) fit(samples []float64) (Figure, string) {
	f := figure(samples)
	why := ""
	switch {
	case f.Value > c.mostMs:
		why = fmt.Sprintf("there is waiting in what is longer than %.0f s", c.mostMs/1000)
	case f.Error > max(f.Value, harmlessMs):
		why = "they are not of one thing"
	default:
		return f, ""
	}
	return Figure{}, fmt.Sprintf("%s: the mean of %.0f ms on %d samples, which differ from it by %.0f ms on average, is not taken, as %s; the default is used",
		c.name, f.Value, f.Samples, f.Error, why)
}

// harmlessMs is by how much samples may differ from any mean.
const harmlessMs = 1000

// madeUp says what cannot be fitted to traces since parts of them were made up.
func madeUp(list []*Trace) []string {
	var warnings []string
	for _, t := range list {
		var names []string
		for _, c := range costs {
			if !c.told(t) {
				names = append(names, c.name)
			}
		}
		if len(names) > 0 {
			warnings = append(warnings, fmt.Sprintf("%s: made up, not recorded: %s; not fitted to it: %s", t.Name, strings.Join(t.Header.Synthetic, ", "), strings.Join(names, ", ")))
		}
	}
	return warnings
}
