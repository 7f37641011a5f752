package external_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"heddle/harness/external"
	"heddle/harness/sched"
	"heddle/harness/sched/schedtest"
	"heddle/harness/sim"
	"heddle/harness/state"
	"heddle/traces/errtest"
)

// python returns the interpreter of Python 3, or skips the test.
func python(t testing.TB) string {
	t.Helper()
	out, err := exec.Command("python3", "-c", "import sys; print(sys.executable)").Output()
	if err != nil {
		t.Skip("there is no python3 here, with which models in Python run:", err)
	}
	return strings.TrimSpace(string(out))
}

func begin(t testing.TB, o external.Options) *external.Model {
	t.Helper()
	m, err := external.New(o)
	if err == nil {
		err = m.Start()
	}
	mustDo(t, err)
	t.Cleanup(func() { _ = m.Close() })
	return m
}

// decisions returns what a model decides in the scenario of a seed.
func decisions(m sched.Model, seed int) []sched.Decision {
	return rapid.Custom(func(t *rapid.T) []sched.Decision {
		w := schedtest.NewWorld(t, m)
		schedtest.Busy(t, w)
		return append(w.Decisions, sched.Decision{}) // never nil, which rapid would draw again
	}).Example(seed)
}

var delays = []sched.Params{
	{},
	{"nodeSkips": "2", "rackSkips": "1"},
	{"order": "fair", "nodeSkips": "3"},
	{"form": "time", "nodeWait": "3s", "rackWait": "1s500ms"},
	{"form": "time", "order": "fair", "nodeWait": "4s", "rackWait": "0s"},
}

// TestDelayInPython has the example delay.py decide as heddle's delay does, on random
// clusters with random events.
func TestDelayInPython(t *testing.T) {
	scenarios := 1000
	if testing.Short() {
		scenarios = 30
	}
	interpreter, decided := python(t), 0
	for seed := range scenarios {
		params := delays[seed%len(delays)]
		ours := errtest.Must(sched.New("delay", params))
		theirs := begin(t, external.Options{Command: []string{interpreter, "python/examples/delay.py"}, Params: params})
		want, got := decisions(ours, seed), decisions(theirs, seed)
		if err := theirs.Close(); err != nil || theirs.Failed() != nil {
			t.Fatalf("scenario %d, %v: %v, %v", seed, params, theirs.Failed(), err)
		}
		if !slices.Equal(want, got) {
			t.Fatalf("scenario %d, %v: the decisions of delay and delay.py differ:\n%+v\n%+v", seed, params, want, got)
		}
		decided += len(want) - 1
	}
	t.Logf("%d decisions in %d scenarios", decided, scenarios)
	if decided < 10*scenarios {
		t.Errorf("%d decisions in %d scenarios: too few to show anything", decided, scenarios)
	}
}

// mirrored writes down what the View shows at each request, and the events between.
type mirrored struct {
	*external.Model
	shown []string
	heard []any
}

func (m *mirrored) Observe(v *state.View, e sched.Event) {
	m.Model.Observe(v, e)
	name, ok := map[sched.EventKind]string{
		sched.JobSubmitted: "jobSubmitted", sched.TaskStarted: "taskStarted", sched.TaskEnded: "taskEnded", sched.Confirmed: "confirmed",
		sched.Cancelled: "cancelled",
	}[e.What]
	switch {
	case e.What == sched.JobSubmitted:
		m.heard = append(m.heard, []any{name, e.Job, -1, -1})
	case ok:
		m.heard = append(m.heard, []any{name, e.Job, e.Task, e.Node})
	}
}

func (m *mirrored) Round(v *state.View, free []state.NodeID, out []sched.Decision) []sched.Decision {
	m.shown = append(m.shown, shown(v, free[0], m.heard))
	m.heard = nil
	return m.Model.Round(v, free, out)
}

func pair(r state.Resource) []int32 { return []int32{r.MemoryMB, r.VCores} }

func ids[T ~int32](list []T) []T { return append([]T{}, list...) }

// shown is what mirror.py writes, from the View itself.
func shown(v *state.View, asked state.NodeID, heard []any) string {
	jobs, nodes, fifo := []any{}, []any{}, []state.JobID{}
	for n := range state.NodeID(v.Nodes()) {
		nodes = append(nodes, []any{v.NodeName(n), v.RackName(v.Rack(n)), v.Up(n), v.HasRoom(n), pair(v.Free(n)), pair(v.Capacity(n))})
	}
	for _, id := range v.Active() {
		maps, tasks, near, fits := []any{}, []any{}, []any{}, []any{}
		for t := range state.TaskID(v.Tasks(id, state.Map)) {
			cached := v.CachedOn(id, t, nil)
			slices.Sort(cached)
			maps = append(maps, []any{ids(v.Replicas(id, t)), ids(cached), ids(v.SplitHosts(id, t))})
		}
		for t := range state.TaskID(v.Tasks(id, state.Map) + v.Tasks(id, state.Reduce)) {
			tasks = append(tasks, []any{v.IsWaiting(id, t), v.RunsOn(id, t)})
		}
		for n := range state.NodeID(v.Nodes()) {
			near = append(near, []any{
				v.NextMap(id, n, state.LevelCache) != state.None, v.NextMap(id, n, state.LevelNode),
				v.NextMap(id, n, state.LevelRack), v.NextMap(id, n, state.LevelOff),
			})
			fits = append(fits, []any{v.Fits(n, id, state.Map), v.Fits(n, id, state.Reduce)})
		}
		both := func(of func(state.JobID, state.Kind) int32) []int32 {
			return []int32{of(id, state.Map), of(id, state.Reduce)}
		}
		jobs = append(jobs, []any{
			id, v.JobName(id), v.QueueName(v.Queue(id)), v.PoolName(v.Pool(id)), v.Priority(id), v.Weight(id), v.Submitted(id), pair(v.Used(id)),
			both(v.Running), both(v.Done), both(v.Waiting), v.NextRerun(id), v.NextReduce(id), maps, tasks, near, fits,
		})
	}
	walk := sched.FIFOOrder(v)
	for id, ok := walk.Next(); ok; id, ok = walk.Next() {
		fifo = append(fifo, id)
	}
	if heard == nil {
		heard = []any{}
	}
	line, err := json.Marshal([]any{v.Now(), asked, nodes, v.NodesUp(), jobs, fifo, heard})
	if err != nil {
		panic(err)
	}
	return string(line)
}

