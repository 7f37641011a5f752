package experiment

import (
	"context"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"heddle/harness/config"
	"heddle/harness/results"
	"heddle/harness/runs"
)

// listedWorld runs nothing. It lists the trials that it is asked for, and ends
// the run in the one named stop.
type listedWorld struct {
	trials     []string
	stop       string
	end        context.CancelFunc
	makespanMs map[string]int64 // by trial
}

func (w *listedWorld) name() string                                  { return "" }
func (w *listedWorld) atOnce() int                                   { return 1 }
func (w *listedWorld) open(context.Context) (hadoop string, _ error) { return "", nil }
func (w *listedWorld) cleanUp(context.Context, string) error         { return nil }
func (w *listedWorld) close(context.Context) error                   { return nil }
func (w *listedWorld) stage(t *trial) stage                          { return &listedTrial{t, w} }

type listedTrial struct {
	*trial
	world *listedWorld
}

func (t *listedTrial) prepare(ctx context.Context) (int64, error) {
	t.world.trials = append(t.world.trials, t.plan.Name)
	if t.plan.Name == t.world.stop {
		t.world.end()
	}
	return 0, ctx.Err()
}

func (t *listedTrial) run(context.Context) (results.Trial, error) {
	return results.Trial{
		Name: t.plan.Name, Workload: t.plan.Workload.Label, Model: t.plan.Model.Label, Repeat: t.plan.Repeat,
		MakespanMs: t.world.makespanMs[t.plan.Name],
	}, nil
}
func (t *listedTrial) check(context.Context) ([]string, error) { return nil, nil }
func (t *listedTrial) clean() error                            { return nil }

// A run that is interrupted behind its warm-ups warms up again when it is
// resumed, and no result is of a warm-up.
func TestWarmupsAreNoResults(t *testing.T) {
	e := must(config.ParseExperiment("e.yaml", []byte("workloads: [{name: sort, profile: tiny}]\nwarmups: 2\nrepeats: 3")))
	o := Options{Experiment: e, Source: []byte("x"), Cluster: &config.Cluster{Name: "c"}, Root: t.TempDir(), Name: "warm"}
	ctx, end := context.WithCancel(t.Context())
	first := &listedWorld{stop: "r02-sort-yarn", end: end}
	if _, err := carryOut(ctx, &o, first); err == nil {
		t.Fatal("the run was to be stopped")
	}
	o.Resume = filepath.Join(o.Root, o.Name)
	again := &listedWorld{}
	run := must(carryOut(t.Context(), &o, again))
	want := []string{"w01-sort-yarn", "w02-sort-yarn", "r01-sort-yarn", "r02-sort-yarn"}
	if diff := cmp.Diff(want, first.trials); diff != "" {
		t.Errorf("trials of the first try (-want +got):\n%s", diff)
	}
	want = []string{"w01-sort-yarn", "w02-sort-yarn", "r02-sort-yarn", "r03-sort-yarn"}
	if diff := cmp.Diff(want, again.trials); diff != "" {
		t.Errorf("trials of the resumed run, which the cluster meets cold (-want +got):\n%s", diff)
	}
	trials := must(results.List(run))
	var counted []string
	for _, r := range trials {
		counted = append(counted, r.Name)
	}
	if diff := cmp.Diff([]string{"r01-sort-yarn", "r02-sort-yarn", "r03-sort-yarn"}, counted); diff != "" {
		t.Errorf("results (-want +got):\n%s", diff)
	}
	summary, err := run.ReadFile("summary.json")
	if err != nil || strings.Contains(string(summary), "w01") {
		t.Errorf("the summary has a warm-up, or cannot be read: %v\n%s", err, summary)
	}
	marked := slices.DeleteFunc(run.Manifest().Trials, func(t runs.TrialRecord) bool { return t.Warmup != strings.HasPrefix(t.Name, "w") })
	if len(marked) != 5 || run.Manifest().State != runs.Finished {
		t.Errorf("state %s, rightly marked trials %v", run.Manifest().State, marked)
	}
}
