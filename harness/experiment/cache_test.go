package experiment

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"math"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"heddle/collectors/hdfs"
	"heddle/harness/change"
	"heddle/harness/config"
	"heddle/harness/results"
	"heddle/harness/workload"
	"heddle/traces/errtest"
)

// fakeCache is a NameNode whose one DataNode caches a file per second, as far
// as its cache has room.
type fakeCache struct {
	mu         sync.Mutex
	files      []hdfs.File
	capacity   int64
	others     int64 // of the cache taken by others, until freed
	freed      time.Time
	stuck      string // a file that it cannot cache
	warm       string // a file that is cached for somebody else, until freed
	pools      map[string]bool
	directives map[string]asked // by path
	fails      map[string]error // by call
}

type asked struct {
	hdfs.CacheDirective
	at time.Time
}

func newFakeCache(lengths ...int64) *fakeCache {
	f := &fakeCache{capacity: math.MaxInt32, pools: map[string]bool{}, directives: map[string]asked{}, fails: map[string]error{}}
	for i, n := range lengths {
		f.files = append(f.files, hdfs.File{
			Path: fmt.Sprintf("/in/part-%05d", i), Length: n, Replication: 2,
			Blocks: []hdfs.Block{{Length: n, Replicas: []hdfs.Replica{{Host: "r1n1"}, {Host: "r2n1"}}}},
		})
	}
	f.files = append(f.files, hdfs.File{Path: "/in/_SUCCESS"})
	return f
}

func (f *fakeCache) Locations(context.Context, string) iter.Seq2[hdfs.File, error] {
	return func(yield func(hdfs.File, error) bool) {
		f.mu.Lock()
		defer f.mu.Unlock()
		for _, file := range f.files {
			d, asked := f.directives[file.Path]
			file.Blocks = slices.Clone(file.Blocks)
			for i, b := range file.Blocks {
				b.Replicas = slices.Clone(b.Replicas)
				for j := range b.Replicas {
					b.Replicas[j].Cached = asked && j < d.Replicas && time.Since(d.at) >= time.Second && file.Path != f.stuck ||
						file.Path == f.warm && (f.freed.IsZero() || time.Now().Before(f.freed))
				}
				file.Blocks[i] = b
			}
			if !yield(file, f.fails["locations"]) {
				return
			}
		}
	}
}

func (f *fakeCache) DataNodes(context.Context) ([]hdfs.DataNode, error) {
	n := hdfs.DataNode{Live: true, CacheCapacity: f.capacity, CacheUsed: f.others}
	if !f.freed.IsZero() && !time.Now().Before(f.freed) {
		n.CacheUsed = 0
	}
	return []hdfs.DataNode{n, {Live: false, CacheCapacity: math.MaxInt64}}, f.fails["nodes"]
}

func (f *fakeCache) AddCachePool(context.Context) (string, error) {
	f.pools["pool"] = true
	return "pool", f.fails["pool"]
}

func (f *fakeCache) Undo(_ context.Context, kinds ...change.Kind) (change.Report, error) {
	if slices.Contains(kinds, change.CachePool) {
		clear(f.pools)
		clear(f.directives)
	}
	return change.Report{}, f.fails["remove"]
}

func (f *fakeCache) AddCacheDirective(_ context.Context, d hdfs.CacheDirective) (int64, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.pools[d.Pool] {
		return 0, fs.ErrInvalid
	}
	f.directives[d.Path] = asked{d, time.Now()}
	return int64(len(f.directives)), f.fails["directive"]
}

// TestCacheAgain: what is left serves a trial that reads the same, whole.
func TestCacheAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFakeCache(100, 100, 100, 100)
		c := must(cacheInput(t.Context(), f, f, workload.Input{Path: "/in"}, half(), time.Hour, quiet))
		c.result.BytesCachedEnd = 200
		again := func(what string, h cacheHDFS, folder string, want bool) {
			t.Helper()
			whole, err := c.stillCached(t.Context(), h, folder, quiet)
			if whole != want || err != nil {
				t.Errorf("%s: %v, %v", what, whole, err)
			}
		}
		again("another input", f, "/other", false)
		again("another cluster", newFakeCache(100, 100, 100, 100), "/in", false)
		again("the same", f, "/in", true)
		if c.result.BytesCached != 200 || c.result.BytesCachedEnd != 0 {
			t.Errorf("%+v is not of a new trial", c.result)
		}
		for path := range c.files {
			f.stuck = path
		}
		again("one copy lost", f, "/in", false)
	})
}

func half() config.Cache { return config.Cache{Fraction: 0.5, Replicas: 1, Seed: 7} }

func quiet(string) {}

