package recorded

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"heddle/traces"
)

// ChainGap is the longest time from the end of a job to the submission of another of its user
// that may be the next job of the same program.
const ChainGap = 10 * time.Second

// Chains returns the jobs that began within ChainGap after another of the same user had ended,
// each with the one that ended last before it.
func (t *Trace) Chains() map[traces.JobID]traces.JobID {
	ended := map[string][]*Job{}
	for _, j := range t.Jobs {
		if j.Finished > j.T && j.HasTasks() {
			ended[j.User] = append(ended[j.User], j)
		}
	}
	for _, list := range ended {
		slices.SortStableFunc(list, func(a, b *Job) int { return cmp.Compare(a.Finished, b.Finished) })
	}
	chains := map[traces.JobID]traces.JobID{}
	for _, j := range t.Jobs {
		list := ended[j.User]
		i, _ := slices.BinarySearchFunc(list, j.T+1, func(x *Job, at traces.Time) int { return cmp.Compare(x.Finished, at) })
		if i > 0 && j.HasTasks() && j.T-list[i-1].Finished <= traces.Time(ChainGap) && list[i-1] != j {
			chains[j.Job] = list[i-1].Job
		}
	}
	return chains
}

// SetNodes makes others the workers of the trace's cluster, as somebody else knows them.
func (t *Trace) SetNodes(list []traces.NodeFacts) {
	t.Nodes, t.former, t.most = list, t.Nodes, atOnce{}
}

// NodesUsed returns how many nodes ran a task in each of the periods from the trace's start in
// which any did.
func (t *Trace) NodesUsed(period traces.Time) (counts []int) {
	used := map[traces.Time]map[nodeIndex]bool{}
	for a := range t.attempts.all() {
		at := a.Start / period
		if used[at] == nil {
			used[at] = map[nodeIndex]bool{}
		}
		used[at][a.node] = true
	}
	for _, at := range slices.Sorted(maps.Keys(used)) {
		counts = append(counts, len(used[at]))
	}
	return counts
}
