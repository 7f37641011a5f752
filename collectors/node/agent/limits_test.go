package agent

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"heddle/collectors/node"
)

// TestStrangersChangeNothing: whatever a request without the token looks like,
// it gets 401 and no cache is dropped.
func TestStrangersChangeNothing(t *testing.T) {
	root := procRoot(t)
	a := newAgent(t, Options{AllowDropCaches: true, Sample: node.Options{ProcRoot: root}})
	h := a.Handler()
	dropped := func() string {
		text := must(os.ReadFile(filepath.Join(root, "sys/vm/drop_caches")))
		return string(text)
	}
	near := []string{
		"", testToken[1:], testToken[:len(testToken)-1], testToken + "x", " " + testToken, testToken + " ", testToken + "\x00",
		strings.ToUpper(testToken), testToken + "," + testToken, strings.Repeat(testToken, 100),
	}
	rapid.Check(t, func(t *rapid.T) {
		header := rapid.SampledFrom([]string{"Bearer ", "bearer ", "BEARER ", "Basic ", "Bearer", ""}).Draw(t, "scheme") +
			rapid.OneOf(rapid.SampledFrom(near), rapid.String()).Draw(t, "token")
		if len(header) > 7 && strings.EqualFold(header[:7], "Bearer ") && header[7:] == testToken {
			t.Skip("the token after all")
		}
		path := rapid.SampledFrom([]string{
			"/drop-caches", "//drop-caches", "/./drop-caches", "/info/../drop-caches", "/samples", "/info",
			"/metrics", "/",
		}).Draw(t, "path")
		r := httptest.NewRequestWithContext(context.Background(),
			rapid.SampledFrom([]string{"POST", "GET", "PUT", "DELETE", "OPTIONS", "HEAD", "PATCH"}).Draw(t, "method"),
			path, strings.NewReader(rapid.String().Draw(t, "body")))
		r.Header["Authorization"] = []string{header}
		if rapid.Bool().Draw(t, "token elsewhere") {
			r.URL.RawQuery = "token=" + testToken
			r.Header.Set("Cookie", "Authorization=Bearer "+testToken)
			r.Header.Set("Proxy-Authorization", "Bearer "+testToken)
			r.Header["Authorization"] = append(r.Header["Authorization"], "Bearer "+testToken)
		}
		if rapid.Bool().Draw(t, "method overridden") {
			r.Header.Set("X-HTTP-Method-Override", "POST")
		}
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		if w.Code != http.StatusUnauthorized || w.Header().Get("WWW-Authenticate") == "" || dropped() != "" {
			t.Fatalf("answer %d, drop_caches holds %q; want 401 and nothing", w.Code, dropped())
		}
	})
	if w := ask(t, h, "POST /drop-caches"); w.Code != 200 || dropped() != "3\n" {
		t.Errorf("with the token: %d %s, drop_caches holds %q", w.Code, w.Body, dropped())
	}
}

// TestDropsAreFewAndFarBetween: while caches are dropped, and for a while after,
// whoever asks again is told when to.
func TestDropsAreFewAndFarBetween(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newAgent(t, Options{AllowDropCaches: true, Sample: node.Options{ProcRoot: procRoot(t)}})
		post := func() (status int, retryAfter string) {
			w := ask(t, a.Handler(), "POST /drop-caches")
			return w.Code, w.Header().Get("Retry-After")
		}
		for _, c := range []struct {
			after      time.Duration
			status     int
			retryAfter string
		}{
			{0, 200, ""},
			{0, 429, "5"},
			{1500 * time.Millisecond, 429, "4"}, // whole seconds, not too few
			{3499 * time.Millisecond, 429, "1"},
			{time.Millisecond, 200, ""},
			{0, 429, "5"},
			{time.Hour, 200, ""},
		} {
			<-time.After(c.after)
			if status, retryAfter := post(); status != c.status || retryAfter != c.retryAfter {
				t.Errorf("%v later: %d, Retry-After %q; want %d, %q", c.after, status, retryAfter, c.status, c.retryAfter)
			}
		}
	})
}

// TestOneDropAtATime keeps a drop waiting by a pipe in place of drop_caches,
// which nobody reads yet.
func TestOneDropAtATime(t *testing.T) {
	root := procRoot(t)
	pipe := filepath.Join(root, "sys/vm/drop_caches")
	mustDo(t, os.Remove(pipe))
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Skipf("needs to make a named pipe: %v", err)
	}
	a := newAgent(t, Options{AllowDropCaches: true, Sample: node.Options{ProcRoot: root}})
	answers := make(chan *httptest.ResponseRecorder, 2)
	for range 2 {
		go func() { answers <- ask(t, a.Handler(), "POST /drop-caches") }()
	}
	select {
	case w := <-answers:
		if w.Code != 429 || w.Header().Get("Retry-After") != "5" {
			t.Errorf("while caches are dropped: %d %s, want 429", w.Code, w.Body)
		}
	case <-time.After(10 * time.Second):
		t.Error("while caches are dropped: no answer, want 429")
	}
	if text, err := os.ReadFile(pipe); string(text) != "3\n" {
		t.Errorf("wrote %q, %v", text, err)
	}
	if w := <-answers; w.Code != 200 {
		t.Errorf("who was first: %d %s", w.Code, w.Body)
	}
}

