package sched

import (
	"errors"
	"fmt"
	"hash/fnv"

	"heddle/harness/sched/qlearn"
	"heddle/harness/state"
)

// lesson is what decides for a job, trained now if it is not or is out of date.
func (m *cacheLearner) lesson(v *state.View, id state.JobID) *lesson {
	at := m.jobs.of(id)
	if l := *at; l == nil || m.outdated(v, id, l) {
		m.train(v, id, nil)
	}
	return *at
}

// outdated says whether a job's input has moved too much, or one of m.nodes is
// unknown to its table.
func (m *cacheLearner) outdated(v *state.View, id state.JobID, l *lesson) bool {
	if l.table == nil {
		return false
	}
	for _, n := range m.nodes {
		if l.table.Layout().Slots(int(n)) == 0 {
			return true
		}
	}
	return float64(v.InputChanges(id)-l.moves) > float64(m.retrain*float64(v.Tasks(id, state.Map)))
}

// tooLarge says that the job would have too large a table, and none with a plan.
func (m *cacheLearner) tooLarge(v *state.View, id state.JobID) bool {
	return int64(v.Tasks(id, state.Map))*int64(v.Nodes()) > int64(m.pairs)
}

// byClass says that a job needs no table of its own.
func (m *cacheLearner) byClass(v *state.View, id state.JobID) bool {
	return m.rule.ByClass || m.tooLarge(v, id)
}

// train trains for a job; false: progress has ended it, and nothing has changed.
func (m *cacheLearner) train(v *state.View, id state.JobID, progress func(Progress) bool) bool {
	l := &lesson{moves: v.InputChanges(id), state: qlearn.NoLocality}
	before := *m.jobs.of(id)
	if before != nil {
		l.state = before.state
	}
	if m.byClass(v, id) {
		if m.classes == nil && !m.trainClasses(progress) {
			return false
		}
		l.training = m.classesTraining
	} else {
		layout := qlearn.NewLayout(v, id)
		if before != nil && before.table != nil && before.seed == m.seed && before.table.Layout().Digest() == layout.Digest() {
			before.moves = l.moves // what moved has come back, or splits were rewritten
			return true
		}
		l.seed = m.seed
		r := recorder{job: id, of: m.rule.EpisodesFor(layout), progress: progress}
		l.table, l.training = qlearn.Train(layout, m.rule, m.seed, r.after), &r.Training
		if r.stopped {
			return false
		}
	}
	for i, old := range m.jobs {
		if old != nil && v.Ended(state.JobID(i)) {
			m.jobs[i] = nil
		}
	}
	*m.jobs.of(id) = l
	return true
}

func (m *cacheLearner) trainClasses(progress func(Progress) bool) bool {
	r := recorder{job: state.None, of: m.rule.Episodes, progress: progress}
	table := qlearn.TrainClasses(m.rule, m.seed, r.after)
	if r.stopped {
		return false
	}
	m.classes, m.classesTraining = table, &r.Training
	return true
}

// recorder keeps the record of a training and tells of its progress, a hundred
// times.
type recorder struct {
	Training
	job      state.JobID
	of       int
	progress func(Progress) bool
	stopped  bool
}

func (r *recorder) after(e qlearn.Episode) bool {
	r.Episodes = append(r.Episodes, Episode{Return: e.Return, LocalRate: e.LocalRate, CacheRate: e.CacheRate})
	r.Epsilon = e.Epsilon
	if r.progress != nil && e.Number%max(1, r.of/100) == 0 {
		r.stopped = !r.progress(Progress{Job: r.job, Episodes: e.Number, Of: r.of, Last: r.Episodes[e.Number-1]})
	}
	return !r.stopped
}

// Warmup trains tables of tasks for one job or all, the table of classes once
// for all of them.
func (m *cacheLearner) Warmup(v *state.View, job state.JobID, progress func(Progress) bool) error {
	jobs := []state.JobID{job}
	if job == state.None {
		jobs = v.Active()
	}
	if m.rule.ByClass && m.classes == nil && !m.trainClasses(progress) {
		return fmt.Errorf("train clqlmrs: %w", ErrWarmupStopped)
	}
	for _, id := range jobs {
		if id < 0 || int(id) >= v.Jobs() || v.Ended(id) {
			return fmt.Errorf("train clqlmrs for job %d: there is none, or it has ended", id)
		}
		if !m.train(v, id, progress) {
			return fmt.Errorf("train clqlmrs for job %q: %w", v.JobName(id), ErrWarmupStopped)
		}
	}
	return nil
}

// Training is the record for a job; of the table of classes where that decides.
func (m *cacheLearner) Training(job state.JobID) *Training {
	if job == state.None || m.rule.ByClass {
		return m.classesTraining
	}
	if l := *m.jobs.of(job); l != nil {
		return l.training
	}
	return nil
}

// Fingerprint is of the rule, the seed and, for tables of tasks, the layout.
func (m *cacheLearner) Fingerprint(v *state.View, job state.JobID) string {
	h := fnv.New64a()
	fmt.Fprintf(h, "clqlmrs %s seed %d", m.params(), m.seed)
	if !m.byClass(v, job) {
		fmt.Fprintf(h, " layout %d", qlearn.NewLayout(v, job).Digest())
	}
	return fmt.Sprintf("clqlmrs-%016x", h.Sum64())
}

// params is what a table depends on, but for seed and layout.
func (m *cacheLearner) params() string { return fmt.Sprintf("%+v", m.rule) }

// Save is a job's table, or that of classes, and the record of its training.
func (m *cacheLearner) Save(v *state.View, job state.JobID) ([]byte, error) {
	table, training := m.classes, m.classesTraining
	if !m.rule.ByClass {
		if err := m.hasTable(v, job); err != nil {
			return nil, fmt.Errorf("save clqlmrs: %w", err)
		}
		table = nil
		if l := *m.jobs.of(job); l != nil {
			table, training = l.table, l.training
		}
	}
	if table == nil {
		return nil, errors.New("save clqlmrs: it has not been trained")
	}
	return seal(m.Name(), m.params(), table.Append(appendTraining(nil, training))), nil
}

// Load takes a job's table, or that of classes.
func (m *cacheLearner) Load(v *state.View, job state.JobID, data []byte) error {
	table, training, err := m.load(v, job, data)
	if err != nil {
		return fmt.Errorf("load clqlmrs: %w", err)
	}
	if m.rule.ByClass {
		m.classes, m.classesTraining = table, training
		return nil
	}
	*m.jobs.of(job) = &lesson{table: table, training: training, seed: m.seed, moves: v.InputChanges(job), state: qlearn.NoLocality}
	return nil
}

func (m *cacheLearner) load(v *state.View, job state.JobID, data []byte) (*qlearn.Table, *Training, error) {
	layout := &qlearn.Layout{}
	if !m.rule.ByClass {
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
	table, err := qlearn.Read(layout, m.rule, rest)
	return table, training, err
}

// hasTable says why a job has no table of its own, nil if it has one or may.
func (m *cacheLearner) hasTable(v *state.View, job state.JobID) error {
	switch {
	case job < 0 || int(job) >= v.Jobs() || v.Ended(job):
		return fmt.Errorf("there is no job %d, or it has ended", job)
	case m.tooLarge(v, job):
		return fmt.Errorf("job %q goes by class: it has more than %d pairs of map and node", v.JobName(job), m.pairs)
	}
	return nil
}