// TestProgramSeesTheView: by the changes alone, a program knows at each request what the
// View shows.
func TestProgramSeesTheView(t *testing.T) {
	interpreter, requests := python(t), 0
	scenarios := 100
	if testing.Short() {
		scenarios = 10
	}
	for seed := range scenarios {
		file := filepath.Join(t.TempDir(), "shown")
		m := &mirrored{Model: begin(t, external.Options{Command: []string{interpreter, "testdata/mirror.py"}, Params: sched.Params{"out": file}})}
		decisions(m, seed)
		if err := m.Close(); err != nil || m.Failed() != nil {
			t.Fatal(err, m.Failed())
		}
		data := errtest.Must(os.ReadFile(file))
		lines := bufio.NewScanner(bytes.NewReader(data))
		lines.Buffer(nil, 1<<20)
		for i, want := range m.shown {
			if !lines.Scan() {
				t.Fatalf("scenario %d: %d requests, and the program saw %d", seed, len(m.shown), i)
			}
			var a, b any
			mustDo(t, json.Unmarshal([]byte(want), &a))
			mustDo(t, json.Unmarshal(lines.Bytes(), &b))
			if !reflect.DeepEqual(a, b) {
				t.Fatalf("scenario %d, request %d: the View shows\n%s\nand the program knows\n%s", seed, i+1, want, lines.Text())
			}
		}
		requests += len(m.shown)
	}
	t.Logf("%d requests", requests)
}

// simulated runs jobs on a simulated cluster on which a node is lost meanwhile.
func simulated(m sched.Model, actuator sim.Actuator) (*sim.Result, error) {
	slot := state.Resource{MemoryMB: 1024, VCores: 1}
	c := &sim.Config{
		Model: m, Actuator: actuator, Costs: sim.DefaultCosts(), Seed: 1,
		Faults: []sim.Fault{{AtMs: 9000, What: sim.NodeDown, Node: 2}, {AtMs: 40000, What: sim.NodeUp, Node: 2}},
	}
	for i := range 6 {
		c.Cluster.Nodes = append(c.Cluster.Nodes, sim.Node{
			Name: fmt.Sprint("n", i), Rack: fmt.Sprint("rack", i/3),
			Capacity: slot.Times(2), DiskBytesPerSec: 80e6, LinkBytesPerSec: 25e6,
		})
	}
	jobs := &sim.Jobs{}
	for i := range 5 {
		job := sim.Job{
			SubmitMs: int64(2000 * i), SlowStart: 0.5,
			MapWork:    []sim.Work{{InputBytes: 128 << 20, OutputBytes: 16 << 20, ComputeMs: 3000}},
			ReduceWork: []sim.Work{{OutputBytes: 64 << 20, ComputeMs: 2000}},
		}
		job.JobSpec = state.JobSpec{Name: fmt.Sprint("job", i), Queue: "q", Maps: 12, Reduces: 2, MapSize: slot, ReduceSize: slot}
		for m := range job.Maps {
			job.Replicas.Add(state.NodeID(m%4), state.NodeID((m+2+int32(i))%6))
			job.Cached.Add()
		}
		jobs.List = append(jobs.List, job)
	}
	c.Source = jobs
	return sim.Run(c)
}

// TestSimulations: a simulation under delay.py gives the schedule of delay, and the same
// again.
func TestSimulations(t *testing.T) {
	interpreter := python(t)
	for actuator, name := range []string{sim.Native: "native", sim.Labels: "labels", sim.Ideal: "ideal"} {
		ours := errtest.Must(sched.New("delay", nil))
		want := errtest.Must(simulated(ours, sim.Actuator(actuator)))
		for range 2 {
			m := errtest.Must(external.New(external.Options{Command: []string{interpreter, "python/examples/delay.py"}}))
			got := errtest.Must(simulated(m, sim.Actuator(actuator)))
			if got.Digest != want.Digest || got.Decisions != want.Decisions || got.Attempts.Succeeded != 5*14 {
				t.Errorf("%s: delay.py: schedule %v, %+v, %+v; delay: %v, %+v", name, got.Digest, got.Decisions, got.Attempts, want.Digest,
					want.Decisions)
			}
		}
	}
}

// TestPythonPackage runs the package's own tests.
func TestPythonPackage(t *testing.T) {
	cmd := exec.Command(python(t), "-m", "unittest", "discover", "tests")
	cmd.Dir = "python"
	cmd.Env = append(os.Environ(), "PYTHONPATH=src:examples", "PYTHONDONTWRITEBYTECODE=1")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

var mustDo = errtest.None
