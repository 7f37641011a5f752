package replay

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"time"
)

// Cluster describes the cluster of a replay, so that two replays on different clusters
// are not taken for repeats of each other. The value of "all" is a hash of everything
// that the replay knows of its cluster. The others are for people: where nodes differ,
// the least and the largest value.
func (o *Outcome) Cluster() map[string]string {
	c := &o.Header.Cluster
	racks := map[string]bool{}
	var memory, vcores, cores, cache, disk, link, uplink span
	for _, n := range c.Nodes {
		racks[n.Rack] = true
		memory.add(float64(n.MemoryBytes))
		vcores.add(float64(n.VCores))
		cores.add(n.Cores)
		cache.add(float64(n.CacheBytes))
	}
	for _, d := range c.Disks {
		disk.add(float64(d.BytesPerSec))
	}
	for _, l := range c.Links {
		if l.Rack != "" {
			uplink.add(float64(l.BytesPerSec))
		} else {
			link.add(float64(l.BytesPerSec))
		}
	}
	known := map[string]string{"nodes": fmt.Sprint(len(c.Nodes)), "racks": fmt.Sprint(len(racks))}
	for name, s := range map[string]*span{
		"memoryBytes": &memory, "vcores": &vcores, "cores": &cores, "cacheBytes": &cache,
		"diskBytesPerSec": &disk, "linkBytesPerSec": &link, "uplinkBytesPerSec": &uplink,
	} {
		if s.known {
			known[name] = s.String()
		}
	}
	x := &o.change
	for name, value := range map[string]float64{
		"hostCores": x.HostCores, "othersCores": x.Others, "speed": x.Speed, "load": x.Load, "replication": float64(x.Replication),
		"mapSlots": float64(o.behaviour.MapSlots), "reduceSlots": float64(o.behaviour.ReduceSlots),
		"nmHeartbeatMs": float64(time.Duration(x.NMHeartbeat).Milliseconds()),
		"amHeartbeatMs": float64(time.Duration(x.AMHeartbeat).Milliseconds()),
	} {
		if value > 0 {
			known[name] = fmt.Sprint(value)
		}
	}
	all, err := json.Marshal([]any{c.Nodes, c.Disks, c.Links, o.Header.Settings, known})
	if err != nil {
		panic(err) // these are plain values
	}
	known["all"] = fmt.Sprintf("%x", sha256.Sum256(all))
	return known
}

// span is the least and the largest of the values given to it.
type span struct {
	least, most float64
	known       bool
}

func (s *span) add(x float64) {
	if !s.known {
		*s = span{x, x, true}
	}
	s.least, s.most = min(s.least, x), max(s.most, x)
}

func (s *span) String() string {
	if s.least == s.most {
		return fmt.Sprintf("%.15g", s.least)
	}
	return fmt.Sprintf("%.15g to %.15g", s.least, s.most)
}
