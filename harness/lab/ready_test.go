package lab

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"heddle/yarnclient"
)

// TestUnansweredAgain repeats what had no answer, and nothing else, for as long as there
// is time. The error is that of the last call.
func TestUnansweredAgain(t *testing.T) {
	slow := fmt.Errorf("make labels: %w", &yarnclient.RequestError{Err: errors.New("no answer within 2s")})
	refused := fmt.Errorf("make labels: %w", &yarnclient.RequestError{Status: 403, Err: errors.New("not an admin")})
	broken := errors.New("broken")
	for _, c := range []struct {
		name    string
		answers []error // of the calls; the last repeats
		calls   int     // 0: until the time is up
		want    error
	}{
		{"answered", []error{nil}, 1, nil},
		{"answered late", []error{slow, slow, nil}, 3, nil},
		{"refused", []error{slow, refused}, 2, refused},
		{"another error", []error{broken}, 1, broken},
		{"never answered", []error{slow}, 0, slow},
	} {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			calls := 0
			err := unansweredAgain(ctx, func() error {
				calls++
				return c.answers[min(calls, len(c.answers))-1]
			})
			if !errors.Is(err, c.want) || c.want == nil && err != nil || c.calls > 0 && calls != c.calls || c.calls == 0 && ctx.Err() == nil {
				t.Errorf("%s: %v after %d calls", c.name, err, calls)
			}
		})
	}
}
