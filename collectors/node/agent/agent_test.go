package agent

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"heddle/collectors/node"
)

var update = flag.Bool("update", false, "rewrite golden files")

func TestMain(m *testing.M) {
	if interval := os.Getenv(childInterval); interval != "" {
		os.Exit(runChild(interval))
	}
	goleak.VerifyTestMain(m)
}

const testToken = "correct-horse-battery-staple"

func TestPaths(t *testing.T) {
	a := newAgent(t, Options{Node: "worker1"})
	for _, c := range []struct {
		request string
		status  int
		holds   string
	}{
		{"GET /info", 200, `"node":"worker1"`},
		{"GET /samples", 200, `{"samples":[],"next":"`},
		{"GET /samples?since=now", 200, `"lost":0,"restarted":false`},
		{"GET /samples?since=gibberish", 400, "or one that an earlier answer gave as next"},
		{"GET /metrics", 200, `heddle_agent_info{cgroup="",mode="host",node="worker1"`},
		{"POST /drop-caches", 403, "--allow-drop-caches"},
		{"GET /drop-caches", 405, ""},
		{"POST /info", 405, ""},
		{"GET /nothing", 404, ""},
	} {
		w := ask(t, a.Handler(), c.request)
		if w.Code != c.status || !strings.Contains(w.Body.String(), c.holds) {
			t.Errorf("%s: %d %s, want %d and %q", c.request, w.Code, w.Body, c.status, c.holds)
		}
	}
}

func TestDropCachesSaysWhatItDid(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		root := procRoot(t)
		a := newAgent(t, Options{AllowDropCaches: true, Sample: node.Options{ProcRoot: root}})
		w := ask(t, a.Handler(), "POST /drop-caches")
		if want := `{"scope":"host","how":"vm.drop_caches","beforeBytes":40960,"afterBytes":40960}` + "\n"; w.Body.String() != want {
			t.Errorf("answer %d %s, want %s", w.Code, w.Body, want)
		}
		mustDo(t, os.Remove(filepath.Join(root, "sys/vm/drop_caches")))
		<-time.After(minDropInterval)
		if w = ask(t, a.Handler(), "POST /drop-caches"); w.Code != 500 || !strings.Contains(w.Body.String(), "no such file") {
			t.Errorf("answer %d %s, want a 500 that says why", w.Code, w.Body)
		}
	})
}

func TestMetricsGolden(t *testing.T) {
	u := func(v uint64) *uint64 { return &v }
	var last atomic.Pointer[node.Reading]
	last.Store(&node.Reading{
		WallNs: 1_795_262_400_500_000_000,
		TookNs: 1_500_000,
		CPU:    &node.CPUTimes{UserNs: 12_500_000_000, SystemNs: 2e9, IdleNs: u(1e9), IowaitNs: u(5e8), StealNs: u(0)},
		Quota:  &node.Quota{ThrottledNs: 2_750_000_000},
		Load:   &node.Load{Load1: 1.5},
		Memory: &node.Memory{TotalBytes: 4096, FreeBytes: 1024, PageCacheBytes: 900},
		Disks: []node.DiskCounters{
			{Device: "vda", ReadBytes: 1, WriteBytes: 2, QueueMs: u(6000)},
			{Device: "254:16", ReadBytes: 8},
		},
		Networks: []node.NetworkCounters{{Interface: "eth0", ReceiveBytes: 1, TransmitBytes: 2}},
		Absent:   map[string]string{"disk": "for the test"},
	})
	reading := readingCollector{&last, Options{
		Node: "worker1", Version: "v1", Sample: node.Options{Cgroup: "lab/worker1"},
	}, "cgroup"}
	w := httptest.NewRecorder()
	handler(reading.collect).ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), "GET", "/", nil))
	golden(t, "testdata/metrics.txt", w.Body.Bytes())
}

// TestSampling lets an agent sample in a bubble's time and asks for what it has.
func TestSampling(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		root := t.TempDir()
		write(t, filepath.Join(root, "loadavg"), "0.5 0.4 0.3 1/2 3\n")
		var log bytes.Buffer
		a := newAgent(t, Options{
			Interval: time.Second, Keep: 4 * time.Second, Sample: node.Options{ProcRoot: root},
			Log: slog.New(slog.NewTextHandler(&log, nil)),
		})
		start := samples(t, a.Handler(), FromNow)
		ctx, stop := context.WithCancel(t.Context())
		var sampling sync.WaitGroup
		sampling.Go(func() { a.sample(ctx) })
		<-time.After(3*time.Second + time.Millisecond)
		first := samples(t, a.Handler(), start.Next)
		if len(first.Samples) != 3 || first.Lost != 0 {
			t.Errorf("after 3 s: %d samples, %d lost, want 3 and 0", len(first.Samples), first.Lost)
		}
		<-time.After(7 * time.Second)
		rest := samples(t, a.Handler(), first.Next)
		if len(rest.Samples) != 4 || rest.Lost != 3 || rest.Samples[0].Seq != 7 {
			t.Errorf("7 s later, keeping 4 s: %d samples, %d lost, want 4 and 3", len(rest.Samples), rest.Lost)
		}
		stop()
		sampling.Wait()
		if n := strings.Count(log.String(), "not measured\" group=memory"); n != 1 {
			t.Errorf("absent memory logged %d times in 10 samples, want once:\n%s", n, &log)
		}
	})
}