// TestClientWaitsToDrop: two in a row cost the second one a wait and no error.
func TestClientWaitsToDrop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := servePipes(t, Options{AllowDropCaches: true, Sample: node.Options{ProcRoot: procRoot(t)}})
		c := newClient(t, ClientOptions{URL: "http://node:9177", DialContext: l.dial})
		defer c.Close()
		start := time.Now()
		for range 2 {
			if _, err := c.DropCaches(t.Context()); err != nil {
				t.Error(err)
			}
		}
		if took := time.Since(start); took < minDropInterval || took > minDropInterval+2*time.Second {
			t.Errorf("took %v, want %v and a little", took, minDropInterval)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := c.DropCaches(ctx); !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "has just dropped caches") {
			t.Errorf("given up after 1 s: %v", err)
		}
	})
}

// TestSlowClients: no more than maxConnections are open, those that dribble
// their headers are ended, and then others get their turn.
func TestSlowClients(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := servePipes(t, Options{})
		var open atomic.Int32
		var slow sync.WaitGroup
		for range 2 * maxConnections {
			slow.Go(func() {
				c, err := l.dial(t.Context(), "", "")
				if err != nil {
					t.Error(err)
					return
				}
				defer c.Close()
				open.Add(1)
				for _, err = io.WriteString(c, "GET /info HTTP/1.1\r\nX-Slow: "); err == nil; _, err = c.Write([]byte{'x'}) {
					<-time.After(time.Second)
				}
			})
		}
		synctest.Wait()
		if n := open.Load(); n != maxConnections {
			t.Errorf("%d connections open, want %d", n, maxConnections)
		}
		start := time.Now()
		slow.Wait()
		if took := time.Since(start); took > 15*time.Second {
			t.Errorf("slow clients held connections for %v, want two rounds of 5 s", took)
		}
		c := newClient(t, ClientOptions{URL: "http://node:9177", DialContext: l.dial})
		defer c.Close()
		if _, err := c.Info(t.Context()); err != nil {
			t.Errorf("afterwards: %v", err)
		}
	})
}

// TestStrangersKeepNoConnection: after a 401 the connection ends, so that those
// without the token cannot take all of them.
func TestStrangersKeepNoConnection(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := servePipes(t, Options{})
		for range maxConnections {
			c := must(l.dial(t.Context(), "", ""))
			defer c.Close()
			fmt.Fprint(c, "GET /info HTTP/1.1\r\nHost: node\r\n\r\n")
			resp, err := http.ReadResponse(bufio.NewReader(c), nil)
			if err != nil || resp.StatusCode != http.StatusUnauthorized {
				t.Fatalf("%v, %v; want 401", resp, err)
			}
		}
		start := time.Now()
		c := newClient(t, ClientOptions{URL: "http://node:9177", DialContext: l.dial})
		defer c.Close()
		if _, err := c.Info(t.Context()); err != nil || time.Since(start) > time.Second {
			t.Errorf("after %d strangers: %v, after %v", maxConnections, err, time.Since(start))
		}
	})
}

// pipes is a listener whose connections are in memory, so that their deadlines
// pass in a bubble's time.
type pipes struct {
	accept chan net.Conn
	closed chan struct{}
	close  func()
	stop   func() // ends the agent
	dialed atomic.Int32
}

// fromConn is a connection from an address of its own.
type fromConn struct {
	net.Conn
	from net.Addr
}

func (c fromConn) RemoteAddr() net.Addr { return c.from }

// servePipes runs an agent behind pipes until the test ends.
func servePipes(t *testing.T, o Options) *pipes {
	t.Helper()
	if o.Sample.ProcRoot == "" {
		o.Sample.ProcRoot = procRoot(t)
	}
	a := newAgent(t, o)
	l := &pipes{accept: make(chan net.Conn), closed: make(chan struct{})}
	l.close = sync.OnceFunc(func() { close(l.closed) })
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	ended := make(chan error, 1)
	go func() { ended <- a.Serve(ctx, l) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	return l
}

func (l *pipes) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	n := l.dialed.Add(1)
	return l.dialFrom(ctx, net.IPv4(10, 0, byte(n>>8), byte(n)))
}

func (l *pipes) dialFrom(ctx context.Context, ip net.IP) (net.Conn, error) {
	ours, theirs := net.Pipe()
	select {
	case l.accept <- fromConn{theirs, &net.TCPAddr{IP: ip, Port: 1024}}:
		return ours, nil
	case <-l.closed:
		return nil, net.ErrClosed
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

func (l *pipes) Accept() (net.Conn, error) {
	select {
	case c := <-l.accept:
		return c, nil
	case <-l.closed:
		return nil, net.ErrClosed
	}
}

func (l *pipes) Close() error   { l.close(); return nil }
func (l *pipes) Addr() net.Addr { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: DefaultPort} }
