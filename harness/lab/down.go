package lab

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// grace is how long daemons may take to end after SIGTERM. After that
// they are killed. The limit is short, since a NodeManager that has run many
// jobs would need 17 s.
const grace = 1500 * time.Millisecond

// Down ends the lab's processes and removes its network, mounts and control
// groups. HDFS data stays, unless purge is true: then the state folder is
// removed too. Down also cleans up what a killed Up or a reboot has left.
func Down(ctx context.Context, name string, purge bool) error {
	unlock, err := lock(ctx, name)
	if err != nil {
		return err
	}
	defer unlock()
	// Down continues to its end even if ctx is cancelled, since a lab that is
	// half removed is of no use. Only the deadline of ctx limits it.
	to, limited := ctx.Deadline()
	ctx = context.WithoutCancel(ctx)
	if limited {
		var cancel context.CancelFunc
		ctx, cancel = context.WithDeadline(ctx, to)
		defer cancel()
	}
	root, err := stateFolder(name)
	if err != nil {
		return err
	}
	// The lab's name is enough to find all of the lab's processes, mounts and
	// devices; the file lab.json may be missing or broken.
	l, err := open(root, savedPlan{Cfg: Config{Name: name, Racks: 1}})
	if err != nil {
		return err
	}
	if err := l.down(ctx, purge); err != nil {
		return fmt.Errorf("take lab %s down: %w", name, err)
	}
	return nil
}

// Down takes this lab down, as the package's function Down does.
func (l *Lab) Down(ctx context.Context, purge bool) error { return Down(ctx, l.Name, purge) }

func (l *Lab) down(ctx context.Context, purge bool) error {
	os.Remove(l.ClusterFile())
	errs := []error{l.endProcesses(ctx), l.unmount(), removeNetwork(l.Name), l.removeCgroups(ctx)}
	if purge {
		errs = append(errs, os.RemoveAll(l.root))
	}
	return errors.Join(errs...)
}

// endProcesses ends every process of the lab: those in its control groups
// (daemons, containers, commands), and daemons that just started and have not
// entered a group yet. It sends SIGTERM first, and SIGKILL after the grace
// period.
func (l *Lab) endProcesses(ctx context.Context) error {
	signal := func(s unix.Signal) (left int) {
		for _, pid := range append(l.cgroups.processes(cgroupOf(l.Name)), l.marked()...) {
			if pid != os.Getpid() && unix.Kill(pid, s) == nil {
				left++
			}
		}
		return left
	}
	// The function none sends a signal to the lab's processes. It returns true
	// if it found no process to send the signal to. It repeats the search for a
	// while: a daemon that was just started may be in no control group yet, and
	// has an empty command line while it calls exec.
	none := func(s unix.Signal) bool {
		looks, cancel := context.WithTimeout(context.WithoutCancel(ctx), 120*time.Millisecond)
		defer cancel()
		return until(looks, func() bool { return signal(s) > 0 }) != nil
	}
	if none(unix.SIGTERM) {
		return nil
	}
	gentle, cancel := context.WithTimeout(ctx, grace)
	defer cancel()
	if until(gentle, func() bool { return none(0) }) == nil {
		return nil
	}
	// A process may start another process after the list was made and before
	// the kill, so repeat until no process is left.
	err := until(ctx, func() bool { return none(unix.SIGKILL) })
	if err != nil {
		return fmt.Errorf("kill the processes in control group %s: %w", cgroupOf(l.Name), err)
	}
	return nil
}

// marked returns the ids of the lab's daemons that still run. It finds them by
// an argument of their command line that contains the lab's name.
func (l *Lab) marked() []int {
	marks := [][]byte{
		[]byte("\x00-Dheddle.daemon=" + l.Name + "/"), []byte("\x00--cgroup\x00" + cgroupOf(l.Name) + "/"),
		[]byte("\x00" + l.kdcMark() + "\x00"),
	}
	var pids []int
	folders, _ := filepath.Glob("/proc/[0-9]*")
	for _, folder := range folders {
		pid, _ := strconv.Atoi(filepath.Base(folder))
		cmdline, _ := commandLine(pid) // the process may have ended
		for _, mark := range marks {
			if bytes.Contains(cmdline, mark) {
				pids = append(pids, pid)
			}
		}
	}
	return pids
}

// unmount removes every mount below the lab's state folder.
func (l *Lab) unmount() error {
	f, err := os.Open("/proc/self/mountinfo")
	if err != nil {
		return err
	}
	defer f.Close()
	var errs []error
	for lines := bufio.NewScanner(f); lines.Scan(); {
		fields := strings.Fields(lines.Text())
		if len(fields) > 4 && strings.HasPrefix(fields[4], l.root+"/") {
			if err := detach(fields[4]); err != nil {
				errs = append(errs, &os.PathError{Op: "unmount", Path: fields[4], Err: err})
			}
		}
	}
	return errors.Join(errs...)
}

// removeCgroups deletes the lab's control groups. It retries for 2 s, since
// the kernel needs a moment to remove ended processes from the groups.
func (l *Lab) removeCgroups(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	var err error
	if until(ctx, func() bool { err = l.cgroups.remove(cgroupOf(l.Name)); return err == nil }) != nil {
		return err
	}
	l.cgroups.removeEmptyParent()
	return nil
}
