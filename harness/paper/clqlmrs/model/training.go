package model

import (
	"errors"
	"fmt"
	"hash/fnv"
	"slices"

	"heddle/harness/paper/clqlmrs/model/qlearn"
	"heddle/harness/sched"
	"heddle/harness/state"
)

// lesson returns the Q-table learnt for a job. It trains first if the job has
// none, or if the cached blocks have changed much since the training.
func (m *cacheLearner) lesson(v *state.View, id state.JobID) *lesson {
	at := m.jobs.Of(id)
	if l := *at; l == nil || m.outdated(v, id, l) {
		m.study(v, id)(nil)()
	}
	return *at
}

// outdated reports whether a job must be trained again. This is so if too much
// of its input was cached or uncached since the training, or if a node with
// room now was down then.
func (m *cacheLearner) outdated(v *state.View, id state.JobID, l *lesson) bool {
	if l.table == nil {
		return false
	}
	for _, n := range m.nodes {
		if l.table.Layout().Slots(int(n)) == 0 {
			return true
		}
	}
	return float64(v.InputChanges(id)-l.inputChanges) > float64(m.Retrain*float64(v.Tasks(id, state.Map)))
}

// tooLarge reports whether the job has too many pairs of map and node for a
// Q-table of its own. Such a job shares the Q-table over locality classes, and
// PlanJob makes no plan for it.
func (m *cacheLearner) tooLarge(v *state.View, id state.JobID) bool {
	return int64(v.Tasks(id, state.Map))*int64(v.Nodes()) > m.Pairs
}

// byClass reports whether the Q-table over locality classes, shared by all
// jobs, decides for this job.
func (m *cacheLearner) byClass(v *state.View, id state.JobID) bool {
	return m.Rule.ByClass || m.tooLarge(v, id)
}

// Study prepares the training of a job's Q-table. The Q-table over locality classes,
// which large jobs share, is trained only once.
func (m *cacheLearner) Study(v *state.View, id state.JobID) (sched.Study, error) {
	if id < 0 || int(id) >= v.Jobs() || v.Ended(id) {
		return nil, fmt.Errorf("train clqlmrs for job %d: no such job, or it has ended", id)
	}
	return m.study(v, id), nil
}

func (m *cacheLearner) study(v *state.View, id state.JobID) sched.Study {
	l := &lesson{inputChanges: v.InputChanges(id), state: qlearn.NoLocality}
	rule, seed := m.Rule, m.Seed
	keep := func() {
		for i, old := range m.jobs {
			if old != nil && v.Ended(state.JobID(i)) {
				m.jobs[i] = nil
			}
		}
		if before := *m.jobs.Of(id); before != nil {
			l.state = before.state
		}
		*m.jobs.Of(id) = l
	}
	known := func(func() bool) func() { return keep }
	if m.byClass(v, id) {
		if l.training = m.classesTraining; m.classes != nil {
			return known
		}
		return func(goOn func() bool) func() {
			r := recorder{goOn: goOn}
			table := qlearn.TrainClasses(rule, seed, r.after)
			if r.stopped {
				return nil
			}
			return func() {
				m.classes, m.classesTraining, l.training = table, &r.Training, &r.Training
				keep()
			}
		}
	}
	layout := qlearn.NewLayout(v, id)
	before := *m.jobs.Of(id)
	if before != nil && before.table != nil && before.seed == seed && before.table.Layout().Digest() == layout.Digest() {
		// keep the old Q-table: replicas and caches are as before, or only the splits were rewritten
		return func(func() bool) func() { return func() { before.inputChanges = l.inputChanges } }
	}
	l.seed = seed
	if kept, ok := m.shelf.of(layout); ok {
		l.table, l.training = kept.table, kept.training
		return known
	}
	return func(goOn func() bool) func() {
		r := recorder{goOn: goOn}
		table := qlearn.Train(layout, rule, seed, r.after)
		if r.stopped {
			return nil
		}
		return func() {
			l.table, l.training = table, &r.Training
			m.shelf = m.shelf.add(shelved{table, l.training})
			keep()
		}
	}
}

// recorder keeps the record of a training (rewards by episode) and asks now and
// then whether to go on.
type recorder struct {
	sched.Training
	goOn    func() bool
	stopped bool
}

func (r *recorder) after(e qlearn.Episode) bool {
	r.Episodes = append(r.Episodes, sched.Episode{Return: e.Return, LocalRate: e.LocalRate, CacheRate: e.CacheRate})
	r.Epsilon = e.Epsilon
	r.Assignments += int64(e.Assignments)
	r.stopped = r.goOn != nil && e.Number%100 == 0 && !r.goOn()
	return !r.stopped
}

// Training returns the record of the job's training. If the shared Q-table
// over locality classes decides for the job, it returns that table's record.
func (m *cacheLearner) Training(job state.JobID) *sched.Training {
	if job == state.None || m.Rule.ByClass {
		return m.classesTraining
	}
	if l := *m.jobs.Of(job); l != nil {
		return l.training
	}
	return nil
}

