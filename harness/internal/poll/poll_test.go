package poll

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

func TestUntil(t *testing.T) {
	wrong := errors.New("wrong")
	for name, c := range map[string]struct {
		done  int // call that is the last one; 0 for none
		err   error
		limit time.Duration
		want  error
		calls int
		took  time.Duration
	}{
		"at once": {done: 1, limit: time.Minute, calls: 1},
		"later":   {done: 4, limit: time.Minute, calls: 4, took: 3 * time.Second},
		"fails":   {done: 2, err: wrong, limit: time.Minute, want: wrong, calls: 2, took: time.Second},
		"ends":    {limit: 2500 * time.Millisecond, want: context.DeadlineExceeded, calls: 3, took: 2500 * time.Millisecond},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithTimeout(t.Context(), c.limit)
				defer cancel()
				calls, start := 0, time.Now()
				err := Until(ctx, time.Second, func() (bool, error) {
					calls++
					if calls == c.done {
						return c.err == nil, c.err
					}
					return false, nil
				})
				if !errors.Is(err, c.want) || calls != c.calls || time.Since(start) != c.took {
					t.Errorf("%v after %d calls and %v, want %v after %d and %v", err, calls, time.Since(start), c.want, c.calls, c.took)
				}
			})
		})
	}
}
