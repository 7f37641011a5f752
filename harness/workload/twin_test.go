package workload_test

import (
	"context"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"heddle/harness/config"
	"heddle/harness/internal/units"
	"heddle/harness/workload"
	"heddle/traces"
	"heddle/traces/errtest"
)

// small is a cluster of four workers in two racks.
func small() *config.Cluster {
	return &config.Cluster{Name: "small", Machines: &config.Machines{
		Nodes: 4, Racks: 2, Slots: 2, Container: 512 * units.MiB, Cache: 64 * units.MiB, BlockSize: 16 * units.MiB, Replication: 2,
		NMHeartbeat: units.Duration(time.Second), AMHeartbeat: units.Duration(time.Second),
	}}
}

// layout is where a workload's maps have their input.
type layout struct {
	jobs             int
	submitted        *traces.JobSubmitted // the last
	maps             []*traces.TaskScheduled
	replicas, cached map[traces.Block][]traces.Node
}

func twin(t interface{ Fatal(...any) }, w config.Workload, c config.Cache, seed uint64) layout {
	h, disk, err := workload.Cluster(small())
	if err != nil {
		t.Fatal(err)
	}
	x := errtest.Must(workload.Of(w).Twin(context.Background(), c))
	events := errtest.Must(x.Events(&h.Cluster, disk, seed))
	l := layout{replicas: map[traces.Block][]traces.Node{}, cached: map[traces.Block][]traces.Node{}}
	for _, e := range events {
		switch e := e.(type) {
		case *traces.JobSubmitted:
			l.jobs++
			l.submitted = e
		case *traces.TaskScheduled:
			if e.Task.Kind == traces.Map {
				l.maps = append(l.maps, e)
			}
		case *traces.BlockReplica:
			l.replicas[e.Block] = append(l.replicas[e.Block], e.Node)
		case *traces.BlockCached:
			l.cached[e.Block] = append(l.cached[e.Block], e.Node)
		}
	}
	return l
}

// TestTwin holds splits and replicas of any input against what Hadoop does: each
// byte is read once, no split is longer than a block and a tenth, and each block
// is on as many nodes as it has replicas, not all in one rack.
func TestTwin(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := config.Workload{
			Name: "wordcount", Label: "wc", Size: units.Size(rapid.Int64Range(16, 2<<30).Draw(t, "bytes")),
			Maps: rapid.IntRange(1, 16).Draw(t, "files"), Reduces: 2, Jobs: rapid.IntRange(1, 3).Draw(t, "jobs"),
		}
		c := config.Cache{Fraction: rapid.SampledFrom([]float64{0, 1}).Draw(t, "fraction"), Seed: 1}
		l := twin(t, w, c, rapid.Uint64().Draw(t, "seed"))
		if l.jobs != w.Jobs {
			t.Fatalf("%d jobs, want %d", l.jobs, w.Jobs)
		}
		read := map[traces.JobID]int64{}
		for i, m := range l.maps {
			read[m.Task.Job] += m.LengthBytes
			if m.LengthBytes <= 0 || m.LengthBytes*10 >= 11*(16<<20) {
				t.Fatalf("map %d reads %d bytes", i, m.LengthBytes)
			}
			replicas, cached := l.replicas[m.Blocks[0]], l.cached[m.Blocks[0]]
			if len(replicas) != 2 || replicas[0][:2] == replicas[1][:2] {
				t.Fatalf("map %d: replicas on %v", i, replicas)
			}
			if len(cached) > 0 && c.Fraction == 0 {
				t.Fatalf("map %d is cached on %v", i, cached)
			}
		}
		for job, sum := range read {
			if want := int64(w.Size) / int64(w.Maps) * int64(w.Maps); sum != want {
				t.Fatalf("the maps of %s read %d bytes of %d", job, sum, want)
			}
		}
	})
}

