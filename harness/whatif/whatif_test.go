package whatif

import (
	"fmt"
	"math"
	"os"
	"slices"
	"strings"
	"testing"

	"heddle/harness/compare"
	"heddle/harness/config"
	"heddle/harness/doc"
	"heddle/harness/measure"
	"heddle/harness/queues"
	"heddle/harness/replay"
	"heddle/harness/replay/calibration"
	"heddle/harness/replay/recorded"
	"heddle/traces"
	"heddle/traces/exchange"
	"heddle/traces/swim"
	"heddle/yarnclient"
)

const second = traces.Time(1e9)

// week is a trace of 7 days on one node with room for ten maps. Each day, ten jobs of one map
// come to the queue etl at once, and one to adhoc a minute later. A map takes 600 s, on each
// day a second more.
func week(t *testing.T) *recorded.Trace {
	t.Helper()
	h := traces.Header{Format: 1, Origin: traces.Measured, Cluster: traces.ClusterFacts{Nodes: []traces.NodeFacts{
		{Node: "a", Rack: "/r", MemoryBytes: 10 << 30, VCores: 100, Worker: true},
	}}}
	var events []traces.Event
	for d := range 7 {
		for i := range 11 {
			at, queue := traces.Time(d)*day, "etl"
			if i == 10 {
				at, queue = at+60*second, "root.adhoc"
			}
			id := traces.JobID(fmt.Sprintf("job_1_%04d", 11*d+i))
			m := traces.Task{Job: id, Kind: traces.Map}
			end := at + traces.Time(605+d)*second
			events = append(
				events,
				&traces.JobSubmitted{T: at, Job: id, Queue: queue, User: "u", Maps: 1, MapMemoryBytes: 1 << 30, MapVCores: 1},
				&traces.JobStarted{T: at + 4*second, Job: id, AMNode: "master", AMMemoryBytes: 1 << 30},
				&traces.TaskScheduled{T: at + 4*second, Task: m},
				&traces.AttemptStarted{T: at + 5*second, Attempt: traces.Attempt{Task: m}, Node: "a"},
				&traces.AttemptFinished{T: end, Attempt: traces.Attempt{Task: m}, Outcome: traces.Succeeded, Counters: traces.NoCounters},
				&traces.JobFinished{T: end + second, Job: id, Outcome: traces.Succeeded, Counters: traces.NoCounters},
			)
		}
	}
	slices.SortStableFunc(events, traces.Compare)
	x, err := recorded.New("by hand", h, slices.Values(events))
	if err != nil {
		t.Fatal(err)
	}
	return x
}

// sideOf replays a trace under a file of lines of key=value.
func sideOf(t *testing.T, x *recorded.Trace, name string, lines []string, change recorded.Change, seeds ...uint64) Side {
	t.Helper()
	f, err := queues.Read(strings.NewReader(strings.Join(lines, "\n")))
	if err != nil {
		t.Fatal(err)
	}
	s := Side{Name: name, Queues: f}
	for _, seed := range seeds {
		list, err := replay.Outcomes([]replay.Config{{
			Trace: x, Model: config.Model{Model: "capacity", Params: map[string]string{"queues": f.String()}}, Seed: seed,
			Behaviour: config.Behaviour{Actuator: config.ActuatorNone}, Calibration: &calibration.Calibration{}, WithoutEvents: true, Change: change,
		}})
		if err != nil {
			t.Fatal(err)
		}
		s.Figures = append(s.Figures, list[0].Figures)
	}
	return s
}

// half lets etl have half of the cluster at most.
var half = []string{
	"root.queues=etl,adhoc,spare", "root.etl.capacity=40", "root.adhoc.capacity=40", "root.spare.capacity=20",
	"root.etl.maximum-capacity=50", "root.etl.user-limit-factor=10",
}

