package fidelity

import (
	"fmt"
	"io"
	"text/tabwriter"
)

// WriteText prints the errors of the simulated replays as text for people.
func (r *Report) WriteText(out io.Writer) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	was := "measured"
	if r.Simulated {
		was = "simulated"
	}
	fmt.Fprintln(w, "replayed under the model it ran under, calibrated on the other repeats; job completion time")
	fmt.Fprintln(w, "workload\tmodel\truns\t"+was+"\tpredicted\terror\t95 %\tof means\tnoise floor\tmakespan\tmaps' times\treduces' times\tlocality")
	for _, x := range r.Own {
		fmt.Fprintf(w, "%s\t%s\t%d\t%.1f s\t%.1f s\t%.1f %%\t%v\t%+.1f %%\t%.1f %%\t%.1f %%\t%.1f %%\t%.1f %%\t%.1f points\n", x.Workload, x.Model, x.Runs,
			x.MeasuredMs/1000, x.PredictedMs/1000, x.MeanAbsErrorPct, x.CI95Pct, x.BiasPct, x.NoisePct, x.MakespanErrorPct, x.MapDistancePct, x.ReduceDistancePct, x.LocalityPoints)
	}
	if len(r.Counterfactual) > 0 {
		fmt.Fprintln(w, "\none model's runs predict another's")
		fmt.Fprintln(w, "workload\tfrom\tto\terror\tpredicted difference\t"+was+" difference\tp\twinner")
		for _, x := range r.Counterfactual {
			winner := "wrong"
			if x.WinnerRight {
				winner = "right"
			}
			if x.Undecided {
				winner += ", but " + was + " runs do not tell"
			}
			fmt.Fprintf(w, "%s\t%s\t%s\t%.1f %%\t%+.1f %%\t%+.1f %%\t%.3f\t%s\n", x.Workload, x.From, x.To, x.ErrorPct, x.PredictedDiffPct, x.MeasuredDiffPct, x.MeasuredP, winner)
		}
	}
	if err := w.Flush(); err != nil {
		return err
	}
	fmt.Fprintf(out, `
Errors are of each trial's mean job completion time, without their sign; "of
means" is that of the mean over all trials. The noise floor is the standard
deviation of %s repeats. Distances of times are Wasserstein's, in percent
of the mean.
`, was)
	for _, warning := range r.Warnings {
		fmt.Fprintln(out, "warning:", warning)
	}
	return nil
}