// TestSameInput has the input where the seed puts it, whatever is asked besides.
func TestSameInput(t *testing.T) {
	w := config.Workload{Name: "sort", Label: "sort", Size: 64 * units.MiB, Maps: 4, Reduces: 1}
	plain, cached := twin(t, w, config.Cache{}, 7), twin(t, w, config.Cache{Fraction: 0.5, Seed: 1}, 7)
	copies := 0
	for i, m := range plain.maps {
		a, b := plain.replicas[m.Blocks[0]], cached.replicas[cached.maps[i].Blocks[0]]
		if !slices.Equal(a, b) {
			t.Errorf("map %d: replicas on %v, and on %v where half is cached", i, a, b)
		}
		copies += len(cached.cached[m.Blocks[0]])
	}
	if copies != 2 {
		t.Errorf("%d of 4 blocks are cached, want half", copies)
	}
}

func TestUnknownSetting(t *testing.T) {
	w := config.Workload{
		Name: "sort", Label: "sort", Size: 64 * units.MiB,
		Settings: map[string]string{"mapreduce.map.sort.spill.percent": "0.5"},
	}
	errtest.Has(t, errtest.Of(workload.Of(w).Twin(t.Context(), config.Cache{})), "mapreduce.map.sort.spill.percent")
}

// TestTasksFillSlots has a task take one of the cluster's containers where its
// workload does not say: two on a node of two slots.
func TestTasksFillSlots(t *testing.T) {
	w := config.Workload{Name: "sort", Label: "sort", Size: 64 * units.MiB, Maps: 4, Reduces: 1}
	if j := twin(t, w, config.Cache{}, 1).submitted; j.MapMemoryBytes != 512<<20 || j.ReduceMemoryBytes != 512<<20 {
		t.Errorf("a map takes %d bytes, a reduce %d, want the container's 512 MiB", j.MapMemoryBytes, j.ReduceMemoryBytes)
	}
	w.Settings = map[string]string{"mapreduce.map.memory.mb": "1024"}
	if j := twin(t, w, config.Cache{}, 1).submitted; j.MapMemoryBytes != 1<<30 {
		t.Errorf("a map takes %d bytes, want the 1 GiB that its workload asks for", j.MapMemoryBytes)
	}
}

// TestTwinOfAQuery: a join has a second job, which reads what the first wrote, and
// has to wait for it. A scan has no reduces. Neither reads the other's files.
func TestTwinOfAQuery(t *testing.T) {
	events := func(w config.Workload) (*workload.Twin, []*traces.JobSubmitted, map[traces.JobID]int64) {
		h, disk, err := workload.Cluster(small())
		if err != nil {
			t.Fatal(err)
		}
		x := errtest.Must(workload.Of(w).Twin(t.Context(), config.Cache{Fraction: 1, Seed: 1}))
		list := errtest.Must(x.Events(&h.Cluster, disk, 1))
		var jobs []*traces.JobSubmitted
		read := map[traces.JobID]int64{}
		for _, e := range list {
			switch e := e.(type) {
			case *traces.JobSubmitted:
				jobs = append(jobs, e)
			case *traces.TaskScheduled:
				read[e.Task.Job] += e.LengthBytes
			}
		}
		return x, jobs, read
	}
	x, jobs, read := events(config.Workload{Name: "join", Label: "join", Visits: 1_000_000, Maps: 6, Reduces: 3})
	if len(jobs) != 2 || jobs[0].Maps != 12 || jobs[0].Reduces != 3 || jobs[1].Maps != 3 || jobs[1].Reduces != 1 {
		t.Fatalf("jobs %+v, want 12 maps (blocks) and 3 reduces, then a map for each of them and 1 reduce", jobs)
	}
	if after := x.After(); len(after) != 1 || after[jobs[1].Job] != jobs[0].Job {
		t.Errorf("jobs after others: %v, want the second after the first", after)
	}
	first, second := read[jobs[0].Job], read[jobs[1].Job]
	if first < 150_000_000 || second < 1 || second > first/10 {
		t.Errorf("the jobs read %d and %d bytes, want about 200 million and much less", first, second)
	}
	for _, f := range x.Files {
		if !f.Cached {
			t.Errorf("file %+v: want it cached", f)
		}
	}
	if _, jobs, _ := events(config.Workload{Name: "scan", Label: "scan", Profile: "small", Maps: 6, Reduces: 3}); len(jobs) != 1 ||
		jobs[0].Reduces != 0 {
		t.Errorf("jobs of a scan: %+v, want one without reduces", jobs)
	}
	if x, jobs, _ := events(config.Workload{Name: "join", Label: "join", Visits: 1000, Jobs: 2}); len(jobs) != 4 || len(x.After()) != 2 {
		t.Errorf("two joins have %d jobs, %d of them later; want 4 and 2", len(jobs), len(x.After()))
	}
}

