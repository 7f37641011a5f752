package model

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"

	"heddle/harness/paper/clqlmrs/model/qlearn"
	"heddle/harness/sched"
)

// keptBytes limits the tables that a model keeps for jobs to come. A table of its
// own for a job of 100 maps on 20 nodes has 80 KB.
const keptBytes = 4 << 20

// shelf has the tables of earlier jobs, oldest first. A job with the same blocks,
// cached copies and nodes as an earlier one uses that one's table: to train it again
// would give the same.
type shelf []shelved

type shelved struct {
	table    *qlearn.Table
	training *sched.Training
}

// of returns what was learnt for a layout.
func (s shelf) of(layout *qlearn.Layout) (shelved, bool) {
	digest := layout.Digest()
	i := slices.IndexFunc(s, func(x shelved) bool { return x.table.Layout().Digest() == digest })
	if i < 0 {
		return shelved{}, false
	}
	return s[i], true
}

// add puts a table last. The oldest tables go if all together are too large.
func (s shelf) add(x shelved) shelf {
	s = slices.DeleteFunc(s, func(old shelved) bool { return old.table.Layout().Digest() == x.table.Layout().Digest() })
	s = append(s, x)
	bytes := 0
	for i := range slices.Backward(s) {
		if bytes += s[i].table.Bytes(); bytes > keptBytes {
			return slices.Clone(s[i+1:])
		}
	}
	return s
}

// keptState is the content of a state that is kept: the table of classes, and
// tables of jobs with the layouts that they were trained for.
type keptState struct {
	Classes []byte    `json:"classes,omitempty"`
	Jobs    []keptJob `json:"jobs,omitempty"`
}

type keptJob struct {
	Layout []byte `json:"layout"`
	Table  []byte `json:"table"`
}

// LearntFor returns the learning rule, on which every table depends.
func (m *cacheLearner) LearntFor() string { return m.params() }

// Save returns the tables of all jobs so far, up to a limit, and the table of
// classes. It leaves out the record of each episode.
func (m *cacheLearner) Save() ([]byte, error) {
	var k keptState
	if m.classes != nil {
		k.Classes = m.classes.Append(summary(m.classesTraining))
	}
	for _, x := range m.shelf {
		k.Jobs = append(k.Jobs, keptJob{x.table.Layout().Append(nil), x.table.Append(summary(x.training))})
	}
	return json.Marshal(k)
}

// summary returns the record of a training without its episodes.
func summary(t *sched.Training) []byte {
	return appendTraining(nil, &sched.Training{Epsilon: t.Epsilon, Assignments: t.Assignments})
}

// Load restores the tables that Save returned.
func (m *cacheLearner) Load(data []byte) error {
	var k keptState
	if err := json.Unmarshal(data, &k); err != nil {
		return fmt.Errorf("tables: %w", err)
	}
	var classes shelved
	if len(k.Classes) > 0 {
		byClass := m.Rule
		byClass.ByClass = true
		var err error
		if classes, err = readShelved(&qlearn.Layout{}, byClass, k.Classes); err != nil {
			return fmt.Errorf("table of classes: %w", err)
		}
	}
	var jobs shelf
	for i, j := range k.Jobs {
		layout, err := qlearn.ReadLayout(j.Layout)
		var x shelved
		if err == nil {
			x, err = readShelved(layout, m.Rule, j.Table)
		}
		if err != nil {
			return fmt.Errorf("table %d: %w", i+1, err)
		}
		jobs = jobs.add(x)
	}
	m.classes, m.classesTraining, m.shelf = classes.table, classes.training, jobs
	return nil
}

func readShelved(layout *qlearn.Layout, rule qlearn.Rule, data []byte) (shelved, error) {
	training, rest, err := cutTraining(data)
	if err != nil {
		return shelved{}, err
	}
	table, err := qlearn.Read(layout, rule, rest)
	return shelved{table, training}, err
}

// Learnt shows the table of classes, and for each table of a job the mean of its
// values by class.
func (m *cacheLearner) Learnt() []sched.LearntTable {
	var list []sched.LearntTable
	if m.classes != nil {
		list = append(list, valuesByClass("values of starting a map of a class, for any job", m.classes, m.classesTraining))
	}
	for _, x := range m.shelf {
		l := x.table.Layout()
		list = append(
			list,
			valuesByClass(fmt.Sprintf("values for a job of %d maps on %d nodes, mean by class", l.Maps, l.Nodes), x.table, x.training),
		)
	}
	return list
}

// valuesByClass has a row for each class of the assignment before, and a column for
// each class of the next one.
func valuesByClass(title string, t *qlearn.Table, training *sched.Training) sched.LearntTable {
	show := sched.LearntTable{
		Title:   fmt.Sprintf("%s (%d maps placed in training, epsilon %.3g at its end)", title, training.Assignments, training.Epsilon),
		Columns: []string{"after a map that was", "next CL", "next DL", "next CRL", "next DRL", "next NO", "best"},
	}
	for s := qlearn.CacheLocal; s <= qlearn.NoLocality; s++ {
		row, best, most := []string{s.String()}, "-", 0.0
		for c := qlearn.CacheLocal; c <= qlearn.NoLocality; c++ {
			q, ok := t.MeanOf(s, c)
			if !ok {
				row = append(row, "-")
				continue
			}
			if row = append(row, strconv.FormatFloat(q, 'f', 4, 64)); best == "-" || q > most {
				best, most = c.String(), q
			}
		}
		show.Rows = append(show.Rows, append(row, best))
	}
	return show
}
