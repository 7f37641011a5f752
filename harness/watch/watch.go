// Package watch asks a cluster for its applications, nodes, blocks and job files.
// Capture and steering share one Watcher: each can use a recent answer that the other
// has asked for, and a job's staged files are read only once.
//
// Callers choose when to make a call. A Watcher keeps the newest answer to each kind of
// call. Answers are shared, so callers must not change them.
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
	"heddle/traces/hosts"
	"heddle/yarnclient"
)

// Watcher makes calls to one cluster and shares the answers. Its methods are safe for
// concurrent use.
//
// A method with the argument maxAge may return the answer to another caller's call, if
// that call began at most maxAge ago. If it is still under way, the method waits for
// its answer. A maxAge of 0 makes a new call.
type Watcher struct {
	Cluster *clients.Clients
	RM      *yarnclient.RM
	Files
	*answers
}

// answers holds, for each kind of call to the cluster, the newest answer. All copies of
// a Watcher share it.
type answers struct {
	mu     sync.Mutex
	newest map[question]*answer
	tags   string           // tags of the applications that were asked for last
	listed []yarnclient.App // applications with these tags, as they were listed last

	// Machines are the names that YARN and HDFS have for hosts. Answers of the NameNode have YARN's.
	Machines hosts.Names
}

// question identifies a call to the cluster: its kind ("apps", "nodes", "blocks" or
// "staged") and, for the last two, the id of the job that it is about.
type question struct{ what, of string }

// answer is the result of a call to the cluster, or a call that is still under way.
type answer struct {
	sent  time.Time
	given chan struct{} // closed when the fields value and err are set
	value any
	err   error
}

// New returns a Watcher of a cluster. The argument files is HDFS(cluster), except in
// tests.
func New(cluster *clients.Clients, files Files) *Watcher {
	return &Watcher{
		Cluster: cluster, RM: cluster.RM, Files: files,
		answers: &answers{newest: map[question]*answer{}},
	}
}

// Once returns a copy of the Watcher that does not repeat calls to the
// ResourceManager that failed.
func (w *Watcher) Once() *Watcher {
	once := *w
	once.RM = w.RM.Once()
	return &once
}

// Apps returns the MapReduce applications that have any of the tags. Who asks for other tags
// than were asked for last makes the Watcher forget what it knows of those.
func (w *Watcher) Apps(ctx context.Context, tags []string, maxAge time.Duration) ([]yarnclient.App, error) {
	tags = slices.Sorted(slices.Values(tags))
	of, q := strings.Join(tags, ","), question{what: "apps"}
	w.mu.Lock()
	if of != w.tags {
		w.tags, w.listed = of, nil
		delete(w.newest, q)
	}
	before := w.listed
	w.mu.Unlock()
	return ask(ctx, w, q, maxAge, func(ctx context.Context) ([]yarnclient.App, error) {
		f := mapReduce
		f.Tags = tags
		apps, err := list(ctx, w.RM, f, before)
		w.mu.Lock()
		defer w.mu.Unlock()
		if err == nil && of == w.tags {
			w.listed = apps
		}
		return apps, err
	})
}

// AppsSince returns the MapReduce applications started at or after start. It
// always makes a new call.
func (w *Watcher) AppsSince(ctx context.Context, start time.Time) ([]yarnclient.App, error) {
	f := mapReduce
	f.StartedFromMs = start.UnixMilli()
	return w.RM.Apps(ctx, f)
}

// mapReduce is the filter with which applications are listed: it selects MapReduce
// applications, and leaves out fields of the answer that no caller reads.
var mapReduce = yarnclient.AppFilter{
	Types: []string{"MAPREDUCE"}, Without: []string{"resourceRequests", "timeouts", "resourceInfo"},
}

// Nodes returns all nodes that YARN knows, in any state.
func (w *Watcher) Nodes(ctx context.Context, maxAge time.Duration) ([]yarnclient.Node, error) {
	return ask(ctx, w, question{what: "nodes"}, maxAge, func(ctx context.Context) ([]yarnclient.Node, error) {
		nodes, err := w.RM.Nodes(ctx)
		for _, n := range nodes {
			w.Machines.See(n.Host, hosts.Ran)
		}
		return nodes, err
	})
}

// DataNodes returns the DataNodes, under the names that YARN has for their hosts.
func (w *Watcher) DataNodes(ctx context.Context) ([]hdfs.DataNode, error) {
	nodes, err := w.Files.DataNodes(ctx)
	for _, n := range nodes {
		w.Machines.See(n.Host, hosts.Stored)
	}
	for i := range nodes {
		nodes[i].Host = w.Machines.Of(nodes[i].Host)
	}
	return nodes, err
}

// Agents returns the agents, under the names that YARN has for their hosts.
func (w *Watcher) Agents() []clients.Agent {
	agents := slices.Clone(w.Cluster.Agents)
	for i, a := range agents {
		w.Machines.See(a.Node, hosts.Listed)
		agents[i].Node = w.Machines.Of(a.Node)
	}
	return agents
}

// oneName gives replicas the names that YARN has for their hosts.
func (w *Watcher) oneName(blocks []hdfs.Block) {
	for _, b := range blocks {
		for _, r := range b.Replicas {
			w.Machines.See(r.Host, hosts.Stored)
		}
	}
	for _, b := range blocks {
		for i := range b.Replicas {
			if host := w.Machines.Of(b.Replicas[i].Host); host != b.Replicas[i].Host {
				b.Replicas[i].Host = host
			}
		}
	}
}

// Blocks returns the HDFS blocks of each of a job's splits, with the hosts of their
// replicas. The error is fs.ErrNotExist if an input file does not exist.
func (w *Watcher) Blocks(ctx context.Context, job string, splits []jobsplit.Split,
	maxAge time.Duration,
) (map[jobsplit.Split][]hdfs.Block, error) {
	return ask(ctx, w, question{"blocks", job}, maxAge, func(ctx context.Context) (map[jobsplit.Split][]hdfs.Block, error) {
		located, err := w.SplitLocations(ctx, splits)
		if err != nil {
			return nil, err
		}
		blocks := make(map[jobsplit.Split][]hdfs.Block, len(splits))
		for i, s := range splits {
			w.oneName(located[i])
			blocks[s] = located[i]
		}
		return blocks, nil
	})
}

// ask returns the newest answer to the call that q names, if it is at most maxAge old
// and the call did not fail. Otherwise it makes the call again, by calling the function
// in its argument call.
func ask[T any](ctx context.Context, w *Watcher, q question, maxAge time.Duration,
	call func(context.Context) (T, error),
) (value T, err error) {
	w.mu.Lock()
	now := time.Now()
	a := w.newest[q]
	if a != nil && now.Sub(a.sent) <= maxAge {
		w.mu.Unlock()
		select {
		case <-a.given:
		default: // an earlier call is still under way: wait for its answer
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

// Forget drops the stored answers about a job, after the job has ended.
func (w *Watcher) Forget(job string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.newest, stagedOf(job))
	delete(w.newest, question{"blocks", job})
}
