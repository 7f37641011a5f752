package drive

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"heddle/harness/sched"
	"heddle/traces"
	"heddle/yarnclient"
	"heddle/yarnclient/yarntest"
)

// TestFaults runs a job or two while something goes wrong. In all of them the
// jobs end well, no decision stays open, no container runs that was not decided
// and the nodes end parked.
func TestFaults(t *testing.T) {
	for _, c := range []struct {
		name  string
		takes time.Duration // longer for each attempt
		fault func(f *fake, job string)
		// want is how many decisions at most were not honoured, and what must be
		// among their causes.
		notHonoured int
		cause       string // or among the notes
		// killed are attempts that were repaired.
		killed int
	}{
		// While the park call hangs, the room of a container that ends is used again.
		{name: "label call that succeeds after its timeout", notHonoured: 2, killed: -1, fault: func(f *fake, _ string) {
			f.c.Inject(yarntest.Fault{Method: "POST", Path: "replace-node-to-labels", Skip: 5, Times: 2, Apply: true, Hang: true})
		}},
		{name: "label call that is lost", fault: func(f *fake, _ string) {
			f.c.Inject(yarntest.Fault{Method: "POST", Path: "replace-node-to-labels", Skip: 4, Times: 3, Drop: true})
		}},
		{name: "label call refused for a moment", fault: func(f *fake, _ string) {
			f.c.Inject(yarntest.Fault{Method: "POST", Path: "replace-node-to-labels", Skip: 4, Times: 2, Status: 503, Body: "busy"})
		}},
		{name: "answers cut off", fault: func(f *fake, _ string) {
			f.c.Inject(yarntest.Fault{Method: "GET", Path: "/containers", Skip: 20, Times: 5, Cut: 40})
			f.c.Inject(yarntest.Fault{Method: "GET", Path: "/nodes/", Skip: 5, Times: 2, Cut: 40})
		}},
		{name: "allocation on the old label", killed: -1, cause: "was there already", fault: func(f *fake, _ string) {
			f.wait(1500 * time.Millisecond)
			for len(f.labelled()) == 0 { // until it is open
				f.wait(time.Millisecond)
			}
			host, _, _ := strings.Cut(f.labelled()[0], ":")
			f.c.StaleLabel(host, 2*time.Second)
		}},
		{name: "two containers at once", notHonoured: 1, killed: -1, fault: func(f *fake, _ string) {
			f.wait(1500 * time.Millisecond)
			f.c.AllocateTwice("r1n1")
		}},
		{
			name: "two containers at once, one of them in nobody's room", takes: 8 * time.Second, notHonoured: 1, killed: 1,
			cause: "more than one container", fault: func(f *fake, _ string) {
				f.wait(1500 * time.Millisecond)
				f.c.AllocateTwice("r1n1")
			},
		},
		{name: "ResourceManager restarted", notHonoured: 8, fault: func(f *fake, _ string) {
			f.wait(3 * time.Second)
			f.c.RestartRM(3*time.Second, time.Second)
		}},
		{name: "NodeManager lost", notHonoured: 4, killed: -1, fault: func(f *fake, _ string) {
			f.wait(3 * time.Second)
			f.c.StopNode("r1n2")
		}},
		{name: "NodeManager lost and back", notHonoured: 4, killed: -1, fault: func(f *fake, _ string) {
			f.wait(3 * time.Second)
			f.c.StopNode("r1n2")
			f.wait(20 * time.Second)
			f.c.StartNode("r1n2")
		}},
		{name: "ApplicationMaster lost", notHonoured: 8, killed: -1, fault: func(f *fake, job string) {
			f.wait(4 * time.Second)
			f.c.KillMaster(job)
		}},
		{name: "attempts fail", fault: func(*fake, string) {}},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				cfg := yarntest.Config{Nodes: workers(2), Async: async, Expiry: 5 * time.Second}
				f := steered(t, cfg)
				run := func(j *yarntest.Job) {
					j.Run = func(kind string, task, attempt int) (time.Duration, bool) {
						fails := c.name == "attempts fail" && task%5 == 0 && attempt == 0
						return c.takes + time.Second + time.Duration(task%7)*100*time.Millisecond, fails
					}
				}
				a, b := f.submit("a", 40, 3, run), f.submit("b", 30, 2, run)
				c.fault(f, a)
				f.await(5*time.Minute, a, b)
				f.stop()
				count, causes, mispredicted := f.outcomes()
				t.Logf("%v, %d mispredicted\n%s", count, mispredicted, strings.Join(causes, "\n"))
				bad := 0
				for outcome, n := range count {
					if outcome != "honoured" {
						bad += n
					}
				}
				if count["open"] != 0 || bad > c.notHonoured {
					t.Errorf("%v, want none open and at most %d not honoured", count, c.notHonoured)
				}
				for _, e := range f.events {
					switch e := e.(type) {
					case *traces.Note:
						causes = append(causes, e.Text)
					case *traces.Actuation:
						causes = append(causes, e.Cause)
					}
				}
				if !strings.Contains(strings.Join(causes, "\n"), c.cause) {
					t.Errorf("no cause says %q", c.cause)
				}
				killed := f.explained(a, b)
				if c.killed >= 0 && killed != c.killed {
					t.Errorf("%d attempts were repaired, want %d", killed, c.killed)
				}
				if left := f.labelled(); len(left) > 0 {
					t.Errorf("nodes left in labels: %v", left)
				}
			})
		})
	}
}

