package experiment

import (
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"heddle/harness/lab/labtest"
	"heddle/harness/results"
	"heddle/harness/workload"
)

// TestTraceOnCluster runs the jobs of a recorded trace on a real cluster and in
// virtual time. Both worlds must be asked for the same, and the cluster must do
// what it is asked for: as many tasks, and the same bytes within 2 %, as
// Hadoop's own counters have them.
func TestTraceOnCluster(t *testing.T) {
	name := labtest.Shared(t).Cluster().Name
	binary := labtest.Binary(t)
	trace := must(filepath.Abs("../fidelity/testdata/run/trials/r01-wordcount-yarn/trace.heddle"))
	dir := t.TempDir()
	file := filepath.Join(dir, "day.yaml")
	text := "cluster: " + name + "\nworkloads:\n  - {trace: " + trace + ", label: day, scale: 0.1, maxTasks: 3}\n"
	mustDo(t, os.WriteFile(file, []byte(text), 0o644))
	achieved := map[string]*workload.Achieved{}
	for world, args := range map[string][]string{"real": {"run"}, "simulated": {"run", "--simulate", "--cluster", name}} {
		args = append(args, "--runs", dir, "--run-name", world, file)
		out, err := exec.CommandContext(t.Context(), binary, args...).CombinedOutput()
		if err != nil {
			t.Fatalf("%s: %v\n%s", world, err, out)
		}
		t.Logf("%s:\n%s", world, out)
		run := must(results.Open(filepath.Join(dir, world), false))
		if len(run.Trials) != 1 || run.Trials[0].Achieved == nil {
			t.Fatalf("%s: results %+v have no comparison with what was asked", world, run.Trials)
		}
		achieved[world] = run.Trials[0].Achieved
	}
	type amounts [5]int64
	asked := func(a *workload.Achieved) amounts {
		s := &a.Sum
		return amounts{
			s.Input.Asked + s.Input.Floors, s.Shuffle.Asked + s.Shuffle.Floors, s.Output.Asked + s.Output.Floors, s.Maps.Asked,
			s.Reduces.Asked,
		}
	}
	if real, simulated := asked(achieved["real"]), asked(achieved["simulated"]); real != simulated {
		t.Errorf("input, shuffle, output, maps and reduces: the cluster was asked for %v, the simulation for %v", real, simulated)
	}
	s := &achieved["real"].Sum
	for what, a := range map[string]workload.Amount{"input": s.Input, "shuffle": s.Shuffle, "output": s.Output} {
		if math.Abs(a.ErrorPct) > 2 {
			t.Errorf("%s: %+v, want an error of 2 %% at most", what, a)
		}
	}
	if s.Maps.ErrorPct != 0 || s.Reduces.ErrorPct != 0 || s.FailedJobs != 0 {
		t.Errorf("%d of %d maps, %d of %d reduces, %d failed jobs", s.Maps.Got, s.Maps.Asked, s.Reduces.Got, s.Reduces.Asked, s.FailedJobs)
	}
}
