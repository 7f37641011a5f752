package workload_test

import (
	"context"
	"testing"
	"time"

	"heddle/harness/config"
	"heddle/harness/sched"
	"heddle/harness/workload"
	"heddle/harness/workload/generate"
	"heddle/traces/errtest"
)

// The jobs that a function makes are simulated as it says: at their times, with the files
// that they share, and what each task reads and computes. The entry's keys take some of
// them, and scale them.
func TestGeneratedTwin(t *testing.T) {
	const mib = 1 << 20
	errtest.None(t, config.RegisterWorkloads(generate.Workload{
		Name: "two-jobs", Summary: "two jobs that read one file",
		Params: []sched.Param{{Name: "gap", Type: sched.Duration, Default: "5s", Doc: "time between the jobs"}},
		Jobs: func(a sched.Args) ([]generate.Job, error) {
			maps := []generate.Map{
				{Path: "f", ReadBytes: mib, EmitBytes: mib / 2, CPUMs: 70},
				{Path: "f", ReadBytes: mib, EmitBytes: mib / 2, CPUMs: 30},
			}
			return []generate.Job{
				{Name: "b", At: time.Minute + time.Duration(a.Int("gap")), Maps: maps},
				{Name: "a", At: time.Minute, Pool: "first", Maps: maps, Reduces: []generate.Reduce{{WriteBytes: mib, CPUMs: 9}}},
			}, nil
		},
	}))
	w := config.Workload{Name: "two-jobs", Label: "two", Params: map[string]string{"gap": "4s"}, Speed: 2, Scale: 2}
	x := errtest.Must(workload.Of(w).Twin(context.Background(), config.Cache{}))
	if len(x.Files) != 1 || x.Files[0].Bytes != 4*mib {
		t.Errorf("files %+v, want one of 4 MiB: two parts of it are read, twice as large", x.Files)
	}
	if len(x.Jobs) != 2 || x.Jobs[0].Name != "a" || x.Jobs[0].At != 0 || x.Jobs[1].At != 2*time.Second {
		t.Fatalf("jobs %+v, want a at 0s and b at 2s", x.Jobs)
	}
	a := x.Jobs[0]
	if a.Pool != "first" || a.Reduces != 1 || a.Maps[1].OffsetBytes != 2*mib || a.Work.Maps[0].ComputeMs != 140 ||
		a.Work.Reduces[0].ComputeMs != 18 || a.Work.Shares[0] != 2*mib {
		t.Errorf("job a: %+v", a)
	}
	if got := workload.Costs(w); got != "trace" {
		t.Errorf("its tasks cost what those of %q cost; want those of a trace, since the same program runs", got)
	}
	w.First, w.Params = 1, nil
	if x, err := workload.Of(w).Twin(context.Background(), config.Cache{}); err != nil || len(x.Jobs) != 1 {
		t.Errorf("the first job alone: %+v, %v", x, err)
	}
	w.From = config.Workload{}.From + 1<<40
	if err := workload.CheckJobs(context.Background(), w); err == nil {
		t.Error("no job is submitted so late, and no error says so")
	}
}
