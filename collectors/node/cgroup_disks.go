package node

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
)

// errNotCounted means that the kernel lists no disk for a control group. Then
// it is not known whether the group did no input or output, or the kernel did
// not count it.
var errNotCounted = errors.New("no device counted: the group did no input or output yet," +
	" or no group ever had a blkio.throttle limit on the device, before which the kernel does not count")

// readDisks reads a control group's disk counters. In version 1 they come from the blkio
// throttling layer, which counts the group's reads, direct writes and
// synchronous writes. That layer does not count pages that the kernel writes
// to disk later.
func (c *cgroup) readDisks(r *Reading) error {
	name, parse := "blkio.throttle.io_service_bytes_recursive", parseBlkio
	if c.version == 2 {
		name, parse = "io.stat", parseIOStat
	}
	path, err := c.file("blkio", name)
	if err != nil {
		return err
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	disks, err := parse(string(data))
	if err != nil {
		return fmt.Errorf("read %s: %w", path, err)
	}
	r.Disks = c.host.disksOnly(disks)
	if c.version == 1 && len(disks) == 0 {
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
