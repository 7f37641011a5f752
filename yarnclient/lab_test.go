package yarnclient_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"heddle/harness/lab/labtest"
	"heddle/traces/errtest"
	"heddle/yarnclient"
)

// labRM returns a client of the shared lab's ResourceManager.
func labRM(t *testing.T) (*yarnclient.RM, context.Context) {
	c := labtest.Shared(t).Cluster()
	rm := errtest.Must(yarnclient.NewRM(yarnclient.Options{Addresses: c.ResourceManagers, User: c.User}))
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	t.Cleanup(func() { cancel(); rm.Close() })
	return rm, ctx
}

func TestLabReads(t *testing.T) {
	rm, ctx := labRM(t)
	info := errtest.Must(rm.WaitActive(ctx, 1))
	t.Logf("%+v", info)
	nodes, err := rm.Nodes(ctx, "RUNNING")
	if err != nil || len(nodes) == 0 {
		t.Fatalf("nodes: %v, %v", nodes, err)
	}
	for _, n := range nodes {
		one, err := rm.Node(ctx, n.ID)
		if err != nil || one.ID != n.ID || one.Total.MemoryMB == 0 || one.Rack == "" {
			t.Errorf("node %s: %+v, %v", n.ID, one, err)
		}
	}
	s, err := rm.Scheduler(ctx)
	if err != nil || s.Type != "capacityScheduler" || s.Queue("root") == nil || s.Queue("root.default") == nil {
		t.Errorf("scheduler: %+v, %v", s, err)
	}
	labels, err := rm.NodeLabels(ctx)
	if err != nil || len(labels) == 0 {
		t.Errorf("labels: %v, %v", labels, err)
	}
	of, err := rm.NodesToLabels(ctx)
	if err != nil {
		t.Error(err)
	}
	for _, n := range nodes {
		if got := strings.Join(of[n.ID], ","); got != n.Label() {
			t.Errorf("label of %s: %q by the label list, %q by the node", n.ID, got, n.Label())
		}
	}
	if conf, err := rm.SchedulerConf(ctx); err != nil || conf["yarn.scheduler.capacity.root.queues"] == "" {
		t.Errorf("scheduler-conf: %v, %v", conf, err)
	}
	if v, err := rm.Conf(ctx, "yarn.resourcemanager.nodemanagers.heartbeat-interval-ms"); err != nil || v == "" {
		t.Errorf("conf: %q, %v", v, err)
	}
	errtest.Is(t, errtest.Of(rm.Conf(ctx, "heddle.no.such.property")), yarnclient.ErrNotFound)
	beans, err := rm.JMX(ctx, "Hadoop:service=ResourceManager,name=ClusterMetrics")
	if err != nil || len(beans) != 1 || beans[0]["NumActiveNMs"] == nil {
		t.Errorf("jmx: %v, %v", beans, err)
	}
	c := labtest.Shared(t).Cluster()
	nm := errtest.Must(yarnclient.NewDaemon(yarnclient.Options{Addresses: []string{nodes[0].HTTPAddress}, DialContext: c.DialContext()}))
	defer nm.Close()
	if beans, err := nm.JMX(ctx, "Hadoop:service=NodeManager,name=NodeManagerMetrics"); err != nil || len(beans) != 1 {
		t.Errorf("NodeManager: %v, %v", beans, err)
	}
}

// TestLabRefuses asks for what YARN refuses; what it does for a change, package change asks
// of a lab.
func TestLabRefuses(t *testing.T) {
	rm, ctx := labRM(t)
	const label = "heddletest"
	nodes, err := rm.Nodes(ctx, "RUNNING")
	if err != nil || len(nodes) == 0 {
		t.Fatal(nodes, err)
	}
	t.Cleanup(func() {
		if err := rm.RemoveLabels(context.Background(), label); err != nil {
			t.Error(err)
		}
	})
	for range 2 { // a label that is there already may be added
		if err := rm.AddLabels(ctx, true, label); err != nil {
			t.Error(err)
		}
	}
	for what, err := range map[string]error{
		"other exclusivity": rm.AddLabels(ctx, false, label),
		"unknown label":     rm.ReplaceLabels(ctx, map[string]string{nodes[0].ID: "nosuchlabel"}),
		"impossible capacity": rm.SetSchedulerConf(ctx, yarnclient.SchedulerChange{Update: []yarnclient.QueueSettings{
			{Queue: "root.default", Settings: map[string]string{"capacity": "101"}},
		}}),
	} {
		var remote *yarnclient.RemoteError
		if !errors.As(err, &remote) || remote.Status != 400 && what != "unknown label" {
			t.Errorf("%s: %v, want a RemoteError of status 400", what, err)
		}
	}
	errtest.Is(t, rm.SetNodeResource(ctx, "nohost:45454", nodes[0].Total), yarnclient.ErrNotFound)
}

