//go:build linux

package hosts

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// A host's control group is the root of all groups that its systemd makes. The
// groups also tell which processes are a host's.

// hierarchy is a mounted hierarchy of control groups, version 1 or 2.
type hierarchy struct {
	kind    string // "cgroup" or "cgroup2"
	options string // mount options that tell which hierarchy it is, such as "memory"; empty for version 2
	dir     string // mount point
}

// String returns the hierarchy as boot.sh reads it.
func (h hierarchy) String() string { return h.kind + ":" + h.options + ":" + h.dir }

// controllers are those of version 1 that systemd uses.
var controllers = []string{"cpu", "cpuacct", "memory", "blkio", "pids", "freezer", "devices"}

// hierarchies returns the hierarchies that are mounted below /sys/fs/cgroup.
func hierarchies() ([]hierarchy, error) {
	mounts, err := os.ReadFile("/proc/self/mounts")
	if err != nil {
		return nil, err
	}
	found := hierarchiesIn(string(mounts))
	if len(found) == 0 {
		return nil, errors.New("find control groups: none are mounted below /sys/fs/cgroup")
	}
	return found, nil
}

// hierarchiesIn returns the hierarchies in a text like that of /proc/mounts.
func hierarchiesIn(mounts string) []hierarchy {
	var found []hierarchy
	for line := range strings.Lines(mounts) {
		fields := strings.Fields(line)
		if len(fields) < 4 || !strings.HasPrefix(fields[1], "/sys/fs/cgroup") || strings.Contains(fields[1], ":") {
			continue
		}
		switch fields[2] {
		case "cgroup2":
			found = append(found, hierarchy{kind: "cgroup2", dir: fields[1]})
		case "cgroup":
			if options := identity(fields[3]); options != "" {
				found = append(found, hierarchy{kind: "cgroup", options: options, dir: fields[1]})
			}
		}
	}
	return found
}

// identity returns those of a mount's options that tell which hierarchy of
// version 1 it is, or "" if systemd does not use it.
func identity(options string) string {
	var own []string
	for option := range strings.SplitSeq(options, ",") {
		if option == "name=systemd" {
			return "none,name=systemd"
		}
		if slices.Contains(controllers, option) {
			own = append(own, option)
		}
	}
	return strings.Join(own, ",")
}

// groupOf returns the name of a host's control group. It is at the top of each
// hierarchy, since in version 2 a group has the controllers that its parent
// hands down. The name * stands for all hosts of the set.
func groupOf(id, name string) string { return "heddle-hosts-" + id + "-" + name }

// removeGroups kills every process in control groups, and removes the groups.
// The name of the groups is a pattern as for filepath.Match.
func removeGroups(ctx context.Context, name string) error {
	list, err := hierarchies()
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	for _, h := range list {
		tops, err := filepath.Glob(filepath.Join(h.dir, name))
		if err != nil {
			return err
		}
		for _, top := range tops {
			var left error
			err := poll(ctx, func() bool {
				left = removeGroup(top)
				return left == nil
			})
			if err != nil {
				return fmt.Errorf("remove control group %s: %w", top, errors.Join(err, left))
			}
		}
	}
	return nil
}

// removeGroup kills what is in a control group and in those below it, and
// removes the groups. It returns an error if it is too early for that: the
// kernel needs a moment to take a process out of its group.
func removeGroup(top string) error {
	var groups []string
	err := filepath.WalkDir(top, func(path string, e fs.DirEntry, err error) error {
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return nil
		case err == nil && e.IsDir():
			groups = append(groups, path)
		}
		return err
	})
	if err != nil {
		return err
	}
	slices.Reverse(groups) // inner groups first
	for _, group := range groups {
		pids, _ := os.ReadFile(filepath.Join(group, "cgroup.procs"))
		for pid := range strings.FieldsSeq(string(pids)) {
			if n, err := strconv.Atoi(pid); err == nil && n > 1 {
				_ = unix.Kill(n, unix.SIGKILL) // ignore the error: the process may have ended since it was listed
			}
		}
	}
	var errs []error
	for _, group := range groups {
		if err := unix.Rmdir(group); err != nil && !errors.Is(err, unix.ENOENT) {
			errs = append(errs, &os.PathError{Op: "remove", Path: group, Err: err})
		}
	}
	return errors.Join(errs...)
}
