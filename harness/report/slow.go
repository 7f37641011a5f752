package report

import (
	"fmt"

	"heddle/harness/doc"
	"heddle/harness/explain"
	"heddle/traces"
)

// In how many trials the page says what was slow, and of how many at first sight.
const mostSlow, slowShown = 12, 4

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
	d := doc.Doc{explain.Table(title, found.Lines)}
	more := &doc.Fold{Title: "Its slowest jobs, and what its trace does not tell", Parts: doc.Doc{doc.Notes(found.Unknown)}}
	if found.All != nil {
		more.Parts = append(more.Parts, doc.Text(fmt.Sprintf("The times of all %d jobs, added up: %v", len(found.Jobs)+found.More,
			found.All.Completion)), explain.Table(title, found.All.Lines))
	}
	for _, j := range found.Jobs[:min(3, len(found.Jobs))] {
		if found.All != nil {
			more.Parts = append(more.Parts, doc.Text(fmt.Sprintf("%s %s: %v", j.ID, j.Name, j.Completion)), explain.Table(title, j.Lines))
		}
	}
	d = append(d, more)
	title = fmt.Sprintf("%s: %v", title, found.Makespan)
	if p.slowTrials++; p.slowTrials <= slowShown {
		p.slow = append(append(p.slow, doc.Subheading(title)), d...)
	} else {
		p.slow = append(p.slow, &doc.Fold{Title: title, Parts: d})
	}
}