// Follow trains a table for the job to the largest of the given numbers of
// episodes, and copies the table at the end of each of them.
func (m *cacheLearner) Follow(v *state.View, job state.JobID, episodes []int) ([]sched.Lesson, error) {
	if job < 0 || int(job) >= v.Jobs() || v.Ended(job) {
		return nil, fmt.Errorf("train clqlmrs for job %d: no such job, or it has ended", job)
	}
	if m.byClass(v, job) || len(episodes) == 0 {
		return nil, nil
	}
	layout := qlearn.NewLayout(v, job)
	counts := slices.Compact(slices.Sorted(slices.Values(episodes)))
	lessons := make([]sched.Lesson, 0, len(counts))
	longest, r := m.Rule, recorder{}
	longest.Episodes = counts[len(counts)-1]
	keep := func(t *qlearn.Table) {
		as := *m
		as.Rule.Episodes = counts[len(lessons)]
		l := sched.Lesson{Fingerprint: as.Fingerprint(v, job), Training: r.Training}
		l.Learnt = seal(m.Name(), as.params(), t.Append(appendTraining(nil, &sched.Training{Epsilon: r.Epsilon, Assignments: r.Assignments})))
		lessons = append(lessons, l)
	}
	ends := func() int {
		rule := m.Rule
		rule.Episodes = counts[len(lessons)]
		return rule.EpisodesFor(layout)
	}
	next := ends()
	table := qlearn.Train(layout, longest, m.Seed, func(e qlearn.Episode) bool {
		r.after(e)
		for len(lessons) < len(counts) && e.Number == next {
			if keep(e.Table); len(lessons) < len(counts) {
				next = ends()
			}
		}
		return true
	})
	for len(lessons) < len(counts) { // no episode was run, as there is nothing to learn
		keep(table)
	}
	return lessons, nil
}

// Fingerprint returns a hash of the learning rule, the seed and, for a job's
// own Q-table, the locality of each map on each node.
func (m *cacheLearner) Fingerprint(v *state.View, job state.JobID) string {
	h := fnv.New64a()
	fmt.Fprintf(h, "clqlmrs %s seed %d", m.params(), m.Seed)
	if !m.byClass(v, job) {
		fmt.Fprintf(h, " layout %d", qlearn.NewLayout(v, job).Digest())
	}
	return fmt.Sprintf("clqlmrs-%016x", h.Sum64())
}

// params returns, as text, all settings that a Q-table depends on, except the
// seed and the places of blocks and caches.
func (m *cacheLearner) params() string { return fmt.Sprintf("%+v", m.Rule) }

// SaveJob returns the Q-table that decides for the job, with the record of its
// training, as bytes.
func (m *cacheLearner) SaveJob(v *state.View, job state.JobID) ([]byte, error) {
	table, training := m.classes, m.classesTraining
	if !m.Rule.ByClass {
		if err := m.hasTable(v, job); err != nil {
			return nil, fmt.Errorf("save clqlmrs: %w", err)
		}
		table = nil
		if l := *m.jobs.Of(job); l != nil {
			table, training = l.table, l.training
		}
	}
	if table == nil {
		return nil, errors.New("save clqlmrs: the model has not been trained")
	}
	return seal(m.Name(), m.params(), table.Append(appendTraining(nil, training))), nil
}

// LoadJob restores a Q-table from the bytes that SaveJob returned, so that the job
// need not be trained.
func (m *cacheLearner) LoadJob(v *state.View, job state.JobID, data []byte) error {
	table, training, err := m.load(v, job, data)
	if err != nil {
		return fmt.Errorf("load clqlmrs: %w", err)
	}
	if m.Rule.ByClass {
		m.classes, m.classesTraining = table, training
		return nil
	}
	*m.jobs.Of(job) = &lesson{table: table, training: training, seed: m.Seed, inputChanges: v.InputChanges(job), state: qlearn.NoLocality}
	return nil
}

func (m *cacheLearner) load(v *state.View, job state.JobID, data []byte) (*qlearn.Table, *sched.Training, error) {
	layout := &qlearn.Layout{}
	if !m.Rule.ByClass {
		if err := m.hasTable(v, job); err != nil {
			return nil, nil, err
		}
		layout = qlearn.NewLayout(v, job)
	}
	learnt, err := unseal(m.Name(), m.params(), data)
	if err != nil {
		return nil, nil, err
	}
	training, rest, err := cutTraining(learnt)
	if err != nil {
		return nil, nil, err
	}
	table, err := qlearn.Read(layout, m.Rule, rest)
	return table, training, err
}

// hasTable returns nil if the job has a Q-table of its own or may get one.
// Otherwise it returns an error that says why not.
func (m *cacheLearner) hasTable(v *state.View, job state.JobID) error {
	switch {
	case job < 0 || int(job) >= v.Jobs() || v.Ended(job):
		return fmt.Errorf("job %d: no such job, or it has ended", job)
	case m.tooLarge(v, job):
		return fmt.Errorf("job %q has more than %d pairs of map and node, so the table of classes decides for it", v.JobName(job), m.Pairs)
	}
	return nil
}
