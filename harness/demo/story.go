package demo

import (
	"fmt"
	"math"
	"slices"

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
	var measured, replayed, lo, hi float64
	for _, t := range s.Compare.Tables {
		if t.Metric != "makespan" || t.Workload == slow {
			continue
		}
		measured += float64(mean(&t, config.ModelRecorded).Mean)
		m := mean(&t, config.ModelYARN)
		replayed += float64(m.Mean)
		lo, hi = lo+float64(m.MeanCI95[0]), hi+float64(m.MeanCI95[1])
	}
	seconds := func(x float64) string { return doc.Number(x, "s").String() }
	time, memory, slower := s.table(cached, "makespan"), s.table(cached, "cacheLocal"), s.table(slow, "makespan")
	s.Story = []string{
		fmt.Sprintf("Five jobs that ran on a real Hadoop %s cluster of 4 nodes, in three runs, run again here in virtual time, "+
			"%d times each way.",
			h.Software["hadoop"], simulatedSeeds),
		fmt.Sprintf("Can you trust it? Measured %s, replayed %s [%.1f, %.1f]: off by %.1f %%.", seconds(measured), seconds(replayed), lo, hi,
			100*math.Abs(replayed/measured-1)),
		fmt.Sprintf("Does a scheduler that knows the HDFS cache help? Maps that read from memory: %s. Time: %s.", versus(memory), versus(time)),
		fmt.Sprintf("What if its disks were slow, 1 MB/s? Time: %s.", versus(slower)),
	}
	if x := far(&h, events); x != nil {
		s.Story = append(s.Story, fmt.Sprintf("Why did YARN not start map %d where its block is cached? It ran %s; %s.",
			x.Attempt.Index, x.Short(), x.Sentences()[len(x.Sentences())-1]))
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
	text := fmt.Sprintf("%s with YARN's own, %s with it", doc.Number(float64(mean(t, p.A).Mean), t.Unit).Short(),
		doc.Number(float64(mean(t, p.B).Mean), t.Unit).Short())
	if says := p.Says(); says == compare.Shown || says == compare.JustShown {
		return fmt.Sprintf("%s (%s, %s)", text, doc.Difference(float64(p.DiffPct), p.CI95Pct[0], p.CI95Pct[1], unit), says)
	}
	return fmt.Sprintf("%s; %d repeats cannot tell a difference", text, p.Runs)
}

// far returns the first map that read from elsewhere although its block was cached on a node
// with room, nil if there is none.
func far(h *traces.Header, events []traces.Event) (found *why.Explanation) {
	for x := range why.Each(h, slices.Values(events)) {
		cachedFree := slices.ContainsFunc(x.Nearer, func(n why.Nearer) bool { return n.Level == traces.LevelCache && n.Room == why.RoomFree })
		if cachedFree && (found == nil || x.Attempt.Index < found.Attempt.Index) {
			found = x
		}
	}
	return found
}
