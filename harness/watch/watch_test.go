package watch

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"heddle/collectors/hdfs"
	"heddle/collectors/hdfs/jobsplit"
	"heddle/collectors/yarn"
	"heddle/harness/clients"
	"heddle/traces/errtest"
	"heddle/traces/hosts"
	"heddle/yarnclient"
	"heddle/yarnclient/yarntest"
)

// cluster is a fake one that counts what it is asked.
type cluster struct {
	*yarntest.Fake
	requests atomic.Int64
	failing  atomic.Int64 // of the next requests
	rows     atomic.Int64 // applications in answers

	Files
	read, located atomic.Int64
	missing       bool
}

func (c *cluster) RoundTrip(r *http.Request) (*http.Response, error) {
	c.requests.Add(1)
	if c.failing.Add(-1) >= 0 {
		return nil, errors.New("connection refused")
	}
	answer, err := c.Transport().RoundTrip(r)
	if err == nil {
		var body []byte
		body, err = io.ReadAll(answer.Body)
		c.rows.Add(int64(bytes.Count(body, []byte("\"startedTime\""))))
		answer.Body = io.NopCloser(bytes.NewReader(body))
	}
	return answer, err
}

func (c *cluster) ReadStaged(context.Context, string, string) (yarn.Staged, error) {
	<-time.After(50 * time.Millisecond)
	if c.read.Add(1); c.missing {
		return yarn.Staged{}, fs.ErrNotExist
	}
	return yarn.Staged{JobXML: []byte("<configuration/>"), SplitMetaInfo: []byte("submitted")}, nil
}

func (c *cluster) RewriteSplits(context.Context, string, string, []byte, []byte) error { return nil }

func (c *cluster) SplitLocations(_ context.Context, splits []jobsplit.Split) ([][]hdfs.Block, error) {
	c.located.Add(1)
	blocks := make([][]hdfs.Block, len(splits))
	for i, s := range splits {
		blocks[i] = []hdfs.Block{{ID: uint64(s.Offset)}}
	}
	return blocks, nil
}

func watched(t *testing.T, latency time.Duration) (*cluster, *Watcher) {
	t.Helper()
	c := &cluster{Fake: yarntest.New(yarntest.Config{Nodes: yarntest.Workers(1, 3, 4096, 8), Latency: latency})}
	rm := errtest.Must(yarnclient.NewRM(yarnclient.Options{Addresses: []string{"rm:8088"}, Transport: c}))
	return c, New(&clients.Clients{RM: rm}, c)
}

// TestAge has questions asked a while apart, with answers of different ages.
func TestAge(t *testing.T) {
	const ms = time.Millisecond
	for _, x := range []struct {
		name   string
		maxAge time.Duration
		want   int64 // requests
	}{
		{"asked now", 0, 2},
		{"too old", 99 * ms, 2},
		{"just young enough", 100 * ms, 1},
	} {
		t.Run(x.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c, w := watched(t, 0)
				errtest.Must(w.Once().Nodes(t.Context(), 0))
				<-time.After(100 * ms)
				list, err := w.Nodes(t.Context(), x.maxAge)
				if err != nil || len(list) != 3 || c.requests.Load() != x.want {
					t.Errorf("%d nodes by %d requests (%v), want 3 by %d", len(list), c.requests.Load(), err, x.want)
				}
			})
		})
	}
}

// TestQuestions has answers to other questions, which do not serve.
func TestQuestions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, w := watched(t, 0)
		app, err := c.Submit(yarntest.Job{Name: "a", Tags: "a", Maps: [][]string{{"r1n1"}}})
		if err != nil {
			t.Fatal(err)
		}
		for _, x := range []struct {
			tags     []string
			found    bool
			requests int64
		}{
			{[]string{"b"}, false, 1}, {[]string{"b", "a"}, true, 2}, {[]string{"a", "b"}, true, 2},
		} {
			list, err := w.Apps(t.Context(), x.tags, time.Hour)
			found := slices.ContainsFunc(list, func(a yarnclient.App) bool { return a.ID == app })
			if err != nil || found != x.found || c.requests.Load() != x.requests {
				t.Errorf("tags %v: %+v by %d requests (%v), want the job: %v, by %d", x.tags, list, c.requests.Load(), err, x.found, x.requests)
			}
		}
		for job, want := range map[string]int64{"job_1_0001": 3, "job_1_0002": 4} {
			one := []jobsplit.Split{{Path: "/in", Offset: want, Length: 1}}
			blocks, err := w.Blocks(t.Context(), job, one, time.Hour)
			if err != nil || len(blocks[one[0]]) != 1 || blocks[one[0]][0].ID != uint64(want) {
				t.Errorf("%s: blocks %v (%v), want the one at %d", job, blocks, err, want)
			}
		}
		all, err := w.AppsSince(t.Context(), time.Now().Add(time.Hour))
		if err != nil || len(all) != 0 {
			t.Errorf("started in an hour: %v (%v)", all, err)
		}
	})
}

