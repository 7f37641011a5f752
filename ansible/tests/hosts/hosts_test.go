//go:build linux

package hosts

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/vishvananda/netlink"

	"heddle/traces/errtest"
)

// upVariable, if set, makes the test binary bring up hosts in the folder that
// it names, so that a test can kill it.
const upVariable = "HEDDLE_TEST_HOSTS_UP"

func TestMain(m *testing.M) {
	if dir := os.Getenv(upVariable); dir != "" {
		if _, err := Up(context.Background(), dir, []string{"a", "b"}); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// need skips a test if this machine cannot have hosts, or fails it if
// HEDDLE_LAB=require is set.
func need(t *testing.T) {
	t.Helper()
	if testing.Short() {
		t.Skip("needs hosts, which take longer than -short allows")
	}
	if err := Preflight(); err != nil {
		if os.Getenv("HEDDLE_LAB") == "require" {
			t.Fatalf("HEDDLE_LAB=require: %v", err)
		}
		t.Skip(err)
	}
}

func TestHosts(t *testing.T) {
	need(t)
	dir := filepath.Join(t.TempDir(), "hosts")
	h := errtest.Must(Up(t.Context(), dir, []string{"a", "b"}))
	defer func() {
		if err := Down(context.Background(), dir); err != nil {
			t.Error(err)
		}
		wantNothing(t, dir)
	}()
	// If the search found nothing now, it would mean nothing after Down.
	for _, kind := range []string{"process", "link", "control group", "folder"} {
		if !slices.ContainsFunc(leftovers(t, dir), func(s string) bool { return strings.HasPrefix(s, kind) }) {
			t.Errorf("the search for leftovers finds no %s of hosts that are up", kind)
		}
	}
	t.Run("machine stays as it is", func(t *testing.T) { testMachineStays(t, h) })
	t.Run("own kernel view", func(t *testing.T) { testKernelView(t, h) })
	t.Run("folder is taken", func(t *testing.T) {
		if _, err := Up(t.Context(), dir, []string{"c"}); err == nil {
			t.Fatal("a second Up in the same folder succeeded")
		}
		out(t, h, "a", "true")
	})
}

// A host removes, changes and adds files in its root folder. Neither this
// machine nor the other host may notice.
func testMachineStays(t *testing.T, h *Hosts) {
	home := errtest.Must(os.UserHomeDir())
	files := []string{
		"/etc/passwd", "/etc/debian_version", "/etc/os-release.d", "/etc/issue", "/etc/issue.moved", "/usr/bin/env", "/usr/share/common-licenses",
		"/usr/bin/of-a-host", filepath.Join(home, "of-a-host"), "/var/lib/of-a-host", "/tmp/of-a-host", "/usr/local/bin/of-a-host",
		"/dev/shm/of-a-host",
	}
	before, other := describe(files), out(t, h, "b", "stat", "-c", "'%n %f %s %Z'", files[0], files[3], files[5], files[6])
	out(t, h, "a", `set -e
		rm -r /usr/share/common-licenses /etc/debian_version
		echo x:x:4242:4242::/: >>/etc/passwd
		chmod 700 /usr/bin/env
		mv /etc/issue /etc/issue.moved
		for dir in /usr/bin ~ /var/lib /tmp /usr/local/bin /dev/shm; do echo >$dir/of-a-host; done`)
	if diff := cmp.Diff(before, describe(files)); diff != "" {
		t.Errorf("files of this machine changed (-before +after):\n%s", diff)
	}
	if diff := cmp.Diff(other, out(t, h, "b", "stat", "-c", "'%n %f %s %Z'", files[0], files[3], files[5], files[6])); diff != "" {
		t.Errorf("files of the other host changed (-before +after):\n%s", diff)
	}
	// Whatever a host does, it can write to this machine's disks only through
	// a mount, and its overlay is the only one.
	allowed := strings.Fields("overlay proc sysfs tmpfs ramfs devtmpfs devpts mqueue cgroup cgroup2")
	for line := range strings.Lines(out(t, h, "a", "cat", "/proc/1/mountinfo")) {
		_, after, _ := strings.Cut(line, " - ")
		if kind := strings.Fields(after)[0]; !slices.Contains(allowed, kind) {
			t.Errorf("a host has a mount of another kind than %v: %s", allowed, line)
		}
	}
}

func describe(files []string) map[string]string {
	found := map[string]string{}
	for _, file := range files {
		if info, err := os.Lstat(file); err == nil {
			found[file] = fmt.Sprintf("%v, %d bytes, changed %v", info.Mode(), info.Size(), info.ModTime())
		}
	}
	return found
}

// A host has its own processes and name, sees no files but those of packages,
// and cannot change what all machines of this kernel share.
func testKernelView(t *testing.T, h *Hosts) {
	if got := out(t, h, "a", "hostname; cat /proc/1/comm; ls -A /root /home /opt /srv | grep -v of-a-host"); got != "a\nsystemd\n/home:\n\n/opt:\n\n/root:\n.ssh\n\n/srv:\n" {
		t.Errorf("name, first process and own folders of host a: %q", got)
	}
	for top := range strings.FieldsSeq(out(t, h, "a", "ls", "/")) {
		if !slices.Contains(packaged, top) {
			t.Errorf("a host sees /%s of this machine", top)
		}
	}
	for _, change := range []string{
		"mknod ~/disk b 253 0",
		"cat /proc/sys/vm/swappiness >/proc/sys/vm/swappiness",
		"cat /sys/class/net/lo/tx_queue_len >/sys/class/net/lo/tx_queue_len",
		"setpriv --dump | grep -q 'bounding.*sys_time'", // sets the clock
	} {
		if text, err := h.Command(t.Context(), "a", change).CombinedOutput(); err == nil {
			t.Errorf("a host may do this: %s\n%s", change, text)
		}
	}
	out(t, h, "a", "test -w /proc/sys/vm/drop_caches && setpriv --dump | grep -q 'bounding.*sys_admin'")
}

// Up is killed at several points. Down then removes what it left.
func TestDownAfterKill(t *testing.T) {
	need(t)
	for _, at := range []string{"hosts.json", "boot.sh", "hosts/a/console", "hosts/b/upper", "hosts/b/console"} {
		t.Run(strings.ReplaceAll(at, "/", " "), func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "hosts")
			up := exec.Command(os.Args[0])
			up.Env = append(os.Environ(), upVariable+"="+dir)
			errtest.None(t, up.Start())
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			err := poll(ctx, func() bool {
				_, err := os.Stat(filepath.Join(dir, at))
				return err == nil
			})
			up.Process.Kill()
			up.Wait()
			if err != nil {
				t.Errorf("wait until Up has made %s: %v", at, err)
			}
			if err := Down(t.Context(), dir); err != nil {
				t.Error(err)
			}
			wantNothing(t, dir)
		})
	}
}

