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
	return []metricGroup{{"quota", c.readQuota}, {"cpu", c.readCPU}, {"load", c.readLoad}, {"memory", c.readMemory}, {"disk", c.readDisks}}
}

// controlFiles are the names that a version of control groups has for the files and lines
// of counters, with the units of times in ns.
type controlFiles struct {
	throttled         string // in cpu.stat
	throttledNs       uint64
	cpu, user, system string
	cpuNs             uint64
	memory            string
	cache, shared     string // in memory.stat
	drop              string // what is written to drop the page cache
}

// tickNs is the unit of the kernel's CPU times (1/USER_HZ) in ns. It is the
// same on every Linux platform that runs Hadoop.
const tickNs = 10_000_000

// files are the names by the version, less 1. Version 2 has the lines of cpu.stat about
// throttling only while the cpu controller is enabled, and does not count single cores.
var files = [2]controlFiles{
	{
		throttled: "throttled_time", throttledNs: 1,
		cpu: "cpuacct.stat", user: "user", system: "system", cpuNs: tickNs,
		memory: "memory.usage_in_bytes", cache: "total_cache", shared: "total_shmem", drop: "memory.force_empty",
	},
	{
		throttled: "throttled_usec", throttledNs: 1000,
		cpu: "cpu.stat", user: "user_usec", system: "system_usec", cpuNs: 1000,
		memory: "memory.current", cache: "file", shared: "shmem", drop: "memory.reclaim",
	},
}

func (c *cgroup) names() *controlFiles { return &files[c.version-1] }

// file returns the path of a file of the control group under a controller of version 1,
// such as "cpu".
func (c *cgroup) file(controller, name string) (string, error) {
	if c.version == 2 {
		controller = ""
	}
	dir, ok := c.dirs[controller]
	if !ok {
		return "", fmt.Errorf("controller %s does not have the control group", controller)
	}
	return filepath.Join(dir, name), nil
}

func (c *cgroup) readQuota(r *Reading) error {
	path, stat, err := c.keyed("cpu", "cpu.stat")
	if err != nil {
		return err
	}
	throttled, err := need(stat, c.names().throttled, path)
	if err == nil {
		r.Quota = &Quota{throttled * c.names().throttledNs}
	}
	return err
}

func (c *cgroup) readCPU(r *Reading) error {
	is := c.names()
	path, stat, err := c.keyed("cpuacct", is.cpu)
	if err != nil {
		return err
	}
	user, err := need(stat, is.user, path)
	if err != nil {
		return err
	}
	system, err := need(stat, is.system, path)
	if err != nil {
		return err
	}
	r.CPU = &CPUTimes{UserNs: user * is.cpuNs, SystemNs: system * is.cpuNs}
	return nil
}

func (c *cgroup) readMemory(r *Reading) error {
	is, limit := c.names(), uint64(math.MaxUint64)
	path, err := c.file("memory", is.memory)
	if err != nil {
		return err
	}
	used, err := number(path)
	if err != nil {
		return err
	}
	_, stat, err := c.keyed("memory", "memory.stat")
	if err != nil {
		return err
	}
	if c.version == 2 {
		limit, err = number(filepath.Join(c.dirs[""], "memory.max"))
	} else if v, ok := stat["hierarchical_memory_limit"]; ok {
		limit = v
	}
	if err != nil {
		return err
	}
	limit = min(limit, c.memoryTotal)
	r.Memory = &Memory{limit, grown(limit, used), grown(stat[is.cache], stat[is.shared])}
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

// keyed reads a file of the control group with lines "key value", where values are whole numbers.
func (c *cgroup) keyed(controller, name string) (path string, values map[string]uint64, err error) {
	path, err = c.file(controller, name)
	if err != nil {
		return path, nil, err
	}
	data, err := os.ReadFile(path)
	if values = parseKeyed(string(data)); err == nil && len(values) == 0 {
		err = fmt.Errorf("read %s: %w", path, errEmpty)
	}
	return path, values, err
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