// TestGivenBack has a master that gives a reduce's container back at once, as
// MapReduce's does where it had just made room for a map: the reduce is decided
// again as soon as the master's word for it can be had.
func TestGivenBack(t *testing.T) {
	run := func(reduces int) (took time.Duration, count map[string]int) {
		synctest.Test(t, func(t *testing.T) {
			f := steered(t, yarntest.Config{Nodes: workers(2), Async: async})
			began := time.Now()
			id := f.submit("a", 8, 1)
			f.c.GiveBack(id, reduces)
			f.await(5*time.Minute, id)
			took = time.Since(began)
			f.stop()
			count, _, _ = f.outcomes()
		})
		return took, count
	}
	usual, _ := run(0)
	took, count := run(1)
	if count["honoured"] != 9 || count["unused"] != 1 || count["open"] != 0 {
		t.Errorf("%v, want 9 honoured, and one unused: the container that was given back", count)
	}
	if late := took - usual; late < 0 || late > 3*time.Second {
		t.Errorf("the job took %v more", late)
	}
}

// TestTakenBack has a master that takes its request for a reduce back while a node is
// open for it, as MapReduce's does where a map waits and the cluster seems full. No
// longer wait would bring that container: the decision is cancelled at once, well
// before the 20 s for which the first decisions wait, and others get the room.
func TestTakenBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := steered(t, yarntest.Config{Nodes: workers(2), Async: 8 * time.Second})
		id := f.submit("a", 3, 1)
		for range 600 { // until a node is open for the reduce
			if slices.ContainsFunc(f.labelled(), func(l string) bool { return strings.HasSuffix(l, " r00") }) {
				break
			}
			f.wait(100 * time.Millisecond)
		}
		f.c.TakeBack(id, time.Minute)
		f.wait(1500 * time.Millisecond)
		if left := f.labelled(); len(left) > 0 {
			t.Errorf("nodes are kept for a reduce that is not asked for: %v", left)
		}
		f.await(5*time.Minute, id)
		f.stop()
		count, causes, _ := f.outcomes()
		if count["honoured"] != 4 || count["cancelled"] != 1 || count["open"] != 0 ||
			!strings.Contains(strings.Join(causes, "\n"), "took its request back") {
			t.Errorf("%v %q, want 4 honoured and the reduce cancelled once, since its request was taken back", count, causes)
		}
	})
}

// wait lets virtual time pass.
func (f *fake) wait(d time.Duration) { <-time.After(d) }

// explained expects each attempt that ended well to be in a container that was
// decided for its job, kind and node, and counts the killed ones that were not.
func (f *fake) explained(ids ...string) (repaired int) {
	f.t.Helper()
	decided := f.decided()
	for _, id := range ids {
		for _, a := range f.c.Attempts(id) {
			want := fmt.Sprintf("job_%s %s %s", strings.TrimPrefix(id, "application_"), a.Kind, a.Host)
			switch got := decided[a.Container]; {
			case got == want:
			case a.State == "KILLED" && got == "":
				repaired++
			default:
				f.t.Errorf("%s %s in %s is %q, was decided as %q", a.ID, a.State, a.Container, want, got)
			}
		}
	}
	return repaired
}

