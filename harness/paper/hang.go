package paper

import (
	"fmt"
	"slices"
	"strings"
)

// hangSentences say which verdicts hang on how the text is read, which on costs of
// our own, and that all readings share their seeds.
func (m *Matrix) hangSentences() []string {
	if len(m.Readings) < 2 {
		return nil
	}
	var text, costs, neither []string
	for i, c := range m.Claims {
		byText, byCost := m.hangsOn(i)
		if len(byText) > 0 {
			text = append(text, fmt.Sprintf("%s (%s)", c.ID, strings.Join(byText, ", ")))
		}
		if len(byCost) > 0 {
			costs = append(costs, fmt.Sprintf("%s (%s)", c.ID, strings.Join(byCost, ", ")))
		}
		if len(byText)+len(byCost) == 0 && m.Readings[0].Criteria[i].Kind != ReportOnly {
			neither = append(neither, c.ID)
		}
	}
	none := func(list []string) string {
		if len(list) == 0 {
			return "none"
		}
		return strings.Join(list, ", ")
	}
	return []string{
		"Verdicts that change if one axis of the text alone is changed: " + none(text) + ".",
		"Verdicts that change if one of our own costs alone is changed: " + none(costs) + ".",
		"Verdicts that no axis changes alone: " + none(neither) + ".",
		fmt.Sprintf(
			"All readings share the same %d seeds: they differ by what is read and not by chance, and what these seeds have by chance is in "+
				"all of them.",
			m.Seeds,
		),
	}
}

// hangsOn returns the names of the axes that change the verdict on a claim if they
// are changed alone, as printed or from the reading that is the centre: first those of
// the text, then our costs.
func (m *Matrix) hangsOn(claim int) (text, costs []string) {
	for i := range m.Readings {
		base := &m.Readings[i]
		if base.Reading != AsPrinted && base.Reading != m.centre() {
			continue
		}
		for k := range m.Readings {
			r := &m.Readings[k]
			change, ok := m.changed(base, r)
			if !ok || r.Criteria[claim].Verdict == base.Criteria[claim].Verdict {
				continue
			}
			name, _, _ := strings.Cut(change, "=")
			list := &text
			if slices.ContainsFunc(m.axes, func(a Axis) bool { return a.Name == name && a.Of == Cost }) {
				list = &costs
			}
			if !slices.Contains(*list, name) {
				*list = append(*list, name)
			}
		}
	}
	return text, costs
}
