package sim

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"heddle/harness/sim/kernel"
	"heddle/traces"
)

// TestFollowers: a job that follows another one is submitted the given time after
// that one's end, whatever runs beside, and a source that reuses its memory does
// not change jobs that wait.
func TestFollowers(t *testing.T) {
	after := func(j Job, id string, ms int64) Job {
		j.After, j.AfterMs = traces.JobID(id), ms
		return j
	}
	source := &reusing{list: []Job{
		simpleJob("short", 0, 1, 0, Work{ComputeMs: 1000}),
		simpleJob("long", 0, 1, 0, Work{ComputeMs: 9000}),
		after(simpleJob("after long", 0, 1, 0, Work{ComputeMs: 300}), "long", 50),
		after(simpleJob("after short", 0, 1, 0, Work{ComputeMs: 500}), "short", 20),
		after(simpleJob("third", 0, 1, 0, Work{ComputeMs: 400}), "after short", 30),
		simpleJob("late", 20_000, 1, 0, Work{ComputeMs: 100}),
		after(simpleJob("after an ended one", 20_000, 1, 0, Work{ComputeMs: 100}), "short", 70),
	}}
	r := must(Run(&Config{Cluster: slots(2, 4), Source: source, Costs: NoCosts()}))
	var got [][2]int64 // submission and end
	for _, j := range r.Jobs {
		got = append(got, [2]int64{j.SubmitMs, j.EndMs})
	}
	want := [][2]int64{{0, 1000}, {0, 9000}, {1020, 1520}, {1550, 1950}, {9050, 9350}, {20_000, 20_100}, {20_000, 20_100}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("times of submission and end (-want +got):\n%s", diff)
	}
	if r.MakespanMs != 20_100 {
		t.Errorf("makespan %d ms, want 20100", r.MakespanMs)
	}
}

// TestFollowersOfNobody: jobs that name each other, or a job that is not there,
// do not wait for ever.
func TestFollowersOfNobody(t *testing.T) {
	a, b := simpleJob("a", 0, 1, 0, Work{ComputeMs: 100}), simpleJob("b", 0, 1, 0, Work{ComputeMs: 100})
	a.After, b.After = "b", "a"
	r, err := Run(&Config{Cluster: slots(1, 1), Source: &Jobs{List: []Job{a, b}}, Costs: NoCosts()})
	if err != nil || len(r.Jobs) != 2 || r.MakespanMs != 200 {
		t.Errorf("%+v, %v; want two jobs, one after the other", r, err)
	}
	a.AfterMs = -1
	if _, err := Run(&Config{Cluster: slots(1, 1), Source: &Jobs{List: []Job{a}}, Costs: NoCosts()}); err == nil {
		t.Error("a job before the end of the one that it follows was accepted")
	}
}

// TestArrivals has each job come once, at its time, in the order of the source, and
// followers between them when the job that they follow has ended.
func TestArrivals(t *testing.T) {
	s := stateOf(t, 1)
	list := []Job{
		simpleJob("a", 100, 1, 0, Work{}), simpleJob("b", 100, 1, 0, Work{}),
		simpleJob("follows a", 100, 1, 0, Work{}), simpleJob("follows b", 150, 1, 0, Work{}), simpleJob("c", 200, 1, 0, Work{}),
	}
	list[2].After, list[2].AfterMs = "a", 60
	list[3].After, list[3].AfterMs = "b", 0
	var e kernel.Events
	var b jobs
	var v arrivals
	e.Reset(0, evRead)
	b.begin(s.View(), &Costs{}, 1, false)
	mustDo(t, v.begin(&Jobs{List: list}, &e, &b))
	const endsA = 140 // an event, at which job a ends
	e.Push(endsA, 0, 0, 0)
	var got []string
	for next := e.Next(); next != kernel.Never; next = e.Next() {
		if !v.left() {
			t.Fatalf("at %d, an arrival is to come, and no job is left", next)
		}
		e.Advance(next)
		for list := e.Take(); len(list) > 0; list = e.Take() {
			if list[0].Kind() != kernel.Arrival {
				v.release("a")
				continue
			}
			j := v.take()
			got = append(got, fmt.Sprint(e.Now, " ", j.Name))
			b.add(submitted(t, s, j), j, nil)
			mustDo(t, v.read())
		}
		if e.Now == 200 {
			v.release("b")
		}
	}
	want := []string{"100 a", "100 b", "200 c", "200 follows a", "200 follows b"}
	if diff := cmp.Diff(want, got); diff != "" || v.left() {
		t.Errorf("arrivals (-want +got), left %t:\n%s", v.left(), diff)
	}
}

// reusing is a source that uses the memory of a job's work again for the next one.
type reusing struct {
	list []Job
	work [1]Work
}

func (s *reusing) Next(j *Job) bool {
	if len(s.list) == 0 {
		return false
	}
	*j, s.list = s.list[0], s.list[1:]
	s.work[0] = j.MapWork[0]
	j.MapWork = s.work[:]
	return true
}
