package lab

import (
	"bufio"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"heddle/harness/internal/units"
)

// cgroups are this machine's control groups, version 1 or 2. A group is named
// by its path below the mount of every controller (version 1) or below the one
// mount (version 2).
type cgroups struct {
	unified string            // mount of version 2; empty is version 1
	mounts  map[string]string // version 1: controller to mount
}

// findCgroups reads which controllers are mounted where; root is "/" except in
// tests.
func findCgroups(root string) (cgroups, error) {
	f, err := os.Open(filepath.Join(root, "proc/self/mountinfo"))
	if err != nil {
		return cgroups{}, fmt.Errorf("find control groups: %w", err)
	}
	defer f.Close()
	g := cgroups{mounts: map[string]string{}}
	for lines := bufio.NewScanner(f); lines.Scan(); {
		before, after, _ := strings.Cut(lines.Text(), " - ")
		where, kind := strings.Fields(before), strings.Fields(after)
		if len(where) < 5 || len(kind) < 3 {
			continue
		}
		mount := filepath.Join(root, where[4])
		switch kind[0] {
		case "cgroup2":
			has, _ := os.ReadFile(filepath.Join(mount, "cgroup.controllers"))
			list := strings.Fields(string(has))
			if slices.Contains(list, "cpu") && slices.Contains(list, "memory") && slices.Contains(list, "io") {
				g.unified = mount
			}
		case "cgroup":
			for controller := range strings.SplitSeq(kind[2], ",") {
				switch controller {
				case "cpu", "cpuacct", "memory", "blkio":
					g.mounts[controller] = mount
				}
			}
		}
	}
	for _, need := range []string{"cpu", "memory", "blkio"} {
		if g.unified == "" && g.mounts[need] == "" {
			return cgroups{}, fmt.Errorf("find control groups: neither version 2 with cpu, memory and io nor version 1 with %s is mounted below /sys/fs/cgroup", need)
		}
	}
	return g, nil
}

// version is 1 or 2.
func (g cgroups) version() int {
	if g.unified != "" {
		return 2
	}
	return 1
}

// dirs are the folders of a group; a process belongs to it when it is in each
// one's cgroup.procs.
func (g cgroups) dirs(group string) []string {
	if g.unified != "" {
		return []string{filepath.Join(g.unified, group)}
	}
	var dirs []string
	for _, mount := range g.mounts {
		dirs = append(dirs, filepath.Join(mount, group))
	}
	slices.Sort(dirs)
	return slices.Compact(dirs) // cpu and cpuacct often share one
}

// create makes a group and, in version 2, hands the controllers down to it.
func (g cgroups) create(group string) error {
	for _, dir := range g.dirs(group) {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return fmt.Errorf("make control group: %w", err)
		}
	}
	if g.unified == "" {
		return nil
	}
	// From the top: a group can hand down only what it was given.
	path := "."
	for _, part := range append([]string{"."}, strings.Split(filepath.Dir(group), "/")...) {
		path = filepath.Join(path, part)
		file := filepath.Join(g.unified, path, "cgroup.subtree_control")
		if err := os.WriteFile(file, []byte("+cpu +memory +io"), 0); err != nil {
			return fmt.Errorf("hand controllers down: %w; a group that does so must have no processes of its own", err)
		}
	}
	return nil
}

// limitCPU caps the cores that a group uses; here and below, 0 lifts the cap.
func (g cgroups) limitCPU(group string, cores float64) error {
	const periodUs = 100_000
	quota := strconv.Itoa(int(cores * periodUs))
	if g.unified != "" {
		if cores == 0 {
			quota = "max"
		}
		return g.write("", group, "cpu.max", fmt.Sprintf("%s %d", quota, periodUs))
	}
	if cores == 0 {
		quota = "-1"
	}
	return g.write("cpu", group, "cpu.cfs_quota_us", quota)
}

// weighCPU says how much a group gets when cores are short: times what another has.
func (g cgroups) weighCPU(group string, times int) error {
	if g.unified != "" {
		return g.write("", group, "cpu.weight", strconv.Itoa(100*times))
	}
	return g.write("cpu", group, "cpu.shares", strconv.Itoa(1024*times))
}

func (g cgroups) limitMemory(group string, size units.Size) error {
	text := strconv.FormatInt(int64(size), 10)
	if g.unified != "" {
		if size == 0 {
			text = "max"
		}
		return g.write("", group, "memory.max", text)
	}
	if size == 0 {
		text = "-1"
	}
	return g.write("memory", group, "memory.limit_in_bytes", text)
}

// limitReads caps what a group reads from one block device, "8:0".
func (g cgroups) limitReads(group, device string, rate units.Rate) error {
	if g.unified != "" {
		text := "max"
		if rate > 0 {
			text = strconv.FormatInt(int64(rate), 10)
		}
		return g.write("", group, "io.max", device+" rbps="+text)
	}
	return g.write("blkio", group, "blkio.throttle.read_bps_device", fmt.Sprintf("%s %d", device, rate))
}

func (g cgroups) write(controller, group, file, text string) error {
	mount := g.unified
	if mount == "" {
		mount = g.mounts[controller]
	}
	if err := os.WriteFile(filepath.Join(mount, group, file), []byte(text), 0); err != nil {
		return fmt.Errorf("limit control group to %q: %w", text, err)
	}
	return nil
}

// processes are the ids of all processes in a group and the groups below.
func (g cgroups) processes(group string) []int {
	var pids []int
	for _, dir := range g.tree(group) {
		text, _ := os.ReadFile(filepath.Join(dir, "cgroup.procs"))
		for field := range strings.FieldsSeq(string(text)) {
			if pid, err := strconv.Atoi(field); err == nil && pid > 0 {
				pids = append(pids, pid)
			}
		}
	}
	slices.Sort(pids)
	return slices.Compact(pids)
}

// remove deletes a group without processes and all below it.
func (g cgroups) remove(group string) error {
	var errs []error
	for _, dir := range slices.Backward(g.tree(group)) {
		if err := unix.Rmdir(dir); err != nil && !errors.Is(err, fs.ErrNotExist) {
			errs = append(errs, &fs.PathError{Op: "remove control group", Path: dir, Err: err})
		}
	}
	return errors.Join(errs...)
}

// tree is the folders of a group and of the groups below, parents first. Those
// that vanish meanwhile are left out.
func (g cgroups) tree(group string) []string {
	var found []string
	for _, dir := range g.dirs(group) {
		_ = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
			if err == nil && d.IsDir() {
				found = append(found, path)
			}
			return nil
		})
	}
	return found
}

// removeEmptyParent deletes the folder that all labs share once none is left.
func (g cgroups) removeEmptyParent() {
	for _, dir := range g.dirs("heddle") {
		_ = unix.Rmdir(dir) // not empty: another lab is up
	}
}

// diskOf is the whole disk, "254:0", that a folder's files are read from;
// limits act on disks, not on their partitions.
func diskOf(folder string) (string, error) {
	id, err := deviceOf(folder)
	if err != nil {
		return "", err
	}
	sys, err := filepath.EvalSymlinks("/sys/dev/block/" + id)
	if err != nil {
		return "", fmt.Errorf("%s is not on a disk of its own (device %s)", folder, id)
	}
	if _, err := os.Stat(filepath.Join(sys, "partition")); err == nil {
		whole, err := os.ReadFile(filepath.Join(filepath.Dir(sys), "dev"))
		if err != nil {
			return "", err
		}
		id = strings.TrimSpace(string(whole))
	}
	return id, nil
}
