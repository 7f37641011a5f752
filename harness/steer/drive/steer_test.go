package drive

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"heddle/harness/clients"
	"heddle/harness/sched"
	"heddle/harness/state"
	"heddle/harness/steer"
	"heddle/harness/watch"
	"heddle/traces"
	"heddle/yarnclient"
	"heddle/yarnclient/yarntest"
)

const idle = "idle" // the label that parks

// fake is a fake cluster, steered.
type fake struct {
	t      testing.TB
	c      *yarntest.Fake
	rm     *yarnclient.RM
	d      *Driver
	jobs   sync.Map      // yarntest.Job by tag
	beat   time.Duration // of masters
	events []traces.Event
	pools  map[string]string // by tag
	terms  map[string]traces.Terms

	staged     sync.Map // job.splitmetainfo by job name
	rewritten  sync.Map // []jobsplit.Meta by application id
	failing    error    // to rewrite splits
	unreadable error    // files of jobs
}

// greedy is the simplest of models: the first job that waits for a map, else
// for a reduce.
type greedy struct{}

func (greedy) Name() string { return "greedy" }

func (greedy) Choose(v *state.View, n state.NodeID) (sched.Pick, bool) {
	for _, k := range []state.Kind{state.Map, state.Reduce} {
		for _, id := range v.WaitingJobs(k) {
			if v.Fits(n, id, k) {
				return sched.Pick{Job: id, Kind: k, Task: state.None}, true
			}
		}
	}
	return sched.Pick{}, false
}

// labels of so many triples, and the others.
func labels(triples int) []string {
	all := []string{idle, "am"}
	for i := range triples {
		all = append(all, fmt.Sprintf("a%02d", i), fmt.Sprintf("m%02d", i), fmt.Sprintf("r%02d", i))
	}
	return all
}

// steered starts a fake cluster and a Driver on it, in virtual time.
func steered(t testing.TB, cfg yarntest.Config, change ...func(*fake, *Options)) *fake {
	t.Helper()
	cfg.Labels = labels(4)
	cfg.Nodes = append([]yarntest.Node{{Host: "master", Rack: "/core", Label: "am", MemoryMB: 64 << 10, VCores: 64}}, cfg.Nodes...)
	c := yarntest.New(cfg)
	rm := must(yarnclient.NewRM(yarnclient.Options{
		Addresses: []string{"http://rm:8088"}, User: "root", Transport: c.Transport(), Retries: -1,
		Timeout: callLimit,
	}))
	f := &fake{t: t, c: c, rm: rm, beat: cmp.Or(cfg.AMHeartbeat, 200*time.Millisecond)}
	heartbeat := cmp.Or(cfg.Heartbeat, 200*time.Millisecond)
	log := slog.New(slog.DiscardHandler)
	if testing.Verbose() {
		log = slog.New(slog.NewTextHandler(t.Output(), &slog.HandlerOptions{Level: slog.LevelDebug}))
	}
	o := Options{
		Core: steer.Options{
			Model: sched.PerNode{NodeModel: greedy{}}, Origin: time.Now(),
			Setup: steer.Setup{
				AMLabel: "am", Queue: "default", Triples: []string{"00", "01", "02", "03"}, Beat: heartbeat,
				Smallest: state.Resource{MemoryMB: 512, VCores: 1},
			},
		},
		Watch: watch.New(&clients.Clients{RM: rm}, nil), Changes: rm, Log: log,
		Record: func(e ...traces.Event) { f.events = append(f.events, e...) },
	}
	for _, set := range change {
		set(f, &o)
	}
	f.d = must(start(t.Context(), f, o))
	return f
}

func (f *fake) read(_ context.Context, app yarnclient.App) (*steer.JobFiles, error) {
	if f.unreadable != nil {
		return nil, f.unreadable
	}
	known, _ := f.jobs.Load(app.Tags)
	j := known.(yarntest.Job)
	files := &steer.JobFiles{
		Spec: state.JobSpec{
			Name: app.Name, User: app.User, Queue: app.Queue, Maps: int32(len(j.Maps)), Reduces: int32(j.Reduces),
			MapSize: state.Resource{MemoryMB: 512, VCores: 1}, ReduceSize: state.Resource{MemoryMB: 512, VCores: 1},
		},
		Splits: slices.Clone(j.Maps), Beat: f.beat,
	}
	f.stage(files, j)
	return files, nil
}

func (f *fake) replicas(context.Context, string) ([][]steer.Replica, error) { return nil, nil }

