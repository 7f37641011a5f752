package capture

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"heddle/collectors/hdfs/hdfstest"
	"heddle/collectors/hdfs/jobsplit"
	"heddle/collectors/node"
	"heddle/collectors/node/agent"
	"heddle/harness/clients"
	"heddle/harness/config"
	"heddle/harness/measure"
	"heddle/harness/watch"
	"heddle/traces"
	"heddle/traces/errtest"
	"heddle/traces/tracefile"
	"heddle/yarnclient"
	"heddle/yarnclient/yarntest"
)

// trace is a finished one, read back.
type trace struct {
	Result
	header traces.Header
	events []traces.Event
}

// stop ends a capture and reads the trace that comes of it.
func (c *cluster) stop(ctx context.Context, s *Session) trace {
	c.Helper()
	r, err := s.Stop(ctx)
	c.must(err)
	return c.read(&r)
}

func (c *cluster) read(r *Result) trace {
	c.Helper()
	var out bytes.Buffer
	var seen []traces.Event
	c.must(r.Encode(&out, func(e traces.Event) { seen = append(seen, e) }))
	path := filepath.Join(c.TempDir(), "trace.heddle")
	c.must(os.WriteFile(path, out.Bytes(), 0o600))
	t := c.readFile(path)
	t.Result = *r
	if len(seen) != len(t.events) {
		c.Errorf("%d events were handed over of %d", len(seen), len(t.events))
	}
	c.must(r.Clean())
	if files := append(jobFiles(c.folder), glob(c, "*.part")...); len(files) > 0 {
		c.Errorf("%v are left", files)
	}
	return t
}

func glob(c *cluster, pattern string) []string {
	files, err := filepath.Glob(filepath.Join(c.folder.Name(), pattern))
	c.must(err)
	return files
}

func (c *cluster) readFile(path string) trace {
	c.Helper()
	h, events, err := tracefile.ReadFile(path)
	c.must(err)
	if !slices.IsSortedFunc(events, traces.Compare) {
		c.Error("the trace is not in order of time")
	}
	report, err := tracefile.Check(path)
	c.must(err)
	if n := len(report.Damage) + len(report.Impossible); n > 0 {
		c.Errorf("trace check: %+v", report)
	}
	return trace{header: h, events: events}
}

func of[T traces.Event](events []traces.Event) (list []T) {
	for _, e := range events {
		if x, ok := e.(T); ok {
			list = append(list, x)
		}
	}
	return list
}

// waitFor lets time go by until done.
func waitFor(t *testing.T, what string, done func() bool) {
	t.Helper()
	for end := time.Now().Add(time.Hour); !done(); {
		if time.Now().After(end) {
			t.Fatalf("%s: not within an hour", what)
		}
		<-time.After(100 * time.Millisecond)
	}
	synctest.Wait()
}

func (c *cluster) waitForOutcome(s *Session, job traces.JobID) {
	c.Helper()
	waitFor(c.T, string(job)+" ends", func() bool {
		return slices.ContainsFunc(s.Jobs(), func(j Job) bool { return j.ID == job && j.Outcome != traces.Unfinished })
	})
}

func lasting(d time.Duration) func(string, int, int) (time.Duration, bool) {
	return func(string, int, int) (time.Duration, bool) { return d, false }
}

