//go:build linux

package hosts

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

// packaged are the folders at the top of a Debian system. A host does not see
// other folders and files at the top of this machine.
var packaged = strings.Fields("bin boot dev etc home lib lib32 lib64 libx32 media mnt opt proc root run sbin srv sys tmp usr var")

// emptied are the folders that are there on a host and have nothing of this
// machine's, with their permissions.
var emptied = map[string]fs.FileMode{
	"home": 0o755, "media": 0o755, "mnt": 0o755, "opt": 0o755, "root": 0o700, "srv": 0o755,
	"usr/local": 0o755, "var/log": 0o755, "var/tmp": 0o777 | fs.ModeSticky,
	// The host starts what is said here, not what this machine would start.
	"etc/systemd/system": 0o755,
	"etc/rc0.d":          0o755, "etc/rc1.d": 0o755, "etc/rc2.d": 0o755, "etc/rc3.d": 0o755,
	"etc/rc4.d": 0o755, "etc/rc5.d": 0o755, "etc/rc6.d": 0o755, "etc/rcS.d": 0o755,
}

// masked are units that have no use on a host, or would show this machine's
// kernel to it.
var masked = strings.Fields(
	"dev-hugepages.mount sys-kernel-debug.mount sys-kernel-tracing.mount sys-kernel-config.mount sys-fs-fuse-connections.mount " +
		"proc-sys-fs-binfmt_misc.automount getty.target systemd-udevd.service systemd-timesyncd.service",
)

// makeRoot makes the folder upper of a host, the upper layer of the host's root
// folder, and the empty folders work and root.
func (h *Hosts) makeRoot(name string) error {
	for _, dir := range []string{"upper", "work", "root"} {
		if err := os.MkdirAll(h.hostPath(name, dir), 0o755); err != nil {
			return err
		}
	}
	if err := hideOthers(h.hostPath(name, "upper")); err != nil {
		return err
	}
	for dir, mode := range emptied {
		if err := makeEmpty(h.hostPath(name, "upper", dir), mode); err != nil {
			return err
		}
	}
	for _, dir := range []string{"bin", "etc", "lib", "sbin", "share"} {
		if err := os.Mkdir(h.hostPath(name, "upper/usr/local", dir), 0o755); err != nil {
			return err
		}
	}
	// With this folder the journal outlives a reboot, as on a Debian machine.
	if err := os.Mkdir(h.hostPath(name, "upper/var/log/journal"), 0o755); err != nil {
		return err
	}
	if err := h.chooseUnits(name); err != nil {
		return err
	}
	return h.writeEtc(name)
}

// hideOthers hides those entries at the top of this machine's root folder from
// a host that no Debian package has put there.
func hideOthers(upper string) error {
	top, err := os.ReadDir("/")
	if err != nil {
		return err
	}
	for _, e := range top {
		if slices.Contains(packaged, e.Name()) {
			continue
		}
		// In an overlay's upper layer, this device node says that the name
		// does not exist.
		if err := unix.Mknod(filepath.Join(upper, e.Name()), unix.S_IFCHR, 0); err != nil {
			return fmt.Errorf("hide /%s: %w", e.Name(), err)
		}
	}
	return nil
}

// makeEmpty makes a folder in the upper layer that hides what the lower layer
// has in this folder.
func makeEmpty(dir string, mode fs.FileMode) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	if err := os.Chmod(dir, mode); err != nil {
		return err
	}
	if err := unix.Setxattr(dir, "trusted.overlay.opaque", []byte("y"), 0); err != nil {
		return fmt.Errorf("hide what this machine has in %s: %w", dir, err)
	}
	return nil
}

// chooseUnits says which of the packages' units systemd starts.
func (h *Hosts) chooseUnits(name string) error {
	units := h.hostPath(name, "upper/etc/systemd/system")
	links := map[string]string{
		"default.target":                      "/lib/systemd/system/multi-user.target",
		"sshd.service":                        "/lib/systemd/system/ssh.service",
		"multi-user.target.wants/ssh.service": "/lib/systemd/system/ssh.service",
	}
	for _, unit := range masked {
		links[unit] = "/dev/null"
	}
	if err := os.MkdirAll(filepath.Join(units, "multi-user.target.wants"), 0o755); err != nil {
		return err
	}
	for link, to := range links {
		if err := os.Symlink(to, filepath.Join(units, link)); err != nil {
			return err
		}
	}
	return nil
}

