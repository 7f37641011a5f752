package agent

import (
	"bufio"
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"heddle/collectors/node"
)

// childInterval is an environment variable with which the test binary runs as an
// agent, with that interval between samples. childFiles names the folder of its
// token and certificate.
const (
	childInterval = "HEDDLE_TEST_AGENT_INTERVAL"
	childFiles    = "HEDDLE_TEST_AGENT_FILES"
)

// memoryBound is the memory that an agent takes at most, whatever clients do, as
// its README says. Of it, maxKeptBytes are for samples, which a test of a minute
// does not fill.
const memoryBound = 192 << 20

func runChild(interval string) int {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	dir := os.Getenv(childFiles)
	every, err := time.ParseDuration(interval)
	if err == nil {
		var a *Agent
		a, err = New(Options{
			TokenFile: filepath.Join(dir, "token"), TLSCert: filepath.Join(dir, "cert.pem"), TLSKey: filepath.Join(dir, "key.pem"), Interval: every,
		})
		if err == nil {
			var l net.Listener
			if l, err = (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0"); err == nil {
				fmt.Println(l.Addr())
				err = a.Serve(ctx, l)
			}
		}
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

// child is an agent with TLS that runs as a process of its own.
type child struct {
	address, token, ca string
	cmd                *exec.Cmd
}

func startChild(t *testing.T, interval time.Duration) *child {
	t.Helper()
	cert, _ := makeCert(t, nil) // its key is beside it
	dir := filepath.Dir(cert)
	write(t, filepath.Join(dir, "token"), testToken)
	cmd := exec.CommandContext(context.WithoutCancel(t.Context()), os.Args[0]) // it is ended after the test
	cmd.Env = append(os.Environ(), childInterval+"="+interval.String(), childFiles+"="+dir)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatalf("the agent did not start: %v", err)
	}
	t.Cleanup(func() {
		if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
			t.Error(err)
		}
		if err := cmd.Wait(); err != nil {
			t.Errorf("the agent ended with %v after SIGTERM, want status 0", err)
		}
	})
	return &child{address: strings.TrimSpace(line), token: filepath.Join(dir, "token"), ca: cert, cmd: cmd}
}

func (c *child) client(t *testing.T) *Client {
	t.Helper()
	return newClient(t, ClientOptions{URL: "https://" + c.address, TokenFile: c.token, CAFile: c.ca})
}

// cpu is the CPU time that the agent's process has used.
func (c *child) cpu(t *testing.T) time.Duration {
	t.Helper()
	text := must(os.ReadFile(fmt.Sprintf("/proc/%d/stat", c.cmd.Process.Pid)))
	fields := strings.Fields(string(text[strings.LastIndexByte(string(text), ')')+1:]))
	user, _ := strconv.Atoi(fields[11])
	system, _ := strconv.Atoi(fields[12])
	return time.Duration(user+system) * 10 * time.Millisecond
}

// peak is the most memory that the agent's process has had.
func (c *child) peak(t *testing.T) int {
	t.Helper()
	text := must(os.ReadFile(fmt.Sprintf("/proc/%d/status", c.cmd.Process.Pid)))
	_, rest, _ := strings.Cut(string(text), "VmHWM:")
	kB, _, _ := strings.Cut(strings.TrimSpace(rest), " ")
	n := must(strconv.Atoi(kB))
	return n << 10
}

func needsLong(t *testing.T) {
	t.Helper()
	if os.Getenv("HEDDLE_LONG") == "" {
		t.Skip("takes a minute and both cores: set HEDDLE_LONG=1")
	}
	if _, err := os.Stat("/proc/self/status"); err != nil {
		t.Skipf("needs Linux: %v", err)
	}
}

// TestCost prints what an agent costs at rest and under ten harnesses, and how
// many requests it answers. It fails only if samples are lost.
func TestCost(t *testing.T) {
	needsLong(t)
	c := startChild(t, time.Second)
	const phase = 15 * time.Second
	before := c.cpu(t)
	<-time.After(phase)
	t.Logf("at rest: %.2f %% of a core, %d MiB", percent(c.cpu(t)-before, phase), c.peak(t)>>20)

	before = c.cpu(t)
	var harnesses sync.WaitGroup
	for range 10 {
		client := c.client(t)
		f := client.Follow()
		harnesses.Go(func() {
			defer client.Close()
			for range int(phase / time.Second) {
				<-time.After(time.Second)
				if b, err := f.Next(t.Context()); err != nil || b.Lost > 0 {
					t.Errorf("%d lost, %v", b.Lost, err)
				}
			}
		})
	}
	harnesses.Wait()
	t.Logf("10 harnesses, each once a second: %.2f %% of a core, %d MiB", percent(c.cpu(t)-before, phase), c.peak(t)>>20)

	for _, n := range []int{1, 10, 40} {
		const flatOut = 5 * time.Second
		before := c.cpu(t)
		ctx, cancel := context.WithTimeout(t.Context(), flatOut)
		var answered atomic.Int64
		var clients sync.WaitGroup
		for range n {
			client := c.client(t)
			clients.Go(func() {
				defer client.Close()
				for ctx.Err() == nil {
					if _, err := client.Samples(ctx, FromNow); err == nil {
						answered.Add(1)
					} else if ctx.Err() == nil {
						t.Error(err)
						return
					}
				}
			})
		}
		clients.Wait()
		cancel()
		used := c.cpu(t) - before
		t.Logf("%d clients without a pause: %d requests/s, %.0f us of CPU each, %d MiB", n, answered.Load()/int64(flatOut/time.Second),
			float64(used.Microseconds())/float64(max(1, answered.Load())), c.peak(t)>>20)
	}
}

