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

// tickNs is the unit of the kernel's CPU times (1/USER_HZ) in ns. It is the
// same on every Linux platform that runs Hadoop.
const tickNs = 10_000_000

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
	// Without a CPU limit, the file cpu.cfs_quota_us contains -1, which cannot be
	// read as an unsigned number. Then limitCores stays 0, which means no limit.
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
	if err := c.readCPU(r, filepath.Join(dir, "cpuacct.stat"), "user", "system", tickNs); err != nil {
		return err
	}
	cores := filepath.Join(dir, "cpuacct.usage_all")
	data, err := os.ReadFile(cores)
	if errors.Is(err, fs.ErrNotExist) {
		return nil // Linux before 4.8 lacks the file cpuacct.usage_all, so the CPU times of single cores are left out
	}
	if err == nil {
		r.Cores, err = parseUsageAll(string(data))
	}
	if err != nil {
		return fmt.Errorf("read %s: %w", cores, err)
	}
	return nil
}

// parseUsageAll parses the control group file cpuacct.usage_all: below a
// heading, lines "core userNs systemNs".
func parseUsageAll(text string) ([]CPUTimes, error) {
	var cores []CPUTimes
	for line := range strings.Lines(text) {
		f := strings.Fields(line)
		if len(f) != 3 || f[0] == "cpu" {
			continue
		}
		user, err1 := strconv.ParseUint(f[1], 10, 64)
		system, err2 := strconv.ParseUint(f[2], 10, 64)
		if err := errors.Join(err1, err2); err != nil {
			return nil, err
		}
		cores = append(cores, CPUTimes{UserNs: user, SystemNs: system})
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

// cgroupFiles says how many bytes of memory a control group's file pages take:
// cached, shared, and changed but not yet on disk.
type cgroupFiles struct {
	cached, shmem, dirty uint64
	listed               uint64 // bytes of file pages on the kernel's LRU lists, which the kernel can drop
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

// errNotCounted means that the kernel lists no disk for a control group. Then
// it is not known whether the group did no input or output, or the kernel did
// not count it.
var errNotCounted = errors.New("no device counted: the group did no input or output yet," +
	" or no group ever had a blkio.throttle limit on the device, before which the kernel does not count")

// readDisksV1 reads a control group's disk counters. They come from the blkio
// throttling layer, which counts the group's reads, direct writes and
// synchronous writes. That layer does not count pages that the kernel writes
// to disk later.
func (c *cgroup) readDisksV1(r *Reading) error {
	dir, err := c.dir("blkio")
	if err != nil {
		return err
	}
	disks := blkioDisks{}
	for _, file := range []struct {
		name        string
		read, write func(*DiskCounters) *uint64
	}{
		{"io_service_bytes", func(d *DiskCounters) *uint64 { return &d.ReadBytes }, func(d *DiskCounters) *uint64 { return &d.WriteBytes }},
		{"io_serviced", func(d *DiskCounters) *uint64 { return &d.Reads }, func(d *DiskCounters) *uint64 { return &d.Writes }},
	} {
		path := filepath.Join(dir, "blkio.throttle."+file.name+"_recursive")
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		if err := disks.parse(string(data), file.read, file.write); err != nil {
			return fmt.Errorf("read %s: %w", path, err)
		}
	}
	r.Disks = c.host.disksOnly(disks)
	if len(disks) == 0 {
		return errNotCounted
	}
	return nil
}

// blkioDisks are a control group's counters of each disk, such as "254:0", in
// the order of the kernel's files.
type blkioDisks []DiskCounters

// parse parses a kernel file with lines such as "254:0 Read 4096", for disk,
// operation and number. It stores each number in the counter to which the
// function read or write points. It skips operations other than Read and
// Write, and the last line, "Total 4096".
func (l *blkioDisks) parse(text string, read, write func(*DiskCounters) *uint64) error {
	for line := range strings.Lines(text) {
		f := strings.Fields(line)
		if len(f) != 3 || f[1] != "Read" && f[1] != "Write" {
			continue
		}
		v, err := strconv.ParseUint(f[2], 10, 64)
		if err != nil {
			return err
		}
		if f[1] == "Read" {
			*read(l.disk(f[0])) = v
		} else {
			*write(l.disk(f[0])) = v
		}
	}
	return nil
}

func (l *blkioDisks) disk(device string) *DiskCounters {
	for i := range *l {
		if (*l)[i].Device == device {
			return &(*l)[i]
		}
	}
	*l = append(*l, DiskCounters{Device: device})
	return &(*l)[len(*l)-1]
}
