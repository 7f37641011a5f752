package calibration

import (
	"fmt"
	"slices"
	"strings"

	"heddle/harness/doc"
)

// Doc returns the fitted costs for people to read, each with its number of samples
// and its error.
func (c *Calibration) Doc() doc.Doc {
	costs := doc.NewTable("costs", "cost", "mean", "samples", "deviation")
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
			costs.Add(f.name+" (default)", "-", 0, "-")
			continue
		}
		costs.Add(f.name, doc.Fixed(f.Value, 0, "ms"), f.Samples, doc.Fixed(f.Error, 0, "ms"))
	}
	phases := doc.NewTable("phases", "workload", "phase", "takes alone", "attempts", "deviation", "for want of cores", "corrected by",
		"by locality, against node")
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
			phases.Add(x.Workload, p.name, strings.Join(takes, " + "), p.Samples,
				doc.Fixed(p.ErrorPct, 1, "%"), doc.Signed(p.SharedPct, 0, "%"),
				doc.Signed(100*(p.Corrected-1), 1, "%"), strings.Join(levels, ", "))
		}
	}
	list := doc.Doc{doc.Text(fmt.Sprintf("fitted to %d traces", len(c.Traces))), costs, phases, c.facts()}
	if c.Load != nil {
		list = append(list, c.Load.Doc()...)
	}
	return append(list, doc.Warnings(c.Warnings))
}

// facts returns a sentence for each cost that has no samples of its own: shared cores and rates.
func (c *Calibration) facts() (facts doc.List) {
	switch {
	case c.HostCores > 0:
		text := fmt.Sprintf("Attempts on all nodes share %.3g cores of the machine", c.HostCores)
		if c.Contention > 0 {
			text += fmt.Sprintf(", and take %.3g %% longer for each further one on a core, up to four", 100*c.Contention)
		}
		if text += "."; c.MasterCores > 0 {
			text += fmt.Sprintf(" Each ApplicationMaster that is up, beyond %.3g, takes %.3g of a core.", c.MastersUp, c.MasterCores)
		}
		facts = append(facts, text)
	case c.Sharing > 0:
		facts = append(facts, fmt.Sprintf("Attempts on a node share %.3g of its cores, which are %.3g where nobody says it.", c.Sharing,
			coresOf(c.NodeCores)))
	default:
		facts = append(facts, "Attempts on a node do not slow each other down, as far as these traces tell.")
	}
	if c.SharingGuessed {
		facts = append(facts, "That is not what is known of the cluster, but the traces tell that it is likelier.")
	}
	for _, r := range []struct {
		name, what string
		rate       int64
	}{
		{"disk", "A node's disk", c.DiskBytesPerSec},
		{"link", "A node's link", c.LinkBytesPerSec},
		{"uplink", "A rack's uplink", c.UplinkBytesPerSec},
	} {
		switch {
		case slices.Contains(c.FittedRates, r.name):
			facts = append(facts, fmt.Sprintf("%s moves %.3g MB/s, fitted to what maps take by locality.", r.what, float64(r.rate)/1e6))
		case r.rate > 0:
			facts = append(facts, fmt.Sprintf("%s moves %.3g MB/s, as given.", r.what, float64(r.rate)/1e6))
		}
	}
	return facts
}
