package explain

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"heddle/traces"
	"heddle/traces/errtest"
	"heddle/traces/format"
	"heddle/traces/mend"
	"heddle/traces/spark"
	"heddle/traces/spark/sparktest"
)

// sparkEvents returns the events of an event log.
func sparkEvents(t *testing.T, log []byte) (events []traces.Event) {
	t.Helper()
	im := &format.Import{Log: &mend.Log{}, Add: func(e traces.Event) error {
		events = append(events, e)
		return nil
	}}
	errtest.None(t, spark.Format.NewReader(im).Read(bytes.NewReader(log)))
	traces.Sort(events)
	for _, e := range events {
		traces.ShiftTimes(e, -sparktest.Epoch*1e6)
	}
	return events
}

func explainSpark(events []traces.Event) (*Explanation, bool) {
	w := New(&traces.Header{Origin: traces.Recovered})
	for _, e := range events {
		w.Add(e)
	}
	return w.Explain()
}

// TestSparkPlanted: what a log was made to lose is found, to the millisecond.
func TestSparkPlanted(t *testing.T) {
	for _, x := range []struct {
		write func(*bytes.Buffer)
		want  map[Cause]float64
	}{
		{
			func(b *bytes.Buffer) { sparktest.Join(b, "application_1_0001", "join") },
			map[Cause]float64{
				sparkStart: 12, sparkDriver: 4 + 1 + 3, localityWait: 3, gc: 2, fetchWait: 0.5, sparkSkew: 27.5, sparkWork: 5 + 3,
			},
		},
		{
			func(b *bytes.Buffer) { sparktest.Lost(b, "application_1_0002", "lost") },
			map[Cause]float64{sparkStart: 5, executorsLate: 5, sparkDriver: 1 + 1, sparkWork: 5, sparkFailed: 4, stageAgain: 6 + 4},
		},
	} {
		var b bytes.Buffer
		x.write(&b)
		found, ok := explainSpark(sparkEvents(t, b.Bytes()))
		if !ok {
			t.Fatal("nothing is explained")
		}
		got := map[Cause]float64{}
		for _, l := range found.Lines {
			got[l.Cause] = float64(l.Seconds) / 1e9
		}
		if fmt.Sprint(got) != fmt.Sprint(x.want) {
			t.Errorf("lost %v, want %v", got, x.want)
		}
	}
}

// sparkFacts recomputes from the events what holds at a time.
type sparkFacts struct {
	tasks     []*traces.SparkTask
	stages    map[[2]int32]*traces.SparkStage
	executors map[string]*traces.SparkExecutor
	app       *traces.SparkApplication
}

func (f *sparkFacts) running(executor string, at traces.Time) (n int) {
	for _, t := range f.tasks {
		if (executor == "" || t.Executor == executor) && t.T <= at && at < t.End {
			n++
		}
	}
	return n
}

// check says what of a step is not so, looking in its middle.
func (f *sparkFacts) check(s Step) string {
	middle := s.From + (s.To-s.From)/2
	switch s.Cause {
	case sparkStart:
		for _, x := range f.executors {
			if x.T < middle {
				return "an executor was there"
			}
		}
		return ""
	case sparkDriver:
		return ""
	}
	t := s.ran
	stage, x := f.stages[[2]int32{t.Stage, t.StageAttempt}], f.executors[t.Executor]
	switch s.Cause {
	case executorsLate:
		if x.T < s.To || stage.T > s.From {
			return "its executor was there, or its stage was not"
		}
	case localityWait:
		if stage.T > s.From || x.T > s.From || t.T < s.To || f.running(t.Executor, middle) >= int(x.Cores) || t.Locality < traces.SparkNode {
			return "no core was free, or the task could not wait"
		}
	case delivery:
		if stage.T > s.From || s.To > t.End {
			return "it is not between its stage's begin and its end"
		}
	default:
		if t.T > s.From || s.To > t.End {
			return "it did not run"
		}
		if failed := t.Outcome != traces.Succeeded; failed != (s.Cause == sparkFailed) {
			return "its outcome is another"
		}
	}
	return ""
}

// checkSpark holds an explanation against the events.
func checkSpark(t *testing.T, name string, events []traces.Event) {
	t.Helper()
	f := sparkFacts{stages: map[[2]int32]*traces.SparkStage{}, executors: map[string]*traces.SparkExecutor{}}
	for _, e := range events {
		switch e := e.(type) {
		case *traces.SparkApplication:
			f.app = e
		case *traces.SparkStage:
			f.stages[[2]int32{e.Stage, e.Attempt}] = e
		case *traces.SparkExecutor:
			f.executors[e.Executor] = e
		case *traces.SparkTask:
			f.tasks = append(f.tasks, e)
		}
	}
	found, ok := explainSpark(events)
	if ok != (f.app != nil && f.app.End != 0) {
		t.Fatalf("%s: explained is %v", name, ok)
	}
	if !ok {
		return
	}
	at, idle := f.app.End, traces.Time(0)
	for _, s := range found.Steps {
		if s.To != at || s.From >= s.To {
			t.Errorf("%s: a step from %v to %v, want one to %v", name, s.From, s.To, at)
		}
		at = s.From
		if wrong := f.check(s); wrong != "" {
			t.Errorf("%s: %s from %v to %v: %s", name, s.Cause, s.From, s.To, wrong)
		}
		if slices.Contains([]Cause{sparkStart, executorsLate, localityWait, sparkDriver, delivery}, s.Cause) {
			idle += s.To - s.From
		}
	}
	if at != f.app.T {
		t.Errorf("%s: the steps begin at %v, want %v", name, at, f.app.T)
	}
	// As long as no task ran, no task can be what took time.
	none, edges := traces.Time(0), []traces.Time{f.app.T, f.app.End}
	for _, x := range f.tasks {
		edges = append(edges, x.T, x.End)
	}
	slices.Sort(edges)
	for i := range edges[1:] {
		if a, b := edges[i], edges[i+1]; a >= f.app.T && b <= f.app.End && f.running("", a) == 0 {
			none += b - a
		}
	}
	if idle < none {
		t.Errorf("%s: %v of the path are waits, and no task ran for %v", name, idle, none)
	}
}

