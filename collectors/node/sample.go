// Package node measures the host that it runs on: CPU, load, memory, disks and
// network interfaces, for the whole host or for one control group. A node of
// heddle's lab is a control group and a network namespace on a shared machine,
// so the same numbers describe a lab node and a physical one.
//
// The kernel does not count everything for a control group. Values that it does
// not count are absent, never zero: a nil pointer or an empty list. If a whole
// metric group cannot be read, Absent has the reason. Single processes are not
// measured. Package agent serves the samples to other machines.
//
// Words:
//
//   - reading: the kernel's counters at one time
//   - sample: what happened between two readings; counters become rates
//   - metric group: one kind of numbers, such as "cpu" or "disk"
package node

// Sample describes a node during an interval of IntervalNs between two readings
// of the kernel's counters. Rates are means over that interval; other values
// are those at its end.
type Sample struct {
	// Seq is the number of the sample, counted from 1 without gaps since the
	// Sampler was made.
	Seq uint64 `json:"seq"`
	// WallNs is the end of the interval by the node's own clock, in Unix ns.
	// That clock may be set, and differs from node to node; see
	// agent.Client.ClockOffset.
	WallNs int64 `json:"wallNs"`
	// MonoNs is the time since the Sampler was made, in ns. It only grows, even
	// when the node's clock is set.
	MonoNs     int64 `json:"monoNs"`
	IntervalNs int64 `json:"intervalNs"`

	CPU      *CPU      `json:"cpu,omitempty"`
	Quota    *Quota    `json:"quota,omitempty"`
	Load     *Load     `json:"load,omitempty"`
	Memory   *Memory   `json:"memory,omitempty"`
	Disks    []Disk    `json:"disks,omitempty"`
	Networks []Network `json:"networks,omitempty"`

	// Absent says why a kind of numbers is missing in the sample. The key is
	// "cpu", "quota", "load", "memory", "disk" or "network".
	Absent map[string]string `json:"absent,omitempty"`
}

// CPU is the use of all cores together. Values are numbers of cores: a core that was busy
// all the time counts 1.
type CPU struct {
	UserCores   float64 `json:"userCores"`   // cores busy with user programs, including nice and guest time
	SystemCores float64 `json:"systemCores"` // cores busy with the kernel, including interrupts
	// The kernel counts no idle, iowait and steal time for a control group.
	IdleCores   *float64 `json:"idleCores,omitempty"`
	IowaitCores *float64 `json:"iowaitCores,omitempty"`
	StealCores  *float64 `json:"stealCores,omitempty"`
}

// Quota says how much a control group was slowed down by its CPU limit.
type Quota struct {
	// ThrottledNs is the time for which the CPU limit stopped the control
	// group. It is a sum over cores, so it may exceed the interval.
	ThrottledNs uint64 `json:"throttledNs"`
}

// Load is the number of threads that run, wait for a CPU or wait for a disk, as
// exponential average over a minute.
type Load struct {
	Load1 float64 `json:"load1"`
}

// Memory is the use of memory. For a control group, TotalBytes is its limit or the machine's
// memory, whichever is less.
type Memory struct {
	TotalBytes uint64 `json:"totalBytes"`
	FreeBytes  uint64 `json:"freeBytes"`
	// PageCacheBytes is the memory that dropping the page cache can free: the kernel's
	// Cached plus Buffers minus Shmem.
	PageCacheBytes uint64 `json:"pageCacheBytes"`
}

// Disk is the use of one block device. The use of a partition counts for its
// disk. For a control group, only disks that the group has used are listed.
type Disk struct {
	Device           string  `json:"device"`
	ReadBytesPerSec  float64 `json:"readBytesPerSec"`
	WriteBytesPerSec float64 `json:"writeBytesPerSec"`
	// QueueMean is the mean number of disk requests in flight, nil for a control group.
	QueueMean *float64 `json:"queueMean,omitempty"`
}

// Network is the traffic of one interface in the agent's network namespace.
type Network struct {
	Interface           string  `json:"interface"`
	ReceiveBytesPerSec  float64 `json:"receiveBytesPerSec"`
	TransmitBytesPerSec float64 `json:"transmitBytesPerSec"`
}
