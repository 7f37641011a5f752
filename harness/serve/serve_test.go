package serve

import (
	"bufio"
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"heddle/harness/report/browsertest"
)

const token = "TOKEN-OF-THE-TESTS"

// TestMain ends the browser that the tests share, and fails if a goroutine is left.
func TestMain(m *testing.M) {
	goleak.VerifyTestMain(closing{m})
}

// closing are tests whose browser is ended behind them.
type closing struct{ *testing.M }

func (c closing) Run() int {
	defer browsertest.Close()
	return c.M.Run()
}

func check(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// ask sends a request through the guard, without a network.
func ask(t testing.TB, h http.Handler, path string) *httptest.ResponseRecorder {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), "GET", "/"+token+path, nil)
	r.Host = "127.0.0.1:1234"
	w := httptest.NewRecorder()
	guard(token, h).ServeHTTP(w, r)
	return w
}

// TestListen refuses addresses that others could reach, and says what to do instead.
func TestListen(t *testing.T) {
	taken, err := Listen(Loopback, token)
	check(t, err)
	defer taken.Close(t.Context())
	for address, want := range map[string]string{
		"":                             "want host:port",
		"127.0.0.1":                    "want host:port",
		"::1":                          "want host:port",
		"0.0.0.0:8000":                 "ssh -L 8000:127.0.0.1:8000 THIS-MACHINE",
		":8000":                        "want an address of loopback, such as 127.0.0.1:8000",
		":0":                           "want an address of loopback, such as 127.0.0.1:8080",
		"[::]:8000":                    "want an address of loopback",
		"10.0.0.1:8000":                "want an address of loopback",
		"example.org:80":               "want an address of loopback",
		"127.0.0.1.example.org:80":     "want an address of loopback",
		"[::1%eth0]:80":                "want an address of loopback",
		"[::ffff:10.0.0.1]:80":         "want an address of loopback",
		"127.0.0.1:99999":              "invalid port",
		taken.listener.Addr().String(): "address already in use",
	} {
		s, err := Listen(address, token)
		if err == nil {
			s.Close(t.Context())
			t.Errorf("%q: listens on %s", address, s.listener.Addr())
		} else if !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", address, err, want)
		}
	}
	for _, address := range []string{"127.0.0.1:0", "localhost:0", "127.9.9.9:0"} {
		s, err := Listen(address, token)
		check(t, err)
		s.Close(t.Context())
	}
}

