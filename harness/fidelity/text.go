package fidelity

import (
	"fmt"
	"math"

	"heddle/harness/compare"
	"heddle/harness/doc"
)

// Forest returns the errors of predictions as a picture, with the band in which measured
// repeats differ among themselves.
func (r *Report) Forest() *doc.Forest {
	f := &doc.Forest{
		Name: "predictions", Title: "Error of predicted job completion times, in percent of the measured ones", Shared: true,
		What: "workload and model", Ours: "error of the mean, 95 %", DotText: "a trial",
	}
	if r.replays {
		f.Title, f.DotText = "Error of replayed job completion times, in percent of the recorded ones", "a job"
	}
	nan := math.NaN()
	for _, x := range r.Own {
		row := doc.ForestRow{
			Name: x.Workload + " under " + x.Model, Unit: "%", Ours: doc.Point{
				Value: float64(x.BiasPct), Lo: x.BiasCI95Pct[0],
				Hi: x.BiasCI95Pct[1],
			},
			Asked: nan, Published: nan, Room: doc.Point{Value: nan}, Band: float64(x.NoisePct),
			Text: doc.Difference(x.BiasPct, x.BiasCI95Pct[0], x.BiasCI95Pct[1], "%").InWords() + ": " +
				doc.Number(x.PredictedMs/1000, "s").String() + " for " + doc.Number(x.MeasuredMs/1000, "s").String(),
		}
		for _, t := range x.Trials {
			row.Dots = append(row.Dots, t.ErrorPct)
		}
		if r.replays {
			row.Dots, row.Band = x.jobs, 0
		}
		f.Rows = append(f.Rows, row)
	}
	return f
}

// Sentences say of each workload and model how far off the mean over all trials is
// predicted, how far single ones, and how much repeats differ anyhow.
func (r *Report) Sentences() (list []string) {
	for _, x := range r.Own {
		side := "long"
		if x.BiasPct < 0 {
			side = "short"
		}
		mean := fmt.Sprintf("%.1f %% too %s", math.Abs(float64(x.BiasPct)), side)
		what := x.Workload + " under " + x.Model
		if r.replays {
			text := fmt.Sprintf("%s: the mean completion time of jobs is replayed %s, %s for %s recorded", what, mean,
				doc.DurationText(x.PredictedMs), doc.DurationText(x.MeasuredMs))
			if n := len(x.jobs); n > 1 {
				text += fmt.Sprintf("; single jobs end from %+.1f to %+.1f %% off", x.jobs[0], x.jobs[n-1])
			}
			list = append(list, text+". There is one recording: how much repeats of it would differ is not known.")
			continue
		}
		most := 0.0
		for _, t := range x.Trials {
			most = max(most, math.Abs(t.ErrorPct))
		}
		list = append(list, fmt.Sprintf("%s: the mean over all %d trials is predicted %s; single trials are off by %.1f %% in the mean and "+
			"%.1f %% at most. Measured repeats differ by %.1f %% among themselves: an error below that cannot be told from chance.",
			what, x.Runs, mean, x.MeanAbsErrorPct, most, x.NoisePct))
	}
	return list
}

// Doc returns the errors of the simulated replays for people to read.
func (r *Report) Doc() doc.Doc {
	was, heading := "measured", "replayed under the model it ran under, calibrated on the other repeats; job completion time"
	switch {
	case r.replays:
		was, heading = "recorded", "replays beside the recording; job completion time"
	case r.Simulated:
		was = "simulated"
	}
	own := doc.NewTable("own", "workload", "model", "runs", was, "predicted", "error", "of means", "noise floor", "makespan", "maps' times",
		"reduces' times", "locality")
	for _, x := range r.Own {
		percent := func(v compare.Number) doc.Cell { return doc.Fixed(v, 1, "%") }
		own.Add(x.Workload, x.Model, x.Runs, doc.Number(x.MeasuredMs/1000, "s"),
			doc.Number(x.PredictedMs/1000, "s"),
			doc.Estimate(x.MeanAbsErrorPct, x.CI95Pct[0], x.CI95Pct[1], "%").Rounded(1), doc.Signed(x.BiasPct, 1, "%"),
			percent(x.NoisePct),
			percent(x.MakespanErrorPct), percent(x.MapDistancePct), percent(x.ReduceDistancePct),
			doc.Fixed(x.LocalityPoints, 1, "points"))
	}
	others := doc.NewTable("counterfactual", "workload", "from", "to", "error", "predicted difference", was+
		" difference", "p", "winner")
	for _, x := range r.Counterfactual {
		winner := doc.Words("wrong").In(doc.Bad)
		if x.WinnerRight {
			winner = doc.Words("right").In(doc.Good)
		}
		if x.Undecided {
			winner = doc.Words(winner.String() + ", but " + was + " runs do not tell").In(doc.Faint)
		}
		others.Add(x.Workload, x.From, x.To, doc.Fixed(x.ErrorPct, 1, "%"),
			doc.Signed(x.PredictedDiffPct, 1, "%"), doc.Signed(x.MeasuredDiffPct, 1, "%"),
			doc.Fixed(x.MeasuredP, 3, ""), winner)
	}
	d := doc.Doc{doc.Heading(heading), own}
	if metrics := r.metricsTable(was); len(metrics.Rows) > 0 {
		d = append(d, doc.Heading("other metrics of the same replays"), metrics)
	}
	if len(others.Rows) > 0 {
		d = append(d, doc.Heading("one model's runs predict another's"), others)
	}
	if r.replays {
		return append(d, doc.Text("Errors are of each replay's mean job completion time, without their sign; \"of means\" is that of the mean "+
			"over all seeds. Distances of times are Wasserstein's, in percent of the mean."))
	}
	return append(d, doc.Text("Errors are of each trial's mean job completion time, without their sign; \"of means\" is that of the mean "+
		"over all trials. "+
		"The noise floor is the standard deviation of "+was+" repeats. Distances of times are Wasserstein's, in percent of the mean."),
		doc.Notes(r.Warnings))
}
