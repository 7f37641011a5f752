package cmd

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os/exec"
	"slices"

	"github.com/urfave/cli/v2"

	"heddle/harness/clients"
	"heddle/harness/config"
	"heddle/harness/demo"
	"heddle/harness/lab"
	"heddle/harness/lease"
	"heddle/harness/runs"
	"heddle/harness/sim"
	"heddle/traces/tracefile"
)

// Exit codes of all commands.
const (
	exitFailed    = 1 // exit code: the work failed
	exitUsage     = 2 // exit code: bad usage or bad input
	exitCluster   = 3 // exit code: the cluster cannot be reached, or lacks something that the command needs
	exitThreshold = 4 // exit code: a threshold that the user set was missed, or the trials cannot tell
)

// Errors that mean the same in all commands.
var (
	wrongInput = []error{runs.ErrExists, runs.ErrNotRun, runs.ErrRunning, runs.ErrDamaged, clients.ErrBadFile, lab.ErrBadName}
	noCluster  = []error{lab.ErrNotFound, lab.ErrDown}
)

// exitCode returns the code with which the process ends after an error.
func exitCode(ctx context.Context, err error) int {
	var coded *codedError
	var file *fs.PathError
	is := func(errs []error) bool {
		return slices.ContainsFunc(errs, func(e error) bool { return errors.Is(err, e) })
	}
	switch {
	case errors.As(context.Cause(ctx), new(*interruptedError)), errors.Is(err, sim.ErrInterrupted):
		return exitFailed
	case errors.As(err, &coded):
		return coded.code
	case is(wrongInput), errors.As(err, new(*config.Error)):
		return exitUsage
	case is(noCluster), clients.Unable(err), errors.As(err, new(*lease.HeldError)),
		errors.As(err, new(*lab.MissingError)), errors.As(err, new(*demo.NotReadyError)):
		return exitCluster
	case errors.As(err, new(*tracefile.WriteError)), errors.As(err, &file) && file.Op == "write":
		return exitFailed
	case errors.As(err, new(*inputError)):
		return exitUsage
	case errors.As(err, new(cli.ExitCoder)) && !errors.As(err, new(*exec.ExitError)):
		return exitUsage // the cli library returns an error of this type if the user asks for help on an unknown command
	}
	return exitFailed
}

// inputError is an error of a command that reads files, about what it reads.
type inputError struct{ error }

func (e *inputError) Unwrap() error { return e.error }

// usage returns an error of the user's input.
func usage(err error) error {
	if errors.As(err, new(*codedError)) {
		return err // such as a cluster that does not answer
	}
	return withCode(exitUsage, err)
}

func usagef(format string, args ...any) error { return usage(fmt.Errorf(format, args...)) }

// failed returns an error that is not about what a command has read.
func failed(err error) error { return withCode(exitFailed, err) }

// withCode gives an error the exit code with which the process is to end.
func withCode(code int, err error) error {
	if err == nil {
		return nil
	}
	return &codedError{code, err}
}

type codedError struct {
	code int
	err  error
}

func (e *codedError) Error() string { return e.err.Error() }
func (e *codedError) Unwrap() error { return e.err }