// TestServe runs an agent on a real socket until it is told to stop.
func TestServe(t *testing.T) {
	url, stop := serve(t, newAgent(t, Options{}))
	c := newClient(t, ClientOptions{URL: url})
	if _, err := c.Info(t.Context()); err != nil {
		t.Error(err)
	}
	c.Close()
	if err := stop(); err != nil {
		t.Errorf("stopped with %v", err)
	}
}

func TestOptions(t *testing.T) {
	token := tokenFile(t)
	for _, c := range []struct {
		opts Options
		want string
	}{
		{Options{Listen: "9177", TokenFile: token}, "want host:port"},
		{Options{Listen: ":0"}, "no token file"},
		{Options{Listen: ":0", TokenFile: token, Interval: time.Millisecond}, "at least 100ms"},
		{Options{Listen: ":0", TokenFile: token, Keep: -1}, "positive"},
		{Options{Listen: ":0", TokenFile: token, TLSCert: "a.pem"}, "both a certificate and its key"},
		{Options{Listen: ":0", TokenFile: token, TLSCert: "a.pem", TLSKey: "b.pem"}, "a.pem"},
		{Options{Listen: ":0", TokenFile: token, Sample: node.Options{Cgroup: "/x"}}, "control group"},
	} {
		wantError(t, errOf(New(c.opts)), c.want)
	}
}

// TestListensOnLoopbackUnlessToldOrTLS: without TLS others could read the token
// on the network.
func TestListensOnLoopbackUnlessToldOrTLS(t *testing.T) {
	cert, key := makeCert(t, nil)
	for _, c := range []struct {
		opts Options
		want string
	}{
		{Options{}, "127.0.0.1:9177"},
		{Options{TLSCert: cert, TLSKey: key}, ":9177"},
		{Options{Listen: "192.0.2.7:9177"}, "192.0.2.7:9177"},
		{Options{Listen: "127.0.0.1:1", TLSCert: cert, TLSKey: key}, "127.0.0.1:1"},
	} {
		c.opts.TokenFile = tokenFile(t)
		a := must(New(c.opts))
		if a.opts.Listen != c.want {
			t.Errorf("listen %q, certificate %q: listens on %q, want %q", c.opts.Listen, c.opts.TLSCert, a.opts.Listen, c.want)
		}
	}
}

func newAgent(t *testing.T, o Options) *Agent {
	t.Helper()
	return newAgentOf(t, tokenFile(t), o)
}

// serve gives the agent's URL, and what stops it.
func serve(t *testing.T, a *Agent) (url string, stop func() error) {
	t.Helper()
	l := must((&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0"))
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- a.Serve(ctx, l) }()
	stop = sync.OnceValue(func() error {
		cancel()
		return <-ended
	})
	t.Cleanup(func() { _ = stop() })
	scheme := "http"
	if a.cert != nil {
		scheme = "https"
	}
	return scheme + "://" + l.Addr().String(), stop
}

// procRoot holds what dropping the machine's caches reads and writes.
func procRoot(t *testing.T) string {
	t.Helper()
	root := t.TempDir()
	write(t, filepath.Join(root, "meminfo"), "MemTotal: 100 kB\nCached: 40 kB\n")
	write(t, filepath.Join(root, "sys/vm/drop_caches"), "")
	return root
}

func tokenFile(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "token")
	write(t, path, testToken+"\n")
	return path
}

func write(t *testing.T, path, text string) {
	t.Helper()
	mustDo(t, os.MkdirAll(filepath.Dir(path), 0o700))
	mustDo(t, os.WriteFile(path, []byte(text), 0o600))
}

// ask sends "METHOD /path" with the token.
func ask(t *testing.T, h http.Handler, request string) *httptest.ResponseRecorder {
	t.Helper()
	return askWith(t, h, testToken, request)
}

func askWith(t *testing.T, h http.Handler, token, request string) *httptest.ResponseRecorder {
	t.Helper()
	method, target, _ := strings.Cut(request, " ")
	r := httptest.NewRequestWithContext(t.Context(), method, target, nil)
	r.Header.Set("Authorization", "Bearer "+token)
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

func samples(t *testing.T, h http.Handler, after Cursor) (p Page) {
	t.Helper()
	w := ask(t, h, "GET /samples?since="+string(after))
	if err := json.Unmarshal(w.Body.Bytes(), &p); err != nil {
		t.Fatalf("%v: %s", err, w.Body)
	}
	return p
}

func golden(t *testing.T, path string, got []byte) {
	t.Helper()
	if *update {
		mustDo(t, os.WriteFile(path, got, 0o600))
	}
	f := must(os.Open(path))
	defer f.Close()
	want := must(io.ReadAll(f))
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("%s differs (-want +got); if it is right, run with -update:\n%s", path, diff)
	}
}
