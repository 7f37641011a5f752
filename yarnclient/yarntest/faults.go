package yarntest

import (
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"time"

	"heddle/yarnclient"
)

// Fault makes calls to the fake cluster fail.
type Fault struct {
	Method string // HTTP method of the calls that the fault makes fail; empty means every method
	Path   string // text that a URL path must contain for the fault to make the call fail
	Skip   int    // number of calls that match the fault's conditions and still succeed, before it makes calls fail
	Times  int    // number of calls that the fault makes fail; 0 means 1, a negative number means all

	// Apply says that the change is carried out although the call fails, so
	// that the caller cannot know of it. If Hang is set too, the change is
	// carried out after the caller has given up.
	Apply bool
	Hang  bool // whether a call gets no answer until its caller gives up
	Drop  bool // whether the connection ends without an answer to the call
	// Status and Body replace the status and the body of the answer. A Body
	// that starts with "<" is sent as HTML.
	Status int
	Body   string
	Cut    int // number of bytes of the answer's body after which the answer ends
}

type fault struct {
	Fault
	seen int
}

// Inject makes later calls to the fake cluster fail. If several faults match a
// call, the fault that was injected first acts.
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

// spoil changes a correct answer into the wrong one that the fault describes.
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

// StaleLabel makes the scheduler late: after the next change of a node's
// label, it allocates by the old label for the additional duration d.
func (c *Fake) StaleLabel(host string, d time.Duration) {
	c.glitch(host, func(n *node) { n.stale = d })
}

// AllocateTwice makes the scheduler allocate the next container on a node
// twice, even if the node is too small for both. A race in Hadoop's scheduler
// can have this effect.
func (c *Fake) AllocateTwice(host string) {
	c.glitch(host, func(n *node) { n.twice = true })
}

// Leak makes the scheduler count memory under a node label that no container
// uses. It does so if it allocates asynchronously and a node loses its label
// between the choice of a container and its grant.
func (c *Fake) Leak(label string, memoryMB int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.run()
	c.leaked[label] = memoryMB
}

// GiveBack makes a job's ApplicationMaster release the next containers that it
// gets for reduces, as many as the number reduces, and request them again. A
// real ApplicationMaster does so after it has cancelled a request too late.
func (c *Fake) GiveBack(appID string, reduces int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.run()
	if a := c.appByID[appID]; a != nil {
		a.givesBack = reduces
	}
}

// TakeBack makes a job's ApplicationMaster ask for no reduces for the duration d. A
// real ApplicationMaster does so if a map waits and the cluster seems full.
func (c *Fake) TakeBack(appID string, d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.run()
	if a := c.appByID[appID]; a != nil {
		a.takesBack, a.changed = true, true
		c.after(d, func() { a.takesBack, a.changed = false, true })
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

// SetHA sets the state of the fake ResourceManager: STANDBY, INITIALIZING or
// ACTIVE. As standby it redirects requests to the address in the parameter
// active, such as "http://rm2:8088". If that is empty, the redirect has no
// address.
func (c *Fake) SetHA(state, active string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.run()
	if state == yarnclient.HAActive && c.haState != state {
		c.id = c.now.UnixMilli()
	}
	c.haState, c.active = state, active
}

// RestartRM kills the ResourceManager and starts it again. For the duration
// down it accepts no connections. Then, for the duration initializing, its
// answers have status 200 and wrong content. Then it is active with a new id.
// Node labels, applications and their priorities are kept. Node sizes and
// scheduler settings return to those of Config. A running application is in
// the answers again after its ApplicationMaster's next heartbeat.
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

// Forget takes an application out of all answers, as a ResourceManager does that
// restarts without recovery.
func (c *Fake) Forget(appID string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.run()
	c.apps = slices.DeleteFunc(c.apps, func(a *app) bool { return a.id == appID })
	delete(c.appByID, appID)
}

func (c *Fake) recovered() {
	c.haState, c.id = yarnclient.HAActive, c.now.UnixMilli()+1
	c.restarts++
	clear(c.conf)
	clear(c.leaked)
	for _, n := range c.nodes {
		n.total = yarnclient.Resource{MemoryMB: n.MemoryMB, VCores: n.VCores}
		n.sched, n.schedAt, n.seen = n.Label, c.now, c.now
	}
	for _, a := range c.apps {
		a.hidden = a.state == "RUNNING"
		a.changed = true
	}
}
