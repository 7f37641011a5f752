package replay

import (
	"fmt"

	"heddle/harness/doc"
	"heddle/traces"
	"heddle/traces/printable"
)

// same are the jobs of a trace that succeeded in all rows of a table, recorded and replayed.
type same struct {
	rows, most int // outcomes, and the most jobs that succeeded in one of them
	succeeded  map[traces.JobID]int
}

// sameJobs returns these jobs by trace.
func sameJobs(list []Outcome) map[string]*same {
	by := map[string]*same{}
	for i := range list {
		s := by[list[i].Trace]
		if s == nil {
			s = &same{succeeded: map[traces.JobID]int{}}
			by[list[i].Trace] = s
		}
		s.rows++
		n := 0
		for _, j := range list[i].JobList {
			if j.Outcome == traces.Succeeded {
				n++
				s.succeeded[j.ID]++
			}
		}
		s.most = max(s.most, n)
	}
	return by
}

// meanMs returns the mean completion time of these jobs in an outcome, and how many they are.
func (s *same) meanMs(o *Outcome) (mean float64, jobs int) {
	sum := 0.0
	for _, j := range o.JobList {
		if s.succeeded[j.ID] == s.rows {
			sum, jobs = sum+j.CompletionMs, jobs+1
		}
	}
	return sum / float64(jobs), jobs
}

// differences says below a table in what its rows differ besides their models: the cluster
// that was recorded from that of the replays, and the jobs that succeeded.
func differences(list []Outcome, by map[string]*same) (d doc.Doc) {
	for i := range list {
		o := &list[i]
		if i > 0 && list[i-1].Trace == o.Trace {
			continue
		}
		name := ""
		if len(by) > 1 {
			name = o.Trace + ": "
		}
		if was, is := unlike(list, i); was > 0 {
			d = append(d, doc.Text(fmt.Sprintf("%sRecorded on %s; the replays are on %d, so their times differ for that too.",
				name, printable.Count(was, "node"), is)))
		}
		if s := by[o.Trace]; s.rows > 1 {
			if _, n := s.meanMs(o); n < s.most {
				d = append(d,
					doc.Text(fmt.Sprintf("%sMean completion is of the %s that succeeded in all rows; makespans and other columns are of all jobs.",
						name, printable.Count(n, "job"))))
			}
		}
	}
	return d
}

// unlike returns how many nodes the cluster of a recorded outcome has, and that of its first
// replay, if they differ.
func unlike(list []Outcome, i int) (was, is int) {
	if i+1 < len(list) && list[i].IsRecorded() {
		was, is = workers(&list[i]), workers(&list[i+1])
	}
	if was == is {
		return 0, 0
	}
	return was, is
}

// workers counts the nodes that run tasks.
func workers(o *Outcome) (n int) {
	for _, x := range o.Header.Cluster.Nodes {
		if x.Worker {
			n++
		}
	}
	return n
}
