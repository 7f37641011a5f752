package paper

import (
	"sync"

	"heddle/harness/sched"
	"heddle/harness/state"
)

// lessons keeps what scheduler models have learnt in training, so that a model
// is trained only once for jobs that several figures use. The key of its map is
// the model's fingerprint of the job and of where the job's blocks are.
type lessons struct {
	mu    sync.Mutex
	saved map[string]*lesson
	bytes int // size in bytes of everything that lessons keeps
}

// keptBytes limits how many bytes of learnt data are kept in memory. Data
// beyond the limit is not kept: the model is trained again when the data is
// needed. Most of the bytes are records of training episodes.
const keptBytes = 384 << 20

// keep returns the learnt data if the limit keptBytes leaves room for it, else
// nil.
func (l *lessons) keep(data []byte) []byte {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.bytes+len(data) > keptBytes {
		return nil
	}
	l.bytes += len(data)
	return data
}

type lesson struct {
	once sync.Once
	data []byte // what the scheduler model learnt; nil if there was no room to keep it
	err  error
}

// taught is a scheduler model that is trained for each job when the job is
// submitted. If a job with the same blocks was seen before, the model is not
// trained, but loads what it learnt for that job.
type taught struct {
	sched.Model
	warm    sched.Warmup
	memory  sched.Memory
	lessons *lessons
	ready   map[state.JobID]bool
	err     error // first error of training or of loading learnt data
}

// teach wraps the scheduler model m so that m is trained for each job when the
// job is submitted. It returns nil if m does not learn.
func (l *lessons) teach(m sched.Model) *taught {
	warm, learns := m.(sched.Warmup)
	memory, keeps := m.(sched.Memory)
	if !learns || !keeps {
		return nil
	}
	return &taught{Model: m, warm: warm, memory: memory, lessons: l, ready: map[state.JobID]bool{}}
}

// Observe trains the scheduler model when a job is submitted, before the model
// has to decide anything for the job.
func (t *taught) Observe(v *state.View, e sched.Event) {
	if e.What == sched.JobSubmitted {
		t.learn(v, e.Job)
	}
}

// PlanJob returns the scheduler model's plan for a job's splits, from what the
// model has learnt. The model must not be trained again afterwards: the plan
// changes the splits' hosts, and the learnt data is for the old ones.
func (t *taught) PlanJob(v *state.View, job state.JobID) (sched.SplitPlan, bool) {
	planner, ok := t.Model.(sched.JobPlanner)
	if !ok {
		return nil, false
	}
	t.learn(v, job)
	return planner.PlanJob(v, job)
}

func (t *taught) learn(v *state.View, job state.JobID) {
	if t.ready[job] || t.err != nil {
		return
	}
	t.ready[job] = true
	name := t.memory.Fingerprint(v, job)
	t.lessons.mu.Lock()
	l := t.lessons.saved[name]
	if l == nil {
		l = &lesson{}
		t.lessons.saved[name] = l
	}
	t.lessons.mu.Unlock()
	mine := false
	l.once.Do(func() {
		mine = true
		if l.err = t.warm.Warmup(v, job, nil); l.err == nil {
			// A model that has no Q-table for this job alone cannot save what
			// it learnt. It is trained again each time, which does not take
			// long.
			data, _ := t.memory.Save(v, job)
			l.data = t.lessons.keep(data)
		}
	})
	switch {
	case l.err != nil:
		t.err = l.err
	case mine:
	case l.data == nil:
		t.err = t.warm.Warmup(v, job, nil)
	default:
		t.err = t.memory.Load(v, job, l.data)
	}
}
