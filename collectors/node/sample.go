// Package node measures the host that it runs on: CPU, load, memory, disks and
// network interfaces, for the whole host or for one control group. A lab node
// is a control group and a network namespace on a shared machine, so the same
// numbers describe a lab node and a physical one.
//
// The kernel does not count everything for a control group. Values that it does
// not count are absent, never zero: a nil pointer or an empty list. If a whole
// metric group cannot be read, Absent has the reason. Single processes are not
// measured. Package agent serves the samples to other machines.
//
// Words:
//
//   - reading: the counters at one time
//   - sample: the difference between two readings, as rates
//   - metric group: one kind of numbers, such as "cpu" or "disk"
package node

// Sample is what happened on a node between two readings, which are IntervalNs
// apart. Rates are means over that interval; other values are those at its end.
type Sample struct {
	// Seq is the number of the sample, counted from 1 without gaps.
	Seq uint64 `json:"seq"`
	// WallNs is the end of the interval by the node's own clock, in Unix ns.
	// That clock may be set, and differs between nodes; see
	// agent.Client.ClockOffset.
	WallNs int64 `json:"wallNs"`
	// MonoNs is the time since the Sampler was made, which never jumps.
	MonoNs     int64 `json:"monoNs"`
	IntervalNs int64 `json:"intervalNs"`

	CPU      *CPU      `json:"cpu,omitempty"`
	Cores    []CPU     `json:"cores,omitempty"`
	Quota    *Quota    `json:"quota,omitempty"`
	Load     *Load     `json:"load,omitempty"`
	Memory   *Memory   `json:"memory,omitempty"`
	Disks    []Disk    `json:"disks,omitempty"`
	Networks []Network `json:"networks,omitempty"`

	// Absent says why a metric group is missing, by its name: "cpu", "quota",
	// "load", "memory", "disk", "network".
	Absent map[string]string `json:"absent,omitempty"`
}

// CPU is the use of one core or of all cores together. The unit is cores: a
// core that was busy all the time counts 1.
type CPU struct {
	UserCores   float64 `json:"userCores"`   // user time, including nice and guest time
	SystemCores float64 `json:"systemCores"` // system time, including interrupts
	// For a control group, idle time is what its quota, or else the machine,
	// allowed and it did not use. The kernel counts no iowait and steal for it.
	IdleCores   *float64 `json:"idleCores,omitempty"`
	IowaitCores *float64 `json:"iowaitCores,omitempty"`
	StealCores  *float64 `json:"stealCores,omitempty"`
}

// Quota says how much the CPU bandwidth limit slowed a control group down.
type Quota struct {
	// LimitCores is the CPU limit in cores, nil if there is none.
	LimitCores       *float64 `json:"limitCores,omitempty"`
	Periods          uint64   `json:"periods"`
	ThrottledPeriods uint64   `json:"throttledPeriods"`
	// ThrottledNs is the time that the limit held cores back. It is a sum over
	// cores, so it may exceed the interval.
	ThrottledNs uint64 `json:"throttledNs"`
}

// Load is the number of tasks that run, wait for a CPU or wait for a disk, as
// exponential averages over 1, 5 and 15 minutes.
type Load struct {
	Load1  float64 `json:"load1"`
	Load5  float64 `json:"load5"`
	Load15 float64 `json:"load15"`
	// Tasks is the number of tasks that run or wait now, for control groups
	// only.
	Tasks *int `json:"tasks,omitempty"`
}

// Memory has the kernel's own fields and PageCacheBytes. For a control group,
// TotalBytes is its limit or the machine's memory, whichever is less.
type Memory struct {
	TotalBytes uint64 `json:"totalBytes"`
	FreeBytes  uint64 `json:"freeBytes"`
	// AvailableBytes is the kernel's estimate. For a control group it is free
	// memory plus its file pages.
	AvailableBytes uint64  `json:"availableBytes"`
	BuffersBytes   *uint64 `json:"buffersBytes,omitempty"` // memory for raw blocks; nil for a control group
	CachedBytes    uint64  `json:"cachedBytes"`            // file pages, including tmpfs and shared memory
	ShmemBytes     uint64  `json:"shmemBytes"`
	DirtyBytes     uint64  `json:"dirtyBytes"`
	// PageCacheBytes is cached plus buffers minus shared memory: what dropping
	// the caches can free.
	PageCacheBytes uint64 `json:"pageCacheBytes"`
}

// Disk is one block device. Partitions count for their disk. A control group
// lists the devices that it has used.
type Disk struct {
	Device           string  `json:"device"`
	ReadBytesPerSec  float64 `json:"readBytesPerSec"`
	WriteBytesPerSec float64 `json:"writeBytesPerSec"`
	ReadsPerSec      float64 `json:"readsPerSec"`
	WritesPerSec     float64 `json:"writesPerSec"`
	// The number of requests in flight at the end, the mean of that number, and
	// the part of the interval with any request in flight. They are nil for a
	// control group.
	InFlight     *uint64  `json:"inFlight,omitempty"`
	QueueMean    *float64 `json:"queueMean,omitempty"`
	BusyFraction *float64 `json:"busyFraction,omitempty"`
}

// Network is one interface of the agent's network namespace.
type Network struct {
	Interface             string  `json:"interface"`
	ReceiveBytesPerSec    float64 `json:"receiveBytesPerSec"`
	TransmitBytesPerSec   float64 `json:"transmitBytesPerSec"`
	ReceivePacketsPerSec  float64 `json:"receivePacketsPerSec"`
	TransmitPacketsPerSec float64 `json:"transmitPacketsPerSec"`
	// numbers of packets with errors, and dropped, within the interval
	ReceiveErrors  uint64 `json:"receiveErrors"`
	TransmitErrors uint64 `json:"transmitErrors"`
	ReceiveDrops   uint64 `json:"receiveDrops"`
	TransmitDrops  uint64 `json:"transmitDrops"`
}
