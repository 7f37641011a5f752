package node

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// TestMain lets the test binary be the process that is measured.
func TestMain(m *testing.M) {
	switch os.Getenv("HEDDLE_NODE_TEST") {
	case "":
		m.Run()
	case "burn":
		burn()
	case "networks":
		s, err := NewSampler(Options{})
		if err == nil {
			err = json.NewEncoder(os.Stdout).Encode(s.Read().Networks)
		}
		if err != nil {
			panic(err)
		}
	}
}

// burnNs is the CPU time that burn uses.
const burnNs = int64(500 * time.Millisecond)

// burn waits for a line, uses CPU, writes a file of 8 MiB, says so, and waits
// for its input to end.
func burn() {
	in := bufio.NewReader(os.Stdin)
	_, _ = in.ReadString('\n')
	var used unix.Timespec
	for used.Nano() < burnNs {
		_ = unix.ClockGettime(unix.CLOCK_PROCESS_CPUTIME_ID, &used)
	}
	if err := os.WriteFile(os.Getenv("HEDDLE_NODE_FILE"), make([]byte, 8<<20), 0o600); err != nil {
		fmt.Println(err)
	}
	fmt.Println("done")
	_, _ = in.ReadString('\n')
}

// TestCgroupOfThisMachine compares what the sampler says about a control group
// with what a process in it did.
func TestCgroupOfThisMachine(t *testing.T) {
	if testing.Short() {
		t.Skip("makes a control group: not with -short")
	}
	name, dirs := makeCgroup(t)
	file := filepath.Join(t.TempDir(), "written")
	cmd := exec.CommandContext(t.Context(), os.Args[0])
	cmd.Env = append(os.Environ(), "HEDDLE_NODE_TEST=burn", "HEDDLE_NODE_FILE="+file, "GOMAXPROCS=1")
	in := must(cmd.StdinPipe())
	out := must(cmd.StdoutPipe())
	mustDo(t, cmd.Start())
	t.Cleanup(func() {
		_ = in.Close()
		_ = cmd.Wait()
	})
	for _, dir := range dirs {
		mustDo(t, os.WriteFile(filepath.Join(dir, "cgroup.procs"), []byte(strconv.Itoa(cmd.Process.Pid)), 0o600))
	}

	s := must(NewSampler(Options{Cgroup: name}))
	before := s.Read()
	must(in.Write([]byte("\n")))
	said, err := bufio.NewReader(out).ReadString('\n')
	if err != nil || said != "done\n" {
		t.Fatalf("process in the group said %q, %v", said, err)
	}
	after := s.Read()
	if after.CPU == nil || after.Memory == nil {
		t.Skipf("needs the controllers cpu and memory enabled for new groups: %v", after.Absent)
	}

	usedNs := int64(after.CPU.UserNs + after.CPU.SystemNs - before.CPU.UserNs - before.CPU.SystemNs)
	if usedNs < burnNs*8/10 || usedNs > burnNs*15/10 {
		t.Errorf("CPU time of the group: %d ns, its process used %d and wrote 8 MiB", usedNs, burnNs)
	}
	// The kernel counts a group's pages per core and sums late, so up to a few hundred KiB are missing at any time.
	const fileBytes = 8<<20 - 1<<20
	if grew := grown(after.Memory.PageCacheBytes, before.Memory.PageCacheBytes); grew < fileBytes || grew > 12<<20 {
		t.Errorf("page cache grew by %d bytes, its process wrote 8 MiB", grew)
	}

	dropped := must(s.DropCaches())
	if dropped.Scope != "cgroup" || dropped.BeforeBytes < fileBytes || dropped.AfterBytes > 1<<20 {
		t.Errorf("dropped %+v, want the group's 8 MiB gone", dropped)
	}
}

// makeCgroup makes a group under every controller that is mounted here.
func makeCgroup(t *testing.T) (name string, dirs []string) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("needs root to make a control group")
	}
	name = "heddle-node-test-" + strconv.Itoa(os.Getpid())
	candidates := []string{""}
	if !isFile("/sys/fs/cgroup/cgroup.controllers") {
		candidates = []string{"cpu", "cpuacct", "memory", "blkio"}
	}
	for _, controller := range candidates {
		mount := filepath.Join("/sys/fs/cgroup", controller)
		if !isFile(filepath.Join(mount, "cgroup.procs")) {
			t.Skipf("needs a control group mount at %s", mount)
		}
		dir := filepath.Join(mount, name)
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Skipf("needs to make a control group: %v", err)
		}
		t.Cleanup(func() {
			if err := os.Remove(dir); err != nil {
				t.Errorf("left behind: %v", err)
			}
		})
		dirs = append(dirs, dir)
	}
	return name, dirs
}

// TestNetworksOfTheNamespace: a new namespace has a loopback device alone.
func TestNetworksOfTheNamespace(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root to make a network namespace")
	}
	cmd := exec.CommandContext(t.Context(), os.Args[0])
	cmd.Env = append(os.Environ(), "HEDDLE_NODE_TEST=networks")
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNET}
	out, err := cmd.CombinedOutput()
	if err != nil {
		if strings.Contains(err.Error(), "operation not permitted") {
			t.Skipf("needs to make a network namespace: %v", err)
		}
		t.Fatalf("%v: %s", err, out)
	}
	var networks []NetworkCounters
	if err := json.Unmarshal(out, &networks); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	for _, n := range networks {
		// Some kernels put tunnel devices into every namespace.
		if n.ReceiveBytes != 0 || strings.HasPrefix(n.Interface, "eth") {
			t.Errorf("interface %+v in a namespace that is new", n)
		}
	}
	if len(networks) == 0 {
		t.Error("no loopback device")
	}
}

func BenchmarkReadHost(b *testing.B) { benchmarkRead(b, Options{}) }

// BenchmarkReadCgroup costs most for the threads of the group.
func BenchmarkReadCgroup(b *testing.B) {
	path := os.Getenv("HEDDLE_BENCH_CGROUP")
	if path == "" {
		b.Skip("needs HEDDLE_BENCH_CGROUP, a group below /sys/fs/cgroup")
	}
	benchmarkRead(b, Options{Cgroup: path})
}

// benchmarkRead reports CPU time too: at one sample a second, 10 ms are 1 % of
// a core.
func benchmarkRead(b *testing.B, o Options) {
	s := must(NewSampler(o))
	cpuNs := func() int64 {
		var t unix.Timespec
		_ = unix.ClockGettime(unix.CLOCK_PROCESS_CPUTIME_ID, &t)
		return t.Nano()
	}
	b.ReportAllocs()
	start := cpuNs()
	for b.Loop() {
		s.Read()
	}
	b.ReportMetric(float64(cpuNs()-start)/float64(b.N), "cpu-ns/op")
}