// writeEtc writes the files that make a host differ from this machine and from
// the other hosts.
func (h *Hosts) writeEtc(name string) error {
	machine := make([]byte, 16)
	_, _ = rand.Read(machine) // it never returns an error
	key, err := os.ReadFile(h.path("key.pub"))
	if err != nil {
		return err
	}
	for file, content := range map[string]string{
		"etc/hostname":    name + "\n",
		"etc/hosts":       h.hostsFile(),
		"etc/machine-id":  hex.EncodeToString(machine) + "\n",
		"etc/fstab":       "",
		"etc/resolv.conf": "",
		"etc/ssh/sshd_config.d/heddle.conf": "PasswordAuthentication no\nKbdInteractiveAuthentication no\nHostKey " +
			"/etc/ssh/ssh_host_ed25519_key\nUseDNS no\n",
		"root/.ssh/authorized_keys": string(key),
	} {
		path := h.hostPath(name, "upper", file)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
			return err
		}
	}
	for _, suffix := range []string{"", ".pub"} {
		text, err := os.ReadFile(h.path("host-keys", name+suffix))
		if err != nil {
			return err
		}
		if err := os.WriteFile(h.hostPath(name, "upper/etc/ssh/ssh_host_ed25519_key"+suffix), text, 0o600); err != nil {
			return err
		}
	}
	return nil
}

func (h *Hosts) hostsFile() string {
	var text strings.Builder
	text.WriteString("127.0.0.1 localhost\n")
	for _, name := range h.Names {
		fmt.Fprintf(&text, "%s %s\n", h.Address(name), name)
	}
	return text.String()
}

// writeKeys makes the key with which ssh logs in to the hosts, the hosts' own
// keys, and the files that tell ssh and ansible of them.
func (h *Hosts) writeKeys(ctx context.Context) error {
	if err := os.Mkdir(h.path("host-keys"), 0o700); err != nil {
		return err
	}
	if err := makeKey(ctx, h.path("key")); err != nil {
		return err
	}
	var known, config, inventory strings.Builder
	// Connections that ansible keeps open end with the hosts, so that they do
	// not serve later hosts with the same addresses.
	fmt.Fprintf(&inventory, `all:
  vars:
    ansible_user: root
    ansible_ssh_common_args: -F %s
    ansible_control_path_dir: %s
    ansible_python_interpreter: /usr/bin/python3
  hosts:
`, h.path("ssh_config"), h.path(connections))
	for _, name := range h.Names {
		if err := makeKey(ctx, h.path("host-keys", name)); err != nil {
			return err
		}
		public, err := os.ReadFile(h.path("host-keys", name+".pub"))
		if err != nil {
			return err
		}
		fmt.Fprintf(&known, "%s,%s %s", name, h.Address(name), public)
		fmt.Fprintf(&config, "Host %s\n  HostName %s\n", name, h.Address(name))
		fmt.Fprintf(&inventory, "    %s: {ansible_host: %s}\n", name, h.Address(name))
	}
	// Hosts of a machine with much else to do may be silent for a minute.
	fmt.Fprintf(&config, `Host *
  User root
  IdentityFile "%s"
  IdentitiesOnly yes
  UserKnownHostsFile "%s"
  GlobalKnownHostsFile none
  StrictHostKeyChecking yes
  BatchMode yes
  ConnectTimeout 120
  ServerAliveInterval 5
  ServerAliveCountMax 24
`, h.path("key"), h.path("known_hosts"))
	for file, content := range map[string]string{
		"known_hosts": known.String(), "ssh_config": config.String(), "inventory.yaml": inventory.String(),
	} {
		if err := os.WriteFile(h.path(file), []byte(content), 0o600); err != nil {
			return err
		}
	}
	return nil
}

func makeKey(ctx context.Context, path string) error {
	out, err := exec.CommandContext(ctx, "ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "heddle hosts", "-f", path).CombinedOutput()
	if err != nil {
		return fmt.Errorf("make key %s: %w: %s", path, err, out)
	}
	return nil
}