// TestStopAtAnyTime stops steering while decisions are open; all are told as
// cancelled or honoured.
func TestStopAtAnyTime(t *testing.T) {
	for after := 100 * time.Millisecond; after < 3*time.Second; after += 170 * time.Millisecond {
		synctest.Test(t, func(t *testing.T) {
			f := steered(t, yarntest.Config{Nodes: workers(2), Async: async, Latency: 2 * time.Millisecond})
			f.submit("a", 20, 2)
			f.wait(after)
			f.stop()
			if count, causes, _ := f.outcomes(); count["open"] != 0 {
				t.Errorf("stopped after %v: %v\n%s", after, count, strings.Join(causes, "\n"))
			}
			f.stop() // again does nothing
		})
	}
}

// TestPoolEmpty has more submissions than triples: the last one waits until
// another has released its labels.
func TestPoolEmpty(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := steered(t, yarntest.Config{Nodes: workers(1), Async: async})
		var held []*Submission
		for i := range 4 {
			s := must(f.d.Submission(t.Context(), fmt.Sprint("tag", i), "", traces.Terms{}))
			held = append(held, s)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := f.d.Submission(ctx, "late", "", traces.Terms{}); err == nil || !strings.Contains(err.Error(), "free labels") {
			t.Errorf("fifth of four: %v", err)
		}
		held[2].Release()
		s, err := f.d.Submission(t.Context(), "late", "", traces.Terms{})
		if err != nil || s.Number != "02" {
			t.Errorf("got labels %v, %v, want those that were released", s, err)
		}
		f.stop()
	})
}

// TestGivesUp has a ResourceManager that refuses to move nodes, or does not come
// back. The Driver ends by itself and says why.
func TestGivesUp(t *testing.T) {
	for _, c := range []struct {
		name  string
		fault func(f *fake)
		want  string
	}{
		{"refused", func(f *fake) {
			f.c.Inject(yarntest.Fault{Method: "POST", Path: "replace-node-to-labels", Times: -1, Status: 401, Body: "no admin"})
		}, "no admin"},
		{"a question is refused", func(f *fake) {
			f.c.Inject(yarntest.Fault{Method: "GET", Path: "/ws/v1/cluster/apps", Times: -1, Status: 414, Body: "URI Too Long"})
		}, "is active and refuses this again and again: "},
		{"gone", func(f *fake) { f.c.RestartRM(time.Hour, time.Second) }, "did not come back within 5m0s"},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := steered(t, yarntest.Config{Nodes: workers(1), Async: async})
				f.submit("a", 10, 1)
				f.wait(time.Second)
				c.fault(f)
				select {
				case <-f.d.Done():
				case <-time.After(10 * time.Minute):
					t.Error("it goes on")
				}
				if err := f.d.Stop(); err == nil || !strings.Contains(err.Error(), c.want) {
					t.Errorf("ended with %v, want it to say %q", err, c.want)
				}
				if _, err := f.d.Submission(t.Context(), "b", "", traces.Terms{}); err == nil {
					t.Error("a submission after the end was taken")
				}
				if count, causes, _ := f.outcomes(); count["open"] != 0 {
					t.Errorf("%v\n%s", count, strings.Join(causes, "\n"))
				}
			})
		})
	}
}

// TestOtherLabel has a job whose maps ask for another label than steering gave it: that is said once.
func TestOtherLabel(t *testing.T) {
	var said bytes.Buffer
	synctest.Test(t, func(t *testing.T) {
		f := steered(t, yarntest.Config{Nodes: workers(1), Async: async}, func(_ *fake, o *Options) {
			o.Log = slog.New(slog.NewTextHandler(&said, nil))
		})
		f.submit("a", 1, 0, func(j *yarntest.Job) { j.MapLabel = "m03" })
		f.wait(6 * time.Minute)
		f.stop()
	})
	if text := said.String(); strings.Count(text, "other node labels than it was given") != 1 {
		t.Errorf("said are\n%s\nwant once that it asks under other labels", text)
	}
}