// drawnLog makes up an application: executors that come and go, stages that read others, and a list of tasks that
// free cores take.
func drawnLog(seed uint64) []byte {
	r := rand.New(rand.NewPCG(seed, 56))
	var b bytes.Buffer
	l := sparktest.New(&b, "3.5.8", "application_1_0003", "drawn", r.Int64N(3000))
	free := map[int]int64{} // by executor and core
	cores, executors := 1+r.IntN(3), 1+r.IntN(4)
	at := int64(4000)
	for e := 1; e <= executors; e++ {
		came := at + r.Int64N(9000)
		l.Executor(e, fmt.Sprint("h", e), cores, came)
		for c := range cores {
			free[e*10+c] = came
		}
	}
	for s := range 1 + r.IntN(5) {
		at += r.Int64N(2000)
		stage := sparktest.Stage{ID: s, RDD: s, Tasks: 1 + r.IntN(9), From: at}
		if s > 0 && r.IntN(3) > 0 {
			stage.Parents = []int{r.IntN(s)}
		}
		var tasks []sparktest.Task
		for i := range stage.Tasks {
			core := 0
			for c := range free {
				if core == 0 || free[c] < free[core] || free[c] == free[core] && c < core {
					core = c
				}
			}
			from := max(at, free[core]) + r.Int64N(2)*r.Int64N(4000)
			to := from + 1 + r.Int64N(5000)*(1+9*r.Int64N(2)*r.Int64N(2))
			free[core] = to
			k := sparktest.Task{
				Index: i, Executor: core / 10, Host: fmt.Sprint("h", core/10), From: from, To: to, Locality: pick(r, "NODE_LOCAL", "ANY", "NO_PREF"),
				GC: r.Int64N(2) * r.Int64N(900), FetchWait: r.Int64N(2) * r.Int64N(900), Input: r.Int64N(5000), Spilt: r.Int64N(2) * r.Int64N(99),
			}
			if r.IntN(12) == 0 {
				k.Reason = "ExecutorLostFailure"
			}
			tasks = append(tasks, k)
			stage.To = max(stage.To, to)
		}
		l.Job(-1, true, []sparktest.Stage{stage}, func() { l.Run(stage, tasks...) })
		at = stage.To
	}
	l.End(at + r.Int64N(3000))
	return b.Bytes()
}

// TestSparkTrue holds explanations of made up applications, and of logs in the folder HEDDLE_SPARK, against facts
// that are computed in another way.
func TestSparkTrue(t *testing.T) {
	for seed := range uint64(300) {
		checkSpark(t, fmt.Sprint("drawn ", seed), sparkEvents(t, drawnLog(seed)))
	}
	paths, _ := filepath.Glob(filepath.Join(os.Getenv("HEDDLE_SPARK"), "*"))
	for _, path := range paths {
		if data, err := os.ReadFile(path); os.Getenv("HEDDLE_SPARK") != "" && err == nil {
			checkSpark(t, path, sparkEvents(t, data))
		}
	}
}

// TestSparkHoldsContainers: a map waits for the room of an executor. Without sizes nobody knows whether there was room.
func TestSparkHoldsContainers(t *testing.T) {
	r := loaded(t, "sparkholds")
	node := &r.header.Cluster.Nodes[0]
	for memory, want := range map[int64]Cause{node.MemoryBytes: othersHold, 0: unknown} {
		node.MemoryBytes = memory
		x := r.explained(t)
		got := map[Cause]Ns{}
		text := ""
		for _, j := range x.Jobs {
			for _, l := range j.Lines {
				if j.ID == "job_1_0001" {
					got[l.Cause] += l.Seconds
					text += l.Sentence + "\n"
				}
			}
		}
		if sum := got[want] + got[handOver]; sum != Ns(38e9) || got[want] < Ns(35e9) ||
			!strings.Contains(text, map[Cause]string{othersHold: "application_1_0009", unknown: "executors of Spark held room"}[want]) {
			t.Errorf("with %d bytes a node the job lost %v:\n%s", memory, got, text)
		}
	}
}

// TestSparkOddMaster: an ApplicationMaster that was up after the first executor, as some log says, is not told.
func TestSparkOddMaster(t *testing.T) {
	var b bytes.Buffer
	sparktest.Join(&b, "application_1_0001", "join")
	events := sparkEvents(t, b.Bytes())
	for _, late := range []bool{false, true} {
		if late {
			events[0].(*traces.SparkApplication).AMStart += 1e18
		}
		x, ok := explainSpark(events)
		i := slices.IndexFunc(x.Lines, func(l Line) bool { return l.Cause == sparkStart })
		if !ok || strings.Contains(x.Lines[i].Sentence, "6.0 s until its ApplicationMaster was up") == late ||
			strings.Contains(x.Lines[i].Sentence, ", -") {
			t.Errorf("late %v: %s", late, x.Lines[i].Sentence)
		}
	}
}