// TestTraceIsTheHistory runs jobs of several fates and holds the trace against
// what the cluster knows of them: each attempt once, with where its data was.
func TestTraceIsTheHistory(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, yarntest.Workers(2, 2, 2048, 8), nil)
		c.late = time.Second
		var last Progress
		var live measure.Live
		var mu sync.Mutex
		seen := func(e traces.Event) {
			mu.Lock()
			defer mu.Unlock()
			live.Add(e)
		}
		terms := traces.Terms{DeadlineMs: 60_000, Hints: traces.JobHints{Map: traces.Hints{CPU: 3}}}
		c.change = Options{
			Workload: "words", Pools: map[string]string{"b": "red"}, Terms: map[string]traces.Terms{"a": terms},
			Header: traces.Header{Model: "fifo", Seed: 7}, Seen: seen, Progress: func(p Progress) { last = p },
		}
		s := c.start()
		plain := c.submit(yarntest.Job{Name: "plain", Reduces: 1, Tags: "a,b"}, "r1n1", "r1n2", "r2n1", "r2n2")
		fails := func(kind string, task, attempt int) (time.Duration, bool) {
			return 3 * time.Second, attempt == 0 && task == 1
		}
		failing := c.submit(yarntest.Job{Name: "failing", Run: fails}, "r1n1", "r1n2", "r2n1")
		generate := c.submit(yarntest.Job{Name: "generate"}, "r1n1")
		unstaged := c.submit(yarntest.Job{Name: "unstaged"}, "r1n1")
		c.waitForOutcome(s, plain)
		c.mu.Lock()
		c.cached["r2n2"] = true
		c.mu.Unlock()
		killed := c.submit(yarntest.Job{Name: "killed", Run: lasting(time.Hour)}, "r2n2", "r2n2")
		waitFor(t, "the maps of killed run", func() bool { return len(c.Attempts(appOf(killed))) == 2 })
		<-time.After(3 * time.Second)
		mu.Lock()
		now := live.Now()
		mu.Unlock()
		if now.Jobs != 5 || now.Maps.Running < 2 {
			t.Errorf("while maps of killed run: %+v", now)
		}
		c.StopNode("r1n1")
		<-time.After(20 * time.Second)
		c.StartNode("r1n1")
		<-time.After(time.Second)
		c.must(c.clients.RM.KillApp(t.Context(), appOf(killed)))
		c.must(s.Wait(t.Context()))
		got := c.stop(t.Context(), s)

		if h := got.header; h.Model != "fifo" || h.Actuator != "none" || h.Seed != 7 || h.Origin != traces.Measured ||
			h.Settings[amHeartbeat] != "200" {
			t.Errorf("header %+v", h)
		}
		for i, j := range got.Jobs {
			if j.ID != []traces.JobID{plain, failing, generate, unstaged, killed}[i] {
				t.Errorf("job %d is %s", i, j.ID)
			}
			want := traces.Succeeded
			if j.ID == killed {
				want = traces.Killed
			}
			if j.Outcome != want || !strings.HasSuffix(j.History, ".jhist") {
				t.Errorf("%+v: want %v and its history", j, want)
			}
			if inputs := slices.DeleteFunc(slices.Clone(got.header.Inputs),
				func(in traces.Input) bool { return !strings.HasPrefix(in.Name, string(j.ID)) }); len(inputs) != 4 && j.ID != unstaged {
				t.Errorf("%s is made from %v", j.ID, inputs)
			}
			if _, err := c.folder.Stat(filepath.Join("jobs", string(j.ID), j.History)); err != nil {
				t.Error(err)
			}
		}
		if !slices.Equal(got.Jobs[0].Tags, []string{"a", "b"}) {
			t.Errorf("tags %v", got.Jobs[0].Tags)
		}
		if now := live.Now(); now.Maps.Running+now.Reduces.Running > 0 {
			t.Errorf("at the end: %+v", now)
		}
		if last.Jobs != 5 || last.JobsEnded < 4 || last.Maps != 11 {
			t.Errorf("progress %+v", last)
		}
		for _, e := range of[*traces.JobSubmitted](got.events) {
			want, pool := traces.Terms{}, ""
			if e.Job == plain {
				want, pool = terms, "red"
			}
			if e.Terms != want || e.Pool != pool {
				t.Errorf("%s has the terms %+v and the pool %q, want %+v and %q", e.Job, e.Terms, e.Pool, want, pool)
			}
		}
		starts, ends := of[*traces.AttemptStarted](got.events), of[*traces.AttemptFinished](got.events)
		for _, j := range got.Jobs {
			for _, a := range c.Attempts(j.Application) {
				i := slices.IndexFunc(starts, func(e *traces.AttemptStarted) bool { return e.Attempt.String() == a.ID })
				k := slices.IndexFunc(ends, func(e *traces.AttemptFinished) bool { return e.Attempt.String() == a.ID })
				if i < 0 || k < 0 {
					t.Fatalf("%s is not in the trace", a.ID)
				}
				start, end := starts[i], ends[k]
				at := func(x time.Time) traces.Time { return traces.Time(x.UnixMilli()*1e6 - got.header.StartUnixNs) }
				if start.T != at(a.Started) || string(start.Node) != a.Host || start.Container != a.Container || end.T != at(a.Finished) ||
					end.Outcome != outcomes[a.State] {
					t.Errorf("%+v, %+v: want %+v", start, end, a)
				}
				starts, ends = slices.Delete(starts, i, i+1), slices.Delete(ends, k, k+1)
				want := traces.LevelUnknown
				if a.Kind == "MAP" && j.ID != generate && j.ID != unstaged {
					split := c.jobs[j.ID].Maps[a.Task][0]
					switch {
					case split == a.Host && j.ID == killed:
						want = traces.LevelCache
					case split == a.Host:
						want = traces.LevelNode
					case split[:2] == a.Host[:2]:
						want = traces.LevelRack
					default:
						want = traces.LevelOff
					}
				}
				if start.ReplicaLocality != want || want != traces.LevelUnknown && (start.SampleAgeNs < 0 || start.SampleAgeNs > 1e9) {
					t.Errorf("%s is %v, by a sample %d ns old; want %v", a.ID, start.ReplicaLocality, start.SampleAgeNs, want)
				}
			}
		}
		if len(starts)+len(ends) > 0 {
			t.Errorf("more in the trace than happened: %v %v", starts, ends)
		}
		for _, e := range of[*traces.TaskScheduled](got.events) {
			if tied := e.Task.Kind == traces.Map && e.Task.Job != generate && e.Task.Job != unstaged; tied != (len(e.Blocks) == 1) ||
				tied != (e.Path == "/"+string(e.Task.Job)) {
				t.Errorf("%s reads %q, blocks %v", e.Task, e.Path, e.Blocks)
			}
		}
		if n := len(of[*traces.BlockReplica](got.events)); n != 4+3+2 {
			t.Errorf("%d replicas, want one a block", n)
		}
		if n := len(of[*traces.BlockCached](got.events)); n != 2 {
			t.Errorf("%d blocks cached, want 2", n)
		}
		if down, up := of[*traces.NodeDown](got.events), of[*traces.NodeUp](got.events); len(down) != 1 || down[0].Reason != "lost" ||
			len(up) != 1 || up[0].Node != "r1n1" {
			t.Errorf("down %v, up %v: want r1n1 lost and back", down, up)
		}
		if labels := of[*traces.NodeLabel](got.events); len(labels) != 1 || labels[0].Label != "am" {
			t.Errorf("labels %v", labels)
		}
		samples := of[*traces.NodeSample](got.events)
		if i := slices.IndexFunc(samples, func(e *traces.NodeSample) bool { return e.HDFSCacheUsedBytes == 7 && e.CPUUser == -1 }); i < 0 ||
			samples[i].Node != "r1n1" {
			t.Error("no sample of r1n1 with the cache's use and without an agent's figures")
		}
		if len(got.Warnings) != 1 || !strings.HasPrefix(got.Warnings[0], string(unstaged)+": staged files not kept") {
			t.Errorf("warnings %q, want that of the job without staged files", got.Warnings)
		}
	})
}

