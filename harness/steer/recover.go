package steer

import (
	"context"
	"fmt"
	"time"

	"heddle/yarnclient"
)

// patience is how long a ResourceManager may take to come back.
const patience = 5 * time.Minute

// mostFailures is how often in a row an active ResourceManager may refuse to
// move nodes.
const mostFailures = 30

// doubtFor is how long after a restart a container that is not listed may run
// all the same.
const doubtFor = 20 * time.Second

// suspect stops deciding until the ResourceManager has said that it is active:
// one that comes back answers everything, and wrong, for a second.
func (d *Driver) suspect(why string) {
	if d.trouble != "" {
		return
	}
	d.trouble = why
	d.log.Warn("nothing is decided until the ResourceManager is well", "reason", why)
	d.awaitActive(time.Now().Add(patience))
}

func (d *Driver) awaitActive(until time.Time) {
	again := func(wait time.Duration) { d.newAlarm(func() { d.awaitActive(until) }).in(wait) }
	ask(d, d.rm.Info, func(info yarnclient.ClusterInfo, err error) {
		switch {
		case d.moves.failed > mostFailures:
			d.stop(fmt.Errorf("ResourceManager %s: given up after %d attempts to move nodes: %s: %w", d.rm.Address(), d.moves.failed, d.trouble, yarnclient.ErrUnavailable))
		case err == nil && info.HAState == yarnclient.HAActive && info.ID == d.epoch:
			d.newAlarm(d.resume).in(time.Duration(d.moves.failed) * 20 * time.Millisecond)
		case err == nil && info.HAState == yarnclient.HAActive && info.ID != d.epoch:
			d.epoch = info.ID
			d.note("the ResourceManager was started anew")
			d.awaitNodes(time.Now().Add(20 * time.Second))
		case time.Now().After(until):
			d.stop(fmt.Errorf("ResourceManager %s did not come back within %v: %s: %w", d.rm.Address(), patience, d.trouble, yarnclient.ErrUnreachable))
		default:
			again(200 * time.Millisecond)
		}
	})
}

// awaitNodes waits until the nodes have registered with a new ResourceManager,
// for a while, and then sets up again what a restart undoes.
func (d *Driver) awaitNodes(until time.Time) {
	again := func() { d.newAlarm(func() { d.awaitNodes(until) }).in(200 * time.Millisecond) }
	ask(d, func(ctx context.Context) ([]yarnclient.Node, error) { return d.rm.Nodes(ctx, "RUNNING") }, func(list []yarnclient.Node, err error) {
		want := 0
		for _, n := range d.nodes {
			if n.up {
				want++
			}
		}
		running := 0
		for _, info := range list {
			if d.byID[info.ID] != nil {
				running++
			}
		}
		if (err != nil || running < want) && time.Now().Before(until) {
			again()
			return
		}
		d.change(func(ctx context.Context) error {
			if !d.set.localityDelay {
				return nil
			}
			return d.changes.SetSchedulerConf(ctx, noLocalityDelay)
		}, func(err error) {
			if err != nil && time.Now().Before(until) {
				again()
				return
			}
			d.restarted()
		})
	})
}

// restarted takes up after a restart of the ResourceManager: labels are as they
// were, sizes of nodes are not, and what became of the open decisions the
// containers tell.
func (d *Driver) restarted() {
	for _, n := range d.nodes {
		if n.active != nil {
			d.park(n.active, "the ResourceManager was started anew")
		} else {
			d.move(n, idleLabel, nil)
		}
	}
	for _, j := range d.jobs {
		j.doubted = time.Now().Add(doubtFor)
		j.pending = [2]int32{}
	}
	d.resume()
}

func (d *Driver) resume() {
	d.trouble = ""
	for _, j := range d.jobs {
		if !j.ended {
			j.polls.in(0)
			j.asks.in(0)
		}
		// A node that was open all the while may have run tasks that nobody saw.
		if !j.ended && j.attempt != "" {
			j.settled = time.Time{}
			d.reconcile(j)
		}
	}
	d.watching.apps.in(0)
	for _, n := range d.nodes {
		if n.active != nil && n.active.stage == checking {
			d.check(n.active)
		}
	}
}
