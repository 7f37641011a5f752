package lab

import (
	"cmp"
	"errors"
	"fmt"

	"heddle/harness/config"
	"heddle/harness/internal/units"
)

// Change says what to change on a running lab. A nil field changes nothing; 0
// removes a limit. The changes last until the lab is next brought up.
type Change struct {
	// names of the workers to change; empty means all workers of the rack in the field Rack
	Nodes []string `flag:"node" list:"," text:"NODE to change; may be repeated" of:"NODE" without:"all workers, or all of --rack"`
	// number of the rack to change; 0 means all racks
	Rack int      `flag:"rack" text:"RACK whose uplink or nodes to change" of:"RACK"`
	CPUs *float64 `flag:"cpus" text:"cores of the node; 0 is no limit" without:"as it is"`
	// the part of a worker's cores that its processes may use, above 0 and at most 1
	Speed  *float64    `flag:"speed" text:"instead of --cpus, the part of its cores that the node may use; without --cpus at the start it has a core per slot" without:"as it is"`
	Disk   *units.Rate `flag:"disk" text:"rate at which the node reads from its disk; 0 is no limit" without:"as it is"`
	Link   *units.Rate `flag:"link" text:"rate of the node's link; 0 is no limit" without:"as it is"`
	Uplink *units.Rate `flag:"uplink" text:"rate of the rack's uplink; 0 is no limit" without:"as it is"`
}

// Set changes the rates of links and disks and the CPU shares of a running lab,
// at once.
func (l *Lab) Set(c Change) error {
	switch {
	case c.CPUs == nil && c.Speed == nil && c.Disk == nil && c.Link == nil && c.Uplink == nil:
		return errors.New("change lab: nothing to change; give cpus, speed, disk, link or uplink")
	case c.Speed != nil && c.CPUs != nil:
		return errors.New("change lab: both speed and cpus: give one of them")
	case c.Speed != nil && !(*c.Speed > 0 && *c.Speed <= 1):
		return fmt.Errorf("change lab: speed %v: want more than 0 and at most 1", *c.Speed)
	case c.Rack < 0 || c.Rack > l.Cfg.Racks:
		return fmt.Errorf("change lab: rack %d: the lab has racks 1 to %d", c.Rack, l.Cfg.Racks)
	}
	check := l.Cfg // the lab's configuration with the new values, to be checked as for bringing the lab up
	check.Name = l.Name
	if c.CPUs != nil {
		check.CPUs = CPUs{*c.CPUs}
	}
	for from, to := range map[*units.Rate]*units.Rate{c.Disk: &check.Disk, c.Link: &check.Link, c.Uplink: &check.Uplink} {
		if from != nil {
			*to = *from
		}
	}
	if err := check.Validate(); err != nil {
		return fmt.Errorf("change lab: %w", err)
	}
	nodes, err := l.changed(c)
	if err != nil {
		return fmt.Errorf("change lab: %w", err)
	}
	if err := l.apply(c, nodes); err != nil {
		return fmt.Errorf("change lab %s; is it up?: %w", l.Name, err)
	}
	return l.noteRates(c)
}

// noteRates writes changed rates of disks and links to the cluster file. A rate
// that is now different on different nodes is left out of the file.
func (l *Lab) noteRates(c Change) error {
	cluster, err := config.LoadCluster(l.ClusterFile())
	if err != nil {
		return err
	}
	everywhere := len(c.Nodes) == 0 && c.Rack == 0
	for to, changed := range map[*units.Rate]*units.Rate{
		&cluster.Rates.Disk: c.Disk,
		&cluster.Rates.Link: c.Link, &cluster.Rates.Uplink: c.Uplink,
	} {
		if changed != nil && everywhere {
			*to = *changed
		} else if changed != nil {
			*to = 0
		}
	}
	return l.writeCluster(*cluster)
}

// The method changed returns the workers that a Change applies to.
func (l *Lab) changed(c Change) ([]node, error) {
	var nodes []node
	for _, name := range c.Nodes {
		n, err := l.node(name)
		if err != nil {
			return nil, err
		}
		if n.rack == 0 {
			return nil, fmt.Errorf("node %s is the master, which has no limits; name workers", name)
		}
		nodes = append(nodes, n)
	}
	if len(c.Nodes) > 0 {
		return nodes, nil
	}
	for _, n := range l.workers() {
		if c.Rack == 0 || n.rack == c.Rack {
			nodes = append(nodes, n)
		}
	}
	return nodes, nil
}

func (l *Lab) apply(c Change, nodes []node) error {
	for _, n := range nodes {
		if c.CPUs != nil {
			if err := l.cgroups.limitCPU(l.cgroup(n.name), *c.CPUs); err != nil {
				return err
			}
		}
		if c.Speed != nil {
			cores := n.cores
			if *c.Speed < 1 {
				cores = *c.Speed * cmp.Or(n.cores, float64(l.Cfg.Slots))
			}
			if err := l.cgroups.limitCPU(l.cgroup(n.name), cores); err != nil {
				return err
			}
		}
		if c.Disk != nil {
			disk, err := diskOf(l.root)
			if err != nil {
				return err
			}
			if err := l.cgroups.limitReads(l.cgroup(n.name), disk, *c.Disk); err != nil {
				return err
			}
		}
		if c.Link != nil {
			if err := l.shapeLink(n, *c.Link); err != nil {
				return err
			}
		}
	}
	if c.Uplink == nil {
		return nil
	}
	for rack := 1; rack <= l.Cfg.Racks; rack++ {
		if c.Rack == 0 || c.Rack == rack {
			if err := l.shapeUplink(rack, *c.Uplink); err != nil {
				return err
			}
		}
	}
	return nil
}
