package runs

import (
	"fmt"
	"strings"
	"unicode"

	"heddle/traces/printable"
)

const (
	namedTrials = 2 // trials that a reason of several names
	errorLines  = 3 // lines of a run's error that are shown
)

// Failures says which trials did not end well and why, in a line for each reason. Reasons
// that differ in words with digits alone are one, told as the first trial's.
func Failures(trials []TrialRecord) []string {
	type reason struct {
		state TrialState
		text  string
		names []string
		alike bool // the texts are not the same
	}
	var reasons []*reason
	byForm := map[string]*reason{}
	for _, t := range trials {
		switch t.State {
		case TrialDone, TrialTodo, TrialRunning:
			continue
		}
		text := printable.OneLine(strings.TrimPrefix(t.Error, "trial "+t.Name+": "))
		form := string(t.State) + " " + withoutNumbers(text)
		r := byForm[form]
		if r == nil {
			r = &reason{state: t.State, text: text}
			reasons, byForm[form] = append(reasons, r), r
		}
		r.names, r.alike = append(r.names, t.Name), r.alike || r.text != text
	}
	var list []string
	for _, r := range reasons {
		line := fmt.Sprintf("trial %s %s", r.names[0], r.state)
		if len(r.names) > 1 {
			line = fmt.Sprintf("%d of %d trials %s", len(r.names), len(trials), r.state)
		}
		if r.alike {
			line += " alike, the first"
		}
		if r.text != "" {
			line += ": " + r.text
		}
		if len(r.names) > 1 {
			line += fmt.Sprintf(" (%s)", printable.First(namedTrials, r.names))
		}
		list = append(list, line)
	}
	return list
}

// withoutNumbers returns a text without its words that have digits.
func withoutNumbers(text string) string {
	words := strings.Split(text, " ")
	for i, word := range words {
		if strings.ContainsFunc(word, unicode.IsDigit) {
			words[i] = "0"
		}
	}
	return strings.Join(words, " ")
}

// ErrorLine returns Error as one line. Of an error of many lines, such as one for each
// trial, it has the first.
func (m *Manifest) ErrorLine() string {
	lines := strings.Split(strings.TrimSpace(m.Error), "\n")
	if more := len(lines) - errorLines; more > 0 {
		lines = append(lines[:errorLines], fmt.Sprintf("and %d more", more))
	}
	return printable.OneLine(strings.Join(lines, "\n"))
}