// TestWithoutHistory has jobs that leave none: one runs on, one had no
// ApplicationMaster, one lost it.
func TestWithoutHistory(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, yarntest.Workers(1, 2, 1024, 8), func(cfg *yarntest.Config) { cfg.Labels = []string{"nowhere"} })
		s := c.start()
		running := c.submit(yarntest.Job{Name: "running", Run: lasting(time.Hour)}, "r1n1")
		lost := c.submit(yarntest.Job{Name: "lost"}, "r1n1")
		c.waitForOutcome(s, lost)
		never, err := c.Submit(yarntest.Job{Name: "never", AMLabel: "nowhere"})
		c.must(err)
		<-time.After(time.Second)
		c.must(c.clients.RM.KillApp(t.Context(), never))
		<-time.After(time.Second)
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
		defer cancel()
		errtest.Is(t, s.Wait(ctx), context.DeadlineExceeded)
		got := c.stop(ctx, s)
		if n := len(of[*traces.JobSubmitted](got.events)); n != 3 {
			t.Errorf("%d jobs submitted, want 3", n)
		}
		for _, e := range of[*traces.JobFinished](got.events) {
			if e.Job == running || e.Counters != traces.NoCounters {
				t.Errorf("%+v", e)
			}
		}
		if n := len(of[*traces.AttemptStarted](got.events)); n != 0 {
			t.Errorf("%d attempts; without a history none is sure", n)
		}
		text := strings.Join(got.Warnings, "\n")
		for _, want := range []string{
			string(running) + " was running when the capture ended", string(lost) + ": no history after", "ended before an ApplicationMaster ran",
		} {
			if !strings.Contains(text, want) {
				t.Errorf("warnings %q lack %q", got.Warnings, want)
			}
		}
	})
}

// TestHistoryOfKilledJob has a job killed long before the capture ends: the capture
// does not wait once more for a history that nobody wrote.
func TestHistoryOfKilledJob(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, yarntest.Workers(1, 2, 1024, 8), nil)
		c.late = time.Hour
		s := c.start()
		killed := c.submit(yarntest.Job{Name: "killed", Run: lasting(time.Hour)}, "r1n1")
		<-time.After(5 * time.Second)
		c.must(c.clients.RM.KillApp(t.Context(), appOf(killed)))
		c.waitForOutcome(s, killed)
		<-time.After(50 * time.Second)
		began := time.Now()
		got := c.stop(t.Context(), s)
		if took := time.Since(began); took > 12*time.Second {
			t.Errorf("the end took %v, want about 10 s: the job had been killed 50 s before", took)
		}
		if len(got.Jobs) != 1 || got.Jobs[0].Outcome != traces.Killed ||
			!strings.Contains(strings.Join(got.Warnings, " "), string(killed)+": no history after") {
			t.Errorf("jobs %+v, warnings %q", got.Jobs, got.Warnings)
		}
	})
}

