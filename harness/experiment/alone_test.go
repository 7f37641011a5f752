package experiment

import (
	"context"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"heddle/harness/config"
	"heddle/harness/replay/calibration"
	"heddle/harness/replay/recorded"
	"heddle/harness/results"
	"heddle/harness/workload"
)

// lines are jobs of a trace: two large ones and a small one come at the same time.
var lines = []string{"a\t0\t0\t2000000000\t0\t1000", "b\t1\t1\t2000000000\t0\t1000", "c\t2\t1\t200000000\t0\t1000"}

// simulatedJobs simulates an experiment about the given jobs. It returns, in order of
// submission, how long each may take by its deadline, and how long it takes, in ms.
func simulatedJobs(t *testing.T, jobs []string, jobsOf, rest string) (due, took []int64) {
	t.Helper()
	folder := t.TempDir()
	mustDo(t, os.WriteFile(filepath.Join(folder, "jobs.tsv"), []byte(strings.Join(jobs, "\n")+"\n"), 0o600))
	file := filepath.Join(folder, "e.yaml")
	mustDo(t, os.WriteFile(file, []byte("workloads: [{"+jobsOf+"}]\n"+rest+"\n"), 0o600))
	e, source := must2(config.LoadExperiment(file))
	run := must(Simulate(t.Context(), Options{Experiment: e, Source: source, Cluster: config.DefaultCluster(), Root: folder}, nil))
	list := must(results.Open(run.Dir, false))
	for i := range list.Trials {
		trace := must(recorded.Load(list.TracePath(&list.Trials[i])))
		for _, j := range trace.Jobs {
			due, took = append(due, j.Terms.DeadlineMs), append(took, (j.Finished-j.T).Milliseconds())
		}
	}
	return due, took
}

// TestAlone has deadlines that are multiples of the jobs' times alone. They depend on
// the job and the cluster, and neither on what runs beside it, nor on the repeat, the
// model, faults or other load.
func TestAlone(t *testing.T) {
	const once = "trace: jobs.tsv, deadline: 1x"
	due, took := simulatedJobs(t, lines, once, "")
	for i := range lines {
		_, alone := simulatedJobs(t, lines[i:i+1], once, "models: [fifo]")
		if r := float64(due[i]) / float64(alone[0]); math.Abs(r-1) > 0.25 { // by labels, and with times by chance
			t.Errorf("job %d has %d ms, and takes %d ms alone", i, due[i], alone[0])
		}
	}
	if due[0] < 3*due[2] || took[1] < due[1]+due[1]/2 {
		t.Errorf("deadlines %v of jobs that took %v: want more for more maps, and the second job late beside the first", due, took)
	}
	for _, x := range []struct {
		workload, rest string
		times          int64
	}{
		{"trace: jobs.tsv, deadline: 3x", "", 3},
		{once, "repeats: 2\nmodels: [yarn, fifo]", 1},
		{once, "capacity: {steps: [{left: 0.5}]}", 1},
		{once, "faults: [{at: 8s, node: r1n2, what: slow, speed: 0.5}]", 1},
	} {
		want := []int64{due[0] * x.times, due[1] * x.times, due[2] * x.times}
		got, _ := simulatedJobs(t, lines, x.workload, x.rest)
		for trial := range slices.Chunk(got, len(lines)) {
			if fmt.Sprint(trial) != fmt.Sprint(want) {
				t.Errorf("%s, %s: deadlines %v, want %v", x.workload, x.rest, trial, want)
			}
		}
	}
	// All jobs of a workload that says nothing of single tasks are alike.
	due, took = simulatedJobs(t, nil, "name: wordcount, size: 256MiB, maps: 8, reduces: 2, jobs: 3, deadline: 1.1x", "")
	if due[0] <= 0 || due[0] != due[1] || due[0] != due[2] || max(took[0], took[1], took[2]) < due[0] {
		t.Errorf("deadlines %v of three equal jobs at once that took %v", due, took)
	}
}

// TestAloneOnCluster refuses such a deadline where the time alone is not known.
func TestAloneOnCluster(t *testing.T) {
	e, err := config.ParseExperiment("e.yaml",
		[]byte("workloads:\n  - {name: sort, profile: tiny, deadline: 90s}\n  - {name: sort, label: b, profile: tiny, deadline: 1.5x}\n"))
	if err != nil {
		t.Fatal(err)
	}
	c, costs := config.DefaultCluster(), &calibration.Calibration{}
	err = (&Options{Experiment: e}).refuseKeys(c)
	if want := "workloads[1].deadline: 1.5x of the time that a job takes alone"; err == nil || !strings.Contains(err.Error(), want) ||
		strings.Contains(err.Error(), "workloads[0]") {
		t.Errorf("%v, want %s", err, want)
	}
	if err := (&Options{Experiment: e, Calibration: costs}).refuseKeys(c); err != nil {
		t.Error(err)
	}
	unknown := *c
	unknown.Machines = nil
	wantError(t, (&Options{Experiment: e, Calibration: costs}).refuseKeys(&unknown), "has no machines")
	if err := (&Options{Experiment: e, Resume: "run"}).refuseKeys(&unknown); err != nil {
		t.Errorf("a run that is resumed: %v", err)
	}
	e.Workloads = e.Workloads[:1]
	if err := (&Options{Experiment: e}).refuseKeys(c); err != nil {
		t.Error(err)
	}
}