func compared(t *testing.T, x *recorded.Trace, old, new Side, c Cluster) *Report {
	t.Helper()
	r, err := New(old, new, nil, NewLeftOut(x, &c, &traces.ClusterFacts{Nodes: x.Nodes}))
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func group(t *testing.T, r *Report, by, name string) *Group {
	t.Helper()
	i := slices.IndexFunc(r.Groups, func(g *Group) bool { return g.By == by && g.Name == name })
	if i < 0 {
		t.Fatalf("no group %s %s", by, name)
	}
	return r.Groups[i]
}

// TestByHand lets etl have all of the cluster in place of half. Under the old file five of its
// ten maps run at once, and five wait for the first ones to end: 600 to 606 s. Under the new
// file none waits, but the job of adhoc does, which came a minute later and found room before.
func TestByHand(t *testing.T) {
	x := week(t)
	old := sideOf(t, x, "old.xml", half, recorded.Change{}, 1)
	whole := append(slices.Clone(half), "root.etl.maximum-capacity=100")
	r := compared(t, x, old, sideOf(t, x, "new.xml", whole, recorded.Change{}, 1), Cluster{OthersPct: 0})
	etl, adhoc := group(t, r, measure.ByQueue, "etl"), group(t, r, measure.ByQueue, "adhoc")
	if r.Jobs != 77 || r.Blocks != 7 || r.BlockHours != 24 || etl.Jobs != 70 || adhoc.Jobs != 7 {
		t.Errorf("%d jobs in %d blocks of %v h, %d and %d; want 77 in 7 of 24 h, 70 and 7", r.Jobs, r.Blocks, r.BlockHours, etl.Jobs, adhoc.Jobs)
	}
	const beats = 5.0 // s, in which a container comes with a heartbeat, and its task with another
	mean, longest := &etl.Waiting.Parts[0], &etl.Waiting.Parts[p95]
	if d := -mean.difference(); !(d >= 300-beats && d <= 303+beats) || mean.Says != compare.Shown {
		t.Errorf("mean wait of etl: %v s shorter, %s; want half of 600 to 606 s, shown", d, mean.Says)
	}
	if d := -longest.difference(); !(d >= 600-beats && d <= 606+beats) {
		t.Errorf("95th percentile of waits of etl: %v s shorter, want 600 to 606", d)
	}
	if longest.Says != compare.CannotTell {
		t.Errorf("95th percentile of 70 jobs: %s; want no interval, since 3 jobs are beyond it", longest.Says)
	}
	if c := etl.Waiting; c.Shorter != 35 || c.Longer != 0 {
		t.Errorf("%d jobs wait shorter and %d longer; want the five of each day that waited", c.Shorter, c.Longer)
	}
	if p := &adhoc.Waiting.Parts[0]; !(p.difference() >= 540-beats && p.difference() <= 546+beats) || p.Says != compare.Shown {
		t.Errorf("adhoc: %v s longer, %s; want 540 to 546 s, shown: until the first map of etl has ended", p.difference(), p.Says)
	}
	// Ten maps of 1 GiB for 603 s on average, of 10 GiB from the first submission to the last end.
	span := 6*86400.0 + 4 + 606
	if used := etl.New.UsedPct; math.Abs(used-100*603*7/span) > 0.02 {
		t.Errorf("etl uses %v %% of the cluster, want %v", used, 100*603*7/span)
	}
	if !strings.Contains(r.Headline, "in place of old.xml, jobs of adhoc complete 9m4s later") ||
		!strings.Contains(r.Headline, "Waits for the first task (mean): jobs of adhoc wait 9m4s longer") {
		t.Errorf("headline %q", r.Headline)
	}
	for _, part := range r.Doc(nil) {
		if part == nil {
			t.Error("an empty part of the document")
		}
	}
}

// TestPreempted lets etl have all of the cluster, and the job of adhoc take back what it is guaranteed: its master's
// container and its map's, each for one of etl that runs for 75 to 90 s and then again.
func TestPreempted(t *testing.T) {
	x := week(t)
	whole := append(slices.Clone(half), "root.etl.maximum-capacity=100")
	r := compared(t, x, sideOf(t, x, "old.xml", whole, recorded.Change{}, 1),
		sideOf(t, x, "new.xml", append(whole, "yarn.resourcemanager.scheduler.monitor.enable=true"), recorded.Change{}, 1), Cluster{OthersPct: 0})
	etl, adhoc := group(t, r, measure.ByQueue, "etl"), group(t, r, measure.ByQueue, "adhoc")
	if etl.New.Preempted == 0 || etl.New.Preempted != etl.New.Killed || adhoc.New.Preempted+etl.Old.Preempted > 0 {
		t.Errorf("preempted: %+v of etl, %+v of adhoc, %+v of etl before; want some of etl alone, and of the new file", etl.New, adhoc.New,
			etl.Old)
	}
	t.Logf("%+v %+v", etl.New, adhoc.New)
	if s := 3600 * etl.New.LostHours / etl.New.Preempted; s < 60 || s > 120 {
		t.Errorf("a preempted container had run for %v s, want 75 to 90", s)
	}
	var text strings.Builder
	if err := doc.WriteMarkdown(&text, r.Doc(nil)); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"new preempted", "new container-hours lost", "or their containers are preempted"} {
		if !strings.Contains(text.String(), want) {
			t.Errorf("the report has no %q", want)
		}
	}
}

