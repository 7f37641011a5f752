//go:build linux

// Package hosts makes machines on this one, for tests of the ansible
// collection: ansible reaches them by ssh and sets up a cluster on them as it
// does on real machines.
//
// A host has network, mount, PID, UTS, IPC and control group namespaces of its
// own. Its root folder is an overlay over this machine's: it has this machine's
// Debian packages, and what it writes stays in a folder of its own. Folders that
// do not come from packages, such as /root, /home, /opt and /usr/local, are
// empty on it. systemd is its first process, and runs sshd. Names of hosts are
// in each host's /etc/hosts; this machine reaches them by address.
//
// What differs from a machine:
//
//   - the kernel's settings (/proc/sys) are read-only, apart from those of the
//     network and drop_caches, and /sys is read-only
//   - no host can set the clock, which all hosts and this machine share, load
//     kernel modules or make device nodes
//   - hosts reach each other and this machine, and nothing beyond: packages
//     that this machine lacks cannot be installed
//   - memory, processors and the page cache are this machine's; a unit's
//     MemoryMax= and CPUQuota= hold, if this machine has the controllers
//   - a reboot or shutdown from inside ends the host
//   - without CAP_SYS_RESOURCE on this machine, a unit cannot raise a limit
//     above this machine's: of LimitNOFILE= it gets what there is
//
// This keeps mishaps of a playbook away from this machine. It does not hold an
// attacker: root on a host has most rights of root here.
//
// Units can be checked without a host too. The first command prints nothing for
// a good unit; the second fails if the unit is more exposed than 3.0 of 10:
//
//	systemd-analyze verify FILE.service
//	systemd-analyze security --offline=true --threshold=30 FILE.service
//
// The hosts of a folder are found by the folder's name alone: Down cleans up
// after an Up that was killed at any point.
package hosts

import (
	"cmp"
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// Hosts is a set of hosts that are up.
type Hosts struct {
	Dir     string   // the set's folder: roots, keys, inventory
	Names   []string // host names, in the order of their addresses
	Network int      // the number N of the hosts' network 10.N.0.0/24
}

// Default returns the names of the hosts of a small cluster: one master, three
// workers and the host from which experiments are run.
func Default() []string { return []string{"master", "worker1", "worker2", "worker3", "harness"} }

// settled names the file that says whose folder it is. It is the first that Up
// writes and the last that Down removes.
const settled = "hosts.json"

// connections is the folder of the sockets of connections to hosts that ansible and
// ssh keep open.
const connections = "connections"

// bootLimit is how long a host may take to boot. It is a second or two on a
// machine with nothing else to do.
const bootLimit = 3 * time.Minute

//go:embed boot.sh
var bootScript []byte

// Up makes hosts with these names, and returns when ssh reaches all of them and
// systemd has started what they run. The folder dir must not exist. If an error
// occurs, nothing stays.
func Up(ctx context.Context, dir string, names []string) (*Hosts, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	if err := checkNames(names); err != nil {
		return nil, err
	}
	if !plainPath.MatchString(dir) {
		return nil, fmt.Errorf(
			"folder %q for hosts: want letters, digits, dots, dashes and underscores in its path, since it becomes part of mount options",
			dir,
		)
	}
	if err := Preflight(); err != nil {
		return nil, err
	}
	if err := os.MkdirAll(filepath.Dir(dir), 0o755); err != nil {
		return nil, err
	}
	if err := os.Mkdir(dir, 0o700); err != nil {
		return nil, fmt.Errorf("make a folder for hosts: %w; take hosts down that are there already", err)
	}
	h := &Hosts{Dir: dir, Names: names}
	if err := h.up(ctx); err != nil {
		err = fmt.Errorf("bring up hosts in %s: %w", dir, err)
		return nil, errors.Join(err, Down(context.WithoutCancel(ctx), dir))
	}
	return h, nil
}

func (h *Hosts) up(ctx context.Context) error {
	if err := h.save(); err != nil { // before there is anything else to find
		return err
	}
	if err := h.addBridge(ctx); err != nil {
		return err
	}
	if err := h.save(); err != nil {
		return err
	}
	if err := os.WriteFile(h.path("boot.sh"), bootScript, 0o755); err != nil {
		return err
	}
	if err := h.writeKeys(ctx); err != nil {
		return err
	}
	var err error
	alive := make([]context.Context, len(h.Names))
	for i, name := range h.Names {
		if err := h.makeRoot(name); err != nil {
			return fmt.Errorf("make the root folder of %s: %w", name, err)
		}
		if alive[i], err = h.start(ctx, name); err != nil {
			return fmt.Errorf("start %s: %w", name, err)
		}
	}
	for i, name := range h.Names {
		if err := h.waitReady(alive[i], name); err != nil {
			return err
		}
	}
	return nil
}

// Down ends the hosts of a folder and removes all that they and Up left:
// processes, links, control groups, and the folder. It does nothing if there
// are none.
func Down(ctx context.Context, dir string) error {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return err
	}
	if err := checkOurs(dir); err != nil {
		return err
	}
	closeConnections(ctx, dir)
	// Without the processes there are no mounts and no namespaces: these
	// belong to the hosts' processes alone.
	if err := removeGroups(ctx, groupOf(id(dir), "*")); err != nil {
		return fmt.Errorf("end the hosts of %s: %w", dir, err)
	}
	if err := removeLinks(linkPrefix(id(dir)) + "*"); err != nil {
		return fmt.Errorf("remove the network of the hosts of %s: %w", dir, err)
	}
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	for _, e := range entries {
		if e.Name() == settled {
			continue
		}
		if err := os.RemoveAll(filepath.Join(dir, e.Name())); err != nil {
			return fmt.Errorf("remove what the hosts wrote: %w", err)
		}
	}
	return os.RemoveAll(dir)
}

