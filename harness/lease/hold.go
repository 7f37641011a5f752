// Package lease lets one harness at a time change a cluster. The lease is in
// HDFS; lease.go describes its files. A process that is killed, cut off or
// paused loses it after a time, from whatever host another one asks: no process
// id counts.
//
// The package changes nothing on a cluster. Package change does, and keeps its
// journal in the lease's folder.
//
// Words:
//
//   - hold: the right of one harness to change the cluster, from Take to Release
//   - lease: the record of a hold in HDFS, renewed every 5 s; it is void, and may be taken over, after 30 s without renewal
//   - epoch: the number of a hold; each new hold has the next number
package lease

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"os/user"
	"sync"
	"sync/atomic"
	"time"
)

// Options say who wants a cluster, and what for.
type Options struct {
	// Purpose says what the cluster is held for, such as "heddle run
	// first.yaml". Other processes that want the cluster see it.
	Purpose string
	// Folder is the path of the process's run folder, if it has one. Other
	// processes that want the cluster see it.
	Folder string
	// Log gets messages for the operator; nil discards the messages.
	Log *slog.Logger
	// Own is the epoch of this process's own earlier lease, which it may take over
	// even if that is not void. After is the epoch of the only lease that may be
	// taken over from its holder. 0 sets no condition.
	Own, After int
}

// ErrLost means that a process lost the right to change the cluster before its
// work was done. Its lease could not be renewed in time, or another process
// took the cluster over.
var ErrLost = errors.New("the hold on the cluster is lost")

// Hold is the right of this process to change a cluster. Its methods may be
// called from many goroutines.
type Hold struct {
	dir   leaseDir
	epoch int
	log   *slog.Logger

	ctx     context.Context
	cancel  context.CancelCauseFunc
	lost    atomic.Pointer[error]
	renewal sync.WaitGroup
	renewed atomic.Pointer[time.Time] // time at which the last successful renewal of the lease began
	end     context.CancelFunc        // stops the renewal of the lease
}

// Take waits until no other process holds the cluster, and holds it until
// Release or Abandon. If the present holder is alive, Take returns a
// [*HeldError] after a few seconds. If the holder died, Take waits until the
// holder's lease is void.
//
// The hold's Context ends when ctx does, but the lease is renewed until the end
// of the hold.
func Take(ctx context.Context, files Files, o Options) (*Hold, error) {
	h := &Hold{dir: leaseDir{files}, log: o.Log}
	if h.log == nil {
		h.log = slog.New(slog.DiscardHandler)
	}
	epoch, asked, err := h.dir.claim(ctx, o, h.log)
	if err != nil {
		return nil, err
	}
	h.epoch = epoch
	h.renewed.Store(&asked)
	h.ctx, h.cancel = context.WithCancelCause(ctx)
	renewing, end := context.WithCancel(context.WithoutCancel(ctx))
	h.end = end
	h.renewal.Go(func() { h.keep(renewing) })
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

// Finish ends the hold's Context, so that no work begins any more. The lease is
// renewed further, so that what was changed can be put back.
func (h *Hold) Finish() { h.cancel(errReleased) }

var errReleased = errors.New("the hold was released")

// Release gives up the right to change the cluster. If it fails, the hold goes
// on; Abandon ends it.
func (h *Hold) Release(ctx context.Context) error {
	err := h.dir.release(ctx, h.epoch)
	if err == nil {
		h.Abandon()
	}
	return err
}

// GiveUp releases a hold under which nothing was changed. If that fails, the
// lease becomes void by itself.
func (h *Hold) GiveUp(ctx context.Context) {
	if err := h.Release(context.WithoutCancel(ctx)); err != nil {
		h.log.Warn("the lease was not released; it becomes void by itself", "reason", err)
	}
	h.Abandon()
}

// Abandon stops the renewal of the lease and leaves the lease on the cluster as
// it is, as a crash would.
func (h *Hold) Abandon() {
	h.end()
	h.Finish()
	h.renewal.Wait()
}
