package report

import (
	"fmt"

	"heddle/harness/doc"
	"heddle/harness/explain"
	"heddle/traces"
)

// In how many trials the page says what was slow, of how many at first sight, and of how many
// of their jobs.
const mostSlow, slowShown, slowestJobs = 12, 4, 3

// slowReader reads a trace to say what was slow in it; nil: the page does not say so.
func (p *page) slowReader(x *trial, h traces.Header) *explain.Reader {
	if a := x.figures.Attempts; !x.explained || a.OK+a.Failed+a.Killed > mostBars || p.slowTrials >= mostSlow {
		return nil
	}
	return explain.New(&h)
}

// addSlow adds what was slow in a trial to the page.
func (p *page) addSlow(x *trial, r *explain.Reader) {
	if r == nil {
		return
	}
	found, ok := r.Explain()
	if !ok {
		return
	}
	title := x.name
	if p.compared != nil {
		title = fmt.Sprintf("%s under %s, trial %s", x.workload, x.model, x.name)
	}
	d, more := found.Doc(title, slowestJobs, explain.Table)
	d = append(d, &doc.Fold{Title: "Its slowest jobs, and what its trace does not tell", Parts: more})
	title = fmt.Sprintf("%s: %v", title, found.Makespan)
	if p.slowTrials++; p.slowTrials <= slowShown {
		p.slow = append(append(p.slow, doc.Subheading(title)), d...)
	} else {
		p.slow = append(p.slow, &doc.Fold{Title: title, Parts: d})
	}
}
