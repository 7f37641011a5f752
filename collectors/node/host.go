package node

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"sort"
	"strings"
	"syscall"

	"github.com/shirou/gopsutil/v3/common"
	"github.com/shirou/gopsutil/v3/cpu"
	"github.com/shirou/gopsutil/v3/disk"
	"github.com/shirou/gopsutil/v3/load"
	"github.com/shirou/gopsutil/v3/mem"
	"github.com/shirou/gopsutil/v3/net"
)

// host reads the kernel's counters of the whole machine. The network counters
// are those of this process's network namespace.
type host struct {
	procRoot string
	sysRoot  string
	ctx      context.Context // context that tells gopsutil which folders to read instead of /proc and /sys
	drops    string          // the socket of Options.DropSocket, or empty
	below    map[string]bool // what isCountedBelow has found, by the device's name
}

func newHost(procRoot, sysRoot string) *host {
	return &host{
		procRoot: procRoot,
		sysRoot:  sysRoot,
		ctx: context.WithValue(context.Background(), common.EnvKey, common.EnvMap{
			common.HostProcEnvKey: procRoot,
			common.HostSysEnvKey:  sysRoot,
		}),
		below: map[string]bool{},
	}
}

func (h *host) readCPU(r *Reading) error {
	// gopsutil may fail by an empty list without an error, so an empty list
	// counts as an error
	all, err := cpu.TimesWithContext(h.ctx, false)
	if err == nil && len(all) == 0 {
		err = errEmpty
	}
	if err != nil {
		return fmt.Errorf("read %s/stat: %w", h.procRoot, err)
	}
	t := all[0]
	idle, iowait, steal := toNs(t.Idle), toNs(t.Iowait), toNs(t.Steal)
	r.CPU = &CPUTimes{ // guest time is left out, since the kernel counts it in user and nice time too
		UserNs:   toNs(t.User + t.Nice),
		SystemNs: toNs(t.System + t.Irq + t.Softirq),
		IdleNs:   &idle,
		IowaitNs: &iowait,
		StealNs:  &steal,
	}
	return nil
}

// toNs converts seconds to nanoseconds. It rounds to microseconds, which
// removes the error of the floating-point number: the kernel counts in steps
// of 10 ms.
func toNs(sec float64) uint64 { return uint64(math.Round(sec*1e6)) * 1000 }

func (h *host) readLoad(r *Reading) error {
	avg, err := load.AvgWithContext(h.ctx)
	if err != nil {
		return fmt.Errorf("read %s/loadavg: %w", h.procRoot, err)
	}
	r.Load = &Load{avg.Load1}
	return nil
}

func (h *host) readMemory(r *Reading) error {
	m, err := mem.VirtualMemoryWithContext(h.ctx)
	if err == nil && m.Total == 0 {
		err = errEmpty
	}
	if err != nil {
		return fmt.Errorf("read %s/meminfo: %w", h.procRoot, err)
	}
	cached := grown(m.Cached, m.Sreclaimable) // gopsutil's Cached includes reclaimable slab memory
	r.Memory = &Memory{
		TotalBytes:     m.Total,
		FreeBytes:      m.Free,
		PageCacheBytes: grown(cached+m.Buffers, m.Shared),
	}
	return nil
}

func (h *host) readDisks(r *Reading) error {
	disks, err := disk.IOCountersWithContext(h.ctx)
	if err != nil {
		return fmt.Errorf("read %s/diskstats: %w", h.procRoot, err)
	}
	r.Disks = []DiskCounters{}
	for name, d := range disks {
		if h.isCountedBelow(name) {
			continue
		}
		r.Disks = append(r.Disks, DiskCounters{
			Device:     name,
			ReadBytes:  d.ReadBytes,
			WriteBytes: d.WriteBytes,
			QueueMs:    &d.WeightedIO,
		})
	}
	sort.Slice(r.Disks, func(i, j int) bool { return r.Disks[i].Device < r.Disks[j].Device })
	return nil
}

// stacked are the beginnings of the names of block devices that lie on others, or in memory.
var stacked = []string{"dm-", "md", "loop", "ram", "zram", "zd", "drbd"}

