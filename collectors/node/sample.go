// Package node measures the host it runs on: CPU, load, memory, disks and
// network interfaces, of the whole host or of one control group. A lab node is
// a control group and a network namespace on a shared machine, so that the same
// numbers describe a lab node and a physical one.
//
// What the kernel does not keep for a control group is absent, never zero: a
// nil pointer or an empty list, and a reason in Absent when a whole group of
// numbers could not be read. Processes are not measured one by one. Package
// agent serves the samples to other machines.
package node

// Sample is what happened on a node between two readings, IntervalNs apart.
// Rates are means over that interval; gauges are as of its end.
type Sample struct {
	// Seq counts the samples of one Sampler from 1, without gaps.
	Seq uint64 `json:"seq"`
	// WallNs is the node's own clock at the end of the interval, Unix ns. It may
	// step, and differs between nodes: see agent.Client.ClockOffset.
	WallNs int64 `json:"wallNs"`
	// MonoNs is the time since the Sampler was made; it never steps.
	MonoNs     int64 `json:"monoNs"`
	IntervalNs int64 `json:"intervalNs"`

	CPU      *CPU      `json:"cpu,omitempty"`
	Cores    []CPU     `json:"cores,omitempty"`
	Quota    *Quota    `json:"quota,omitempty"`
	Load     *Load     `json:"load,omitempty"`
	Memory   *Memory   `json:"memory,omitempty"`
	Disks    []Disk    `json:"disks,omitempty"`
	Networks []Network `json:"networks,omitempty"`

	// Absent says why a group of numbers is missing, by group: "cpu", "quota",
	// "load", "memory", "disk", "network".
	Absent map[string]string `json:"absent,omitempty"`
}

// CPU is the use of all cores together, or of one core: in cores, so that a
// core that was busy throughout counts 1.
type CPU struct {
	UserCores   float64 `json:"userCores"`   // nice and guests included
	SystemCores float64 `json:"systemCores"` // interrupts included
	// The kernel keeps no iowait and steal for a control group. Its idle time
	// is what its quota, or else the machine, had left for it.
	IdleCores   *float64 `json:"idleCores,omitempty"`
	IowaitCores *float64 `json:"iowaitCores,omitempty"`
	StealCores  *float64 `json:"stealCores,omitempty"`
}

// Quota is how a control group's CPU bandwidth limit held it back.
type Quota struct {
	// LimitCores is nil without a limit.
	LimitCores       *float64 `json:"limitCores,omitempty"`
	Periods          uint64   `json:"periods"`
	ThrottledPeriods uint64   `json:"throttledPeriods"`
	// ThrottledNs sums over cores, so that it may exceed the interval.
	ThrottledNs uint64 `json:"throttledNs"`
}

// Load is the number of tasks that run, wait for a CPU or wait for a disk,
// averaged exponentially over 1, 5 and 15 minutes.
type Load struct {
	Load1  float64 `json:"load1"`
	Load5  float64 `json:"load5"`
	Load15 float64 `json:"load15"`
	// Tasks is the count now, kept for control groups only.
	Tasks *int `json:"tasks,omitempty"`
}

// Memory holds the kernel's own fields, and one sum of ours. For a control
// group, TotalBytes is its limit, or the machine's memory when that is less.
type Memory struct {
	TotalBytes uint64 `json:"totalBytes"`
	FreeBytes  uint64 `json:"freeBytes"`
	// AvailableBytes is the kernel's estimate; for a control group free plus
	// its file pages.
	AvailableBytes uint64  `json:"availableBytes"`
	BuffersBytes   *uint64 `json:"buffersBytes,omitempty"` // not kept for a control group
	CachedBytes    uint64  `json:"cachedBytes"`            // tmpfs and shared memory included
	ShmemBytes     uint64  `json:"shmemBytes"`
	DirtyBytes     uint64  `json:"dirtyBytes"`
	// PageCacheBytes is cached and buffers without shared memory: what dropping
	// the caches can free.
	PageCacheBytes uint64 `json:"pageCacheBytes"`
}

// Disk is one block device; partitions are part of their disk. A control group
// lists the devices that it used.
type Disk struct {
	Device           string  `json:"device"`
	ReadBytesPerSec  float64 `json:"readBytesPerSec"`
	WriteBytesPerSec float64 `json:"writeBytesPerSec"`
	ReadsPerSec      float64 `json:"readsPerSec"`
	WritesPerSec     float64 `json:"writesPerSec"`
	// Not kept for a control group: requests in flight now, the mean number in
	// flight, and the part of the interval with any in flight.
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
	// Errors and drops within the interval.
	ReceiveErrors  uint64 `json:"receiveErrors"`
	TransmitErrors uint64 `json:"transmitErrors"`
	ReceiveDrops   uint64 `json:"receiveDrops"`
	TransmitDrops  uint64 `json:"transmitDrops"`
}
