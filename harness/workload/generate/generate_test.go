package generate_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"heddle/harness/sched"
	"heddle/harness/workload/generate"
	"heddle/traces"
	"heddle/traces/errtest"
)

// good is a workload that is all right.
func good() generate.Workload {
	return generate.Workload{
		Name: "my-jobs", Summary: "n jobs of one map",
		Params: []sched.Param{{Name: "n", Type: sched.Int, Default: "2", Min: 1, Max: 9, Doc: "jobs"}},
		Jobs: func(a sched.Args) (jobs []generate.Job, err error) {
			for i := range a.Int("n") {
				jobs = append(jobs, generate.Job{At: time.Duration(9-i) * time.Second, Maps: []generate.Map{{ReadBytes: 10, EmitBytes: 3, CPUMs: 7}}})
			}
			return jobs, nil
		},
	}
}

// What is wrong with a workload or its jobs is said, with the place.
func TestCheck(t *testing.T) {
	errtest.None(t, good().Check())
	one := func(change func(j *generate.Job)) func(*generate.Workload) {
		return func(w *generate.Workload) {
			w.Jobs = func(sched.Args) ([]generate.Job, error) {
				j := generate.Job{Name: "a", Maps: []generate.Map{{ReadBytes: 1}}, Reduces: []generate.Reduce{{}}}
				change(&j)
				return []generate.Job{j}, nil
			}
		}
	}
	for says, spoil := range map[string]func(*generate.Workload){
		`workload "My": its name takes 3 to 40 characters`:  func(w *generate.Workload) { w.Name = "My" },
		`workload my-jobs: no Summary; say in one line`:     func(w *generate.Workload) { w.Summary = "" },
		`workload my-jobs: no Jobs; set it to the function`: func(w *generate.Workload) { w.Jobs = nil },
		`workload my-jobs: parameter "n": no Doc`:           func(w *generate.Workload) { w.Params[0].Doc = "" },
		`workload my-jobs: two Params with the Name "n"`:    func(w *generate.Workload) { w.Params = append(w.Params, w.Params[0]) },
		`its code asks for the parameter "n" as int64`:      func(w *generate.Workload) { w.Params = nil },
		`by the defaults of its Params: workload my-jobs: odd`: func(w *generate.Workload) {
			w.Jobs = func(sched.Args) ([]generate.Job, error) { return nil, errors.New("odd") }
		},
		`its function makes no job`: func(w *generate.Workload) {
			w.Jobs = func(sched.Args) ([]generate.Job,
				error,
			) {
				return nil, nil
			}
		},
		`job "a": it has no map; want at least one`:            one(func(j *generate.Job) { j.Maps = nil }),
		`job "a": it is submitted at -1s; want 0s or more`:     one(func(j *generate.Job) { j.At = -time.Second }),
		`job "a": map 0 has the number -1 of bytes`:            one(func(j *generate.Job) { j.Maps[0].EmitBytes = -1 }),
		`job "a": reduce 0 has the number 2251799813685248 of`: one(func(j *generate.Job) { j.Reduces[0].CPUMs = 1 << 51 }),
		`two jobs have the name "a"`: func(w *generate.Workload) {
			w.Jobs = func(sched.Args) ([]generate.Job, error) {
				j := generate.Job{Name: "a", Maps: make([]generate.Map, 1)}
				return []generate.Job{j, j}, nil
			}
		},
		`its jobs have more than 2000000 tasks`: one(func(j *generate.Job) { j.Maps = make([]generate.Map, 2_000_000) }),
	} {
		w := good()
		spoil(&w)
		errtest.Has(t, w.Check(), says)
	}
}

// Values out of range and unknown parameters are refused. Jobs come in the order of their
// times and have names by their place.
func TestMake(t *testing.T) {
	w := good()
	for says, p := range map[string]sched.Params{
		`workload my-jobs: n: 0 is outside 1 to 9`:          {"n": "0"},
		`workload my-jobs: no parameter "m"; known here: n`: {"m": "1"},
	} {
		if _, err := w.Make(p); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%v: error %v, want one that says %q", p, err, says)
		}
	}
	jobs := errtest.Must(w.Make(sched.Params{"n": "3"}))
	var names []string
	for _, j := range jobs {
		names = append(names, j.Name)
	}
	if want := []string{"my-jobs-3", "my-jobs-2", "my-jobs-1"}; !slices.Equal(names, want) {
		t.Errorf("jobs %v, want %v", names, want)
	}
}

// The events of jobs have what their tasks do in the counters that a plan reads. What a
// map of a job without reduces emits, it writes.
func TestEvents(t *testing.T) {
	jobs := []generate.Job{
		{
			Name: "a", At: time.Second, Queue: "q", Pool: "p",
			Maps:    []generate.Map{{Path: "f", OffsetBytes: 5, ReadBytes: 10, EmitBytes: 3, CPUMs: 7}},
			Reduces: []generate.Reduce{{ShuffleBytes: 3, WriteBytes: 2, CPUMs: 1}},
		},
		{Name: "b", At: 2 * time.Second, Maps: []generate.Map{{EmitBytes: 4}}},
	}
	task := func(job traces.JobID, kind traces.TaskKind) traces.Task { return traces.Task{Job: job, Kind: kind} }
	finished := func(at traces.Time, of traces.Task, c traces.Counters) traces.Event {
		return &traces.AttemptFinished{T: at, Attempt: traces.Attempt{Task: of}, Outcome: traces.Succeeded, Counters: c}
	}
	want := []traces.Event{
		&traces.JobSubmitted{T: 1e9, Job: "a", Name: "a", Queue: "q", Pool: "p"},
		&traces.TaskScheduled{T: 1e9, Task: task("a", traces.Map), Path: "f", OffsetBytes: 5, LengthBytes: 10},
		finished(1e9, task("a", traces.Map), traces.Counters{HDFSReadBytes: 10, MapOutputBytes: 3, CPUMs: 7}),
		&traces.TaskScheduled{T: 1e9, Task: task("a", traces.Reduce)},
		finished(1e9, task("a", traces.Reduce), traces.Counters{ShuffleBytes: 3, HDFSWrittenBytes: 2, CPUMs: 1}),
		&traces.JobSubmitted{T: 2e9, Job: "b", Name: "b"},
		&traces.TaskScheduled{T: 2e9, Task: task("b", traces.Map)},
		finished(2e9, task("b", traces.Map), traces.Counters{HDFSWrittenBytes: 4}),
	}
	if diff := cmp.Diff(want, slices.Collect(generate.Events(jobs))); diff != "" {
		t.Error(diff)
	}
}
