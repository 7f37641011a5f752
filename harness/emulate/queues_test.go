package emulate_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aclements/go-moremath/stats"

	"heddle/collectors/hdfs/jobsplit"
	"heddle/collectors/yarn"
	"heddle/harness/config"
	"heddle/harness/emulate"
	"heddle/harness/internal/units"
	"heddle/harness/queues"
	"heddle/harness/sched"
	"heddle/harness/sim"
	"heddle/harness/state"
	"heddle/traces"
	"heddle/yarnclient"
)

// What is emulated and simulated by each file of queues.
const (
	queueNodes, queueSlots = 20, 8
	queueBeatMs            = 500
	queueAMStartMs         = 500
	queueFinishMs          = 50
	queueLaunchMs          = 20
	// queueHeardMs is how long after its end a ResourceManager hears that a job is over: its master
	// asks twice.
	queueHeardMs = 100
)

// How many jobs there are under each file, and within what time they come.
var queueJobs, queueSpreadMs = 20, int64(8_000)

// queueJob is a job that is run in both worlds.
type queueJob struct {
	Queue, User     string
	AtMs            int64
	Maps, Reduces   []int64 // how long each takes, in ms
	MapMB, ReduceMB int32
	MasterMB        int32
	Priority        int32
	Hosts           [][]int // of each map
}

// queueRun is what became of a job: when its ApplicationMaster was up, when each of its maps
// started, and when it ended, in ms since its submission. EndMs is -1 if it was refused.
type queueRun struct {
	UpMs, EndMs int64
	Maps        []int64
	Preempted   int // attempts
}

// drawFile draws a file of queues.
func drawFile(r *rand.Rand) string {
	var b strings.Builder
	set := func(key string, value any) { fmt.Fprintf(&b, "%s=%v\n", key, value) }
	one := func(list ...string) string { return list[r.IntN(len(list))] }
	if r.IntN(3) == 0 {
		set("resource-calculator", "org.apache.hadoop.yarn.util.resource.DominantResourceCalculator")
	}
	set("maximum-am-resource-percent", one("0.1", "0.2", "0.5", "1"))
	if r.IntN(2) == 0 {
		set("node-locality-delay", one("-1", "0", "5", "40"))
	}
	if r.IntN(3) == 0 {
		set("per-node-heartbeat.maximum-offswitch-assignments", 1+r.IntN(4))
	}
	var grow func(path string, depth int, mode int)
	grow = func(path string, depth, mode int) {
		n := 2 + r.IntN(3)
		var names []string
		weights, sum := make([]int, n), 0
		for i := range n {
			names = append(names, fmt.Sprintf("q%d%c", depth, 'a'+rune(i)))
			weights[i] = 1 + r.IntN(9)
			sum += weights[i]
		}
		set(path+".queues", strings.Join(names, ","))
		if r.IntN(4) == 0 {
			set(path+".ordering-policy", "priority-utilization")
		}
		left := 100.0
		for i, name := range names {
			q := path + "." + name
			share := math.Round(1000*float64(weights[i])/float64(sum)) / 10
			if i == n-1 {
				share = math.Round(left*10) / 10
			}
			left -= share
			switch mode {
			case 0:
				set(q+".capacity", share)
			case 1:
				set(q+".capacity", fmt.Sprintf("%dw", weights[i]))
			case 2:
				set(q+".capacity", fmt.Sprintf("[memory=%d,vcores=%d]", weights[i]*6144, weights[i]*6))
			}
			if mode != 2 && r.IntN(2) == 0 {
				set(q+".maximum-capacity", math.Min(100, math.Round(share+float64(r.IntN(60)))))
			}
			if r.IntN(4) == 0 {
				set(q+".priority", r.IntN(3))
			}
			if mode != 2 && depth < 2 && r.IntN(3) == 0 {
				grow(q, depth+1, r.IntN(2))
				continue
			}
			set(q+".user-limit-factor", one("0.5", "1", "2", "5", "100"))
			set(q+".minimum-user-limit-percent", one("100", "50", "25", "10"))
			if r.IntN(3) == 0 {
				set(q+".ordering-policy", "fair")
			}
			if r.IntN(3) == 0 {
				set(q+".maximum-am-resource-percent", one("0.05", "0.3", "0.8"))
			}
			if r.IntN(5) == 0 {
				set(q+".maximum-applications", 5+r.IntN(20))
			}
		}
	}
	grow("root", 0, r.IntN(3))
	return b.String()
}

