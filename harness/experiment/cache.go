package experiment

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"path"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"heddle/collectors/hdfs"
	"heddle/harness/change"
	"heddle/harness/config"
	"heddle/harness/internal/poll"
	"heddle/harness/results"
	"heddle/harness/workload"
	"heddle/traces"
	"heddle/traces/printable"
)

const (
	// cachePatience is how long heddle waits for the HDFS cache while no
	// further block gets cached. A DataNode with Hadoop's defaults learns of a
	// cache directive within 30 s and reports the cached block up to 13 s
	// later.
	cachePatience = 90 * time.Second
	cacheInterval = 250 * time.Millisecond
	// cacheCleanup is how long DataNodes get to drop blocks whose directives are
	// removed.
	cacheCleanup = 30 * time.Second
)

// cacheHDFS contains the methods of *hdfs.Client that are needed to cache an
// input. Tests use another implementation.
type cacheHDFS interface {
	Locations(ctx context.Context, name string) iter.Seq2[hdfs.File, error]
	DataNodes(ctx context.Context) ([]hdfs.DataNode, error)
	AddCacheDirective(ctx context.Context, d hdfs.CacheDirective) (int64, error)
}

// cachePools adds a cache pool, and removes it with its directives. It is a
// *change.Hold.
type cachePools interface {
	AddCachePool(ctx context.Context) (name string, err error)
	Undo(ctx context.Context, kinds ...change.Kind) (change.Report, error)
}

// inputCache is the part of an input that is in the HDFS cache. A nil
// inputCache means that nothing is cached; its methods do nothing. The NameNode
// decides which replicas it caches. So successive trials that read the same
// input share one inputCache, and all compared scheduler models find the same
// replicas cached.
type inputCache struct {
	hdfs   cacheHDFS
	pools  cachePools
	pool   string // name of the HDFS cache pool for this input
	folder string // HDFS folder of the cached input
	files  map[string]bool
	bytes  int64 // length of the whole input in bytes
	say    func(text string)
	result results.Cache
}

// cacheInput puts a part of an input into the HDFS cache: the part that the
// experiment names, and the files that the workload itself wants cached. It
// returns when the NameNode reports all of that part as cached. After an error
// nothing stays cached. HDFS drops the cache directives after the time
// lifetime, for the case that heddle is killed and does not remove them.
func cacheInput(ctx context.Context, h cacheHDFS, pools cachePools, input workload.Input, o config.Cache, lifetime time.Duration,
	say func(text string),
) (*inputCache, error) {
	if o.Fraction == 0 && len(input.Cached) == 0 {
		return nil, nil
	}
	if input.Path == "" {
		return nil, errors.New("cache input: the workload reads none; run it in an experiment without a cache")
	}
	o.Replicas = max(1, o.Replicas)
	c := &inputCache{hdfs: h, pools: pools, folder: input.Path, files: map[string]bool{}, say: say}
	chosen, err := c.choose(ctx, o, input.Cached)
	if err != nil {
		return nil, fmt.Errorf("cache input: %w", err)
	}
	if err := c.fill(ctx, chosen, time.Now().Add(lifetime)); err != nil {
		return nil, errors.Join(fmt.Errorf("cache input: %w", cause(ctx, err)), c.remove(ctx, false))
	}
	return c, nil
}

