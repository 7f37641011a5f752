package experiment

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"path"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"heddle/collectors/hdfs"
	"heddle/harness/config"
	"heddle/harness/workload"
	"heddle/traces"
)

// CacheResult is what of a trial's input was in the HDFS cache while it ran.
type CacheResult struct {
	// Files of InputFiles were chosen, BytesAsked long, Replicas cached copies
	// of each block; the seed and the rule of [workload.ChooseFiles] say which.
	Files      int    `json:"files"`
	InputFiles int    `json:"inputFiles"`
	Replicas   int    `json:"replicas"`
	Seed       uint64 `json:"seed"`
	// Bytes are of blocks, each counted once: asked for, with all their copies
	// cached before the jobs began, and still so when they had ended.
	BytesAsked     int64 `json:"bytesAsked"`
	BytesCached    int64 `json:"bytesCached"`
	BytesCachedEnd int64 `json:"bytesCachedEnd"`
	// Fraction is BytesCached of the input's bytes, 0 to 1.
	Fraction float64 `json:"fraction"`
}

const (
	// cachePatience is how long caching may come to a standstill. A DataNode
	// that keeps Hadoop's defaults hears of it after up to 30 s and reports it
	// after 13 more.
	cachePatience = 90 * time.Second
	cacheInterval = 250 * time.Millisecond
	// cacheCleanup bounds removal, and the wait for a removed cache to be gone.
	cacheCleanup = 30 * time.Second
)

// cacheHDFS is what caching asks of HDFS: of *hdfs.Client, or of a test's.
type cacheHDFS interface {
	Locations(ctx context.Context, pattern string) iter.Seq2[hdfs.File, error]
	DataNodes(ctx context.Context) ([]hdfs.DataNode, error)
	CachePools(ctx context.Context) ([]hdfs.CachePool, error)
	AddCachePool(ctx context.Context, p hdfs.CachePool) error
	RemoveCachePool(ctx context.Context, name string) error
	AddCacheDirective(ctx context.Context, d hdfs.CacheDirective) (int64, error)
}

// inputCache is the cached part of an input; nil is none, and its methods then
// do nothing. Trials in a row that read the same input share one: which replica
// of a block is cached is the NameNode's choice, and models that are compared
// should meet the same.
type inputCache struct {
	hdfs   cacheHDFS
	pool   string // of its own
	folder string // the input
	files  map[string]bool
	bytes  int64 // of the whole input
	say    func(text string)
	result CacheResult
}

// cacheInput caches a part of the files in folder and returns when the NameNode
// reports all of it cached; nothing stays behind an error. The directives end
// by themselves after lifetime, should nobody come to remove them.
func cacheInput(ctx context.Context, h cacheHDFS, folder string, o config.Cache, lifetime time.Duration, say func(text string)) (*inputCache, error) {
	if o.Fraction == 0 {
		return nil, nil
	}
	c := &inputCache{hdfs: h, pool: ownName(cachePoolPrefix), folder: folder, files: map[string]bool{}, say: say}
	chosen, err := c.choose(ctx, o)
	if err != nil {
		return nil, fmt.Errorf("cache input: %w", err)
	}
	if err := c.fill(ctx, chosen, time.Now().Add(lifetime)); err != nil {
		return nil, errors.Join(fmt.Errorf("cache input: %w", cause(ctx, err)), c.remove(ctx, false))
	}
	return c, nil
}

// choose reads which files there are and takes those to cache.
func (c *inputCache) choose(ctx context.Context, o config.Cache) ([]hdfs.File, error) {
	var files []hdfs.File
	for f, err := range c.hdfs.Locations(ctx, c.folder) {
		if err != nil {
			return nil, cause(ctx, err)
		}
		// As jobs do, leave out what Hadoop hides.
		if name := path.Base(f.Path); f.Length > 0 && name[0] != '_' && name[0] != '.' {
			files = append(files, f)
			c.bytes += f.Length
		}
	}
	chosen := chooseFiles(files, o.Fraction, o.Seed)
	if len(chosen) == 0 {
		return nil, fmt.Errorf("a fraction of %v of the %d files in %s is nearest to no file at all; ask for more, or have the input written by more maps", o.Fraction, len(files), c.folder)
	}
	c.result = CacheResult{Files: len(chosen), InputFiles: len(files), Replicas: o.Replicas, Seed: o.Seed}
	for _, f := range chosen {
		if f.Replication < o.Replicas {
			return nil, fmt.Errorf("%s has %d replicas, and only those can be cached: cache.replicas is %d", f.Path, f.Replication, o.Replicas)
		}
		c.files[f.Path] = true
		c.result.BytesAsked += f.Length
	}
	return chosen, nil
}