func percent(used, of time.Duration) float64 { return 100 * float64(used) / float64(of) }

// TestUnderAttack has hundreds of hostile clients, from other addresses, ask an
// agent at once while one harness follows it. It prints what that costs. It
// fails if the agent takes more memory than its README says, or loses samples.
func TestUnderAttack(t *testing.T) {
	needsLong(t)
	c := startChild(t, node.MinInterval)
	f := c.client(t).Follow()
	quiet := followFor(t, f, 20*time.Second) // after that a whole page of samples is there for those who do not read it
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	before := c.cpu(t)
	var attack sync.WaitGroup
	var connections atomic.Int64
	for i := range 300 {
		attack.Go(func() {
			dialer := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.IPv4(127, 0, 1, byte(i))}, Timeout: 5 * time.Second}
			for ctx.Err() == nil {
				if raw, err := dialer.DialContext(ctx, "tcp", c.address); err == nil {
					connections.Add(1)
					attackOnce(ctx, i%5, raw)
				}
			}
		})
	}
	attacked := followFor(t, f, 20*time.Second)
	attack.Wait()
	t.Logf("%d hostile connections in 20 s: %.0f %% of a core, %d MiB", connections.Load(), percent(c.cpu(t)-before, 20*time.Second),
		c.peak(t)>>20)
	t.Logf("the harness before, one sample in %v asked for: %+v; under attack: %+v", node.MinInterval, quiet, attacked)
	if c.peak(t) > memoryBound-maxKeptBytes {
		t.Errorf("%d MiB of memory, want at most %d without the samples", c.peak(t)>>20, (memoryBound-maxKeptBytes)>>20)
	}
	if attacked.Lost > 0 || attacked.Samples == 0 {
		t.Errorf("%+v: want samples, and none lost", attacked)
	}
}

// followed is what a harness got from an agent for a while.
type followed struct {
	Samples, Lost, FailedRequests int
	LongestGap                    time.Duration // between two samples, by the agent's clock
}

func followFor(t *testing.T, f *Follower, during time.Duration) (got followed) {
	t.Helper()
	end := time.After(during)
	var last int64
	for {
		b, err := f.Next(t.Context())
		if err != nil {
			t.Logf("the harness: %v", err)
			got.FailedRequests++
		}
		got.Lost += b.Lost
		for _, s := range b.Samples {
			got.Samples++
			if last != 0 {
				got.LongestGap = max(got.LongestGap, time.Duration(s.MonoNs-last).Round(time.Millisecond))
			}
			last = s.MonoNs
		}
		select {
		case <-end:
			return got
		case <-time.After(time.Second):
		}
	}
}

// attackOnce does one of several things that no client does, on a connection.
func attackOnce(ctx context.Context, how int, raw net.Conn) {
	defer raw.Close()
	ended := context.AfterFunc(ctx, func() { raw.Close() })
	defer ended()
	if how == 0 { // no handshake
		_, _ = io.Copy(io.Discard, raw)
		return
	}
	conn := tls.Client(raw, &tls.Config{InsecureSkipVerify: true})
	switch how {
	case 1: // a wrong token, as fast as possible
		fmt.Fprint(conn, "GET /info HTTP/1.1\r\nHost: n\r\nAuthorization: Bearer wrong-horse-battery-staple\r\n\r\n")
		_, _ = io.Copy(io.Discard, conn)
	case 2: // a header without end
		for _, err := io.WriteString(conn, "GET /info HTTP/1.1\r\n"); err == nil; {
			_, err = fmt.Fprintf(conn, "X: %s\r\n", strings.Repeat("x", 1000))
		}
	case 3: // a slow header
		for _, err := io.WriteString(conn, "GET /info HTTP/1.1\r\nX: "); err == nil && ctx.Err() == nil; _, err = conn.Write([]byte{'x'}) {
			<-time.After(100 * time.Millisecond)
		}
	case 4: // the token, and answers that are asked for and not read
		for _, err := io.WriteString(conn, ""); err == nil; {
			_, err = fmt.Fprint(conn, "GET /samples HTTP/1.1\r\nHost: n\r\n"+bearer+"\r\n")
		}
	}
}

// BenchmarkSamples measures how an answer of one sample, and one of a whole page,
// is made.
func BenchmarkSamples(b *testing.B) {
	r := newRing(maxKept, 7)
	sample := node.Sample{CPU: &node.CPU{}, Memory: &node.Memory{}, Disks: make([]node.Disk, 4), Networks: make([]node.Network, 4)}
	for sample.Seq < 3600 {
		sample.Seq++
		r.add(sample)
	}
	for _, c := range []struct {
		name  string
		after Cursor
	}{{"one", "7.3599"}, {"page", "7.1"}} {
		b.Run(c.name, func(b *testing.B) {
			for b.Loop() {
				p := must(r.since(c.after, maxPage))
				answer(discard{}, p)
			}
		})
	}
}

type discard struct{}

func (discard) Header() http.Header         { return http.Header{} }
func (discard) Write(p []byte) (int, error) { return len(p), nil }
func (discard) WriteHeader(int)             {}