// TestKilled takes the folder of a capture under way, as a kill leaves it: all
// but the last second is in the part, Repair adds the history of what has ended,
// and the part can be read cut off at any byte.
func TestKilled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, yarntest.Workers(2, 2, 2048, 8), nil)
		c.change.Header.Model = "fifo"
		s := c.start()
		ended := c.submit(yarntest.Job{Name: "ended", Reduces: 1}, "r1n1", "r1n2", "r2n1")
		c.waitForOutcome(s, ended)
		waitFor(t, "its history is joined", func() bool { return len(jobFiles(c.folder)) == 1 })
		fails := func(_ string, task, attempt int) (time.Duration, bool) {
			return time.Minute - 58*time.Second*time.Duration(1-min(1, task+attempt)), task+attempt == 0
		}
		running := c.submit(yarntest.Job{Name: "running", Run: fails}, "r1n1", "r1n2", "r2n1", "r2n1", "r2n1", "r2n1", "r2n1", "r2n1", "r2n1",
			"r2n1", "r2n1", "r2n1", "r2n1")
		s.Add(&traces.Decision{T: s.now(), ID: 1, Job: ended, Node: "r1n1"},
			&traces.Actuation{T: s.now(), Decision: 1, Container: c.Attempts(appOf(ended))[2].Container})
		s.Add(&traces.JobPredicted{T: s.now(), Job: ended, End: s.now()})
		waitFor(t, "the failed map runs again", func() bool {
			return slices.ContainsFunc(c.Attempts(appOf(running)), func(a yarntest.Attempt) bool { return a.Number == 1 && a.State == "RUNNING" })
		})
		<-time.After(1700 * time.Millisecond)
		synctest.Wait()
		now := s.now()
		data, err := os.ReadFile(filepath.Join(c.folder.Name(), PartFile))
		c.must(err)
		defer s.Stop(t.Context())

		whole := 0
		for n := range len(data) + 1 {
			in, err := tracefile.NewReader(bytes.NewReader(data[:n]), "part")
			if err != nil && whole == 0 { // in the header, which is there before Start returns
				continue
			}
			var events []traces.Event
			if n == len(data) {
				_, events, err = tracefile.ReadFile(filepath.Join(c.folder.Name(), PartFile))
			} else if err == nil {
				events = slices.Collect(in.All())
				err = in.Err()
			}
			var damage *tracefile.DamageError
			if !errors.As(err, &damage) || !damage.CutOff || len(events) < whole {
				t.Fatalf("cut at byte %d: %d events, %v; want what a shorter piece has, and that the end is missing", n, len(events), err)
			}
			whole = len(events)
			if n == len(data) {
				figures := measure.Of(traces.Header{}, slices.Values(events))
				if f := figures; f.Jobs != 2 || f.Attempts.Failed != 1 || f.Decisions.Made != 1 {
					t.Errorf("figures %+v", f)
				}
				if last := events[len(events)-1].At(); now-last > 1.5e9 {
					t.Errorf("the last event is %v before the kill", time.Duration(now-last))
				}
			}
		}

		to := filepath.Join(t.TempDir(), "repaired")
		r, err := Repair(filepath.Join(c.folder.Name(), PartFile), to)
		c.must(err)
		if r.Histories != 1 || !r.LostTail {
			t.Errorf("%+v: want the history of one job, and that the end is lost", r)
		}
		got := c.readFile(to)
		if int64(len(got.events)) != r.Events || got.header.Model != "fifo" || len(got.header.Inputs) != 4 {
			t.Errorf("%d events, header %+v; the report says %d", len(got.events), got.header, r.Events)
		}
		var attempts int
		for _, a := range slices.Concat(c.Attempts(appOf(ended)), c.Attempts(appOf(running))) {
			if a.State != "STARTING" {
				attempts++
			}
		}
		starts := of[*traces.AttemptStarted](got.events)
		if len(starts) != attempts {
			t.Errorf("%d attempts, want %d, each once", len(starts), attempts)
		}
		for _, e := range starts {
			if e.ReplicaLocality == traces.LevelUnknown && e.Attempt.Kind == traces.Map {
				t.Errorf("%v has no level", e)
			}
		}
		if ends := of[*traces.JobFinished](got.events); len(ends) != 1 || ends[0].Job != ended {
			t.Errorf("jobs that ended: %v", ends)
		}
		if a := of[*traces.Actuation](got.events); len(a) != 1 || a[0].Bound.String() != c.Attempts(appOf(ended))[2].ID {
			t.Errorf("actuations %+v: want the attempt that ran in the container", a)
		}
		if p := of[*traces.JobPredicted](got.events); len(p) != 1 || p[0].Job != ended {
			t.Errorf("predictions %+v: want that of the job whose history is there", p)
		}
		errtest.Is(t, errtest.Of(Repair(filepath.Join(c.folder.Name(), PartFile), to)), os.ErrExist)
		if _, err := Repair(to, to+"2"); err != nil {
			t.Errorf("repair of a trace that is none's part: %v", err)
		}
	})
}

