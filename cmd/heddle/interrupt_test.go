package main

import (
	"bufio"
	"errors"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
)

// TestInterrupted: a command that only computes ends at the first signal.
func TestInterrupted(t *testing.T) {
	// A process of its own, since signals are for processes; huge takes a minute.
	c := exec.CommandContext(t.Context(), os.Args[0], "bench", "--load", "huge", "--repeat", "1000")
	c.Env = append(os.Environ(), asMain+"=1")
	stderr, err := c.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	lines, said := bufio.NewScanner(stderr), []string{}
	for lines.Scan() {
		if said = append(said, lines.Text()); len(said) == 1 { // it has begun
			if err := c.Process.Signal(syscall.SIGTERM); err != nil {
				t.Fatal(err)
			}
		}
	}
	var exit *exec.ExitError
	if err := c.Wait(); !errors.As(err, &exit) || exit.ExitCode() != exitFailed || !strings.Contains(said[len(said)-1], "interrupted") {
		t.Errorf("told to stop: %v, said %q; want exit code %d and that it was interrupted", err, said, exitFailed)
	}
}
