package lease

import (
	"context"
	"errors"
	"log/slog"
	"time"
)

// watchEvery is how often a watchdog looks; retryEvery how often it tries again
// to put back what was left.
const (
	watchEvery = 10 * time.Second
	retryEvery = time.Minute
)

// DrainLimit is how long jobs get to end where nobody says otherwise.
const DrainLimit = 10 * time.Minute

// Watch restores the cluster whenever a hold is left behind, until ctx ends. It
// does what Restore does. Any number may watch a cluster: each takes the lease
// first, and those that come too late go on watching.
func Watch(ctx context.Context, c *Target, purpose string, log *slog.Logger) {
	w := &watchdog{cluster: c, purpose: purpose, log: log}
	for {
		if err := w.look(ctx); ctx.Err() == nil {
			w.say(err)
		}
		if wait(ctx, watchEvery) != nil {
			return
		}
	}
}

type watchdog struct {
	cluster *Target
	purpose string
	log     *slog.Logger

	seen  Lease // at the last look
	tried time.Time
	said  string
}

func (w *watchdog) look(ctx context.Context) error {
	b := book{w.cluster.Files}
	l, err := b.lease(ctx)
	if err != nil {
		return err
	}
	unrenewed := l.Epoch == w.seen.Epoch && !l.renewedSince(w.seen)
	w.seen = l
	// A released lease may have changes that could not be put back.
	if l.Epoch == 0 || !unrenewed || l.Released && time.Since(w.tried) < retryEvery {
		return nil
	}
	w.tried = time.Now()
	r, err := Restore(ctx, w.cluster, RestoreOptions{Options: Options{Purpose: w.purpose, Log: w.log}, Drain: DrainLimit, after: l.Epoch})
	var held *HeldError
	if errors.As(err, &held) || errors.Is(err, errPassed) { // it lives, or another watchdog was faster
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
		w.log.Warn("a job is left without nodes; kill it, or steer it again", "job", app)
	}
	return nil
}

// say logs an error that was not the last one's too.
func (w *watchdog) say(err error) {
	text := ""
	if err != nil {
		text = err.Error()
	}
	if text != w.said && text != "" {
		w.log.Warn("the cluster cannot be watched; trying again", "reason", text)
	} else if text != w.said {
		w.log.Info("the cluster is watched again")
	}
	w.said = text
}
