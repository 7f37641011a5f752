package paper

import (
	"sync"

	"heddle/harness/sched"
	"heddle/harness/state"
)

// lessons keeps what models have learnt, by fingerprint: a layout that several
// parts use is trained for once.
type lessons struct {
	mu    sync.Mutex
	saved map[string]*lesson
	bytes int // of all
}

// keptBytes is how much is kept; what is learnt beyond is learnt again when it is
// wanted again. Most of it is the record of episodes.
const keptBytes = 384 << 20

// keep is data, nil if there is no room for it.
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
	data []byte // nil: it cannot be kept
	err  error
}

// taught is a model that is trained for each job when it is submitted, or takes
// what was learnt for the same before.
type taught struct {
	sched.Model
	warm    sched.Warmup
	memory  sched.Memory
	lessons *lessons
	ready   map[state.JobID]bool
	err     error // the first
}

// teach is m with lessons, nil if it does not learn.
func (l *lessons) teach(m sched.Model) *taught {
	warm, learns := m.(sched.Warmup)
	memory, keeps := m.(sched.Memory)
	if !learns || !keeps {
		return nil
	}
	return &taught{Model: m, warm: warm, memory: memory, lessons: l, ready: map[state.JobID]bool{}}
}

// Observe has the model ready before it is first asked.
func (t *taught) Observe(v *state.View, e sched.Event) {
	if e.What == sched.JobSubmitted {
		t.learn(v, e.Job)
	}
}

// PlanJob plans with what was learnt. The model must not be trained again after:
// splits that were rewritten are another layout.
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
			// A job that goes by class has no table of its own; training for it is short.
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
