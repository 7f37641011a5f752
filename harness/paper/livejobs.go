package paper

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"heddle/harness/measure"
	"heddle/harness/stats"
	"heddle/traces"
)

// This file has what a live table says of single jobs, and of where their reduces ran.

// modelsOf returns the models that a workload has trials under, in the order of the rows.
func (t *LiveTable) modelsOf(workload string) (list []string) {
	for i := range t.Rows {
		if t.Rows[i].Workload == workload {
			list = append(list, t.Rows[i].Model)
		}
	}
	return list
}

// Placements says by job on which nodes the reduces of a workload ran under each model, in
// the first run, and for how many jobs of all runs two models chose other nodes.
func (t *LiveTable) Placements(workload string) (notes []string) {
	models := t.modelsOf(workload)
	if len(models) == 0 {
		return nil
	}
	for k, j := range t.of(workload, models[0])[0].figures.JobList {
		var on []string
		for _, model := range models {
			if jobs := t.of(workload, model)[0].figures.JobList; k < len(jobs) {
				on = append(on, model+" "+strings.Join(reduceNodes(jobs[k]), " "))
			}
		}
		notes = append(
			notes,
			fmt.Sprintf(
				"%s, job %d, reduces that fetch %.1f MB in all, on: %s",
				workload,
				k+1,
				float64(j.Bytes.Shuffle)/1e6,
				strings.Join(on, "; "),
			),
		)
	}
	for i, a := range models {
		for _, b := range models[i+1:] {
			x, y := t.pairs(workload, a, b)
			differ, of := 0, 0
			for r := range x {
				for k := range min(len(x[r].figures.JobList), len(y[r].figures.JobList)) {
					if of++; !slices.Equal(reduceNodes(x[r].figures.JobList[k]), reduceNodes(y[r].figures.JobList[k])) {
						differ++
					}
				}
			}
			text := fmt.Sprintf(
				"%s: %s and %s have the reduces of %d of %d jobs on other nodes (%.0f %%)",
				workload,
				a,
				b,
				differ,
				of,
				100*float64(differ)/float64(max(1, of)),
			)
			if differ == 0 {
				text += ": not testable: same placements"
			}
			notes = append(notes, text)
		}
	}
	return notes
}

// reduceNodes returns the nodes of a job's reduces, sorted.
func reduceNodes(j *measure.Job) (list []string) {
	for _, n := range slices.Sorted(slices.Values(j.ReduceNodes)) {
		list = append(list, string(n))
	}
	return list
}

// Spread is the standard deviation of the times of equal jobs on a lab, as a share.
const Spread = .046

// Repeats says how many repeats tell a difference of the times of two models' jobs, if these
// vary as in the table, and no less than equal jobs do on a lab.
func (t *LiveTable) Repeats(workload, a, b string, pct float64) []string {
	x, y := t.pairs(workload, a, b)
	if len(x) < 2 {
		return nil
	}
	ratios := make([]float64, len(x))
	for i := range x {
		ratios[i] = math.Log(y[i].time() / x[i].time())
	}
	own := stats.Deviation(ratios)
	return []string{
		fmt.Sprintf(
			"%s: to tell %g %% between the job times of %s and %s takes %d repeats: ratios vary by %.1f %% here, and by %.1f %% on a lab even "+
				"if nothing differs",
			workload,
			pct,
			a,
			b,
			stats.PairsToTell(max(own, Spread*math.Sqrt2), math.Log1p(pct/100)),
			100*own,
			100*Spread*math.Sqrt2,
		),
	}
}

// Fetches says how many bytes the reduces of a trial fetch from how near, and how long they
// shuffle, under each model.
func (t *LiveTable) Fetches(workload string) (notes []string) {
	shuffling, err := measure.Find([]string{"shuffling"})
	if err != nil {
		return nil // it is there
	}
	for _, model := range t.modelsOf(workload) {
		list := t.of(workload, model)
		mean := func(of func(*measure.Figures) float64) stats.Estimate {
			return stats.Mean(slices.DeleteFunc(each(list, func(m *measured) float64 { return of(m.figures) }), math.IsNaN))
		}
		mb := func(of func(measure.ByLevel) float64) string {
			return Text(mean(func(f *measure.Figures) float64 { return of(f.Fetched) / 1e6 }), "MB")
		}
		text := fmt.Sprintf(
			"%s, %s: reduces fetch %s from their node, %s from its rack, %s from another rack; times hops that is %s",
			workload,
			model,
			mb(func(b measure.ByLevel) float64 { return float64(b.Node) }),
			mb(func(b measure.ByLevel) float64 { return float64(b.Rack) }),
			mb(func(b measure.ByLevel) float64 { return float64(b.Off) }),
			mb(hops),
		)
		if e := mean(func(f *measure.Figures) float64 { return shuffling[0].Of(f) }); e.N > 0 {
			text += "; a reduce shuffles for " + Text(e, "s")
		}
		notes = append(notes, text)
	}
	return notes
}

