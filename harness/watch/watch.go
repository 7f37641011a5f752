// Package watch asks a cluster what goes on there, for all who want to know it at
// the same time. Capture and steering share one Watcher: an answer that one of them
// has just got serves the other, and a job's staged files are read once.
//
// It decides nothing, not even when to ask: steering asks when its decisions need
// it, capture at its intervals, unless a recent answer is there. It keeps the newest
// answer to each question and nothing else. What it gives is shared: do not change it.
package watch

import (
	"context"
	"slices"
	"strings"
	"sync"
	"time"

	"heddle/collectors/hdfs"
	"heddle/collectors/hdfs/jobsplit"
	"heddle/harness/clients"
	"heddle/yarnclient"
)

// Watcher asks one cluster. Its methods are safe for use by many goroutines.
//
// Those with a maxAge take an answer that was asked for at most so long ago, by
// whomever, also one that is still under way; with a maxAge of 0 they ask now.
type Watcher struct {
	Cluster *clients.Clients
	RM      *yarnclient.RM
	Files
	*memory
}

// memory is what all who watch a cluster share.
type memory struct {
	mu     sync.Mutex
	newest map[question]*answer
}

// question is what was asked: "apps" of some tags, "nodes", "blocks" or "staged" of a
// job.
type question struct{ what, of string }

// answer is one that was given, or is under way.
type answer struct {
	sent  time.Time
	given chan struct{} // closed when the rest is there
	value any
	err   error
}

// New returns a Watcher of a cluster. Its files are files, HDFS(cluster) unless
// in tests.
func New(cluster *clients.Clients, files Files) *Watcher {
	return &Watcher{
		Cluster: cluster, RM: cluster.RM, Files: files,
		memory: &memory{newest: map[question]*answer{}},
	}
}

// Once is the same Watcher, but what the ResourceManager does not answer is not
// asked again in silence.
func (w *Watcher) Once() *Watcher {
	once := *w
	once.RM = w.RM.Once()
	return &once
}

// Apps are the MapReduce applications that carry one of the tags.
func (w *Watcher) Apps(ctx context.Context, tags []string, maxAge time.Duration) ([]yarnclient.App, error) {
	tags = slices.Sorted(slices.Values(tags))
	return ask(ctx, w, question{"apps", strings.Join(tags, ",")}, maxAge, func(ctx context.Context) ([]yarnclient.App, error) {
		f := mapReduce
		f.Tags = tags
		return w.RM.Apps(ctx, f)
	})
}

// AppsSince are the MapReduce applications that were started at or after a time,
// asked for now.
func (w *Watcher) AppsSince(ctx context.Context, start time.Time) ([]yarnclient.App, error) {
	f := mapReduce
	f.StartedFromMs = start.UnixMilli()
	return w.RM.Apps(ctx, f)
}

// mapReduce leaves out what nobody here reads of an application.
var mapReduce = yarnclient.AppFilter{
	Types: []string{"MAPREDUCE"}, Without: []string{"resourceRequests", "timeouts", "resourceInfo"},
}

// Nodes are all nodes, in whatever state.
func (w *Watcher) Nodes(ctx context.Context, maxAge time.Duration) ([]yarnclient.Node, error) {
	return ask(ctx, w, question{what: "nodes"}, maxAge, func(ctx context.Context) ([]yarnclient.Node, error) { return w.RM.Nodes(ctx) })
}

// Blocks are the blocks of each split that a job reads, and where they are. Splits of
// files that do not exist are fs.ErrNotExist.
func (w *Watcher) Blocks(ctx context.Context, job string, splits []jobsplit.Split, maxAge time.Duration) (map[jobsplit.Split][]hdfs.Block, error) {
	return ask(ctx, w, question{"blocks", job}, maxAge, func(ctx context.Context) (map[jobsplit.Split][]hdfs.Block, error) {
		located, err := w.SplitLocations(ctx, splits)
		if err != nil {
			return nil, err
		}
		blocks := make(map[jobsplit.Split][]hdfs.Block, len(splits))
		for i, s := range splits {
			blocks[s] = located[i]
		}
		return blocks, nil
	})
}

// ask returns an answer that is recent enough. Where there is none, or it failed,
// call gets one.
func ask[T any](ctx context.Context, w *Watcher, q question, maxAge time.Duration, call func(context.Context) (T, error)) (value T, err error) {
	w.mu.Lock()
	now := time.Now()
	a := w.newest[q]
	if a != nil && now.Sub(a.sent) <= maxAge {
		w.mu.Unlock()
		select {
		case <-a.given:
		case <-ctx.Done():
			return value, context.Cause(ctx)
		}
		if a.err == nil {
			return a.value.(T), nil
		}
		w.mu.Lock()
		now = time.Now()
	}
	a = &answer{sent: now, given: make(chan struct{})}
	w.newest[q] = a
	w.mu.Unlock()
	value, err = call(ctx)
	a.value, a.err = value, err
	close(a.given)
	return value, err
}

// Forget drops what is known of a job that has ended.
func (w *Watcher) Forget(job string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.newest, stagedOf(job))
	delete(w.newest, question{"blocks", job})
}
