package report

import (
	"fmt"

	"heddle/harness/doc"
	"heddle/harness/explain"
	"heddle/traces"
)

// mostSlow is how many trials the page says what was slow in.
const mostSlow = 12

// slowReader reads a trace to say what was slow in it; nil: the page does not say so.
func (p *page) slowReader(x *trial, h traces.Header) *explain.Reader {
	if a := x.figures.Attempts; !x.explained || a.OK+a.Failed+a.Killed > mostBars || len(p.slow) >= 3*mostSlow {
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
	more := &doc.Fold{Title: "The slowest jobs, and what the trace does not tell"}
	for _, j := range found.Jobs[:min(3, len(found.Jobs))] {
		if len(found.Jobs) > 1 {
			more.Parts = append(more.Parts, doc.Text(fmt.Sprintf("%s %s: %v", j.ID, j.Name, j.Completion)), explain.Table(title, j.Lines))
		}
	}
	more.Parts = append(more.Parts, doc.Notes(found.Unknown))
	p.slow = append(p.slow, doc.Subheading(title), explain.Table(title, found.Lines), more)
}