// drawJobs draws jobs for the queues of a file.
func drawJobs(r *rand.Rand, f *queues.File, n int) []queueJob {
	leaves := f.Leaves()
	sizes, priorities := r.IntN(3) == 0, r.IntN(4) == 0
	jobs := make([]queueJob, n)
	for i := range jobs {
		j := &jobs[i]
		j.Queue = leaves[r.IntN(len(leaves))].Path
		j.User = fmt.Sprintf("user%d", r.IntN(4))
		j.AtMs = r.Int64N(queueSpreadMs)
		j.MapMB, j.ReduceMB, j.MasterMB = 1024, 1024, 1024
		if sizes {
			j.MapMB, j.ReduceMB, j.MasterMB = 1024*(1+r.Int32N(2)), 1024*(1+r.Int32N(3)), 512*(1+r.Int32N(3))
		}
		if priorities {
			j.Priority = r.Int32N(4)
		}
		maps := 1 + r.IntN(8)
		if r.IntN(6) == 0 {
			maps = 10 + r.IntN(50)
		}
		length := 2000 + r.Int64N(7000)
		for range maps {
			j.Maps = append(j.Maps, length*(80+r.Int64N(40))/100)
			j.Hosts = append(j.Hosts, []int{r.IntN(queueNodes), r.IntN(queueNodes)})
		}
		for range r.IntN(3) {
			j.Reduces = append(j.Reduces, length)
		}
	}
	slices.SortFunc(jobs, func(a, b queueJob) int { return int(a.AtMs - b.AtMs) })
	return jobs
}

// emulateQueues runs jobs under a real ResourceManager with a file of queues.
func emulateQueues(t *testing.T, f *queues.File, jobs []queueJob) []queueRun {
	t.Helper()
	name := filepath.Join(t.TempDir(), "capacity-scheduler.xml")
	mustDo(t, os.WriteFile(name, []byte(f.XML()), 0o600))
	beat := units.Duration(queueBeatMs * time.Millisecond)
	c := start(t, &config.Cluster{Name: "queues", Machines: &config.Machines{
		Nodes: queueNodes, Racks: 2, Slots: queueSlots, Container: 1024 * units.MiB, BlockSize: 64 * units.MiB, Replication: 2,
		NMHeartbeat: beat, AMHeartbeat: beat, Queues: name, Labels: labelsOf(f),
	}})
	runs := make([]queueRun, len(jobs))
	var all sync.WaitGroup
	ctx, cancel := context.WithTimeoutCause(t.Context(), 6*time.Minute, errors.New("a job does not end"))
	defer cancel()
	began := time.Now()
	for i := range jobs {
		all.Go(func() {
			<-time.After(time.Until(began.Add(time.Duration(jobs[i].AtMs) * time.Millisecond)))
			j := emulated(c, fmt.Sprintf("j%d", i), &jobs[i])
			_, err := c.Run(ctx, j)
			if failed := (*emulate.JobError)(nil); errors.As(err, &failed) {
				t.Logf("job %d of %s in %s: %v", i, jobs[i].User, jobs[i].Queue, err)
				runs[i].EndMs = -1
			} else if err != nil {
				t.Error(err)
			}
		})
	}
	if all.Wait(); t.Failed() {
		t.FailNow()
	}
	apps, err := c.RM.Apps(t.Context(), yarnclient.AppFilter{})
	mustDo(t, err)
	for _, app := range apps {
		i, _ := strconv.Atoi(strings.TrimPrefix(app.Name, "j"))
		if runs[i].EndMs < 0 {
			continue
		}
		h, err := emulate.Files{Cluster: c}.ReadHistory(t.Context(), "", "job_"+strings.TrimPrefix(app.ID, "application_"))
		mustDo(t, err)
		runs[i].UpMs, runs[i].EndMs = h.Job.LaunchMs-h.Job.SubmitMs, h.Job.FinishMs-h.Job.SubmitMs
		for _, task := range h.Job.Tasks {
			for _, a := range task.Attempts {
				if a.Error == traces.KilledByYARN {
					runs[i].Preempted++
				}
			}
		}
		for _, task := range h.Job.Tasks[:len(jobs[i].Maps)] {
			runs[i].Maps = append(runs[i].Maps, task.Attempts[0].StartMs-h.Job.SubmitMs)
		}
	}
	if beats, late := c.Counts(); float64(late) > 0.01*float64(beats) {
		t.Skipf("%d of %d heartbeats were late: this machine is too busy", late, beats)
	}
	return runs
}

