package lab

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// fakeRoot makes a root folder with the files given, as the kernel would show
// them.
func fakeRoot(t *testing.T, files map[string]string) string {
	t.Helper()
	root := t.TempDir()
	for path, text := range files {
		path = filepath.Join(root, path)
		mustDo(t, os.MkdirAll(filepath.Dir(path), 0o755))
		mustDo(t, os.WriteFile(path, []byte(text), 0o644))
	}
	return root
}

const (
	mountsV1 = `24 1 254:0 / / rw - ext4 /dev/vda rw
30 24 0:26 / /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct
31 24 0:27 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory
32 24 0:28 / /sys/fs/cgroup/blkio rw - cgroup cgroup rw,blkio
33 24 0:29 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw
`
	mountsV2 = `30 24 0:26 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw,nsdelegate
`
)

func TestFindCgroups(t *testing.T) {
	for _, c := range []struct {
		name    string
		files   map[string]string
		version int
		err     string
	}{
		{"version 1, beside an empty version 2", map[string]string{
			"proc/self/mountinfo": mountsV1, "sys/fs/cgroup/unified/cgroup.controllers": "hugetlb\n",
		}, 1, ""},
		{"version 2", map[string]string{
			"proc/self/mountinfo": mountsV2, "sys/fs/cgroup/cgroup.controllers": "cpuset cpu io memory pids\n",
		}, 2, ""},
		{"version 2 without io", map[string]string{
			"proc/self/mountinfo": mountsV2, "sys/fs/cgroup/cgroup.controllers": "cpuset cpu memory\n",
		}, 0, "neither version 2"},
		{"version 1 without memory", map[string]string{
			"proc/self/mountinfo": "30 24 0:26 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu\n",
		}, 0, "version 1 with memory"},
		{"nothing mounted", map[string]string{"proc/self/mountinfo": "24 1 254:0 / / rw - ext4 /dev/vda rw\nshort\n"}, 0, "neither"},
		{"no proc", nil, 0, "find control groups"},
	} {
		g, err := findCgroups(fakeRoot(t, c.files))
		if c.err != "" {
			wantError(t, err, c.err)
			continue
		}
		if err != nil || g.version() != c.version {
			t.Errorf("%s: version %d, error %v; want %d", c.name, g.version(), err, c.version)
		}
	}
}

// The files that limits are written to, and what is written, in both versions.
func TestLimits(t *testing.T) {
	const group = "heddle/lab/r1n1"
	for _, c := range []struct {
		name  string
		files map[string]string
		want  []string // path and content, in the order of the writes
	}{
		{"version 1", map[string]string{"proc/self/mountinfo": mountsV1}, []string{
			"cpu,cpuacct/" + group + "/cpu.cfs_quota_us 40000",
			"cpu,cpuacct/" + group + "/cpu.cfs_quota_us -1",
			"cpu,cpuacct/" + group + "/cpu.shares 4096",
			"memory/" + group + "/memory.limit_in_bytes 1073741824",
			"memory/" + group + "/memory.limit_in_bytes -1",
			"blkio/" + group + "/blkio.throttle.read_bps_device 254:0 80000000",
			"blkio/" + group + "/blkio.throttle.read_bps_device 254:0 0",
		}},
		{"version 2", map[string]string{"proc/self/mountinfo": mountsV2, "sys/fs/cgroup/cgroup.controllers": "cpu io memory"}, []string{
			group + "/cpu.max 40000 100000",
			group + "/cpu.max max 100000",
			group + "/cpu.weight 400",
			group + "/memory.max 1073741824",
			group + "/memory.max max",
			group + "/io.max 254:0 rbps=80000000",
			group + "/io.max 254:0 rbps=max",
		}},
	} {
		root := fakeRoot(t, c.files)
		g := must(findCgroups(root))
		if err := g.create(group); err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		for i, limit := range []func() error{
			func() error { return g.limitCPU(group, 0.4) },
			func() error { return g.limitCPU(group, 0) },
			func() error { return g.weighCPU(group, 4) },
			func() error { return g.limitMemory(group, 1<<30) },
			func() error { return g.limitMemory(group, 0) },
			func() error { return g.limitReads(group, "254:0", 80e6) },
			func() error { return g.limitReads(group, "254:0", 0) },
		} {
			if err := limit(); err != nil {
				t.Fatalf("%s: %v", c.name, err)
			}
			path, want, _ := strings.Cut(c.want[i], " ")
			got, err := os.ReadFile(filepath.Join(root, "sys/fs/cgroup", path))
			if err != nil || string(got) != want {
				t.Errorf("%s: %s holds %q, error %v; want %q", c.name, path, got, err, want)
			}
		}
	}
}

// When cores are short, labs have more of them than anything else on the machine,
// and a lab's master has more than a worker.
func TestWeights(t *testing.T) {
	root := fakeRoot(t, map[string]string{"proc/self/mountinfo": mountsV2, "sys/fs/cgroup/cgroup.controllers": "cpu io memory"})
	g := must(findCgroups(root))
	l := &Lab{plan: testPlan(Default()), cgroups: g}
	for _, n := range l.nodes {
		mustDo(t, g.create(l.cgroup(n.name)))
	}
	mustDo(t, l.applyLimits(func(Event) {}))
	for group, want := range map[string]string{"heddle": "3200", "heddle/lab/master": "400"} {
		got, err := os.ReadFile(filepath.Join(root, "sys/fs/cgroup", group, "cpu.weight"))
		if err != nil || string(got) != want {
			t.Errorf("%s has weight %q, error %v; want %s", group, got, err, want)
		}
	}
}

