package report

import (
	"cmp"
	_ "embed" // for the glossary
	"fmt"
	"slices"
	"strings"

	"heddle/harness/doc"
	"heddle/harness/measure"
)

//go:embed glossary.md
var glossary string

// terms are the words of the page glossary.md: its headings, each with the paragraph below
// it. What follows that paragraph is for readers of the page alone.
func terms() (list doc.Glossary) {
	for _, part := range strings.Split(glossary, "\n## ")[1:] {
		name, text, _ := strings.Cut(part, "\n\n")
		text, _, _ = strings.Cut(text, "\n\n")
		list = append(list, doc.Term{Name: name, Text: strings.TrimSpace(text)})
	}
	return list
}

// words explains the words of a page that readers cannot know from elsewhere: those of
// heddle, of statistics, and the names of metrics.
func (p *page) words() doc.Doc {
	list := terms()
	known, _ := measure.Find([]string{"all"}) // the name is known
	for _, m := range slices.DeleteFunc(known, func(m measure.Metric) bool { return m.Part }) {
		list = append(list, doc.Term{Name: m.Name, Text: fmt.Sprintf("%s. %s is better.", capital(m.Text),
			capital(string(cmp.Or(m.Better, "neither more nor less"))))})
	}
	return doc.Doc{doc.Heading("Words"), list}
}
