package replay

import (
	"math"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"heddle/harness/config"
	"heddle/harness/replay/calibration"
	"heddle/harness/replay/recorded"
	"heddle/harness/stats"
	"heddle/traces"
	"heddle/traces/errtest"
	"heddle/traces/tracefile"
)

// TestRecorded replays real runs with recorded durations under their own model:
// what is left to the simulator is when containers come.
func TestRecorded(t *testing.T) {
	for _, trial := range []string{
		"r01-wordcount-yarn", "r03-wordcount-yarn", "r04-wordcount-yarn", "r01-wordcount-fifo",
		"r03-wordcount-fifo", "r04-wordcount-fifo",
	} {
		x := loaded(t, trial)
		again := must(simulate(&Config{Trace: x, Model: x.OwnModel(), Behaviour: x.OwnBehaviour(), Seed: 1}))
		was, is := makespanMs(x), makespanMs(again)
		if diff := math.Abs(is-was) / was; diff > 0.12 {
			t.Errorf("%s: %.1f s measured, %.1f s replayed", trial, was/1000, is/1000)
		}
		if x.Tasks() != again.Tasks() || len(mapsMs(again)) != 32 {
			t.Errorf("%s: %d tasks, replayed %d with %d maps", trial, x.Tasks(), again.Tasks(), len(mapsMs(again)))
		}
		if mix := mix(again); mix[traces.LevelNode] < 0.8 {
			t.Errorf("%s: maps by level %v; the cluster had nearly all on nodes with their input", trial, mix)
		}
	}
}

// makespanMs is from the first submission to the last job's end.
func makespanMs(x *recorded.Trace) float64 {
	var last traces.Time
	for _, j := range x.Jobs {
		last = max(last, j.Finished)
	}
	return float64(max(0, last-x.Jobs[0].T)) / 1e6
}

// mapsMs are the durations of the maps that won.
func mapsMs(x *recorded.Trace) (list []float64) {
	for _, j := range x.Jobs {
		for i := range j.Tasks[traces.Map] {
			if a := j.Tasks[traces.Map][i].Won; a != nil {
				list = append(list, a.Ms())
			}
		}
	}
	return list
}

// mix is the share of maps, 0 to 1, that won at each level.
func mix(t *recorded.Trace) [traces.LevelOff + 1]float64 {
	var mix [traces.LevelOff + 1]float64
	n := 0.0
	for _, j := range t.Jobs {
		for i := range j.Tasks[traces.Map] {
			if a := j.Tasks[traces.Map][i].Won; a != nil && a.Level.Valid() {
				mix[a.Level]++
				n++
			}
		}
	}
	for l := range mix {
		mix[l] /= max(1, n)
	}
	return mix
}

// TestCalibrateRecovers simulates a cluster whose costs are known and has them
// fitted to what came of it.
func TestCalibrateRecovers(t *testing.T) {
	truth := must(Calibrate([]*recorded.Trace{loaded(t, "r01-wordcount-fifo"), loaded(t, "r03-wordcount-fifo")}, recorded.Change{}, ""))
	w := truth.Of("wordcount")
	w.Map.FixedMs, w.Map.MsPerMiB, w.Map.Spread = 0, 2000, []float64{0.9, 1, 1.1}
	w.Reduce.FixedMs, w.Reduce.MsPerMiB, w.Reduce.Spread = 4000, 0, []float64{0.8, 1, 1.2}
	truth.Sharing, truth.TaskStart = 0.5, calibration.Figure{} // simulated attempts have no counters, which tell the start
	var seen []*recorded.Trace
	for seed := range uint64(3) {
		x := loaded(t, "r01-wordcount-fifo")
		again := must(simulate(&Config{Trace: x, Model: x.OwnModel(), Seed: seed, Calibration: truth, Modelled: true}))
		again.Header.Settings = x.Header.Settings
		again.Header.Synthetic = nil // here the simulated run is the measured one
		for i := range again.Nodes {
			again.Nodes[i].Cores = x.Nodes[i].Cores // the header has those that are shared
		}
		seen = append(seen, again)
	}
	got := must(Calibrate(seen, recorded.Change{}, ""))
	within := func(what string, got, want, part float64) {
		t.Helper()
		if math.Abs(got-want) > part*want {
			t.Errorf("%s is fitted as %.4g, was %.4g", what, got, want)
		}
	}
	if got.Sharing != truth.Sharing {
		t.Errorf("sharing is fitted as %v, was %v; %v", got.Sharing, truth.Sharing, got.SharingSpread)
	}
	g := got.Of("wordcount")
	within("maps' time", g.Map.MsPerMiB, 2000, 0.05)
	within("reduces' time", g.Reduce.FixedMs, 4000, 0.15)
	within("the master's start", got.AMStart.Value, truth.AMStart.Value, 0.01)
	within("turnover", got.Turnover.Value, truth.Turnover.Value, 0.25)
	within("finish", got.Finish.Value, truth.Finish.Value, 0.05)
	if g.Map.Corrected < 0.9 || g.Map.Corrected > 1.1 {
		t.Errorf("the fit was corrected by %v: it should have been right before", g.Map.Corrected)
	}
}