// TestMemoryFollowsWhatIsAlive has jobs come and go on 200 nodes. What the capture
// holds at the end of 20,000 attempts is what it held after 4,000.
func TestMemoryFollowsWhatIsAlive(t *testing.T) {
	if testing.Short() {
		t.Skip("takes half a minute")
	}
	held := func(jobs int) (bytes int64) {
		synctest.Test(t, func(t *testing.T) {
			c := newCluster(t, yarntest.Workers(10, 20, 4096, 8), func(cfg *yarntest.Config) { cfg.Heartbeat = time.Second })
			c.change = Options{EveryRM: 2 * time.Second, EveryLocations: 5 * time.Second}
			s := c.start()
			for i := range jobs {
				var hosts []string
				for k := range 100 {
					hosts = append(hosts, fmt.Sprintf("r%dn%d", (i+k)%10+1, k%20+1))
				}
				c.submit(yarntest.Job{Run: lasting(10 * time.Second)}, hosts...)
				<-time.After(2 * time.Second)
			}
			// Those that are alive now are as many however long it took.
			synctest.Wait()
			if n := len(s.alive); n < 2 || n > 30 {
				t.Errorf("%d jobs are alive, want a few", n)
			}
			before := liveHeap()
			// What a capture holds is what goes with it.
			c.must(func() error { _, err := s.Stop(t.Context()); return err }())
			runtime.KeepAlive(s)
			s = nil
			bytes = before - liveHeap()
		})
		return bytes
	}
	early, late := held(40), held(200)
	t.Logf("%d bytes after 4,000 attempts, %d after 20,000", early, late)
	if late > early+1<<20 {
		t.Errorf("%d bytes are held after 20,000 attempts, %d after 4,000", late, early)
	}
}

func liveHeap() int64 {
	runtime.GC()
	runtime.GC() // what a finalizer or a pool kept
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// TestStartFails has clusters that cannot be captured.
func TestStartFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, yarntest.Workers(1, 1, 1024, 8), nil)
		c.SetHA("", "")
		if _, err := Start(t.Context(), c.watch, Options{Folder: c.folder}); err == nil || !strings.HasPrefix(err.Error(), "start capture: ") {
			t.Errorf("without a ResourceManager: %v", err)
		}
		c.SetHA("ACTIVE", "")
		c.must(c.folder.WriteFile(PartFile, nil, 0o600))
		errtest.Is(t, errtest.Of(Start(t.Context(), c.watch, Options{Folder: c.folder})), os.ErrExist)
	})
}

// TestOutages has daemons that do not answer for a while: the capture goes on and
// says so.
func TestOutages(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, yarntest.Workers(1, 2, 1024, 8), nil)
		var warned []string // while it goes on
		c.change.Warned = func(text string) { warned = append(warned, text) }
		s := c.start()
		job := c.submit(yarntest.Job{Name: "job", Run: lasting(20 * time.Second)}, "r1n1")
		<-time.After(5 * time.Second)
		c.mu.Lock()
		c.noNames = true
		c.mu.Unlock()
		<-time.After(3 * time.Second)
		c.mu.Lock()
		c.noNames = false
		c.mu.Unlock()
		c.RestartRM(3*time.Second, time.Second)
		<-time.After(10 * time.Second)
		c.waitForOutcome(s, job)
		got := c.stop(t.Context(), s)
		if len(got.Jobs) != 1 || got.Jobs[0].Outcome != traces.Succeeded || len(of[*traces.AttemptStarted](got.events)) != 1 {
			t.Errorf("%+v: want the job and its map", got.Jobs)
		}
		for _, want := range []string{"ResourceManager: ", "block locations"} {
			has := func(text string) bool { return strings.Contains(text, want) }
			if !slices.ContainsFunc(got.Warnings, has) || !slices.ContainsFunc(warned, has) {
				t.Errorf("warnings %q, of them at once %q; both lack %q", got.Warnings, warned, want)
			}
		}
	})
}

