package node

// Reading is what the kernel's counters said at one time. Counters only grow,
// but for a device that was taken away and came back.
type Reading struct {
	WallNs int64
	MonoNs int64
	// TookNs is how long the reading took.
	TookNs int64

	CPU      *CPUTimes
	Cores    []CPUTimes
	Quota    *Quota // since the control group was made
	Load     *Load
	Memory   *Memory
	Disks    []DiskCounters // that were ever used; nil when absent
	Networks []NetworkCounters
	Absent   map[string]string
}

// CPUTimes count since boot, or since the control group was made.
type CPUTimes struct {
	UserNs   uint64
	SystemNs uint64
	IdleNs   *uint64
	IowaitNs *uint64
	StealNs  *uint64
}

// DiskCounters count since boot, or since the control group was made.
type DiskCounters struct {
	Device     string
	ReadBytes  uint64
	WriteBytes uint64
	Reads      uint64
	Writes     uint64
	InFlight   *uint64
	QueueMs    *uint64 // sum over requests of the time each was in flight
	BusyMs     *uint64 // time with any request in flight
}

// NetworkCounters count since the interface was made.
type NetworkCounters struct {
	Interface       string
	ReceiveBytes    uint64
	TransmitBytes   uint64
	ReceivePackets  uint64
	TransmitPackets uint64
	ReceiveErrors   uint64
	TransmitErrors  uint64
	ReceiveDrops    uint64
	TransmitDrops   uint64
}

// Since returns what happened from prev, an earlier reading of the same
// Sampler, to r. Interfaces that only one of them has are left out.
func (r *Reading) Since(prev *Reading) Sample {
	s := Sample{
		WallNs:     r.WallNs,
		MonoNs:     r.MonoNs,
		IntervalNs: r.MonoNs - prev.MonoNs,
		Load:       r.Load,
		Memory:     r.Memory,
		Absent:     r.Absent,
	}
	if s.IntervalNs <= 0 {
		return s
	}
	sec := float64(s.IntervalNs) / 1e9
	if r.Quota != nil && prev.Quota != nil {
		s.Quota = &Quota{
			LimitCores:       r.Quota.LimitCores,
			Periods:          grown(r.Quota.Periods, prev.Quota.Periods),
			ThrottledPeriods: grown(r.Quota.ThrottledPeriods, prev.Quota.ThrottledPeriods),
			ThrottledNs:      grown(r.Quota.ThrottledNs, prev.Quota.ThrottledNs),
		}
	}
	if r.CPU != nil && prev.CPU != nil {
		cpu := r.CPU.since(prev.CPU, s.IntervalNs)
		s.CPU = &cpu
	}
	if len(r.Cores) == len(prev.Cores) { // else a core went on or off line
		for i := range r.Cores {
			s.Cores = append(s.Cores, r.Cores[i].since(&prev.Cores[i], s.IntervalNs))
		}
	}
	for _, d := range r.Disks {
		if p, ok := prev.disk(d.Device); ok {
			s.Disks = append(s.Disks, d.since(&p, sec))
		}
	}
	for _, n := range r.Networks {
		for _, p := range prev.Networks {
			if n.Interface == p.Interface {
				s.Networks = append(s.Networks, n.since(&p, sec))
			}
		}
	}
	return s
}

// disk is the counters of a device. One that is not listed was not used yet,
// unless the list itself is missing.
func (r *Reading) disk(device string) (counters DiskCounters, ok bool) {
	for _, d := range r.Disks {
		if d.Device == device {
			return d, true
		}
	}
	var zero uint64
	return DiskCounters{QueueMs: &zero, BusyMs: &zero}, r.Disks != nil
}

func (t *CPUTimes) since(p *CPUTimes, intervalNs int64) CPU {
	return CPU{
		UserCores:   float64(grown(t.UserNs, p.UserNs)) / float64(intervalNs),
		SystemCores: float64(grown(t.SystemNs, p.SystemNs)) / float64(intervalNs),
		IdleCores:   rate(t.IdleNs, p.IdleNs, float64(intervalNs)),
		IowaitCores: rate(t.IowaitNs, p.IowaitNs, float64(intervalNs)),
		StealCores:  rate(t.StealNs, p.StealNs, float64(intervalNs)),
	}
}

func (d *DiskCounters) since(p *DiskCounters, sec float64) Disk {
	return Disk{
		Device:           d.Device,
		ReadBytesPerSec:  float64(grown(d.ReadBytes, p.ReadBytes)) / sec,
		WriteBytesPerSec: float64(grown(d.WriteBytes, p.WriteBytes)) / sec,
		ReadsPerSec:      float64(grown(d.Reads, p.Reads)) / sec,
		WritesPerSec:     float64(grown(d.Writes, p.Writes)) / sec,
		InFlight:         d.InFlight,
		QueueMean:        rate(d.QueueMs, p.QueueMs, 1000*sec),
		BusyFraction:     rate(d.BusyMs, p.BusyMs, 1000*sec),
	}
}

func (n *NetworkCounters) since(p *NetworkCounters, sec float64) Network {
	return Network{
		Interface:             n.Interface,
		ReceiveBytesPerSec:    float64(grown(n.ReceiveBytes, p.ReceiveBytes)) / sec,
		TransmitBytesPerSec:   float64(grown(n.TransmitBytes, p.TransmitBytes)) / sec,
		ReceivePacketsPerSec:  float64(grown(n.ReceivePackets, p.ReceivePackets)) / sec,
		TransmitPacketsPerSec: float64(grown(n.TransmitPackets, p.TransmitPackets)) / sec,
		ReceiveErrors:         grown(n.ReceiveErrors, p.ReceiveErrors),
		TransmitErrors:        grown(n.TransmitErrors, p.TransmitErrors),
		ReceiveDrops:          grown(n.ReceiveDrops, p.ReceiveDrops),
		TransmitDrops:         grown(n.TransmitDrops, p.TransmitDrops),
	}
}

// grown is now-before, and 0 for a counter that started again. The kernel's
// iowait may go back too.
func grown(now, before uint64) uint64 {
	if now < before {
		return 0
	}
	return now - before
}

func rate(now, before *uint64, per float64) *float64 {
	if now == nil || before == nil {
		return nil
	}
	r := float64(grown(*now, *before)) / per
	return &r
}
