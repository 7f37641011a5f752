package emulate_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"heddle/collectors/hdfs/jobsplit"
	"heddle/collectors/yarn"
	"heddle/harness/config"
	"heddle/harness/emulate"
	"heddle/harness/internal/units"
	"heddle/harness/lab"
	"heddle/traces"
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
	return &config.Cluster{Name: "emulated", User: "tester", Machines: &config.Machines{
		Nodes: nodes, Racks: (nodes + 39) / 40, Slots: 1, Container: 512 * units.MiB, BlockSize: 64 * units.MiB, Replication: 1,
		NMHeartbeat: beat, AMHeartbeat: beat, Async: async,
	}}
}

func start(t *testing.T, c *config.Cluster) *emulate.Cluster {
	t.Helper()
	needJars(t)
	began := time.Now()
	cluster, err := emulate.Start(t.Context(), c, t.TempDir(), func(text string) { t.Logf("%.1fs %s", time.Since(began).Seconds(), text) })
	if err != nil {
		t.Fatal(err)
	}
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