// choose lists the input's files, decides which of them to cache, and returns
// these. They include the files with the given paths.
func (c *inputCache) choose(ctx context.Context, o config.Cache, wanted []string) ([]hdfs.File, error) {
	var files []hdfs.File
	for f, err := range c.hdfs.Locations(ctx, c.folder) {
		if err != nil {
			return nil, cause(ctx, err)
		}
		// skip empty files, and files that Hadoop hides, such as _SUCCESS: jobs
		// do not read them
		if name := path.Base(f.Path); f.Length > 0 && name[0] != '_' && name[0] != '.' {
			files = append(files, f)
			c.bytes += f.Length
		}
	}
	chosen := chooseFiles(files, o.Fraction, o.Seed)
	if len(chosen) == 0 && o.Fraction > 0 {
		return nil, fmt.Errorf("cache.fraction %v is less than half a file of the %d in %s; want a larger fraction, or more maps that write "+
			"the input", o.Fraction, len(files), c.folder)
	}
	for _, f := range files {
		if slices.Contains(wanted, f.Path) && !slices.ContainsFunc(chosen, func(x hdfs.File) bool { return x.Path == f.Path }) {
			chosen = append(chosen, f)
		}
	}
	c.result = results.Cache{Files: len(chosen), InputFiles: len(files), Replicas: o.Replicas, Seed: o.Seed}
	for _, f := range chosen {
		if f.Replication < o.Replicas {
			return nil, fmt.Errorf("cache.replicas %d: %s has only %d replicas", o.Replicas, f.Path, f.Replication)
		}
		c.files[f.Path] = true
		c.result.BytesAsked += f.Length
	}
	return chosen, nil
}

// chooseFiles returns the files to cache, as [workload.ChooseFiles] chooses
// them. It sorts the files first, so that their order does not change the
// choice.
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

