package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"

	"github.com/urfave/cli/v2"

	"heddle/traces/outfile"
)

// How long a command may go on after the first SIGINT or SIGTERM. One that
// changes nothing has the time to print what it has; others put a cluster back.
const (
	endLimit     = 700 * time.Millisecond
	putBackLimit = 28 * time.Second
)

// interruption is what SIGINT and SIGTERM do to the command under way. The first
// one ends its context. The process ends when the command returns, when its time
// is up, or with the second signal, so that a command that waits for a file or a
// server need not watch its context.
type interruption struct {
	mu sync.Mutex
	// putBack is what the command puts back or finishes after the first signal;
	// empty where it changes nothing. restore says how it is done later.
	putBack, restore string
}

type interruptionKey struct{}

// interruptible gives a command its context. Signals are taken from now on, and
// exit ends the process.
func interruptible(exit func(code int)) context.Context {
	ctx, cancel := context.WithCancelCause(context.Background())
	in := &interruption{}
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	go func() {
		in.watch(signals, cancel)
		exit(exitFailed)
	}()
	return context.WithValue(ctx, interruptionKey{}, in)
}

// watch returns when the process has to end.
func (in *interruption) watch(signals <-chan os.Signal, cancel context.CancelCauseFunc) {
	first := <-signals
	in.mu.Lock()
	putBack, restore := in.putBack, in.restore
	in.mu.Unlock()
	limit := endLimit
	if putBack != "" {
		limit = putBackLimit
		tell("putting back: " + putBack + "; a second signal ends this at once")
	}
	cancel(&interruptedError{first})
	select {
	case <-signals:
	case <-time.After(limit):
	}
	outfile.RemoveUnfinished()
	if putBack != "" {
		tell("ended before that was done; " + restore)
	} else {
		tell("interrupted")
	}
}

// interruptedError is why the context of a command ended.
type interruptedError struct{ signal os.Signal }

func (e *interruptedError) Error() string { return fmt.Sprintf("%v signal received", e.signal) }

// tell prints a line, unless nobody takes it: the command itself may be waiting
// for a reader of stderr.
func tell(text string) {
	told := make(chan struct{})
	go func() {
		fmt.Fprintln(stderr, "heddle:", text)
		close(told)
	}()
	select {
	case <-told:
	case <-time.After(100 * time.Millisecond):
	}
}

// putsBack notes, before a command changes anything, what it puts back or
// finishes when it is interrupted, and how that is done where it was ended before.
func putsBack(c *cli.Context, putBack, restore string) {
	if in, ok := c.Context.Value(interruptionKey{}).(*interruption); ok {
		in.mu.Lock()
		defer in.mu.Unlock()
		in.putBack, in.restore = putBack, restore
	}
}
