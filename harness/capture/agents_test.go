package capture

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"heddle/collectors/node"
	"heddle/collectors/node/agent"
	"heddle/harness/clients"
	"heddle/traces"
	"heddle/yarnclient/yarntest"
)

// fakeAgent answers as the agent of a node does that samples once a second since
// start, by a clock that is off. change makes answers other.
type fakeAgent struct {
	start  time.Time
	off    time.Duration
	run    int // number of the agent's run, which makes its cursors other
	change func(w http.ResponseWriter, r *http.Request, p *agent.Page) (answered bool)
}

func (f *fakeAgent) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	now := time.Now()
	mono := now.Sub(f.start)
	var answer any = agent.Info{
		Node: "r1n2", Facts: node.Facts{CPUs: 2, Kernel: "6.1"}, NowWallNs: now.Add(f.off).UnixNano(),
		NowMonoNs: mono.Nanoseconds(),
	}
	page := agent.Page{Samples: []node.Sample{}}
	if r.URL.Path == "/samples" {
		last := int(mono / time.Second)
		from := last
		var run int
		switch since := r.URL.Query().Get("since"); since {
		case "now":
		case "":
			from = 0
		default:
			if _, err := fmt.Sscanf(since, "%d.%d", &run, &from); err != nil || run != f.run {
				page.Restarted, from = true, 0
			}
		}
		for seq := from + 1; seq <= last; seq++ {
			page.Samples = append(page.Samples, node.Sample{
				Seq: uint64(seq), WallNs: f.start.Add(f.off).Add(time.Duration(seq) * time.Second).UnixNano(), MonoNs: int64(seq) * 1e9,
				IntervalNs: 1e9,
				CPU:        &node.CPU{UserCores: 0.5}, Memory: &node.Memory{TotalBytes: 100, FreeBytes: 50},
				Disks: []node.Disk{{Device: "vda", ReadBytesPerSec: 1}},
			})
		}
		page.Next = agent.Cursor(fmt.Sprintf("%d.%d", f.run, last))
	}
	if f.change != nil && f.change(w, r, &page) {
		return
	}
	if r.URL.Path == "/samples" {
		answer = page
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(answer)
}

// addAgent gives a node an agent behind pipes. A connection ends with the test.
func (c *cluster) addAgent(host string, serve http.Handler, up *atomic.Bool) {
	c.Helper()
	token := filepath.Join(c.TempDir(), "token")
	c.must(os.WriteFile(token, []byte("a-token-of-an-agent-for-tests-only\n"), 0o600))
	ctx, cancel := context.WithCancel(context.Background())
	client, err := agent.NewClient(agent.ClientOptions{
		URL: "http://" + host + ":9177", TokenFile: token,
		DialContext: func(context.Context, string, string) (net.Conn, error) {
			if up != nil && !up.Load() {
				return nil, fmt.Errorf("dial tcp 10.0.0.2:%d->10.0.0.3:9177: connection refused", time.Now().Unix()%60_000)
			}
			ours, theirs := net.Pipe()
			s := &http.Server{Handler: serve, ConnContext: func(context.Context, net.Conn) context.Context { return ctx }}
			s.SetKeepAlivesEnabled(up == nil)
			l := &oneConn{conn: make(chan net.Conn, 1), done: ctx.Done()}
			l.conn <- theirs
			go func() { _ = s.Serve(l) }()
			context.AfterFunc(ctx, func() { _ = s.Close(); ours.Close() })
			return ours, nil
		},
	})
	c.must(err)
	c.Cleanup(func() { cancel(); client.Close() })
	c.clients.Agents = append(c.clients.Agents, clients.Agent{Node: host, Client: client})
}

// oneConn is a listener with one connection.
type oneConn struct {
	conn chan net.Conn
	done <-chan struct{}
}

func (l *oneConn) Accept() (net.Conn, error) {
	select {
	case c := <-l.conn:
		return c, nil
	case <-l.done:
		return nil, net.ErrClosed
	}
}

func (l *oneConn) Close() error   { return nil }
func (l *oneConn) Addr() net.Addr { return &net.TCPAddr{} }

