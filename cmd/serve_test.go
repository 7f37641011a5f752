package cmd

import (
	"bufio"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// served starts a command, and returns the address that it prints, and a function that
// sends it a signal and returns its exit code and what else it said.
func served(t *testing.T, args ...string) (address string, end func(syscall.Signal) (code int, said string)) {
	t.Helper()
	c := program(t, args...)
	stderr, err := c.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewReader(stderr)
	for address == "" {
		line, err := lines.ReadString('\n')
		if err != nil {
			t.Fatalf("no address: %v", err)
		}
		if _, found, ok := strings.Cut(line, "http://"); ok {
			address = "http://" + strings.TrimSpace(found)
		}
	}
	return address, func(s syscall.Signal) (int, string) {
		if err := c.Process.Signal(s); err != nil {
			t.Error(err)
		}
		said, _ := io.ReadAll(lines)
		_ = c.Wait() // its exit code says it
		return c.ProcessState.ExitCode(), string(said)
	}
}

func get(t *testing.T, address string) string {
	t.Helper()
	r, err := http.Get(address)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Body.Close()
	text, err := io.ReadAll(r.Body)
	if err != nil || r.StatusCode != 200 {
		t.Fatalf("%s: status %d, %v", address, r.StatusCode, err)
	}
	return string(text)
}

// TestServe lists runs until it is told to end.
func TestServe(t *testing.T) {
	for _, s := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM} {
		address, end := served(t, "serve", "../harness/fidelity/testdata")
		if list := get(t, address); !strings.Contains(list, `<a href="run/run">run</a>`) {
			t.Errorf("no list of runs: %.500s", list)
		}
		if page := get(t, address+"run/run"); !strings.Contains(page, "Measured on a cluster (6 trials).") || !strings.Contains(page, "Measured against predicted") {
			t.Error("no report of the run")
		}
		if code, said := end(s); code != 0 || said != "" {
			t.Errorf("%v: exit code %d, said %q", s, code, said)
		}
	}
}

// TestServeInterrupted interrupts a run that a browser follows: the browser is told, and
// the run ends as any that is interrupted.
func TestServeInterrupted(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "long.yaml")
	if err := os.WriteFile(file, []byte("workloads: [{name: wordcount, size: 100GiB, maps: 20000, reduces: 2}]\nmodels: [fifo]\nactuator: labels\nrepeats: 500\ntimeout: 48h\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	address, end := served(t, "run", "--simulate", "--serve", "--runs", dir, "--run-name", "long", file)
	r, err := http.Get(address + "events")
	if err != nil {
		t.Fatal(err)
	}
	defer r.Body.Close()
	events := bufio.NewReader(r.Body)
	for following := false; !following; {
		line, err := events.ReadString('\n')
		if err != nil {
			t.Fatal(err)
		}
		following = strings.Contains(line, " of 500: ")
	}
	if text := get(t, address+"metrics"); !strings.Contains(text, "heddle_run_trials 500\n") || !strings.Contains(text, `heddle_run_info{run="long"} 1`) {
		t.Errorf("metrics:\n%s", text)
	}
	code, said := end(syscall.SIGINT)
	if code != exitFailed || !strings.Contains(said, "to continue: heddle run --resume") {
		t.Errorf("exit code %d, said %q", code, said)
	}
	if rest, err := io.ReadAll(events); err != nil || !strings.Contains(string(rest), `"ended":"interrupted"`) {
		t.Errorf("the browser was told %q, %v", rest, err)
	}
}