// TestRoomLost has a ResourceManager count containers under a job's label that no longer are: the
// job ends all the same, on nodes of one slot and of several, with no container more than decided.
func TestRoomLost(t *testing.T) {
	for _, slots := range []int64{1, 4} {
		var said bytes.Buffer
		synctest.Test(t, func(t *testing.T) {
			f := steered(t, yarntest.Config{Nodes: workers(slots), Async: async}, func(_ *fake, o *Options) {
				o.Log = slog.New(slog.NewTextHandler(&said, nil))
			})
			f.c.Leak("m00", 1024)
			f.await(5*time.Minute, f.submit("a", 6, 1))
			f.stop()
			if count, causes, _ := f.outcomes(); count["honoured"] != 7 || count["surplus"] != 0 ||
				!strings.Contains(said.String(), "1024 MB under label m00 that no container uses") {
				t.Errorf("%d slots: %v\n%s\n%s", slots, count, strings.Join(causes, "\n"), said.String())
			}
		})
	}
}

// TestSizesNotKept has a ResourceManager that says of sizes of nodes that they are
// set, and does not set them, for a while: it is not asked without end, decisions on
// such nodes are given up with the reason, and the jobs end well afterwards.
func TestSizesNotKept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		said := &unkept{until: time.Now().Add(20 * time.Second)}
		f := steered(t, yarntest.Config{Nodes: yarntest.Workers(3, 20, 8*512, 64), Async: async}, func(_ *fake, o *Options) {
			said.Changes, o.Changes = o.Changes, said
			o.Core.Model = must(sched.New("delay", nil))
		})
		a, b := f.submit("a", 400, 3), f.submit("b", 300, 2)
		f.await(10*time.Minute, a, b)
		f.stop()
		count, causes, _ := f.outcomes()
		for _, e := range f.events {
			if e, ok := e.(*traces.Actuation); ok {
				causes = append(causes, e.Cause)
			}
		}
		if count["open"] != 0 || !strings.Contains(strings.Join(causes, "\n"), "did not take the size it was given") {
			t.Errorf("%v: want none open, and some given up for the size:\n%s", count, strings.Join(causes, "\n"))
		}
		t.Log(said.calls.Load(), "sizes set in vain")
		if n := said.calls.Load(); n == 0 || n > 1000 { // of 16 nodes, five times in two seconds
			t.Errorf("%d sizes were set in vain, want some and at most 1,000", n)
		}
	})
}

// unkept are Changes that say that they have set a size, until a time.
type unkept struct {
	Changes
	until time.Time
	calls atomic.Int64
}

func (u *unkept) SetNodeResource(ctx context.Context, id string, total yarnclient.Resource) error {
	if time.Now().Before(u.until) {
		u.calls.Add(1)
		return nil
	}
	return u.Changes.SetNodeResource(ctx, id, total)
}

// TestSlowGrants steers a cluster that takes up to 24 s to grant a container, which is
// longer than a decision waits at first. Steering learns how long that takes: all
// decisions but the first on each node get their containers.
func TestSlowGrants(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := steered(t, yarntest.Config{Nodes: workers(2), Async: 24 * time.Second})
		f.await(30*time.Minute, f.submit("a", 12, 1))
		f.stop()
		s := f.d.Stats()
		t.Logf("%+v", s)
		if in := s.Decisions - s.Honoured; in > 4 || s.Honoured < 13 {
			t.Errorf("%d of %d decisions got no container, want one at most on each of the 4 nodes", in, s.Decisions)
		}
	})
}

// TestNodesByName has YARN list the nodes backwards: steering has them by name, as replays do.
func TestNodesByName(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		nodes := workers(1)
		slices.Reverse(nodes)
		f := steered(t, yarntest.Config{Nodes: nodes, Async: async})
		defer func() { _ = f.d.Stop() }()
		if !slices.IsSortedFunc(f.d.Core.Nodes, func(a, b yarnclient.Node) int { return strings.Compare(a.Host, b.Host) }) {
			t.Errorf("nodes %v, want them by name", f.d.Core.Nodes)
		}
	})
}
