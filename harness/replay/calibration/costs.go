package calibration

import (
	"fmt"
	"slices"
	"strings"

	"heddle/harness/replay/recorded"
)

// cost describes one cost that is fitted to traces, such as the start of an
// ApplicationMaster.
type cost struct {
	name string // name of this fitted cost in printed tables and warnings
	// restsOn lists marks of Header.Synthetic, which names the parts of a trace that
	// were made up. A trace with one of these marks is not used to fit this cost,
	// since the times for it were made up too.
	restsOn []string
	// mostMs is the largest mean, in ms, that is accepted as credible for this cost.
	mostMs float64
}

// The largest means, in ms, of costs that are accepted as credible. No replay takes
// longer for them.
const (
	LongestAMStartMs  = 60_000
	LongestFinishMs   = 60_000
	LongestTurnoverMs = 15_000
)

// The costs that are fitted to traces. Each has an upper limit for the fitted mean,
// far above what Hadoop takes: a larger mean contains waiting for room, for the
// queue's turn or for data.
var (
	// Time in which an ApplicationMaster is localized, starts its JVM and reads the
	// splits: 3 to 10 s.
	amStartCost = cost{"submission to ApplicationMaster's first request", []string{"schedule"}, LongestAMStartMs}
	// Time in which the job's output is committed and its history written, in Hadoop
	// 1 by a task of its own: 1 to 20 s.
	finishCost = cost{"last task's end to job's end", []string{"durations", "schedule"}, LongestFinishMs}
	// Time in which the NodeManager sends a heartbeat, the ApplicationMaster learns
	// of the container, and a JVM starts: 0.2 to 4 s. In Hadoop 1 it is up to 10 s,
	// if each of 1,000 nodes sends the JobTracker a heartbeat only every 10 s.
	turnoverCost = cost{"attempt's end to next start in its place", []string{"nodes", "hosts", "durations", "schedule"}, LongestTurnoverMs}
	// Time to change a node's label and to offer the node to the job: 20 to 400 ms.
	labelCost = cost{"decision to container, under labels", []string{"schedule"}, 15_000}
	// Time that the JVM of a task attempt takes to start: 1 to 2 s.
	taskStartCost = cost{"start of an attempt, before it takes input", []string{"tasks", "durations", "schedule"}, longestStartMs}

	sharingCost  = cost{name: "sharing of cores", restsOn: []string{"nodes", "hosts", "durations", "schedule"}}
	rateCost     = cost{name: "rates of disks and links", restsOn: []string{"nodes", "tasks", "hosts", "replicas", "durations"}}
	workloadCost = cost{name: "what tasks of a workload take", restsOn: []string{"tasks", "durations"}}

	loadCost = cost{name: "load of tasks", restsOn: []string{"nodes", "hosts", "durations", "schedule"}}

	costs = []*cost{&amStartCost, &finishCost, &turnoverCost, &labelCost, &taskStartCost, &sharingCost, &rateCost, &workloadCost}
)

// measuredIn reports whether this cost can be fitted to the trace: not if the times
// for it were made up.
func (c *cost) measuredIn(t *recorded.Trace) bool {
	return !slices.ContainsFunc(c.restsOn, func(mark string) bool { return slices.Contains(t.Header.Synthetic, mark) })
}

// The method measured returns those traces of the list that this cost can be fitted
// to, because their times were not made up.
func (c *cost) measured(list []*recorded.Trace) []*recorded.Trace {
	return slices.DeleteFunc(slices.Clone(list), func(t *recorded.Trace) bool { return !c.measuredIn(t) })
}

// The method fit returns the mean of the samples of this cost. If the mean is not
// credible, it returns an empty Figure and the reason.
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
	return Figure{}, fmt.Sprintf("%s: the mean of %.0f ms on %d samples, which differ from it by %.0f ms on average, is rejected: %s; "+
		"the default is used",
		c.name, f.Value, f.Samples, f.Error, why)
}

// harmlessMs is a mean distance of samples from their mean, in ms, that is always
// accepted, even if the mean is smaller.
const harmlessMs = 1000

// madeUp returns warnings that name the costs that cannot be fitted, because the
// times that they would be fitted to were made up in the traces.
func madeUp(list []*recorded.Trace) []string {
	var warnings []string
	for _, t := range list {
		var names []string
		for _, c := range costs {
			if !c.measuredIn(t) {
				names = append(names, c.name)
			}
		}
		if len(names) > 0 {
			warnings = append(warnings, fmt.Sprintf("%s: made up, not recorded: %s; therefore not fitted: %s",
				t.Name, strings.Join(t.Header.Synthetic, ", "), strings.Join(names, ", ")))
		}
	}
	return warnings
}