// startJob submits a job whose two maps run until they are killed, and waits
// for a map to run.
func startJob(t *testing.T, rm *yarnclient.RM, ctx context.Context) string {
	t.Helper()
	c := labtest.Shared(t).Cluster()
	jar := labtest.Examples(t, c.Hadoop.Home)
	tag := fmt.Sprintf("yarnclient-test-%d", os.Getpid())
	client := exec.CommandContext(ctx, filepath.Join(c.Hadoop.Home, "bin/hadoop"), "jar", jar, "pi", "-Dmapreduce.job.tags="+tag, "2",
		"1000000000000")
	client.Env = append(os.Environ(), "HADOOP_CONF_DIR="+c.Hadoop.Conf)
	mustDo(t, client.Start())
	t.Cleanup(func() { client.Wait() })
	tick := time.NewTicker(200 * time.Millisecond)
	defer tick.Stop()
	for {
		apps := errtest.Must(rm.Apps(ctx, yarnclient.AppFilter{Tags: []string{tag}}))
		if len(apps) == 1 {
			if job, err := rm.AM(apps[0].ID).Job(ctx); err == nil && job.RunningMapAttempts > 0 {
				return apps[0].ID
			}
		}
		<-tick.C
	}
}

// TestLabRunningJob changes, kills an attempt of, and kills a running job.
func TestLabRunningJob(t *testing.T) {
	rm, ctx := labRM(t)
	id := startJob(t, rm, ctx)
	attempts, err := rm.Attempts(ctx, id)
	if err != nil || len(attempts) == 0 {
		t.Fatal(attempts, err)
	}
	containers, err := rm.Containers(ctx, attempts[len(attempts)-1].ID)
	if err != nil || len(containers) < 2 {
		t.Fatalf("containers: %+v, %v", containers, err)
	}
	am := rm.AM(id)
	job, err := am.Job(ctx)
	if err != nil || job.State != "RUNNING" || job.Maps == 0 {
		t.Fatalf("job: %+v, %v", job, err)
	}
	if _, err := am.Counters(ctx); err != nil {
		t.Error(err)
	}
	var killed, ofTask string
	tasks := errtest.Must(am.Tasks(ctx))
	for _, task := range tasks {
		runs := errtest.Must(am.Attempts(ctx, task.ID))
		if len(runs) > 0 && runs[0].Type == "MAP" && runs[0].State == "RUNNING" && killed == "" {
			killed, ofTask = runs[0].ID, task.ID
			mustDo(t, am.KillAttempt(ctx, killed))
		}
	}
	if killed == "" {
		t.Error("no running attempt to kill")
	}
	for killed != "" {
		runs := errtest.Must(am.Attempts(ctx, ofTask))
		if a := runs[0]; a.ID == killed && a.State == "KILLED" {
			t.Logf("%s: %s", a.ID, a.Diagnostics)
			break
		}
	}
	if err := rm.KillApp(ctx, id); err != nil {
		t.Error(err)
	}
	for {
		if _, err := am.Job(ctx); errors.Is(err, yarnclient.ErrJobEnded) {
			t.Log(err)
			break
		} else if ctx.Err() != nil {
			t.Fatal(err)
		}
	}
	if err := rm.KillApp(ctx, id); err != nil {
		t.Errorf("killing it again: %v", err)
	}
}

// TestLabHistory reads the latest job in full and checks that the parts agree
// with each other.
func TestLabHistory(t *testing.T) {
	c := labtest.Shared(t).Cluster()
	h := errtest.Must(yarnclient.NewHistory(yarnclient.Options{Addresses: []string{c.HistoryServer}, User: c.User}))
	defer h.Close()
	if info, err := h.Info(t.Context()); err != nil || info.HadoopVersion == "" {
		t.Errorf("info: %+v, %v", info, err)
	}
	rm, ctx := labRM(t)
	apps, err := rm.Apps(ctx, yarnclient.AppFilter{Types: []string{"MAPREDUCE"}})
	apps = slices.DeleteFunc(apps, func(a yarnclient.App) bool { return a.FinalStatus != "SUCCEEDED" })
	if err != nil || len(apps) == 0 {
		t.Skipf("no job that succeeded (%v)", err)
	}
	j := h.Job(strings.Replace(apps[0].ID, "application", "job", 1))
	job := errtest.Must(j.Job(ctx))
	counters := errtest.Must(j.Counters(ctx))
	launched, _ := counters.Get("JobCounter", "TOTAL_LAUNCHED_MAPS")
	tasks, err := j.Tasks(ctx)
	if err != nil || len(tasks) != job.Maps+job.Reduces {
		t.Errorf("%d tasks, %v; want %d maps and %d reduces", len(tasks), err, job.Maps, job.Reduces)
	}
	var maps int64
	for _, task := range tasks {
		attempts := errtest.Must(j.Attempts(ctx, task.ID))
		for _, a := range attempts {
			if a.Type == "MAP" && a.ContainerID != "" {
				maps++
			}
		}
	}
	if maps != launched.Total {
		t.Errorf("%s: %d map attempts, its counters say %d", job.ID, maps, launched.Total)
	}
	errtest.Is(t, errtest.Of(h.Job("job_1_0001").Job(ctx)), yarnclient.ErrNotFound)
}
