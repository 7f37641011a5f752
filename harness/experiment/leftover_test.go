package experiment

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
)

// TestLeftOutputs finds the folders that jobs of ended processes of this host
// wrote, wherever workloads put them, and no others.
func TestLeftOutputs(t *testing.T) {
	dead := exec.Command("true")
	if err := dead.Run(); err != nil {
		t.Fatal(err)
	}
	left := fmt.Sprintf("%s%d-1-0a1b2c3d", ownPrefix(tagPrefix), dead.Process.Pid)
	want := []string{
		"/heddle/hibench/64MiB/Wordcount/Check-" + left + "-1",
		"/heddle/hibench/64MiB/Wordcount/Output-" + left + "-1",
		"/heddle/hibench/64MiB/Wordcount/Output-" + left + "-1-found",
		"/heddle/streaming/output-" + left + "-2",
		"/heddle/trace/output/" + left + "-12",
	}
	stay := []string{
		"/heddle/trace/output/" + ownName(tagPrefix) + "-1", // of this process
		"/heddle/trace/output/heddle-another.host-1-1-0a1b2c3d-1",
		"/heddle/trace/input/heddle-day-0a1b2c3d4e5f6071",
		"/heddle/hibench/64MiB/Wordcount/Input",
		"/heddle/streaming/8388608-bytes-3-files-seed-1",
		"/heddle/shared",
	}
	hdfs := fstest.MapFS{"heddle/shared/0a1b2c3d-heddle": {}, "heddle/streaming/" + left: {}} // files, not folders
	for _, folder := range slices.Concat(want, stay) {
		hdfs[strings.TrimPrefix(folder, "/")+"/part-00000"] = &fstest.MapFile{}
	}
	readDir := func(folder string) (list []os.FileInfo, err error) {
		entries, err := hdfs.ReadDir(strings.TrimPrefix(folder, "/"))
		for _, e := range entries {
			info, ierr := e.Info()
			list, err = append(list, info), errors.Join(err, ierr)
		}
		return list, err
	}
	got, err := leftOutputs(readDir, dataRoot, outputDepth)
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(got, want) {
		t.Errorf("found\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if got, err := leftOutputs(readDir, "/none", outputDepth); len(got) > 0 || err != nil {
		t.Errorf("in an HDFS without heddle's folder: %v, %v", got, err)
	}
	refused := func(string) ([]os.FileInfo, error) { return nil, fs.ErrPermission }
	if _, err := leftOutputs(refused, dataRoot, outputDepth); !errors.Is(err, fs.ErrPermission) {
		t.Errorf("error %v, want that of the listing", err)
	}
}

// TestMakerDied tells the names of ended processes from those of processes that
// live, of which some cannot be seen from here: a machine or container of the same
// host name has other process ids.
func TestMakerDied(t *testing.T) {
	ended := exec.Command("true")
	if err := ended.Run(); err != nil {
		t.Fatal(err)
	}
	host, err := os.Hostname()
	if err != nil {
		t.Fatal(err)
	}
	boot, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		t.Fatal(err)
	}
	namespace, err := os.Readlink("/proc/self/ns/pid")
	if err != nil {
		t.Fatal(err)
	}
	name := func(host, place string, pid int, start string) string {
		return fmt.Sprintf("%s%d-%s-00c0ffee", prefixIn(tagPrefix, host, place), pid, start)
	}
	here := placeOf(string(boot), namespace)
	for _, x := range []struct {
		what, name string
		died       bool
	}{
		{"an ended process of this host", name(host, here, ended.Process.Pid, "1"), true},
		{"a process whose id is this process's now", name(host, here, os.Getpid(), "1"), true},
		{"this process", ownName(tagPrefix), false},
		{"a machine of the same name", name(host, placeOf("0d6a1a4e-3c1b-4b52-8a3b-0f6d0b8f6d11", namespace), ended.Process.Pid, "1"), false},
		{"a container of the same name", name(host, placeOf(string(boot), "pid:[4026539999]"), ended.Process.Pid, "1"), false},
		{"another host", name("another.host", here, ended.Process.Pid, "1"), false},
		{"a name of an earlier version", fmt.Sprintf("heddle-%s-%d-1-00c0ffee", host, ended.Process.Pid), false},
	} {
		if got := makerDied(tagPrefix, x.name); got != x.died {
			t.Errorf("%s: %s: died is %v, want %v", x.what, x.name, got, x.died)
		}
	}
	if long := prefixIn(tagPrefix, strings.Repeat("long", 60), here) + "4194304-99999999999-ffffffff-50000-check"; len(long) > 100 {
		t.Errorf("%s has %d characters; YARN's tags have 100 at most", long, len(long))
	}
}

// makerEnv makes TestMakerElsewhere judge the name in this variable.
const makerEnv = "HEDDLE_TEST_MAKER"

// TestMakerElsewhere judges the name of this process, which lives, from a PID
// namespace of its own, as a container on the same machine has.
func TestMakerElsewhere(t *testing.T) {
	if name := os.Getenv(makerEnv); name != "" {
		fmt.Printf("pid %d: died is %v\n", os.Getpid(), makerDied(tagPrefix, name))
		return
	}
	unshare := []string{"unshare", "--pid", "--fork", "--mount-proc"}
	if os.Getuid() != 0 {
		unshare = append(unshare, "--user", "--map-root-user")
	}
	if out, err := exec.CommandContext(t.Context(), unshare[0], append(unshare[1:], "true")...).CombinedOutput(); err != nil {
		t.Skipf("no PID namespaces here: %v: %s", err, out)
	}
	cmd := exec.CommandContext(t.Context(), unshare[0], append(unshare[1:], os.Args[0], "-test.run=^TestMakerElsewhere$")...)
	cmd.Env = append(os.Environ(), makerEnv+"="+ownName(tagPrefix))
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if !strings.Contains(string(out), "pid 1: died is false") {
		t.Errorf("from another PID namespace of this host: %s; want pid 1: died is false", out)
	}
}