// byLevel is a trace of maps of so many bytes, of which one reads from the cache in
// 4 s, one from the disk in 5, one from elsewhere in 7, and so on, give or take 50
func TestChanges(t *testing.T) {
	x := loaded(t, "r01-wordcount-yarn")
	plain := changed(t, x, recorded.Change{})
	t.Run("more nodes", func(t *testing.T) {
		big := changed(t, x, recorded.Change{Nodes: 16, Racks: 4})
		if len(big.Nodes) != 16 || big.Nodes[15].Rack != "/rack4" {
			t.Errorf("%d nodes, the last %+v", len(big.Nodes), big.Nodes[len(big.Nodes)-1])
		}
		if makespanMs(big) > 0.6*makespanMs(plain) {
			t.Errorf("%.1f s on 16 nodes, %.1f s on 4", makespanMs(big)/1000, makespanMs(plain)/1000)
		}
		used := map[traces.Node]bool{}
		for _, hosts := range splits(t, x, recorded.Change{Nodes: 16, Racks: 4}) {
			for _, n := range hosts {
				used[n] = true
			}
			if len(hosts) != 2 {
				t.Fatalf("a block with replicas on %v, want 2 as recorded", hosts)
			}
		}
		if len(used) < 8 {
			t.Errorf("32 replicas on only %d of 16 nodes", len(used))
		}
	})
	t.Run("replication", func(t *testing.T) {
		for _, hosts := range splits(t, x, recorded.Change{Replication: 3}) {
			if len(hosts) != 3 {
				t.Fatalf("replicas on %v, want 3", hosts)
			}
		}
	})
	t.Run("speed", func(t *testing.T) {
		fast := changed(t, x, recorded.Change{Speed: 2})
		a, b := stats.Mean(mapsMs(plain)).Value, stats.Mean(mapsMs(fast)).Value
		if math.Abs(a/b-2) > 0.01 {
			t.Errorf("maps of %.0f ms take %.0f ms at twice the speed", a, b)
		}
	})
	t.Run("load", func(t *testing.T) {
		gap := func(t *recorded.Trace) traces.Time { return t.Jobs[1].T - t.Jobs[0].T }
		if got, want := gap(changed(t, x, recorded.Change{Load: 4})), gap(x)/4; math.Abs(float64(got-want)) > 2e6 {
			t.Errorf("the second job comes %v after the first, want %v", got, want)
		}
	})
	t.Run("slots", func(t *testing.T) {
		if one := changed(t, x, recorded.Change{Slots: 1}); makespanMs(one) < 1.5*makespanMs(plain) {
			t.Errorf("%.1f s with half the slots, %.1f s before", makespanMs(one)/1000, makespanMs(plain)/1000)
		}
	})
	t.Run("a disk as the trace says", func(t *testing.T) {
		x := loaded(t, "r01-wordcount-yarn")
		x.Header.Cluster.Disks = []traces.DiskFacts{{Node: x.Nodes[0].Node, BytesPerSec: 9 << 20}}
		m := must(x.Machines(&recorded.Change{}))
		(&Config{Trace: x, Calibration: &calibration.Calibration{DiskBytesPerSec: 1}}).limit(&m)
		if got := m.Nodes[0].DiskBytesPerSec; got != 9<<20 {
			t.Errorf("node %s reads %d bytes/s, want those of the trace", m.Nodes[0].Name, got)
		}
	})
	t.Run("nodes of ApplicationMasters", func(t *testing.T) {
		x := loaded(t, "r01-wordcount-yarn")
		recordedMasters := must(x.Machines(&recorded.Change{}))
		x.Header.Cluster.Nodes = append(x.Header.Cluster.Nodes, traces.NodeFacts{Node: "am2", MemoryBytes: 2 << 30},
			traces.NodeFacts{Node: "no NodeManager"})
		x.Header.Cluster.AMMemoryBytes = 1 << 30
		m := must(x.Machines(&recorded.Change{}))
		if nodes, mb := m.Masters-recordedMasters.Masters, m.MastersMB-recordedMasters.MastersMB; nodes != 2 || mb != 3<<10 {
			t.Errorf("%d nodes of %d MB more, want the two that have memory, of 3072", nodes, mb)
		}
	})
	for _, bad := range []recorded.Change{
		{Nodes: -1},
		{Nodes: 2, Racks: 3},
		{Slots: -1},
		{Replication: 1000},
		{Speed: math.NaN()},
		{Load: -1},
		{Cores: []float64{-1}},
	} {
		if _, err := simulate(&Config{Trace: x, Model: x.OwnModel(), Change: bad}); err == nil {
			t.Errorf("%+v is taken", bad)
		}
	}
}

