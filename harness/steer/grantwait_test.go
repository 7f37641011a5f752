package steer

import (
	"testing"
	"time"
)

// TestGrantWait has decisions wait for their containers, and says how long the next one
// would wait.
func TestGrantWait(t *testing.T) {
	const (
		none      = -1 * time.Second // a decision that got no container
		meanwhile = -2 * time.Second // one that got none while the one before it did
	)
	of := func(n int, wait time.Duration) (list []time.Duration) {
		for range n {
			list = append(list, wait)
		}
		return list
	}
	for _, c := range []struct {
		name  string
		least time.Duration
		waits []time.Duration
		limit time.Duration
	}{
		{"nothing is known", 5 * time.Second, nil, 20 * time.Second},
		{"little is known", 5 * time.Second, of(15, 40*time.Millisecond), 20 * time.Second},
		{"enough is known", 5 * time.Second, of(16, 40*time.Millisecond), 5 * time.Second},
		{"an idle cluster", 5 * time.Second, of(200, 40*time.Millisecond), 5 * time.Second},
		{"a busy cluster", 5 * time.Second, of(20, 3*time.Second), 12 * time.Second},
		{"one slow grant of many counts for nothing", 5 * time.Second, append(of(63, 40*time.Millisecond), 4*time.Second), 5 * time.Second},
		{"one in ten is slow", 5 * time.Second, append(of(57, 40*time.Millisecond), of(7, 4*time.Second)...), 16 * time.Second},
		{"the cluster is idle again", 5 * time.Second, append(of(100, 4*time.Second), of(64, 40*time.Millisecond)...), 5 * time.Second},
		{"a minute is the most", 5 * time.Second, of(10, 40*time.Second), time.Minute},
		{"in vain", 5 * time.Second, append(of(16, 40*time.Millisecond), none), 10 * time.Second},
		{"three times in vain", 5 * time.Second, append(of(16, 40*time.Millisecond), of(3, none)...), 40 * time.Second},
		{"in vain for ever", 5 * time.Second, of(1000, none), time.Minute},
		{"a container came after all", 5 * time.Second, append(of(3, none), of(16, 30*time.Millisecond)...), 5 * time.Second},
		{"in vain while others get theirs", 5 * time.Second, append(of(16, 40*time.Millisecond), of(9, meanwhile)...), 5 * time.Second},
		{"a least time above the most", 2 * time.Minute, append(of(10, time.Second), none), 2 * time.Minute},
	} {
		w, now := grantWait{least: c.least}, time.Unix(1, 0)
		for _, wait := range c.waits {
			switch limit := w.limit(); wait {
			case none:
				now = now.Add(limit)
				w.inVain(now.Add(-limit), limit)
			case meanwhile:
				w.inVain(now.Add(-limit), limit)
			default:
				now = now.Add(wait)
				w.came(now, wait)
			}
		}
		w.inVain(now, w.least/2) // a decision made when less was known of the cluster
		if got := w.limit(); got != c.limit {
			t.Errorf("%s: the next decision waits %v, want %v", c.name, got, c.limit)
		}
		if got, want := w.times(2*time.Second), 2*c.limit/(c.least/time.Second); got != want {
			t.Errorf("%s: room is waited for %v, want %v", c.name, got, want)
		}
		if len(w.waits) > lastWaits {
			t.Errorf("%s: %d waits are kept, want %d at most", c.name, len(w.waits), lastWaits)
		}
	}
}