// submit starts a job with so many maps, each with a split on two of the
// workers, and returns its application id.
func (f *fake) submit(tag string, maps, reduces int, change ...func(*yarntest.Job)) string {
	f.t.Helper()
	s, err := f.d.Submission(f.t.Context(), tag, f.pools[tag], f.terms[tag])
	if err != nil {
		f.t.Fatal(err)
	}
	set := s.Settings()
	j := yarntest.Job{
		Name: tag, Tags: tag, AMLabel: set["mapreduce.job.am.node-label-expression"], MapLabel: set["mapreduce.map.node-label-expression"],
		ReduceLabel: set["mapreduce.reduce.node-label-expression"], Reduces: reduces, Slowstart: 1,
	}
	workers := f.workers()
	for i := range maps {
		a := (i * 7) % len(workers)
		j.Maps = append(j.Maps, []string{workers[a], workers[(a+1+i%3)%len(workers)]})
	}
	for _, set := range change {
		if set != nil {
			set(&j)
		}
	}
	f.jobs.Store(tag, j)
	id, err := f.c.Submit(j)
	if err != nil {
		f.t.Fatal(err)
	}
	return id
}

func (f *fake) workers() []string {
	nodes, err := f.rm.Nodes(f.t.Context())
	if err != nil {
		f.t.Fatal(err)
	}
	var names []string
	for _, n := range nodes {
		if n.Host != "master" {
			names = append(names, n.Host)
		}
	}
	return names
}

// await waits until the applications have ended well, in virtual time.
func (f *fake) await(limit time.Duration, ids ...string) {
	f.t.Helper()
	until := time.After(limit)
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case <-until:
			for _, id := range ids {
				app, err := f.rm.App(f.t.Context(), id)
				f.t.Errorf("%s after %v: %s, %v", id, limit, app.State, err)
				f.t.Logf("%+v", app.Requests)
			}
			f.stop()
			f.t.FailNow()
		case <-tick.C:
			ended := 0
			for _, id := range ids {
				app, err := f.rm.App(f.t.Context(), id)
				if err == nil && app.Ended() {
					ended++
					if app.FinalStatus != "SUCCEEDED" {
						f.t.Errorf("%s %s", id, app.FinalStatus)
					}
				}
			}
			if ended == len(ids) {
				return
			}
		}
	}
}

func (f *fake) stop() {
	f.t.Helper()
	if err := f.d.Stop(); err != nil {
		f.t.Error(err)
	}
}

// outcomes counts what became of the decisions, by outcome; a decision without
// one counts as open.
func (f *fake) outcomes() (count map[string]int, causes []string, mispredicted int) {
	count = map[string]int{}
	predicted := map[int64]*traces.Decision{}
	for _, e := range f.events {
		switch e := e.(type) {
		case *traces.Decision:
			predicted[e.ID] = e
			count["open"]++
		case *traces.Actuation:
			count["open"]--
			count[e.Outcome]++
			d := predicted[e.Decision]
			if e.Cause != "" && e.Outcome != "honoured" {
				causes = append(causes, fmt.Sprintf("%d %s on %s: %s: %s", e.Decision, d.Job, d.Node, e.Outcome, e.Cause))
			}
			if e.Outcome == "honoured" && d.BindIndex >= 0 && (e.Bound.Job == "" || e.Bound.Index != d.BindIndex) {
				mispredicted++
				causes = append(causes, fmt.Sprintf("%d on %s: predicted map %d by %s, ran %v", e.Decision, d.Node, d.BindIndex, d.BindBranch, e.Bound))
			}
		}
	}
	return count, causes, mispredicted
}

func workers(slots int64) []yarntest.Node { return yarntest.Workers(2, 2, slots*512, 64) }

const async = 20 * time.Millisecond

// TestTwoJobs runs two jobs at once: every container was decided, exactly one
// for each decision, and each map is the one predicted.
func TestTwoJobs(t *testing.T) {
	for _, c := range []struct {
		name string
		cfg  yarntest.Config
	}{
		{"one slot", yarntest.Config{Nodes: workers(1), Async: async}},
		{"two slots", yarntest.Config{Nodes: workers(2), Async: async}},
		{"eight slots", yarntest.Config{Nodes: workers(8), Async: async}},
		{"late labels", yarntest.Config{Nodes: workers(2), Async: async, LabelDelay: 15 * time.Millisecond, Latency: 3 * time.Millisecond}},
		{"typed answers", yarntest.Config{Nodes: workers(2), Async: async, Typed: true}},
		{"heartbeats", yarntest.Config{Nodes: workers(2)}},
		{"slow heartbeats", yarntest.Config{Nodes: workers(1), Heartbeat: time.Second, AMHeartbeat: time.Second}},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := steered(t, c.cfg)
				a, b := f.submit("a", 40, 4), f.submit("b", 24, 2)
				f.await(5*time.Minute, a, b)
				f.stop()
				f.everyContainerDecided(a, b)
				count, causes, mispredicted := f.outcomes()
				if count["honoured"] != 70 || count["open"] != 0 || mispredicted > 0 {
					t.Errorf("%v, %d mispredicted, want 70 honoured; %s", count, mispredicted, strings.Join(causes, "\n"))
				}
			})
		})
	}
}

