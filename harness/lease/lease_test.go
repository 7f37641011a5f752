package lease

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"heddle/harness/lease/leasetest"
	"heddle/traces/errtest"
)

// pass lets virtual time go on.
func pass(d time.Duration) { <-time.After(d) }

// die ends a hold as a kill does. A renewal that is under way gets through.
func (h *Hold) die() {
	h.Abandon()
	synctest.Wait()
}

func take(t *testing.T, files Files) *Hold {
	t.Helper()
	h := errtest.Must(Take(t.Context(), files, Options{Purpose: "test"}))
	return h
}

// TestContenders lets many take a cluster whose holder has died: each in turn
// has it alone.
func TestContenders(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		files := leasetest.New()
		take(t, files).Abandon()
		var mu sync.Mutex
		holders, had := 0, map[int]bool{}
		var all sync.WaitGroup
		for range 8 {
			all.Go(func() {
				for {
					h, err := Take(t.Context(), files, Options{})
					if _, ok := errors.AsType[*HeldError](err); ok {
						continue
					}
					if err != nil {
						t.Error(err)
						return
					}
					mu.Lock()
					if holders++; holders > 1 {
						t.Error("two hold the cluster")
					}
					had[h.Epoch()] = true
					mu.Unlock()
					pass(40 * time.Second)
					mu.Lock()
					holders--
					mu.Unlock()
					if err := h.Release(t.Context()); err != nil {
						t.Error(err)
					}
					return
				}
			})
		}
		all.Wait()
		if len(had) != 8 {
			t.Errorf("holds had the epochs %v", had)
		}
	})
}

// TestClocks gives the NameNode a clock that is wrong, or jumps.
func TestClocks(t *testing.T) {
	for _, test := range []struct {
		name   string
		now    func() time.Time
		alive  bool          // the holder
		within time.Duration // for a dead one
	}{
		{"an hour behind", func() time.Time { return time.Now().Add(-time.Hour) }, false, leaseLimit + 2*lookEvery},
		{"an hour ahead", func() time.Time { return time.Now().Add(time.Hour) }, false, leaseLimit + 2*lookEvery},
		{"jumps ahead", jump(time.Hour), true, 0},
		{"jumps ahead after a crash", jump(time.Hour), false, watchLimit + 2*lookEvery},
		{"jumps back", jump(-time.Hour), true, 0},
		{"jumps back after a crash", jump(-time.Hour), false, leaseLimit + 2*lookEvery},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				files := leasetest.New()
				files.Now = test.now
				h := take(t, files)
				if !test.alive {
					h.die()
				}
				pass(time.Second)
				test.now() // jumps at the second look
				start := time.Now()
				next, err := Take(t.Context(), files, Options{})
				var held *HeldError
				switch {
				case test.alive && !errors.As(err, &held):
					t.Errorf("a live holder was robbed: %v", err)
				case test.alive:
				case err != nil:
					t.Error(err)
				default:
					if d := time.Since(start); d > test.within {
						t.Errorf("taken after %v, want within %v", d, test.within)
					}
				}
				if next != nil {
					next.Abandon()
				}
				h.die()
			})
		})
	}
}

// jump is a clock that is right for the first second.
func jump(by time.Duration) func() time.Time {
	var start time.Time
	return func() time.Time {
		if start.IsZero() {
			start = time.Now()
		}
		if time.Since(start) >= time.Second {
			return time.Now().Add(by)
		}
		return time.Now()
	}
}

// oneHangs is HDFS of which one call never answers.
type oneHangs struct {
	*leasetest.Files
	armed atomic.Bool
}

func (f *oneHangs) Names(ctx context.Context, name string) ([]string, error) {
	if f.armed.CompareAndSwap(true, false) {
		<-ctx.Done()
		return nil, context.Cause(ctx)
	}
	return f.Files.Names(ctx, name)
}

// TestHungRenewalIsGivenUp while there is time for another.
func TestHungRenewalIsGivenUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		files := leasetest.New()
		net := &oneHangs{Files: files}
		h := errtest.Must(Take(t.Context(), net, Options{}))
		for range 3 {
			net.armed.Store(true)
			pass(stopLimit + renewEvery)
			if net.armed.Load() {
				t.Error("nothing was renewed")
			}
			errtest.None(t, h.Lost())
		}
		if err := h.Release(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

// TestPausedProcessStops looks at a change that comes before the timer does.
func TestPausedProcessStops(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		files := leasetest.New()
		h := take(t, files)
		past := time.Now().Add(-stopLimit - time.Second)
		h.renewed.Store(&past)
		errtest.Is(t, h.Alive(), ErrLost)
		if h.Context().Err() == nil {
			t.Error("the context goes on")
		}
		if err := h.Release(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

// Where one of two NameNodes hangs, its connection is left when a call has taken too
// long, and not when the caller ends first.
func TestRenewalOutlastsItsCalls(t *testing.T) {
	if Patience.Call >= renewEvery {
		t.Errorf("a call may take %v, and the renewal that makes it %v", Patience.Call, renewEvery)
	}
}
