package runs

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"heddle/traces/errtest"
)

// TestMain lets the test binary be the process that is killed.
func TestMain(m *testing.M) {
	if root := os.Getenv("RUNS_TEST_HOLD"); root != "" {
		hold(root)
	}
	os.Exit(m.Run())
}

// hold completes one trial, begins the next, says so and waits to be killed.
func hold(root string) {
	die := func(err error) {
		if err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
	}
	r, err := Create(root, "first", plan)
	die(err)
	first, err := r.Begin(plan.Trials[0].Name)
	die(err)
	die(first.WriteFile("trace.heddle", []byte("whole")))
	die(first.Done())
	second, err := r.Begin(plan.Trials[1].Name)
	die(err)
	die(second.WriteFile("trace.heddle", []byte("half")))
	fmt.Println("ready")
	io.Copy(io.Discard, os.Stdin)
	os.Exit(0)
}

func TestKilledProcess(t *testing.T) {
	root := t.TempDir()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "RUNS_TEST_HOLD="+root)
	stdin, err := cmd.StdinPipe()
	mustDo(t, err)
	defer stdin.Close()
	stdout := must(cmd.StdoutPipe())
	mustDo(t, cmd.Start())
	line, err := bufio.NewReader(stdout).ReadString('\n')
	if err != nil || line != "ready\n" {
		cmd.Process.Kill()
		t.Fatalf("the process said %q, %v", line, err)
	}
	dir := filepath.Join(root, "first")
	wantState(t, dir, Running)
	if err := open(t, dir).Resume(); !errors.Is(err, ErrRunning) || !strings.Contains(err.Error(), fmt.Sprint("process ", cmd.Process.Pid)) {
		t.Errorf("resume while it runs: %v, want ErrRunning with its process id", err)
	}

	if err := cmd.Process.Kill(); err != nil { // SIGKILL
		t.Fatal(err)
	}
	cmd.Wait()

	m := wantState(t, dir, Interrupted)
	if m.Trials[0].State != TrialDone || m.Trials[1].State != TrialInterrupted {
		t.Errorf("trials are %s and %s, want done and interrupted", m.Trials[0].State, m.Trials[1].State)
	}
	if half, err := os.ReadFile(filepath.Join(dir, "trials", plan.Trials[1].Name+partial, "trace.heddle")); err != nil ||
		string(half) != "half" {
		t.Errorf("what the killed trial had written: %q, %v; want it kept", half, err)
	}
	r := open(t, dir)
	mustDo(t, r.Resume())
	todo := r.Todo()
	if diff := cmp.Diff([]string{plan.Trials[1].Name}, todo); diff != "" {
		t.Errorf("todo (-want +got):\n%s", diff)
	}
	do(t, r, plan.Trials[1].Name)
	errtest.Is(t, errtest.Of(os.Stat(filepath.Join(dir, "trials", plan.Trials[1].Name+before))), os.ErrNotExist)
	mustDo(t, r.End(nil))
	wantState(t, dir, Finished)
	if err := open(t, dir).Verify("trace.heddle", "jobs/job_1_0001/job.xml"); err != nil {
		t.Error(err)
	}
}

// A disk that is full for real: a small file system of its own.
func TestFullDisk(t *testing.T) {
	if runtime.GOOS != "linux" || os.Getuid() != 0 {
		t.Skip("needs Linux and root, to mount a small file system")
	}
	root := t.TempDir()
	if err := unix.Mount("tmpfs", root, "tmpfs", 0, "size=256k"); err != nil {
		t.Skipf("needs the right to mount a small file system: %v", err)
	}
	t.Cleanup(func() {
		if err := unix.Unmount(root, 0); err != nil {
			t.Errorf("unmount: %v", err)
		}
	})
	r := create(t, root)
	do(t, r, plan.Trials[0].Name)
	trial, err := r.Begin(plan.Trials[1].Name)
	mustDo(t, err)
	filler := filepath.Join(root, "filler")
	fill(t, filler)

	wantFull := func(what, file string, err error) {
		t.Helper()
		if !errors.Is(err, ErrDiskFull) {
			t.Errorf("%s: error %v, want ErrDiskFull", what, err)
			return
		}
		for _, part := range []string{file, "left", "intact", "resume"} {
			if !strings.Contains(err.Error(), part) {
				t.Errorf("%s: error %q does not say %q", what, err, part)
			}
		}
	}
	err = trial.WriteFile("trace.heddle", make([]byte, 8192))
	wantFull("write into a trial", "trace.heddle", err)
	if !strings.Contains(err.Error(), "8KiB needed, 0B left") && !strings.Contains(err.Error(), "8KiB needed, 0 left") {
		t.Errorf("error %q does not say how much is needed and left", err)
	}
	wantFull("update of the manifest", manifestFile, r.Update(func(m *Manifest) { m.Seed = 8 }))
	if r.Manifest().Seed != 7 {
		t.Error("an update that could not be written is in the manifest")
	}
	wantFull("end", manifestFile, r.End(errors.New("disk full")))

	// A run that could not even begin has nothing to resume.
	if _, err := Create(root, "second", plan); !errors.Is(err, ErrDiskFull) || !strings.Contains(err.Error(), "nothing has run") ||
		strings.Contains(err.Error(), "resume") {
		t.Errorf("create a run: error %v, want ErrDiskFull that says that nothing has run", err)
	}

	// All that was complete is there, and it does not look finished.
	m := wantState(t, r.Dir, Interrupted)
	if m.Trials[0].State != TrialDone || m.Seed != 7 {
		t.Errorf("manifest %+v: want it as before the disk was full", m)
	}
	if err := open(t, r.Dir).Verify("trace.heddle", "jobs/job_1_0001/job.xml"); err != nil {
		t.Error(err)
	}

	mustDo(t, os.Remove(filler))
	again := open(t, r.Dir)
	if err := again.Resume(); err != nil {
		t.Fatalf("resume once there is room: %v", err)
	}
	do(t, again, plan.Trials[1].Name)
	mustDo(t, again.End(nil))
	wantState(t, r.Dir, Finished)
}

// fill writes until nothing more fits.
func fill(t *testing.T, file string) {
	t.Helper()
	f, err := os.Create(file)
	mustDo(t, err)
	defer f.Close()
	for err == nil {
		_, err = f.Write(make([]byte, 4096))
	}
	if !errors.Is(err, unix.ENOSPC) {
		t.Fatalf("fill the disk: %v", err)
	}
}
