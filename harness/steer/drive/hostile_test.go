package drive

import (
	"context"
	"io"
	"log"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"heddle/harness/change"
	"heddle/harness/clients"
	"heddle/harness/lease/leasetest"
	"heddle/harness/watch"
	"heddle/yarnclient"
	"heddle/yarnclient/yarntest"
)

// moody is a fake cluster that is steered under a hold, and whose
// ResourceManager can be told to misbehave.
type moody struct {
	*fake
	rm     *yarntest.Moody
	held   *change.Target
	hold   *change.Hold
	before map[string][]string // labels of nodes
}

const rmAddress = "rm.test:8088"

func steerMoody(t *testing.T) *moody {
	m := &moody{rm: &yarntest.Moody{}}
	m.fake = steered(t, yarntest.Config{Nodes: workers(2), Async: async, Expiry: 5 * time.Second}, func(f *fake, o *Options) {
		m.rm.Well = f.c
		l := yarntest.NewListener()
		server := &http.Server{Handler: m.rm, ErrorLog: log.New(t.Output(), "", 0)}
		go server.Serve(l) //nolint:errcheck // it ends with the test
		t.Cleanup(func() {
			server.Close()
			<-time.After(2 * time.Second) // who answers slowly sees then that the client has left
		})
		client := func(o yarnclient.Options) *yarnclient.RM {
			o.Addresses, o.User, o.DialContext = []string{"http://" + rmAddress}, "root", l.DialContext
			rm := must(yarnclient.NewRM(o))
			t.Cleanup(rm.Close)
			return rm
		}
		f.rm = client(yarnclient.Options{Retries: -1, Timeout: callLimit})
		o.Watch = watch.New(&clients.Clients{RM: f.rm}, nil)
		m.held = &change.Target{Name: "test", RM: client(yarnclient.Options{}), Files: leasetest.New()}
		var err error
		if m.before, err = f.rm.NodesToLabels(t.Context()); err != nil {
			t.Fatal(err)
		}
		if m.hold, err = change.Take(t.Context(), m.held, change.Options{Purpose: "test"}); err != nil {
			t.Fatal(err)
		}
		o.Changes = m.hold
		t.Cleanup(func() { m.hold.Release(context.Background()) }) //nolint:errcheck // again, if the test was cut short
	})
	// The sizes of nodes are noted now: what a hold notes, it does under a mutex,
	// and virtual time stands still for whoever waits for one.
	mustDo(t, m.hold.SetNodeResource(t.Context(), "r1n1:45454", yarnclient.Resource{MemoryMB: 1024, VCores: 64}))
	return m
}

// restored expects the labels that the nodes had before.
func (m *moody) restored() {
	m.t.Helper()
	now, err := m.fake.rm.NodesToLabels(context.WithoutCancel(m.t.Context()))
	if err != nil {
		m.t.Fatal(err)
	}
	if !maps.EqualFunc(now, m.before, slices.Equal) {
		m.t.Errorf("labels are %v, were %v", now, m.before)
	}
}

// misdeeds are those of some names, and with HEDDLE_LONG=1 all. Left out are those
// that only real time bounds: in virtual time a call ends when all bytes are read.
func misdeeds(t *testing.T, some ...string) []*yarntest.Misdeed {
	endless := []string{"endless headers", "endless body", "gzip bomb", "500 of 16 MiB", "long text"}
	all := slices.DeleteFunc(yarntest.Misdeeds(), func(d *yarntest.Misdeed) bool { return slices.Contains(endless, d.Name) })
	if os.Getenv("HEDDLE_LONG") != "" {
		return all
	}
	t.Logf("%d of %d misdeeds; HEDDLE_LONG=1 tries all", len(some), len(all))
	return slices.DeleteFunc(all, func(d *yarntest.Misdeed) bool { return !slices.Contains(some, d.Name) })
}

