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

// How long a command may continue after the first SIGINT or SIGTERM. A command
// that changes nothing on a cluster has time to print its results. Other
// commands need time to undo their changes.
const (
	endLimit     = 700 * time.Millisecond
	putBackLimit = 28 * time.Second
)

// interruption handles SIGINT and SIGTERM for the running command. The first
// signal ends the command's context. The process ends when the command returns,
// after a time limit, or at the second signal. So a command that waits for a
// file or a server need not watch its context.
type interruption struct {
	mu sync.Mutex
	// putBack says what the command undoes or finishes after the first signal.
	// It is empty if the command changes nothing. restore says how the user can
	// do that later.
	putBack, restore string
}

type interruptionKey struct{}

// interruptible returns the context of a command and starts to handle signals.
// It calls exit to end the process.
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

// watch waits for SIGINT and SIGTERM and returns when the process must end.
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

// interruptedError is an error that names the signal that interrupted the
// command. It is the cause of the context's end.
type interruptedError struct{ signal os.Signal }

func (e *interruptedError) Error() string { return fmt.Sprintf("%v signal received", e.signal) }

// tell prints a line to stderr. It gives up after a short time: nobody may be
// reading stderr, and the command itself may be waiting to write to it.
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

// putsBack records what a command undoes or finishes if it is interrupted, and
// how the user can do that later. A command calls it before it changes
// anything.
func putsBack(c *cli.Context, putBack, restore string) {
	if in, ok := c.Context.Value(interruptionKey{}).(*interruption); ok {
		in.mu.Lock()
		defer in.mu.Unlock()
		in.putBack, in.restore = putBack, restore
	}
}