// TestGrepTwin: each search is followed by a sort, which reads what the search's
// reduces wrote and starts when the search has ended.
func TestGrepTwin(t *testing.T) {
	w := config.Workload{Name: "grep", Label: "g", Size: 64 * units.MiB, Maps: 4, Reduces: 3, Regex: "a", Jobs: 2}
	x := errtest.Must(workload.Of(w).Twin(t.Context(), config.Cache{}))
	want := map[traces.JobID]traces.JobID{"job_0_0003": "job_0_0001", "job_0_0004": "job_0_0002"}
	if diff := cmp.Diff(want, x.After()); diff != "" {
		t.Errorf("jobs that follow others (-want +got):\n%s", diff)
	}
	l := twin(t, w, config.Cache{}, 1)
	var sorts int
	for _, m := range l.maps {
		if m.Task.Job == "job_0_0003" {
			sorts++
			if len(m.Blocks)+len(m.SplitHosts) > 0 || m.LengthBytes <= 0 || m.LengthBytes > 64<<10 {
				t.Errorf("map of a sort: %+v; want a little input on unknown nodes", m)
			}
		}
	}
	if l.jobs != 4 || sorts != 3 || l.submitted.Name != "grep-sort" || l.submitted.Reduces != 1 {
		t.Errorf("%d jobs, %d maps of the first sort, the last job %+v; want 4 jobs, 3 maps, one reduce", l.jobs, sorts, l.submitted)
	}
}

// TestSleepTwin: sleep reads nothing, so its maps have no file and no node, and its
// tasks wait as long as they sleep.
func TestSleepTwin(t *testing.T) {
	w := config.Workload{
		Name: "sleep", Label: "s", Sleep: units.Duration(2 * time.Second), ReduceSleep: units.Duration(time.Second), Maps: 5,
		Reduces: 3, Jobs: 2,
	}
	x := errtest.Must(workload.Of(w).Twin(t.Context(), config.Cache{}))
	l := twin(t, w, config.Cache{}, 1)
	if len(l.maps) != 10 || l.jobs != 2 || l.submitted.Maps != 5 || l.submitted.Reduces != 3 || len(x.After()) != 0 {
		t.Errorf("%d maps in %d jobs, the last %+v, later %v; want 5 maps and 3 reduces in each of two at once", len(l.maps), l.jobs, l.submitted,
			x.After())
	}
	for _, m := range l.maps {
		if len(m.Blocks)+len(m.SplitHosts) > 0 || m.LengthBytes != 0 {
			t.Errorf("map %+v; want one that reads nothing", m)
		}
	}
	if x.Costs.Map.SleepMs != 2000 || x.Costs.Reduce.SleepMs != 1000 || x.Costs.Workload != "sleep sleep=2s reduceSleep=1s" {
		t.Errorf("costs %+v; want sleeps of 2 s and 1 s", x.Costs)
	}
	if _, err := workload.Of(w).Twin(t.Context(), config.Cache{Fraction: 1}); err == nil {
		t.Error("the input of sleep can be cached; it has none")
	}
}