// splits are the hosts of the input of each map in a replay.
func splits(t *testing.T, x *recorded.Trace, c recorded.Change) (hosts [][]traces.Node) {
	t.Helper()
	for _, e := range events(t, Config{Trace: x, Model: config.Model{Model: config.ModelYARN}, Seed: 1, Change: c}) {
		if e, ok := e.(*traces.TaskScheduled); ok && e.Task.Kind == traces.Map {
			hosts = append(hosts, e.SplitHosts)
		}
	}
	if len(hosts) == 0 {
		t.Fatal("no maps")
	}
	return hosts
}

func changed(t *testing.T, x *recorded.Trace, c recorded.Change) *recorded.Trace {
	t.Helper()
	again := must(simulate(&Config{Trace: x, Model: config.Model{Model: config.ModelYARN}, Seed: 1, Change: c}))
	return again
}

// TestSameSeed has replays come out the same one at a time and side by side.
func TestSameSeed(t *testing.T) {
	x := loaded(t, "r01-wordcount-fifo")
	var list []Config
	for range 2 {
		for _, name := range []string{"yarn", "fifo", "delay", "acl", "fair", "random", "matching"} {
			for seed := range uint64(2) {
				list = append(list, Config{Trace: x, Model: config.Model{Model: name}, Seed: seed})
			}
		}
	}
	out, err := Outcomes(list)
	mustDo(t, err)
	half := len(list) / 2
	for i := range half {
		if out[i].ScheduleDigest != out[i+half].ScheduleDigest || out[i].TraceDigest != out[i+half].TraceDigest {
			t.Errorf("%s, seed %d: %s and %s", out[i].Model, out[i].Seed, out[i].ScheduleDigest, out[i+half].ScheduleDigest)
		}
		if out[i].Model != list[i].Model.Model || out[i].Seed != list[i].Seed || out[i].MakespanMs <= 0 || out[i].Attempts.OK != 36 {
			t.Errorf("%d: %s, seed %d, %v ms, %+v", i, out[i].Model, out[i].Seed, out[i].MakespanMs, out[i].Attempts)
		}
	}
	one, err := Outcomes(list[3:4])
	if err != nil || one[0].TraceDigest != out[3].TraceDigest {
		t.Errorf("alone %v, among others %v, %v", one[0].TraceDigest, out[3].TraceDigest, err)
	}
}

func TestModelErrors(t *testing.T) {
	x := loaded(t, "r01-wordcount-yarn")
	for want, c := range map[string]Config{
		"actuator: \"hands\": want":          {Behaviour: config.Behaviour{Actuator: "hands"}},
		"splits: \"half\": want":             {Behaviour: config.Behaviour{Splits: "half"}},
		"its actuator can only be none":      {Behaviour: config.Behaviour{Actuator: config.ActuatorLabels}},
		"nosuch":                             {Model: config.Model{Model: "nosuch"}},
		"the calibration lacks the costs of": {Modelled: true, Calibration: &calibration.Calibration{Format: 1}},
	} {
		c.Trace = x
		if c.Model.Model == "" {
			c.Model.Model = config.ModelYARN
		}
		errtest.Has(t, errtest.Of(simulate(&c)), want)
	}
}

func TestCalibrationFile(t *testing.T) {
	c, err := Calibrate([]*recorded.Trace{loaded(t, "r01-wordcount-yarn")}, recorded.Change{}, "")
	mustDo(t, err)
	path := filepath.Join(t.TempDir(), "c.json")
	mustDo(t, c.WriteFile(path))
	x := loaded(t, "r03-wordcount-yarn")
	again := must(calibration.Read(path))
	out, err := Outcomes([]Config{
		{Trace: x, Model: x.OwnModel(), Calibration: c, Modelled: true},
		{Trace: x, Model: x.OwnModel(), Calibration: again, Modelled: true},
	})
	if err != nil || out[0].TraceDigest != out[1].TraceDigest {
		t.Errorf("a calibration that was written and read replays otherwise: %v", err)
	}
}

