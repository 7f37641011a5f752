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
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/vishvananda/netlink"
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
	h, err := Up(t.Context(), dir, []string{"a", "b"})
	if err != nil {
		t.Fatal(err)
	}
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
	t.Run("ssh", func(t *testing.T) { testSSH(t, h) })
	t.Run("service", func(t *testing.T) { testService(t, h) })
	t.Run("ansible", func(t *testing.T) { testAnsible(t, h) })
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
	home, err := os.UserHomeDir()
	if err != nil {
		t.Fatal(err)
	}
	files := []string{
		"/etc/passwd", "/etc/debian_version", "/etc/os-release.d", "/etc/issue", "/etc/issue.moved", "/usr/bin/env", "/usr/share/common-licenses",
		"/usr/bin/of-a-host", filepath.Join(home, "of-a-host"), "/var/lib/of-a-host", "/tmp/of-a-host", "/usr/local/bin/of-a-host", "/dev/shm/of-a-host",
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

func testSSH(t *testing.T, h *Hosts) {
	if got := out(t, h, "a", "bash -c 'read -r line </dev/tcp/b/22; echo $line'"); !strings.HasPrefix(got, "SSH-2.0") {
		t.Errorf("host a reads %q from port 22 of host b, by its name", got)
	}
	password := exec.CommandContext(t.Context(), "ssh", "-F", h.path("ssh_config"), "-o", "PubkeyAuthentication=no", "b", "true")
	text, err := password.CombinedOutput()
	if err == nil || !strings.Contains(string(text), "Permission denied (publickey)") {
		t.Errorf("login without the key: %v, %s; want that only a key is accepted", err, text)
	}
	keys := map[string]bool{}
	for _, name := range h.Names {
		keys[out(t, h, name, "cat", "/etc/ssh/ssh_host_ed25519_key.pub")] = true
		keys[out(t, h, name, "cat", "/etc/machine-id")] = true
	}
	if len(keys) != 4 {
		t.Errorf("two hosts have %d different keys and machine ids, want 4", len(keys))
	}
}

const unit = `[Service]
Type=notify
NotifyAccess=all
User=games
StateDirectory=probe
LoadCredential=token:/etc/probe.token
ExecStart=/bin/sh -c 'id -un >/var/lib/probe/said; cat $CREDENTIALS_DIRECTORY/token >>/var/lib/probe/said; touch /usr/share/probe || echo refused >>/var/lib/probe/said; systemd-notify --ready; exec sleep infinity'
Restart=on-failure
RestartSec=100ms
NoNewPrivileges=yes
CapabilityBoundingSet=
ProtectSystem=strict
PrivateTmp=yes
PrivateDevices=yes
MemoryMax=64M
[Install]
WantedBy=multi-user.target
`

// systemd on a host does with a unit what it does on a machine.
func testService(t *testing.T, h *Hosts) {
	put := h.Command(t.Context(), "b", "echo secret >/etc/probe.token; chmod 600 /etc/probe.token; cat >/etc/systemd/system/probe.service")
	put.Stdin = strings.NewReader(unit)
	if text, err := put.CombinedOutput(); err != nil {
		t.Fatalf("write the unit: %v: %s", err, text)
	}
	show := func(property string) string {
		return strings.TrimSpace(out(t, h, "b", "systemctl", "show", "--value", "-p", property, "probe"))
	}
	out(t, h, "b", "systemctl daemon-reload && systemctl enable --now probe 2>&1")
	if state := show("ActiveState") + " " + show("UnitFileState"); state != "active enabled" {
		t.Errorf("after enable --now the service is %q, want active enabled", state)
	}
	if got := out(t, h, "b", "cat", "/var/lib/probe/said"); got != "games\nsecret\nrefused\n" {
		t.Errorf("the service says %q; want its user, its credential, and that it may not write to /usr", got)
	}
	limit := out(t, h, "b", "cat /sys/fs/cgroup/memory/system.slice/probe.service/memory.limit_in_bytes /sys/fs/cgroup/system.slice/probe.service/memory.max 2>/dev/null | cat")
	if strings.TrimSpace(limit) != strconv.Itoa(64<<20) {
		t.Errorf("memory limit of the service: %q, want 64 MiB", limit)
	}
	first := show("MainPID")
	out(t, h, "b", "kill", "-9", first)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if err := poll(ctx, func() bool { return show("NRestarts") == "1" && show("ActiveState") == "active" }); err != nil {
		t.Errorf("the service was killed, and has %s restarts and is %s, want 1 restart and active", show("NRestarts"), show("ActiveState"))
	}
	if second := show("MainPID"); second == first || second == "0" {
		t.Errorf("after the restart the process is %s, before it was %s", second, first)
	}
	// The unit is enabled, so it starts with the machine.
	out(t, h, "b", "touch /run/before-reboot /var/before-reboot")
	if err := h.Reboot(t.Context(), "b"); err != nil {
		t.Fatal(err)
	}
	if state := show("ActiveState") + " " + show("NRestarts"); state != "active 0" {
		t.Errorf("after a reboot the service is %q, want active 0", state)
	}
	if got := out(t, h, "b", "ls /run/before-reboot /var/before-reboot 2>/dev/null | cat"); got != "/var/before-reboot\n" {
		t.Errorf("after a reboot there is %q, want only the file that was not in /run", got)
	}
	if boots := strings.Count(out(t, h, "b", "journalctl --list-boots --no-pager | grep '^ *-\\?[0-9]'"), "\n"); boots != 2 {
		t.Errorf("the journal has %d boots after one reboot, want 2", boots)
	}
	out(t, h, "b", "systemctl stop probe")
	if state := show("ActiveState") + " " + show("MainPID"); state != "inactive 0" {
		t.Errorf("after stop the service is %q, want inactive 0", state)
	}
}

func testAnsible(t *testing.T, h *Hosts) {
	if _, err := exec.LookPath("ansible"); err != nil {
		if os.Getenv("HEDDLE_LAB") == "require" {
			t.Fatalf("HEDDLE_LAB=require: %v", err)
		}
		t.Skip("needs ansible-core in the PATH")
	}
	ansible := exec.CommandContext(t.Context(), "ansible", "-i", h.Inventory(), "all", "--one-line",
		"-m", "ansible.builtin.systemd_service", "-a", "name=ssh state=started enabled=true")
	settings := filepath.Join(t.TempDir(), "ansible.cfg") // and none of this user's
	if err := os.WriteFile(settings, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	ansible.Env = append(os.Environ(), "ANSIBLE_CONFIG="+settings, "ANSIBLE_NOCOLOR=1", "LC_ALL=C.UTF-8")
	text, err := ansible.CombinedOutput()
	if err != nil {
		t.Fatalf("ansible: %v\n%s", err, text)
	}
	for _, name := range h.Names {
		if !strings.Contains(string(text), name+" | SUCCESS => {") {
			t.Errorf("ansible does not say that sshd of %s is as wanted:\n%s", name, text)
		}
	}
}

// Up is killed at several points. Down then removes what it left.
func TestDownAfterKill(t *testing.T) {
	need(t)
	for _, at := range []string{"hosts.json", "boot.sh", "hosts/a/console", "hosts/b/upper", "hosts/b/console"} {
		t.Run(strings.ReplaceAll(at, "/", " "), func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "hosts")
			up := exec.Command(os.Args[0])
			up.Env = append(os.Environ(), upVariable+"="+dir)
			if err := up.Start(); err != nil {
				t.Fatal(err)
			}
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

func TestUpCancelled(t *testing.T) {
	need(t)
	dir := filepath.Join(t.TempDir(), "hosts")
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	if _, err := Up(ctx, dir, []string{"a"}); err == nil {
		t.Log("the host was up within a second")
		if err := Down(t.Context(), dir); err != nil {
			t.Fatal(err)
		}
	}
	wantNothing(t, dir)
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
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := Down(t.Context(), dir); err == nil || !strings.Contains(err.Error(), "is no folder of hosts") {
		t.Errorf("Down of a folder with other files says %v", err)
	}
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
	processes, err := filepath.Glob("/proc/[0-9]*")
	if err != nil {
		t.Fatal(err)
	}
	for _, process := range processes {
		groups, _ := os.ReadFile(process + "/cgroup")
		mounts, _ := os.ReadFile(process + "/mountinfo")
		command, _ := os.ReadFile(process + "/cmdline")
		if status, _ := os.ReadFile(process + "/status"); strings.Contains(string(status), "\nState:\tZ") {
			continue // it has ended, and this machine's first process will take note
		}
		if strings.Contains(string(groups), groupOf(id(dir), "")) || strings.Contains(string(mounts), dir) || strings.Contains(string(command), dir) {
			found = append(found, fmt.Sprintf("process %s %q", process, command))
		}
	}
	links, err := netlink.LinkList()
	if err != nil {
		t.Fatal(err)
	}
	for _, link := range links {
		if strings.HasPrefix(link.Attrs().Name, linkPrefix(id(dir))) {
			found = append(found, "link "+link.Attrs().Name)
		}
	}
	list, err := hierarchies()
	if err != nil {
		t.Fatal(err)
	}
	for _, hierarchy := range list {
		groups, err := filepath.Glob(filepath.Join(hierarchy.dir, groupOf(id(dir), "*")))
		if err != nil {
			t.Fatal(err)
		}
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
