package emulate_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"heddle/harness/queues"
)

// drawPreemption draws a file of queues with preemption between queues or, in this order, within them, a job or two that fill
// the cluster, and others that come later.
func drawPreemption(t *testing.T, seed uint64, between bool, within string) (*queues.File, []queueJob) {
	t.Helper()
	r := rand.New(rand.NewPCG(seed, 7)) //nolint:gosec // a test's
	one := func(list ...string) string { return list[r.IntN(len(list))] }
	const p = "yarn.resourcemanager.monitor.capacity.preemption."
	ignored := one("0", "0.1", "0.2")
	if !between {
		ignored = "100"
	}
	text := "yarn.resourcemanager.scheduler.monitor.enable=true\nmaximum-am-resource-percent=0.5\n" + p + "monitoring_interval=1000\n" +
		p + "max_wait_before_kill=" + one("2500", "4500") + "\n" + p + "natural_termination_factor=" + one("0.2", "0.5", "1") + "\n" +
		p + "total_preemption_per_round=" + one("0.1", "0.3", "1") + "\n" + p + "max_ignored_over_capacity=" + ignored + "\n"
	if r.IntN(3) == 0 {
		text += "resource-calculator=org.apache.hadoop.yarn.util.resource.DominantResourceCalculator\n"
	}
	priorities := int32(1)
	if within != "" {
		priorities = 3
		text += p + "intra-queue-preemption.enabled=true\n" + p + "intra-queue-preemption.max-allowable-limit=" + one("0.2", "0.5") + "\n" +
			p + "intra-queue-preemption.preemption-order-policy=" + one(within) + "\n" +
			p + "intra-queue-preemption.minimum-threshold=" + one("0.5", "1") + "\nminimum-user-limit-percent=" + one("25", "50", "100") + "\n"
	}
	text += "root.queues=a,b,c\nroot.a.capacity=50\nroot.b.capacity=30\nroot.c.capacity=20\nroot.c.maximum-capacity=60\n" +
		"root.b.queues=x,y\nroot.b.x.capacity=60\nroot.b.y.capacity=40\n"
	for _, q := range []string{"a", "b.x", "b.y", "c"} {
		text += "root." + q + ".user-limit-factor=" + one("2", "10") + "\nroot." + q + ".ordering-policy=" + one("fifo", "fifo", "fair") + "\n"
		if r.IntN(6) == 0 {
			text += "root." + q + ".disable_preemption=true\n"
		}
	}
	f, err := queues.Read(strings.NewReader(text))
	mustDo(t, err)
	leaves := f.Leaves()
	first := r.IntN(len(leaves))
	var jobs []queueJob
	add := func(q int, atMs int64, maps int, lengthMs int64) {
		j := queueJob{
			Queue: leaves[q].Path, User: fmt.Sprintf("user%d", r.IntN(2)), Priority: r.Int32N(priorities), AtMs: atMs,
			MapMB: 1024, ReduceMB: 1024, MasterMB: 1024,
		}
		for range maps {
			j.Maps = append(j.Maps, lengthMs*(80+r.Int64N(40))/100)
			j.Hosts = append(j.Hosts, []int{r.IntN(queueNodes), r.IntN(queueNodes)})
		}
		jobs = append(jobs, j)
	}
	for range 5 {
		add((first+r.IntN(2))%len(leaves), r.Int64N(3000), 30+r.IntN(40), 20_000)
	}
	for range 10 {
		add((first+1+r.IntN(3))%len(leaves), 6_000+r.Int64N(15_000), 5+r.IntN(40), 6_000)
	}
	slices.SortFunc(jobs, func(a, b queueJob) int { return int(a.AtMs - b.AtMs) })
	return f, jobs
}

// TestPreemptionOracle holds preemption against a real ResourceManager: how many containers of each queue it ends, and when
// jobs complete. When the rounds are makes as much as ten of one queue. It needs HEDDLE_QUEUES, a folder as in TestQueuesOracle.
func TestPreemptionOracle(t *testing.T) {
	needJars(t)
	folder, files := os.Getenv("HEDDLE_QUEUES"), 6
	if folder == "" {
		t.Skip("it takes eight minutes: HEDDLE_QUEUES names a folder for what ResourceManagers did")
	}
	for n := range files {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			var f *queues.File
			var jobs []queueJob
			var simulated []queueRun
			const each = 1000 // seeds
			for seed, taken := uint64(each*n), 0; taken < 8; seed++ {
				if seed == uint64(each*(n+1)) {
					t.Fatal("nothing is preempted in simulations")
				}
				var err error
				f, jobs = drawPreemption(t, seed, n%2 == 0 || n%3 == 0, [...]string{"", "userlimit_first", "priority_first"}[n%3])
				simulated, err = simulateQueues(t, f, jobs, 0)
				mustDo(t, err)
				taken = 0
				for i := range simulated {
					taken += simulated[i].Preempted
				}
			}
			emulated := emulatedOnce(t, filepath.Join(folder, fmt.Sprintf("preempt-%d.json", n)), f, jobs)
			orders, err := simulateOrders(t, f, jobs)
			mustDo(t, err)
			for _, q := range f.Leaves() {
				var real, ours int
				for i := range jobs {
					if jobs[i].Queue == q.Path {
						real, ours = real+emulated[i].Preempted, ours+simulated[i].Preempted
					}
				}
				t.Logf("%-10s preempted: emulated %d, simulated %d", q.Path, real, ours)
				if may := max(6, real/5); real-ours > may || ours-real > may {
					t.Errorf("%s: %d containers are preempted, %d in the simulation", q.Path, real, ours)
				}
			}
			for _, text := range compareQueues(t, f, jobs, [][]queueRun{emulated}, orders, false) {
				t.Error(text)
			}
		})
	}
}
