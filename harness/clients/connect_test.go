package clients

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"heddle/collectors/hdfs/hdfstest"
	"heddle/harness/config"
	"heddle/yarnclient/yarntest"
)

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
	})
	if err != nil {
		t.Fatal(err)
	}
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
