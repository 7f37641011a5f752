package replay

import (
	"fmt"
	"slices"
	"strings"
)

// cost describes one cost that is fitted to traces.
type cost struct {
	name string // name in printed tables and warnings
	// restsOn are marks of Header.Synthetic. A trace with one of them says
	// nothing about this cost, because the data it would be fitted to was
	// made up.
	restsOn []string
	// mostMs is the largest mean that is credible for this cost.
	mostMs float64
}

// The costs that are fitted. The limits are far above what Hadoop takes: a mean
// beyond them contains waiting for room, for a queue's turn or for data.
var (
	// The ApplicationMaster is localized, starts a JVM and reads the splits: 3
	// to 10 s.
	amStartCost = cost{"submission to ApplicationMaster's first request", []string{"schedule"}, 60_000}
	// Output is committed and the history written, in Hadoop 1 by a task: 1 to
	// 20 s.
	finishCost = cost{"last task's end to job's end", []string{"durations", "schedule"}, 60_000}
	// The node reports, the ApplicationMaster learns of the container, a JVM
	// starts: 0.2 to 4 s. It is up to 10 s if a
	// JobTracker gets a heartbeat from each of 1,000 nodes every 10 s.
	turnoverCost = cost{"attempt's end to next start in its place", []string{"nodes", "hosts", "durations", "schedule"}, 15_000}
	// A node gets another label and is offered: 20 to 400 ms.
	labelCost = cost{"decision to container, under labels", []string{"schedule"}, 15_000}
	// A JVM takes 1 to 2 s to start.
	taskStartCost = cost{"start of an attempt, before it takes input", []string{"tasks", "durations", "schedule"}, longestStartMs}

	sharingCost  = cost{name: "sharing of cores", restsOn: []string{"nodes", "hosts", "durations", "schedule"}}
	rateCost     = cost{name: "rates of disks and links", restsOn: []string{"nodes", "tasks", "hosts", "replicas", "durations"}}
	workloadCost = cost{name: "what tasks of a workload take", restsOn: []string{"tasks", "durations"}}

	costs = []*cost{&amStartCost, &finishCost, &turnoverCost, &labelCost, &taskStartCost, &sharingCost, &rateCost, &workloadCost}
)

// measuredIn reports whether a trace can tell the cost.
func (c *cost) measuredIn(t *Trace) bool {
	return !slices.ContainsFunc(c.restsOn, func(mark string) bool { return slices.Contains(t.Header.Synthetic, mark) })
}

// measured returns the traces that can tell the cost.
func (c *cost) measured(list []*Trace) []*Trace {
	return slices.DeleteFunc(slices.Clone(list), func(t *Trace) bool { return !c.measuredIn(t) })
}

// fit returns the mean of samples. If that mean is not credible it returns no
// figure and the reason.
func (c *cost) fit(samples []float64) (Figure, string) {
	f := figure(samples)
	why := ""
	switch {
	case f.Value > c.mostMs:
		why = fmt.Sprintf("a mean above %.0f s contains waiting", c.mostMs/1000)
	case f.Error > max(f.Value, harmlessMs):
		why = "the samples differ too much to be one cost"
	default:
		return f, ""
	}
	return Figure{}, fmt.Sprintf("%s: the mean of %.0f ms on %d samples, which differ from it by %.0f ms on average, is rejected: %s; the default is used",
		c.name, f.Value, f.Samples, f.Error, why)
}

// harmlessMs is how far samples may always be from their mean, on average.
const harmlessMs = 1000

// madeUp returns warnings about what cannot be fitted because parts of the
// traces were made up.
func madeUp(list []*Trace) []string {
	var warnings []string
	for _, t := range list {
		var names []string
		for _, c := range costs {
			if !c.measuredIn(t) {
				names = append(names, c.name)
			}
		}
		if len(names) > 0 {
			warnings = append(warnings, fmt.Sprintf("%s: made up, not recorded: %s; therefore not fitted: %s", t.Name, strings.Join(t.Header.Synthetic, ", "), strings.Join(names, ", ")))
		}
	}
	return warnings
}
