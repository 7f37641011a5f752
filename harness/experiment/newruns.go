package experiment

import (
	"fmt"
	"slices"

	"heddle/harness/doc"
	"heddle/harness/replay"
	"heddle/harness/replay/calibration"
	"heddle/harness/results"
)

// NewRun predicts a new run by its name. Other programs may rely on its JSON keys.
type NewRun struct {
	Name string `json:"name"`
	calibration.NewRun
}

// newRuns predicts new runs: one for each different name, in the order of the first of
// each. It is nil if the calibration does not tell how much runs differ.
func newRuns(costs *calibration.Calibration, n int, of func(i int) (name string, completionMs float64)) (list []NewRun) {
	var names []string
	times := map[string][]float64{}
	for i := range n {
		name, ms := of(i)
		if !(ms > 0) {
			continue
		}
		if times[name] == nil {
			names = append(names, name)
		}
		times[name] = append(times[name], ms)
	}
	for _, name := range names {
		if mean, lo, hi, ok := costs.Noise.Interval(times[name]); ok {
			list = append(list, NewRun{name, calibration.NewRun{MeanMs: mean, CI95Ms: [2]float64{lo, hi}}})
		}
	}
	return list
}

// NewTrials predicts new runs of the workloads and models of simulated trials; none without a
// calibration.
func NewTrials(costs *calibration.Calibration, trials []results.Trial) []NewRun {
	if costs == nil {
		return nil
	}
	return newRuns(costs, len(trials), func(i int) (string, float64) {
		r := &trials[i]
		return r.Workload + " under " + r.Model, r.Completion().MeanMs()
	})
}

// NewReplayed predicts new runs of the jobs of replays, and keeps the predictions in them.
func NewReplayed(costs *calibration.Calibration, list []replay.Outcome) []NewRun {
	name := func(o *replay.Outcome) string { return o.Trace + " under " + o.Model }
	next := newRuns(costs, len(list), func(i int) (string, float64) {
		o := &list[i]
		if o.IsRecorded() {
			return "", 0
		}
		return name(o), o.MeanCompletionMs
	})
	for i := range list {
		if k := slices.IndexFunc(next, func(x NewRun) bool { return !list[i].IsRecorded() && x.Name == name(&list[i]) }); k >= 0 {
			list[i].NewRun = &next[k].NewRun
		}
	}
	return next
}

// RestsOn says what times of simulations with the calibration rest on; "" without one.
func RestsOn(costs *calibration.Calibration) string {
	if costs == nil {
		return ""
	}
	text, _ := costs.Basis()
	return "With the calibration, " + text + "."
}

// NewRunsDoc has the predictions for people to read, and what they rest on.
func NewRunsDoc(costs *calibration.Calibration, list []NewRun) doc.Doc {
	if len(list) == 0 {
		return doc.Doc{doc.Text(RestsOn(costs))}
	}
	t := doc.NewTable("newRuns", "a new run", "mean completion", "in 95 of 100 runs")
	for _, x := range list {
		t.Add(x.Name, doc.Number(x.MeanMs/1000, "s"), doc.Span(x.CI95Ms[0]/1000, x.CI95Ms[1]/1000, "s"))
	}
	return doc.Doc{t, doc.Text(RestsOn(costs) + fmt.Sprintf(" The intervals are from %d runs that the "+
		"calibration was fitted to. They say how much runs differ, not how far off the model is where it was never measured: "+
		"heddle fidelity --across shows that.", costs.Noise.Runs))}
}
