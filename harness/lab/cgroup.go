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

// cgroups gives access to this machine's control groups, version 1 or 2. A
// group is named by its path below the mount point. Version 2 has one mount
// point, version 1 has one for each controller.
type cgroups struct {
	unified string            // mount point of control groups version 2; empty: version 1 is used
	mounts  map[string]string // for control groups version 1: the mount point of each controller, by the controller's name
}

// findCgroups finds where the cgroup controllers are mounted. The argument root
// is "/" except in tests.
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
			return cgroups{}, fmt.Errorf("find control groups: neither version 2 with cpu, memory and io nor version 1 with %s is mounted "+
				"below /sys/fs/cgroup", need)
		}
	}
	return g, nil
}

// dirs returns the folders that represent a control group, one for each mount
// point. A process is in the group if the file cgroup.procs in each of these
// folders lists the process.
func (g cgroups) dirs(group string) []string {
	if g.unified != "" {
		return []string{filepath.Join(g.unified, group)}
	}
	var dirs []string
	for _, mount := range g.mounts {
		dirs = append(dirs, filepath.Join(mount, group))
	}
	slices.Sort(dirs)
	return slices.Compact(dirs) // remove duplicates from the folders: the controllers cpu and cpuacct often share a folder
}

// create makes a control group. In version 2 it also enables the controllers
// in each parent of the group, as the group would otherwise lack them.
func (g cgroups) create(group string) error {
	for _, dir := range g.dirs(group) {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return fmt.Errorf("make control group: %w", err)
		}
	}
	if g.unified == "" {
		return nil
	}
	// Enable the cgroup controllers from the top group down: a group can pass
	// on only the controllers that its parent passed to it.
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

// limitCPU limits a control group to a number of CPU cores. 0 removes the
// limit.
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

// weighCPU sets a control group's share of the CPU for times when processes
// wait for cores, as a multiple of the default weight.
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

// limitReads limits the rate at which a control group reads from one block
// device. The device is given as major and minor number: "8:0".
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

// processes returns the ids of all processes in a control group and in the
// groups below it.
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

// remove deletes a control group and all groups below it. No process may be in
// any of them.
func (g cgroups) remove(group string) error {
	var errs []error
	for _, dir := range slices.Backward(g.tree(group)) {
		if err := unix.Rmdir(dir); err != nil && !errors.Is(err, fs.ErrNotExist) {
			errs = append(errs, &fs.PathError{Op: "remove control group", Path: dir, Err: err})
		}
	}
	return errors.Join(errs...)
}

// tree returns the folders of a control group and of the groups below it,
// parents first. It leaves out folders that are deleted meanwhile.
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

// removeEmptyParent deletes the control group above all labs if no lab is left
// in it.
func (g cgroups) removeEmptyParent() {
	_ = g.remove(harnessGroup) // a heddle that was killed may have left it; ignore the error: one that runs is in it
	for _, dir := range g.dirs(allLabs) {
		_ = unix.Rmdir(dir) // ignore the error: removing fails if the group is not empty, because another lab is up
	}
}

// diskOf returns the disk that stores a folder, as major and minor number:
// "254:0". It returns the whole disk, since read limits cannot be set on a
// partition.
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
