package drive

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"heddle/collectors/hdfs"
	"heddle/collectors/hdfs/jobsplit"
	"heddle/harness/config"
	"heddle/harness/sched"
	"heddle/harness/state"
	"heddle/harness/steer"
	"heddle/traces"
	"heddle/yarnclient/yarntest"
)

// stage makes the files of a fake job. Its maps at even places are cached on the
// first host of their split.
func (f *fake) stage(files *steer.JobFiles, j yarntest.Job) {
	files.MostCached = make([][]string, len(j.Maps))
	for i, hosts := range j.Maps {
		files.Metas = append(files.Metas, jobsplit.Meta{Hosts: hosts, Offset: int64(100 + i), Length: 1})
		if i%2 == 0 {
			files.MostCached[i] = hosts[:1]
		}
	}
	files.Meta = jobsplit.AppendMeta(nil, files.Metas)
	f.staged.Store(files.Spec.Name, files.Meta)
}

func (f *fake) rewrite(ctx context.Context, id string, was, now []byte) error {
	if f.failing != nil {
		return f.failing
	}
	app, err := f.rm.App(ctx, id)
	if err != nil {
		return err
	}
	if staged, _ := f.staged.Load(app.Name); !bytes.Equal(was, staged.([]byte)) {
		return errors.New("another file")
	}
	metas, err := jobsplit.ParseMeta(bytes.NewReader(now))
	if err != nil {
		return err
	}
	f.rewritten.Store(id, metas)
	var maps [][]string
	for _, m := range metas {
		maps = append(maps, m.Hosts)
	}
	return f.c.Resplit(id, maps)
}

// splitsRead are what a job's master read.
func (f *fake) splitsRead(app string) []jobsplit.Meta {
	metas, ok := f.rewritten.Load(app)
	if !ok {
		f.t.Errorf("splits of %s were not rewritten", app)
		return nil
	}
	return metas.([]jobsplit.Meta)
}

// unlabelled has a job that is not steered.
func unlabelled(j *yarntest.Job) { j.MapLabel, j.ReduceLabel = "", "" }

func byPlan(t *testing.T) func(*fake, *Options) {
	model := must(sched.New("planned", nil))
	return func(_ *fake, o *Options) { o.Core.Model, o.Core.Splits = model, config.SplitsPlan }
}

func asItIs(*fake, *Options) {}

func cachedAlone(_ *fake, o *Options) {
	o.Core.Model, o.Core.Actuator, o.Core.Splits = nil, config.ActuatorNone, config.SplitsCachedOnly
}

// TestPlan carries out random plans for two jobs at once: every map runs on the
// planned node.
func TestPlan(t *testing.T) {
	for _, c := range []struct {
		name string
		cfg  yarntest.Config
	}{
		{"one slot", yarntest.Config{Nodes: workers(1), Async: async}},
		{"two slots", yarntest.Config{Nodes: workers(2), Async: async, Latency: 2 * time.Millisecond}},
		{"eight slots", yarntest.Config{Nodes: workers(8), Async: async}},
		{"heartbeats", yarntest.Config{Nodes: workers(2)}},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := steered(t, c.cfg, byPlan(t))
				a, b := f.submit("a", 40, 4), f.submit("b", 24, 2)
				f.await(10*time.Minute, a, b)
				f.stop()
				f.everyContainerDecided(a, b)
				f.asPlanned(a, b)
				f.gateShut(a, b)
				if count, causes, mispredicted := f.outcomes(); count["honoured"] != 70 || mispredicted > 0 {
					t.Errorf("%v, %d mispredicted, want 70 honoured; %s", count, mispredicted, strings.Join(causes, "\n"))
				}
			})
		})
	}
}

// asPlanned expects the maps of jobs, as submitted, each once and each on the
// one host that its split names.
func (f *fake) asPlanned(ids ...string) {
	f.t.Helper()
	for _, id := range ids {
		splits := f.splitsRead(id)
		seen := map[int64]bool{}
		for _, m := range splits {
			seen[m.Offset] = true
			if len(m.Hosts) != 1 {
				f.t.Errorf("%s: a split names %v", id, m.Hosts)
			}
		}
		if len(seen) != len(splits) {
			f.t.Errorf("%s: %d of %d splits left", id, len(seen), len(splits))
		}
		moved := 0
		for i, m := range splits {
			if m.Offset != int64(100+i) {
				moved++
			}
		}
		if moved < len(splits)/2 {
			f.t.Errorf("%s: a random order moves %d of %d splits", id, moved, len(splits))
		}
		for _, x := range f.c.Attempts(id) {
			if x.Kind == "MAP" && x.State == "SUCCEEDED" && x.Host != splits[x.Task].Hosts[0] {
				f.t.Errorf("%s ran on %s, planned on %s", x.ID, x.Host, splits[x.Task].Hosts[0])
			}
		}
	}
}

