// Package change changes a cluster for one harness at a time, and puts the changes
// back: labels and sizes of nodes, added labels, scheduler settings. It can put
// them back at a normal end ([Hold.Release]), after a kill -9, after a restart of
// the ResourceManager, from another machine ([Restore]), and unattended ([Watch]).
//
// Package lease says who may change the cluster. The journal, in the folder of
// that lease in HDFS, says for each thing what it was before its first change.
// Every change goes through the Hold, which writes the journal first. A second
// change of the same thing writes nothing.
//
// The package does not decide what to change. It does not see changes that
// others make meanwhile, with rmadmin for instance. A node that heddle and
// another user changed gets back what it had before the hold.
//
// Words:
//
//   - hold: the right of one harness to change the cluster, from Take to Release; see package lease
//   - note: a journal entry for one changed thing, with what it was before
//   - settle: to reduce the journal to the notes not put back yet
//   - pool: the node labels for steered jobs, as package require names them
//   - stranded: said of an application that waits for a label of the pool that no running node has
package change

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"heddle/harness/lease"
)

// Options say what a process needs the cluster for, and where the copy of the
// journal and the messages go.
type Options struct {
	// Purpose says what the cluster is held for, such as "heddle run
	// first.yaml". Other processes that want the cluster see it.
	Purpose string
	// Folder, if set, is the run folder for a copy of the journal of changes
	// (file FileName), in case HDFS loses the journal.
	Folder string
	// Log gets messages for the operator; nil discards the messages.
	Log *slog.Logger
}

// Hold is the right of this process to change a cluster, with the journal of its
// changes. Its methods may be called from many goroutines. Those that change
// something have the names and arguments of the methods of yarnclient.RM.
type Hold struct {
	*lease.Hold
	cluster *lease.Target
	older   []int // numbers of the earlier holds (of this cluster by any process) whose HDFS folders the method settle removes
	log     *slog.Logger

	busy   sync.RWMutex // held by each change of the cluster for reading, by Release for writing: Release waits for changes under way
	noting sync.Mutex   // lock held while entries are written to the journal
	mu     sync.RWMutex // lock for the field notes: the journal's entries in memory
	notes  notes
	files  int // number of journal files written to HDFS since this process took the cluster
	local  *localJournal
	drain  time.Duration // how long steered jobs get to end before Release takes their labels away; see RestoreOptions.Drain
}

// Take waits until no other process holds the cluster, and puts back what
// earlier holders left changed. Then it holds the cluster until Release. If
// the present holder is alive, Take returns a [*lease.HeldError] after a few
// seconds. If the holder died, Take waits until the holder's lease is void.
//
// The hold's Context ends when ctx does, but the lease is renewed until
// Release.
func Take(ctx context.Context, c *lease.Target, o Options) (*Hold, error) {
	h, err := begin(ctx, c, o, 0, 0)
	if err == nil {
		var left Report
		if left, err = h.putBack(ctx, undoSteering); err == nil {
			for _, item := range left.Left {
				h.log.Warn("a change of an earlier hold could not be put back", "change", item.String(), "reason", item.Why)
			}
			err = h.settle(ctx, left)
		}
		if err != nil {
			h.giveUp(ctx)
		}
	}
	if err != nil {
		return nil, fmt.Errorf("hold cluster %s: %w", c.Name, err)
	}
	return h, nil
}

// begin takes the lease on the cluster, reads the journal entries of earlier
// holds, and starts to renew the lease.
func begin(ctx context.Context, c *lease.Target, o Options, own, after int) (*Hold, error) {
	h := &Hold{cluster: c, log: o.Log}
	if h.log == nil {
		h.log = slog.New(slog.DiscardHandler)
	}
	var err error
	if h.Hold, err = lease.Take(ctx, c.Files, lease.Options{Purpose: o.Purpose, Folder: o.Folder, Log: h.log, Own: own, After: after}); err != nil {
		return nil, err
	}
	if h.older, h.notes, err = notesBefore(ctx, c.Files, h.Epoch()); err == nil && o.Folder != "" {
		h.local, err = openLocal(o.Folder)
	}
	if err != nil {
		h.giveUp(ctx)
		return nil, err
	}
	return h, nil
}

// Release puts the cluster back as it was and gives up the right to change it.
// It waits for changes under way and refuses later changes. Changes that it
// could not put back are in Report.Left and stay in the journal for Restore or
// the next Take. If the hold was lost, Release does what Restore does.
//
// Report.Stranded lists the jobs that ask for labels which no node has
// afterwards. To avoid that, wait for these jobs, or kill them, before
// Release.
func (h *Hold) Release(ctx context.Context) (Report, error) {
	h.Finish()
	h.busy.Lock()
	defer h.busy.Unlock()
	defer h.abandon()
	if h.Lost() == nil {
		r, err := h.release(ctx, undoSteering)
		return r, h.unreleased(err)
	}
	h.Abandon()
	r, err := restore(ctx, h.cluster, RestoreOptions{Options: Options{Purpose: "restore after a lost hold", Log: h.log}}, nil, h.Epoch())
	if err == nil && len(r.Left) == 0 {
		err = h.local.settle()
	}
	return r, h.unreleased(err)
}

func (h *Hold) release(ctx context.Context, which undo) (Report, error) {
	h.noting.Lock()
	defer h.noting.Unlock()
	r, err := h.putBack(ctx, which)
	if err == nil {
		err = h.settle(ctx, r)
	}
	if err == nil {
		err = h.Hold.Release(ctx)
	}
	return r, err
}

// giveUp releases the lease on a cluster if nothing was changed under this
// lease. The journal entries of earlier holders stay.
func (h *Hold) giveUp(ctx context.Context) {
	h.GiveUp(ctx)
	h.local.close()
}

// abandon leaves the lease and the changes on the cluster as they are, as a crash
// would.
func (h *Hold) abandon() {
	h.Abandon()
	h.local.close()
}

func (h *Hold) unreleased(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("release hold of cluster %s: %w; 'heddle labels restore' puts back what is still changed", h.cluster.Name, err)
}
