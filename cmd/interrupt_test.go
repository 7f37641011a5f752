package cmd

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/urfave/cli/v2"
)

// TestWhichSignalEnds: when the process ends, by the times of the signals that it
// gets, counted from the first.
func TestWhichSignalEnds(t *testing.T) {
	repeated := func(every, until time.Duration) (at []time.Duration) {
		for d := every; d <= until; d += every {
			at = append(at, d)
		}
		return at
	}
	const key = time.Second / 30 // while Ctrl-C is held down, a terminal repeats it about this often
	for _, c := range []struct {
		name  string
		after []time.Duration // signals after the first
		want  time.Duration
	}{
		{"one", nil, putBackLimit},
		{"GNU timeout: the process, then its group", []time.Duration{time.Millisecond}, putBackLimit},
		{"just under a second", []time.Duration{samePress - 1}, putBackLimit},
		{"a second", []time.Duration{samePress}, samePress},
		{"timeout in a service that is stopped", []time.Duration{0, time.Millisecond, 2 * time.Millisecond}, putBackLimit},
		{"Ctrl-C held down for three seconds", repeated(key, 3*time.Second), putBackLimit},
		{"Ctrl-C held down until the end", repeated(key, 60*time.Second), putBackLimit},
		{"held down, then pressed again", append(repeated(key, 900*time.Millisecond), 2*time.Second), 2 * time.Second},
		{"twice in a hurry, and again", []time.Duration{300 * time.Millisecond, 5 * time.Second}, 5 * time.Second},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				signals := make(chan os.Signal, 2)
				began, stop := time.Now(), make(chan struct{})
				go func() {
					for _, at := range c.after {
						select {
						case <-time.After(time.Until(began.Add(at))):
						case <-stop:
							return
						}
						select {
						case signals <- syscall.SIGTERM:
						default: // as signal.Notify does if nobody reads
						}
					}
				}()
				awaitPress(signals, began, began.Add(putBackLimit))
				close(stop)
				if took := time.Since(began); took != c.want {
					t.Errorf("ends after %v, want %v", took, c.want)
				}
			})
		})
	}
}

// TestStoppedByOthers: a command that puts something back is stopped in the ways
// in which other programs do that. It gets to the end of that.
func TestStoppedByOthers(t *testing.T) {
	for _, x := range []struct {
		name   string
		argv   []string
		signal syscall.Signal
		group  bool // the signal is for all processes
	}{
		{"GNU timeout", []string{"timeout", "1000"}, syscall.SIGALRM, false}, // its clock sends this signal to it
		{"GNU timeout with a kill after", []string{"timeout", "-k", "30", "1000"}, syscall.SIGALRM, false},
		{"GNU timeout that is stopped", []string{"timeout", "1000"}, syscall.SIGTERM, false},
		{"a service manager, which signals all processes", []string{"timeout", "1000"}, syscall.SIGTERM, true},
		{"Ctrl-C, which signals all processes", []string{"timeout", "--foreground", "1000"}, syscall.SIGINT, true},
		{"a closed terminal or a lost connection", []string{"timeout", "--foreground", "1000"}, syscall.SIGHUP, true},
	} {
		t.Run(x.name, func(t *testing.T) {
			path, err := exec.LookPath(x.argv[0])
			if err != nil {
				t.Skip(err)
			}
			c := exec.CommandContext(t.Context(), path, append(x.argv[1:], os.Args[0])...)
			c.Env = append(os.Environ(), asMain+"=puts back")
			c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // timeout signals its whole process group
			said := readSignalled(t, c, func(lines int) {
				pid := c.Process.Pid
				if x.group {
					pid = -pid
				}
				if lines == 1 {
					if err := syscall.Kill(pid, x.signal); err != nil {
						t.Error(err)
					}
				}
			})
			if want := []string{"ready", "heddle: putting back: labels; " + further, "put back"}; !slices.Equal(said, want) {
				t.Errorf("said %q, want %q", said, want)
			}
		})
	}
}

const further = "a further signal, a second or more after the last, ends this at once"

// TestSecondSignal: a command that waits for ever ends at a second press of
// Ctrl-C, and says what puts the cluster back.
func TestSecondSignal(t *testing.T) {
	c := exec.CommandContext(t.Context(), os.Args[0])
	c.Env = append(os.Environ(), asMain+"=stuck")
	said := readSignalled(t, c, func(lines int) { // at "ready", then when it says what is put back
		if lines == 2 {
			<-time.After(samePress)
		}
		if err := c.Process.Signal(os.Interrupt); err != nil && lines <= 2 {
			t.Error(err)
		}
	})
	want := []string{"ready", "heddle: putting back: labels; " + further, "heddle: ended before that was done; heddle restore"}
	if c.ProcessState.ExitCode() != exitFailed || !slices.Equal(said, want) {
		t.Errorf("said %q, want exit code %d and %q", said, exitFailed, want)
	}
}

// readSignalled starts a command and returns the lines that it prints. It calls
// the function signalled with the number of lines so far after each.
func readSignalled(t *testing.T, c *exec.Cmd, signalled func(lines int)) (said []string) {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	c.Stdout, c.Stderr = w, w
	mustDo(t, c.Start())
	w.Close()
	for lines := bufio.NewScanner(r); lines.Scan(); {
		said = append(said, lines.Text())
		signalled(len(said))
	}
	if err := c.Wait(); err != nil && !errors.As(err, new(*exec.ExitError)) {
		t.Fatal(err)
	}
	return said
}

// stuck is a command that changes a cluster. It heeds its context, and takes a
// while to put back what it changed, or it does not heed it.
func stuck(heeds bool) {
	ctx := interruptible(os.Exit)
	putsBack(cli.NewContext(newApp(), nil, &cli.Context{Context: ctx}), "labels", "heddle restore")
	fmt.Fprintln(stderr, "ready")
	if !heeds {
		select {}
	}
	<-ctx.Done()
	<-time.After(500 * time.Millisecond)
	fmt.Fprintln(stderr, "put back")
}

// TestInterrupted: a command that only computes ends at the first signal.
func TestInterrupted(t *testing.T) {
	// A process of its own, since signals are for processes; huge takes a minute.
	c := exec.CommandContext(t.Context(), os.Args[0], "bench", "--json", "--load", "huge", "--repeat", "1000")
	var stdout bytes.Buffer
	c.Stdout = &stdout
	c.Env = append(os.Environ(), asMain+"=1")
	stderr := must(c.StderrPipe())
	mustDo(t, c.Start())
	lines, said := bufio.NewScanner(stderr), []string{}
	for lines.Scan() {
		if said = append(said, lines.Text()); len(said) == 1 { // it has begun
			mustDo(t, c.Process.Signal(syscall.SIGTERM))
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
	c := exec.CommandContext(t.Context(), os.Args[0], "bench", "--json", "--repeat", "1", "--load", "synthetic-1k-nonet", "--load",
		"synthetic-1k-late")
	c.Env = append(os.Environ(), asMain+"=1")
	out := must(c.Output())
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