// TestDFSIOTwin: a map of dfsioe has a small file of its own, and takes time for the
// file that this names. Files of other lengths cost other times.
func TestDFSIOTwin(t *testing.T) {
	w := config.Workload{Name: "dfsioe-read", Label: "d", Profile: "small"}
	x := errtest.Must(workload.Of(w).Twin(t.Context(), config.Cache{}))
	l := twin(t, w, config.Cache{}, 1)
	if len(l.maps) != 32 || l.submitted.Reduces != 1 || x.Costs.Map.SleepMs != 150 || x.Costs.Workload != "dfsioe-read file=10485760" {
		t.Errorf("%d maps, %+v, costs %+v; want 32 maps of 150 ms for 10 MiB each, and 1 reduce", len(l.maps), l.submitted, x.Costs)
	}
	for _, m := range l.maps {
		if m.LengthBytes > 1000 || len(m.SplitHosts) != 2 {
			t.Errorf("map %+v; want a small file on two nodes", m)
		}
	}
}

// TestNoTwin: workloads whose jobs are not known say what to do instead.
func TestNoTwin(t *testing.T) {
	for _, w := range []config.Workload{
		{Name: "kmeans", Size: units.MiB},
		{Name: "bayes", Size: units.MiB},
		{Name: "script", Script: "ml/kmeans", Profile: "tiny"},
	} {
		w.Label = "x"
		if _, err := workload.Of(w).Twin(t.Context(), config.Cache{}); err == nil ||
			!strings.Contains(err.Error(), "workload x: only a cluster knows which jobs its programs start; run it there") {
			t.Errorf("%s: error %v", w.Name, err)
		}
	}
}

// TestTooLargeToSimulate refuses what would take a simulation more memory than a
// machine has. The largest workloads below the limits pass: 30 TiB in blocks of
// 16 MiB with two replicas.
func TestTooLargeToSimulate(t *testing.T) {
	tera := int64(units.GiB) << 10
	lab := workload.Conf{BlockBytes: 16 << 20, Replication: 2}
	list := func(maps int) workload.Job { return workload.Job{Maps: make([]workload.Split, maps)} }
	for _, c := range []struct {
		name  string
		files []int64
		jobs  []workload.Job
		conf  workload.Conf
		want  string
	}{
		{"as large as may be", []int64{30 * tera}, []workload.Job{{Reduces: 1}}, lab, ""},
		{"an empty file", []int64{0}, []workload.Job{{}}, lab, ""},
		{
			"too many blocks",
			[]int64{128 * tera},
			[]workload.Job{list(1 << 20)},
			lab,
			"8388608 blocks of 16MiB with 2 replicas each, and a simulation takes at most 2000000",
		},
		{"too many blocks in two files", []int64{20 * tera, 20 * tera}, []workload.Job{list(1)}, lab, "2621440 blocks"},
		{
			"files longer than a number",
			[]int64{math.MaxInt64, math.MaxInt64},
			[]workload.Job{list(1)},
			workload.Conf{BlockBytes: 1, Replication: 1},
			"blocks",
		},
		{"too many replicas", []int64{30 * tera}, []workload.Job{{}}, workload.Conf{BlockBytes: 16 << 20, Replication: 512}, "7812 such blocks"},
		{
			"every job reads all",
			[]int64{30 * tera},
			[]workload.Job{{}, {}},
			lab,
			"2 jobs have 3932160 tasks, and a simulation takes at most 2000000",
		},
		{"jobs that follow", []int64{1}, []workload.Job{list(1), {After: 1, FollowMaps: math.MaxInt32, Reduces: math.MaxInt32}}, lab, "tasks"},
		{"no block size", []int64{1}, nil, workload.Conf{Replication: 1}, "block size 0"},
		{"no replicas", []int64{1}, nil, workload.Conf{BlockBytes: 1}, "replication 0"},
	} {
		x := workload.Twin{Workload: "big", Jobs: c.jobs}
		for _, bytes := range c.files {
			x.Files = append(x.Files, workload.File{Bytes: bytes})
		}
		err := x.Check(c.conf)
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s: %v, want %q", c.name, err, c.want)
		}
	}
}