// TestCacheWanted caches the files that a workload itself wants cached, besides
// those that the experiment wants.
func TestCacheWanted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFakeCache(100, 100, 100, 100)
		var all []string
		for file, err := range f.Locations(t.Context(), "/in") {
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, file.Path)
		}
		c, err := cacheInput(t.Context(), f, f, workload.Input{Path: "/in", Cached: all[1:2]}, config.Cache{}, time.Hour, quiet)
		if err != nil {
			t.Fatal(err)
		}
		if c.result.Files != 1 || !c.files[all[1]] || f.directives[all[1]].Replicas != 1 {
			t.Errorf("cached %v, want only %s, in one copy", c.files, all[1])
		}
		mustDo(t, c.remove(t.Context(), false))
		if c, err = cacheInput(t.Context(), f, f, workload.Input{Path: "/in", Cached: all}, half(), time.Hour, quiet); err != nil ||
			c.result.Files != 4 || c.result.BytesAsked != 400 {
			t.Errorf("half by the experiment and all by the workload: %+v, %v, want each of 4 files once", c.result, err)
		}
	})
}

// TestCacheInput caches, looks again and removes.
func TestCacheInput(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFakeCache(100, 100, 100, 100)
		var said []string
		c := must(cacheInput(t.Context(), f, f, workload.Input{Path: "/in"}, half(), time.Hour, func(text string) { said = append(said, text) }))
		want := results.Cache{Files: 2, InputFiles: 4, Replicas: 1, Seed: 7, BytesAsked: 200, BytesCached: 200, Fraction: 0.5}
		if c.result != want {
			t.Errorf("%+v, want %+v", c.result, want)
		}
		for path, d := range f.directives {
			if d.Pool != c.pool || d.Replicas != 1 || !d.Expires.Equal(d.at.Add(time.Hour)) {
				t.Errorf("%s: %+v", path, d)
			}
		}
		if len(said) < 2 {
			t.Errorf("said only %q", said)
		}
		if w := c.lookAgain(t.Context()); w != "" || c.result.BytesCachedEnd != 200 {
			t.Errorf("at the end %d bytes, warning %q", c.result.BytesCachedEnd, w)
		}
		if err := c.remove(t.Context(), true); err != nil || len(f.pools)+len(f.directives) > 0 {
			t.Errorf("%v; left %v, %v", err, f.pools, f.directives)
		}
		// A cache that was lost meanwhile is not passed over in silence.
		if w := c.lookAgain(t.Context()); !strings.Contains(w, "lost: block 1 of /in/part-") || c.result.BytesCachedEnd != 0 {
			t.Errorf("after its loss: %d bytes, warning %q", c.result.BytesCachedEnd, w)
		}
	})
}

// TestCacheNotPossible: the error says what is lacking, and nothing stays.
func TestCacheNotPossible(t *testing.T) {
	broken := errors.New("broken")
	for _, c := range []struct {
		name  string
		set   func(*fakeCache, *config.Cache)
		says  []string
		is    error
		after time.Duration // how long it is tried
	}{
		{
			name: "over capacity", set: func(f *fakeCache, _ *config.Cache) { f.capacity = 150 << 20 },
			says: []string{"200.0 MiB", "150.0 MiB", "cache.fraction"},
		},
		{
			name: "two copies over capacity", set: func(f *fakeCache, o *config.Cache) { f.capacity, o.Replicas = 300<<20, 2 },
			says: []string{"need 400.0 MiB", "300.0 MiB"},
		},
		{name: "no cache", set: func(f *fakeCache, _ *config.Cache) { f.capacity = 0 }, says: []string{"no DataNode has a cache", "doctor"}},
		{
			name: "taken by others", set: func(f *fakeCache, _ *config.Cache) { f.capacity, f.others = 300<<20, 150<<20 },
			says: []string{"other directives use 150.0 MiB"}, after: cachePatience,
		},
		{
			name: "input of others", set: func(f *fakeCache, _ *config.Cache) { f.warm = "/in/part-00001" },
			says: []string{"100.0 MiB of the input in /in", "other directives"}, after: cachePatience,
		},
		{
			name: "a file stays out", set: func(f *fakeCache, o *config.Cache) { f.stuck, o.Fraction = "/in/part-00002", 1 },
			says: []string{"300.0 MiB of 400.0 MiB", "block 1 of /in/part-00002 (0 copies, replicas on r1n1, r2n1)"}, after: cachePatience,
		},
		{
			name: "too few replicas", set: func(_ *fakeCache, o *config.Cache) { o.Replicas = 3 },
			says: []string{"has only 2 replicas", "cache.replicas 3"},
		},
		{
			name: "less than a file", set: func(_ *fakeCache, o *config.Cache) { o.Fraction = 0.1 },
			says: []string{"cache.fraction 0.1 is less than half a file of the 4 in /in"},
		},
		{name: "no listing", set: func(f *fakeCache, _ *config.Cache) { f.fails["locations"] = broken }, is: broken},
		{name: "no report", set: func(f *fakeCache, _ *config.Cache) { f.fails["nodes"] = broken }, is: broken},
		{name: "no pool", set: func(f *fakeCache, _ *config.Cache) { f.fails["pool"] = broken }, is: broken},
		{name: "no directive", set: func(f *fakeCache, _ *config.Cache) { f.fails["directive"] = broken }, is: broken},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f, o := newFakeCache(100<<20, 100<<20, 100<<20, 100<<20), half()
				c.set(f, &o)
				began := time.Now()
				_, err := cacheInput(t.Context(), f, f, workload.Input{Path: "/in"}, o, time.Hour, quiet)
				if err == nil || c.is != nil && !errors.Is(err, c.is) {
					t.Fatalf("%v, want an error of %v", err, c.is)
				}
				for _, text := range c.says {
					if !strings.Contains(err.Error(), text) {
						t.Errorf("%v\ndoes not say %q", err, text)
					}
				}
				if len(f.pools)+len(f.directives) > 0 {
					t.Errorf("left %v, %v", f.pools, f.directives)
				}
				if took := time.Since(began); took < c.after || took > c.after+3*time.Second {
					t.Errorf("tried for %v, want %v", took, c.after)
				}
			})
		})
	}
}

