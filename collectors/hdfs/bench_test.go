package hdfs

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"runtime"
	"strconv"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"heddle/collectors/hdfs/jobsplit"
)

// The benchmark's files, in folders of a thousand.
const (
	benchRoot  = "/heddle-bench/locations"
	benchFiles = 10_000
	benchPer   = 10 // blocks a file
)

// BenchmarkLocations measures block locations of 10,000 files with 100,000
// blocks on a real NameNode, by folder and by split. The files are made once
// and stay:
//
//	HEDDLE_TEST_NAMENODE=host:8020 HEDDLE_BENCH_BLOCK=65536 go test -run TestPrepareBenchmark -timeout 1h ./collectors/hdfs
//	HEDDLE_TEST_NAMENODE=host:8020 go test -run - -bench Locations ./collectors/hdfs
func BenchmarkLocations(b *testing.B) {
	c := labClient(b)
	if _, err := c.Stat(b.Context(), benchRoot+".done"); errors.Is(err, fs.ErrNotExist) {
		b.Skipf("hdfs %s is not prepared: run TestPrepareBenchmark", benchRoot)
	} else if err != nil {
		b.Fatal(err)
	}
	b.Run("folder", func(b *testing.B) {
		measure(b, func() (files, blocks int) {
			for f, err := range c.Locations(b.Context(), benchRoot) {
				if err != nil {
					b.Fatal(err)
				}
				files++
				blocks += len(f.Blocks)
			}
			return files, blocks
		})
	})
	b.Run("splits", func(b *testing.B) {
		var splits []jobsplit.Split
		for f, err := range c.Locations(b.Context(), benchRoot) {
			if err != nil {
				b.Fatal(err)
			}
			for _, block := range f.Blocks {
				splits = append(splits, jobsplit.Split{Path: f.Path, Offset: block.Offset, Length: block.Length})
			}
		}
		b.ResetTimer()
		measure(b, func() (files, blocks int) {
			located, err := c.SplitLocations(b.Context(), splits)
			if err != nil {
				b.Fatal(err)
			}
			for _, l := range located {
				blocks += len(l)
			}
			return benchFiles, blocks
		})
	})
}

// measure reports files and blocks a second and how far the heap grew above
// where it stood.
func measure(b *testing.B, ask func() (files, blocks int)) {
	stop, peak := watchHeap()
	for b.Loop() {
		files, blocks := ask()
		if files != benchFiles || blocks != benchFiles*benchPer {
			b.Fatalf("%d files with %d blocks, want %d with %d", files, blocks, benchFiles, benchFiles*benchPer)
		}
	}
	close(stop)
	perSecond := float64(b.N) / b.Elapsed().Seconds()
	b.ReportMetric(benchFiles*perSecond, "files/s")
	b.ReportMetric(benchFiles*benchPer*perSecond, "blocks/s")
	b.ReportMetric(<-peak/(1<<20), "peak-MiB")
}

func watchHeap() (stop chan struct{}, peak chan float64) {
	heap := func() float64 {
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return float64(m.HeapInuse)
	}
	runtime.GC()
	start := heap()
	stop, peak = make(chan struct{}), make(chan float64, 1)
	go func() {
		most := start
		for tick := time.NewTicker(10 * time.Millisecond); ; {
			select {
			case <-tick.C:
				most = max(most, heap())
			case <-stop:
				peak <- most - start
				tick.Stop()
				return
			}
		}
	}()
	return stop, peak
}

// TestPrepareBenchmark makes the files of BenchmarkLocations with blocks of
// HEDDLE_BENCH_BLOCK bytes, the least that the NameNode takes
// (dfs.namenode.fs-limits.min-block-size), through several clients since each
// waits for one NameNode call at a time.
func TestPrepareBenchmark(t *testing.T) {
	size, err := strconv.Atoi(os.Getenv("HEDDLE_BENCH_BLOCK"))
	if err != nil {
		t.Skip("HEDDLE_BENCH_BLOCK is not set to a number of bytes: makes 100,000 blocks of it")
	}
	group, ctx := errgroup.WithContext(t.Context())
	content := make([]byte, benchPer*size)
	start := time.Now()
	const writers = 10
	for w := range writers {
		c := labClient(t)
		group.Go(func() error {
			for n := w; n < benchFiles; n += writers {
				name := fmt.Sprintf("%s/d%d/f%05d", benchRoot, n/1000, n)
				if f, err := c.Stat(ctx, name); err == nil && f.Length == int64(len(content)) {
					continue // from a run before
				}
				if err := c.WriteFile(ctx, name, bytes.NewReader(content), WriteOptions{BlockSize: int64(size)}); err != nil {
					return err
				}
			}
			return nil
		})
	}
	if err := group.Wait(); err != nil {
		t.Fatal(err)
	}
	if err := labClient(t).WriteFile(t.Context(), benchRoot+".done", bytes.NewReader(nil), WriteOptions{}); err != nil {
		t.Fatal(err)
	}
	t.Logf("%d files of %d blocks made in %v", benchFiles, benchPer, time.Since(start))
}