// In version 2 a group has a controller only if every parent hands it down.
func TestVersion2HandsControllersDown(t *testing.T) {
	root := fakeRoot(t, map[string]string{"proc/self/mountinfo": mountsV2, "sys/fs/cgroup/cgroup.controllers": "cpu io memory"})
	g := must(findCgroups(root))
	mustDo(t, g.create("heddle/lab/r1n1"))
	for _, group := range []string{"", "heddle", "heddle/lab"} {
		file := filepath.Join(root, "sys/fs/cgroup", group, "cgroup.subtree_control")
		if text, err := os.ReadFile(file); string(text) != "+cpu +memory +io" {
			t.Errorf("%s holds %q, error %v", file, text, err)
		}
	}
	if _, err := os.Stat(filepath.Join(root, "sys/fs/cgroup/heddle/lab/r1n1/cgroup.subtree_control")); err == nil {
		t.Error("the node's own group hands controllers down; then it could have no processes")
	}
}

func TestProcessesAndRemove(t *testing.T) {
	root := fakeRoot(t, map[string]string{
		"proc/self/mountinfo": mountsV2, "sys/fs/cgroup/cgroup.controllers": "cpu io memory",
		"sys/fs/cgroup/heddle/lab/r1n1/cgroup.procs":       "12\n7\n",
		"sys/fs/cgroup/heddle/lab/r1n1/below/cgroup.procs": "30\n",
		"sys/fs/cgroup/heddle/other/r1n1/cgroup.procs":     "99\n",
	})
	g := must(findCgroups(root))
	if got := g.processes("heddle/lab"); !slices.Equal(got, []int{7, 12, 30}) {
		t.Errorf("processes = %v, want 7, 12 and 30", got)
	}
	if got := g.processes("heddle/none"); len(got) != 0 {
		t.Errorf("processes of no group = %v", got)
	}
	// The kernel's folders go with their files; these do not.
	wantError(t, g.remove("heddle/lab"), "remove control group")
	if err := g.remove("heddle/none"); err != nil {
		t.Errorf("remove of no group: %v", err)
	}
	mustDo(t, os.MkdirAll(filepath.Join(root, "sys/fs/cgroup/heddle/empty/a/b"), 0o755))
	if err := g.remove("heddle/empty"); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(filepath.Join(root, "sys/fs/cgroup/heddle/empty")); err == nil {
		t.Error("the empty group is still there")
	}
}

// A heddle process that runs jobs on a lab moves to a group beside the labs, and back.
func TestShare(t *testing.T) {
	for _, c := range []struct{ name, controllers, list, in, out string }{
		{"version 1", "", "9:memory:/m\n4:cpu,cpuacct:/user/a\n0::/u\n", "cpu,cpuacct/heddle/.heddle", "cpu,cpuacct/user/a"},
		{"version 1, in no group", "", "9:memory:/m\n", "cpu,cpuacct/heddle/.heddle", "cpu,cpuacct"},
		{"version 2", "cpu io memory", "0::/user.slice/a.scope\n", "heddle/.heddle", "user.slice/a.scope"},
	} {
		files := map[string]string{"proc/self/mountinfo": mountsV1, "list": c.list, "sys/fs/cgroup/" + c.out + "/cgroup.procs": ""}
		if c.controllers != "" {
			files["proc/self/mountinfo"], files["sys/fs/cgroup/cgroup.controllers"] = mountsV2, c.controllers
		}
		root := fakeRoot(t, files)
		g := must(findCgroups(root))
		undo, err := g.share(filepath.Join(root, "list"), 77)
		if err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		procs := func(group string) string {
			text, _ := os.ReadFile(filepath.Join(root, "sys/fs/cgroup", group, "cgroup.procs"))
			return string(text)
		}
		if procs(c.in) != "77" || procs(c.out) != "" {
			t.Errorf("%s: %s has %q, %s has %q; want the process in the first", c.name, c.in, procs(c.in), c.out, procs(c.out))
		}
		if undo(); procs(c.out) != "77" {
			t.Errorf("%s: %s has %q after all; want the process", c.name, c.out, procs(c.out))
		}
	}
}

// This process moves, if it may make control groups.
func TestShareCores(t *testing.T) {
	if testing.Short() {
		t.Skip("makes a control group: not with -short")
	}
	undo, err := ShareCores()
	if err != nil {
		t.Skip(err)
	}
	in, _ := os.ReadFile("/proc/self/cgroup")
	undo()
	out, _ := os.ReadFile("/proc/self/cgroup")
	if !strings.Contains(string(in), harnessGroup+"\n") || strings.Contains(string(out), harnessGroup) {
		t.Errorf("this process was in\n%s and then in\n%s; want it in %s first, then not", in, out, harnessGroup)
	}
}

// The method version returns the version of control groups in use, 1 or 2.
func (g cgroups) version() int {
	if g.unified != "" {
		return 2
	}
	return 1
}