// TestUnderWay has two who ask for the same at once: one question serves both,
// unless it fails, or the second wants an answer of its own.
func TestUnderWay(t *testing.T) {
	for _, x := range []struct {
		name             string
		failing          int64
		maxAge           time.Duration
		cancelled        bool // the first
		requests         int64
		firstOK, otherOK bool
	}{
		{name: "served", maxAge: time.Second, requests: 1, firstOK: true, otherOK: true},
		{name: "too old", maxAge: time.Millisecond, requests: 2, firstOK: true, otherOK: true},
		{name: "fails for the first, which asks once", failing: 1, maxAge: time.Second, requests: 2, otherOK: true},
		{name: "fails, and is tried again by the other", failing: 3, maxAge: time.Second, requests: 4, otherOK: true},
		{name: "fails for good", failing: 9, maxAge: time.Second, requests: 4},
		{name: "the first gives up", cancelled: true, maxAge: time.Second, requests: 2, otherOK: true},
	} {
		t.Run(x.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c, w := watched(t, 20*time.Millisecond)
				c.failing.Store(x.failing)
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				var both sync.WaitGroup
				var first, other error
				both.Go(func() { _, first = w.Once().Nodes(ctx, 0) })
				synctest.Wait()
				<-time.After(5 * time.Millisecond)
				both.Go(func() { _, other = w.Nodes(t.Context(), x.maxAge) })
				synctest.Wait()
				if x.cancelled {
					cancel()
				}
				both.Wait()
				if (first == nil) != x.firstOK || (other == nil) != x.otherOK || c.requests.Load() != x.requests {
					t.Errorf("%v and %v by %d requests, want answers %v and %v by %d", first, other, c.requests.Load(), x.firstOK, x.otherOK, x.requests)
				}
			})
		})
	}
}

// TestWaitEnds gives up while another's question is under way.
func TestWaitEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, w := watched(t, time.Second)
		var one sync.WaitGroup
		one.Go(func() { _, _ = w.Nodes(t.Context(), 0) })
		synctest.Wait()
		ctx, cancel := context.WithTimeoutCause(t.Context(), time.Millisecond, errors.New("no time"))
		defer cancel()
		start := time.Now()
		if _, err := w.Nodes(ctx, time.Minute); err == nil || err.Error() != "no time" || time.Since(start) > time.Millisecond {
			t.Errorf("%v after %v, want the caller's reason at once", err, time.Since(start))
		}
		one.Wait()
		for range 20 { // what is there is given, even to who has no time
			if _, err := w.Nodes(ctx, time.Minute); err != nil {
				t.Fatalf("an answer that was there was not given: %v", err)
			}
		}
	})
}

// TestStaged has two who read what a job's client staged, once in all, and one of
// them rewrite it: the other hears of that, before and after it has read.
func TestStaged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, w := watched(t, 0)
		steering := w.Once()
		var both sync.WaitGroup
		var rewritten <-chan struct{}
		for _, one := range []*Watcher{w, steering} {
			both.Go(func() {
				files, changed, err := one.Staged(t.Context(), "me", "job_1_0001")
				if err != nil || string(files.SplitMetaInfo) != "submitted" {
					t.Errorf("%q (%v), want what was submitted", files.SplitMetaInfo, err)
				}
				if one == w {
					rewritten = changed
				}
			})
		}
		both.Wait()
		select {
		case <-rewritten:
			t.Error("said to be rewritten before it was")
		default:
		}
		for _, text := range []string{"rewritten", "and again"} {
			errtest.None(t, steering.Rewrite(t.Context(), "me", "job_1_0001", []byte("submitted"), []byte(text)))
			<-rewritten
			files, changed, err := w.Staged(t.Context(), "me", "job_1_0001")
			if rewritten = changed; err != nil || string(files.SplitMetaInfo) != text || string(files.JobXML) != "<configuration/>" {
				t.Errorf("%q, %q (%v), want %q and the same configuration", files.SplitMetaInfo, files.JobXML, err, text)
			}
		}
		if n := c.read.Load(); n != 1 {
			t.Errorf("read %d times, want 1", n)
		}
		w.Forget("job_1_0001")
		c.missing = true
		for range 2 { // what failed is tried again
			if _, _, err := w.Staged(t.Context(), "me", "job_1_0001"); !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("of a job that is gone: %v", err)
			}
		}
		if n := c.read.Load(); n != 3 {
			t.Errorf("read %d times, want 3", n)
		}
	})
}