// TestTrainsBeforeItDecides has a model that learns trained for each job, with
// the record kept, before the job's first decision.
func TestTrainsBeforeItDecides(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var kept []string
		f := steered(t, yarntest.Config{Nodes: workers(1), Async: async}, func(f *fake, o *Options) {
			var err error
			if o.Core.Model, err = sched.New("clqlmrs", sched.Params{"episodes": "20"}); err != nil {
				t.Fatal(err)
			}
			o.KeepTraining = func(job traces.JobID, x *sched.Training) error {
				for _, e := range f.events {
					if d, ok := e.(*traces.Decision); ok && d.Job == job {
						t.Errorf("%s is trained for after decision %d", job, d.ID)
					}
				}
				kept = append(kept, fmt.Sprintf("%s %d", job, len(x.Episodes)))
				return nil
			}
		})
		var want []string
		for _, tag := range []string{"a", "b"} {
			id := f.submit(tag, 6, 1)
			want = append(want, "job_"+strings.TrimPrefix(id, "application_")+" 20")
			f.await(5*time.Minute, id)
		}
		f.stop()
		if !slices.Equal(kept, want) {
			t.Errorf("kept trainings %v, want %v", kept, want)
		}
	})
}

// decided are the job, kind and node that each container was decided for.
func (f *fake) decided() map[string]string {
	decided, what := map[string]string{}, map[int64]string{}
	for _, e := range f.events {
		switch e := e.(type) {
		case *traces.Decision:
			what[e.ID] = fmt.Sprintf("%s %s %s", e.Job, strings.ToUpper(e.What.String()), e.Node)
		case *traces.Actuation:
			if e.Container != "" {
				decided[e.Container] = what[e.Decision]
			}
		}
	}
	return decided
}

// everyContainerDecided expects each attempt's container to be that of a
// decision for its job, kind and node.
func (f *fake) everyContainerDecided(ids ...string) {
	f.t.Helper()
	decided := f.decided()
	for _, id := range ids {
		for _, a := range f.c.Attempts(id) {
			want := fmt.Sprintf("job_%s %s %s", strings.TrimPrefix(id, "application_"), a.Kind, a.Host)
			if got := decided[a.Container]; got != want {
				f.t.Errorf("%s in %s is %q, was decided as %q", a.ID, a.Container, want, got)
			}
		}
	}
	if left := f.labelled(); len(left) > 0 {
		f.t.Errorf("nodes left in labels: %v", left)
	}
}

// labelled are the workers that are not parked.
func (f *fake) labelled() []string {
	labelOf, err := f.rm.NodesToLabels(context.WithoutCancel(f.t.Context()))
	if err != nil {
		f.t.Fatal(err)
	}
	var out []string
	for node, l := range labelOf {
		if l[0] != idle && l[0] != "am" {
			out = append(out, node+" "+l[0])
		}
	}
	slices.Sort(out)
	return out
}

// counting is a model that notes how many maps ran on a node at most, and the
// pools and deadlines that it saw.
type counting struct {
	sched.Model
	most  int32
	pools map[string]bool
	due   map[string]int64 // by name of the job: ms from its submission to its deadline
}

func (m *counting) Round(v *state.View, free []state.NodeID, out []sched.Decision) []sched.Decision {
	for n := range state.NodeID(v.Nodes()) {
		m.most = max(m.most, v.Taken(n, state.Map))
	}
	for p := range state.PoolID(v.Pools()) {
		m.pools[v.PoolName(p)] = true
	}
	for _, id := range v.WaitingJobs(state.Map) {
		m.due[v.JobName(id)] = (v.Deadline(id) - v.Submitted(id)) / 1e6
	}
	return m.Model.Round(v, free, out)
}

// TestSlotsAndPools has a model of Hadoop 1 place two jobs of two pools on nodes
// that hold 8 containers each: no node runs more maps than it has map slots, and
// the model knows the pools.
func TestSlotsAndPools(t *testing.T) {
	for _, name := range []string{"fair1", "fifo1", "modfair"} {
		synctest.Test(t, func(t *testing.T) {
			m := &counting{pools: map[string]bool{}, due: map[string]int64{}}
			var err error
			if m.Model, err = sched.New(name, nil); err != nil {
				t.Fatal(err)
			}
			f := steered(t, yarntest.Config{Nodes: workers(8), Async: async}, func(f *fake, o *Options) {
				o.Core.Model, o.Core.Setup.MapSlots, o.Core.Setup.ReduceSlots = m, 2, 1
				f.pools = map[string]string{"a": "red", "b": "blue"}
				f.terms = map[string]traces.Terms{"a": {DeadlineMs: 90_000}}
			})
			f.await(10*time.Minute, f.submit("a", 9, 2), f.submit("b", 5, 1))
			f.stop()
			if m.most != 2 || !m.pools["red"] || !m.pools["blue"] {
				t.Errorf("%s: a node ran %d maps at most, pools %v; want 2, red and blue", name, m.most, m.pools)
			}
			if m.due["a"] != 90_000 || m.due["b"] < 1e9 {
				t.Errorf("%s: deadlines are %v ms after the submissions, want 90000 for a and none for b", name, m.due)
			}
			if count, causes, _ := f.outcomes(); count["honoured"] != 17 {
				t.Errorf("%s: outcomes %v %v, want 17 honoured", name, count, causes)
			}
		})
	}
}