// TestSetDeadlines gives the jobs of a trial on a cluster the deadlines that they have in
// virtual time. A workload whose runs are several jobs has none.
func TestSetDeadlines(t *testing.T) {
	want, _ := simulatedJobs(t, lines, "trace: jobs.tsv, deadline: 2x", "")
	file := filepath.Join(t.TempDir(), "jobs.tsv")
	mustDo(t, os.WriteFile(file, []byte(strings.Join(lines, "\n")+"\n"), 0o600))
	for _, x := range []struct {
		workload string
		jobs     int
		want     string
	}{
		{"trace: " + file + ", label: jobs, deadline: 2x", 3, ""},
		{"name: grep, size: 16MiB, regex: a, deadline: 2x", 1, "its jobs run one after the other"},
	} {
		e := must(config.ParseExperiment("e.yaml", []byte("workloads: [{"+x.workload+"}]\n")))
		c := config.DefaultCluster()
		h, _ := must2(workload.Cluster(c))
		trial := &trialRun{
			trial:       &trial{plan: config.Trial{Workload: e.Workloads[0]}, options: &Options{Experiment: e, Cluster: c}},
			submissions: make([]workload.Submission, x.jobs),
		}
		if twin, err := workload.Of(e.Workloads[0]).Twin(t.Context(), e.Cache); err == nil {
			trial.options.Calibration = calibration.Uncalibrated(h.Cluster, twin.Costs)
		}
		var err error
		if trial.options.deadlines, err = computeDeadlines(t.Context(), trial.options); err == nil {
			err = trial.setDeadlines()
		}
		if (err == nil) != (x.want == "") || err != nil && !strings.Contains(err.Error(), x.want) {
			t.Errorf("%s: %v, want %q", x.workload, err, x.want)
		}
		for i, s := range trial.submissions {
			if x.jobs == 3 && s.Terms.DeadlineMs != want[i] || x.jobs == 1 && s.Terms.DeadlineMs != 0 {
				t.Errorf("%s: job %d has %d ms, want %v", x.workload, i, s.Terms.DeadlineMs, want)
			}
		}
	}
}

// TestResumedDeadlines resumes a run on a cluster without its calibration, and with one by
// which tasks take longer: its trials have the deadlines that it began with. A run that
// has not recorded them is refused.
func TestResumedDeadlines(t *testing.T) {
	source := []byte("workloads: [{name: sort, size: 16MiB, deadline: 2x}, {name: wordcount, size: 16MiB, deadline: 90s}]\nrepeats: 2\n")
	e := must(config.ParseExperiment("e.yaml", source))
	c := config.DefaultCluster()
	h, _ := must2(workload.Cluster(c))
	twin := must(workload.Of(e.Workloads[0]).Twin(t.Context(), e.Cache))
	slow := twin.Costs
	slow.Map.FixedMs += 60_000
	first, other := calibration.Uncalibrated(h.Cluster, twin.Costs), calibration.Uncalibrated(h.Cluster, slow)
	o := Options{Experiment: e, Source: source, Cluster: c, Root: t.TempDir(), Name: "due", Calibration: first}
	ctx, end := context.WithCancel(t.Context())
	if _, err := carryOut(ctx, &o, &listedWorld{stop: "r02-sort-yarn", end: end}); err == nil {
		t.Fatal("the run was to be stopped")
	}
	want := o.deadlines["sort"]
	if o.Calibration = other; len(want) != 1 || want[0] <= 0 || len(o.deadlines) != 1 {
		t.Fatalf("deadlines %v, want one, of sort", o.deadlines)
	}
	if longer, err := computeDeadlines(t.Context(), &o); err != nil || longer["sort"][0] <= want[0] {
		t.Fatalf("by the other calibration %v, %v; want more than %v", longer, err, want)
	}
	dir := filepath.Join(o.Root, o.Name)
	for _, costs := range []*calibration.Calibration{nil, other} {
		resumed := Options{Experiment: e, Source: source, Cluster: c, Resume: dir, Calibration: costs}
		ctx, end := context.WithCancel(t.Context())
		if _, err := carryOut(ctx, &resumed, &listedWorld{stop: "r02-sort-yarn", end: end}); err == nil {
			t.Fatal("the run was to be stopped again")
		}
		if diff := cmp.Diff(o.deadlines, resumed.deadlines); diff != "" {
			t.Errorf("deadlines of the resumed run (-want +got):\n%s", diff)
		}
	}
	for _, x := range []struct{ text, want string }{
		{"{}", "does not have the deadlines of sort"},
		{`{"sort": [-5]}`, "does not have the deadlines of sort"},
		{`{"sort": ["`, "read deadlines.json"},
		{"", "start a new run"}, // no such file
	} {
		file := filepath.Join(dir, deadlinesFile)
		mustDo(t, os.WriteFile(file, []byte(x.text), 0o600))
		if x.text == "" {
			mustDo(t, os.Remove(file))
		}
		resumed := Options{Experiment: e, Source: source, Cluster: c, Resume: dir, Unverified: true}
		wantError(t, errOf(carryOut(t.Context(), &resumed, &listedWorld{})), x.want)
	}
}
