package experiment

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"heddle/collectors/hdfs"
	"heddle/harness/capture"
	"heddle/harness/clients"
	"heddle/harness/config"
	"heddle/harness/steer/drive"
	"heddle/harness/watch"
	"heddle/yarnclient"
	"heddle/yarnclient/yarntest"
)

// twoMasters are ResourceManagers of which the first is dead, and the second takes over
// some time after it was asked first.
type twoMasters struct {
	http.RoundTripper // of the second
	after             time.Duration
	asked             time.Time
}

func (m *twoMasters) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.URL.Host == "rm1:8088" {
		return nil, &net.OpError{Op: "dial", Err: errors.New("connection refused")}
	}
	if m.asked.IsZero() {
		m.asked = time.Now()
	}
	if r.URL.Host == "rm2:8088" && time.Since(m.asked) < m.after {
		return standby(r), nil
	}
	return m.RoundTripper.RoundTrip(r)
}

// standby is the answer of a ResourceManager that is one.
func standby(r *http.Request) *http.Response {
	w := httptest.NewRecorder()
	w.Header().Set("Content-Type", "application/json")
	if r.URL.Path != "/ws/v1/cluster/info" {
		w.Header().Set("Location", "http://rm1:8088"+r.URL.Path)
		w.WriteHeader(http.StatusTemporaryRedirect)
	}
	io.WriteString(w, `{"clusterInfo":{"haState":"STANDBY"}}`)
	return w.Result()
}

// noFiles are the files of a cluster without any.
type noFiles struct{ watch.Files }

func (noFiles) Find(context.Context) error                         { return nil }
func (noFiles) DataNodes(context.Context) ([]hdfs.DataNode, error) { return nil, nil }

// TestTrialBeginsInFailover starts the capture of a trial while no ResourceManager is
// active. It waits for the standby, tells the user, and has the nodes in its trace. A
// standby that never takes over fails the trial after the limit.
func TestTrialBeginsInFailover(t *testing.T) {
	for _, x := range []struct {
		after, took time.Duration
		fails       bool
	}{{0, 0, false}, {20 * time.Second, 20 * time.Second, false}, {time.Hour, clients.FailoverLimit, true}} {
		synctest.Test(t, func(t *testing.T) {
			masters := &twoMasters{RoundTripper: yarntest.New(yarntest.Config{Nodes: yarntest.Workers(2, 2, 4096, 8)}).Transport(), after: x.after}
			rm := must(yarnclient.NewRM(yarnclient.Options{Addresses: []string{"rm1:8088", "rm2:8088"}, Transport: masters}))
			history := must(yarnclient.NewHistory(yarnclient.Options{Addresses: []string{"history:19888"}, Transport: masters}))
			cluster := &clients.Clients{
				Config: &config.Cluster{Name: "two", ResourceManagers: []string{"rm1:8088", "rm2:8088"}}, RM: rm,
				History: history,
			}
			folder := must(os.OpenRoot(t.TempDir()))
			defer folder.Close()
			var said []string
			run := &trialRun{cluster: cluster, trial: &trial{
				options: &Options{Experiment: &config.Experiment{}, Progress: func(s Step) {
					if s.Doing == "wait" {
						said = append(said, s.Text)
					}
				}},
				plan: config.Trial{Model: config.Model{Model: config.ModelYARN}},
			}}
			start := time.Now()
			session, err := outlast(t.Context(), run, func() (*capture.Session, error) {
				return run.startCapture(t.Context(), watch.New(cluster, noFiles{}), folder, new(atomic.Pointer[drive.Driver]))
			})
			if took := time.Since(start); took < x.took || took > x.took+5*time.Second {
				t.Errorf("a master after %v: %v passed, want %v", x.after, took, x.took)
			}
			if want := []string{"waiting for an active ResourceManager, at most 2m0s"}; x.after > 0 && !slices.Equal(said, want) || x.after == 0 &&
				said != nil {
				t.Errorf("a master after %v: said %q", x.after, said)
			}
			if x.fails {
				if !errors.Is(err, yarnclient.ErrStandby) {
					t.Errorf("no master: %v, want that none is active", err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			result, err := session.Stop(t.Context())
			if err != nil || len(result.Header.Cluster.Nodes) != 4 {
				t.Errorf("a trace with nodes %v, %v; want 4", result.Header.Cluster.Nodes, err)
			}
		})
	}
}
