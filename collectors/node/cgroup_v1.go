package node

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// ticksPerSec is USER_HZ, 100 on every platform of Linux that runs Hadoop.
const ticksPerSec = 100

func (c *cgroup) readQuotaV1(r *Reading) error {
	c.limitCores = 0
	dir, err := c.dir("cpu")
	if err != nil {
		return err
	}
	stat, err := keyed(filepath.Join(dir, "cpu.stat"))
	if err != nil {
		return err
	}
	r.Quota = &Quota{
		Periods:          stat["nr_periods"],
		ThrottledPeriods: stat["nr_throttled"],
		ThrottledNs:      stat["throttled_time"],
	}
	// The quota is -1 without a limit, which is no number to number.
	quotaUs, err1 := number(filepath.Join(dir, "cpu.cfs_quota_us"))
	periodUs, err2 := number(filepath.Join(dir, "cpu.cfs_period_us"))
	if err1 == nil && err2 == nil && periodUs > 0 {
		c.limit(r, quotaUs, periodUs)
	}
	return nil
}

func (c *cgroup) limit(r *Reading, quotaUs, periodUs uint64) {
	cores := float64(quotaUs) / float64(periodUs)
	c.limitCores = cores
	r.Quota.LimitCores = &cores
}

func (c *cgroup) readCPUV1(r *Reading) error {
	dir, err := c.dir("cpuacct")
	if err != nil {
		return err
	}
	path := filepath.Join(dir, "cpuacct.stat")
	stat, err := keyed(path)
	if err != nil {
		return err
	}
	user, err := need(stat, "user", path)
	if err != nil {
		return err
	}
	system, err := need(stat, "system", path)
	if err != nil {
		return err
	}
	r.CPU = &CPUTimes{UserSec: float64(user) / ticksPerSec, SystemSec: float64(system) / ticksPerSec}
	r.CPU.IdleSec = c.idle(r)
	r.Cores, err = readUsageAll(filepath.Join(dir, "cpuacct.usage_all"))
	return err
}

// readUsageAll reads lines of "core userNs systemNs" under a heading.
func readUsageAll(path string) ([]CPUTimes, error) {
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil // Linux before 4.8
	}
	if err != nil {
		return nil, err
	}
	var cores []CPUTimes
	for line := range strings.Lines(string(data)) {
		f := strings.Fields(line)
		if len(f) != 3 || f[0] == "cpu" {
			continue
		}
		user, err1 := strconv.ParseUint(f[1], 10, 64)
		system, err2 := strconv.ParseUint(f[2], 10, 64)
		if err := errors.Join(err1, err2); err != nil {
			return nil, fmt.Errorf("read %s: %w", path, err)
		}
		cores = append(cores, CPUTimes{UserSec: float64(user) / 1e9, SystemSec: float64(system) / 1e9})
	}
	return cores, nil
}

func (c *cgroup) readMemoryV1(r *Reading) error {
	dir, err := c.dir("memory")
	if err != nil {
		return err
	}
	used, err := number(filepath.Join(dir, "memory.usage_in_bytes"))
	if err != nil {
		return err
	}
	stat, err := keyed(filepath.Join(dir, "memory.stat"))
	if err != nil {
		return err
	}
	limit := c.memoryTotal
	if v, ok := stat["hierarchical_memory_limit"]; ok {
		limit = min(limit, v)
	}
	r.Memory = cgroupMemory(limit, used, cgroupFiles{
		cached: stat["total_cache"], shmem: stat["total_shmem"], dirty: stat["total_dirty"],
		listed: stat["total_inactive_file"] + stat["total_active_file"],
	})
	return nil
}

// cgroupFiles are the file pages charged to a group, in bytes.
type cgroupFiles struct {
	cached, shmem, dirty uint64
	listed               uint64 // on the kernel's lists of pages it may drop
}

func cgroupMemory(limit, used uint64, f cgroupFiles) *Memory {
	free := grown(limit, used)
	return &Memory{
		TotalBytes:     limit,
		FreeBytes:      free,
		AvailableBytes: min(limit, free+f.listed),
		CachedBytes:    f.cached,
		ShmemBytes:     f.shmem,
		DirtyBytes:     f.dirty,
		PageCacheBytes: grown(f.cached, f.shmem),
	}
}

// errNotCounted is for a group without any device: nothing tells whether it
// was idle or not counted.
var errNotCounted = errors.New("no device counted: the group did no input or output yet," +
	" or no group ever had a blkio.throttle limit on the device, before which the kernel does not count")

// readDisksV1 reads what passed the throttling layer. Reads, direct and
// synchronous writes are the group's; what the kernel writes out later is not.
func (c *cgroup) readDisksV1(r *Reading) error {
	dir, err := c.dir("blkio")
	if err != nil {
		return err
	}
	disks := diskList{host: c.host}
	if err := disks.readV1(filepath.Join(dir, "blkio.throttle.io_service_bytes_recursive"), func(d *DiskCounters, op string, v uint64) {
		switch op {
		case "Read":
			d.ReadBytes = v
		case "Write":
			d.WriteBytes = v
		}
	}); err != nil {
		return err
	}
	if err := disks.readV1(filepath.Join(dir, "blkio.throttle.io_serviced_recursive"), func(d *DiskCounters, op string, v uint64) {
		switch op {
		case "Read":
			d.Reads = v
		case "Write":
			d.Writes = v
		}
	}); err != nil {
		return err
	}
	if len(disks.disks) == 0 {
		return errNotCounted
	}
	r.Disks = disks.disks
	return nil
}

// diskList collects counters by device, in the order of the file.
type diskList struct {
	host  *host
	disks []DiskCounters
}

func (l *diskList) disk(majorMinor string) *DiskCounters {
	name := l.host.deviceName(majorMinor)
	for i := range l.disks {
		if l.disks[i].Device == name {
			return &l.disks[i]
		}
	}
	l.disks = append(l.disks, DiskCounters{Device: name})
	return &l.disks[len(l.disks)-1]
}

// readV1 reads lines of "254:0 Read 4096"; a last line "Total 4096" is not one.
func (l *diskList) readV1(path string, set func(d *DiskCounters, op string, v uint64)) error {
	data, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	for line := range strings.Lines(string(data)) {
		f := strings.Fields(line)
		if len(f) != 3 {
			continue
		}
		v, err := strconv.ParseUint(f[2], 10, 64)
		if err != nil {
			return fmt.Errorf("read %s: %w", path, err)
		}
		set(l.disk(f[0]), f[1], v)
	}
	return nil
}
