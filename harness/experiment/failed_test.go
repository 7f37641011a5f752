package experiment

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"heddle/harness/capture"
	"heddle/harness/config"
	"heddle/harness/measure"
	"heddle/harness/results"
	"heddle/harness/runs"
	"heddle/harness/workload"
	"heddle/hibench"
	"heddle/traces"
)

// threeJobs is a trial of three jobs, submitted a second apart.
func threeJobs(w config.Workload) *trialRun {
	t := &trialRun{trial: &trial{options: &Options{Progress: func(Step) {}}, plan: config.Trial{Workload: w}}}
	for i := range 3 {
		t.submissions = append(t.submissions, workload.Submission{Name: fmt.Sprintf("day-%d", i), At: time.Duration(i) * time.Second, Jobs: 1})
		t.tags = append(t.tags, fmt.Sprintf("tag-%d", i))
	}
	t.done, t.failures = make([]workload.Done, 3), make([]error, 3)
	return t
}

// failingLive is a workload whose jobs take ten seconds each, but for those that
// end with an error after half a second.
type failingLive struct {
	workload.Live
	errs map[int]error
	mu   sync.Mutex
	done []int
}

func (l *failingLive) Run(ctx context.Context, i int, _ string, _ ...hibench.Setting) (workload.Ran, error) {
	takes := 10 * time.Second
	if l.errs[i] != nil {
		takes = time.Second / 2
	}
	select {
	case <-time.After(takes):
	case <-ctx.Done():
		return workload.Ran{}, ctx.Err()
	}
	if l.errs[i] == nil {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.done = append(l.done, i)
	}
	return workload.Ran{}, l.errs[i]
}

// TestOneJobFails has one of three jobs fail: the others go on where failed jobs
// are counted, and are stopped where they are not. What is not the job's own
// failure stops them in any case.
func TestOneJobFails(t *testing.T) {
	day, named := config.Workload{Name: config.WorkloadTrace}, config.Workload{Name: "wordcount"}
	lost := fmt.Errorf("job day-1: %w", &workload.JobError{Err: errors.New("ended as FAILED: AM timed out")})
	for _, x := range []struct {
		name string
		w    config.Workload
		err  error
		done []int
		ends bool
	}{
		{"of a trace", day, lost, []int{0, 2}, false},
		{"of a trace that ends", config.Workload{Name: config.WorkloadTrace, JobFailures: config.JobFailuresEnd}, lost, nil, true},
		{"of a named workload", named, lost, nil, true},
		{"of a named workload that counts", config.Workload{Name: "wordcount", JobFailures: config.JobFailuresCount}, lost, []int{0, 2}, false},
		{"not of the job", day, errors.New("steering has ended"), nil, true},
	} {
		t.Run(x.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				run, live := threeJobs(x.w), &failingLive{errs: map[int]error{1: x.err}}
				run.runner = live
				_, err := run.runJobs(t.Context(), nil)
				if (err != nil) != x.ends || x.ends && !errors.Is(err, x.err) {
					t.Errorf("error %v, want one: %v", err, x.ends)
				}
				if !slices.Equal(live.done, x.done) {
					t.Errorf("jobs %v ended well, want %v", live.done, x.done)
				}
				if (run.failures[1] != nil) == x.ends {
					t.Errorf("failures %v", run.failures)
				}
			})
		})
	}
}

