package yarntest

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"time"

	"heddle/yarnclient"
)

// Fault makes calls go wrong.
type Fault struct {
	Method string // of the calls; empty: any
	Path   string // part of their path
	Skip   int    // calls to leave alone first
	Times  int    // how many calls; 0 means 1, negative all

	// Apply carries the call out before it goes wrong: a change that was made
	// although the caller cannot know. With Hang, a call that succeeds after
	// its timeout.
	Apply bool
	Hang  bool // no answer until the caller gives up
	Drop  bool // the connection ends without an answer
	// Status answers with this status and Body, as HTML if it begins with "<".
	Status int
	Body   string
	Cut    int // the answer ends after so many bytes
}

type fault struct {
	Fault
	seen int
}

// Inject makes later calls go wrong. Of several faults that match a call, the
// first one injected acts.
func (c *Fake) Inject(f Fault) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if f.Times == 0 {
		f.Times = 1
	}
	c.faults = append(c.faults, &fault{Fault: f})
}

func (c *Fake) faultFor(r *http.Request) *fault {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, f := range c.faults {
		if f.Method != "" && f.Method != r.Method || !strings.Contains(r.URL.Path, f.Path) {
			continue
		}
		f.seen++
		if f.seen > f.Skip && (f.Times < 0 || f.seen <= f.Skip+f.Times) {
			return f
		}
	}
	return nil
}

// spoil turns an answer into what the fault says.
func (f *fault) spoil(answer *httptest.ResponseRecorder, r *http.Request) {
	if f.Hang {
		<-r.Context().Done()
	}
	if f.Hang || f.Drop {
		panic(http.ErrAbortHandler)
	}
	if f.Status == 0 {
		return
	}
	kind := "text/plain"
	if strings.HasPrefix(f.Body, "<") {
		kind = "text/html"
	} else if strings.HasPrefix(f.Body, "{") {
		kind = "application/json"
	}
	*answer = *httptest.NewRecorder()
	answer.Header().Set("Content-Type", kind)
	answer.WriteHeader(f.Status)
	answer.Body.WriteString(f.Body)
}

// StaleLabel makes the next label change of a node reach the scheduler only
// after d: until then it allocates on the old label.
func (c *Fake) StaleLabel(host string, d time.Duration) {
	c.glitch(host, func(n *node) { n.stale = d })
}

// AllocateTwice makes the next allocation on a node one of two containers at
// once, whatever the node's size, as a race of Hadoop's scheduler may.
func (c *Fake) AllocateTwice(host string) {
	c.glitch(host, func(n *node) { n.twice = true })
}

// GiveBack makes the master of an application give back the next containers that
// it gets for reduces, and ask for them again: it had taken its request back just
// before.
func (c *Fake) GiveBack(appID string, reduces int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.run()
	if a := c.appByID[appID]; a != nil {
		a.givesBack = reduces
	}
}

func (c *Fake) glitch(host string, set func(*node)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.run()
	if n := c.byID[host+":45454"]; n != nil {
		set(n)
	}
}

// SetHA makes the ResourceManager STANDBY, INITIALIZING or ACTIVE. A standby
// redirects to active, "http://rm2:8088", or nowhere if that is empty.
func (c *Fake) SetHA(state, active string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.run()
	if state == yarnclient.HAActive && c.haState != state {
		c.id = c.now.UnixMilli()
	}
	c.haState, c.active = state, active
}

// RestartRM kills the ResourceManager. It takes no connection while down, then
// answers everything with status 200 and wrong for as long as initializing,
// then is active with a new id: labels, applications and priorities are kept;
// node sizes and scheduler settings are those of the configuration again, and
// applications come back with their masters' next heartbeats.
func (c *Fake) RestartRM(down, initializing time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.run()
	c.haState = ""
	c.after(down, func() {
		c.haState, c.id = yarnclient.HAInitializing, c.now.UnixMilli()
	})
	c.after(down+initializing, c.recovered)
}

func (c *Fake) recovered() {
	c.haState, c.id = yarnclient.HAActive, c.now.UnixMilli()+1
	c.restarts++
	clear(c.conf)
	for _, n := range c.nodes {
		n.total = yarnclient.Resource{MemoryMB: n.MemoryMB, VCores: n.VCores}
		n.sched, n.schedAt, n.seen = n.Label, c.now, c.now
	}
	for _, a := range c.apps {
		a.hidden = a.state == "RUNNING"
		a.changed = true
	}
}