func emulated(c *emulate.Cluster, name string, x *queueJob) *emulate.Job {
	text := func(n int32) string { return strconv.Itoa(int(n)) }
	j := &emulate.Job{User: x.User, Conf: yarn.Conf{
		"mapreduce.job.name": name, "mapreduce.job.queuename": x.Queue, "mapreduce.job.tags": "t", "mapreduce.job.priority": text(x.Priority),
		"mapreduce.map.memory.mb": text(x.MapMB), "mapreduce.reduce.memory.mb": text(x.ReduceMB),
		"yarn.app.mapreduce.am.resource.mb":                     text(x.MasterMB),
		"yarn.app.mapreduce.am.scheduler.heartbeat.interval-ms": strconv.Itoa(queueBeatMs), config.SlowStart: "1",
		"mapreduce.job.reduces": strconv.Itoa(len(x.Reduces)),
	}, Steps: emulate.Steps{
		AMStart: queueAMStartMs * time.Millisecond, Launch: queueLaunchMs * time.Millisecond, Finish: queueFinishMs * time.Millisecond,
	}}
	for i, ms := range x.Maps {
		task := emulate.Task{
			Length: time.Duration(ms) * time.Millisecond, Counters: traces.NoCounters,
			Split: jobsplit.Split{Path: fmt.Sprintf("/%s/%d", name, i), Length: 1 << 20},
		}
		for _, n := range x.Hosts[i] {
			task.Hosts = append(task.Hosts, c.Nodes[n].Host)
		}
		j.Maps = append(j.Maps, task)
	}
	for _, ms := range x.Reduces {
		j.Reduces = append(j.Reduces, emulate.Task{Length: time.Duration(ms) * time.Millisecond, Counters: traces.NoCounters})
	}
	return j
}

// labelsOf has four nodes with each label that queues of a file ask for.
func labelsOf(f *queues.File) map[string]int {
	list := map[string]int{}
	for _, q := range f.Leaves() {
		if q.DefaultLabel != "" {
			list[q.DefaultLabel] = 4
		}
	}
	return list
}

