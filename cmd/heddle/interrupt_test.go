package main

import (
	"bufio"
	"bytes"
	"encoding/json"
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
	c := exec.CommandContext(t.Context(), os.Args[0], "bench", "--json", "--load", "huge", "--repeat", "1000")
	var stdout bytes.Buffer
	c.Stdout = &stdout
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
	if err := c.Wait(); !errors.As(err, &exit) || exit.ExitCode() != exitFailed || !strings.Contains(strings.Join(said, "\n"), "interrupted") {
		t.Errorf("told to stop: %v, said %q; want exit code %d and that it was interrupted", err, said, exitFailed)
	}
	// Where the load took too long to notice, not even the list was begun.
	if list := strings.TrimSpace(stdout.String()); list != "[]" && list != "" {
		t.Errorf("stdout is no empty list: %s", list)
	}
}

// TestBenchJSON: loads that are printed as they are done make a list.
func TestBenchJSON(t *testing.T) {
	c := exec.CommandContext(t.Context(), os.Args[0], "bench", "--json", "--repeat", "1", "--load", "synthetic-1k-nonet", "--load", "synthetic-1k-late")
	c.Env = append(os.Environ(), asMain+"=1")
	out, err := c.Output()
	if err != nil {
		t.Fatal(err)
	}
	var loads []struct {
		Load           string
		Tasks          int64
		ScheduleDigest string
	}
	if err := json.Unmarshal(out, &loads); err != nil || len(loads) != 2 {
		t.Fatalf("%v in\n%s", err, out)
	}
	for _, l := range loads {
		if l.Tasks != 1_000_000 || len(l.ScheduleDigest) != 16 {
			t.Errorf("%+v, want a million tasks and a digest", l)
		}
	}
}