// chooseFiles are the files that [workload.ChooseFiles] takes, in any order of the
// list.
func chooseFiles(files []hdfs.File, fraction float64, seed uint64) []hdfs.File {
	files = slices.SortedFunc(slices.Values(files), func(a, b hdfs.File) int { return cmp.Compare(a.Path, b.Path) })
	var lengths []int64
	for _, f := range files {
		lengths = append(lengths, f.Length)
	}
	var chosen []hdfs.File
	for _, i := range workload.ChooseFiles(lengths, fraction, seed) {
		chosen = append(chosen, files[i])
	}
	return chosen
}

// fill asks for the files to be cached and waits until they are.
func (c *inputCache) fill(ctx context.Context, files []hdfs.File, until time.Time) error {
	if err := c.awaitClear(ctx); err != nil {
		return err
	}
	if err := c.awaitRoom(ctx); err != nil {
		return err
	}
	c.say(fmt.Sprintf("%d of %d files, %s", c.result.Files, c.result.InputFiles, mib(c.result.BytesAsked)))
	if err := c.hdfs.AddCachePool(ctx, hdfs.CachePool{Name: c.pool, Limit: hdfs.NoLimit}); err != nil {
		return err
	}
	asking, asked := errgroup.WithContext(ctx)
	asking.SetLimit(8)
	for _, f := range files {
		asking.Go(func() error {
			_, err := c.hdfs.AddCacheDirective(asked, hdfs.CacheDirective{Path: f.Path, Pool: c.pool, Replicas: c.result.Replicas, Expires: until})
			return err
		})
	}
	if err := asking.Wait(); err != nil {
		return err
	}
	return c.await(ctx)
}

// awaitClear waits until nothing of the input is cached. What a DataNode has
// been told to let go of still counts as cached for some seconds, and taken for
// ours it would be gone when jobs look for it.
func (c *inputCache) awaitClear(ctx context.Context) error {
	return c.every(ctx, cachePatience, func() (int64, error) {
		var cached int64
		for f, err := range c.hdfs.Locations(ctx, c.folder) {
			if err != nil {
				return 0, err
			}
			for _, b := range f.Blocks {
				if slices.ContainsFunc(b.Replicas, func(r hdfs.Replica) bool { return r.Cached }) {
					cached += b.Length
				}
			}
		}
		if cached > 0 {
			return cached, stillLacking(fmt.Sprintf("%s of the input in %s are cached for somebody else; hdfs cacheadmin -listDirectives says for whom", mib(cached), c.folder))
		}
		return 0, nil
	})
}

// awaitRoom waits until the DataNodes' caches have room for what is to come:
// an earlier trial's may not be gone yet.
func (c *inputCache) awaitRoom(ctx context.Context) error {
	need := c.result.BytesAsked * int64(c.result.Replicas)
	return c.every(ctx, cachePatience, func() (int64, error) {
		nodes, err := c.hdfs.DataNodes(ctx)
		if err != nil {
			return 0, err
		}
		var capacity, used int64
		for _, n := range nodes {
			if n.Live {
				capacity, used = capacity+n.CacheCapacity, used+n.CacheUsed
			}
		}
		what := fmt.Sprintf("%s in %d copies need %s of cache, and all DataNodes together have %s", mib(c.result.BytesAsked), c.result.Replicas, mib(need), mib(capacity))
		switch {
		case capacity == 0:
			return 0, errors.New("no DataNode has a cache; heddle doctor says what to set")
		case need > capacity:
			return 0, fmt.Errorf("%s; lower cache.fraction, or give DataNodes a larger cache", what)
		case need > capacity-used:
			return used, stillLacking(fmt.Sprintf("%s, of which %s is taken by others (hdfs cacheadmin -listDirectives -stats says by what)", what, mib(used)))
		}
		return 0, nil
	})
}

// await waits until the NameNode reports all that was asked for cached.
func (c *inputCache) await(ctx context.Context) error {
	err := c.every(ctx, cachePatience, func() (int64, error) {
		cached, lacking, err := c.look(ctx)
		if err != nil {
			return 0, err
		}
		if cached != c.result.BytesCached {
			c.result.BytesCached = cached
			c.say(fmt.Sprintf("%s of %s cached", mib(cached), mib(c.result.BytesAsked)))
		}
		if len(lacking) > 0 {
			return cached, stillLacking(fmt.Sprintf("%s of %s are cached; not so %s", mib(cached), mib(c.result.BytesAsked), some(lacking)))
		}
		return cached, nil
	})
	if err != nil {
		return fmt.Errorf("%w; caches of single DataNodes may be full (hdfs dfsadmin -report), and their logs say what they could not cache", err)
	}
	c.result.Fraction = float64(c.result.BytesCached) / float64(c.bytes)
	return nil
}

