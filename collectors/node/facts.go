package node

import (
	"os"
	"runtime"

	hostinfo "github.com/shirou/gopsutil/v3/host"
)

// Facts are properties of a node that do not change while a Sampler exists.
type Facts struct {
	Hostname string `json:"hostname"`
	// Kernel is the release of the node's Linux kernel, such as
	// "6.1.0-18-amd64".
	Kernel string `json:"kernel"`
	// CPUs is the number of the machine's logical CPUs, whatever CPU limit a
	// control group has.
	CPUs int `json:"cpus"`
	// MemoryBytes is the memory limit of the measured control group, or else
	// the machine's memory.
	MemoryBytes uint64 `json:"memoryBytes"`
	// Mode says what is measured: "host" or "cgroup". For "cgroup",
	// CgroupVersion is the version of control groups, 1 or 2.
	Mode          string `json:"mode"`
	Cgroup        string `json:"cgroup,omitempty"`
	CgroupVersion int    `json:"cgroupVersion,omitempty"`
}

// Facts returns the unchanging properties of the node. Values that cannot be
// read are zero.
func (s *Sampler) Facts() Facts {
	f := Facts{CPUs: runtime.NumCPU(), Mode: "host"}
	f.Hostname, _ = os.Hostname()
	f.Kernel, _ = hostinfo.KernelVersion()
	if s.cgroup != nil {
		f.Mode, f.Cgroup, f.CgroupVersion = "cgroup", s.cgroup.path, s.cgroup.version
	}
	var r Reading
	if guard(s.readMemory(), &r) == nil {
		f.MemoryBytes = r.Memory.TotalBytes
	}
	return f
}

func (s *Sampler) readMemory() func(*Reading) error {
	if s.cgroup == nil {
		return s.host.readMemory
	}
	return s.cgroup.readMemory
}

// Clock is the state of the node's clock as the kernel reports it.
type Clock struct {
	// Synchronised is true if a time daemon adjusts the node's clock.
	Synchronised bool `json:"synchronised"`
	// MaxErrorUs is the kernel's upper bound for the error of a synchronised
	// clock, in microseconds.
	MaxErrorUs int64 `json:"maxErrorUs"`
}