func TestUpInFolderOfNoUse(t *testing.T) {
	for _, dir := range []string{"a,b", "a:b", "a b"} {
		_, err := Up(t.Context(), filepath.Join(t.TempDir(), dir), []string{"a"})
		if err == nil || !strings.Contains(err.Error(), "part of mount options") {
			t.Errorf("hosts in a folder %q: %v", dir, err)
		}
	}
}

// Down leaves a folder alone that is not one of hosts.
func TestDownOfOtherFolder(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "precious")
	errtest.None(t, os.WriteFile(file, nil, 0o600))
	errtest.Has(t, Down(t.Context(), dir), "is no folder of hosts")
	if _, err := os.Stat(file); err != nil {
		t.Error(err)
	}
}

func TestNames(t *testing.T) {
	for _, test := range []struct {
		names []string
		want  string
	}{
		{Default(), "<nil>"},
		{nil, "0 hosts"},
		{[]string{"a", "b", "a"}, "given twice"},
		{[]string{"../a"}, "want lower-case"},
		{[]string{"1a"}, "want lower-case"},
		{[]string{""}, "want lower-case"},
		{[]string{"localhost"}, "want lower-case"},
		{slices.Repeat([]string{"a"}, 101), "101 hosts"},
	} {
		if err := checkNames(test.names); !strings.Contains(fmt.Sprint(err), test.want) {
			t.Errorf("names %q: %v, want %s", test.names, err, test.want)
		}
	}
}

