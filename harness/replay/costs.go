package replay

import (
	"cmp"
	"time"

	"heddle/harness/internal/units"
	"heddle/harness/sim"
)

// limit sets the cores, disks and links that tasks share in the simulation. The
// number of cores is the calibrated one. Rates come from the calibration if neither
// the trace nor the Change gives one. If tasks take their recorded durations, these
// already contain the effect of shared cores.
func (c *Config) limit(x *sim.Machines) {
	f := c.Calibration
	rates := c.Modelled || len(c.Trace.List) == 0 // without a calibration, the rates of disks and links for a job list are in the list's rules
	for i := range x.Nodes {
		n := &x.Nodes[i]
		if rates && !c.Change.Link.Given && n.LinkBytesPerSec == 0 {
			n.LinkBytesPerSec = f.LinkBytesPerSec
		}
		if rates && !c.Change.Disk.Given && n.DiskBytesPerSec == 0 {
			n.DiskBytesPerSec = f.DiskBytesPerSec
		}
	}
	for i := range x.Racks {
		if r := &x.Racks[i]; rates && !c.Change.Uplink.Given && r.UplinkBytesPerSec == 0 {
			r.UplinkBytesPerSec = f.UplinkBytesPerSec
		}
	}
	if c.Modelled && len(c.Change.Cores) == 0 {
		if x.HostCores = cmp.Or(c.Change.HostCores, f.HostCores); x.HostCores > 0 {
			x.HostCores = max(x.HostCores-c.Change.Others, x.HostCores/20)
			x.Contention, x.MasterCores, x.MastersUp = f.Contention, f.MasterCores, f.MastersUp
		}
	}
	for i := range x.Nodes {
		if len(c.Change.Cores) > 0 && c.computes() {
			continue // keep the number of cores that the replay's Change gives for this node
		}
		if c.Modelled {
			x.Nodes[i].Cores = f.Cores(x.Nodes[i].Cores)
		} else {
			x.Nodes[i].Cores = 0
		}
	}
}

// costs returns the simulator's costs: those of the calibration, with the changes of
// the replay.
func (c *Config) costs(actuator string) sim.Costs {
	x := c.Calibration.Costs(c.Trace, actuator)
	if beat := c.Change.NMHeartbeat; beat > 0 {
		x.NodeBeatMs = wholeMs(beat)
	}
	if beat := c.Change.AMHeartbeat; beat > 0 {
		x.AMBeatMs = wholeMs(beat)
	}
	if !c.Modelled { // recorded durations contain the JVM's start, and the times that a job list's rules give do
		x.TaskStartMs = 0
		x.AMBesideMB = 0 // recorded starts of ApplicationMasters contain their wait for room
	}
	if c.computes() { // the fitted computing times and those of a list's rules contain these
		x.CommitMs, x.FetchMs = 0, 0
	}
	return x
}

func wholeMs(d units.Duration) int32 {
	return int32(time.Duration(d).Round(time.Millisecond).Milliseconds())
}