// TestControls compares files between which no job can tell a difference: the same one, and one
// with another limit of a queue that nobody uses. Nothing differs, of any group and property.
func TestControls(t *testing.T) {
	x := week(t)
	old := sideOf(t, x, "old.xml", half, recorded.Change{}, 1, 2)
	for name, lines := range map[string][]string{
		"the same":                    half,
		"of a queue that nobody uses": append(slices.Clone(half), "root.spare.maximum-capacity=30", "root.spare.user-limit-factor=3"),
	} {
		r := compared(t, x, old, sideOf(t, x, "new.xml", lines, recorded.Change{}, 1, 2), Cluster{OthersPct: 0})
		for _, g := range r.Groups {
			for _, c := range g.changes() {
				for _, p := range c.Parts {
					if p.Says != compare.Equal || c.Longer+c.Shorter > 0 {
						t.Errorf("%s: %s %s, %s: %+v", name, g.By, g.Name, p.Of, p)
					}
				}
			}
		}
		if !strings.HasPrefix(r.Headline, "Nothing changes") {
			t.Errorf("%s: %s", name, r.Headline)
		}
	}
}

// TestRefused takes a queue away: YARN refuses its jobs, and the report says why.
func TestRefused(t *testing.T) {
	x := week(t)
	old := sideOf(t, x, "old.xml", half, recorded.Change{}, 1)
	new := sideOf(t, x, "new.xml", []string{"root.queues=etl,spare", "root.etl.capacity=80", "root.spare.capacity=20"}, recorded.Change{}, 1)
	r := compared(t, x, old, new, Cluster{OthersPct: 0})
	g := group(t, r, measure.ByQueue, "adhoc")
	if g.New.Refused != 7 || g.Old.Refused != 0 || len(g.Refusals) == 0 || g.Waiting.Jobs != 0 {
		t.Errorf("%+v; want 7 jobs refused, with the reason, and no wait", g)
	}
	if !strings.HasPrefix(r.Headline, "YARN refuses 7 of 7 jobs of adhoc (before: 0). With ") {
		t.Errorf("headline %q", r.Headline)
	}
}

// TestRecorded has a record that is the replay under the old file, but for a job that failed: what was recorded and what
// is simulated are of the same jobs, so they are equal.
func TestRecorded(t *testing.T) {
	x := week(t)
	old := sideOf(t, x, "old.xml", half, recorded.Change{}, 1)
	was := *old.Figures[0]
	was.JobList = slices.Clone(was.JobList)
	failed := *was.JobList[0]
	failed.Outcome = traces.Failed
	was.JobList[0] = &failed
	r, err := New(old, old, &was, NewLeftOut(x, &Cluster{}, &traces.ClusterFacts{Nodes: x.Nodes}))
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range []int{waiting, completion} {
		c := r.Groups[0].changes()[n]
		for _, p := range c.Parts {
			if c.Jobs != 76 || p.Recorded != p.Old {
				t.Errorf("%s of %d jobs: recorded %v, simulated %v; want the same, of the 76 that succeeded", p.Of, c.Jobs, p.Recorded, p.Old)
			}
		}
	}
	if lines := strings.Join(r.LeftOut.Lines, "\n"); !strings.Contains(lines, "did not succeed when they ran: 1 of 77") {
		t.Errorf("what is left out:\n%s", lines)
	}
}

// TestLeftOut holds what is said to be left out against what is put in.
func TestLeftOut(t *testing.T) {
	x := week(t)
	x.Header.StartUnixNs = 1e18
	nan := math.NaN()
	apps := []yarnclient.App{
		{ID: "application_1_0000", State: "FINISHED", StartedMs: 1e12 + 1, FinishedMs: 1e12 + 1000, MemorySeconds: 300},
		{ID: "application_2_0000", State: "FINISHED", StartedMs: 1e12 + 1, MemorySeconds: 100},
		{ID: "application_2_0001", State: "FAILED", StartedMs: 1e12 + 1, FinishedMs: 1e12 + 2},
		{ID: "application_2_0002", State: "FINISHED", StartedMs: 1, FinishedMs: 2, MemorySeconds: 1e6}, // before the trace
	}
	for name, c := range map[string]struct {
		cluster Cluster
		held    float64
		known   bool
		says    []string
	}{
		"nothing known": {Cluster{OthersPct: nan}, nan, false, []string{"not known. What else ran", "how many there were is not known"}},
		"told":          {Cluster{OthersPct: 10}, 90, true, []string{"90 % are of these jobs, as --others says"}},
		"little":        {Cluster{OthersPct: 11}, 89, false, []string{"89 %"}},
		"listed": {Cluster{OthersPct: nan, Apps: apps}, 75, false, []string{
			"75 % are of these jobs, 1 of the 3 applications", "before they had a container, as rejected ones: 1 of",
		}},
	} {
		l := NewLeftOut(x, &c.cluster, &traces.ClusterFacts{Nodes: x.Nodes})
		text := strings.Join(l.Lines, "\n")
		if got := float64(l.HeldPct); got != c.held && !(math.IsNaN(got) && math.IsNaN(c.held)) || l.Known() != c.known {
			t.Errorf("%s: holds %v %%, known: %t; want %v, %t", name, got, l.Known(), c.held, c.known)
		}
		for _, want := range c.says {
			if !strings.Contains(text, want) {
				t.Errorf("%s: want %q in\n%s", name, want, text)
			}
		}
	}
}

