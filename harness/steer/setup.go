package steer

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"heddle/harness/require"
	"heddle/harness/state"
	"heddle/yarnclient"
)

// idleLabel parks nodes.
const idleLabel = require.Parking

// setup is what holds for the whole of a steering.
type setup struct {
	amLabel       string
	queue         string   // name of the leaf that may use the labels
	triples       []string // "00" to "15"
	beat          time.Duration
	smallest      state.Resource
	countCores    bool
	localityDelay bool // has to be switched off
	grantLimit    time.Duration
	keep          []string // workers that are not moved
}

// noLocalityDelay has YARN take a node that was opened for a job at once, also
// for a map that is not local there.
var noLocalityDelay = yarnclient.SchedulerChange{Global: map[string]string{require.Queues + "node-locality-delay": "-1"}}

// look asks what the cluster is set up for.
func look(ctx context.Context, rm *yarnclient.RM) (setup, error) {
	var s setup
	labels, err := rm.NodeLabels(ctx)
	if err != nil {
		return s, err
	}
	if s.triples = triplesOf(labels); len(s.triples) == 0 {
		return s, errors.New("the cluster has no pool of labels (idle, and a00, m00, r00 and so on, all exclusive); heddle doctor says how to make one")
	}
	scheduler, err := rm.Scheduler(ctx)
	if err != nil {
		return s, err
	}
	if s.queue, s.triples = queueWith(scheduler.Queues, s.triples); s.queue == "" {
		return s, errors.New("no queue may use the whole of the labels; heddle doctor says how to set one up")
	}
	property := func(name, otherwise string) string {
		value, cerr := rm.Conf(ctx, name)
		switch {
		case cerr == nil && value != "":
			return value
		case cerr != nil && !errors.Is(cerr, yarnclient.ErrNotFound):
			err = cerr
		}
		return otherwise
	}
	number := func(name string, otherwise int64) int64 {
		if n, perr := strconv.ParseInt(property(name, ""), 10, 64); perr == nil {
			return n
		}
		return otherwise
	}
	s.amLabel = property(require.Of("amLabel")[0].Property, "")
	s.beat = time.Duration(number("yarn.resourcemanager.nodemanagers.heartbeat-interval-ms", 1000)) * time.Millisecond
	s.smallest = state.Resource{MemoryMB: int32(number("yarn.scheduler.minimum-allocation-mb", 1024)), VCores: 1}
	if err != nil {
		return s, err
	}
	if s.amLabel == "" {
		return s, errors.New("ApplicationMasters have no label of their own, and all workers are moved; heddle doctor says how to give them one")
	}
	// With the store that reads the file only, settings are neither told nor changed.
	if conf, cerr := rm.SchedulerConf(ctx); cerr == nil {
		s.countCores = strings.HasSuffix(conf[require.Queues+"resource-calculator"], "DominantResourceCalculator")
		// One that is not set, Hadoop cannot unset again; 40 chances are let pass
		// then, which with asynchronous scheduling takes less than a second.
		delay, perr := strconv.Atoi(conf[require.Queues+"node-locality-delay"])
		s.localityDelay = perr == nil && delay > 0
	}
	return s, nil
}

// triplesOf are the numbers that have all three labels, if nodes can be parked.
func triplesOf(labels []yarnclient.NodeLabel) []string {
	exclusive := require.Exclusive(labels)
	if !slices.Contains(exclusive, require.Parking) {
		return nil
	}
	return require.Whole(exclusive)
}

// queueWith is the name of the first leaf queue that may use all of a triple's
// labels, and the triples of which it may.
func queueWith(queues []yarnclient.Queue, triples []string) (name string, its []string) {
	for _, q := range queues {
		var whole []string
		for _, p := range q.Partitions {
			if p.CapacityPct == 100 {
				whole = append(whole, p.Partition)
			}
		}
		whole = require.Whole(whole)
		its = slices.DeleteFunc(slices.Clone(triples), func(number string) bool { return !slices.Contains(whole, number) })
		if q.Leaf && len(its) > 0 {
			return q.Name, its
		}
	}
	return "", nil
}

// worker says whether a node is ours to move.
func (s *setup) worker(n yarnclient.Node) bool {
	label := n.Label()
	return n.State == "RUNNING" && !slices.Contains(s.keep, n.Host) && (label == "" || require.InPool(label) && label[0] != 'a')
}

// Submission is the right to submit jobs that are steered: its labels are no
// other's. Jobs of one Submission share them, so they are told apart only if
// they run one after the other.
type Submission struct {
	d      *Driver
	number string
	tag    string
}

// pool is the free triples.
type pool struct{ free chan string }

func newPool(numbers []string) *pool {
	p := &pool{make(chan string, len(numbers))}
	for _, n := range numbers {
		p.free <- n
	}
	return p
}

// Submission waits until a triple of labels is free. The jobs must carry the
// tag, in lower case, and the Submission's settings.
func (d *Driver) Submission(ctx context.Context, tag string) (*Submission, error) {
	select {
	case <-d.ended: // even if labels are free
		return nil, fmt.Errorf("wait for free labels: %w", context.Cause(d.ctx))
	default:
	}
	select {
	case number := <-d.pool.free:
		s := &Submission{d, number, tag}
		d.post(func() { d.watch(s) })
		return s, nil
	case <-ctx.Done():
		return nil, fmt.Errorf("wait for free labels: %w", context.Cause(ctx))
	case <-d.ended:
		return nil, fmt.Errorf("wait for free labels: %w", context.Cause(d.ctx))
	}
}

// Settings are the properties that the jobs must have.
func (s *Submission) Settings() map[string]string {
	am := s.d.set.amLabel
	if s.d.holds() {
		am = s.amLabel()
	}
	if !s.d.acts {
		return map[string]string{
			"mapreduce.job.queuename":                s.d.set.queue,
			"mapreduce.job.am.node-label-expression": am,
		}
	}
	return map[string]string{
		"mapreduce.job.queuename":                            s.d.set.queue,
		"mapreduce.job.am.node-label-expression":             am,
		"mapreduce.map.node-label-expression":                "m" + s.number,
		"mapreduce.reduce.node-label-expression":             "r" + s.number,
		"mapreduce.map.speculative":                          "false",
		"mapreduce.reduce.speculative":                       "false",
		"mapreduce.job.ubertask.enable":                      "false",
		"yarn.app.mapreduce.am.job.node-blacklisting.enable": "false",
	}
}

// Release gives the labels back, when the jobs have ended.
func (s *Submission) Release() {
	s.d.post(func() {
		s.d.unwatch(s)
		s.d.pool.free <- s.number
	})
}

func (s *Submission) label(k state.Kind) string { return k.Letter() + s.number }