// TestCountFailures has what YARN says of a trial's jobs become the result's
// list of failed ones, or the error that ends the trial.
func TestCountFailures(t *testing.T) {
	day := config.Workload{Name: config.WorkloadTrace}
	job := func(i int, outcome traces.Outcome, diagnostics string) capture.Job {
		return capture.Job{
			ID: traces.JobID(fmt.Sprintf("job_1_%04d", i)), Tags: []string{fmt.Sprintf("tag-%d", i)}, Outcome: outcome,
			Diagnostics: diagnostics,
		}
	}
	const amLost = "\nApplication application_1_0001 failed 2 times due to ApplicationMaster timeout\x1b[31m.\nFailing the application."
	well := []capture.Job{job(0, traces.Succeeded, ""), job(1, traces.Succeeded, ""), job(2, traces.Succeeded, "")}
	for _, x := range []struct {
		name    string
		w       config.Workload
		jobs    []capture.Job
		refused error // of the job day-1
		want    []string
		counts  [2]int
		err     string
	}{
		{"none", day, well, nil, nil, [2]int{3, 0}, ""},
		{
			"a lost master", day,
			[]capture.Job{well[0], job(1, traces.Failed, amLost), well[2]},
			nil,
			[]string{"day-1 (job_1_0001) failed: Application application_1_0001 failed 2 times due to ApplicationMaster timeout [31m."},
			[2]int{3, 1},
			"",
		},
		{
			"killed without a word", day,
			[]capture.Job{job(0, traces.Killed, "\n \n"), well[1], job(2, traces.Failed, "Task failed task_1_0002_m_000000\nJob failed")},
			nil,
			[]string{"day-0 (job_1_0000) killed: java.io.IOException: disk full", "day-2 (job_1_0002) failed: Task failed task_1_0002_m_000000"},
			[2]int{3, 2},
			"",
		},
		{
			"refused", day,
			[]capture.Job{well[0], well[2]},
			&workload.JobError{Err: errors.New("YARN refused it: no such queue")},
			[]string{"day-1 refused: YARN refused it: no such queue"},
			[2]int{3, 1},
			"",
		},
		{
			"all", day,
			[]capture.Job{job(0, traces.Failed, "a"), job(1, traces.Killed, "b"), job(2, traces.Failed, "c")},
			nil,
			[]string{
				"day-0 (job_1_0000) failed: a; the first attempt that failed said: java.io.IOException: disk full",
				"day-1 (job_1_0001) killed: b", "day-2 (job_1_0002) failed: c",
			},
			[2]int{3, 3},
			"all 3 jobs failed; the first: day-0 (job_1_0000) failed: a",
		},
		{"unknown", day, []capture.Job{well[0], job(1, traces.Unfinished, "")}, nil, nil, [2]int{1, 0}, "job_1_0001 unfinished"},
		{
			"of a named workload",
			config.Workload{Name: "sort"},
			[]capture.Job{well[0], job(1, traces.Failed, amLost)},
			nil, nil,
			[2]int{2, 1},
			"job_1_0001 failed: Application application_1_0001 failed 2 times",
		},
	} {
		t.Run(x.name, func(t *testing.T) {
			run, result := threeJobs(x.w), &results.Trial{}
			run.folder = &runs.Active{Dir: "trial"}
			run.failures[1] = x.refused
			for _, j := range x.jobs {
				if j.Outcome != traces.Unfinished {
					result.Jobs = append(result.Jobs, results.Job{ID: j.ID, Outcome: j.Outcome.String()})
				}
			}
			err := run.countFailures(result, x.jobs, []*measure.Job{{ID: "job_1_0000", FirstError: "java.io.IOException: disk full\n\tat A.b"}})
			wantError(t, err, x.err)
			var got []string
			for _, f := range result.FailedJobs {
				got = append(got, f.String())
			}
			if diff := cmp.Diff(x.want, got); diff != "" {
				t.Errorf("failed jobs (-want +got):\n%s", diff)
			}
			if c := result.Completion(); [2]int{c.Jobs(), c.Others} != x.counts {
				t.Errorf("%d jobs, %d failed; want %v", c.Jobs(), c.Others, x.counts)
			}
			for i := range run.submissions {
				if failed := slices.ContainsFunc(got, func(text string) bool {
					return strings.HasPrefix(text,
						run.submissions[i].Name+" ")
				}); x.err == "" && failed != (run.failures[i] != nil) {
					t.Errorf("%s: failure %v", run.submissions[i].Name, run.failures[i])
				}
			}
		})
	}
}