// TestForgotten has a ResourceManager that no longer lists a job: the capture gives it
// up after a while, and no sooner, and goes on with the others.
func TestForgotten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, yarntest.Workers(2, 2, 2048, 8), nil)
		s := c.start()
		lost := c.submit(yarntest.Job{Name: "lost", Run: lasting(time.Hour)}, "r1n1")
		other := c.submit(yarntest.Job{Name: "other", Run: lasting(30 * time.Second)}, "r1n2")
		<-time.After(5 * time.Second)
		c.Forget(appOf(lost))
		ctx, cancel := context.WithTimeout(t.Context(), lostAfter-time.Second)
		defer cancel()
		errtest.Is(t, s.Wait(ctx), context.DeadlineExceeded)
		began := time.Now()
		c.must(s.Wait(t.Context()))
		if took := time.Since(began); took > 2*time.Second {
			t.Errorf("the job was given up %v late", took)
		}
		for _, j := range s.Jobs() {
			if j.Lost != (j.ID == lost) {
				t.Errorf("%+v: want that only %s is lost", j, lost)
			}
		}
		got := c.stop(t.Context(), s)
		finished := of[*traces.JobFinished](got.events)
		if len(of[*traces.JobSubmitted](got.events)) != 2 || len(finished) != 1 || finished[0].Job != other {
			t.Errorf("ends of jobs: %+v, want one of %s", finished, other)
		}
		if text := strings.Join(got.Warnings, "\n"); !strings.Contains(text, string(lost)+": the ResourceManager has not listed it for 1m0s") {
			t.Errorf("warnings %q do not say what became of %s", got.Warnings, lost)
		}
	})
}

// TestPolls counts what the ResourceManager is asked while a capture waits for jobs,
// alone and beside somebody who asks for the same.
func TestPolls(t *testing.T) {
	for _, others := range []time.Duration{0, 50 * time.Millisecond} {
		t.Run(others.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := newCluster(t, yarntest.Workers(1, 2, 1024, 8), nil)
				asked := map[string]int{}
				var mu sync.Mutex
				rm, err := yarnclient.NewRM(yarnclient.Options{
					Addresses: []string{"rm:8088"},
					Transport: roundTripper(func(r *http.Request) (*http.Response, error) {
						mu.Lock()
						asked[r.URL.Path]++
						mu.Unlock()
						return c.Transport().RoundTrip(r)
					}),
				})
				c.must(err)
				c.clients.RM = rm
				c.watch = watch.New(c.clients, c)
				c.change = Options{Tags: []string{"a"}, EveryRM: 200 * time.Millisecond}
				s := c.start()
				mu.Lock()
				clear(asked)
				mu.Unlock()
				want := 50
				if others > 0 {
					want = 200
				}
				for range want {
					if <-time.After(10 * time.Second / time.Duration(want)); others > 0 {
						_, err := c.watch.Once().Nodes(t.Context(), 0)
						c.must(err)
						_, err = c.watch.Once().Apps(t.Context(), []string{"a"}, 0)
						c.must(err)
					}
				}
				c.stop(t.Context(), s)
				nodes := want
				if others == 0 {
					nodes = 10 // once a second
				}
				for path, want := range map[string]int{"/ws/v1/cluster/nodes": nodes, "/ws/v1/cluster/apps": want} {
					if n := asked[path]; n < want-2 || n > want+2 {
						t.Errorf("%s was asked for %d times in 10 s, want %d", path, n, want)
					}
				}
			})
		})
	}
}

// TestManyMasters: the ApplicationMasters of many jobs are asked as often, together, as those of few.
func TestManyMasters(t *testing.T) {
	asked := func(jobs int) int64 {
		var n atomic.Int64
		synctest.Test(t, func(t *testing.T) {
			c := newCluster(t, yarntest.Workers(1, 100, 1024, 8), func(cfg *yarntest.Config) { cfg.Latency = 20 * time.Millisecond })
			c.clients.RM = errtest.Must(yarnclient.NewRM(yarnclient.Options{
				Addresses: []string{"rm:8088"},
				Transport: roundTripper(func(r *http.Request) (*http.Response, error) {
					if strings.HasPrefix(r.URL.Path, "/proxy") {
						n.Add(1)
					}
					return c.Transport().RoundTrip(r)
				}),
			}))
			c.watch = watch.New(c.clients, c)
			s := c.start()
			for i := range jobs {
				c.submit(yarntest.Job{Run: lasting(3 * time.Minute)}, fmt.Sprintf("r1n%d", i+1))
			}
			<-time.After(time.Minute)
			n.Store(0)
			<-time.After(time.Minute)
			_, err := s.Stop(t.Context())
			c.must(err)
		})
		return n.Load()
	}
	few, many := asked(20), asked(100)
	t.Logf("in a minute 20 masters were asked %d times, 100 %d times", few, many)
	if few < 600 || many > 2*few {
		t.Errorf("in a minute 20 masters were asked %d times, want 600 or more, and 100 of them %d times, want twice that at most", few, many)
	}
}

