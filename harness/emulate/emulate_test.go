package emulate_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"heddle/collectors/hdfs/jobsplit"
	"heddle/collectors/yarn"
	"heddle/harness/config"
	"heddle/harness/emulate"
	"heddle/harness/internal/poll"
	"heddle/harness/internal/units"
	"heddle/harness/lab"
	"heddle/traces"
	"heddle/yarnclient"
)

// needJars skips a test where Hadoop would have to be fetched first.
func needJars(t *testing.T) {
	t.Helper()
	cache, err := os.UserCacheDir()
	if err == nil {
		_, err = os.Stat(filepath.Join(cache, "heddle", "hadoop-"+lab.DefaultHadoop, "jars"))
	}
	if err != nil || testing.Short() {
		t.Skip("it needs Hadoop's jars in the user's cache, as 'heddle lab up' leaves them, and a minute")
	}
}

// described is a cluster of so many one-slot nodes in racks of at most 40.
func described(nodes int, async bool) *config.Cluster {
	const beat = units.Duration(200 * time.Millisecond)
	return &config.Cluster{Name: "emulated", Machines: &config.Machines{
		Nodes: nodes, Racks: (nodes + 39) / 40, Slots: 1, Container: 512 * units.MiB, BlockSize: 64 * units.MiB, Replication: 1,
		NMHeartbeat: beat, AMHeartbeat: beat, Async: async,
	}}
}

func start(t *testing.T, c *config.Cluster) *emulate.Cluster {
	t.Helper()
	needJars(t)
	began := time.Now()
	cluster, err := emulate.Start(t.Context(), c, t.TempDir(), func(text string) { t.Logf("%.1fs %s", time.Since(began).Seconds(), text) })
	mustDo(t, err)
	t.Cleanup(cluster.Close)
	return cluster
}

// jobOf returns a job of maps of so long each, map i with its input on node i, and of reduces.
func jobOf(c *emulate.Cluster, maps, reduces int, length time.Duration) *emulate.Job {
	j := &emulate.Job{Conf: yarn.Conf{
		"mapreduce.job.name": "j", "mapreduce.job.queuename": "replay", "mapreduce.job.tags": "t",
		"mapreduce.map.memory.mb": "512", "mapreduce.reduce.memory.mb": "512", "yarn.app.mapreduce.am.scheduler.heartbeat.interval-ms": "200",
	}, Steps: emulate.Steps{AMStart: 100 * time.Millisecond, Launch: 10 * time.Millisecond, Finish: 10 * time.Millisecond}}
	for i := range maps {
		host := c.Nodes[i%len(c.Nodes)].Host
		j.Maps = append(j.Maps, emulate.Task{
			Length: length, Counters: traces.NoCounters, Hosts: []string{host},
			Split: jobsplit.Split{Path: fmt.Sprintf("/input/%d", i), Length: 1 << 20},
		})
	}
	for range reduces {
		j.Reduces = append(j.Reduces, emulate.Task{Length: length, Counters: traces.NoCounters})
	}
	return j
}

// TestJob: a real ResourceManager runs a job on emulated nodes, to its end.
func TestJob(t *testing.T) {
	c := start(t, described(10, true))
	if _, err := c.Run(t.Context(), jobOf(c, 12, 2, 500*time.Millisecond)); err != nil {
		t.Fatal(err)
	}
}

// TestKilled: a job whose application is killed ends its master, and Run says so.
func TestKilled(t *testing.T) {
	c := start(t, described(4, true))
	killed := make(chan error, 1)
	time.AfterFunc(3*time.Second, func() {
		apps, err := c.RM.Apps(t.Context(), yarnclient.AppFilter{})
		for _, app := range apps {
			err = errors.Join(err, c.RM.KillApp(t.Context(), app.ID))
		}
		killed <- err
	})
	var failed *emulate.JobError
	if _, err := c.Run(t.Context(), jobOf(c, 4, 0, time.Hour)); !errors.As(err, &failed) || failed.Status != "KILLED" {
		t.Errorf("error %v, want that the application was killed", err)
	}
	if err := <-killed; err != nil { // the job ends before the call that kills it does
		t.Error(err)
	}
}

// TestManagerKilled: a ResourceManager that is killed starts again, and what ran goes on: nothing runs twice.
func TestManagerKilled(t *testing.T) {
	c := start(t, described(4, true))
	time.AfterFunc(5*time.Second, c.KillManager)
	if _, err := c.Run(t.Context(), jobOf(c, 8, 1, 5*time.Second)); err != nil {
		t.Fatal(err)
	}
	apps, err := c.RM.Apps(t.Context(), yarnclient.AppFilter{})
	if err != nil || len(apps) != 1 {
		t.Fatal(apps, err)
	}
	h, err := emulate.Files{Cluster: c}.ReadHistory(t.Context(), "", "job_"+strings.TrimPrefix(apps[0].ID, "application_"))
	if err != nil {
		t.Fatal(err)
	}
	if len(h.Job.AMHosts) != 1 {
		t.Errorf("ApplicationMasters on %v, want one", h.Job.AMHosts)
	}
	for _, task := range h.Job.Tasks {
		if len(task.Attempts) != 1 || task.Status != "SUCCEEDED" {
			t.Errorf("%s is %q with %d attempts, want one that succeeded", task.ID, task.Status, len(task.Attempts))
		}
	}
}

// TestNodeVanishes: what ran on a node that vanishes runs again elsewhere, its finished maps
// too while reduces need them, and the node comes back.
func TestNodeVanishes(t *testing.T) {
	d := described(4, true)
	d.Machines.NodeExpiry = units.Duration(12 * time.Second)
	c := start(t, d)
	gone := c.Nodes[1].Host
	go func() { // a while after its first task, however long that takes
		err := poll.Until(t.Context(), 50*time.Millisecond, func() (bool, error) {
			nodes, err := c.RM.Nodes(t.Context())
			return slices.ContainsFunc(nodes, func(n yarnclient.Node) bool { return n.Host == gone && n.UsedMB > 0 }), err
		})
		if err == nil {
			err = poll.Wait(t.Context(), 5*time.Second)
		}
		if err := errors.Join(err, c.SetDown(gone, true)); err != nil {
			t.Error(err)
		}
	}()
	if _, err := c.Run(t.Context(), jobOf(c, 8, 1, 4*time.Second)); err != nil {
		t.Fatal(err)
	}
	apps, err := c.RM.Apps(t.Context(), yarnclient.AppFilter{})
	if err != nil || len(apps) != 1 {
		t.Fatal(apps, err)
	}
	h, err := emulate.Files{Cluster: c}.ReadHistory(t.Context(), "", "job_"+strings.TrimPrefix(apps[0].ID, "application_"))
	mustDo(t, err)
	lost := 0
	for _, task := range h.Job.Tasks {
		if task.Status != "SUCCEEDED" {
			t.Errorf("%s is %q", task.ID, task.Status)
		}
		for _, a := range task.Attempts {
			if a.Host == gone && a.Status == "KILLED" {
				lost++
			}
		}
	}
	if lost == 0 {
		t.Errorf("no attempt was lost with %s: %+v", gone, h.Job.Tasks)
	}
	mustDo(t, c.SetDown(gone, false))
	if _, err := c.RM.WaitActive(t.Context(), 5); err != nil {
		t.Error(err)
	}
}
