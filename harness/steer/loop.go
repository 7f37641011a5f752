package steer

import (
	"context"
	"time"
)

// callLimit bounds one call to the ResourceManager.
const callLimit = 3 * time.Second

// run is the loop: everything that changes the Driver happens in it, one thing
// after the other. Calls to the cluster run beside it.
func (d *Driver) run() {
	d.begin()
	for d.ctx.Err() == nil {
		select {
		case f := <-d.inbox:
			f()
		case <-d.ctx.Done():
		}
		for more := true; more && d.ctx.Err() == nil; { // what was decided together is carried out together
			select {
			case f := <-d.inbox:
				f()
			default:
				more = false
			}
		}
		if d.ctx.Err() == nil {
			d.openQueued()
			d.flushMoves()
		}
	}
	quiet := make(chan struct{})
	go func() { d.calls.Wait(); close(quiet) }()
	for done := false; !done; {
		select {
		case <-d.inbox: // answers that come too late
		case <-quiet:
			done = true
		}
	}
	d.giveUp()
	close(d.ended)
}

// post has the loop do f.
func (d *Driver) post(f func()) {
	select {
	case d.inbox <- f:
	case <-d.ended:
	}
}

// ask makes a read beside the loop and has the loop handle the answer.
func ask[T any](d *Driver, call func(context.Context) (T, error), then func(T, error)) {
	askWithin(d, callLimit, call, then)
}

func askWithin[T any](d *Driver, limit time.Duration, call func(context.Context) (T, error), then func(T, error)) {
	d.calls.Go(func() {
		ctx, cancel := context.WithTimeout(d.ctx, limit)
		defer cancel()
		answer, err := call(ctx)
		if d.ctx.Err() == nil {
			d.post(func() { then(answer, err) })
		}
	})
}

// change makes a change beside the loop. It is not cut off by the Driver's end:
// a change that was sent would be made all the same, perhaps later.
func (d *Driver) change(call func(context.Context) error, then func(error)) {
	d.calls.Go(func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(d.ctx), callLimit)
		defer cancel()
		err := call(ctx)
		d.post(func() { then(err) })
	})
}

// alarm has the loop do something at a time that may be moved.
type alarm struct {
	timer *time.Timer
	at    time.Time // zero: not set
}

func (d *Driver) newAlarm(f func()) *alarm {
	a := &alarm{}
	a.timer = time.AfterFunc(time.Hour, func() {
		if d.ctx.Err() == nil {
			d.post(func() {
				if a.at.IsZero() || time.Now().Before(a.at) { // moved meanwhile
					return
				}
				a.at = time.Time{}
				f()
			})
		}
	})
	a.timer.Stop()
	return a
}

// in sets the alarm, to the earlier time if it is set already.
func (a *alarm) in(wait time.Duration) {
	at := time.Now().Add(wait)
	if a.at.IsZero() || at.Before(a.at) {
		a.at = at
		a.timer.Reset(wait)
	}
}

func (a *alarm) off() {
	a.at = time.Time{}
	a.timer.Stop()
}