// TestWaitLooksAnew has jobs that come and end between two polls, which are a minute
// apart: Wait sees them all the same.
func TestWaitLooksAnew(t *testing.T) {
	for _, before := range []int{0, 1} { // jobs that ended before the last poll
		t.Run(fmt.Sprint(before), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := newCluster(t, yarntest.Workers(2, 2, 2048, 8), nil)
				c.change = Options{Tags: []string{"a"}, EveryRM: time.Minute}
				s := c.start()
				for range before {
					c.submit(yarntest.Job{Name: "first", Tags: "a", Run: lasting(time.Minute)}, "r1n1")
					<-time.After(2 * time.Minute)
				}
				<-time.After(time.Second)
				job := c.submit(yarntest.Job{Name: "last", Tags: "a", Run: lasting(5 * time.Second)}, "r1n1")
				waitFor(t, "the last job's end", func() bool {
					app, err := c.clients.RM.App(t.Context(), appOf(job))
					c.must(err)
					return app.Ended()
				})
				c.must(s.Wait(t.Context()))
				if got := c.stop(t.Context(), s); len(got.Jobs) != before+1 {
					t.Errorf("%d jobs in the trace, want %d", len(got.Jobs), before+1)
				}
			})
		})
	}
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// TestResplit rewrites what a job's ApplicationMaster reads: the trace has the
// hosts that it saw.
func TestResplit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, yarntest.Workers(1, 2, 1024, 8), nil)
		s := c.start()
		early := c.submit(yarntest.Job{Name: "early", Run: lasting(5 * time.Second)}, "r1n1")
		rewrite := func(job traces.JobID) {
			staged, err := c.ReadStaged(t.Context(), "", string(job))
			c.must(err)
			metas, _, err := staged.Splits()
			c.must(err)
			metas[0].Hosts = []string{"r1n2"}
			c.must(c.watch.Rewrite(t.Context(), "", string(job), staged.SplitMetaInfo, jobsplit.AppendMeta(nil, metas)))
		}
		rewrite(early) // before the capture has read its staged files
		<-time.After(time.Second)
		late := c.submit(yarntest.Job{Name: "late", Run: lasting(5 * time.Second)}, "r1n1")
		<-time.After(2 * time.Second)
		rewrite(late)
		c.must(s.Wait(t.Context()))
		got := c.stop(t.Context(), s)
		for _, e := range of[*traces.TaskScheduled](got.events) {
			if !slices.Equal(e.SplitHosts, []traces.Node{"r1n2"}) {
				t.Errorf("%s has split hosts %v, want those that its ApplicationMaster read", e.Task, e.SplitHosts)
			}
		}
	})
}

// TestCannotWrite has a trial's folder vanish: Stop says that the trace is not
// whole.
func TestCannotWrite(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, yarntest.Workers(1, 2, 1024, 8), nil)
		s := c.start()
		job := c.submit(yarntest.Job{Name: "job"}, "r1n1")
		<-time.After(time.Second)
		c.must(os.RemoveAll(filepath.Join(c.folder.Name(), jobsFolder)))
		c.waitForOutcome(s, job)
		errtest.Has(t, errtest.Of(s.Stop(t.Context())), string(job))
	})
}

