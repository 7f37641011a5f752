// Package labtest gives tests a real Hadoop cluster: one lab for all packages
// of a 'go test' run. The first test that asks starts it, later packages find
// it up, and a guard process takes it down when 'go test' has ended, however it
// ended. It is for tests only.
//
// Tests share the cluster: each works under an HDFS folder of its own, and none
// stops a daemon or counts on being alone. A test that breaks things brings up
// a lab of its own name.
package labtest

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"heddle/harness/lab"
)

// Name of the shared lab.
const Name = "test"

// Shared is the lab that all tests of this run share, up and ready. The test is
// skipped under -short and where this machine cannot run a lab, and fails
// instead under HEDDLE_LAB=require. HEDDLE_LAB_NAME names a running lab to use
// instead, which stays up.
func Shared(t testing.TB) *lab.Lab {
	t.Helper()
	Need(t)
	if name := os.Getenv("HEDDLE_LAB_NAME"); name != "" {
		l, err := lab.Open(name)
		if err != nil {
			t.Fatalf("HEDDLE_LAB_NAME: %v", err)
		}
		if state := l.Status(t.Context()).State; state != "up" {
			t.Fatalf("HEDDLE_LAB_NAME: lab %s is %s; 'heddle lab up --name %s' first", name, state, name)
		}
		return l
	}
	l, err := shared()
	if err != nil {
		t.Fatalf("start the shared lab: %v", err)
	}
	return l
}

// Need skips a test that needs a lab where there can be none, or fails it under
// HEDDLE_LAB=require.
func Need(t testing.TB) {
	t.Helper()
	if testing.Short() {
		t.Skip("needs a Hadoop cluster, which takes longer than -short allows")
	}
	err := lab.Preflight(lab.Default())
	var missing *lab.MissingError
	switch {
	case err == nil:
	case os.Getenv("HEDDLE_LAB") == "require" || !errors.As(err, &missing):
		t.Fatalf("needs a lab, and HEDDLE_LAB=require: %v", err)
	default:
		t.Skipf("needs a lab: %v", err)
	}
}

// Long skips a test that waits for minutes, most of them for Hadoop to notice
// that something is gone, unless HEDDLE_LONG=1 asks for those.
func Long(t testing.TB) {
	t.Helper()
	if os.Getenv("HEDDLE_LONG") != "1" {
		t.Skip("takes minutes: set HEDDLE_LONG=1")
	}
}

// shared starts the lab once a test binary.
var shared = sync.OnceValues(func() (*lab.Lab, error) {
	binary, err := Binary()
	if err != nil {
		return nil, err
	}
	// 'go test' waits for this test binary and then starts the next package's;
	// a binary that was started by hand is on its own.
	user := os.Getpid()
	if comm, _ := os.ReadFile("/proc/" + strconv.Itoa(os.Getppid()) + "/comm"); strings.TrimSpace(string(comm)) == "go" {
		user = os.Getppid()
	}
	if err := lab.Use(Name, user); err != nil {
		return nil, err
	}
	// A guard more than needed does no harm, one less does.
	guard := exec.Command(binary, "lab", "down", "--purge", "--name", Name, "--when-gone", strconv.Itoa(user))
	guard.SysProcAttr = &unix.SysProcAttr{Setsid: true}
	guard.Dir = "/"
	if err := guard.Start(); err != nil {
		return nil, err
	}
	go func() { _ = guard.Wait() }()
	c := lab.Default()
	c.Name, c.Executable = Name, binary
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	return lab.Up(ctx, c, nil)
})

// Binary builds the heddle command once a test binary and gives its path.
var Binary = sync.OnceValues(func() (string, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", err
	}
	path := filepath.Join(cache, "heddle", "labtest", "heddle")
	_, here, _, _ := runtime.Caller(0)
	build := exec.Command("go", "build", "-o", path, "heddle/cmd/heddle")
	build.Dir = filepath.Dir(here)
	if out, err := build.CombinedOutput(); err != nil {
		return "", errors.New("build the heddle command: " + err.Error() + "\n" + string(out))
	}
	return path, nil
})
