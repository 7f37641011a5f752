package yarnclient

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"heddle/traces/errtest"
)

// pair is ResourceManagers in high availability, by host name.
type pair struct {
	mu       sync.Mutex
	state    map[string]string // haState, or "down"
	redirect bool              // standbys name the active one
	calls    []string          // "host METHOD path" but for state probes
}

func (p *pair) RoundTrip(req *http.Request) (*http.Response, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	host := req.URL.Hostname()
	state := p.state[host]
	info := req.URL.Path == "/ws/v1/cluster/info"
	if !info {
		p.calls = append(p.calls, host+" "+req.Method+" "+req.URL.Path[len("/ws/v1/cluster"):])
	}
	switch {
	case state == "" || state == "down":
		return nil, &net.OpError{Op: "dial", Net: "tcp", Err: syscall.ECONNREFUSED}
	case info:
		return textAnswer(200, "application/json", fmt.Appendf(nil, `{"clusterInfo":{"id":%d,"haState":%q}}`, len(host), state)), nil
	case state == HAStandby:
		resp := textAnswer(307, "text/plain", []byte("This is standby RM."))
		for other, s := range p.state {
			if p.redirect && s == HAActive {
				resp.Header.Set("Location", "http://"+other+":8088"+req.URL.Path)
			}
		}
		return resp, nil
	}
	return textAnswer(200, "application/json", []byte(`{"nodes":{}}`)), nil
}

func (p *pair) set(states ...string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.state = map[string]string{"rm1": states[0], "rm2": states[1]}
	p.calls = nil
}

func TestFailover(t *testing.T) {
	for _, redirect := range []bool{false, true} {
		t.Run(fmt.Sprint("redirect=", redirect), func(t *testing.T) {
			p := &pair{redirect: redirect}
			rm, err := NewRM(Options{Addresses: []string{"rm1:8088", "rm2:8088"}, Transport: p, Retries: -1})
			if err != nil {
				t.Fatal(err)
			}
			step := func(what string, want string, call func() error) {
				t.Helper()
				err := call()
				if got := strings.Join(p.calls, ", "); err != nil || got != want {
					t.Errorf("%s: %v, calls %q; want %q", what, err, got, want)
				}
			}
			nodes := func() error { _, err := rm.Nodes(bg); return err }
			label := func() error { return rm.ReplaceLabels(bg, map[string]string{"n:1": ""}) }

			p.set(HAStandby, HAActive)
			step("first call probes", "rm2 GET /nodes", nodes)
			p.set(HAActive, HAStandby)
			step("standby", "rm2 GET /nodes, rm1 GET /nodes", nodes)
			p.set(HAStandby, HAActive)
			step("write at a standby", "rm1 POST /replace-node-to-labels, rm2 POST /replace-node-to-labels", label)
			p.set(HAActive, "down")
			step("write at a dead one", "rm2 POST /replace-node-to-labels, rm1 POST /replace-node-to-labels", label)
			step("stays there", "rm2 POST /replace-node-to-labels, rm1 POST /replace-node-to-labels, rm1 GET /nodes", nodes)

			p.set(HAStandby, "down")
			err = nodes()
			checkError(t, err, []error{ErrStandby, ErrUnreachable}, []string{"rm1:8088 is STANDBY", "connection refused"})
			p.set("down", "down")
			checkError(t, nodes(), []error{ErrUnreachable}, []string{"rm1:8088", "rm2:8088"})
			p.set(HAStandby, HAInitializing)
			checkError(t, nodes(), []error{ErrStandby}, []string{"rm2:8088 is INITIALIZING"})
		})
	}
}

// TestInfoOfActive: a standby answers /info itself.
func TestInfoOfActive(t *testing.T) {
	p := &pair{}
	p.set(HAActive, HAStandby)
	rm := must(NewRM(Options{Addresses: []string{"rm1:8088", "rm2:8088"}, Transport: p, Retries: -1}))
	must(rm.Info(bg))
	p.set(HAStandby, HAActive)
	if info, err := rm.Info(bg); err != nil || info.HAState != HAActive || rm.Address() != "http://rm2:8088" {
		t.Errorf("%+v, %v at %s; want the active one", info, err, rm.Address())
	}
}

