package lease

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// keep renews the lease until the hold ends. A renewal counts from the time at
// which it was started. The hold is lost when no renewal has succeeded for
// stopLimit, even while a call hangs.
func (h *Hold) keep(ctx context.Context) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	lost := time.NewTimer(stopLimit - time.Since(*h.renewed.Load()))
	defer lost.Stop()
	next := time.NewTimer(renewEvery)
	defer next.Stop()
	var asked time.Time
	failed := errors.New("no answer from HDFS")
	var result chan error // where the renewal under way sends its result
	for {
		select {
		case <-h.ended:
			return
		case <-lost.C:
			h.lose(fmt.Errorf("not renewed for %v: %w", stopLimit, failed))
			return
		case <-next.C:
			asked, result = time.Now(), make(chan error, 1)
			go func(result chan<- error) {
				ctx, cancel := context.WithTimeoutCause(ctx, renewEvery, fmt.Errorf("no answer from HDFS within %v", renewEvery))
				defer cancel()
				result <- h.leaseDir.renew(ctx, h.epoch)
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
				at := asked // the start of this renewal, copied since asked changes with the next one
				h.renewed.Store(&at)
				lost.Reset(stopLimit - time.Since(asked))
				next.Reset(renewEvery - time.Since(asked))
			}
		}
	}
}

// lose ends the hold with ErrLost; a second call does nothing.
func (h *Hold) lose(why error) {
	err := fmt.Errorf("%w: %w", ErrLost, why)
	if h.lost.CompareAndSwap(nil, &err) {
		h.log.Error("the hold is lost; steering must stop", "reason", err)
	}
	h.cancel(err)
}

// held returns nil if the lease is still ours, or else why not. It checks the
// time itself: after this whole process was paused, a change could come before
// keep has noticed.
func (h *Hold) held() error {
	if h.Lost() == nil && time.Since(*h.renewed.Load()) > stopLimit {
		h.lose(fmt.Errorf("not renewed for %v", stopLimit))
	}
	return h.Lost()
}

// alive returns nil if changes may go on, or else why not.
func (h *Hold) alive() error {
	if err := h.held(); err != nil {
		return err
	}
	return context.Cause(h.ctx)
}