// simulateQueues simulates the same jobs under the model capacity with the file. Nodes beat in the order
// of their names if order is 0, else in one that is drawn.
func simulateQueues(t *testing.T, f *queues.File, jobs []queueJob, order uint64) ([]queueRun, error) {
	t.Helper()
	m, err := sched.New("capacity", sched.Params{"queues": f.String()})
	mustDo(t, err)
	costs := sim.NoCosts()
	costs.NodeBeatMs, costs.AMBeatMs, costs.AMStartMs, costs.LaunchMs, costs.FinishMs = queueBeatMs, queueBeatMs, queueAMStartMs,
		queueLaunchMs, queueFinishMs+queueHeardMs
	costs.SubmitMs = 60
	c := &sim.Config{Model: m, Costs: costs, MinAllocation: state.Resource{MemoryMB: 128, VCores: 1}, Seed: max(1, order), Shuffled: order > 0}
	cores := int32(queueSlots)
	if !f.Dominant {
		cores = 1000 // nobody counts them
	}
	machines := config.Machines{Nodes: queueNodes, Racks: 2, Slots: queueSlots, Container: 1024 * units.MiB, Labels: labelsOf(f)}
	facts, _ := machines.Facts("queues", config.Rates{})
	for _, n := range facts.Nodes {
		c.Cluster.Nodes = append(c.Cluster.Nodes, sim.Node{
			Name: string(n.Node), Rack: n.Rack, Label: n.Label, Capacity: state.Resource{MemoryMB: 1024 * queueSlots, VCores: cores},
		})
	}
	source := &sim.Jobs{}
	runs := make([]queueRun, len(jobs))
	for i, x := range jobs {
		j := sim.Job{JobSpec: state.JobSpec{
			Name: fmt.Sprintf("j%d", i), User: x.User, Queue: x.Queue, Priority: x.Priority, Maps: int32(len(x.Maps)),
			Reduces: int32(len(x.Reduces)),
			MapSize: state.Resource{MemoryMB: x.MapMB, VCores: 1}, ReduceSize: state.Resource{MemoryMB: x.ReduceMB, VCores: 1},
		}, SubmitMs: x.AtMs, SlowStart: 1, AMSize: state.Resource{MemoryMB: x.MasterMB, VCores: 1}}
		for k, ms := range x.Maps {
			j.MapWork = append(j.MapWork, sim.Work{FixedMs: int32(ms)})
			var hosts []state.NodeID
			for _, n := range x.Hosts[k] {
				hosts = append(hosts, state.NodeID(n))
			}
			j.Replicas.Add(hosts...)
		}
		for _, ms := range x.Reduces {
			j.ReduceWork = append(j.ReduceWork, sim.Work{FixedMs: int32(ms)})
		}
		source.List = append(source.List, j)
		runs[i].UpMs = -1
	}
	c.Source = source
	c.Ended = func(e sim.AttemptEnd) {
		if e.Outcome == traces.Killed {
			runs[e.Job].Preempted++
		}
		if e.Kind == state.Map && e.Outcome == traces.Succeeded {
			at := jobs[e.Job].AtMs
			runs[e.Job].Maps = append(runs[e.Job].Maps, e.StartMs-at)
			runs[e.Job].UpMs = e.UpMs - at
		}
	}
	result, err := sim.Run(c)
	if err != nil {
		return nil, err
	}
	for i := range result.Jobs {
		if r := &result.Jobs[i]; r.Refused != "" {
			runs[i].EndMs = -1
		} else {
			runs[i].EndMs = r.EndMs - r.SubmitMs - queueHeardMs
		}
	}
	return runs, nil
}

// simulateOrders simulates the same jobs with nodes that beat in the order of their names, and in twelve others.
func simulateOrders(t *testing.T, f *queues.File, jobs []queueJob) (list [][]queueRun, err error) {
	t.Helper()
	for order := range uint64(13) {
		runs, err := simulateQueues(t, f, jobs, order)
		if err != nil {
			return nil, err
		}
		list = append(list, runs)
	}
	return list, nil
}

