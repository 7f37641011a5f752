package paper

import (
	"sync"

	"golang.org/x/sync/singleflight"

	"heddle/harness/sched"
	"heddle/harness/state"
)

// lessons keeps what models have learnt, so that a model is trained once for
// all simulations with the same blocks, and once for all numbers of episodes.
type lessons struct {
	flight  singleflight.Group
	mu      sync.Mutex
	saved   map[string]*lesson
	order   []string // names of the saved lessons, oldest first
	bytes   int
	trained int
}

// lesson is what a model has learnt for one job.
type lesson struct {
	learnt      []byte
	assignments int64
	curve       map[string][]Point
}

// keptBytes limits the memory for lessons. The oldest go first; what they
// taught is trained again when it is needed.
const keptBytes = 512 << 20

func (l *lessons) count() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.trained
}

func (l *lessons) find(name string) *lesson {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.saved[name]
}

// of returns what the model has learnt for a job by the end of its training. It
// is trained if nobody was before. The argument episodes has the numbers of
// episodes that are also of use to others. The result is nil if the model
// cannot save what it learns for this job.
func (l *lessons) of(v *state.View, job state.JobID, m sched.Memory, w sched.Warmup, episodes []int) (*lesson, error) {
	name := m.Fingerprint(v, job)
	if kept := l.find(name); kept != nil {
		return kept, nil
	}
	got, err, _ := l.flight.Do(name, func() (any, error) {
		if kept := l.find(name); kept != nil {
			return kept, nil
		}
		if course, ok := m.(sched.Course); ok {
			list, err := course.Follow(v, job, episodes)
			if err != nil {
				return nil, err
			}
			var mine *lesson
			for i := range list {
				if x := l.keep(&list[i]); list[i].Fingerprint == name {
					mine = x
				}
			}
			if mine != nil {
				return mine, nil
			}
		}
		if err := sched.Train(w, v, job); err != nil {
			return nil, err
		}
		data, err := m.SaveJob(v, job)
		if err != nil {
			return (*lesson)(nil), nil //nolint:nilerr // a model that has no table for this job alone cannot save it
		}
		return l.keep(&sched.Lesson{Fingerprint: name, Learnt: data, Training: *w.Training(job)}), nil
	})
	if err != nil {
		return nil, err
	}
	return got.(*lesson), nil
}

func (l *lessons) keep(x *sched.Lesson) *lesson {
	kept := &lesson{learnt: x.Learnt, assignments: x.Training.Assignments, curve: curveOf(&x.Training)}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.trained++
	if old := l.saved[x.Fingerprint]; old != nil {
		return old
	}
	l.saved[x.Fingerprint], l.order, l.bytes = kept, append(l.order, x.Fingerprint), l.bytes+len(x.Learnt)
	for l.bytes > keptBytes && len(l.order) > 1 {
		l.bytes -= len(l.saved[l.order[0]].learnt)
		delete(l.saved, l.order[0])
		l.order = l.order[1:]
	}
	return kept
}

// curveOf returns how well a model placed maps in a training, as series over the episodes: at 10, 20, 50, 100 and so
// on, and at its end, the mean over the episodes since the point before.
func curveOf(t *sched.Training) map[string][]Point {
	curve := map[string][]Point{}
	var cache, local, total float64
	from, next, step := 0, 10, 0
	for i, e := range t.Episodes {
		cache, local, total = cache+e.CacheRate, local+e.LocalRate, total+e.Return
		if n := i + 1; n == next || n == len(t.Episodes) {
			of := float64(n - from)
			for name, y := range map[string]float64{
				"trainedCache": 100 * (cache / of), "trainedLocal": 100 * (local / of), "trainedReturn": total / of,
			} {
				curve[name] = append(curve[name], Point{X: float64(n), Y: y})
			}
			from, cache, local, total = n, 0, 0, 0
			if n == next {
				next = next * []int{4, 5, 4}[step] / 2 // 10, 20, 50, 100
				step = (step + 1) % 3
			}
		}
	}
	return curve
}