// look counts the bytes of chosen blocks with all their cached copies, and names
// the others.
func (c *inputCache) look(ctx context.Context) (cached int64, lacking []string, err error) {
	for f, err := range c.hdfs.Locations(ctx, c.folder) {
		if err != nil {
			return 0, nil, err
		}
		if !c.files[f.Path] {
			continue
		}
		for i, b := range f.Blocks {
			copies := 0
			var hosts []string
			for _, r := range b.Replicas {
				hosts = append(hosts, r.Host)
				if r.Cached {
					copies++
				}
			}
			if copies >= c.result.Replicas {
				cached += b.Length
			} else {
				lacking = append(lacking, fmt.Sprintf("block %d of %s (%d copies, replicas on %s)", i+1, f.Path, copies, strings.Join(hosts, ", ")))
			}
		}
	}
	return cached, lacking, nil
}

// again says that all of it is still cached for a trial that reads folder of h.
func (c *inputCache) again(ctx context.Context, h cacheHDFS, folder string, say func(text string)) (whole bool, err error) {
	if c.hdfs != h || c.folder != folder {
		return false, nil
	}
	c.say = say
	cached, lacking, err := c.look(ctx)
	if err != nil || len(lacking) > 0 {
		return false, err
	}
	c.result.BytesCached, c.result.BytesCachedEnd = cached, 0
	say(fmt.Sprintf("%s are cached as in the trial before", mib(cached)))
	return true, nil
}

// stillLacking is what is waited for.
type stillLacking string

func (s stillLacking) Error() string { return string(s) }

// every calls look until it lacks nothing or fails. While what it returns does
// not change for as long as patience, nothing is going to: the error then says
// what lacks.
func (c *inputCache) every(ctx context.Context, patience time.Duration, look func() (int64, error)) error {
	tick := time.NewTicker(cacheInterval)
	defer tick.Stop()
	changed, last := time.Now(), int64(-1)
	for {
		now, err := look()
		var lacking stillLacking
		if !errors.As(err, &lacking) {
			return err
		}
		if now != last {
			changed, last = time.Now(), now
		} else if time.Since(changed) >= patience {
			return fmt.Errorf("nothing has changed for %v: %w", patience, err)
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-tick.C:
		}
	}
}

// lookAgain notes what was still cached when the jobs had ended.
func (c *inputCache) lookAgain(ctx context.Context) (warning string) {
	if c == nil {
		return ""
	}
	cached, lacking, err := c.look(ctx)
	switch {
	case err != nil:
		return fmt.Sprintf("what of the input was still cached at the end is not known: %v", err)
	case len(lacking) > 0:
		warning = fmt.Sprintf("of %s cached before the jobs, %s were left at the end; lost: %s", mib(c.result.BytesCached), mib(cached), some(lacking))
	}
	c.result.BytesCachedEnd = cached
	return warning
}

// notes say in the trace what was cached when the capture began.
func (c *inputCache) notes() []traces.Event {
	if c == nil {
		return nil
	}
	r := c.result
	return []traces.Event{&traces.Note{Text: fmt.Sprintf(
		"cache: %d of %d input files, %d bytes (fraction %.4f), %d copies of each block, seed %d, pool %s",
		r.Files, r.InputFiles, r.BytesCached, r.Fraction, r.Replicas, r.Seed, c.pool)}}
}

// remove takes the directives and the pool away, also when ctx has ended. With
// wait it returns when the blocks are out of the caches, so that the next trial
// does not find them there.
func (c *inputCache) remove(ctx context.Context, wait bool) error {
	if c == nil {
		return nil
	}
	cleanup, cancel := context.WithTimeout(context.WithoutCancel(ctx), cacheCleanup)
	defer cancel()
	if err := c.hdfs.RemoveCachePool(cleanup, c.pool); err != nil && !errors.Is(err, fs.ErrInvalid) { // it is not there
		return fmt.Errorf("remove what was cached: %w; by hand: hdfs cacheadmin -removePool %s", err, c.pool)
	}
	if !wait || ctx.Err() != nil {
		return nil
	}
	c.say("removed; waiting for DataNodes to let go of it")
	err := c.awaitClear(cleanup)
	if errors.Is(err, context.DeadlineExceeded) {
		return nil // the next trial waits for it too
	}
	return err
}

// cachePoolPrefix begins the names of our pools.
const cachePoolPrefix = "heddle-cache"

// removeStalePools removes what runs on this host left cached when they were
// killed. It would be in the way of every later measurement.
func removeStalePools(ctx context.Context, h cacheHDFS) error {
	pools, err := h.CachePools(ctx)
	if err != nil {
		return err
	}
	for _, p := range pools {
		if !makerDied(cachePoolPrefix, p.Name) {
			continue
		}
		if err := h.RemoveCachePool(ctx, p.Name); err != nil && !errors.Is(err, fs.ErrInvalid) {
			return fmt.Errorf("remove what a run that died left cached: %w; by hand: hdfs cacheadmin -removePool %s", err, p.Name)
		}
	}
	return nil
}

// some lists a few of what may be many.
func some(list []string) string {
	const most = 3
	if len(list) <= most {
		return strings.Join(list, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(list[:most], ", "), len(list)-most)
}

func mib(bytes int64) string { return fmt.Sprintf("%.1f MiB", float64(bytes)/(1<<20)) }
