package demo

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"heddle/harness/compare"
	"heddle/harness/config"
	"heddle/harness/doc"
	"heddle/harness/why"
	"heddle/traces"
	"heddle/traces/tracefile"
)

// tell makes the story of the comparison and of the trace. Each sentence takes its figures,
// and whether they are shown, from there.
func (s *Simulated) tell() error {
	h, events, err := tracefile.ReadFile(s.Trace)
	if err != nil {
		return err
	}
	var measured, replayed []string
	worst, cacheOff := 0.0, 0.0
	for i := range s.Compare.Tables {
		t := &s.Compare.Tables[i]
		if t.Workload == slow {
			continue
		}
		was, is := float64(mean(t, config.ModelRecorded).Mean), float64(mean(t, config.ModelYARN).Mean)
		if t.Metric == "cacheLocal" {
			cacheOff = max(cacheOff, math.Abs(is-was))
		}
		if t.Metric != "makespan" {
			continue
		}
		measured, replayed = append(measured, fmt.Sprintf("%.1f", was)), append(replayed, fmt.Sprintf("%.1f", is))
		worst = max(worst, math.Abs(is/was-1))
	}
	memory := s.table(cached, "cacheLocal")
	recorded := doc.Number(mean(memory, config.ModelRecorded).Mean, memory.Unit).Short()
	s.Story = []string{
		fmt.Sprintf("Five jobs that ran on a real Hadoop %s cluster of 4 nodes, in three runs, run again here in virtual time, "+
			"%d times each way.",
			h.Software["hadoop"], simulatedSeeds),
		fmt.Sprintf("Can you trust it? The runs took %s s; replayed under YARN's own scheduler %s s: off by %.0f %% at worst. "+
			"The share of maps that read from memory is off by %.0f points at worst.",
			strings.Join(measured, ", "), strings.Join(replayed, ", "), 100*worst, cacheOff),
		fmt.Sprintf("Would a scheduler that knows the HDFS cache have helped the first one? Maps that read from memory: %s; %s when it ran. "+
			"Time: %s.", versus(memory), recorded, versus(s.table(cached, "makespan"))),
		fmt.Sprintf("And if that cluster's disks were slow, 1 MB/s? Simulated, never measured: %s.", versus(s.table(slow, "makespan"))),
	}
	if x := far(&h, events); x != nil {
		s.Story = append(s.Story, fmt.Sprintf("When it ran, why did YARN not start map %d where its block was cached? "+
			"YARN's scheduler does not know the cache: an ApplicationMaster asks for the hosts of all replicas. It ran %s.",
			x.Attempt.Index, x.Short()))
		s.why = fmt.Sprintf("heddle trace why %s m%d", s.Trace, x.Attempt.Index)
	}
	return nil
}

// story returns the sentences as parts of a document.
func (s *Simulated) story() (d doc.Doc) {
	d = doc.Doc{doc.Lead(s.Story[0])}
	for i, text := range s.Story[1:] {
		d = append(d, doc.Text(fmt.Sprintf("%d %s", i+1, text)))
	}
	return d
}

func (s *Simulated) table(workload, metric string) *compare.Table {
	i := slices.IndexFunc(s.Compare.Tables, func(t compare.Table) bool { return t.Workload == workload && t.Metric == metric })
	return &s.Compare.Tables[i]
}

func mean(t *compare.Table, model string) *compare.Model {
	return &t.Models[slices.IndexFunc(t.Models, func(m compare.Model) bool { return m.Model == model })]
}

// versus says a metric under YARN's own scheduler and under the model that knows the cache,
// and what the repeats show.
func versus(t *compare.Table) string {
	i := slices.IndexFunc(t.Pairs, func(p compare.Pair) bool { return p.A == config.ModelYARN && p.B == aware })
	p, unit := &t.Pairs[i], "%"
	if t.Unit == "%" {
		unit = "points"
	}
	text := fmt.Sprintf("%s with YARN's own, %s with it", doc.Number(mean(t, p.A).Mean, t.Unit).Short(),
		doc.Number(mean(t, p.B).Mean, t.Unit).Short())
	if says := p.Says(); says == compare.Shown || says == compare.JustShown {
		return fmt.Sprintf("%s (%s, %s)", text, doc.Difference(p.DiffPct, p.CI95Pct[0], p.CI95Pct[1], unit), says)
	}
	return fmt.Sprintf("%s; %d repeats cannot tell a difference", text, p.Runs)
}

// far returns the first map that read from elsewhere although its block was cached, nil if
// there is none.
func far(h *traces.Header, events []traces.Event) (found *why.Explanation) {
	for x := range why.Each(h, slices.Values(events)) {
		elsewhere := slices.ContainsFunc(x.Nearer, func(n why.Nearer) bool { return n.Level == traces.LevelCache })
		if elsewhere && (found == nil || x.Attempt.Index < found.Attempt.Index) {
			found = x
		}
	}
	return found
}