// TestEach: what one ResourceManager says of itself, whoever is active.
func TestEach(t *testing.T) {
	p := &pair{}
	p.set(HAActive, HAStandby)
	rm, err := NewRM(Options{Addresses: []string{"rm1:8088", "rm2:8088"}, Transport: p, Retries: -1})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, one := range rm.Each() {
		info, err := one.Info(bg)
		got = append(got, fmt.Sprint(one.Address(), " ", info.HAState, " ", err))
	}
	if want := []string{"http://rm1:8088 ACTIVE <nil>", "http://rm2:8088 STANDBY <nil>"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	if rm.Address() != "" {
		t.Errorf("the client of both was told to use %s", rm.Address())
	}
	p.set("down", HAActive)
	_, err = rm.Each()[0].Info(bg)
	checkError(t, err, []error{ErrUnreachable}, []string{"rm1:8088"})
}

// TestDate reads a daemon's clock from whatever it answers.
func TestDate(t *testing.T) {
	const date = "Fri, 02 Jan 2026 03:04:05 GMT"
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for _, x := range []struct {
		name   string
		status int
		date   string
		is     error
		want   string
	}{
		{"an answer", 200, date, nil, ""},
		{"a refusal", 401, date, nil, ""},
		{"a redirect", 302, date, nil, ""},
		{"no time", 200, "", ErrBadAnswer, "no time in the answer"},
		{"no time", 403, "", ErrUnauthorized, "403"},
		{"another text", 200, "soon", ErrBadAnswer, "no time in the answer"},
		{"no daemon", 0, "", ErrUnreachable, "connection refused"},
	} {
		d := must(NewDaemon(Options{
			Addresses: []string{"nn:9870"}, Retries: -1,
			Transport: roundTripper(func(*http.Request) (*http.Response, error) {
				if x.status == 0 {
					return nil, &net.OpError{Op: "dial", Net: "tcp", Err: syscall.ECONNREFUSED}
				}
				resp := textAnswer(x.status, "text/plain", nil)
				if x.date != "" {
					resp.Header.Set("Date", x.date)
				}
				return resp, nil
			}),
		}))
		got, err := d.Date(bg)
		switch {
		case x.is != nil:
			checkError(t, err, []error{x.is}, []string{"nn:9870", x.want})
		case err != nil || !got.Equal(at):
			t.Errorf("%s: %v, %v; want %v", x.name, got, err, at)
		}
	}
}

func TestWaitActive(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &pair{}
		p.set("down", "")
		rm := must(NewRM(Options{Addresses: []string{"rm1:8088"}, Transport: p, Retries: -1}))
		time.AfterFunc(3*time.Second, func() { p.set(HAInitializing, "") })
		time.AfterFunc(4*time.Second, func() { p.set(HAActive, "") })
		start := time.Now()
		info, err := rm.WaitActive(t.Context(), 0)
		if took := time.Since(start); err != nil || info.HAState != HAActive || took < 4*time.Second || took > 5*time.Second {
			t.Errorf("%+v, %v after %v; want ACTIVE soon after 4 s", info, err, took)
		}
	})
	rm := fixtureRM(t, "3.4.2/html-nn.http")
	errtest.Is(t, errtest.Of(rm.WaitActive(bg, 0)), ErrNotRest)
}

// TestMasterGone tells the proxy's redirects and its page apart.
func TestMasterGone(t *testing.T) {
	page := func(title string) http.RoundTripper {
		return roundTripper(func(*http.Request) (*http.Response, error) {
			body := "<!DOCTYPE html><html><style>" + strings.Repeat("#nav { width: 1em }", 50) + "</style><title>" + title + "</title></html>"
			return textAnswer(200, "text/html;charset=utf-8", []byte(body)), nil
		})
	}
	for _, test := range []struct {
		proxy http.RoundTripper
		state string
		want  error
	}{
		{recorded(t, "3.4.2/am-ended.http"), "FINISHED", ErrJobEnded},
		{page("MapReduce Job job_1_0002"), "RUNNING", ErrJobEnded},
		{page("Application application_1_0002"), "FINISHED", ErrJobEnded},
		{page("Application application_1_0002"), "RUNNING", ErrNoMaster},
		{page("About the Cluster"), "RUNNING", ErrNotRest},
		{recorded(t, "3.4.2/am-not-yet.http"), "ACCEPTED", ErrNoMaster},
		{recorded(t, "3.4.2/am-not-yet.http"), "KILLED", ErrJobEnded},
	} {
		rm, err := NewRM(Options{
			Addresses: []string{"rm:8088"}, Retries: -1,
			Transport: roundTripper(func(req *http.Request) (*http.Response, error) {
				if strings.HasPrefix(req.URL.Path, "/proxy/") {
					return test.proxy.RoundTrip(req)
				}
				return textAnswer(200, "application/json", []byte(`{"app":{"state":"`+test.state+`"}}`)), nil
			}),
		})
		if err != nil {
			t.Fatal(err)
		}
		am := rm.AM("application_1_0002")
		_, err = am.Tasks(bg)
		checkError(t, err, []error{test.want}, []string{"/proxy/application_1_0002/ws/v1/mapreduce/jobs/job_1_0002/tasks"})
		err = am.KillAttempt(bg, "attempt_1_0002_m_000000_0")
		checkError(t, err, []error{test.want}, []string{"PUT", "/tasks/task_1_0002_m_000000/attempts/attempt_1_0002_m_000000_0/state"})
	}
	am := fixtureRM(t, "3.4.2/am-died.http").AM("application_1_1")
	_, err := am.Job(bg)
	checkError(t, err, []error{ErrNoMaster}, []string{"500", "Connection refused"})
	am = fixtureRM(t, "3.4.2/am-ends-secured.http").AM("application_1_1")
	_, err = am.Job(bg)
	checkError(t, err, []error{ErrNoMaster}, []string{"500", "unable to find valid certification path"})
	am = fixtureRM(t, "3.4.2/am-err-job.http").AM("application_1_1")
	_, err = am.Job(bg)
	checkError(t, err, []error{ErrNotFound}, []string{"job_1_1, is not found"})
}

