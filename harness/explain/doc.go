package explain

import (
	"fmt"

	"heddle/harness/doc"
)

// leastShare is the share in percent below which causes are one line together.
const leastShare = 1

// rows calls each with the lines that are worth one, and with one for the others together.
func rows(list []Line, each func(l Line)) {
	rest := Line{Inherent: true}
	for _, l := range list {
		if l.Share >= leastShare {
			each(l)
			continue
		}
		rest.Seconds, rest.Share = rest.Seconds+l.Seconds, rest.Share+l.Share
	}
	if rest.Seconds > 0 {
		rest.Sentence = fmt.Sprintf("everything else, each below %d %%", leastShare)
		each(rest)
	}
}

// Doc has where the time went, as tables for a page or as lists for a terminal. Behind that, more has
// all jobs together, a number of the slowest ones, and what the trace does not tell.
func (x *Explanation) Doc(name string, slowest int, as func(string, []Line) doc.Part) (d, more doc.Doc) {
	d = doc.Doc{as(name, x.Lines)}
	if x.All != nil {
		more = doc.Doc{
			doc.Subheading(fmt.Sprintf("The times of all %d jobs, added up: %v", len(x.Jobs)+x.More, x.All.Completion)),
			as(name, x.All.Lines),
		}
		for i, j := range x.Jobs[:min(slowest, len(x.Jobs))] {
			title := fmt.Sprintf("Slow job %d, %s %s: %v", i+1, j.ID, j.Name, j.Completion)
			more = append(more, doc.Subheading(title), as(name, j.Lines))
		}
	}
	return d, append(more, doc.Notes(x.Unknown))
}

// Table has the lines for a page.
func Table(name string, list []Line) doc.Part {
	t := doc.NewTable(name, "time", "share", "where it went", "what would change it")
	rows(list, func(l Line) {
		tone := doc.Tone("")
		if !l.Inherent {
			tone = doc.Notable
		}
		t.Add(doc.Words(l.Seconds.String()).In(tone), doc.Fixed(l.Share, 0, "%"), l.Sentence, l.Change)
	})
	return t
}

// List has the lines for a terminal.
func List(_ string, list []Line) doc.Part {
	var texts doc.List
	rows(list, func(l Line) {
		text := fmt.Sprintf("%v, %.0f %%: %s", l.Seconds, l.Share, l.Sentence)
		if l.Change != "" && !l.Inherent {
			text += "; to change it: " + l.Change
		}
		texts = append(texts, text)
	})
	return texts
}
