package lease

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// keep renews the lease until the hold ends. A renewal counts from the moment
// it was asked for. When none has come through for stopLimit, the hold is lost,
// also while a call hangs.
func (h *Hold) keep(ctx context.Context) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	lost := time.NewTimer(stopLimit - time.Since(*h.renewed.Load()))
	defer lost.Stop()
	next := time.NewTimer(renewEvery)
	defer next.Stop()
	var asked time.Time
	failed := errors.New("no answer from HDFS")
	var result chan error // of the renewal under way
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
				result <- h.book.renew(ctx, h.epoch)
			}(result)
		case err := <-result:
			result = nil
			switch {
			case errors.Is(err, errSuperseded):
				h.lose(err)
				return
			case err != nil:
				failed = err
				h.log.Warn("lease not renewed", "reason", err)
				next.Reset(lookEvery)
			default:
				at := asked // of its own: the next renewal only counts when it is through
				h.renewed.Store(&at)
				lost.Reset(stopLimit - time.Since(asked))
				next.Reset(renewEvery - time.Since(asked))
			}
		}
	}
}

// lose ends the hold, unless it is lost already.
func (h *Hold) lose(why error) {
	err := fmt.Errorf("%w: %w", ErrLost, why)
	if h.lost.CompareAndSwap(nil, &err) {
		h.log.Error("steering must stop", "reason", err)
	}
	h.cancel(err)
}

// held says that the lease is still ours, or why not. It looks at the time
// itself: after a pause of the whole process, a change may come before keep.
func (h *Hold) held() error {
	if h.Lost() == nil && time.Since(*h.renewed.Load()) > stopLimit {
		h.lose(fmt.Errorf("not renewed for %v", stopLimit))
	}
	return h.Lost()
}

// alive says that steering may go on, or why not.
func (h *Hold) alive() error {
	if err := h.held(); err != nil {
		return err
	}
	return context.Cause(h.ctx)
}
