package experiment

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"heddle/harness/clients"
	"heddle/harness/internal/poll"
	heddlelab "heddle/harness/lab"
	"heddle/harness/lab/labtest"
	"heddle/harness/results"
	"heddle/harness/runs"
	"heddle/traces/tracefile"
)

// TestMastersKilled kills the active ResourceManager or NameNode every 30 s, in turn,
// and starts it again after 10 s, while the README's first experiment, a steered
// WordCount, a trace and two Hive queries run. All jobs end well and with the right
// output, the traces have what Hadoop counted, every decision is accounted for, and
// the cluster is as before.
func TestMastersKilled(t *testing.T) {
	labtest.Long(t)
	l := labtest.Own(t, "masters", func(c *heddlelab.Config) { c.HA = true })
	cluster := l.Cluster()
	clients := must(clients.To(&cluster, clients.Patience{}))
	defer clients.Close()
	before := labelsOf(t, clients)

	killing, stop := context.WithCancel(t.Context())
	kills, killed := map[string]int{}, make(chan struct{})
	go func() {
		defer close(killed)
		for i := 0; ; i++ {
			if poll.Wait(killing, 20*time.Second) != nil {
				return
			}
			daemon := []string{"resourcemanager", "namenode"}[i%2]
			for _, d := range l.Status(killing).Daemons {
				if d.Daemon == daemon && d.HA == "active" {
					if err := l.Kill(t.Context(), d.Node, daemon, unix.SIGKILL); err != nil {
						t.Error(err)
					}
					kills[daemon]++
					t.Logf("killed %s of %s", daemon, d.Node)
					_ = poll.Wait(killing, 10*time.Second) // also after the last run, what was killed is started
					if err := l.Start(t.Context(), d.Node, daemon); err != nil {
						t.Error(err)
					}
				}
			}
		}
	}()
	first := must(os.ReadFile("../config/testdata/first.yaml"))
	for _, x := range []struct {
		name, text string
		trials     int
	}{
		{"first", string(first), 3},
		{"steered", steered, 1},
		{"trace", traceText(t, ""), 1},
		{"queries", queries, 2},
	} {
		t.Run(x.name, func(t *testing.T) {
			run := must(runText(t, &cluster, x.text, labtest.Binary(t)))
			if m := run.Manifest(); m.State != runs.Finished {
				t.Errorf("the run is %s", m.State)
			}
			trials, err := results.List(run)
			if err != nil || len(trials) != x.trials {
				t.Fatalf("%d trials, %v; want %d", len(trials), err, x.trials)
			}
			for _, r := range trials {
				t.Logf("%s: %d jobs in %.1f s, checked %q, warnings %q", r.Name, len(r.Jobs), float64(r.MakespanMs)/1000, r.Checked, r.Warnings)
				if len(r.Checked) == 0 && x.name != "trace" {
					t.Errorf("%s: no output was checked", r.Name)
				}
				h, events := must2(tracefile.ReadFile(filepath.Join(run.TrialDir(r.Name), results.TraceFile)))
				checkAgainstHadoop(t, clients, events)
				checkComplete(t, h, events)
				for _, fault := range checkDecisions(t, events, false) {
					if h.Actuator == "labels" {
						t.Error(fault)
					}
				}
			}
		})
	}
	stop()
	<-killed
	awaitSame(t, clients, before)
	noneRunning(t, clients, "after all")
	t.Logf("kills: %v", kills)
}
