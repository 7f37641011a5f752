// Package poll waits for what has to be asked for again and again.
package poll

import (
	"context"
	"time"
)

// Until calls done at once, and then once in each interval, until it returns true or
// an error. If ctx ends before that, Until returns the error of ctx.
func Until(ctx context.Context, interval time.Duration, done func() (bool, error)) error {
	tick := time.NewTicker(interval)
	defer tick.Stop()
	for {
		if ok, err := done(); ok || err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-tick.C:
		}
	}
}

// Wait returns after duration d, or with the cause of ctx when that ends.
func Wait(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-t.C:
		return nil
	}
}
