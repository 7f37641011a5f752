package node

import (
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// cgroup reads the counters of one Linux control group, including the control
// groups below it.
type cgroup struct {
	host    *host
	path    string
	version int // version of Linux control groups that the machine uses: 1 or 2
	// dirs has the path of the control group's folder under each controller,
	// such as "cpu". Version 2 of control groups has a single folder, under "".
	dirs map[string]string

	memoryTotal uint64 // memory of the whole machine in bytes

	// The kernel does not count a control group's load. So load is computed from reading to
	// reading. loadMono is the time of the last one, -1 before the first.
	load     Load
	loadMono int64
	stat     []byte // buffer for a thread's stat file in /proc, reused between readings
}

var v1Controllers = []string{"cpu", "cpuacct", "memory", "blkio", "pids"}

// findCgroup finds the folders of a control group. Its path, such as
// lab/worker1, is relative to the folder root, such as /sys/fs/cgroup.
func findCgroup(root, path string, h *host) (*cgroup, error) {
	if !filepath.IsLocal(path) || filepath.Clean(path) == "." {
		return nil, fmt.Errorf("control group %q: want a path below the mount of each controller, such as lab/worker1", path)
	}
	c := &cgroup{host: h, path: path, dirs: map[string]string{}, loadMono: -1, stat: make([]byte, 512)}
	if dir := filepath.Join(root, path); isFile(filepath.Join(root, "cgroup.controllers")) && isDir(dir) {
		c.version = 2
		c.dirs[""] = dir
	}
	for _, controller := range v1Controllers {
		if dir := filepath.Join(root, controller, path); c.version != 2 && isDir(dir) {
			c.version = 1
			c.dirs[controller] = dir
		}
	}
	if c.version == 0 {
		return nil, fmt.Errorf("control group %q: %w under %s: make it before the agent starts, and start the agent"+
			" where it is seen (`ip netns exec` hides /sys/fs/cgroup, `nsenter --net` does not)", path, fs.ErrNotExist, root)
	}
	var r Reading
	if err := guard(h.readMemory, &r); err == nil {
		c.memoryTotal = r.Memory.TotalBytes
	} else {
		c.memoryTotal = math.MaxUint64
	}
	return c, nil
}

// groups returns the functions that read the control group's counters, one for
// each kind, such as CPU or memory.
func (c *cgroup) groups() []metricGroup {
	if c.version == 2 {
		return []metricGroup{
			{"quota", c.readQuotaV2},
			{"cpu", c.readCPUV2},
			{"load", c.readLoad},
			{"memory", c.readMemoryV2},
			{"disk", c.readDisksV2},
		}
	}
	return []metricGroup{
		{"quota", c.readQuotaV1},
		{"cpu", c.readCPUV1},
		{"load", c.readLoad},
		{"memory", c.readMemoryV1},
		{"disk", c.readDisksV1},
	}
}

// dir returns the control group's folder under a controller of version 1, such
// as "cpu".
func (c *cgroup) dir(controller string) (string, error) {
	dir, ok := c.dirs[controller]
	if !ok {
		return "", fmt.Errorf("controller %s does not have the control group", controller)
	}
	return dir, nil
}

// readCPU reads the CPU time that the group has used, from two lines of a file. Their
// numbers are in a unit of so many ns.
func (c *cgroup) readCPU(r *Reading, path, user, system string, unitNs uint64) error {
	stat, err := keyed(path)
	if err != nil {
		return err
	}
	inUser, err := need(stat, user, path)
	if err != nil {
		return err
	}
	inSystem, err := need(stat, system, path)
	if err != nil {
		return err
	}
	r.CPU = &CPUTimes{UserNs: inUser * unitNs, SystemNs: inSystem * unitNs}
	return nil
}

// readLoad computes the load average of a control group as the kernel does for
// the whole machine: load := load·e + tasks·(1-e), with e =
// exp(-interval/minute). The load starts at 0.
func (c *cgroup) readLoad(r *Reading) error {
	tasks, err := c.activeTasks()
	if err != nil {
		return err
	}
	if c.loadMono >= 0 {
		e := math.Exp(-float64(r.MonoNs-c.loadMono) / 60e9)
		c.load.Load1 = c.load.Load1*e + float64(tasks)*(1-e)
	}
	c.loadMono = r.MonoNs
	load := c.load
	r.Load = &load
	return nil
}

// activeTasks counts the control group's threads that run, wait for a CPU or
// wait for a disk. It does not count threads of this process, which always runs
// while it counts.
func (c *cgroup) activeTasks() (int, error) {
	file, top := "cgroup.threads", c.dirs[""]
	if c.version == 1 {
		file = "tasks"
		for _, controller := range v1Controllers {
			if dir, ok := c.dirs[controller]; ok {
				top = dir
				break
			}
		}
	}
	self := map[string]bool{}
	if own, err := os.ReadDir(filepath.Join(c.host.procRoot, "self/task")); err == nil {
		for _, task := range own {
			self[task.Name()] = true
		}
	}
	active := 0
	err := filepath.WalkDir(top, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			if path != top && errors.Is(err, fs.ErrNotExist) {
				return nil // no error: while the groups are read, a control group below the measured one may be removed
			}
			return err
		}
		if !d.IsDir() {
			return nil
		}
		tids, err := os.ReadFile(filepath.Join(path, file))
		if err != nil && path == top {
			return err
		}
		for tid := range strings.FieldsSeq(string(tids)) {
			if self[tid] {
				continue
			}
			if s := c.host.taskState(tid, c.stat); s == 'R' || s == 'D' {
				active++
			}
		}
		return nil
	})
	if err != nil {
		return 0, fmt.Errorf("count tasks: %w", err)
	}
	return active, nil
}

// keyed reads a file of lines "key value", where values are whole numbers.
func keyed(path string) (map[string]uint64, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	values := parseKeyed(string(data))
	if len(values) == 0 {
		return nil, fmt.Errorf("read %s: %w", path, errEmpty)
	}
	return values, nil
}

// parseKeyed parses lines "key value". It skips lines whose value is not a
// whole number.
func parseKeyed(text string) map[string]uint64 {
	values := map[string]uint64{}
	for line := range strings.Lines(text) {
		key, value, _ := strings.Cut(strings.TrimSpace(line), " ")
		if v, err := strconv.ParseUint(value, 10, 64); err == nil {
			values[key] = v
		}
	}
	return values
}

// need returns the number with the given key from the values of a kernel file.
// If the key is missing, the error names the file's path.
func need(values map[string]uint64, key, path string) (uint64, error) {
	v, ok := values[key]
	if !ok {
		return 0, fmt.Errorf("read %s: no line %q", path, key)
	}
	return v, nil
}

// number reads a file that contains one number. The text "max" stands for the
// largest uint64.
func number(path string) (uint64, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return 0, err
	}
	text := strings.TrimSpace(string(data))
	if text == "max" {
		return math.MaxUint64, nil
	}
	v, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		return 0, fmt.Errorf("read %s: want a number, found %.40q", path, text)
	}
	return v, nil
}

func isDir(path string) bool {
	st, err := os.Stat(path)
	return err == nil && st.IsDir()
}

func isFile(path string) bool {
	st, err := os.Stat(path)
	return err == nil && st.Mode().IsRegular()
}