// gateShut expects masters to have run on the node for masters alone, which has
// its own label again.
func (f *fake) gateShut(ids ...string) {
	f.t.Helper()
	for _, id := range ids {
		attempts, err := f.rm.Attempts(context.WithoutCancel(f.t.Context()), id)
		if err != nil {
			f.t.Fatal(err)
		}
		for _, a := range attempts {
			if a.NodeID != "master:45454" {
				f.t.Errorf("%s ran on %q", a.ID, a.NodeID)
			}
		}
	}
	labelOf, err := f.rm.NodesToLabels(context.WithoutCancel(f.t.Context()))
	if err != nil {
		f.t.Fatal(err)
	}
	if got := labelOf["master:45454"]; !slices.Equal(got, []string{"am"}) {
		f.t.Errorf("the node for masters has label %q", got)
	}
}

// TestCachedOnly has YARN decide by cached replicas: no node but that for
// masters is moved, and maps run where they are cached.
func TestCachedOnly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := steered(t, yarntest.Config{Nodes: workers(8), Async: async, LocalityDelay: 40}, cachedAlone)
		var ids []string
		for i := range 4 { // as many as there are labels
			ids = append(ids, f.submit(fmt.Sprint("job", i), 16, 2, unlabelled))
		}
		f.await(5*time.Minute, ids...)
		f.stop()
		f.gateShut(ids...)
		if count, _, _ := f.outcomes(); len(count) != 0 {
			t.Errorf("decisions %v, want none", count)
		}
		for _, id := range ids {
			for i, m := range f.splitsRead(id) {
				if want := 2 - (i+1)%2; len(m.Hosts) != want {
					t.Errorf("%s map %d: hosts %v, want %d", id, i, m.Hosts, want)
				}
			}
			local := 0
			for _, x := range f.c.Attempts(id) {
				if x.Kind == "MAP" && x.Locality == "node" {
					local++
				}
			}
			if local < 12 {
				t.Errorf("%s: %d of 16 maps on a host of their split", id, local)
			}
		}
		for _, e := range f.events {
			if l, ok := e.(*traces.NodeLabel); ok {
				t.Errorf("a worker was moved: %+v", l)
			}
		}
	})
}

// TestHeldFaults has something go wrong while masters are held or let in. The
// jobs end well and as planned, unless a map had to go elsewhere.
func TestHeldFaults(t *testing.T) {
	for _, c := range []struct {
		name  string
		fault func(f *fake, job string)
	}{
		{"label call refused", func(f *fake, _ string) {
			f.c.Inject(yarntest.Fault{Method: "POST", Path: "replace-node-to-labels", Times: 3, Status: 503, Body: "busy"})
		}},
		{"label call that succeeds after its timeout", func(f *fake, _ string) {
			f.c.Inject(yarntest.Fault{Method: "POST", Path: "replace-node-to-labels", Times: 2, Apply: true, Hang: true})
		}},
		{"answers cut off", func(f *fake, _ string) {
			f.c.Inject(yarntest.Fault{Method: "GET", Path: "/appattempts", Times: 5, Cut: 40})
			f.c.Inject(yarntest.Fault{Method: "GET", Path: "/nodes", Times: 2, Cut: 40})
		}},
		{"ResourceManager restarted", func(f *fake, _ string) {
			f.wait(50 * time.Millisecond)
			f.c.RestartRM(3*time.Second, time.Second)
		}},
		{"ApplicationMaster lost", func(f *fake, job string) {
			f.wait(4 * time.Second)
			f.c.KillMaster(job)
		}},
		{"ApplicationMaster lost before it ran", func(f *fake, job string) {
			for {
				list, err := f.rm.Attempts(f.t.Context(), job)
				if err != nil || len(list) == 0 || list[0].ContainerID == "" {
					f.wait(10 * time.Millisecond)
					continue
				}
				f.c.KillMaster(job)
				return
			}
		}},
		{"another master's start in between", func(f *fake, _ string) {
			other := yarntest.Job{Name: "other", AMLabel: "am", Maps: [][]string{{"r1n1"}}, MapLabel: "m03"}
			if _, err := f.c.Submit(other); err != nil {
				f.t.Error(err)
			}
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := steered(t, yarntest.Config{Nodes: workers(2), Async: async, Expiry: 5 * time.Second}, byPlan(t))
				a, b := f.submit("a", 20, 2), f.submit("b", 20, 2)
				c.fault(f, a)
				f.await(5*time.Minute, a, b)
				f.stop()
				f.asPlanned(a, b)
				f.gateShut(a, b)
				if count, causes, _ := f.outcomes(); count["open"] != 0 {
					t.Errorf("%v\n%s", count, strings.Join(causes, "\n"))
				}
			})
		})
	}
}

