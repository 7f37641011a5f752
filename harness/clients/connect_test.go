package clients

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"heddle/collectors/hdfs"
	"heddle/collectors/hdfs/hdfstest"
	"heddle/harness/config"
	"heddle/traces/errtest"
	"heddle/yarnclient"
	"heddle/yarnclient/yarntest"
)

// TestBadFile has cluster files of which a part cannot be used. Work that needs
// no agent goes on without the agents' tokens.
func TestBadFile(t *testing.T) {
	good := func() config.Cluster {
		return config.Cluster{
			Name: "blue", ResourceManagers: []string{"rm:8088"}, HistoryServer: "history:19888", NameNodes: []string{"nn:8020"},
			User: "me",
		}
	}
	for _, x := range []struct {
		name   string
		change func(*config.Cluster)
		file   bool // whether the error is one of the file
		want   string
	}{
		{
			"keytab without principal", func(c *config.Cluster) { c.Kerberos = &config.Kerberos{Keytab: "a"} }, true,
			"keytab a: want a principal too",
		},
		{"no ca", func(c *config.Cluster) { c.CA = "/nowhere/ca.pem" }, true, "ca: open /nowhere/ca.pem"},
		{"ca without certificate", func(c *config.Cluster) { c.CA = "connect_test.go" }, true, "no PEM certificate in it"},
		{
			"no ResourceManager", func(c *config.Cluster) { c.ResourceManagers = nil }, true,
			"cluster file of blue: yarn: no address of the ResourceManager",
		},
		{"history server", func(c *config.Cluster) { c.HistoryServer = "ftp://history" }, true, "cluster file of blue: yarn: address"},
		{"NameNode", func(c *config.Cluster) { c.NameNodes = []string{"nn"} }, true, `cluster file of blue: hdfs: NameNode "nn"`},
	} {
		c := good()
		x.change(&c)
		if _, err := To(&c, Patience{}); err == nil || errors.Is(err, ErrBadFile) != x.file || !strings.Contains(err.Error(), x.want) {
			t.Errorf("%s: %v, want an error with %q, one of the file: %v", x.name, err, x.want, x.file)
		}
	}
	c := good()
	c.Agents = []config.Agent{{Node: "n1", URL: "http://n1:9177", TokenFile: filepath.Join(t.TempDir(), "none")}}
	to := errtest.Must(To(&c, Patience{}))
	defer to.Close()
	if _, err := to.Answers(t.Context()); !errors.Is(err, ErrBadFile) || !errors.Is(err, fs.ErrNotExist) ||
		!strings.Contains(err.Error(), "agent of n1") {
		t.Errorf("a token that is missing: %v", err)
	}
}

// TestAwaitAnswers has a ResourceManager that is away for a few calls, and one
// that is away for longer than is waited for.
func TestAwaitAnswers(t *testing.T) {
	yarn := yarntest.New(yarntest.Config{Nodes: yarntest.Workers(1, 1, 4096, 8)})
	var calls, away atomic.Int32
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasPrefix(r.URL.Path, "/ws/v1/cluster") && calls.Add(1) <= away.Load() {
			http.Error(w, "no", http.StatusInternalServerError)
			return
		}
		yarn.ServeHTTP(w, r)
	}))
	t.Cleanup(s.Close)
	c, err := To(&config.Cluster{
		ResourceManagers: []string{s.URL}, HistoryServer: s.URL, NameNodes: []string{hdfstest.Start(t).Address}, User: "me",
	}, Patience{})
	mustDo(t, err)
	t.Cleanup(func() { c.Close() })
	away.Store(2)
	if err := c.AwaitAnswers(t.Context(), time.Minute); err != nil || calls.Load() != 3 {
		t.Errorf("%v after %d calls, want the third to succeed", err, calls.Load())
	}
	away.Store(1 << 30)
	err = c.AwaitAnswers(t.Context(), 0)
	if !errors.Is(err, ErrUnable) || !Unable(err) || !strings.Contains(err.Error(), s.URL) {
		t.Errorf("%v, want ErrUnable and %s in it", err, s.URL)
	}
}

// TestOutlast has masters of which one takes over after a time, or never does, and
// failures that waiting does not mend.
func TestOutlast(t *testing.T) {
	standby := fmt.Errorf("list nodes: %w: %w", yarnclient.ErrUnreachable, yarnclient.ErrStandby)
	for name, x := range map[string]struct {
		masters int // ResourceManagers, and NameNodes
		err     error
		ends    time.Duration // of the failure
		stopped time.Duration // when the user ends the run; 0: never
		took    time.Duration
		fails   bool
		says    string
	}{
		"works": {masters: 2},
		"ResourceManager": {
			masters: 2, err: standby, ends: 30 * time.Second, took: 30 * time.Second,
			says: "waiting for an active ResourceManager, at most 2m0s",
		},
		"NameNode": {
			masters: 2, err: hdfs.ErrUnavailable, ends: 30 * time.Second, took: 30 * time.Second,
			says: "waiting for an active NameNode, at most 2m0s",
		},
		"never": {
			masters: 2, err: standby, ends: time.Hour, took: 2*time.Minute + time.Second, fails: true,
			says: "waiting for an active ResourceManager, at most 2m0s",
		},
		"stopped": {
			masters: 2, err: standby, ends: time.Hour, stopped: 5500 * time.Millisecond, took: 5500 * time.Millisecond,
			fails: true, says: "waiting for an active ResourceManager, at most 2m0s",
		},
		"one that is alone": {masters: 1, err: standby, ends: time.Second, fails: true},
		"none answers":      {masters: 2, err: yarnclient.ErrUnreachable, ends: time.Second, fails: true},
		"another failure":   {masters: 2, err: fs.ErrPermission, ends: time.Second, fails: true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				if x.stopped > 0 {
					time.AfterFunc(x.stopped, cancel)
				}
				names := []string{"a", "b"}[:x.masters]
				c := &Clients{Config: &config.Cluster{ResourceManagers: names, NameNodes: names}}
				start, said := time.Now(), ""
				err := c.Outlast(ctx, func(text string) { said += text }, func() error {
					if time.Since(start) < x.ends {
						return x.err
					}
					return nil
				})
				if x.fails != (err != nil) || x.fails && !errors.Is(err, x.err) || x.stopped > 0 && !errors.Is(err, context.Canceled) {
					t.Errorf("%v, want an error: %v", err, x.fails)
				}
				if took := time.Since(start); took != x.took || said != x.says {
					t.Errorf("took %v and said %q, want %v and %q", took, said, x.took, x.says)
				}
			})
		})
	}
}
