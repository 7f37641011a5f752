package paper

import (
	"sync"

	"heddle/harness/sched"
	"heddle/harness/state"
)

// lessons keeps what models have learnt, by fingerprint. So a layout that
// several parts use is trained for only once.
type lessons struct {
	mu    sync.Mutex
	saved map[string]*lesson
	bytes int // size of all lessons
}

// keptBytes limits what is kept. Training beyond it is repeated when needed.
// Most of the bytes are records of episodes.
const keptBytes = 384 << 20

// keep returns data if there is room to keep it, else nil.
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
	data []byte // nil: too large to keep
	err  error
}

// taught is a model that is trained for each job at submission, or loads what
// was learnt before for the same layout.
type taught struct {
	sched.Model
	warm    sched.Warmup
	memory  sched.Memory
	lessons *lessons
	ready   map[state.JobID]bool
	err     error // the first error of a training or of loading
}

// teach returns m with lessons, nil if m does not learn.
func (l *lessons) teach(m sched.Model) *taught {
	warm, learns := m.(sched.Warmup)
	memory, keeps := m.(sched.Memory)
	if !learns || !keeps {
		return nil
	}
	return &taught{Model: m, warm: warm, memory: memory, lessons: l, ready: map[state.JobID]bool{}}
}

// Observe trains the model before it is first asked about a job.
func (t *taught) Observe(v *state.View, e sched.Event) {
	if e.What == sched.JobSubmitted {
		t.learn(v, e.Job)
	}
}

// PlanJob returns the model's plan from what it has learnt. The model must not
// be trained again afterwards, because rewritten splits are another layout.
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
			// A job without a table of its own cannot be saved. Its training is
			// short.
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
