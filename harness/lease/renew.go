package lease

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// keep renews the lease on the cluster until ctx ends, which the holder ends, or the
// lease is lost.
// A renewal counts from the time at which it was started. The lease is lost
// when no renewal has succeeded for stopLimit, even while a call hangs.
func (h *Hold) keep(ctx context.Context) {
	defer h.end()
	lost := time.NewTimer(stopLimit - time.Since(*h.renewed.Load()))
	defer lost.Stop()
	next := time.NewTimer(renewEvery)
	defer next.Stop()
	var asked time.Time
	failed := errors.New("no answer from HDFS")
	var result chan error // channel on which the call that renews the lease sends its result
	for {
		select {
		case <-ctx.Done():
			return
		case <-lost.C:
			h.lose(fmt.Errorf("not renewed for %v: %w", stopLimit, failed))
			return
		case <-next.C:
			asked, result = time.Now(), make(chan error, 1)
			go func(result chan<- error) {
				ctx, cancel := context.WithTimeoutCause(ctx, renewEvery, fmt.Errorf("no answer from HDFS within %v", renewEvery))
				defer cancel()
				result <- h.dir.renew(ctx, h.epoch)
			}(result)
		case err := <-result:
			result = nil
			switch {
			case errors.Is(err, errSuperseded):
				h.lose(err)
				return
			case err != nil:
				failed = err
				h.log.Warn("the lease was not renewed", "reason", err)
				next.Reset(lookEvery)
			default:
				at := asked // time at which this renewal began; copied, since the next renewal overwrites the variable asked
				h.renewed.Store(&at)
				lost.Reset(stopLimit - time.Since(asked))
				next.Reset(renewEvery - time.Since(asked))
			}
		}
	}
}

// lose ends the right to change the cluster, with ErrLost. Another call of
// lose does nothing.
func (h *Hold) lose(why error) {
	err := fmt.Errorf("%w: %w", ErrLost, why)
	if h.lost.CompareAndSwap(nil, &err) {
		h.log.Error("the hold is lost; steering must stop", "reason", err)
	}
	h.cancel(err)
}

// Held returns nil if this process still has the lease on the cluster, or else
// an error that says why not. It compares the time itself: after the whole
// process was paused, a change could be made before the function keep notices
// that the lease has ended.
func (h *Hold) Held() error {
	if h.Lost() == nil && time.Since(*h.renewed.Load()) > stopLimit {
		h.lose(fmt.Errorf("not renewed for %v", stopLimit))
	}
	return h.Lost()
}

// Alive returns nil if this process has the lease and its work has not ended, or
// else an error that says why not.
func (h *Hold) Alive() error {
	if err := h.Held(); err != nil {
		return err
	}
	return context.Cause(h.ctx)
}
