package replay

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"

	"heddle/traces/printable"
)

// WriteText prints the fitted costs as text, each with its number of samples and its
// error.
func (c *Calibration) WriteText(out io.Writer) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	printable.Fprintf(w, "fitted to %d traces\n\n", len(c.Traces))
	fmt.Fprintln(w, "cost\tmean\tsamples\tdeviation")
	for _, f := range []struct {
		name string
		Figure
	}{
		{amStartCost.name, c.AMStart},
		{finishCost.name, c.Finish},
		{turnoverCost.name, c.Turnover},
		{labelCost.name, c.Label},
		{taskStartCost.name, c.TaskStart},
	} {
		if f.Samples == 0 {
			printable.Fprintf(w, "%s\t(default)\t0\t\n", f.name)
			continue
		}
		printable.Fprintf(w, "%s\t%.0f ms\t%d\t%.0f ms\n", f.name, f.Value, f.Samples, f.Error)
	}
	fmt.Fprintln(w, "\nworkload\tphase\ttakes alone\tattempts\tdeviation\tfor want of cores\tcorrected by\tby locality, against node")
	for _, x := range c.Workloads {
		for _, p := range []struct {
			name string
			*Phase
		}{{"map", &x.Map}, {"reduce, from the last map on", &x.Reduce}} {
			if p.Samples == 0 {
				continue
			}
			var takes []string
			if p.FixedMs > 0 {
				takes = append(takes, fmt.Sprintf("%.0f ms", p.FixedMs))
			}
			if p.MsPerMiB > 0 {
				takes = append(takes, fmt.Sprintf("%.0f ms/MiB", p.MsPerMiB))
			}
			var levels []string
			for _, l := range levelNames {
				if f, ok := p.Levels[l.String()]; ok {
					levels = append(levels, fmt.Sprintf("%s %.2f (%d)", l, f.Value, f.Samples))
				}
			}
			printable.Fprintf(w, "%s\t%s\t%s\t%d\t%.1f %%\t%+.0f %%\t%+.1f %%\t%s\n", x.Workload, p.name, strings.Join(takes, " + "), p.Samples,
				p.ErrorPct, p.SharedPct, 100*(p.Corrected-1), strings.Join(levels, ", "))
		}
	}
	if err := w.Flush(); err != nil {
		return err
	}
	if c.HostCores > 0 {
		printable.Fprintf(out, "\nAttempts on all nodes share %.3g cores.\n", c.HostCores)
	} else if c.Sharing > 0 {
		printable.Fprintf(out, "\nAttempts on a node share %.3g of its cores.\n", c.Sharing)
	} else {
		fmt.Fprintln(out, "\nAttempts on a node do not slow each other down, as far as these traces tell.")
	}
	for _, r := range []struct {
		name, what string
		rate       int64
	}{{"disk", "A node's disk", c.DiskBytesPerSec}, {"link", "A node's link", c.LinkBytesPerSec}, {"uplink", "A rack's uplink", c.UplinkBytesPerSec}} {
		switch {
		case slices.Contains(c.FittedRates, r.name):
			printable.Fprintf(out, "%s moves %.3g MB/s, fitted to what maps take by locality.\n", r.what, float64(r.rate)/1e6)
		case r.rate > 0:
			printable.Fprintf(out, "%s moves %.3g MB/s, as given.\n", r.what, float64(r.rate)/1e6)
		}
	}
	for _, warning := range c.Warnings {
		printable.Fprintln(out, "warning:", warning)
	}
	return nil
}