// TestRefused has jobs that cannot have the splits asked for. Steering ends and
// says which and why; no master has started.
func TestRefused(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(f *fake, o *Options)
		job    func(*yarntest.Job)
		want   string
	}{
		{name: "not written", change: func(f *fake, o *Options) {
			f.failing = errors.New("no space")
		}, want: "splits plan for job_1_0001: no space"},
		{name: "not kept", change: func(f *fake, o *Options) {
			o.KeepSplits = func(traces.JobID, []byte) error { return errors.New("disk full") }
		}, want: "disk full"},
		{name: "not read", change: func(f *fake, o *Options) {
			f.unreadable = fmt.Errorf("%w: job.splitmetainfo: version 2, know only 1", steer.ErrRefused)
		}, want: "version 2, know only 1"},
		{name: "never read", change: func(f *fake, o *Options) { f.unreadable = errors.New("no NameNode answers") }, want: "no NameNode answers"},
		{name: "not held", change: asItIs, job: func(j *yarntest.Job) { j.AMLabel = "am" }, want: `asks for label "am", want "a00"`},
		{name: "half a plan", change: func(f *fake, o *Options) { o.Core.Model = halfPlan{o.Core.Model} }, want: "plan has 2 splits, the job 4"},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := steered(t, yarntest.Config{Nodes: workers(2), Async: async}, byPlan(t), c.change)
				id := f.submit("a", 4, 1, c.job)
				<-f.d.Done()
				err := f.d.Stop()
				if err == nil || !strings.Contains(strings.ReplaceAll(err.Error(), strings.TrimPrefix(id, "application_"), "1_0001"), c.want) {
					t.Errorf("ended with %v, want it to say %q", err, c.want)
				}
				if ran := f.c.Attempts(id); len(ran) > 0 {
					t.Errorf("%d attempts have run", len(ran))
				}
			})
		})
	}
}

// halfPlan leaves out what a plan has beyond two splits.
type halfPlan struct{ sched.Model }

func (h halfPlan) PlanJob(v *state.View, id state.JobID) (sched.SplitPlan, bool) {
	plan, ok := h.Model.(sched.JobPlanner).PlanJob(v, id)
	return plan[:2], ok
}

func TestMostCached(t *testing.T) {
	block := func(offset, length int64, hosts ...string) hdfs.Block {
		b := hdfs.Block{Offset: offset, Length: length}
		for _, h := range hosts {
			name, cached := strings.CutSuffix(h, "*")
			b.Replicas = append(b.Replicas, hdfs.Replica{Host: name, Cached: cached})
		}
		return b
	}
	for _, c := range []struct {
		name   string
		split  jobsplit.Split
		blocks []hdfs.Block
		want   []string
	}{
		{"none cached", jobsplit.Split{Length: 10}, []hdfs.Block{block(0, 10, "a", "b")}, nil},
		{"one of two", jobsplit.Split{Length: 10}, []hdfs.Block{block(0, 10, "a", "b*")}, []string{"b"}},
		{"both", jobsplit.Split{Length: 10}, []hdfs.Block{block(0, 10, "b*", "a*")}, []string{"a", "b"}},
		{"no blocks", jobsplit.Split{Length: 10}, nil, nil},
		{"most of two blocks", jobsplit.Split{Offset: 8, Length: 10}, []hdfs.Block{block(0, 10, "a*"), block(10, 10, "b*")}, []string{"b"}},
		{"all of two blocks", jobsplit.Split{Length: 20}, []hdfs.Block{block(0, 10, "a*", "c*"), block(10, 10, "b*", "c*")}, []string{"c"}},
		{"empty", jobsplit.Split{Offset: 5}, []hdfs.Block{block(0, 10, "a*")}, nil},
	} {
		if diff := cmp.Diff([][]string{c.want}, mostCached([]jobsplit.Split{c.split}, [][]hdfs.Block{c.blocks})); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.name, diff)
		}
	}
}

// slowAnswers are changes that are made at once and told of later, some so late
// that others overtake them.
type slowAnswers struct {
	Changes
	calls atomic.Int64
}

func (s *slowAnswers) ReplaceLabels(ctx context.Context, labelOf map[string]string) error {
	err := s.Changes.ReplaceLabels(ctx, labelOf)
	delays := []time.Duration{5 * time.Millisecond, 400 * time.Millisecond, 600 * time.Millisecond, 300 * time.Millisecond}
	select {
	case <-time.After(delays[s.calls.Add(1)%int64(len(delays))]):
	case <-ctx.Done():
	}
	return err
}

// TestOvertaken has answers to label changes come late, and in another order than
// they were asked for. No node stays behind.
func TestOvertaken(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := steered(t, yarntest.Config{Nodes: workers(2), Async: async}, byPlan(t), func(_ *fake, o *Options) {
			o.Changes = &slowAnswers{Changes: o.Changes}
		})
		a, b := f.submit("a", 40, 2), f.submit("b", 40, 2)
		f.await(10*time.Minute, a, b)
		f.stop()
		f.asPlanned(a, b)
		if count, causes, _ := f.outcomes(); count["open"] != 0 {
			t.Errorf("%v\n%s", count, strings.Join(causes, "\n"))
		}
	})
}
