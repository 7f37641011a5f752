package compare

import (
	"cmp"

	"heddle/harness/doc"
	"heddle/harness/measure"
	"heddle/traces"
)

// Applications compares jobs of MapReduce and applications of Spark in several traces by their names: of each name and
// trace the means over those that succeeded. The last column is how much longer they took than in the first trace.
func Applications(names []string, list []*measure.Figures) doc.Doc {
	t := doc.NewTable("applications", "name", "trace", "of", "succeeded", "completion", "waited", "task time", "CPU", "GC", "fetch wait",
		"read", "shuffled", "spilt", "against the first")
	var order []string
	by := map[string][][]*measure.Job{}
	for i, f := range list {
		for _, j := range f.JobList {
			name := cmp.Or(j.Name, string(j.ID))
			if by[name] == nil {
				order, by[name] = append(order, name), make([][]*measure.Job, len(list))
			}
			by[name][i] = append(by[name][i], j)
		}
	}
	for _, name := range order {
		first := 0.0
		for i, jobs := range by[name] {
			if len(jobs) == 0 {
				continue
			}
			sums, n := means(jobs)
			row := []any{name, names[i], len(jobs), n}
			for k, x := range sums {
				cell := doc.Duration(x)
				if k >= 6 {
					cell = doc.Bytes(int64(x))
				}
				isKnown := n > 0 && (k < 3 || k == 6 || k == 7 || jobs[0].Spark != nil) // figures of jobs of MapReduce lack the others
				row = append(row, doc.Known(isKnown, cell))
			}
			if i == 0 {
				first = sums[0]
			}
			t.Add(append(row, doc.Known(i > 0 && first > 0 && n > 0, doc.Fixed(100*(sums[0]/first-1), 1, "%")))...)
		}
	}
	return doc.Doc{t, doc.Notes{"one run of each is no proof: runs of the same differ, too"}}
}

// means returns the means of what Applications tells of the jobs that succeeded, and how many these are.
func means(jobs []*measure.Job) (sums [9]float64, n int) {
	for _, j := range jobs {
		if j.Outcome != traces.Succeeded {
			continue
		}
		n++
		wait, _ := j.WaitMs()
		s := cmp.Or(j.Spark, &measure.Spark{TaskMs: float64(j.MapTime+j.ReduceTime) / 1e6})
		for i, x := range []float64{
			j.CompletionMs, max(0, wait), s.TaskMs, float64(s.CPUMs), float64(s.GCMs), float64(s.FetchWaitMs), float64(j.Bytes.Input),
			float64(j.Bytes.Shuffle), float64(s.SpiltBytes),
		} {
			sums[i] += (x - sums[i]) / float64(n)
		}
	}
	return sums, n
}