// TestNotCalledShown says of the difference that TestByHand shows that it is one of the
// histories, if it is not known what else the cluster ran.
func TestNotCalledShown(t *testing.T) {
	x := week(t)
	old := sideOf(t, x, "old.xml", half, recorded.Change{}, 1)
	new := sideOf(t, x, "new.xml", append(slices.Clone(half), "root.etl.maximum-capacity=100"), recorded.Change{}, 1)
	r := compared(t, x, old, new, Cluster{OthersPct: math.NaN()})
	if p := group(t, r, measure.ByQueue, "etl").Waiting.Parts[0]; p.Says != InHistories {
		t.Errorf("%+v, want %q", p, InHistories)
	}
	for _, g := range r.Groups {
		for _, c := range g.changes() {
			for _, p := range c.Parts {
				if p.Says == compare.Shown || p.Says == compare.JustShown {
					t.Errorf("%s %s: %+v", g.By, g.Name, p)
				}
			}
		}
	}
}

// TestSeedsDoNotWin replays a day of a public list under one file with two seeds, by which the
// times of tasks differ: nothing of it may be shown.
func TestSeedsDoNotWin(t *testing.T) {
	const path = "../../../shared/data/swim/FB-2009_samples_24_times_1hr_0.tsv"
	in, err := os.Open(path)
	if err != nil {
		t.Skip("the public list is not here:", err)
	}
	defer in.Close()
	rules := traces.DefaultListRules
	h := traces.Header{Format: traces.ListFormatVersion, Origin: traces.Imported, List: &rules}
	var events []traces.Event
	for j, err := range swim.Read(in) {
		if err != nil {
			t.Fatal(err)
		}
		if j.Queue, j.User = "adhoc", fmt.Sprint("u", len(events)%5); j.InputBytes > 1<<30 {
			j.Queue = "etl"
		}
		events = append(events, &j)
	}
	x, err := recorded.New("a day", h, slices.Values(events))
	if err != nil {
		t.Fatal(err)
	}
	for _, day := range []struct {
		nodes int
		seed  uint64
		hours float64 // of a block; the queue etl has a backlog of hours on few nodes
	}{{60, 2, 4}, {60, 9, 4}, {300, 1, 2}} {
		change := recorded.Change{Nodes: day.nodes, Slots: 2}
		r := compared(t, x, sideOf(t, x, "old.xml", half, change, day.seed), sideOf(t, x, "new.xml", half, change, 100+day.seed),
			Cluster{OthersPct: 0})
		t.Log(r.Headline)
		adhoc := group(t, r, measure.ByQueue, "adhoc").Completion.Parts[0]
		if r.BlockHours != day.hours || adhoc.difference() == 0 || !adhoc.CI95.Bounded() {
			t.Errorf("%d nodes: blocks of %v h, and %+v; want %v h, and a difference with an interval", day.nodes, r.BlockHours, adhoc, day.hours)
		}
		for _, g := range r.Groups {
			for _, c := range g.changes() {
				for _, p := range c.Parts {
					if p.Says == compare.Shown {
						t.Errorf("%d nodes: %s %s: %+v", day.nodes, g.By, g.Name, p)
					}
				}
			}
		}
	}
}

// TestRealApplications replays three applications of a lab, each alone on it. Each takes as long as recorded, give or take
// heartbeats; the last less, whose executors took 29 s to start and not 13 s as the fastest.
func TestRealApplications(t *testing.T) {
	const folder = "../../../shared/data/spark"
	if _, err := os.Stat(folder); err != nil {
		t.Skip("the event logs are not here:", err)
	}
	r, _, err := exchange.Any(t.Context(), folder, func(*exchange.ImportOptions) {})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	x, err := recorded.ReadContainers(folder, r, func(traces.Event) {})
	if err != nil {
		t.Fatal(err)
	}
	for i, j := range sideOf(t, x, "one.xml", []string{"root.queues=replay", "root.replay.capacity=100"}, recorded.Change{Slots: 3},
		1).Figures[0].JobList {
		off := j.CompletionMs/1e3 - float64(x.Jobs[i].Finished-x.Jobs[i].T)/1e9
		if want := []float64{0, 0, 13 - 29}[i]; math.Abs(off-want) > 3 {
			t.Errorf("%s: off by %v s, want %v", j.ID, off, want)
		}
	}
}
