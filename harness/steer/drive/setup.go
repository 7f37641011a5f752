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

// setupLimit is the time limit for all calls (about eight short ones) that read the
// cluster's settings when steering starts.
const setupLimit = 20 * time.Second

// readSetup fills in the node labels, the queue and the settings
// that steering needs.
func readSetup(ctx context.Context, rm *yarnclient.RM, s *steer.Setup) error {
	ctx, cancel := context.WithTimeoutCause(ctx, setupLimit, fmt.Errorf("the ResourceManager did not answer the questions about its "+
		"labels and settings within %v", setupLimit))
	defer cancel()
	scheduler, err := rm.Scheduler(ctx)
	if err != nil {
		return err
	}
	if err := require.Scheduler(scheduler); err != nil {
		return fmt.Errorf("%w; without labels only the model yarn can run", err)
	}
	labels, err := rm.NodeLabels(ctx)
	if err != nil {
		return err
	}
	if s.Triples = triplesOf(labels); len(s.Triples) == 0 {
		return errors.New("the cluster has no pool of labels (idle, and a00, m00, r00 and so on, all exclusive); heddle doctor says " +
			"how to make one")
	}
	if s.Queue, s.Triples = queueWith(scheduler.Queues, s.Triples); s.Queue == "" {
		return errors.New("no leaf queue has the capacity 100 % of all three labels of any number (a00, m00, r00 and so on); heddle " +
			"doctor says how to set one up")
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
		return err
	}
	if s.AMLabel == "" {
		return fmt.Errorf("property %s is not set: ApplicationMasters need nodes with a label of their own; heddle doctor says how to "+
			"set them up", require.Of("amLabel")[0].Property)
	}
	// A ResourceManager that keeps its scheduler settings only in a file does not
	// answer this call. Then no call can change these settings either, and they count
	// as not set.
	if conf, cerr := rm.SchedulerConf(ctx); cerr == nil {
		s.CountCores = strings.HasSuffix(conf[require.Queues+"resource-calculator"], "DominantResourceCalculator")
		// A locality delay that is not set is not changed, because it could not be
		// unset afterwards. Its default, 40 missed scheduling opportunities, passes in
		// less than a second with asynchronous scheduling.
		delay, perr := strconv.Atoi(conf[require.Queues+"node-locality-delay"])
		s.LocalityDelay = perr == nil && delay > 0
	}
	return nil
}

// triplesOf returns the numbers NN for which the three node labels aNN, mNN and rNN
// (for ApplicationMasters, maps and reduces) exist and are exclusive. It returns
// none if the label "idle" is missing.
func triplesOf(labels []yarnclient.NodeLabel) []string {
	exclusive := require.Exclusive(labels)
	if !slices.Contains(exclusive, require.Parking) {
		return nil
	}
	return require.Whole(exclusive)
}

// queueWith returns the first leaf queue that has 100 % of the capacity of all three
// labels aNN, mNN and rNN for some number NN. It also returns all such numbers of that
// queue.
func queueWith(queues []yarnclient.Queue, triples []string) (name string, its []string) {
	for _, q := range queues {
		whole := require.Whole(require.WholeLabels(q))
		its = slices.DeleteFunc(slices.Clone(triples), func(number string) bool { return !slices.Contains(whole, number) })
		if q.Leaf && len(its) > 0 {
			return q.Name, its
		}
	}
	return "", nil
}
