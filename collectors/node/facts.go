package node

import (
	"os"
	"runtime"

	hostinfo "github.com/shirou/gopsutil/v3/host"
)

// Facts are what stays as it is while a Sampler lives.
type Facts struct {
	Hostname string `json:"hostname"`
	// Kernel is the release, such as "6.1.0-18-amd64".
	Kernel string `json:"kernel"`
	// CPUs are the logical ones of the machine, whatever the quota.
	CPUs int `json:"cpus"`
	// MemoryBytes is the control group's limit, or the machine's memory.
	MemoryBytes uint64 `json:"memoryBytes"`
	// Mode is "host" or "cgroup"; CgroupVersion is 1 or 2 for the latter.
	Mode          string `json:"mode"`
	Cgroup        string `json:"cgroup,omitempty"`
	CgroupVersion int    `json:"cgroupVersion,omitempty"`
}

// Facts reads them; what cannot be read is left zero.
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
	switch {
	case s.cgroup == nil:
		return s.host.readMemory
	case s.cgroup.version == 2:
		return s.cgroup.readMemoryV2
	default:
		return s.cgroup.readMemoryV1
	}
}

// Clock is what the kernel knows about its own clock's error.
type Clock struct {
	// Synchronised is whether a time daemon holds the clock.
	Synchronised bool `json:"synchronised"`
	// MaxErrorUs is the kernel's bound on the error while synchronised.
	MaxErrorUs int64 `json:"maxErrorUs"`
}