// TestCacheWaitsForRoom: what the trial before had cached goes only slowly.
func TestCacheWaitsForRoom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFakeCache(100, 100, 100, 100)
		f.capacity, f.others, f.warm, f.freed = 200, 100, "/in/part-00003", time.Now().Add(time.Minute)
		if _, err := cacheInput(t.Context(), f, f, workload.Input{Path: "/in"}, half(), time.Hour, quiet); err != nil {
			t.Error(err)
		}
	})
}

// TestCacheInterrupted stops while the NameNode is waited for.
func TestCacheInterrupted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFakeCache(100, 100)
		f.stuck = "/in/part-00000"
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		errtest.Is(t, errOf(cacheInput(ctx, f, f, workload.Input{Path: "/in"}, config.Cache{Fraction: 1, Replicas: 1}, time.Hour, quiet)),
			context.DeadlineExceeded)
		if len(f.pools)+len(f.directives) > 0 {
			t.Errorf("left %v, %v", f.pools, f.directives)
		}
	})
}

// TestNothingToCache: without a fraction nothing is asked, and a nil cache is
// harmless.
func TestNothingToCache(t *testing.T) {
	c, err := cacheInput(t.Context(), nil, nil, workload.Input{Path: "/in"}, config.Cache{}, time.Hour, quiet)
	if c != nil || err != nil || c.lookAgain(t.Context()) != "" || c.notes() != nil || c.remove(t.Context(), true) != nil {
		t.Errorf("%v, %v", c, err)
	}
}

// TestChooseFiles has the properties that the rule promises.
func TestChooseFiles(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		lengths := rapid.SliceOf(rapid.Int64Range(0, 1000)).Draw(t, "lengths")
		if rapid.Bool().Draw(t, "equal") {
			for i := range lengths {
				lengths[i] = 128
			}
		}
		files := newFakeCache(lengths...).files
		fraction, seed := rapid.Float64Range(0, 1).Draw(t, "fraction"), rapid.Uint64().Draw(t, "seed")
		chosen := chooseFiles(files, fraction, seed)
		var sum, all, longest int64
		for _, f := range files {
			all, longest = all+f.Length, max(longest, f.Length)
		}
		paths := map[string]bool{}
		for _, f := range chosen {
			sum += f.Length
			if paths[f.Path] {
				t.Errorf("%s is taken twice", f.Path)
			}
			paths[f.Path] = true
		}
		if off := math.Abs(float64(sum) - fraction*float64(all)); off > float64(longest)/2+1e-6 {
			t.Errorf("%d of %d bytes for a fraction of %v: off by %v, more than half of the longest file, %d", sum, all, fraction, off, longest)
		}
		// The order of a listing does not matter.
		slices.Reverse(files)
		again := chooseFiles(files, fraction, seed)
		if !slices.EqualFunc(chosen, again, func(a, b hdfs.File) bool { return a.Path == b.Path }) {
			t.Errorf("%v, listed the other way round %v", chosen, again)
		}
		if sum == all {
			return
		}
		// Of files of one size, more are those and others.
		if slices.Min(lengths) == slices.Max(lengths) {
			more := chooseFiles(files, min(1, fraction*1.5), seed)
			if len(more) < len(chosen) || !slices.EqualFunc(chosen, more[:len(chosen)], func(a, b hdfs.File) bool { return a.Path == b.Path }) {
				t.Errorf("a larger fraction takes other files")
			}
		}
	})
}
