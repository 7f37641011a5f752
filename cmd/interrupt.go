package cmd

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

// How long a command may continue after the first SIGINT, SIGTERM or SIGHUP. A command
// that has changed nothing on a cluster needs only time to print its results.
// Others need more, to undo their changes.
const (
	endLimit     = 700 * time.Millisecond
	putBackLimit = 28 * time.Second
)

// samePress is the time within which signals are one request to end. Programs
// that stop others often send more than one signal: timeout of GNU coreutils
// signals its child and then the whole process group, and a terminal repeats
// Ctrl-C about 30 times a second while the key is held down.
const samePress = time.Second

// interruption handles SIGINT, SIGTERM and SIGHUP for the running command. The first
// signal ends the command's context. The process ends when the command returns,
// but also after a time limit, or at a signal that follows the one before by
// samePress or more. So it ends even if the command waits for a file or a server
// and does not look at its context.
type interruption struct {
	mu sync.Mutex
	// putBack says what the command undoes or finishes on the cluster after the
	// first signal. It is empty if the command changes nothing. restore says
	// how the user can undo the changes later, if the command could not.
	putBack, restore string
	signals          chan os.Signal
}

type interruptionKey struct{}

// interruptible returns a context for a command and starts to handle signals.
// The first signal ends the context. The function exit ends the process.
func interruptible(exit func(code int)) context.Context {
	ctx, cancel := context.WithCancelCause(context.Background())
	in := &interruption{signals: make(chan os.Signal, 2)}
	signal.Notify(in.signals, os.Interrupt, syscall.SIGTERM)
	if !signal.Ignored(syscall.SIGHUP) { // nohup has it ignored
		signal.Notify(in.signals, syscall.SIGHUP)
	}
	go func() {
		in.watch(in.signals, cancel)
		exit(exitFailed)
	}()
	return context.WithValue(ctx, interruptionKey{}, in)
}

// watch waits for a signal, ends the command's context at the first
// signal, and returns when the process must end.
func (in *interruption) watch(signals <-chan os.Signal, cancel context.CancelCauseFunc) {
	first := <-signals
	pressed := time.Now()
	in.mu.Lock()
	putBack, restore := in.putBack, in.restore
	in.mu.Unlock()
	limit := endLimit
	if putBack != "" {
		limit = putBackLimit
		tell("putting back: " + putBack + "; a further signal, a second or more after the last, ends this at once")
	}
	cancel(&interruptedError{first})
	awaitPress(signals, pressed, pressed.Add(limit))
	outfile.RemoveUnfinished()
	if putBack != "" {
		tell("ended before that was done; " + restore)
	} else {
		tell("interrupted")
	}
}

// awaitPress returns when a signal arrives samePress or more after the signal
// before it, and at the time end at the latest. The time last is that of the
// first signal.
func awaitPress(signals <-chan os.Signal, last, end time.Time) {
	over := time.After(time.Until(end))
	for {
		select {
		case <-signals:
			now := time.Now()
			if now.Sub(last) >= samePress {
				return
			}
			last = now
		case <-over:
			return
		}
	}
}

// interruptedError is an error that names the signal that interrupted the
// command. It is the cause of the end of the command's context.
type interruptedError struct{ signal os.Signal }

func (e *interruptedError) Error() string { return fmt.Sprintf("%v signal received", e.signal) }

// tell prints a line to stderr. It gives up after a short time, since nobody
// may be reading stderr: the process must end all the same.
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

// putsBack records what a command undoes or finishes on a cluster if it is
// interrupted, and how the user can do that later. A command calls putsBack
// before it changes anything.
func putsBack(c *cli.Context, putBack, restore string) {
	if in, ok := c.Context.Value(interruptionKey{}).(*interruption); ok {
		in.mu.Lock()
		defer in.mu.Unlock()
		in.putBack, in.restore = putBack, restore
		// Whoever read the output may be gone, as with a lost connection. Without this, the
		// next line would end the process, with nothing put back.
		signal.Ignore(syscall.SIGPIPE)
	}
}

// hangupsFor has SIGHUP go to a channel, and interrupt the command no longer.
func hangupsFor(c *cli.Context, hangups chan<- os.Signal) {
	if in, ok := c.Context.Value(interruptionKey{}).(*interruption); ok {
		signal.Stop(in.signals)
		signal.Notify(in.signals, os.Interrupt, syscall.SIGTERM)
	}
	signal.Notify(hangups, syscall.SIGHUP)
}
