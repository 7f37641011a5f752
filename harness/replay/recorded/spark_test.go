package recorded

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"heddle/harness/sim"
	"heddle/traces"
	"heddle/traces/errtest"
)

// sparkTrace makes a trace of applications of Spark, and of jobs of MapReduce beside them.
func sparkTrace(t *testing.T, events ...traces.Event) (*Trace, error) {
	t.Helper()
	b := newBuilder("by hand", traces.Header{Format: 1, Origin: traces.Recovered})
	for _, e := range events {
		if e.Kind().IsSpark() {
			b.spark(e)
		} else if err := b.add(e); err != nil {
			return nil, err
		}
	}
	if err := b.applications(func(traces.Event, bool) {}); err != nil {
		return nil, err
	}
	return b.finish()
}

const second = traces.Time(1e9)

// applicationOf is one of client mode that was submitted at 10 s, whose master was up at 15 s.
func applicationOf(id string, settings ...string) *traces.SparkApplication {
	return &traces.SparkApplication{
		T: 10 * second, App: traces.JobID(id), Name: "n", User: "u", Queue: "q", Start: 12 * second, End: 100 * second, Driver: "gateway",
		Outcome: traces.Succeeded, AMStart: 15 * second, AMNode: "a", AMMemoryBytes: 896 << 20, Settings: append(settings, "spark.master=yarn"),
	}
}

// executorsOf register 4, 9 and 20 s after the master was up. The second is lost.
func executorsOf(id string) (list []traces.Event) {
	for i, x := range []traces.SparkExecutor{
		{T: 19 * second, MemoryBytes: 1 << 30, End: 100 * second},
		{T: 24 * second, MemoryBytes: 2 << 30, End: 30 * second, Outcome: traces.Failed},
		{T: 35 * second, MemoryBytes: 1 << 30},
	} {
		x.App, x.Executor, x.Node, x.Cores = traces.JobID(id), fmt.Sprint(i), "a", 4
		list = append(list, &x)
	}
	return list
}

// TestExecutorsAreContainers: a job of reduces takes the place of an application, each as long as its
// executor was there and 4 s, in which the first started. Only those that Spark asks for first are asked for with the master.
func TestExecutorsAreContainers(t *testing.T) {
	for _, c := range []struct {
		settings string
		want     []int64 // ms
	}{
		{"", []int64{0, 0, 16_000}}, // two executors are Spark's default
		{"spark.executor.instances=1", []int64{0, 5_000, 16_000}},
		{"spark.dynamicAllocation.enabled=true", []int64{0, 5_000, 16_000}},
		{
			"spark.dynamicAllocation.enabled=true spark.dynamicAllocation.initialExecutors=3 spark.dynamicAllocation.minExecutors=1",
			[]int64{0, 0, 0},
		},
	} {
		x := errtest.Must(sparkTrace(t, append(executorsOf("a"), applicationOf("a", strings.Fields(c.settings)...))...))
		var j sim.Job
		NewSource(Settings{Trace: x}, &sim.Machines{}).Next(&j)
		if !slices.Equal(j.ReduceAskMs, c.want) {
			t.Errorf("%q: asked for at %v, want %v ms after the master was up", c.settings, j.ReduceAskMs, c.want)
		}
		var took []int32
		for _, w := range j.ReduceWork {
			took = append(took, w.FixedMs)
		}
		if want := []int32{85_000, 10_000, 69_000}; !slices.Equal(took, want) || j.Maps != 0 {
			t.Errorf("%q: %d maps, and executors of %v ms; want none, and %v", c.settings, j.Maps, took, want)
		}
		if j.ReduceSize.MemoryMB != 2048 || j.ReduceSize.VCores != 4 || j.AMSize.MemoryMB != 896 || j.AMStartMs != 5000 || j.Queue != "q" ||
			j.User != "u" {
			t.Errorf("%+v; want containers of 2048 MB and 4 cores, a master of 896 MB after 5 s, queue q, user u", j)
		}
	}
}

// TestOddApplications: what ran elsewhere is left out, what has not ended lives as long as is known, and an id
// of two applications is an error.
func TestOddApplications(t *testing.T) {
	local := applicationOf("b")
	local.Settings = []string{"spark.master=local[*]"}
	open := applicationOf("a")
	open.End, open.Outcome, open.AMNode = 0, traces.Unfinished, ""
	x := errtest.Must(sparkTrace(t, append(executorsOf("a"), open, local, &traces.SparkTask{T: 50 * second, App: "a", End: 60 * second})...))
	if len(x.Jobs) != 1 || !slices.ContainsFunc(x.Warnings,
		func(w string) bool { return strings.Contains(w, "1 application of Spark did not run on YARN") }) {
		t.Errorf("%d jobs, warnings %q; want one, and a warning of the other", len(x.Jobs), x.Warnings)
	}
	if a := x.Jobs[0].Tasks[traces.Reduce][2].Won; x.Jobs[0].Finished != 0 || x.Jobs[0].AMMemoryBytes != 0 || a == nil || a.End != 100*second {
		t.Errorf("%+v, its last executor %+v; want no end and no size of a master of an unknown node, and the latest time known", x.Jobs[0], a)
	}
	errtest.Has(t, errtest.Of(sparkTrace(t, local)), "ran on YARN")
	if _, err := sparkTrace(t, append(executorsOf("a"), applicationOf("a"), &traces.JobSubmitted{Job: "a"})...); err == nil {
		t.Error("an application and a job of one id: want an error")
	}
}

// TestHostileApplications: whatever the times are, no executor ends before it starts, or is asked for before the master.
func TestHostileApplications(t *testing.T) {
	for i := range 500 {
		r := rand.New(rand.NewPCG(uint64(i), 23))
		at := func() traces.Time { return traces.Time(r.Int64N(5)) * second }
		a := applicationOf("a", "spark.executor.instances=-1")
		a.T, a.Start, a.End, a.AMStart = at(), at(), at(), at()
		x := errtest.Must(sparkTrace(t, a, &traces.SparkExecutor{T: at(), App: "a", End: at()},
			&traces.SparkExecutor{T: at(), App: "a", End: at()}))
		for k, task := range x.Jobs[0].Tasks[traces.Reduce] {
			if w := task.Won; w == nil || w.End < w.Start || w.Start < x.Jobs[0].Started || x.ExecutorAskMs["a"][k] < 0 {
				t.Fatalf("%d: %+v of %+v", i, w, a)
			}
		}
	}
}
