package experiment

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"strings"
	"testing"
	"time"

	"heddle/collectors/hdfs"
	"heddle/harness/clients"
	"heddle/harness/results"
	"heddle/harness/workload"
	"heddle/traces"
)

// cached is an experiment of six files of about 2 MiB, some of them cached.
func cached(fraction float64) string {
	return experimentOf(manyFiles) + fmt.Sprintf("cache: {fraction: %v, replicas: 2}\n", fraction)
}

// TestHalfTheInputCached: the trace sees the cache from its first sample on,
// maps find it, and nothing stays in the NameNode.
func TestHalfTheInputCached(t *testing.T) {
	c, clients := lab(t)
	run := must(runText(t, c, cached(0.5)))
	trials := must(results.List(run))
	r := trials[0]
	if r.Cache == nil {
		t.Fatal("the result says nothing of the cache")
	}
	t.Logf("%+v; warnings %q", *r.Cache, r.Warnings)
	longest := float64(r.InputBytes) / 6 * 1.1
	if off := math.Abs(r.Cache.Fraction-0.5) * float64(r.InputBytes); off > longest/2 || r.Cache.BytesCached != r.Cache.BytesAsked ||
		r.Cache.BytesCachedEnd != r.Cache.BytesCached {
		t.Errorf("%+v of %d bytes: want half, to half a file, from beginning to end", *r.Cache, r.InputBytes)
	}
	_, events := readTrace(t, run)
	checkLevels(t, events)
	var first traces.Time = -1
	copies, local, notes := 0, 0, 0
	for _, event := range events {
		switch e := event.(type) {
		case *traces.BlockCached:
			if first < 0 {
				first = e.T
			}
			if e.T == first && !e.Gone {
				copies++
			} else {
				t.Errorf("block %d on %s: cached %v at %v, after the first sample", e.Block, e.Node, !e.Gone, e.T)
			}
		case *traces.AttemptStarted:
			if e.ReplicaLocality == traces.LevelCache {
				local++
			}
		case *traces.Note:
			if strings.HasPrefix(e.Text, "cache: ") {
				notes++
			}
		}
	}
	if copies < 2*r.Cache.Files || local == 0 || notes != 1 {
		t.Errorf("trace has %d cached copies, %d cache-local maps and %d notes of the cache, want 2 a cached block, some, 1", copies, local,
			notes)
	}
	noneCached(t, clients, "half")
}

// TestCacheOverCapacity asks for more than all DataNodes hold.
func TestCacheOverCapacity(t *testing.T) {
	_, clients := lab(t)
	nodes := must(clients.HDFS.DataNodes(t.Context()))
	var capacity int64
	for _, n := range nodes {
		capacity += n.CacheCapacity
	}
	folder := "/heddle-test/over-capacity"
	files := must(clients.HDFS.Files(t.Context()))
	t.Cleanup(func() { files.RemoveAll(folder) })
	mustDo(t, clients.HDFS.WriteFile(t.Context(), folder+"/part", io.LimitReader(zeros{}, capacity/4+1<<20),
		hdfs.WriteOptions{Replication: 4, BlockSize: 16 << 20}))
	e, _ := parse(t, cached(1))
	e.Cache.Replicas = 4 // so that a quarter of what must be cached has to be written
	_, err := cacheInput(t.Context(), clients.HDFS, newFakeCache(), workload.Input{Path: folder}, e.Cache, time.Hour,
		func(text string) { t.Log(text) })
	wantError(t, err, "lower cache.fraction", mib(capacity))
	noneCached(t, clients, "over")
}

// zeros reads as zero bytes without end.
type zeros struct{}

func (zeros) Read(b []byte) (int, error) {
	clear(b)
	return len(b), nil
}

// TestCacheStopped stops a run when its cache is in place, and while it runs.
func TestCacheStopped(t *testing.T) {
	c, clients := lab(t)
	e, source := parse(t, cached(0.5))
	for _, stage := range []string{"cache", "run"} {
		ctx, stop := context.WithCancel(t.Context())
		steps := logSteps(t)
		_, err := Run(ctx, Options{
			Experiment: e, Source: source, Cluster: c, Root: t.TempDir(), Name: stage,
			Progress: func(s Step) {
				steps(s)
				// Once something is cached, the directives are there.
				if s.Doing == stage && (stage != "cache" || strings.HasSuffix(s.Text, " cached")) {
					stop()
				}
			},
		})
		stop()
		if !errors.Is(err, context.Canceled) {
			t.Errorf("stopped in %s: %v, want an error of the interruption", stage, err)
		}
		noneCached(t, clients, "stopped in "+stage)
	}
}

// noneCached expects no pool of ours in the NameNode, and so no directive.
func noneCached(t *testing.T, clients *clients.Clients, after string) {
	t.Helper()
	pools := must(clients.HDFS.CachePools(t.Context()))
	for _, p := range pools {
		if strings.HasPrefix(p.Name, "heddle-cache-") {
			t.Errorf("%s: pool %s is still there", after, p.Name)
		}
	}
}
