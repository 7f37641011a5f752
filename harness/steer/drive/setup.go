package drive

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
	"heddle/harness/steer"
	"heddle/yarnclient"
)

// lookLimit bounds some eight short questions.
const lookLimit = 20 * time.Second

// look asks what the cluster is set up for.
func look(ctx context.Context, rm *yarnclient.RM) (steer.Setup, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, lookLimit, fmt.Errorf("the ResourceManager told not all that steering begins with within %v", lookLimit))
	defer cancel()
	var s steer.Setup
	labels, err := rm.NodeLabels(ctx)
	if err != nil {
		return s, err
	}
	if s.Triples = triplesOf(labels); len(s.Triples) == 0 {
		return s, errors.New("the cluster has no pool of labels (idle, and a00, m00, r00 and so on, all exclusive); heddle doctor says how to make one")
	}
	scheduler, err := rm.Scheduler(ctx)
	if err != nil {
		return s, err
	}
	if s.Queue, s.Triples = queueWith(scheduler.Queues, s.Triples); s.Queue == "" {
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
	s.AMLabel = property(require.Of("amLabel")[0].Property, "")
	s.Beat = time.Duration(number("yarn.resourcemanager.nodemanagers.heartbeat-interval-ms", 1000)) * time.Millisecond
	s.Smallest = state.Resource{MemoryMB: int32(number("yarn.scheduler.minimum-allocation-mb", 1024)), VCores: 1}
	if err != nil {
		return s, err
	}
	if s.AMLabel == "" {
		return s, errors.New("ApplicationMasters have no label of their own, and all workers are moved; heddle doctor says how to give them one")
	}
	// With the store that reads the file only, settings are neither told nor changed.
	if conf, cerr := rm.SchedulerConf(ctx); cerr == nil {
		s.CountCores = strings.HasSuffix(conf[require.Queues+"resource-calculator"], "DominantResourceCalculator")
		// One that is not set, Hadoop cannot unset again; 40 chances are let pass
		// then, which with asynchronous scheduling takes less than a second.
		delay, perr := strconv.Atoi(conf[require.Queues+"node-locality-delay"])
		s.LocalityDelay = perr == nil && delay > 0
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