// closeConnections ends the connections that ansible and ssh keep open to the hosts
// for later commands. One that does not answer ends by itself within 20 s.
func closeConnections(ctx context.Context, dir string) {
	ctx, cancel := context.WithTimeout(ctx, 20*time.Second)
	defer cancel()
	sockets, _ := filepath.Glob(filepath.Join(dir, connections, "*"))
	for _, socket := range sockets {
		_ = exec.CommandContext(ctx, "ssh", "-O", "exit", "-o", "ControlPath="+socket, "host").Run()
	}
}

// checkOurs returns an error if a folder is there and Up did not make it, so
// that Down never removes a folder of someone else's.
func checkOurs(dir string) error {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	ours := func(e fs.DirEntry) bool { return e.Name() == settled }
	if len(entries) > 0 && !slices.ContainsFunc(entries, ours) {
		return fmt.Errorf("%s is no folder of hosts: it has no file %s", dir, settled)
	}
	return nil
}

// Command returns a command that runs on a host, by ssh as root. The host's
// shell reads the words of argv as one line, as ssh has it.
func (h *Hosts) Command(ctx context.Context, name string, argv ...string) *exec.Cmd {
	return exec.CommandContext(ctx, "ssh", append([]string{"-F", h.path("ssh_config"), name}, argv...)...)
}

// Address returns the address of a host, or the invalid address if there is no
// such host.
func (h *Hosts) Address(name string) netip.Addr {
	i := slices.Index(h.Names, name)
	if i < 0 {
		return netip.Addr{}
	}
	return netip.AddrFrom4([4]byte{10, byte(h.Network), 0, byte(firstAddress + i)})
}

// Inventory returns the path of an ansible inventory file, which says how
// ansible reaches each host. It has no groups: the cluster's own inventory,
// given beside it, has these.
func (h *Hosts) Inventory() string { return h.path("inventory.yaml") }

// start starts a host's first process and gives it a network. The context that
// it returns ends with ctx, and when the process ends.
func (h *Hosts) start(ctx context.Context, name string) (context.Context, error) {
	list, err := hierarchies()
	if err != nil {
		return nil, err
	}
	group := groupOf(id(h.Dir), name)
	argv := []string{h.path("boot.sh"), name, h.hostPath(name), group}
	for _, hierarchy := range list {
		if err := os.MkdirAll(filepath.Join(hierarchy.dir, group), 0o755); err != nil {
			return nil, err
		}
		argv = append(argv, hierarchy.String())
	}
	console, err := os.Create(h.hostPath(name, "console"))
	if err != nil {
		return nil, err
	}
	defer console.Close()
	cmd := exec.Command("sh", argv...)
	cmd.Stdout, cmd.Stderr = console, console
	cmd.SysProcAttr = &unix.SysProcAttr{
		Setsid:     true,
		Cloneflags: unix.CLONE_NEWNS | unix.CLONE_NEWPID | unix.CLONE_NEWUTS | unix.CLONE_NEWIPC | unix.CLONE_NEWNET,
	}
	ready, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	// Wait for the process's end in the background. Otherwise it would stay a
	// zombie, and its control group could not be removed.
	alive, ended := context.WithCancelCause(ctx)
	go func() {
		ended(fmt.Errorf("its first process ended: %w", cmp.Or(cmd.Wait(), errors.New("exit status 0"))))
	}()
	defer ready.Close()
	if err := h.connect(name, cmd.Process.Pid); err != nil {
		return nil, err
	}
	_, err = io.WriteString(ready, "ready\n")
	return alive, err
}

// waitReady waits until ssh reaches a host and its systemd has started all
// units.
func (h *Hosts) waitReady(ctx context.Context, name string) error {
	ctx, cancel := context.WithTimeout(ctx, bootLimit)
	defer cancel()
	var out []byte
	err := poll(ctx, func() bool {
		// The answer is a state such as "running". The command fails if ssh
		// does not reach the host, and also if a unit has failed.
		out, _ = h.Command(ctx, name, "systemctl", "is-system-running", "--wait").CombinedOutput()
		state := strings.TrimSpace(string(out))
		return state == "running" || state == "degraded"
	})
	if err != nil {
		console, _ := os.ReadFile(h.hostPath(name, "console"))
		return fmt.Errorf("wait for %s: %w\nssh says: %s\nits console says: %s", name, err, out, console)
	}
	if state := strings.TrimSpace(string(out)); state == "degraded" {
		failed, _ := h.Command(ctx, name, "systemctl", "--failed", "--no-legend").Output()
		return fmt.Errorf("wait for %s: units failed there: %s", name, failed)
	}
	return nil
}

func (h *Hosts) save() error {
	text, err := json.MarshalIndent(h, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(h.path(settled), append(text, '\n'), 0o644)
}

func (h *Hosts) path(elem ...string) string {
	return filepath.Join(append([]string{h.Dir}, elem...)...)
}

// hostPath returns a path in a host's own folder.
func (h *Hosts) hostPath(name string, elem ...string) string {
	return filepath.Join(append([]string{h.Dir, "hosts", name}, elem...)...)
}

// poll calls done every 100 ms until it returns true or ctx ends.
func poll(ctx context.Context, done func() bool) error {
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for !done() {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-tick.C:
		}
	}
	return nil
}
