package compare

import (
	"cmp"
	"slices"
	"strings"

	"heddle/harness/config"
)

// modelsOf returns the scheduler models of the trials: first a trace that stands beside its
// replays, then the cluster's own scheduler, then the others by name. Numbers in names count
// as numbers, so that delay-nodeSkips=9 comes before delay-nodeSkips=10.
func modelsOf(trials []trial) []string {
	models := mapped(trials, func(t trial) string { return t.model })
	slices.Sort(models)
	models = slices.Compact(models)
	place := func(model string) int {
		switch {
		case isRecording(model):
			return 0
		case labelled(model, config.ModelYARN):
			return 1
		}
		return 2
	}
	slices.SortFunc(models, func(a, b string) int { return cmp.Or(cmp.Compare(place(a), place(b)), byNumbers(a, b)) })
	return models
}

// labelled reports whether a model has the label, perhaps as that of a run: RUN/LABEL.
func labelled(model, label string) bool { return model[strings.LastIndex(model, "/")+1:] == label }

// isRecording reports whether a model is a trace that stands beside its replays.
func isRecording(model string) bool { return labelled(model, config.ModelRecorded) }

// byNumbers compares two names like cmp.Compare, but where both have digits at
// the first difference, it compares the numbers that these digits form.
func byNumbers(a, b string) int {
	digits := func(text string) string { return text[:len(text)-len(strings.TrimLeft(text, "0123456789"))] }
	for a != "" && b != "" {
		x, y := digits(a), digits(b)
		if x == "" || y == "" {
			if a[0] != b[0] {
				return cmp.Compare(a[0], b[0])
			}
			a, b = a[1:], b[1:]
			continue
		}
		if x != y {
			m, n := strings.TrimLeft(x, "0"), strings.TrimLeft(y, "0")
			return cmp.Or(cmp.Compare(len(m), len(n)), cmp.Compare(m, n), cmp.Compare(x, y))
		}
		a, b = a[len(x):], b[len(y):]
	}
	return cmp.Compare(a, b)
}