// TestConnectLimit looks at how long a connection may take: short only where there
// is another address to go to.
func TestConnectLimit(t *testing.T) {
	for _, x := range []struct {
		addresses []string
		timeout   time.Duration
		want      time.Duration
	}{
		{[]string{"rm1:8088"}, 0, 5 * time.Second},
		{[]string{"rm1:8088"}, 3 * time.Second, 1500 * time.Millisecond},
		{[]string{"rm1:8088", "rm2:8088"}, 0, 1500 * time.Millisecond},
	} {
		limits := make(chan time.Duration, 8)
		rm := must(NewRM(Options{
			Addresses: x.addresses, Timeout: x.timeout, Retries: -1,
			DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
				deadline, _ := ctx.Deadline()
				limits <- time.Until(deadline)
				return nil, errors.New("no network")
			},
		}))
		if _, err := rm.Info(bg); err == nil {
			t.Error("an answer without a network")
		}
		if got := <-limits; got > x.want || got < x.want-time.Second {
			t.Errorf("%v, timeout %v: a connection may take %v, want %v", x.addresses, x.timeout, got, x.want)
		}
	}
}

// TestRedirects has redirects to the addresses that were given and to others. A request
// with a proof of who the user is, or through the proxy, goes to no other, and none goes
// from https to http.
func TestRedirects(t *testing.T) {
	for name, x := range map[string]struct {
		addresses []string
		to        string
		proves    bool
		proxied   bool
		follows   bool
		says      string
	}{
		"other master": {
			addresses: []string{"http://rm1:8088", "http://rm2:8088"}, to: "http://rm2:8088/x", proves: true,
			follows: true,
		},
		"other master, proxy": {
			addresses: []string{"http://rm1:8088", "http://rm2:8088"}, to: "http://RM2:8088/x", proves: true,
			proxied: true, follows: true,
		},
		"behind a gateway": {
			addresses: []string{"https://rm1:8090", "https://rm2:8090/yarn"}, to: "https://rm2:8090/x", proves: true,
			follows: true,
		},
		"unknown host": {
			addresses: []string{"http://rm1:8088"}, to: "http://evil:8088/x", proves: true,
			says: "redirects to http://evil:8088, which is none of the addresses that were given",
		},
		"known host, other port": {addresses: []string{"http://rm1:8088"}, to: "http://rm1:9999/x", proves: true, says: "none of the addresses"},
		"name that begins alike": {addresses: []string{"http://rm1:8088", "http://rm2:8088"}, to: "http://rm2:80/x", proves: true},
		"user in the address":    {addresses: []string{"http://rm1:8088"}, to: "http://rm1:8088@evil/x", proves: true, says: "http://evil"},
		"by an ApplicationMaster, no proof": {
			addresses: []string{"http://rm1:8088"}, to: "http://evil:8088/x", proxied: true, says: "none of the addresses",
		},
		"no proof": {addresses: []string{"http://rm1:8088"}, to: "http://rm2:8088/x", follows: true},
		"https to http": {
			addresses: []string{"https://rm1:8090"}, to: "http://rm2:8088/x",
			says: "redirects to http://rm2:8088, which is not https",
		},
		"https to http, given":   {addresses: []string{"https://rm1:8090", "http://rm2:8088"}, to: "http://rm2:8088/x", proves: true},
		"https to another thing": {addresses: []string{"https://rm1:8090"}, to: "file://rm2/x", says: "not https"},
	} {
		t.Run(name, func(t *testing.T) {
			var calls []string
			o := Options{Addresses: x.addresses, Retries: -1, Transport: roundTripper(func(req *http.Request) (*http.Response, error) {
				if req.URL.Path == "/ws/v1/cluster/info" { // of which is active
					return textAnswer(503, "text/plain", nil), nil
				}
				calls = append(calls, req.URL.Scheme+"://"+req.URL.Host)
				if req.URL.Hostname() == "rm1" && req.URL.Port() != "9999" {
					resp := textAnswer(307, "text/plain", nil)
					resp.Header.Set("Location", x.to)
					return resp, nil
				}
				return textAnswer(200, "application/json", []byte(`{"nodes":{}}`)), nil
			})}
			if x.proves {
				o.Authenticate = func(next http.RoundTripper) http.RoundTripper { return next }
			}
			rm, err := NewRM(o)
			if err != nil {
				t.Fatal(err)
			}
			rm.c.current.Store(&rm.c.addresses[0])
			_, err = rm.c.do(bg, request{path: "/x", proxied: x.proxied})
			if follows := len(calls) > 1; follows != x.follows || x.follows != (err == nil) {
				t.Errorf("calls %q, error %v; want it to follow: %v", calls, err, x.follows)
			}
			if x.says != "" && (!errors.Is(err, ErrStandby) || !strings.Contains(err.Error(), x.says)) {
				t.Errorf("error %v; want ErrStandby and %q", err, x.says)
			}
		})
	}
}
