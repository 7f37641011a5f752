// Package labtest gives tests a real Hadoop cluster: one lab for all packages
// of a 'go test' run. The first test that asks for the lab starts it, and
// tests of later packages find it up. A guard process takes the lab down when
// 'go test' has ended, even if 'go test' was killed.
//
// Tests share the cluster. Each test works in its own HDFS folder, stops no
// daemon, and does not rely on being alone. A test that breaks something
// brings up a lab of its own under another name.
package labtest

import (
	"cmp"
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

	"heddle/harness/internal/units"
	"heddle/harness/lab"
)

// Name is the name of the lab that all tests share.
const Name = "test"

// Shared returns the lab that all tests of this run share, up and ready. It
// skips the test under -short. It also skips the test if this machine cannot
// run a lab, or fails it if HEDDLE_LAB=require is set. If HEDDLE_LAB_NAME
// names a running lab, Shared returns that lab, which stays up; for HEDDLE_LONG=1 it
// must have been started with --node-expiry 15s. The test has as large a share of the
// cores as the lab, where that is possible.
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
		shareCores(t)
		return l
	}
	l, err := shared()
	if err != nil {
		t.Fatalf("start the shared lab: %v", err)
	}
	shareCores(t)
	return l
}

// shareCores gives a test as large a share of the cores as the lab has, until it ends.
func shareCores(t testing.TB) {
	undo, err := lab.ShareCores()
	if err != nil {
		t.Logf("%v: the test may stand still while tasks compute", err)
		return
	}
	t.Cleanup(undo)
}

// Default returns the settings of a lab as lab.Default does, with the version of Hadoop
// that HEDDLE_HADOOP names. 'heddle lab up' heeds that variable too.
func Default() lab.Config {
	c := lab.Default()
	c.Hadoop = cmp.Or(os.Getenv("HEDDLE_HADOOP"), c.Hadoop)
	return c
}

// Config returns the settings of a lab for tests. Under HEDDLE_LONG=1, where tests
// wait for Hadoop to notice that a node is gone, it counts as gone after 15 s.
func Config(name, binary string) lab.Config {
	c := Default()
	c.Name, c.Executable = name, binary
	if os.Getenv("HEDDLE_LONG") == "1" {
		c.NodeExpiry = units.Duration(15 * time.Second)
	}
	return c
}

// Own starts a lab of this name for one test, with agents, and removes it when the test
// ends. It skips the test as Need does. The function change, nil for none, changes the
// settings of Config.
func Own(t testing.TB, name string, change func(*lab.Config)) *lab.Lab {
	t.Helper()
	Need(t)
	c := Config(name, Binary(t))
	if change != nil {
		change(&c)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), time.Minute)
		defer cancel()
		if err := lab.Down(ctx, c.Name, true); err != nil {
			t.Error(err)
		}
	})
	l, err := lab.Up(t.Context(), c, nil)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// Examples returns the path of the jar with the example jobs of a Hadoop.
func Examples(t testing.TB, home string) string {
	t.Helper()
	jars, err := filepath.Glob(filepath.Join(home, "share/hadoop/mapreduce/hadoop-mapreduce-examples-*.jar"))
	if err != nil || len(jars) != 1 {
		t.Fatalf("jars of examples: %v, %v; want one", jars, err)
	}
	return jars[0]
}

// Need skips a test if this machine cannot run a lab, or fails the test if
// HEDDLE_LAB=require is set. Under -short it always skips the test.
func Need(t testing.TB) {
	t.Helper()
	if testing.Short() {
		t.Skip("needs a Hadoop cluster, which takes longer than -short allows")
	}
	err := lab.Preflight(Default())
	var missing *lab.MissingError
	switch {
	case err == nil:
	case os.Getenv("HEDDLE_LAB") == "require" || !errors.As(err, &missing):
		t.Fatalf("needs a lab, and HEDDLE_LAB=require: %v", err)
	default:
		t.Skipf("needs a lab: %v", err)
	}
}

// Long skips a test that takes minutes, unless HEDDLE_LONG=1 is set. Such
// tests mostly wait for Hadoop to notice that a daemon or node is gone.
func Long(t testing.TB) {
	t.Helper()
	if os.Getenv("HEDDLE_LONG") != "1" {
		t.Skip("takes minutes: set HEDDLE_LONG=1")
	}
}

// guardScript waits until a process that uses the lab has ended. Then it takes the lab
// down, unless another process uses it. Each has a file with its id in a folder.
const guardScript = `while kill -0 "$2" 2>/dev/null; do sleep 1; done
rm -f "$1/$2"
for user in "$1"/*; do
	[ -e "$user" ] && kill -0 "${user##*/}" 2>/dev/null && exit
	rm -f "$user"
done
exec "$3" lab down --purge --name "$4"`

// The variable shared makes sure that a test binary starts the shared lab only
// once.
var shared = sync.OnceValues(func() (*lab.Lab, error) {
	heddle, err := binary()
	if err != nil {
		return nil, err
	}
	// The lab is to stay up as long as 'go test', which outlives this test
	// binary and starts the next package's. If the binary was started by hand,
	// the lab is to stay up as long as the binary.
	user := os.Getpid()
	if comm, _ := os.ReadFile("/proc/" + strconv.Itoa(os.Getppid()) + "/comm"); strings.TrimSpace(string(comm)) == "go" {
		user = os.Getppid()
	}
	users := filepath.Join(filepath.Dir(heddle), "users")
	if err := os.MkdirAll(users, 0o755); err != nil {
		return nil, err
	}
	if err := os.WriteFile(filepath.Join(users, strconv.Itoa(user)), nil, 0o644); err != nil {
		return nil, err
	}
	// Each test binary starts a guard process that later takes the lab down.
	// Several guards at a time do no harm; without a guard the lab would stay
	// up.
	guard := exec.Command("sh", "-c", guardScript, "guard", users, strconv.Itoa(user), heddle, Name)
	guard.SysProcAttr = &unix.SysProcAttr{Setsid: true}
	guard.Dir = "/"
	if err := guard.Start(); err != nil {
		return nil, err
	}
	go func() { _ = guard.Wait() }()
	c := Config(Name, heddle)
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	return lab.Up(ctx, c, nil)
})

// Binary returns the path of the heddle command, which each test binary builds once.
func Binary(t testing.TB) string {
	t.Helper()
	path, err := binary()
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// binary builds the heddle command. It needs no C library, so it can be the
// program of Hadoop's tasks too. Without its symbols it is a third shorter, which
// counts where the lab's nodes fetch it over slow links.
var binary = sync.OnceValues(func() (string, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", err
	}
	path := filepath.Join(cache, "heddle", "labtest", "heddle")
	build := exec.Command("go", "build", "-ldflags=-s -w", "-o", path, "heddle/cmd/heddle")
	if _, here, _, _ := runtime.Caller(0); filepath.IsAbs(here) { // with -trimpath it is not; then the test's own folder is in the module
		build.Dir = filepath.Dir(here)
	}
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		return "", errors.New("build the heddle command: " + err.Error() + "\n" + string(out))
	}
	return path, nil
})
