package agent

import (
	"context"
	"errors"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"heddle/collectors/node"
	"heddle/traces/errtest"
)

const newToken = "another-horse-battery-staple"

// TestRotation changes the token of two agents and of a harness that follows
// them, in the three steps of the README. No sample is lost, and no request
// fails.
func TestRotation(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ours := tokenFile(t)
		var agents []*Agent
		var followers []*Follower
		for range 2 {
			a, l := samplingAgent(t, tokenFile(t))
			agents = append(agents, a)
			c := newClient(t, ClientOptions{URL: "http://node:9177", TokenFile: ours, DialContext: l.dial})
			followers = append(followers, c.Follow())
		}
		last := make([]uint64, len(followers))
		follow := func(step string) {
			t.Helper()
			for range 3 {
				<-time.After(2 * time.Second)
				for i, f := range followers {
					b, err := f.Next(t.Context())
					if err != nil || b.Lost != 0 || b.Restarted {
						t.Errorf("%s, agent %d: %+v, %v", step, i, b, err)
					}
					for _, s := range b.Samples {
						if last[i] != 0 && s.Seq != last[i]+1 {
							t.Errorf("%s, agent %d: sample %d after %d", step, i, s.Seq, last[i])
						}
						last[i] = s.Seq
					}
				}
			}
		}
		set := func(path, tokens string) { // as the README says: a new file takes the place of the old one
			write(t, path+".new", tokens)
			mustDo(t, os.Rename(path+".new", path))
		}
		follow("before")
		set(agents[0].opts.TokenFile, testToken+"\n"+newToken+"\n")
		follow("while only one agent has both tokens")
		set(agents[1].opts.TokenFile, testToken+"\n"+newToken+"\n")
		follow("while agents have both tokens")
		set(ours, newToken+"\n")
		follow("after the harness has the new token")
		set(agents[0].opts.TokenFile, newToken+"\n")
		follow("after one agent forgot the old token")
		set(agents[1].opts.TokenFile, newToken+"\n")
		follow("after all forgot the old token")
		for i, a := range agents {
			if w := ask(t, a.Handler(), "GET /info"); w.Code != http.StatusUnauthorized {
				t.Errorf("agent %d takes the old token: %d", i, w.Code)
			}
		}
		if last[0] < 30 || last[1] < 30 {
			t.Errorf("followed to samples %v, want the whole time", last)
		}
	})
}

// TestHarnessFirst changes the harness's file to both tokens before the agents'.
// It then sends what an agent accepts.
func TestHarnessFirst(t *testing.T) {
	ours, theirs := tokenFile(t), tokenFile(t)
	write(t, ours, newToken+"\n"+testToken+"\n")
	url, _ := serve(t, newAgentOf(t, theirs, Options{}))
	c := newClient(t, ClientOptions{URL: url, TokenFile: ours})
	for range 2 {
		if _, err := c.Info(t.Context()); err != nil {
			t.Errorf("with a token that the agent does not know yet first: %v", err)
		}
	}
	if got := c.tokens.current(); got != testToken {
		t.Errorf("the client goes on with %s, want the token that was accepted", got)
	}
}

// TestTokenFileIsReread has changes of an agent's token file that are of use,
// and some that are of none and change nothing.
func TestTokenFileIsReread(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		path := tokenFile(t)
		a := newAgentOf(t, path, Options{})
		for _, c := range []struct {
			name, text string
			mode       os.FileMode
			old, new   int // status of a request with the old and with the new token
		}{
			{"as it was", testToken + "\n", 0o600, 200, 401},
			{"both", testToken + "\n" + newToken + "\n", 0o600, 200, 200},
			{"emptied by mistake", "", 0o600, 200, 200},
			{"made readable by mistake", newToken, 0o644, 200, 200},
			{"the new one", newToken, 0o600, 401, 200},
			{"removed by mistake", "", 0, 401, 200},
			{"the old one again", testToken, 0o440, 200, 401},
		} {
			<-time.After(2 * rereadInterval)
			var err error
			if err = os.Remove(path); c.mode != 0 {
				write(t, path, c.text)
				err = os.Chmod(path, c.mode)
			}
			if err != nil {
				t.Fatal(err)
			}
			for token, want := range map[string]int{testToken: c.old, newToken: c.new} {
				if got := askWith(t, a.Handler(), token, "GET /info").Code; got != want {
					t.Errorf("%s: %d for %s, want %d", c.name, got, token, want)
				}
			}
		}
	})
}