// isCountedBelow reports whether the bytes of a block device are those of another device: of
// the disk of a partition, or of those that carry LVM, RAID or encryption, which sysfs lists
// as its slaves. Devices in memory count as such too.
func (h *host) isCountedBelow(device string) bool {
	below, known := h.below[device]
	if !known {
		dir := filepath.Join(h.sysRoot, "class/block", device)
		_, err := os.Stat(filepath.Join(dir, "partition"))
		slaves, _ := os.ReadDir(filepath.Join(dir, "slaves"))
		below = err == nil || len(slaves) > 0 || slices.ContainsFunc(stacked, func(name string) bool { return strings.HasPrefix(device, name) })
		h.below[device] = below
	}
	return below
}

// disksOnly leaves out of a control group's disks those whose bytes other devices count too.
func (h *host) disksOnly(disks []DiskCounters) []DiskCounters {
	for i := range disks {
		disks[i].Device = h.deviceName(disks[i].Device)
	}
	return slices.DeleteFunc(disks, func(d DiskCounters) bool { return h.isCountedBelow(d.Device) })
}

func (h *host) readNetworks(r *Reading) error {
	nics, err := net.IOCountersWithContext(h.ctx, true)
	if err != nil {
		return fmt.Errorf("read %s/net/dev: %w", h.procRoot, err)
	}
	for _, n := range h.cards(nics) {
		r.Networks = append(r.Networks, NetworkCounters{
			Interface:     n.Name,
			ReceiveBytes:  n.BytesRecv,
			TransmitBytes: n.BytesSent,
		})
	}
	return nil
}

// cards returns the loopback interface and the network cards, which sysfs shows as devices. The bytes of
// bonds, bridges, VLANs and containers' interfaces are among those of the cards. A card that a
// card of a virtual machine works through, as on Azure, is left out. Where no interface is a
// card, as in a container, those that lie on no other count.
func (h *host) cards(nics []net.IOCountersStat) []net.IOCountersStat {
	dir := func(parts ...string) string {
		return filepath.Join(append([]string{h.sysRoot, "class/net"}, parts...)...)
	}
	isCard := func(name string) bool {
		_, err := os.Stat(dir(name, "device"))
		return err == nil
	}
	some := slices.ContainsFunc(nics, func(n net.IOCountersStat) bool { return isCard(n.Name) })
	return slices.DeleteFunc(nics, func(n net.IOCountersStat) bool {
		if n.Name == "lo" {
			return false
		}
		if some {
			master, err := os.Readlink(dir(n.Name, "master"))
			return !isCard(n.Name) || err == nil && isCard(filepath.Base(master))
		}
		lower, _ := filepath.Glob(dir(n.Name, "lower_*"))
		bridged, _ := filepath.Glob(dir(n.Name, "brif", "*"))
		return len(lower)+len(bridged) > 0
	})
}

// deviceName returns the name of a block device, such as "vda" for "254:0". If
// sysfs does not know the device, it returns the number unchanged.
func (h *host) deviceName(majorMinor string) string {
	target, err := os.Readlink(filepath.Join(h.sysRoot, "dev/block", majorMinor))
	if err != nil {
		return majorMinor
	}
	return filepath.Base(target)
}

// taskState returns the state letter of a thread from /proc, such as R, S or D.
// It returns 0 if the thread has ended.
func (h *host) taskState(tid string, buf []byte) byte {
	// The path has the folder task, with a stat file for each thread, since the
	// process's own stat file is a sum over all threads. Plain system calls are
	// used for speed, since reading these files takes most of the time of a
	// sample.
	fd, err := syscall.Open(h.procRoot+"/"+tid+"/task/"+tid+"/stat", syscall.O_RDONLY|syscall.O_CLOEXEC, 0)
	if err != nil {
		return 0
	}
	n, err := syscall.Read(fd, buf)
	if errors.Join(err, syscall.Close(fd)) != nil {
		return 0
	}
	return parseTaskState(string(buf[:n]))
}

// parseTaskState returns the state letter, here R, from a line "123 (name, with
// any characters) R …".
func parseTaskState(stat string) byte {
	end := strings.LastIndexByte(stat, ')')
	if end < 0 || end+2 >= len(stat) {
		return 0
	}
	return stat[end+2]
}
