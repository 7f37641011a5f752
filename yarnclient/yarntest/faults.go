package yarntest

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"time"

	"heddle/yarnclient"
)

// Fault makes calls fail.
type Fault struct {
	Method string // HTTP method of the calls that fail; empty means any
	Path   string // a part of the URL path of the calls that fail
	Skip   int    // how many matching calls succeed before the first fails
	Times  int    // how many calls fail; 0 means 1, a negative number all

	// Apply carries the call out before it fails, so the caller cannot know
	// that the change was made. With Hang, the call succeeds after the caller's
	// timeout.
	Apply bool
	Hang  bool // whether there is no answer until the caller gives up
	Drop  bool // whether the connection ends without an answer
	// Status and Body replace the answer. Body is HTML if it starts with "<".
	Status int
	Body   string
	Cut    int // number of bytes after which the answer ends
}

type fault struct {
	Fault
	seen int
}

// Inject makes later calls fail. If several faults match a call, the one
// injected first acts.
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

// spoil turns a good answer into the one that the fault describes.
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

// StaleLabel delays the next label change of a node in the scheduler by d.
// Until then it allocates by the old label.
func (c *Fake) StaleLabel(host string, d time.Duration) {
	c.glitch(host, func(n *node) { n.stale = d })
}

// AllocateTwice doubles the next allocation on a node, whatever the node's
// size. A race in Hadoop's scheduler can do the same.
func (c *Fake) AllocateTwice(host string) {
	c.glitch(host, func(n *node) { n.twice = true })
}

// GiveBack makes the master of an application release the next containers that
// it gets for reduces, and request them again. A real master does so if it has
// just cancelled its request.
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

// SetHA sets the ResourceManager's state: STANDBY, INITIALIZING or ACTIVE. A
// standby redirects to active, "http://rm2:8088", or nowhere if that is empty.
func (c *Fake) SetHA(state, active string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.run()
	if state == yarnclient.HAActive && c.haState != state {
		c.id = c.now.UnixMilli()
	}
	c.haState, c.active = state, active
}

// RestartRM kills the ResourceManager. It accepts no connections while down.
// Then, while initializing, its answers have status 200 and wrong content. Then
// it is active with a new id. It keeps labels, applications and priorities;
// node sizes and scheduler settings are the configured ones again. Applications
// are back after their masters' next heartbeats.
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
