package lab

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// harnessGroup is the control group of heddle processes that run jobs on a lab. It
// is beside those of labs; no lab has a name with a dot.
const harnessGroup = allLabs + "/.heddle"

// ShareCores gives this process, and those that it starts, as large a share of this
// machine's cores as a lab has, until undo is called. Steering and the submission of
// jobs would otherwise wait for the very tasks that they start, since labs weigh more
// than the sessions of users.
func ShareCores() (undo func(), err error) {
	g, err := findCgroups("/")
	if err == nil {
		undo, err = g.share("/proc/self/cgroup", os.Getpid())
	}
	if err != nil {
		return nil, fmt.Errorf("share cores with labs: %w", err)
	}
	return undo, nil
}

// share moves a process into harnessGroup. The file list has the control groups
// that the process is in now, to which undo moves it back.
func (g cgroups) share(list string, pid int) (undo func(), err error) {
	text, err := os.ReadFile(list)
	if err != nil {
		return nil, err
	}
	was := g.groupIn(string(text))
	if err := g.create(harnessGroup); err != nil {
		return nil, err
	}
	move := func(group string) error { return g.write("cpu", group, "cgroup.procs", strconv.Itoa(pid)) }
	if err := move(harnessGroup); err != nil {
		return nil, err
	}
	return func() {
		if move(was) == nil { // otherwise the process stays in the group until it ends
			_ = g.remove(harnessGroup) // ignore the error: another heddle may be in the group
			g.removeEmptyParent()
		}
	}, nil
}

// groupIn returns the control group for CPU from the content of a file
// /proc/PID/cgroup, whose lines have the form "4:cpu,cpuacct:/group".
func (g cgroups) groupIn(list string) string {
	for line := range strings.Lines(list) {
		part := strings.SplitN(strings.TrimSpace(line), ":", 3)
		if len(part) != 3 {
			continue
		}
		if g.unified != "" && part[0] == "0" || g.unified == "" && slices.Contains(strings.Split(part[1], ","), "cpu") {
			return filepath.Join("/", part[2])
		}
	}
	return "/"
}
