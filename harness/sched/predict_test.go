package sched_test

import (
	"fmt"
	"slices"
	"testing"

	"heddle/harness/sched"
	"heddle/harness/state"
	"heddle/traces/errtest"
)

// predicting predicts that jobs end a second later, if it can say.
type predicting struct {
	sched.Model
	says bool
}

func (m *predicting) Observe(*state.View, sched.Event) {}
func (m *predicting) PredictEnd(v *state.View, _ state.JobID) (int64, bool) {
	return v.Now() + 1e9, m.says
}

// moments are those at which a model is asked about a job of some maps and reduces, which
// succeed one after the other, a second each: "DONE:PERCENT at SECONDS".
func moments(t *testing.T, m sched.Model, maps, reduces int32) (list []string) {
	t.Helper()
	s := state.New()
	size := state.Resource{MemoryMB: 1, VCores: 1}
	errtest.Must(s.AddNode("n", "rack", size.Times(1000)))
	s.SetSmallest(size)
	id, err := s.Submit(&state.JobSpec{Name: "j", Maps: maps, Reduces: reduces, MapSize: size, ReduceSize: size})
	mustDo(t, err)
	p, v := sched.PredictionsOf(m), s.View()
	heard := func(done int32, e sched.Event) {
		e.Job = id
		if pct, end, ok := p.Heard(v, e); ok {
			list = append(list, fmt.Sprintf("%d:%d at %d", done, pct, end/1e9))
		}
	}
	heard(0, sched.Event{What: sched.JobSubmitted})
	s.Ask(id, state.Map, maps)
	s.Ask(id, state.Reduce, reduces)
	for i := range maps + reduces {
		k, n := state.Map, i
		if i >= maps {
			k, n = state.Reduce, i-maps
		}
		s.SetNow(int64(i+1) * 1e9)
		task := v.Task(id, k, n)
		mustDo(t, s.Start(id, task, 0))
		heard(i, sched.Event{What: sched.TaskStarted, Task: task})
		heard(i, sched.Event{What: sched.TaskEnded, Task: task, Failed: true})
		s.Finish(id, task)
		heard(i+1, sched.Event{What: sched.TaskEnded, Task: task})
		heard(i+1, sched.Event{What: sched.TaskEnded, Task: task})
	}
	return list
}

// TestPredictions asks a model when a job is submitted, and when half and 90 % of its
// tasks have succeeded: once each, and never when all have.
func TestPredictions(t *testing.T) {
	fifo, err := sched.New("fifo", nil)
	mustDo(t, err)
	for _, x := range []struct {
		model         sched.Model
		maps, reduces int32
		want          []string
	}{
		{&predicting{fifo, true}, 8, 2, []string{"0:0 at 1", "5:50 at 6", "9:90 at 10"}},
		{&predicting{fifo, true}, 3, 0, []string{"0:0 at 1", "2:50 at 3"}},
		{&predicting{fifo, true}, 1, 0, []string{"0:0 at 1"}},
		{&predicting{fifo, true}, 200, 0, []string{"0:0 at 1", "100:50 at 101", "180:90 at 181"}},
		{&predicting{fifo, false}, 8, 2, nil},
		{fifo, 8, 2, nil},
	} {
		if got := moments(t, x.model, x.maps, x.reduces); !slices.Equal(got, x.want) {
			t.Errorf("%d maps and %d reduces: asked %q, want %q", x.maps, x.reduces, got, x.want)
		}
	}
}
