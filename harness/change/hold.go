// Package change changes a cluster for one harness at a time, and puts the changes
// back: labels and sizes of nodes, added labels, scheduler settings, cache pools,
// applications and their folders, faults of nodes. It can put them back at a normal end
// ([Hold.Release]), after a kill -9, after a restart of the ResourceManager, from any
// other machine ([Restore]), and unattended ([Watch]). Each kind of change is one type;
// see kind.go.
//
// Package lease says who may change the cluster. The journal, in the folder of
// that lease in HDFS, says for each thing what it was before its first change.
// Every change goes through the Hold, which writes the journal first. A second
// change of the same thing writes nothing. What heddle makes has a random name that
// is in the journal, so it is recognised by nothing else: no process id, no host.
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
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"heddle/harness/lease"
)

// Options say what a process needs the cluster for, and where messages go. If Folder is
// set, it gets a copy of the journal of changes (file journalFile), in case HDFS loses
// the journal.
type Options = lease.Options

// Hold is the right of this process to change a cluster, with the journal of its
// changes. Its methods may be called from many goroutines. Those that change
// something have the names and arguments of the methods of yarnclient.RM.
type Hold struct {
	*lease.Hold
	cluster *Target
	older   []int // numbers of the earlier holds (of this cluster by any process) whose HDFS folders the method settle removes
	log     *slog.Logger

	busy   sync.RWMutex // held by each change of the cluster for reading, by Release for writing: Release waits for changes under way
	noting sync.Mutex   // lock held while entries are written to the journal
	mu     sync.RWMutex // lock for the field notes: the journal's entries in memory
	notes  notes
	files  int              // number of journal files written to HDFS since this process took the cluster
	first  int              // number of the first of them that settle has not removed
	downed map[string]int64 // by host that this process took down: the time of its last health report before
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
func Take(ctx context.Context, c *Target, o Options) (*Hold, error) {
	h, err := begin(ctx, c, o)
	if err == nil {
		var left Report
		if left, err = h.putBack(ctx, unprepared); err == nil {
			for _, item := range left.Back {
				h.log.Info("put back after an earlier hold", "change", item.String())
			}
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
func begin(ctx context.Context, c *Target, o Options) (*Hold, error) {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	h := &Hold{cluster: c, log: o.Log, first: 1, downed: map[string]int64{}}
	var err error
	if h.Hold, err = lease.Take(ctx, c.Files, o); err != nil {
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
	r, err := h.undo(ctx, unprepared)
	if err == nil && h.Lost() == nil {
		err = h.Hold.Release(context.WithoutCancel(ctx))
	}
	return r, h.unreleased(err)
}

// Undo puts back what was changed of some kinds, and goes on holding the cluster. It
// waits for changes under way. If the hold was lost, Undo puts back everything.
func (h *Hold) Undo(ctx context.Context, which ...Kind) (Report, error) {
	h.busy.Lock()
	defer h.busy.Unlock()
	r, err := h.undo(ctx, func(c Change) bool { return !c.Prepared && slices.Contains(which, c.Kind) })
	return r, h.unreleased(err)
}

// undo undoes changes, even if ctx has ended. The caller holds the lock busy for
// writing.
func (h *Hold) undo(ctx context.Context, which func(Change) bool) (Report, error) {
	if h.Lost() == nil {
		h.noting.Lock()
		defer h.noting.Unlock()
		r, err := h.putBack(ctx, which)
		if err == nil {
			err = h.settle(context.WithoutCancel(ctx), r)
		}
		return r, err
	}
	h.Abandon()
	o := Options{Purpose: "restore after a lost hold", Log: h.log, Own: h.Epoch()}
	r, err := restore(context.WithoutCancel(ctx), h.cluster, RestoreOptions{Options: o}, nil)
	if err == nil && len(r.Left) == 0 {
		err = h.local.settle()
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
	return fmt.Errorf("release hold of cluster %s: %w; 'heddle restore' puts back what is still changed", h.cluster.Name, err)
}

// newName returns a new name for something that heddle makes on a cluster, such as a
// cache pool: PREFIX-HOST-NUMBER. HOST is for people; the number is random and tells
// it from everything else. The name is short and in lower case, since it also serves
// as a YARN tag.
func newName(prefix string) string {
	host, err := os.Hostname()
	if err != nil || host == "" {
		host = "unknown"
	}
	host = strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' || r == '.' {
			return r
		}
		return '.'
	}, strings.ToLower(host))
	return fmt.Sprintf("%s-%s-%016x", prefix, host[:min(len(host), 30)], rand.Uint64())
}