// TestBadAgents captures a job on two nodes. The agent of one is fine. That of
// the other is gone, broken or hostile: the capture goes on, has all samples of
// the first node, and its warnings name the second, with what to do.
func TestBadAgents(t *testing.T) {
	body := func(status int, text string) func(w http.ResponseWriter, r *http.Request, _ *agent.Page) bool {
		return func(w http.ResponseWriter, _ *http.Request, _ *agent.Page) bool {
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(status)
			fmt.Fprint(w, text)
			return true
		}
	}
	for _, x := range []struct {
		name  string
		agent fakeAgent
		down  func(elapsed time.Duration) bool
		says  []string
		least int // samples of the bad agent's node
	}{
		{name: "fine", least: 25},
		{
			name: "killed", down: func(e time.Duration) bool { return e > 10*time.Second },
			says: []string{"connection refused", "start `heddle agent` there", "more about requests, not listed"}, least: 8,
		},
		{
			name: "away for a while", down: func(e time.Duration) bool { return e > 10*time.Second && e < 20*time.Second },
			says: []string{"connection refused"}, least: 25,
		},
		{
			name: "a clock 5 s ahead", agent: fakeAgent{off: 5 * time.Second},
			says: []string{"clock is 5s ahead of this machine's", "run a time daemon"}, least: 25,
		},
		{name: "a clock 5 s behind", agent: fakeAgent{off: -5 * time.Second}, says: []string{"clock is 5s behind this machine's"}, least: 25},
		{name: "hangs", agent: fakeAgent{change: func(_ http.ResponseWriter, r *http.Request, _ *agent.Page) bool {
			<-r.Context().Done()
			return true
		}}, says: []string{"no whole answer within"}},
		{name: "another text each time", agent: fakeAgent{change: func(w http.ResponseWriter, r *http.Request, p *agent.Page) bool {
			return body(500, fmt.Sprintf(`{"error":"\u001b[2J %d"}`, time.Now().UnixNano()))(w, r, p)
		}}, says: []string{"?[2J", "more about requests, not listed"}},
		{name: "started again", agent: fakeAgent{run: 1}, least: 25},
	} {
		t.Run(x.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := newCluster(t, yarntest.Workers(1, 2, 1024, 8), nil)
				begin := time.Now()
				c.addAgent("r1n1", &fakeAgent{start: begin}, nil)
				bad := x.agent
				bad.start = begin
				var up *atomic.Bool
				if x.down != nil {
					up = new(atomic.Bool)
					up.Store(true)
				}
				c.addAgent("r1n2", &bad, up)
				s := c.start()
				if took := time.Since(begin); took > readAgentsLimit+time.Second {
					t.Errorf("the capture started after %v", took)
				}
				job := c.submit(yarntest.Job{Name: "job", Run: lasting(20 * time.Second)}, "r1n1")
				for range 30 {
					<-time.After(time.Second)
					if up != nil {
						up.Store(!x.down(time.Since(begin)))
					}
				}
				c.waitForOutcome(s, job)
				got := c.stop(t.Context(), s)
				count := map[traces.Node]int{}
				for _, e := range of[*traces.NodeSample](got.events) {
					if e.CPUUser >= 0 {
						count[e.Node]++
					}
				}
				if len(got.Jobs) != 1 || got.Jobs[0].Outcome != traces.Succeeded || count["r1n1"] < 25 || count["r1n2"] < x.least {
					t.Errorf("jobs %+v, samples %v; want the job, 25 of r1n1 and %d of r1n2", got.Jobs, count, x.least)
				}
				text, about := strings.Join(got.Warnings, "\n"), strings.Count(strings.Join(got.Warnings, "\n"), "agent of r1n2: ")
				for _, want := range x.says {
					if !strings.Contains(text, want) {
						t.Errorf("warnings %q lack %q", got.Warnings, want)
					}
				}
				if about > 2*(mostWarnings+1) || strings.Contains(text, "\x1b") || strings.Contains(text, "agent of r1n1") || x.says == nil &&
					x.least > 0 && about > 0 {
					t.Errorf("warnings %q; want at most %d, about r1n2", got.Warnings, 2*(mostWarnings+1))
				}
			})
		})
	}
}

// TestAgentRestarts: a restart is a warning, with about how many samples are
// missing.
func TestAgentRestarts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, yarntest.Workers(1, 1, 1024, 8), nil)
		var up atomic.Bool
		up.Store(true)
		a := &fakeAgent{start: time.Now()}
		c.addAgent("r1n1", a, &up)
		s := c.start()
		<-time.After(10*time.Second + 500*time.Millisecond)
		up.Store(false)
		<-time.After(5 * time.Second)
		*a = fakeAgent{start: time.Now(), run: 1}
		up.Store(true)
		<-time.After(5 * time.Second)
		got := c.stop(t.Context(), s)
		lost := 0
		for _, e := range of[*traces.NodeSample](got.events) {
			lost += int(e.AgentLostSamples)
		}
		text := strings.Join(got.Warnings, "\n")
		if lost < 4 || lost > 6 || !strings.Contains(text, "agent of r1n1: it was started again") {
			t.Errorf("%d samples lost by the trace, warnings %q; want about 5, and that the agent was started again", lost, got.Warnings)
		}
	})
}
