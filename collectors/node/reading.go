package node

// Reading is the values of the kernel's counters at one time. Counters only
// grow, except those of a device that was removed and came back.
type Reading struct {
	WallNs int64
	MonoNs int64
	// TookNs is how long it took to read the counters, in ns.
	TookNs int64

	CPU      *CPUTimes
	Quota    *Quota // counter of how long the CPU limit stopped the control group, since the group was made
	Load     *Load
	Memory   *Memory
	Disks    []DiskCounters // counters of those disks that were used since boot; nil if the counters cannot be read
	Networks []NetworkCounters
	Absent   map[string]string
}

// CPUTimes are CPU times since boot or, for a control group, since the group
// was made.
type CPUTimes struct {
	UserNs   uint64
	SystemNs uint64
	IdleNs   *uint64
	IowaitNs *uint64
	StealNs  *uint64
}

// DiskCounters are counters of one disk since boot or, for a control group,
// since the group was made.
type DiskCounters struct {
	Device     string
	ReadBytes  uint64
	WriteBytes uint64
	QueueMs    *uint64 // time in ms for which disk requests were in flight, summed over all requests
}

// NetworkCounters are counters of one network interface since the interface was
// made.
type NetworkCounters struct {
	Interface     string
	ReceiveBytes  uint64
	TransmitBytes uint64
}

// Since returns the sample of the interval from the reading prev to the later
// reading r. Both must be from the same Sampler. It leaves out network
// interfaces that only one of the readings has.
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
		s.Quota = &Quota{grown(r.Quota.ThrottledNs, prev.Quota.ThrottledNs)}
	}
	if r.CPU != nil && prev.CPU != nil {
		cpu := r.CPU.since(prev.CPU, s.IntervalNs)
		s.CPU = &cpu
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

// disk returns the counters of a disk. A disk that is not in the list of
// counters has not been used, so its counters are zero. ok is false if there is
// no list.
func (r *Reading) disk(device string) (counters DiskCounters, ok bool) {
	for _, d := range r.Disks {
		if d.Device == device {
			return d, true
		}
	}
	var zero uint64
	return DiskCounters{QueueMs: &zero}, r.Disks != nil
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
		QueueMean:        rate(d.QueueMs, p.QueueMs, 1000*sec),
	}
}

func (n *NetworkCounters) since(p *NetworkCounters, sec float64) Network {
	return Network{
		Interface:           n.Interface,
		ReceiveBytesPerSec:  float64(grown(n.ReceiveBytes, p.ReceiveBytes)) / sec,
		TransmitBytesPerSec: float64(grown(n.TransmitBytes, p.TransmitBytes)) / sec,
	}
}

// grown returns by how much a counter grew from the value before to the value
// now. It returns 0 if the value now is lower: the counter was reset, or it is
// the kernel's iowait, which can decrease.
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
