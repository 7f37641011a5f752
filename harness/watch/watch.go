// Package watch asks a cluster for its applications, nodes, blocks and job files.
// Capture and steering share one Watcher: each uses recent answers to the other's
// questions, and a job's staged files are read once.
//
// A Watcher does not choose when to ask; its callers do. It keeps the newest
// answer to each question. Answers are shared: do not change them.
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

// Watcher asks one cluster. Its methods are safe for concurrent use.
//
// Methods with a maxAge return an answer that was asked for at most that long ago,
// by anyone. If the call is still under way they wait for it. A maxAge of 0 makes
// a new call.
type Watcher struct {
	Cluster *clients.Clients
	RM      *yarnclient.RM
	Files
	*answers
}

// answers has the newest answers. Copies of a Watcher share it.
type answers struct {
	mu     sync.Mutex
	newest map[question]*answer
}

// question is a call ("apps", "nodes", "blocks" or "staged") and its subject: tags
// or a job.
type question struct{ what, of string }

// answer is the result of a call, or a call under way.
type answer struct {
	sent  time.Time
	given chan struct{} // closed when value and err are set
	value any
	err   error
}

// New returns a Watcher of a cluster. files is HDFS(cluster), except in tests.
func New(cluster *clients.Clients, files Files) *Watcher {
	return &Watcher{
		Cluster: cluster, RM: cluster.RM, Files: files,
		answers: &answers{newest: map[question]*answer{}},
	}
}

// Once returns a copy of the Watcher that does not repeat failed calls to the
// ResourceManager.
func (w *Watcher) Once() *Watcher {
	once := *w
	once.RM = w.RM.Once()
	return &once
}

// Apps returns the MapReduce applications that carry any of the tags.
func (w *Watcher) Apps(ctx context.Context, tags []string, maxAge time.Duration) ([]yarnclient.App, error) {
	tags = slices.Sorted(slices.Values(tags))
	return ask(ctx, w, question{"apps", strings.Join(tags, ",")}, maxAge, func(ctx context.Context) ([]yarnclient.App, error) {
		f := mapReduce
		f.Tags = tags
		return w.RM.Apps(ctx, f)
	})
}

// AppsSince returns the MapReduce applications started at or after start. It
// always makes a new call.
func (w *Watcher) AppsSince(ctx context.Context, start time.Time) ([]yarnclient.App, error) {
	f := mapReduce
	f.StartedFromMs = start.UnixMilli()
	return w.RM.Apps(ctx, f)
}

// mapReduce selects MapReduce applications, without the fields that no caller
// reads.
var mapReduce = yarnclient.AppFilter{
	Types: []string{"MAPREDUCE"}, Without: []string{"resourceRequests", "timeouts", "resourceInfo"},
}

// Nodes returns all nodes, in any state.
func (w *Watcher) Nodes(ctx context.Context, maxAge time.Duration) ([]yarnclient.Node, error) {
	return ask(ctx, w, question{what: "nodes"}, maxAge, func(ctx context.Context) ([]yarnclient.Node, error) { return w.RM.Nodes(ctx) })
}

// Blocks returns the blocks of each split that a job reads, with the hosts of
// their replicas. The error is fs.ErrNotExist if a file does not exist.
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

// ask returns the newest answer to q if that is recent enough and no error. Else
// it gets one with call.
func ask[T any](ctx context.Context, w *Watcher, q question, maxAge time.Duration, call func(context.Context) (T, error)) (value T, err error) {
	w.mu.Lock()
	now := time.Now()
	a := w.newest[q]
	if a != nil && now.Sub(a.sent) <= maxAge {
		w.mu.Unlock()
		select {
		case <-a.given:
		default: // it is still under way
			select {
			case <-a.given:
			case <-ctx.Done():
				return value, context.Cause(ctx)
			}
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

// Forget drops the answers about a job that has ended.
func (w *Watcher) Forget(job string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.newest, stagedOf(job))
	delete(w.newest, question{"blocks", job})
}
