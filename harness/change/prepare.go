package change

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"heddle/harness/require"
	"heddle/yarnclient"
)

// PrepareOptions are the options for setting a cluster up for steering.
type PrepareOptions struct {
	Options
	// Triples is how many jobs can be steered at a time. Each job needs three
	// node labels: for its ApplicationMaster, its maps and its reduces.
	Triples int `flag:"triples" text:"labels for N jobs at a time" of:"N" min:"1" max:"100"`
	// Queue is the path of the leaf queue for steered jobs, such as
	// "root.default". Empty means the leaf queue with the largest capacity.
	Queue string `flag:"queue" text:"PATH of the leaf queue" of:"PATH" without:"the one with the largest part of the cluster"`
	// DryRun only finds out which labels and settings are missing, and changes
	// nothing.
	DryRun bool `flag:"dry-run" text:"print what would be changed"`
}

// Preparation lists the node labels and settings that Prepare has added to a
// cluster, or would add without DryRun.
type Preparation struct {
	Queue string `json:"queue"`
	// Labels are the node labels that the cluster lacks and Prepare adds.
	Labels []string `json:"labels"`
	// Settings are the settings of the Capacity scheduler that the cluster
	// lacks and Prepare sets, by full property name.
	Settings map[string]string `json:"settings"`
	// ByHand is true if the Capacity scheduler takes settings only from its
	// file. Then the user has to put Settings into capacity-scheduler.xml.
	ByHand bool `json:"byHand"`

	change yarnclient.SchedulerChange
}

// Prepare sets a cluster up for steering. It adds the node labels that package
// require names, and gives one queue the whole capacity of each label. This
// stays until a Restore with the option Prepared. If the scheduler keeps its
// settings in memory only, a restart of the ResourceManager loses them; then
// call Prepare again.
func Prepare(ctx context.Context, c *Target, o PrepareOptions) (Preparation, error) {
	p, err := prepare(ctx, c, o)
	if err != nil {
		return p, fmt.Errorf("prepare cluster %s: %w", c.Name, err)
	}
	return p, nil
}

func prepare(ctx context.Context, c *Target, o PrepareOptions) (Preparation, error) {
	p, err := plan(ctx, c.RM, o)
	if err != nil || o.DryRun || len(p.Labels) == 0 && (len(p.Settings) == 0 || p.ByHand) {
		return p, err
	}
	h, err := Take(ctx, c, o.Options)
	if err != nil {
		return p, err
	}
	if err = h.prepare(ctx, p); err != nil {
		h.giveUp(ctx) // changes already in the journal stay there; a Restore with the option Prepared undoes them
		return p, err
	}
	_, err = h.Release(ctx)
	return p, err
}

func (h *Hold) prepare(ctx context.Context, p Preparation) error {
	if err := h.addLabels(ctx, true, p.Labels); err != nil || p.ByHand || len(p.Settings) == 0 {
		return err
	}
	return h.setConf(ctx, true, p.change)
}

// plan finds the node labels and scheduler settings that steering needs and the
// cluster lacks.
func plan(ctx context.Context, rm *yarnclient.RM, o PrepareOptions) (Preparation, error) {
	p := Preparation{Queue: o.Queue, Labels: []string{}, Settings: map[string]string{}}
	needs := require.All(o.Triples)
	var labels []yarnclient.NodeLabel
	var scheduler yarnclient.Scheduler
	var conf map[string]string
	if _, err := rm.Info(ctx); err != nil { // fail at once if no ResourceManager answers, rather than wait for one
		return p, err
	}
	err := whileActive(ctx, rm, func() (err error) {
		if labels, err = rm.NodeLabels(ctx); err != nil {
			return err
		}
		if scheduler, err = rm.Scheduler(ctx); err != nil {
			return err
		}
		if needs.Labels.Masters, err = mastersLabel(ctx, rm); err != nil {
			return err
		}
		conf, err = rm.SchedulerConf(ctx)
		remote, refused := errors.AsType[*yarnclient.RemoteError](err)
		if p.ByHand = refused && remote.Status == 400; p.ByHand {
			return nil
		}
		return err
	})
	if err != nil {
		return p, err
	}
	if err := require.Scheduler(scheduler); err != nil {
		return p, err
	}
	exclusive := map[string]bool{} // for each label of the cluster
	for _, l := range labels {
		exclusive[l.Name] = l.Exclusive
	}
	inQueue := append([]string{needs.Labels.Masters}, needs.Labels.Jobs...)
	for _, name := range append([]string{needs.Labels.Parking}, inQueue...) {
		switch alone, there := exclusive[name]; {
		case !there:
			p.Labels = append(p.Labels, name)
		case !alone && name != needs.Labels.Masters:
			return p, fmt.Errorf("label %s is there but not exclusive; remove it first: yarn rmadmin -removeFromClusterNodeLabels %s", name, name)
		}
	}
	if p.Queue == "" {
		p.Queue = require.LargestLeaf(scheduler)
	}
	// The queue, and each queue above it, gets the whole capacity of each node label.
	lacking, err := require.LackingQueueSettings(scheduler, conf, p.Queue, needs.Labels)
	for _, q := range lacking {
		p.Settings[q.Name] = q.Value
		p.change.Set(q.Queue, strings.TrimPrefix(q.Name, require.Queues+q.Queue+"."), q.Value)
	}
	return p, err
}
