package node

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// tickNs is the unit of the kernel's CPU times (1/USER_HZ) in ns. It is the
// same on every Linux platform that runs Hadoop.
const tickNs = 10_000_000

func (c *cgroup) readQuotaV1(r *Reading) error {
	dir, err := c.dir("cpu")
	if err != nil {
		return err
	}
	stat, err := keyed(filepath.Join(dir, "cpu.stat"))
	if err != nil {
		return err
	}
	r.Quota = &Quota{stat["throttled_time"]}
	return nil
}

func (c *cgroup) readCPUV1(r *Reading) error {
	dir, err := c.dir("cpuacct")
	if err != nil {
		return err
	}
	return c.readCPU(r, filepath.Join(dir, "cpuacct.stat"), "user", "system", tickNs)
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
	r.Memory = &Memory{limit, grown(limit, used), grown(stat["total_cache"], stat["total_shmem"])}
	return nil
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
	path := filepath.Join(dir, "blkio.throttle.io_service_bytes_recursive")
	data, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	disks, err := parseBlkio(string(data))
	if err != nil {
		return fmt.Errorf("read %s: %w", path, err)
	}
	r.Disks = c.host.disksOnly(disks)
	if len(disks) == 0 {
		return errNotCounted
	}
	return nil
}

// parseBlkio parses a kernel file with lines such as "254:0 Read 4096", for disk,
// operation and number. It skips operations other than Read and Write, and the last line,
// "Total 4096".
func parseBlkio(text string) ([]DiskCounters, error) {
	var disks []DiskCounters
	for line := range strings.Lines(text) {
		f := strings.Fields(line)
		if len(f) != 3 || f[1] != "Read" && f[1] != "Write" {
			continue
		}
		v, err := strconv.ParseUint(f[2], 10, 64)
		if err != nil {
			return nil, err
		}
		i := slices.IndexFunc(disks, func(d DiskCounters) bool { return d.Device == f[0] })
		if i < 0 {
			i = len(disks)
			disks = append(disks, DiskCounters{Device: f[0]})
		}
		if f[1] == "Read" {
			disks[i].ReadBytes = v
		} else {
			disks[i].WriteBytes = v
		}
	}
	return disks, nil
}
