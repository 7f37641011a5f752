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
	Cores    []CPU     `json:"cores,omitempty"`
	Quota    *Quota    `json:"quota,omitempty"`
	Load     *Load     `json:"load,omitempty"`
	Memory   *Memory   `json:"memory,omitempty"`
	Disks    []Disk    `json:"disks,omitempty"`
	Networks []Network `json:"networks,omitempty"`

	// Absent says why a kind of numbers is missing in the sample. The key is
	// "cpu", "quota", "load", "memory", "disk" or "network".
	Absent map[string]string `json:"absent,omitempty"`
}

// CPU is the use of one core, or of all cores together. Values are numbers of
// cores: a core that was busy all the time counts 1.
type CPU struct {
	UserCores   float64 `json:"userCores"`   // cores busy with user programs, including nice and guest time
	SystemCores float64 `json:"systemCores"` // cores busy with the kernel, including interrupts
	// For a control group, IdleCores is the number of cores that its CPU limit,
	// or without one the machine, allowed and that the group did not use. The
	// kernel counts no iowait and no steal time for a control group.
	IdleCores   *float64 `json:"idleCores,omitempty"`
	IowaitCores *float64 `json:"iowaitCores,omitempty"`
	StealCores  *float64 `json:"stealCores,omitempty"`
}

// Quota says how much a control group was slowed down by its CPU limit.
type Quota struct {
	// LimitCores is the control group's CPU limit in cores, nil if there is
	// none.
	LimitCores       *float64 `json:"limitCores,omitempty"`
	Periods          uint64   `json:"periods"`
	ThrottledPeriods uint64   `json:"throttledPeriods"`
	// ThrottledNs is the time for which the CPU limit stopped the control
	// group. It is a sum over cores, so it may exceed the interval.
	ThrottledNs uint64 `json:"throttledNs"`
}

// Load is the number of threads that run, wait for a CPU or wait for a disk, as
// exponential averages over 1, 5 and 15 minutes.
type Load struct {
	Load1  float64 `json:"load1"`
	Load5  float64 `json:"load5"`
	Load15 float64 `json:"load15"`
	// Tasks is the number of threads that run, wait for a CPU or wait for a disk
	// at the end of the interval. It is set for control groups only.
	Tasks *int `json:"tasks,omitempty"`
}

// Memory is the use of memory. The fields have the kernel's names and
// meanings, except PageCacheBytes. For a control group, TotalBytes is its
// limit or the machine's memory, whichever is less.
type Memory struct {
	TotalBytes uint64 `json:"totalBytes"`
	FreeBytes  uint64 `json:"freeBytes"`
	// AvailableBytes is the kernel's estimate of the memory that programs can
	// still get. For a control group it is the free memory and the file pages
	// that can be dropped.
	AvailableBytes uint64  `json:"availableBytes"`
	BuffersBytes   *uint64 `json:"buffersBytes,omitempty"` // memory that caches raw disk blocks; nil for a control group
	CachedBytes    uint64  `json:"cachedBytes"`            // memory of file pages, including tmpfs and shared memory
	ShmemBytes     uint64  `json:"shmemBytes"`
	DirtyBytes     uint64  `json:"dirtyBytes"`
	// PageCacheBytes is the memory that dropping the page cache can free:
	// CachedBytes plus BuffersBytes minus ShmemBytes.
	PageCacheBytes uint64 `json:"pageCacheBytes"`
}

// Disk is the use of one block device. The use of a partition counts for its
// disk. For a control group, only disks that the group has used are listed.
type Disk struct {
	Device           string  `json:"device"`
	ReadBytesPerSec  float64 `json:"readBytesPerSec"`
	WriteBytesPerSec float64 `json:"writeBytesPerSec"`
	ReadsPerSec      float64 `json:"readsPerSec"`
	WritesPerSec     float64 `json:"writesPerSec"`
	// Number of disk requests in flight at the end of the interval, mean of that
	// number, and fraction of the interval with any request in flight. These
	// three values are nil for a control group.
	InFlight     *uint64  `json:"inFlight,omitempty"`
	QueueMean    *float64 `json:"queueMean,omitempty"`
	BusyFraction *float64 `json:"busyFraction,omitempty"`
}

// Network is the traffic of one interface in the agent's network namespace.
type Network struct {
	Interface             string  `json:"interface"`
	ReceiveBytesPerSec    float64 `json:"receiveBytesPerSec"`
	TransmitBytesPerSec   float64 `json:"transmitBytesPerSec"`
	ReceivePacketsPerSec  float64 `json:"receivePacketsPerSec"`
	TransmitPacketsPerSec float64 `json:"transmitPacketsPerSec"`
	// Numbers of packets within the interval that had errors or were dropped.
	ReceiveErrors  uint64 `json:"receiveErrors"`
	TransmitErrors uint64 `json:"transmitErrors"`
	ReceiveDrops   uint64 `json:"receiveDrops"`
	TransmitDrops  uint64 `json:"transmitDrops"`
}