// TestComesBack: a harness that could not reach an agent for a while gets the
// samples of that while. What the agent has overwritten, or lost when it was
// started again, is counted.
func TestComesBack(t *testing.T) {
	for _, x := range []struct {
		name      string
		away      time.Duration // how long the harness cannot reach the agent, which keeps samples of a minute
		restart   bool          // the agent is started again in the middle of that
		samples   int
		lost      int
		restarted bool
	}{
		{"for a short while", 30 * time.Second, false, 30, 0, false},
		{"for longer than the agent keeps samples", 100 * time.Second, false, 60, 40, false},
		{"while the agent restarts", 40 * time.Second, true, 20, 20, true},
	} {
		t.Run(x.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				_, l := samplingAgent(t, tokenFile(t))
				reachable := true
				c := newClient(t, ClientOptions{URL: "http://node:9177", DialContext: func(ctx context.Context, network, address string) (net.Conn,
					error,
				) {
					if !reachable {
						return nil, errors.New("no route to host")
					}
					return l.dial(ctx, network, address)
				}})
				f := c.Follow()
				<-time.After(5*time.Second + 500*time.Millisecond)
				b := all(t, f)
				if len(b.Samples) < 5 || b.Lost != 0 {
					t.Errorf("at first: %d samples, %d lost; want 5 of 5", len(b.Samples), b.Lost)
				}
				reachable = false
				c.Close()
				<-time.After(x.away / 2)
				errtest.Is(t, errOf(f.Next(t.Context())), ErrUnreachable)
				if x.restart {
					l.stop()
					_, l = samplingAgent(t, tokenFile(t))
				}
				<-time.After(x.away / 2)
				reachable = true
				b = all(t, f)
				if d := len(b.Samples) - x.samples; d < -1 || d > 1 {
					t.Errorf("%d samples, want %d", len(b.Samples), x.samples)
				}
				if d := b.Lost - x.lost; d < -1 || d > 1 {
					t.Errorf("%d lost, want %d", b.Lost, x.lost)
				}
				if b.Restarted != x.restarted {
					t.Errorf("restarted %v", b.Restarted)
				}
				if last := b.Samples[len(b.Samples)-1]; time.Since(last.At) > 1100*time.Millisecond || time.Since(last.At) < 0 {
					t.Errorf("the last sample is of %v ago", time.Since(last.At))
				}
			})
		})
	}
}

// TestAgentThatComesLate: an agent that could not be reached at the beginning
// gives the samples since then.
func TestAgentThatComesLate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, l := samplingAgent(t, tokenFile(t))
		<-time.After(20 * time.Second) // samples before the beginning, which nobody asks for
		up := false
		f := newClient(t, ClientOptions{URL: "http://node:9177", DialContext: func(ctx context.Context, network, address string) (net.Conn,
			error,
		) {
			if !up {
				return nil, errors.New("connection refused")
			}
			return l.dial(ctx, network, address)
		}}).Follow()
		for range 10 {
			if _, err := f.Next(t.Context()); err == nil {
				t.Fatal("reached")
			}
			<-time.After(time.Second)
		}
		up = true
		b := all(t, f)
		if len(b.Samples) < 9 || len(b.Samples) > 11 || b.Lost > 1 {
			t.Errorf("%d samples, %d lost; want the 10 since the beginning", len(b.Samples), b.Lost)
		}
	})
}

// all follows until the agent has no more, in one batch.
func all(t *testing.T, f *Follower) (sum Batch) {
	t.Helper()
	for {
		b := must(f.Next(t.Context()))
		sum.Samples = append(sum.Samples, b.Samples...)
		sum.Lost += b.Lost
		sum.Restarted = sum.Restarted || b.Restarted
		if !b.More {
			return sum
		}
	}
}

// samplingAgent serves an agent behind pipes that measures once a second and
// keeps samples of a minute, until the test ends or the pipes are closed.
func samplingAgent(t *testing.T, token string) (*Agent, *pipes) {
	t.Helper()
	root := procRoot(t)
	write(t, filepath.Join(root, "loadavg"), "0.5 0.4 0.3 1/2 3\n")
	a := newAgentOf(t, token, Options{Interval: time.Second, Keep: time.Minute, Sample: node.Options{ProcRoot: root}})
	l := &pipes{accept: make(chan net.Conn), closed: make(chan struct{})}
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	ended := make(chan error, 1)
	go func() { ended <- a.Serve(ctx, l) }()
	stop := sync.OnceFunc(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	l.close = sync.OnceFunc(func() { close(l.closed) })
	l.stop = stop
	t.Cleanup(stop)
	return a, l
}

func newAgentOf(t *testing.T, token string, o Options) *Agent {
	t.Helper()
	o.Listen, o.TokenFile = "127.0.0.1:0", token
	a := must(New(o))
	return a
}

// TestRotationCommands runs the commands of the README that change a token.
func TestRotationCommands(t *testing.T) {
	for _, program := range []string{"sh", "openssl"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Skipf("needs %s: %v", program, err)
		}
	}
	page := must(os.ReadFile("README.md"))
	var blocks []string
	for rest, found := string(page), true; found; {
		var block string
		if _, rest, found = strings.Cut(rest, "```sh\n"); found {
			block, rest, _ = strings.Cut(rest, "```")
			blocks = append(blocks, block)
		}
	}
	if len(blocks) != 2 {
		t.Fatalf("%d blocks of shell in the README, want those before and after the harness's change", len(blocks))
	}
	dir := t.TempDir()
	path := filepath.Join(dir, "agent.token")
	write(t, path, testToken+"\n")
	run := func(commands string) []string {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), "sh", "-ec", commands)
		cmd.Dir = dir
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%s: %v\n%s", commands, err, out)
		}
		tokens := must(ReadTokens(path))
		return tokens
	}
	both := run(blocks[0])
	if len(both) != 2 || both[0] != testToken {
		t.Fatalf("after the first step the file has %q, want the old token and another", both)
	}
	if one := run(blocks[1]); len(one) != 1 || one[0] != both[1] {
		t.Errorf("after the last step the file has %q, want %q", one, both[1:])
	}
}
