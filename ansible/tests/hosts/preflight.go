//go:build linux

package hosts

import (
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
)

var plainPath = regexp.MustCompile(`^[A-Za-z0-9/._-]+$`)

var hostName = regexp.MustCompile(`^[a-z]([a-z0-9-]{0,61}[a-z0-9])?$`)

func checkNames(names []string) error {
	if len(names) == 0 || len(names) > maxHosts {
		return fmt.Errorf("%d hosts: want 1 to %d", len(names), maxHosts)
	}
	for i, name := range names {
		if !hostName.MatchString(name) || name == "localhost" {
			return fmt.Errorf("host name %q: want lower-case letters, digits and dashes, a letter first", name)
		}
		if slices.Contains(names[:i], name) {
			return fmt.Errorf("host name %q is given twice", name)
		}
	}
	return nil
}

// Preflight returns an error that names everything that this machine lacks for
// hosts.
func Preflight() error {
	var lacks []string
	if os.Geteuid() != 0 {
		lacks = append(lacks, "root")
	}
	for tool, debian := range map[string]string{
		"/lib/systemd/systemd": "systemd", "/usr/sbin/sshd": "openssh-server", "ssh": "openssh-client", "ssh-keygen": "openssh-client",
		"unshare": "util-linux", "setpriv": "util-linux", "/usr/bin/python3": "python3",
	} {
		if _, err := exec.LookPath(tool); err != nil {
			lacks = append(lacks, fmt.Sprintf("%s (Debian package %s)", tool, debian))
		}
	}
	if kinds, _ := os.ReadFile("/proc/filesystems"); !strings.Contains(string(kinds), "\toverlay\n") {
		lacks = append(lacks, "overlay file systems (kernel module overlay)")
	}
	if len(lacks) > 0 {
		slices.Sort(lacks)
		return fmt.Errorf("this machine lacks what hosts need: %s", strings.Join(lacks, ", "))
	}
	return nil
}
