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
	t := &doc.Table{Name: "applications", Columns: []string{
		"name", "trace", "of", "succeeded", "completion", "waited", "tasks", "task time", "CPU", "GC", "fetch wait", "read", "shuffled", "spilt",
		"against the first",
	}}
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
			m, waits := means(jobs)
			if len(jobs) == 0 {
				continue
			}
			against := doc.Words("-")
			if i == 0 {
				first = m[0]
			} else if first > 0 && m[0] > 0 {
				against = doc.Fixed(100*(m[0]/first-1), 1, "%")
			}
			wait := doc.Words("-")
			if waits {
				wait = doc.Duration(m[1])
			}
			row := []doc.Cell{
				doc.Words(name), doc.Words(names[i]), doc.Count(len(jobs)), doc.Count(int(m[10])), doc.Duration(m[0]), wait, doc.Fixed(m[2], 1, ""),
				doc.Duration(m[3]), doc.Duration(m[4]), doc.Duration(m[5]), doc.Duration(m[6]), doc.Bytes(int64(m[7])), doc.Bytes(int64(m[8])),
				doc.Bytes(int64(m[9])), against,
			}
			if jobs[0].Spark == nil { // figures of jobs of MapReduce lack these
				for _, k := range []int{8, 9, 10, 13} {
					row[k] = doc.Words("-")
				}
			}
			t.Add(row...)
		}
	}
	return doc.Doc{t, doc.Notes{"one run of each is no proof: runs of the same differ, too"}}
}

// means returns the means of what Applications tells of the jobs that succeeded, and how many these are.
func means(jobs []*measure.Job) (sums [11]float64, waits bool) {
	for _, j := range jobs {
		if j.Outcome != traces.Succeeded {
			continue
		}
		wait, ok := j.WaitMs()
		waits = waits || ok
		s := cmp.Or(j.Spark, &measure.Spark{TaskMs: float64(j.MapTime+j.ReduceTime) / 1e6})
		if !ok {
			wait = 0
		}
		for i, x := range []float64{
			j.CompletionMs, wait, float64(j.Attempts.OK), s.TaskMs, float64(s.CPUMs), float64(s.GCMs), float64(s.FetchWaitMs),
			float64(j.Bytes.Input), float64(j.Bytes.Shuffle), float64(s.SpiltBytes), 1,
		} {
			sums[i] += x
		}
	}
	for i := range sums[:10] {
		sums[i] /= max(1, sums[10])
	}
	return sums, waits
}
