// Package lease lets one harness at a time change a cluster, and puts the
// changes back: labels and sizes of nodes, added labels, scheduler
// settings. It can put them back at a normal end
// ([Hold.Release]), after a kill -9, after a restart of the ResourceManager,
// from another machine ([Restore]), and unattended ([Watch]).
//
// Two kinds of files in HDFS make this safe; lease.go and journal.go describe
// them. The lease says who holds the cluster. The journal says, for each
// thing, what it was before its first change. Every change goes through the
// Hold, which writes the journal first. A second change of the same thing
// writes nothing.
//
// The package does not decide what to change. It does not see changes that
// others make meanwhile, with rmadmin for instance. A node that heddle and
// another user changed gets back what it had before the hold.
//
// Words:
//
//   - hold: the right of one harness to change the cluster, from Take to Release
//   - lease: the record of a hold in HDFS, renewed every 5 s; it is void, and may be taken over, after 30 s without renewal
//   - epoch: the number of a hold; each new hold has the next number
//   - note: a journal entry for one changed thing, with what it was before
//   - settle: to reduce the journal to the notes not put back yet
//   - pool: the node labels for steered jobs, as package require names them
//   - stranded: said of an application that waits for a label of the pool that no running node has
package lease

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/user"
	"sync"
	"sync/atomic"
	"time"

	"heddle/harness/clients"
	"heddle/yarnclient"
)

// Target is the cluster that a process wants the right to change, with the
// clients to change it.
type Target struct {
	// Name is the cluster's name, for use in messages.
	Name string
	RM   *yarnclient.RM
	// Files is the cluster's HDFS, which stores the lease and the journal of
	// changes.
	Files Files

	clients *clients.Clients // those that Connect made
}

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

// ErrLost means that a process lost the right to change the cluster before its
// work was done. Its lease could not be renewed in time, or another process
// took the cluster over.
var ErrLost = errors.New("the hold on the cluster is lost")

// Hold is the right of this process to change a cluster. Its methods may be
// called from many goroutines. Those that change something have the names and
// arguments of the methods of yarnclient.RM.
type Hold struct {
	cluster  *Target
	leaseDir leaseDir
	epoch    int
	older    []int // numbers of the earlier holds (of this cluster by any process) whose HDFS folders the method settle removes
	log      *slog.Logger

	ctx     context.Context
	cancel  context.CancelCauseFunc
	lost    atomic.Pointer[error]
	renewal sync.WaitGroup
	renewed atomic.Pointer[time.Time] // time at which the last successful renewal of the lease began
	ended   chan struct{}             // channel that is closed when the renewal of the lease is to stop
	end     func()

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
// the present holder is alive, Take returns a [*HeldError] after a few
// seconds. If the holder died, Take waits until the holder's lease is void.
//
// The hold's Context ends when ctx does, but the lease is renewed until
// Release.
func Take(ctx context.Context, c *Target, o Options) (*Hold, error) {
	h, err := begin(ctx, c, o, claimant{})
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
func begin(ctx context.Context, c *Target, o Options, as claimant) (*Hold, error) {
	h := &Hold{cluster: c, leaseDir: leaseDir{c.Files}, log: o.Log, ended: make(chan struct{})}
	if h.log == nil {
		h.log = slog.New(slog.DiscardHandler)
	}
	h.end = sync.OnceFunc(func() { close(h.ended) })
	epoch, asked, err := h.leaseDir.claim(ctx, ownerOf(o), as, h.log)
	if err != nil {
		return nil, err
	}
	h.epoch = epoch
	h.renewed.Store(&asked)
	h.ctx, h.cancel = context.WithCancelCause(ctx)
	h.renewal.Go(func() { h.keep(context.WithoutCancel(ctx)) })
	if h.older, h.notes, err = h.leaseDir.notesBefore(ctx, epoch); err == nil && o.Folder != "" {
		h.local, err = openLocal(o.Folder)
	}
	if err != nil {
		h.giveUp(ctx)
		return nil, err
	}
	return h, nil
}

func ownerOf(o Options) Owner {
	w := Owner{PID: os.Getpid(), Purpose: o.Purpose, Folder: o.Folder}
	w.Host, _ = os.Hostname() // ignore the error: if the host name is unknown, the owner's host is shown as empty
	if u, err := user.Current(); err == nil {
		w.User = u.Username
	}
	return w
}

// Epoch returns the number of this hold: the right of one process to change
// the cluster. A later hold on the same cluster has a higher number.
func (h *Hold) Epoch() int { return h.epoch }

// Context ends when this process may not change the cluster any more; its
// cause is ErrLost if the lease was lost. It also ends when the context given
// to Take does. Changes must stop then.
func (h *Hold) Context() context.Context { return h.ctx }

// Lost returns nil while this process may change the cluster. Otherwise it
// returns why the hold was lost.
func (h *Hold) Lost() error {
	if err := h.lost.Load(); err != nil {
		return *err
	}
	return nil
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
	h.cancel(errReleased)
	h.busy.Lock()
	defer h.busy.Unlock()
	defer h.abandon()
	if h.Lost() == nil {
		r, err := h.release(ctx, undoSteering)
		return r, h.unreleased(err)
	}
	h.end()
	r, err := restore(ctx, h.cluster, RestoreOptions{Options: Options{Purpose: "restore after a lost hold", Log: h.log}}, nil, h.epoch)
	if err == nil && len(r.Left) == 0 {
		err = h.local.settle()
	}
	return r, h.unreleased(err)
}

var errReleased = errors.New("the hold was released")

func (h *Hold) release(ctx context.Context, which undo) (Report, error) {
	h.noting.Lock()
	defer h.noting.Unlock()
	r, err := h.putBack(ctx, which)
	if err == nil {
		err = h.settle(ctx, r)
	}
	if err == nil {
		err = h.leaseDir.release(ctx, h.epoch)
	}
	return r, err
}

// giveUp releases the lease on a cluster if nothing was changed under this
// lease. The journal entries of earlier holders stay.
func (h *Hold) giveUp(ctx context.Context) {
	if err := h.leaseDir.release(context.WithoutCancel(ctx), h.epoch); err != nil {
		h.log.Warn("the lease was not released; it becomes void by itself", "reason", err)
	}
	h.abandon()
}

// abandon stops the renewal of the lease and leaves the lease and the changes
// on the cluster as they are, as a crash would.
func (h *Hold) abandon() {
	h.end()
	h.cancel(errReleased)
	h.renewal.Wait()
	h.local.close()
}

func (h *Hold) unreleased(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("release hold of cluster %s: %w; 'heddle labels restore' puts back what is still changed", h.cluster.Name, err)
}