// TestResourceManagerMisbehavesAWhile has the ResourceManager misbehave for 20 s
// while two jobs are steered. They end well, and the labels are restored.
func TestResourceManagerMisbehavesAWhile(t *testing.T) {
	for _, d := range misdeeds(t, "silent", "closes", "a body byte a second", "an empty object", "503", "standby", "negative numbers",
		"huge numbers", "hostile text", "everything twice") {
		t.Run(d.Name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				m := steerMoody(t)
				a, b := m.submit("a", 20, 2), m.submit("b", 12, 1)
				m.wait(3 * time.Second)
				m.rm.Misbehave(d)
				m.wait(20 * time.Second)
				m.rm.Misbehave(nil)
				m.await(5*time.Minute, a, b)
				m.stop()
				if count, causes, _ := m.outcomes(); count["open"] != 0 {
					t.Errorf("%v\n%s", count, strings.Join(causes, "\n"))
				}
				if r, err := m.hold.Release(t.Context()); err != nil || r.Err() != nil {
					t.Errorf("release: %v, %v", err, r.Err())
				}
				m.restored()
			})
		})
	}
}

// TestResourceManagerMisbehavesForGood has the ResourceManager misbehave until
// after steering. That ends in bounded time and names it, also as what the labels
// could not be restored for, and with which command they can be later: which they
// then are.
func TestResourceManagerMisbehavesForGood(t *testing.T) {
	for _, d := range misdeeds(t, "silent", "a web page", "503", "401", "starting", "hostile text") {
		t.Run(d.Name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				m := steerMoody(t)
				m.submit("a", 20, 2)
				m.wait(3 * time.Second)
				m.rm.Misbehave(d)
				limit := 15 * time.Minute
				if d.Lie { // which may be believed
					limit = 10 * time.Second
				}
				select {
				case <-m.d.Done():
				case <-time.After(limit):
					if !d.Lie {
						t.Error("steering did not end by itself")
					}
				}
				if err := m.d.Stop(); !d.Lie && (err == nil || !strings.Contains(err.Error(), rmAddress)) {
					t.Errorf("ended with %v, want it to name %s", err, rmAddress)
				}
				ctx, cancel := context.WithTimeout(t.Context(), 15*time.Minute)
				defer cancel()
				r, err := m.hold.Release(ctx)
				if ctx.Err() != nil {
					t.Error("release did not end by itself")
				}
				if err == nil {
					err = r.Err()
				}
				named := err != nil && strings.Contains(err.Error(), rmAddress) && strings.Contains(err.Error(), "heddle restore")
				if !named && !d.Lie {
					t.Errorf("release: %v; want it to name %s and heddle restore", err, rmAddress)
				}
				m.rm.Misbehave(nil)
				if r, err := change.Restore(t.Context(), m.held, change.RestoreOptions{}); err != nil || r.Err() != nil {
					t.Errorf("restore: %v, %v", err, r.Err())
				}
				m.restored()
			})
		})
	}
}

// TestSaidLost has the ResourceManager say for a moment that all workers are lost,
// while maps run that then end well. Those count as waiting again until the
// ApplicationMaster says otherwise, which must not keep the jobs from ending.
func TestSaidLost(t *testing.T) {
	for at := 2 * time.Second; at < 5*time.Second; at += 300 * time.Millisecond {
		t.Run(at.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				m := steerMoody(t)
				var lost atomic.Bool
				well := m.rm.Well
				m.rm.Well = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					if !lost.Load() || r.URL.Path != "/ws/v1/cluster/nodes" {
						well.ServeHTTP(w, r)
						return
					}
					answer := httptest.NewRecorder()
					well.ServeHTTP(answer, r)
					io.WriteString(w, strings.ReplaceAll(answer.Body.String(), "RUNNING", "LOST")) //nolint:errcheck // the client may have left
				})
				a, b := m.submit("a", 20, 2), m.submit("b", 12, 1)
				m.wait(at)
				lost.Store(true)
				m.wait(700 * time.Millisecond)
				lost.Store(false)
				m.await(time.Minute, a, b)
				m.stop()
			})
		})
	}
}