// TestGuard has requests that may pass, and others.
func TestGuard(t *testing.T) {
	const bearer = "Bearer " + token
	for name, x := range map[string]struct {
		method, path, host, auth string
		status                   int
		sees                     string // the path that the handler sees
	}{
		"token in the path":        {path: "/" + token + "/", sees: "/"},
		"a part":                   {path: "/" + token + "/run/a%2Fb", sees: "/run/a/b"},
		"two slashes":              {path: "/" + token + "//x", sees: "//x"},
		"dots":                     {path: "/" + token + "/../x", sees: "/../x"},
		"without the slash":        {path: "/" + token, status: 308},
		"bearer":                   {path: "/metrics", auth: bearer, sees: "/metrics"},
		"bearer in small letters":  {path: "/metrics", auth: "bearer " + token, sees: "/metrics"},
		"through a tunnel":         {path: "/" + token + "/", host: "localhost:9", sees: "/"},
		"IPv6":                     {path: "/" + token + "/", host: "[::1]:9", sees: "/"},
		"IPv6 without a port":      {path: "/" + token + "/", host: "[::1]", sees: "/"},
		"HEAD":                     {method: "HEAD", path: "/" + token + "/", sees: "/"},
		"no token":                 {path: "/", status: 404},
		"empty token":              {path: "//", status: 404},
		"wrong token":              {path: "/" + token + "x/", status: 404},
		"half a token":             {path: "/" + token[:5] + "/", status: 404},
		"token behind":             {path: "/x/" + token + "/", status: 404},
		"token as a query":         {path: "/?token=" + token, status: 404},
		"long token":               {path: "/" + strings.Repeat("x", 9000) + "/", status: 404},
		"wrong bearer":             {path: "/metrics", auth: bearer + "x", status: 404},
		"another scheme":           {path: "/metrics", auth: "Basic " + token, status: 404},
		"POST":                     {method: "POST", path: "/" + token + "/", status: 405},
		"DELETE":                   {method: "DELETE", path: "/" + token + "/run/x", status: 405},
		"OPTIONS":                  {method: "OPTIONS", path: "/" + token + "/", status: 405},
		"POST without a token":     {method: "POST", path: "/", status: 404},
		"a foreign host":           {path: "/" + token + "/", host: "evil.example", status: 421},
		"a foreign host and port":  {path: "/" + token + "/", host: "evil.example:80", status: 421},
		"a host like loopback":     {path: "/" + token + "/", host: "127.0.0.1.evil.example", status: 421},
		"a host that ends like it": {path: "/" + token + "/", host: "evil.localhost", status: 421},
		"no host":                  {path: "/" + token + "/", host: " ", status: 421},
		"another address":          {path: "/" + token + "/", host: "10.0.0.1:80", status: 421},
	} {
		saw := ""
		h := guard(token, http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { saw = r.URL.Path }))
		method, host := "GET", "127.0.0.1:1234"
		if x.method != "" {
			method = x.method
		}
		if x.host != "" {
			host = strings.TrimSpace(x.host)
		}
		r := httptest.NewRequestWithContext(t.Context(), method, x.path, nil)
		r.Host = host
		r.Header.Set("Authorization", x.auth)
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		if x.status == 0 {
			x.status = 200
		}
		if w.Code != x.status || saw != x.sees {
			t.Errorf("%s: status %d, the handler saw %q; want %d and %q", name, w.Code, saw, x.status, x.sees)
		}
		if w.Header().Get("Content-Security-Policy") == "" || w.Header().Get("Referrer-Policy") != "no-referrer" || w.Header().Get("Cache-Control") != "no-store" {
			t.Errorf("%s: headers %v", name, w.Header())
		}
		if w.Code >= 400 && strings.Contains(w.Body.String(), token) {
			t.Errorf("%s: the answer has the token: %s", name, w.Body)
		}
	}
}

// TestServer answers on a port, ends a client that sends no header, and ends at once
// although a client stays.
func TestServer(t *testing.T) {
	s, err := Listen(Loopback, token)
	check(t, err)
	entered := make(chan struct{})
	s.Start(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/stays" {
			close(entered)
			<-r.Context().Done()
		}
	}), func(err error) { t.Error(err) })
	if !strings.HasPrefix(s.URL(), "http://127.0.0.1:") || !strings.HasSuffix(s.URL(), "/"+token+"/") {
		t.Errorf("address %q", s.URL())
	}
	c, err := net.Dial("tcp", s.listener.Addr().String())
	check(t, err)
	defer c.Close()
	_, err = io.WriteString(c, "GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nX: "+strings.Repeat("x", 2*maxHeaderBytes)+"\r\n\r\n")
	check(t, err)
	answer, err := http.ReadResponse(bufio.NewReader(c), nil)
	check(t, err)
	answer.Body.Close()
	if answer.StatusCode != http.StatusRequestHeaderFieldsTooLarge {
		t.Errorf("a long header: status %d", answer.StatusCode)
	}
	if s.server.ReadHeaderTimeout != headerLimit || s.server.IdleTimeout == 0 {
		t.Error("a client may take any time for a header, or for nothing")
	}

	left := make(chan error, 1)
	go func() {
		r, err := http.Get(s.URL() + "stays")
		if err == nil {
			r.Body.Close()
		}
		left <- err
	}()
	<-entered
	ctx, interrupt := context.WithCancel(t.Context())
	interrupt()
	began := time.Now()
	s.Close(ctx)
	if took := time.Since(began); took > closeLimit/2 {
		t.Errorf("an interrupted server ended after %v", took)
	}
	<-left
	http.DefaultClient.CloseIdleConnections()
	if _, err := net.Dial("tcp", s.listener.Addr().String()); err == nil {
		t.Error("the port is still open")
	}
}