func FuzzReadCalibration(f *testing.F) {
	const figure, phase = `{"value":1,"samples":1,"error":1}`,
		`{"samples":1,"fixedMs":1e3,"msPerMiB":2,"errorPct":1,"sharedPct":1,"spread":[0.5,1,2],"corrected":1}`
	f.Add([]byte(`{"format":1,"traces":[],"sharing":0.5,"sharingSpread":{"0":1},"misfitPct":1,"amStartMs":` + figure + `,"finishMs":` +
		figure + `,"turnoverMs":` + figure +
		`,"taskStartMs":` + figure + `,"launchMs":1,"labelMs":` + figure +
		`,"workloads":[{"workload":"wordcount","jobs":1,"mapOutputPerByte":1,"reduceOutputPerByte":1,"map":` + phase + `,"reduce":` + phase +
		`}]}`))
	f.Add([]byte(`{"format":1,"sharing":-1}`))
	f.Add([]byte(`{"format":2}`))
	x := must(loadBytes(claiming(f, 1)))
	dir := f.TempDir()
	f.Fuzz(func(t *testing.T, data []byte) {
		if len(data) > 4<<10 {
			t.Skip("longer inputs find little more in the same time")
		}
		path := filepath.Join(dir, "c.json")
		mustDo(t, os.WriteFile(path, data, 0o600))
		c, err := calibration.Read(path)
		if err != nil {
			return
		}
		// What is read replays, or says why not.
		if _, err := simulate(&Config{
			Trace: x, Model: config.Model{Model: "fifo"}, Calibration: c, Modelled: true, Workload: "wordcount",
			Interrupted: soon(3),
		}); err != nil && err.Error() == "" {
			t.Error("an empty error")
		}
	})
}

func TestBadTraces(t *testing.T) {
	for want, events := range map[string][]traces.Event{
		"it has no jobs":  {&traces.NodeDown{}},
		"submitted twice": {&traces.JobSubmitted{Job: "a"}, &traces.JobSubmitted{Job: "a"}},
		"-1 maps":         {&traces.JobSubmitted{Job: "a", Maps: -1}},
	} {
		errtest.Has(t, errtest.Of(recorded.New("x", traces.Header{}, slices.Values(events))), want)
	}
	// Events of jobs and tasks that are not there are passed over; a cluster that
	// is not told has to be given.
	x := must(recorded.New("x", traces.Header{}, slices.Values([]traces.Event{
		&traces.JobSubmitted{Job: "a", Maps: 2, Reduces: 1}, &traces.TaskScheduled{Task: traces.Task{Job: "b"}},
		&traces.TaskScheduled{Task: traces.Task{Job: "a"}},
		&traces.AttemptFinished{Attempt: traces.Attempt{Task: traces.Task{Job: "a", Index: 7}}},
		&traces.TaskScheduled{Task: traces.Task{Job: "a", Index: -1}},
	})))
	c := Config{Trace: x, Model: x.OwnModel()}
	errtest.Has(t, errtest.Of(simulate(&c)), "--nodes")
	c.Change.Nodes = 3
	if _, err := simulate(&c); err != nil {
		t.Error(err)
	}
	cut := filepath.Join(t.TempDir(), "cut.heddle")
	data := must(os.ReadFile(filepath.Join(lab, "r01-wordcount-yarn", "trace.heddle")))
	mustDo(t, os.WriteFile(cut, data[:len(data)-40], 0o644))
	if x, err := recorded.Load(cut); err == nil && len(x.Warnings) == 0 {
		t.Error("a trace that was cut off is loaded without a warning")
	}
}

// TestOutMatchesDigest has the digest of a replay be that of its trace written.
func TestOutMatchesDigest(t *testing.T) {
	x := loaded(t, "r01-wordcount-fifo")
	var events []traces.Event
	out, err := Outcomes([]Config{{Trace: x, Model: x.OwnModel(), Seed: 1, Record: func(e traces.Event) { events = append(events, e) }}})
	mustDo(t, err)
	path := filepath.Join(t.TempDir(), "out.heddle")
	traces.Sort(events)
	mustDo(t, tracefile.WriteFile(path, out[0].Header, events))
	report, err := tracefile.Check(path)
	if err != nil || len(report.Damage)+len(report.Warnings) > 0 {
		t.Fatalf("%v, %+v", err, report)
	}
	r := must(tracefile.Open(path))
	defer r.Close()
	for r.Next() {
	}
	if f := r.Footer(); f == nil || f.TraceDigest != out[0].TraceDigest || f.ScheduleDigest != out[0].ScheduleDigest {
		t.Errorf("file %+v, replay %s %s", f, out[0].TraceDigest, out[0].ScheduleDigest)
	}
}

// must returns x, and panics with the error if there is one.
func must[T any](x T, err error) T {
	if err != nil {
		panic(err)
	}
	return x
}

var mustDo = errtest.None