// fill adds cache directives for the files and waits until HDFS has cached them
// all.
func (c *inputCache) fill(ctx context.Context, files []hdfs.File, until time.Time) error {
	if err := c.awaitClear(ctx); err != nil {
		return err
	}
	if err := c.awaitRoom(ctx); err != nil {
		return err
	}
	c.say(fmt.Sprintf("%d of %d files, %s", c.result.Files, c.result.InputFiles, mib(c.result.BytesAsked)))
	var err error
	if c.pool, err = c.pools.AddCachePool(ctx); err != nil {
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

// awaitClear waits until no block of the input is in the HDFS cache. A DataNode
// reports a block that it is about to drop as cached for some seconds more.
// Such a block would be taken for one cached for this trial, and would be gone
// when the jobs read it.
func (c *inputCache) awaitClear(ctx context.Context) error {
	return every(ctx, func() (cached int64, err error) {
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
			err = stillLacking(fmt.Sprintf("%s of the input in %s are cached by other directives; 'hdfs cacheadmin -listDirectives' lists them",
				mib(cached), c.folder))
		}
		return cached, err
	})
}

// awaitRoom waits until the DataNodes' caches have room for the files. Cached
// blocks of an earlier trial may not have been dropped yet.
func (c *inputCache) awaitRoom(ctx context.Context) error {
	need := c.result.BytesAsked * int64(c.result.Replicas)
	return every(ctx, func() (int64, error) {
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
		what := fmt.Sprintf("%s in %d cached copies need %s of HDFS cache, and all DataNodes together have %s",
			mib(c.result.BytesAsked), c.result.Replicas, mib(need), mib(capacity))
		switch {
		case capacity == 0:
			return 0, errors.New("no DataNode has a cache; 'heddle doctor' says what to set")
		case need > capacity:
			return 0, fmt.Errorf("%s; lower cache.fraction, or give DataNodes a larger cache", what)
		case need > capacity-used:
			return used, stillLacking(fmt.Sprintf("%s, of which other directives use %s ('hdfs cacheadmin -listDirectives -stats' lists them)",
				what, mib(used)))
		}
		return 0, nil
	})
}

// await waits until the NameNode reports all chosen files as cached.
func (c *inputCache) await(ctx context.Context) error {
	err := every(ctx, func() (int64, error) {
		cached, lacking, err := c.look(ctx)
		if err != nil {
			return 0, err
		}
		if cached != c.result.BytesCached {
			c.result.BytesCached = cached
			c.say(fmt.Sprintf("%s of %s cached", mib(cached), mib(c.result.BytesAsked)))
		}
		if len(lacking) > 0 {
			return cached, stillLacking(fmt.Sprintf("only %s of %s are cached; missing: %s",
				mib(cached), mib(c.result.BytesAsked), printable.First(3, lacking)))
		}
		return cached, nil
	})
	if err != nil {
		return fmt.Errorf("%w; the cache of a DataNode may be full ('hdfs dfsadmin -report' shows it), and its log says what it could not cache",
			err)
	}
	c.result.Fraction = float64(c.result.BytesCached) / float64(c.bytes)
	return nil
}

// The function look asks the NameNode how many bytes of the chosen blocks have
// all their cached replicas. It also returns a description of each other chosen
// block, for messages.
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

// stillCached reports whether all chosen files are still cached, so that a
// trial that reads the given HDFS folder need not put them into the cache
// again.
func (c *inputCache) stillCached(ctx context.Context, h cacheHDFS, folder string, say func(text string)) (whole bool, err error) {
	if c.hdfs != h || c.folder != folder {
		return false, nil
	}
	c.say = say
	cached, lacking, err := c.look(ctx)
	if err != nil || len(lacking) > 0 {
		return false, err
	}
	c.result.BytesCached, c.result.BytesCachedEnd = cached, 0
	say(fmt.Sprintf("%s are still cached from the trial before", mib(cached)))
	return true, nil
}

// stillLacking is the error of a check whose condition does not hold yet, such
// as "blocks are not cached". It says which condition. The check is to be
// repeated.
type stillLacking string

func (s stillLacking) Error() string { return string(s) }

// The function every calls the function look every 250 ms, until look succeeds
// or fails with an error other than a stillLacking. It gives up if the number
// that look returns, such as the bytes cached so far, has not changed for
// cachePatience.
func every(ctx context.Context, look func() (int64, error)) error {
	changed, last := time.Now(), int64(-1)
	return poll.Until(ctx, cacheInterval, func() (bool, error) {
		now, err := look()
		if _, lacking := errors.AsType[stillLacking](err); !lacking {
			return true, err
		}
		if now != last {
			changed, last = time.Now(), now
		} else if time.Since(changed) >= cachePatience {
			return false, fmt.Errorf("nothing has changed for %v: %w", cachePatience, err)
		}
		return false, nil
	})
}

// lookAgain records in the trial's result how many bytes were still cached when
// the jobs had ended.
func (c *inputCache) lookAgain(ctx context.Context) (warning string) {
	if c == nil {
		return ""
	}
	cached, lacking, err := c.look(ctx)
	switch {
	case err != nil:
		return fmt.Sprintf("cannot tell how much of the input was still cached at the end: %v", err)
	case len(lacking) > 0:
		warning = fmt.Sprintf("the HDFS cache lost blocks while the jobs ran: of %s, %s were left; lost: %s",
			mib(c.result.BytesCached), mib(cached), printable.First(3, lacking))
	}
	c.result.BytesCachedEnd = cached
	return warning
}

// notes returns an event for the trial's trace, which says how much of the
// input was cached when the jobs began.
func (c *inputCache) notes() []traces.Event {
	if c == nil {
		return nil
	}
	r := c.result
	return []traces.Event{&traces.Note{Text: fmt.Sprintf(
		"cache: %d of %d input files, %d bytes (fraction %.4f), %d copies of each block, seed %d, pool %s",
		r.Files, r.InputFiles, r.BytesCached, r.Fraction, r.Replicas, r.Seed, c.pool)}}
}

// remove removes the cache directives and their pool from HDFS, even if ctx has
// ended. If wait is true, it returns only when the DataNodes have dropped the
// blocks, so that the next trial does not find them cached.
func (c *inputCache) remove(ctx context.Context, wait bool) error {
	if c == nil {
		return nil
	}
	report, err := c.pools.Undo(ctx, change.CachePool)
	if err = errors.Join(err, report.Err()); err != nil || !wait || ctx.Err() != nil {
		return err
	}
	c.say("directives removed; waiting for DataNodes to drop the blocks")
	cleanup, cancel := context.WithTimeout(ctx, cacheCleanup)
	defer cancel()
	err = c.awaitClear(cleanup)
	if errors.Is(err, context.DeadlineExceeded) {
		return nil // a timeout is no error: the next trial waits until the blocks have left the caches
	}
	return err
}

func mib(bytes int64) string { return fmt.Sprintf("%.1f MiB", float64(bytes)/(1<<20)) }