// drawQueues draws a file of queues, unless one is given, and jobs which under it all end soon or
// are refused, in whatever order nodes beat: under some files ApplicationMasters hold for ever all that their user may have.
func drawQueues(t *testing.T, seed uint64, given string) (*queues.File, []queueJob, [][]queueRun) {
	t.Helper()
	for try := uint64(1); ; try++ {
		r := rand.New(rand.NewPCG(seed, try)) //nolint:gosec // a test's
		text := given
		if text == "" {
			text = drawFile(r)
		}
		f, err := queues.Read(strings.NewReader(text))
		if err != nil {
			t.Fatal(text, err)
		}
		jobs := drawJobs(r, f, queueJobs)
		worlds, err := simulateOrders(t, f, jobs)
		last, refused := int64(0), 0
		for _, runs := range worlds {
			for i := range runs {
				last = max(last, jobs[i].AtMs+runs[i].EndMs)
			}
		}
		if err == nil {
			refused = refusedOf(worlds[0])
		}
		if err == nil && last < 2*queueSpreadMs+20_000 && refused < queueJobs/2 || try > 100 {
			return f, jobs, worlds
		}
	}
}

func refusedOf(runs []queueRun) (n int) {
	for i := range runs {
		if runs[i].EndMs < 0 {
			n++
		}
	}
	return n
}

// TestQueuesOracle holds the model capacity with files of queues against a real ResourceManager. It
// takes a file and a few jobs, and judges the completion of all together. With HEDDLE_QUEUES, a folder for what ResourceManagers
// did, it takes all
// files and more jobs, two hours; what is in the folder is not done again. Where queues are full, the order in which
// nodes beat decides much, and a ResourceManager's is by chance: the simulation is the mean of several orders.
//
//	HEDDLE_QUEUES=/var/tmp/queues go test ./harness/emulate -run TestQueuesOracle -v -timeout 3h
func TestQueuesOracle(t *testing.T) {
	needJars(t)
	data, err := os.ReadFile("testdata/queues.txt")
	mustDo(t, err)
	published := strings.Split(string(data), "\n\n")
	const drawn = 30
	folder, files := os.Getenv("HEDDLE_QUEUES"), []int{drawn + 1}
	whole := folder != ""
	if !whole {
		folder = t.TempDir()
	} else {
		queueJobs, queueSpreadMs = 100, 40_000
		files = nil
		for n := range drawn + len(published) {
			files = append(files, n)
		}
		mustDo(t, os.MkdirAll(folder, 0o700))
	}
	for _, n := range files {
		t.Run(strconv.Itoa(n), func(t *testing.T) {
			text := ""
			if n >= drawn {
				_, text, _ = strings.Cut(published[n-drawn], "\n")
			}
			f, jobs, simulated := drawQueues(t, uint64(n), text)
			emulated := [][]queueRun{emulatedOnce(t, filepath.Join(folder, fmt.Sprintf("%d.json", n)), f, jobs)}
			wrong := compareQueues(t, f, jobs, emulated, simulated, whole)
			if whole && len(wrong) > 0 { // what differs by no more than two runs of Hadoop do is equal
				emulated = append(emulated, emulatedOnce(t, filepath.Join(folder, fmt.Sprintf("%d-again.json", n)), f, jobs))
				wrong = compareQueues(t, f, jobs, emulated, simulated, whole)
			}
			for _, text := range wrong {
				t.Error(text)
			}
		})
	}
}

// emulatedOnce is emulateQueues, or what it gave before for the same jobs if the file has that.
func emulatedOnce(t *testing.T, name string, f *queues.File, jobs []queueJob) (runs []queueRun) {
	t.Helper()
	of := fmt.Sprintln(f, jobs)
	before, _ := os.ReadFile(name + ".txt")
	if data, err := os.ReadFile(name); err == nil && string(before) == of {
		if err := json.Unmarshal(data, &runs); err != nil {
			t.Fatal(err)
		}
		return runs
	}
	runs = emulateQueues(t, f, jobs)
	data, _ := json.Marshal(runs)
	if err := errors.Join(os.WriteFile(name, data, 0o600), os.WriteFile(name+".txt", []byte(of), 0o600)); err != nil {
		t.Fatal(err)
	}
	return runs
}

