package config

import (
	"testing"

	"heddle/harness/sched"
	"heddle/harness/workload/generate"
)

// register makes a workload known for the time of a test.
func register(t *testing.T, w generate.Workload) {
	t.Helper()
	mustDo(t, RegisterWorkloads(w))
	t.Cleanup(func() {
		delete(generated, w.Name)
		delete(workloadKinds, w.Name)
	})
}

func oneJob(name string) generate.Workload {
	return generate.Workload{
		Name: name, Summary: "one job",
		Params: []sched.Param{{Name: "n", Type: sched.Int, Default: "1", Min: 1, Doc: "maps"}},
		Jobs: func(a sched.Args) ([]generate.Job, error) {
			return []generate.Job{{Maps: make([]generate.Map, a.Int("n"))}}, nil
		},
	}
}

// A workload of another module has its parameters, the keys that choose and change given
// jobs, and no others. Its lists of parameters are grids.
func TestGenerated(t *testing.T) {
	register(t, oneJob("my-jobs"))
	e := must(ParseExperiment("e.yaml", []byte("workloads: [{name: my-jobs, params: {n: [1, 2]}, scale: 2, queues: {'*': q}}]\n")))
	if len(e.Workloads) != 2 || e.Workloads[1].Label != "my-jobs-n=2" || e.Workloads[1].Params["n"] != "2" ||
		!e.Workloads[1].CountsFailures() {
		t.Errorf("workloads %+v", e.Workloads)
	}
	for text, says := range map[string]string{
		"{name: my-jobs, params: {n: 0}}":          `e.yaml:1:37: workloads[0].params: workload my-jobs: n: 0 is below 1`,
		"{name: my-jobs, params: {m: 1}}":          `no parameter "m"; known here: n`,
		"{name: my-jobs, trace: a.jhist}":          "my-jobs has no such key; it has params, first,",
		"{name: my-jobs, jobs: 3}":                 "3: a my-jobs has its own jobs",
		"{name: my-job}":                           `unknown workload "my-job"`,
		"{name: my-jobs, deadline: 1.5x recorded}": "my-jobs has no trace",
		"{name: sort, size: 1MiB, params: {n: 1}}": "sort has no such key",
	} {
		wantError(t, errOf(ParseExperiment("e.yaml", []byte("workloads: ["+text+"]\n"))), says)
	}
}

// Names that are taken are refused, and then no workload is added.
func TestRegisterWorkloads(t *testing.T) {
	register(t, oneJob("my-jobs"))
	for _, taken := range []string{"my-jobs", "sort", "trace", "other"} {
		err := RegisterWorkloads(oneJob("other"), oneJob(taken))
		wantError(t, err, "register workload "+taken+": there is a workload of this name already")
		if _, added := Generated("other"); added {
			t.Errorf("%s: other was added", taken)
		}
	}
	wantError(t, RegisterWorkloads(generate.Workload{Name: "bad-one"}), "register workload bad-one: no Summary")
}