// TestForget asks again for what was forgotten.
func TestForget(t *testing.T) {
	c, w := watched(t, 0)
	split := []jobsplit.Split{{Path: "/in", Length: 1}}
	for i, forget := range []string{"", "job_1_0002", "job_1_0001"} {
		w.Forget(forget)
		errtest.Must(w.Blocks(t.Context(), "job_1_0001", split, time.Hour))
		if got, want := c.located.Load(), []int64{1, 1, 2}[i]; got != want {
			t.Errorf("after %q was forgotten: located %d times, want %d", forget, got, want)
		}
	}
	if n := len(w.newest); n != 1 {
		t.Errorf("%d answers are kept, want 1", n)
	}
}

// TestOnceIsTheSame has both ask one ResourceManager under one address.
func TestOnceIsTheSame(t *testing.T) {
	c, w := watched(t, 0)
	c.failing.Store(2)
	if _, err := w.Once().Nodes(t.Context(), 0); err == nil || !strings.Contains(err.Error(), "refused") || c.requests.Load() != 1 {
		t.Errorf("%v after %d requests, want a failure after one", err, c.requests.Load())
	}
	if _, err := w.Nodes(t.Context(), 0); err != nil || c.requests.Load() != 3 {
		t.Errorf("%v after %d requests, want an answer to the third", err, c.requests.Load())
	}
}

// hdfsNames is an HDFS that has short names for hosts.
type hdfsNames struct{ Files }

func (hdfsNames) DataNodes(context.Context) ([]hdfs.DataNode, error) {
	return []hdfs.DataNode{{Host: "n1"}, {Host: "n2"}, {Host: "10.0.0.3"}}, nil
}

func (hdfsNames) SplitLocations(_ context.Context, splits []jobsplit.Split) ([][]hdfs.Block, error) {
	return [][]hdfs.Block{{{Replicas: []hdfs.Replica{{Host: "n1"}, {Host: "n3"}}}}}, nil
}

// TestOneName: where HDFS has short names and YARN full ones, answers about DataNodes, blocks and
// agents have YARN's; a machine that YARN has not keeps its own.
func TestOneName(t *testing.T) {
	w := New(&clients.Clients{Agents: []clients.Agent{{Node: "n2"}}}, hdfsNames{})
	for _, host := range []string{"N1.example.org", "n2.example.org"} {
		w.Machines.See(host, hosts.Ran) // as Nodes does
	}
	list, err := w.DataNodes(t.Context())
	if err != nil || list[0].Host != "N1.example.org" || list[1].Host != "n2.example.org" || list[2].Host != "10.0.0.3" {
		t.Errorf("DataNodes %v, %v", list, err)
	}
	split := jobsplit.Split{Path: "/in"}
	blocks, err := w.Blocks(t.Context(), "job_1_0001", []jobsplit.Split{split}, 0)
	if r := blocks[split][0].Replicas; err != nil || r[0].Host != "N1.example.org" || r[1].Host != "n3" {
		t.Errorf("replicas %v, %v", r, err)
	}
	if a := w.Agents(); a[0].Node != "n2.example.org" || w.Cluster.Agents[0].Node != "n2" {
		t.Errorf("agents %v", a)
	}
}

// TestEndedOnce: applications that have ended are listed by the ResourceManager only for a while, and by a Watcher
// for ever. That holds too where one ends earlier, by the ResourceManager's clock, than others that ended before.
func TestEndedOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, w := watched(t, 0)
		var jobs int
		same := func(rows int64) {
			t.Helper()
			f := mapReduce
			f.Tags = []string{"a"}
			want := errtest.Must(w.RM.Apps(t.Context(), f))
			c.rows.Store(0)
			got := errtest.Must(w.Apps(t.Context(), f.Tags, 0))
			line := func(list []yarnclient.App) (lines []string) {
				for _, a := range list {
					lines = append(lines, a.ID+" "+a.State)
				}
				return slices.Sorted(slices.Values(lines))
			}
			if a, b := line(got), line(want); len(b) != jobs || !slices.Equal(a, b) {
				t.Fatalf("after %d jobs: listed are %v, want %v", jobs, a[max(0, len(a)-3):], b[max(0, len(b)-3):])
			}
			if got := c.rows.Load(); got > rows {
				t.Errorf("after %d jobs: the ResourceManager lists %d applications, want %d or fewer", jobs, got, rows)
			}
		}
		submit := func() {
			errtest.Must(c.Submit(yarntest.Job{Name: "a", Tags: "a", Maps: [][]string{{"r1n1"}}}))
			jobs++
			<-time.After(time.Millisecond) // an answer of the same moment serves
		}
		for range 120 { // a minute has 30
			submit()
			same(40)
			<-time.After(2 * time.Second)
		}
		submit()
		w.listed[0].FinishedMs += time.Hour.Milliseconds()
		<-time.After(time.Minute)
		same(200)
	})
}