// compareQueues returns in what simulations, which differ by the order of heartbeats, differ in the mean from Hadoop, of which
// there are one or two runs. A job that one of them refuses is not compared.
func compareQueues(t *testing.T, f *queues.File, jobs []queueJob, emulated, simulated [][]queueRun, whole bool) (wrong []string) {
	t.Helper()
	type sums struct{ n, up, end, wait, maps float64 }
	refused := func(i int) bool {
		return slices.ContainsFunc(slices.Concat(emulated, simulated), func(runs []queueRun) bool { return runs[i].EndMs < 0 })
	}
	of := func(runs []queueRun, in func(*queueJob) bool) (s sums) {
		for i := range jobs {
			if !in(&jobs[i]) || refused(i) {
				continue
			}
			s.n++
			s.up += float64(runs[i].UpMs)
			s.end += float64(runs[i].EndMs)
			for _, ms := range runs[i].Maps {
				s.wait += float64(ms - runs[i].UpMs)
				s.maps++
			}
		}
		return s
	}
	var taskMs, tasks float64
	for i := range jobs {
		for _, ms := range jobs[i].Maps {
			taskMs, tasks = taskMs+float64(ms), tasks+1
		}
	}
	taskMs /= tasks
	// A job may come just before or after another has ended: between two runs of Hadoop, too.
	unlike := func(a, b []queueRun) (n int) {
		for i := range jobs {
			if (a[i].EndMs < 0) != (b[i].EndMs < 0) {
				n++
			}
		}
		return n
	}
	least, all := len(jobs), 0
	for _, runs := range emulated {
		n := unlike(runs, simulated[0])
		least, all = min(least, n), refusedOf(runs)
		t.Logf("%d refused, %d in one world alone", all, n)
	}
	if may := max(2+all/10, unlike(emulated[0], emulated[len(emulated)-1])); least > may {
		wrong = append(wrong, fmt.Sprintf("%d jobs are refused in one world alone, and %d may be", least, may))
	}
	check := func(name string, in func(*queueJob) bool) {
		if of(simulated[0], in).n == 0 {
			return
		}
		same := func(what string, value func(sums) float64) {
			sample := func(worlds [][]queueRun) (s stats.Sample) {
				for _, runs := range worlds {
					s.Xs = append(s.Xs, value(of(runs, in)))
				}
				return s
			}
			real, ours := sample(emulated), sample(simulated)
			a, b, spread := real.Mean(), ours.Mean(), slices.Max(real.Xs)-slices.Min(real.Xs)
			// Waves of tasks follow each other, each half a heartbeat of a node late.
			may := max(0.05*a, (2+a/taskMs/2)*queueBeatMs, spread)
			chance := 3 * ours.StdDev() * math.Sqrt(1/float64(len(emulated))+1/float64(len(simulated)))
			t.Logf("%-16s %-10s emulated %7.0f (two runs differ by %5.0f) simulated %7.0f ms: %+6.1f %%", name, what, a, spread, b,
				100*(b-a)/max(1, a))
			switch {
			case math.Abs(a-b) <= may || !whole && (name != "all" || what != "completion"):
			case math.Abs(a-b) <= chance:
				t.Logf("%s: %s: as far apart as orders of heartbeats are: %.0f of %.0f ms", name, what, math.Abs(a-b), chance)
			default:
				wrong = append(wrong, fmt.Sprintf("%s: %s: emulated %.0f, simulated %.0f ms: they differ by %.0f and may by %.0f", name, what, a, b,
					math.Abs(a-b), max(may, chance)))
			}
		}
		same("master up", func(s sums) float64 { return s.up / s.n })
		same("map waits", func(s sums) float64 { return s.wait / s.maps })
		same("completion", func(s sums) float64 { return s.end / s.n })
	}
	check("all", func(*queueJob) bool { return true })
	for _, q := range f.Leaves() {
		check(q.Path, func(j *queueJob) bool { return j.Queue == q.Path })
	}
	return wrong
}

func mustDo(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