// hops is what fetches cost: each byte by the hops that it took, 2 in a rack and 4 between two.
func hops(b measure.ByLevel) float64 { return 2*float64(b.Rack) + 4*float64(b.Off) }

// SavedOf is as Saved, of those jobs of a workload that have so many reduces.
func (t *LiveTable) SavedOf(workload, a, b string, reduces int) stats.Estimate {
	time := func(m *measured) float64 {
		var ms []float64
		for _, j := range m.figures.JobList {
			if j.Outcome == traces.Succeeded && j.Reduces == reduces {
				ms = append(ms, j.CompletionMs)
			}
		}
		return stats.Mean(ms).Value
	}
	var x, y []float64
	as, bs := t.pairs(workload, a, b)
	for i := range as {
		if p, q := time(&as[i]), time(&bs[i]); p > 0 && q > 0 {
			x, y = append(x, p), append(y, q)
		}
	}
	return Saved(x, y)
}

// TimeOnData returns the line of a job's time in s on the MB that its reduces fetch, over
// those jobs of all trials of a workload that have so many reduces.
func (t *LiveTable) TimeOnData(workload string, reduces int) stats.Line {
	var points []stats.Point
	for i := range t.trials {
		if t.trials[i].Workload != workload {
			continue
		}
		for _, j := range t.trials[i].figures.JobList {
			if j.Outcome == traces.Succeeded && j.Reduces == reduces {
				points = append(points, stats.Point{X: float64(j.Bytes.Shuffle) / 1e6, Y: j.CompletionMs / 1000})
			}
		}
	}
	return stats.LineOf(points)
}

// Dearest returns how many times as long jobs take, in each repeat, under the model whose
// fetches cost most there by hops as under that whose fetches cost least. Repeats in which all
// cost the same are left out.
func (t *LiveTable) Dearest(workload string) stats.Estimate {
	type ends struct{ least, most *measured }
	byRepeat := map[int]ends{}
	var repeats []int
	for i := range t.trials {
		m := &t.trials[i]
		if m.Workload != workload {
			continue
		}
		e, known := byRepeat[m.Repeat]
		if !known {
			repeats, e = append(repeats, m.Repeat), ends{m, m}
		}
		if hops(m.figures.Fetched) < hops(e.least.figures.Fetched) {
			e.least = m
		}
		if hops(m.figures.Fetched) > hops(e.most.figures.Fetched) {
			e.most = m
		}
		byRepeat[m.Repeat] = e
	}
	var least, most []float64
	for _, r := range repeats {
		if e := byRepeat[r]; e.least != e.most {
			least, most = append(least, e.least.time()), append(most, e.most.time())
		}
	}
	return stats.PairedRatio(least, most).Estimate
}

// EstimateErrors returns by how many percent estimates of what reduces fetch were wrong, in
// the median of a trial's jobs, over the trials of a workload under all models.
func (t *LiveTable) EstimateErrors(workload string) stats.Estimate {
	var medians []float64
	for i := range t.trials {
		var wrong []float64
		for _, e := range t.trials[i].figures.Estimates {
			if e.ErrorPct != nil && t.trials[i].Workload == workload {
				wrong = append(wrong, math.Abs(*e.ErrorPct))
			}
		}
		if len(wrong) > 0 {
			medians = append(medians, stats.Quantile(wrong, .5))
		}
	}
	return stats.Mean(medians)
}

// Noted says figures that models note, of each row that has them all: the text's first verb is
// for the model, and the others for the means of the figures.
func (t *LiveTable) Noted(text string, names ...string) (list []string) {
	for i := range t.Rows {
		args := []any{t.Rows[i].Model}
		for _, name := range names {
			if c, ok := t.Rows[i].Notes[name]; ok {
				args = append(args, float64(c.Value))
			}
		}
		if len(args) == 1+len(names) {
			list = append(list, t.Rows[i].Workload+": "+fmt.Sprintf(text, args...))
		}
	}
	return list
}

// Said says what was found of effects. Those of which nothing is known are left out.
func Said(effects []Effect) (list []string) {
	for i := range effects {
		if effects[i].N > 0 {
			list = append(list, effects[i].Said())
		}
	}
	return list
}
