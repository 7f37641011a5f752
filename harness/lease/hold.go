// Package lease gives one harness at a time the right to change a cluster, and
// puts back what was changed: labels of nodes, sizes of nodes, labels added,
// priorities of applications, scheduler settings. It does so in order
// ([Hold.Release]), after a kill -9, after a restart of the ResourceManager and
// from another machine ([Restore]), and unattended ([Watch]).
//
// Two things in HDFS make that safe. A lease, renewed every 5 s, says who holds
// the cluster; it is void when it was not renewed for 30 s. A journal has, once
// for each thing and before its first change, what it was before. A change goes
// through the Hold, which notes it first; the second change of the same thing
// costs a look into a map. See lease.go and journal.go for the formats.
//
// What it leaves out: what to change is the caller's business, and changes that
// others make meanwhile, with rmadmin, are not seen. A node that both changed
// goes back to what it was before the hold.
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

	"heddle/yarnclient"
)

// Target is what a hold works on.
type Target struct {
	// Name appears in messages.
	Name string
	RM   *yarnclient.RM
	// Files is the cluster's HDFS, where lease and journal are.
	Files Files
}

// Options of a hold.
type Options struct {
	// Purpose says what the cluster is held for, to whoever finds it held:
	// "heddle run first.yaml".
	Purpose string
	// Folder, if set, takes a copy of the journal (FileName), for the case that
	// HDFS loses its own.
	Folder string
	// Log takes what an operator needs to see; nil discards it.
	Log *slog.Logger
}

// ErrLost is the cause when a hold ended before its Release: it could not be
// renewed in time, or another has taken over.
var ErrLost = errors.New("the hold on the cluster is lost")

// Hold is the right to change a cluster. Its methods are safe for use by many
// goroutines. Those that change something have the names and arguments of
// yarnclient.RM's.
type Hold struct {
	cluster *Target
	book    book
	epoch   int
	older   []int // epochs whose folders are settled with this hold's
	log     *slog.Logger

	ctx     context.Context
	cancel  context.CancelCauseFunc
	lost    atomic.Pointer[error]
	renewal sync.WaitGroup
	renewed atomic.Pointer[time.Time] // when the last successful renewal was asked for
	ended   chan struct{}             // closed to end the renewal
	end     func()

	busy   sync.RWMutex // read-locked by a change under way, locked by Release
	noting sync.Mutex   // held while the journal is written
	mu     sync.RWMutex // guards notes
	notes  notes
	files  int // notes written to HDFS
	local  *localJournal
	drain  time.Duration // see RestoreOptions
}

// Take waits until the cluster is free, puts back what an earlier hold has left
// changed, and holds the cluster until Release. A [*HeldError] says that another
// holds it and is alive, which shows within a few seconds; for one that died it
// waits until its lease is void.
//
// The hold's Context ends with ctx too, but the lease is renewed until Release.
func Take(ctx context.Context, c *Target, o Options) (*Hold, error) {
	h, err := begin(ctx, c, o, claimant{})
	if err == nil {
		var left Report
		if left, err = h.putBack(ctx, undoSteering); err == nil {
			for _, item := range left.Left {
				h.log.Warn("an earlier hold's change is still there", "change", item.String(), "reason", item.Why)
			}
			err = h.settle(ctx, left)
		}
		if err != nil {
			h.giveUp(ctx)
		}
	}
	if err != nil {
		return nil, fmt.Errorf("take hold of cluster %s: %w", c.Name, err)
	}
	return h, nil
}

// begin claims the lease, reads what is noted and keeps the lease renewed.
func begin(ctx context.Context, c *Target, o Options, as claimant) (*Hold, error) {
	h := &Hold{cluster: c, book: book{c.Files}, log: o.Log, ended: make(chan struct{})}
	if h.log == nil {
		h.log = slog.New(slog.DiscardHandler)
	}
	h.end = sync.OnceFunc(func() { close(h.ended) })
	epoch, asked, err := h.book.claim(ctx, ownerOf(o), as, h.log)
	if err != nil {
		return nil, err
	}
	h.epoch = epoch
	h.renewed.Store(&asked)
	h.ctx, h.cancel = context.WithCancelCause(ctx)
	h.renewal.Go(func() { h.keep(context.WithoutCancel(ctx)) })
	if h.older, h.notes, err = h.book.notesBefore(ctx, epoch); err == nil && o.Folder != "" {
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
	w.Host, _ = os.Hostname() // empty is said so
	if u, err := user.Current(); err == nil {
		w.User = u.Username
	}
	return w
}

// Epoch numbers the holds of a cluster; a later hold has a higher one.
func (h *Hold) Epoch() int { return h.epoch }

// Context ends when the hold does: with ErrLost as cause when it was lost, and
// with the context given to Take. Steering must stop then.
func (h *Hold) Context() context.Context { return h.ctx }

// Lost is nil, or says why the hold was lost.
func (h *Hold) Lost() error {
	if err := h.lost.Load(); err != nil {
		return *err
	}
	return nil
}

// Release puts the cluster back as it was and lets go of it. Changes under way
// are waited for, later ones refused. What could not be put back is in the
// report, stays in the journal, and is tried again by Restore and by the next
// Take. After a hold was lost, it does what Restore does.
//
// Jobs that ask for labels which no node has then are in Report.Stranded: wait
// for them, or kill them, before.
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
		err = h.book.release(ctx, h.epoch)
	}
	return r, err
}

// giveUp lets go of a cluster that this hold has changed nothing of: what older
// holds noted is still there.
func (h *Hold) giveUp(ctx context.Context) {
	if err := h.book.release(context.WithoutCancel(ctx), h.epoch); err != nil {
		h.log.Warn("lease not released; it will be void by itself", "reason", err)
	}
	h.abandon()
}

// abandon ends the hold without putting anything back, as a crash would.
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
	return fmt.Errorf("release hold of cluster %s: %w; what is still changed there puts back, later: heddle labels restore", h.cluster.Name, err)
}
