package doctor

import (
	"fmt"

	"heddle/harness/doc"
)

// tones are the colours of verdicts and of what checks found.
var tones = map[string]doc.Tone{
	string(Yes): doc.Good, string(No): doc.Bad,
	string(OK): doc.Good, string(Warn): doc.Notable, string(Unknown): doc.Notable, string(Missing): doc.Bad,
}

func toned(word string) doc.Cell { return doc.Words(word).In(tones[word]) }

// Doc returns the report for people to read: each feature of heddle with its
// checks, then the verdicts on all features, each with the first reason for it. A
// check that is OK has one row. Below other checks stands what they are needed for
// and what to set.
func (r *Report) Doc() doc.Doc {
	d := doc.Doc{doc.Text("cluster " + r.Cluster)}
	verdicts := doc.NewTable("verdicts", "feature", "verdict", "why")
	for _, f := range r.Features {
		t := doc.NewTable(f.Name, "status", "check", "found")
		for _, c := range f.Checks {
			t.Add(toned(string(c.Status)), c.ID, c.Found)
			if c.Status == OK {
				continue
			}
			note := func(format string, args ...any) { t.Add("", "", doc.Wordsf(format, args...)) }
			if c.Status != Unknown {
				note("needed for %s", c.NeededFor)
			}
			for _, p := range c.Set {
				switch {
				case p.File == "":
					note("set with yarn schedulerconf (capacity-scheduler.xml is ignored): %s = %s", p.Name, p.Value)
				case p.Restart == "":
					note("set in %s: %s = %s", p.File, p.Name, p.Value)
				default:
					note("set in %s: %s = %s, then restart: %s", p.File, p.Name, p.Value, p.Restart)
				}
			}
			if c.Next != "" {
				note("next: %s", c.Next)
			}
		}
		d = append(d, doc.Heading(f.Name+": "+string(f.Verdict)), t)
		why := ""
		if len(f.Why) > 0 {
			why = f.Why[0]
		}
		if n := len(f.Why) - 1; n > 0 {
			why += fmt.Sprintf(" (and %d more)", n)
		}
		verdicts.Add(f.Name, toned(string(f.Verdict)), why)
	}
	return append(d, verdicts)
}