// TestRecover makes a trace of jobs that ran unseen.
func TestRecover(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, yarntest.Workers(2, 2, 2048, 8), nil)
		first := c.submit(yarntest.Job{Name: "first"}, "r1n1", "r2n1")
		<-time.After(10 * time.Second)
		second := c.submit(yarntest.Job{Name: "second", Reduces: 2}, "r1n1")
		<-time.After(20 * time.Second)
		r := Result{folder: c.folder, Header: traces.Header{Software: map[string]string{}}}
		c.must(r.recover(t.Context(), c.watch, []string{string(second), string(first), string(second)}))
		got := c.read(&r)
		if len(got.Jobs) != 2 || got.Jobs[0].ID != first || got.Jobs[0].Name != "first" || got.Jobs[1].Outcome != traces.Succeeded {
			t.Errorf("jobs %+v", got.Jobs)
		}
		if e, ok := got.events[0].(*traces.JobSubmitted); !ok || e.T != 0 || e.Job != first {
			t.Errorf("the trace begins with %v, want the first job's submission at 0", got.events[0])
		}
		if n := len(of[*traces.AttemptStarted](got.events)); n != 5 {
			t.Errorf("%d attempts, want 5", n)
		}
		for _, e := range of[*traces.AttemptStarted](got.events) {
			if e.ReplicaLocality != traces.LevelUnknown || e.SampleAgeNs != -1 {
				t.Errorf("%v: a level that nobody has seen", e)
			}
		}
		errtest.Has(t, r.recover(t.Context(), c.watch, []string{"job_1_0001"}), "job_1_0001")
		lost := c.submit(yarntest.Job{Name: "lost"}, "r1n1")
		<-time.After(10 * time.Second)
		if err := r.recover(t.Context(), c.watch, []string{string(lost)}); err == nil {
			t.Error("a job without a history is no error")
		}
	})
}

// TestDaemons captures over sockets, from daemons as they are found by a cluster
// file: an agent's samples are in the part while the capture goes on. The
// NameNode holds no file of the job, which then has no history.
func TestDaemons(t *testing.T) {
	dir := t.TempDir()
	token := filepath.Join(dir, "token")
	folder, err := os.OpenRoot(dir)
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(errors.Join(err, os.WriteFile(token, []byte("a-token-of-an-agent-for-tests-only\n"), 0o600)))
	defer folder.Close()
	a, err := agent.New(agent.Options{TokenFile: token, Node: "r1n1", Interval: node.MinInterval, Listen: "127.0.0.1:0"})
	must(err)
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	must(err)
	ctx, cancel := context.WithCancel(t.Context())
	var serving sync.WaitGroup
	defer serving.Wait()
	defer cancel()
	serving.Go(func() { _ = a.Serve(ctx, listener) })
	hadoop := yarntest.New(yarntest.Config{Nodes: yarntest.Workers(1, 1, 4096, 8), AMStart: time.Millisecond})
	rest := httptest.NewServer(hadoop)
	defer rest.Close()
	cluster, err := clients.To(&config.Cluster{
		Name: "sockets", ResourceManagers: []string{rest.URL}, HistoryServer: rest.URL, NameNodes: []string{hdfstest.Start(t).Address},
		User:   "me",
		Agents: []config.Agent{{Node: "r1n1", URL: "http://" + listener.Addr().String(), TokenFile: token}},
		Rates:  config.Rates{Disk: 1e6, Link: 2e6, Uplink: 3e6},
	}, clients.Patience{})
	must(err)
	defer cluster.Close()
	w := watch.New(cluster, watch.HDFS(cluster))
	if _, err := Recover(ctx, w, []string{"job_1_0001"}, folder); err == nil || !strings.HasPrefix(err.Error(), "capture from history: ") {
		t.Errorf("recover a job that nobody knows: %v", err)
	}
	s, err := Start(ctx, w, Options{
		Folder: folder, EveryRM: 50 * time.Millisecond, EveryAgents: 50 * time.Millisecond,
		EveryLocations: 50 * time.Millisecond,
	})
	must(err)
	if s.Origin().After(time.Now()) {
		t.Error("the capture begins in the future")
	}
	_, err = hadoop.Submit(yarntest.Job{Maps: [][]string{{"r1n1"}}})
	must(err)
	part := filepath.Join(dir, PartFile)
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for seen := false; !seen; <-tick.C {
		_, events, _ := tracefile.ReadFile(part)
		samples := of[*traces.NodeSample](events)
		seen = len(of[*traces.JobFinished](events)) > 0 &&
			slices.ContainsFunc(samples, func(e *traces.NodeSample) bool { return e.Node == "r1n1" && e.MemoryFreeBytes > 0 && e.CPUUser >= 0 })
	}
	ended, over := context.WithCancel(ctx)
	over() // nobody waits for a history
	r, err := s.Stop(ended)
	must(err)
	if len(r.Header.Cluster.Disks) != 1 || len(r.Header.Cluster.Links) != 2 || r.Header.Software["kernel"] == "" ||
		r.Header.Cluster.Nodes[0].Cores == 0 {
		t.Errorf("header %+v", r.Header)
	}
	if len(r.Jobs) != 1 || r.Jobs[0].Outcome != traces.Succeeded {
		t.Errorf("jobs %+v", r.Jobs)
	}
	text := strings.Join(r.Warnings, "\n")
	for _, want := range []string{"staged files not kept", "no history"} {
		if !strings.Contains(text, want) {
			t.Errorf("warnings %q lack %q", r.Warnings, want)
		}
	}
}
