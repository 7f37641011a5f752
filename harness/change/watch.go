package change

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"heddle/harness/internal/poll"
	"heddle/harness/lease"
)

// watchEvery is how often a watchdog looks at the lease on the cluster.
// retryEvery is how long the watchdog waits before it tries again to put back
// changes that it failed to put back.
const (
	watchEvery = 10 * time.Second
	retryEvery = time.Minute
)

// DrainLimit is how long steered jobs get to end by default; see
// RestoreOptions.Drain.
const DrainLimit = 10 * time.Minute

// Watch puts the cluster back, as Restore does, whenever its holder has died
// without releasing it. It goes on until ctx ends. Several processes may watch
// one cluster. Each must take the lease before it restores; the others go on
// watching.
func Watch(ctx context.Context, c *Target, purpose string, log *slog.Logger) {
	w := &watchdog{cluster: c, purpose: purpose, log: log}
	for {
		if err := w.look(ctx); ctx.Err() == nil {
			w.say(err)
		}
		if poll.Wait(ctx, watchEvery) != nil {
			return
		}
	}
}

type watchdog struct {
	cluster *Target
	purpose string
	log     *slog.Logger

	seen  lease.Lease // the lease on the cluster, as this watchdog last saw it
	tried time.Time
	said  string
}

func (w *watchdog) look(ctx context.Context) error {
	l, err := lease.Newest(ctx, w.cluster.Files)
	if err != nil {
		return err
	}
	unrenewed := l.Epoch == w.seen.Epoch && !l.RenewedSince(w.seen)
	w.seen = l
	// Go on also for a released lease, since the holder may have left changes
	// that it could not put back; but try this only every retryEvery.
	if l.Epoch == 0 || !unrenewed || l.Released && time.Since(w.tried) < retryEvery {
		return nil
	}
	w.tried = time.Now()
	r, err := Restore(ctx, w.cluster, RestoreOptions{Options: Options{Purpose: w.purpose, Log: w.log, After: l.Epoch}, Drain: DrainLimit})
	// no error: the holder of the lease is alive, or another watchdog was faster
	if errors.As(err, new(*lease.HeldError)) || errors.Is(err, lease.ErrTakenMeanwhile) {
		return nil
	}
	if err != nil || len(r.Back)+len(r.Left) == 0 {
		return err
	}
	w.log.Info("cluster put back as it was", "changes", len(r.Back), "kept", len(r.Kept), "left", len(r.Left), "after", l.Owner.String())
	for _, i := range r.Left {
		w.log.Warn("not put back; trying again", "change", i.String(), "reason", i.Why)
	}
	for _, app := range r.Stranded {
		w.log.Warn("a job waits for a label that no node has; kill it, or steer it again", "job", app)
	}
	return nil
}

// say logs an error unless it is the same as the one logged before.
func (w *watchdog) say(err error) {
	text := ""
	if err != nil {
		text = err.Error()
	}
	if text != w.said && text != "" {
		w.log.Warn("the lease cannot be read; trying again", "reason", text)
	} else if text != w.said {
		w.log.Info("the lease can be read again")
	}
	w.said = text
}
