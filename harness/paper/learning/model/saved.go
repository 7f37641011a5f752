package model

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"

	"heddle/harness/sched"
)

// saved is the learned state: the classifier, the hints that jobs gave, and how many
// samples there were. Decisions that wait to be judged belong to a run, and stay there.
type saved struct {
	Samples int64        `json:"samples"`
	Given   [4][11]int64 `json:"hints"`
	Weights []float64    `json:"weights,omitempty"`
	Classes [2]int64     `json:"classes"` // samples by class: bad, good
	// Counts says in how many samples of a class a feature had a value.
	Counts [2][features]map[int32]int64 `json:"counts"`
}

// kept is a learner whose learned state may outlive a run.
type kept struct{ *learner }

func (kept) Name() string { return "learning" }

// Limits of a state: values of a feature, and samples of a class.
const mostValues, mostSamples = 100_000, 1 << 40

// LearntFor is what a judgement depends on: the target, the rule of overload and the
// features' units.
func (m kept) LearntFor() string {
	text := fmt.Sprintf("target=%g bins=%g classifier=%s overload=%s", m.Target, m.Bins, m.Classifier, m.Overload)
	if m.Overload != "load" {
		text += fmt.Sprintf(" userLimit=%g diskLimit=%g netLimit=%g", m.UserLimit, m.DiskLimit, m.NetLimit)
	}
	return text
}

// Save returns the learned state.
func (m kept) Save() ([]byte, error) {
	s := saved{Samples: m.samples, Given: m.given, Classes: m.bayes.n, Counts: m.bayes.count}
	if m.perceptron != nil {
		s.Weights = m.perceptron.w[:]
	}
	return json.Marshal(s)
}

// Load replaces the learned state. Each feature must have as many values as there are
// samples of its class.
func (m kept) Load(data []byte) error {
	var s saved
	if err := json.Unmarshal(data, &s); err != nil {
		return fmt.Errorf("it was saved by another version of heddle, or is damaged: begin without it: %w", err)
	}
	b := newBayes(m.bayes.rule)
	if b.n = s.Classes; b.n[bad] < 0 || b.n[good] < 0 || max(b.n[bad], b.n[good]) > mostSamples || s.Samples < 0 || s.Samples > 2*mostSamples {
		return fmt.Errorf("%d samples, %d bad and %d good: want none below 0", s.Samples, b.n[bad], b.n[good])
	}
	if err := b.load(&s); err != nil {
		return err
	}
	for i := range s.Given {
		for _, n := range s.Given[i] {
			if n < 0 || n > mostSamples {
				return errors.New("a hint was given less than no times")
			}
		}
	}
	if m.perceptron == nil && (len(s.Weights) > 0 || s.Samples != b.n[bad]+b.n[good]) {
		return errors.New("it is of another classifier")
	}
	if m.perceptron != nil {
		if len(s.Weights) != len(m.perceptron.w) || b.n[bad]+b.n[good] > 0 {
			return fmt.Errorf("%d weights: want %d, and no histograms", len(s.Weights), len(m.perceptron.w))
		}
		copy(m.perceptron.w[:], s.Weights)
	}
	m.samples, m.given, m.bayes = s.Samples, s.Given, b
	return nil
}

// load takes over the counts of a saved state, if they are as many as its samples.
func (b *bayes) load(s *saved) error {
	for c := range s.Counts {
		for f, values := range s.Counts[c] {
			sum := int64(0)
			for value, n := range values {
				if n < 1 || n > mostSamples || len(values) > mostValues {
					return fmt.Errorf("feature %s: a value with %d samples, one of %d: want 1 sample or more, and %d values at most",
						featureNames[f], n, len(values), mostValues)
				}
				sum += n
				b.add(class(c), f, value, n)
			}
			if sum != b.n[c] {
				return fmt.Errorf("feature %s has %d samples, its class %d", featureNames[f], sum, b.n[c])
			}
		}
	}
	return nil
}

// Learnt shows the weights, or for each feature the shares of good and of bad samples
// by value.
func (m kept) Learnt() []sched.LearntTable {
	if m.perceptron != nil {
		t := sched.LearntTable{
			Title: fmt.Sprintf(
				"weights of the perceptron after %d samples; good if the sum of weights times features, plus %g, is above 0",
				m.samples,
				m.perceptron.bias,
			),
			Columns: []string{"feature", "weight"},
		}
		for f, w := range m.perceptron.w {
			t.Rows = append(t.Rows, []string{featureNames[f], strconv.FormatFloat(w, 'g', 6, 64)})
		}
		return []sched.LearntTable{t}
	}
	t := sched.LearntTable{
		Title: fmt.Sprintf(
			"samples: %d good, %d bad; a decision is good if their part, times its features' shares, is larger for good",
			m.bayes.n[good],
			m.bayes.n[bad],
		),
		Columns: []string{"feature", "value", "good", "bad", "share of the good %", "share of the bad %", "good : bad"},
	}
	for f := range features {
		seen := maps.Clone(m.bayes.count[good][f])
		maps.Copy(seen, m.bayes.count[bad][f])
		if len(seen) == 1 {
			t.Rows = append(
				t.Rows,
				[]string{featureNames[f], fmt.Sprint(slices.Collect(maps.Keys(seen))[0]), "all", "all", "100", "100", "never varies"},
			)
			continue
		}
		for _, value := range slices.Sorted(maps.Keys(seen)) {
			t.Rows = append(t.Rows, m.row(f, value))
		}
	}
	return []sched.LearntTable{t}
}

func (m *learner) row(f int, value int32) []string {
	g, b := m.bayes.count[good][f][value], m.bayes.count[bad][f][value]
	share := func(n int64, c class) float64 { return 100 * float64(n) / float64(max(m.bayes.n[c], 1)) }
	ratio := "only bad"
	switch {
	case b == 0:
		ratio = "only good"
	case g > 0:
		ratio = strconv.FormatFloat(share(g, good)/share(b, bad), 'g', 3, 64)
	}
	name := featureNames[f]
	if f == load {
		name += fmt.Sprintf(" (up to %g)", float64(value)/m.Bins)
	}
	return []string{
		name,
		fmt.Sprint(value),
		fmt.Sprint(g),
		fmt.Sprint(b),
		fmt.Sprintf("%.1f", share(g, good)),
		fmt.Sprintf("%.1f", share(b, bad)),
		ratio,
	}
}