func TestHierarchies(t *testing.T) {
	for _, test := range []struct{ name, mounts, want string }{
		{"version 2", "proc /proc proc rw 0 0\ncgroup2 /sys/fs/cgroup cgroup2 rw,nosuid 0 0\n", "cgroup2::/sys/fs/cgroup"},
		{
			"version 1, shared hierarchies",
			"cgroup /sys/fs/cgroup/systemd cgroup rw,xattr,name=systemd 0 0\ncgroup /sys/fs/cgroup/cpu,cpuacct cgroup rw,cpu,cpuacct 0 0\n" +
				"cgroup /sys/fs/cgroup/cpuset cgroup rw,cpuset 0 0\ncgroup2 /sys/fs/cgroup/unified cgroup2 rw 0 0\n",
			"cgroup:none,name=systemd:/sys/fs/cgroup/systemd cgroup:cpu,cpuacct:/sys/fs/cgroup/cpu,cpuacct cgroup2::/sys/fs/cgroup/unified",
		},
		{"none of ours", "cgroup /elsewhere cgroup rw,memory 0 0\nshort\n", ""},
	} {
		var got []string
		for _, h := range hierarchiesIn(test.mounts) {
			got = append(got, h.String())
		}
		if strings.Join(got, " ") != test.want {
			t.Errorf("%s: got %q, want %q", test.name, got, test.want)
		}
	}
}

// Whatever a list of mounts has, boot.sh can take each hierarchy apart: its
// three parts hold no colon, and its mount point is one of control groups.
func FuzzHierarchies(f *testing.F) {
	f.Add("cgroup2 /sys/fs/cgroup cgroup2 rw,nosuid 0 0\n")
	f.Add("cgroup /sys/fs/cgroup/systemd cgroup rw,xattr,name=systemd 0 0\ncgroup /sys/fs/cgroup/a:b cgroup rw,cpu 0 0\n")
	f.Fuzz(func(t *testing.T, mounts string) {
		for _, h := range hierarchiesIn(mounts) {
			if strings.Count(h.String(), ":") != 2 || !strings.HasPrefix(h.dir, "/sys/fs/cgroup") {
				t.Errorf("from the mounts %q comes %q", mounts, h)
			}
		}
	})
}

// out runs a command on a host and returns its standard output. It ends the
// test if the command fails.
func out(t *testing.T, h *Hosts, name string, argv ...string) string {
	t.Helper()
	var stderr strings.Builder
	cmd := h.Command(t.Context(), name, argv...)
	cmd.Stderr = &stderr
	text, err := cmd.Output()
	if err != nil {
		t.Fatalf("on %s: %v: %v\n%s%s", name, argv, err, text, stderr.String())
	}
	return string(text)
}

// wantNothing fails a test if anything is left of the hosts of a folder. It
// allows for what ends by itself: a host that had not begun to boot.
func wantNothing(t *testing.T, dir string) {
	t.Helper()
	// ssh gives up a host that is gone within 20 s, and later where the machine is busy.
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	var left []string
	err := poll(ctx, func() bool {
		left = leftovers(t, dir)
		return len(left) == 0
	})
	if err != nil {
		t.Errorf("after Down there is still:\n%s", strings.Join(left, "\n"))
	}
}

// leftovers lists what there is of the hosts of a folder, whether they are up
// or not.
func leftovers(t *testing.T, dir string) []string {
	t.Helper()
	var found []string
	processes := errtest.Must(filepath.Glob("/proc/[0-9]*"))
	for _, process := range processes {
		groups, _ := os.ReadFile(process + "/cgroup")
		mounts, _ := os.ReadFile(process + "/mountinfo")
		command, _ := os.ReadFile(process + "/cmdline")
		if status, _ := os.ReadFile(process + "/status"); strings.Contains(string(status), "\nState:\tZ") {
			continue // it has ended, and this machine's first process will take note
		}
		if strings.Contains(string(groups), groupOf(id(dir), "")) || strings.Contains(string(mounts), dir) ||
			strings.Contains(string(command), dir) {
			found = append(found, fmt.Sprintf("process %s %q", process, command))
		}
	}
	links := errtest.Must(netlink.LinkList())
	for _, link := range links {
		if strings.HasPrefix(link.Attrs().Name, linkPrefix(id(dir))) {
			found = append(found, "link "+link.Attrs().Name)
		}
	}
	list := errtest.Must(hierarchies())
	for _, hierarchy := range list {
		groups := errtest.Must(filepath.Glob(filepath.Join(hierarchy.dir, groupOf(id(dir), "*"))))
		for _, group := range groups {
			found = append(found, "control group "+group)
		}
	}
	if _, err := os.Stat(dir); !os.IsNotExist(err) {
		_ = filepath.WalkDir(dir, func(path string, _ fs.DirEntry, _ error) error {
			found = append(found, "folder "+path)
			return fs.SkipAll
		})
	}
	return found
}
