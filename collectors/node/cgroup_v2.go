package node

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

func (c *cgroup) readQuotaV2(r *Reading) error {
	path := filepath.Join(c.dirs[""], "cpu.stat")
	stat, err := keyed(path)
	if err != nil {
		return err
	}
	// The file cpu.stat has the throttling counters only while the cpu
	// controller is enabled.
	throttledUs, err := need(stat, "throttled_usec", path)
	if err != nil {
		return err
	}
	r.Quota = &Quota{throttledUs * 1000}
	return nil
}

// readCPUV2 reads the CPU time of a control group, summed over all cores.
// Version 2 of control groups does not count single cores.
func (c *cgroup) readCPUV2(r *Reading) error {
	return c.readCPU(r, filepath.Join(c.dirs[""], "cpu.stat"), "user_usec", "system_usec", 1000)
}

func (c *cgroup) readMemoryV2(r *Reading) error {
	dir := c.dirs[""]
	used, err := number(filepath.Join(dir, "memory.current"))
	if err != nil {
		return err
	}
	limit, err := number(filepath.Join(dir, "memory.max"))
	if err != nil {
		return err
	}
	stat, err := keyed(filepath.Join(dir, "memory.stat"))
	if err != nil {
		return err
	}
	limit = min(limit, c.memoryTotal)
	r.Memory = &Memory{limit, grown(limit, used), grown(stat["file"], stat["shmem"])}
	return nil
}

func (c *cgroup) readDisksV2(r *Reading) error {
	path := filepath.Join(c.dirs[""], "io.stat")
	data, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	if r.Disks, err = parseIOStat(string(data)); err != nil {
		return fmt.Errorf("read %s: %w", path, err)
	}
	r.Disks = c.host.disksOnly(r.Disks)
	return nil
}

// parseIOStat parses the control group file io.stat, with lines "254:0 rbytes=1
// wbytes=2 rios=3 wios=4 …".
func parseIOStat(text string) ([]DiskCounters, error) {
	disks := []DiskCounters{}
	for line := range strings.Lines(text) {
		f := strings.Fields(line)
		if len(f) < 2 { // skip the line of a disk that had no input or output
			continue
		}
		d := DiskCounters{Device: f[0]}
		for _, field := range f[1:] {
			key, value, _ := strings.Cut(field, "=")
			into, ok := map[string]*uint64{"rbytes": &d.ReadBytes, "wbytes": &d.WriteBytes}[key]
			if !ok {
				continue
			}
			v, err := strconv.ParseUint(value, 10, 64)
			if err != nil {
				return nil, err
			}
			*into = v
		}
		disks = append(disks, d)
	}
	return disks, nil
}
