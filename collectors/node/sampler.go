package node

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"time"
)

// MinInterval is the shortest time between two samples: the kernel counts CPU
// time in steps of 10 ms.
const MinInterval = 100 * time.Millisecond

// Options say what to measure.
type Options struct {
	// Cgroup is the path of a control group below the mount of each controller
	// (v1) or below the unified mount (v2), such as "lab/worker1". Empty
	// measures the host.
	Cgroup string
	// ProcRoot and SysRoot stand for /proc and /sys; empty takes the
	// environment's HOST_PROC and HOST_SYS, and those failing, the real ones.
	ProcRoot string
	SysRoot  string
	// CgroupRoot stands for /sys/fs/cgroup; empty takes that.
	CgroupRoot string
}

// Sampler reads one node's counters. It is not safe for concurrent use.
type Sampler struct {
	groups []group
	cgroup *cgroup
	host   *host
	start  time.Time
	seq    uint64
}

// group reads one kind of numbers into a Reading.
type group struct {
	name string
	read func(*Reading) error
}

// NewSampler fails when the control group named does not exist under any
// controller; single controllers that lack it only make numbers absent.
func NewSampler(o Options) (*Sampler, error) {
	h := newHost(
		cmp.Or(o.ProcRoot, os.Getenv("HOST_PROC"), "/proc"),
		cmp.Or(o.SysRoot, os.Getenv("HOST_SYS"), "/sys"),
	)
	s := &Sampler{host: h, start: time.Now()}
	if o.Cgroup == "" {
		s.groups = []group{
			{"cpu", h.readCPU},
			{"load", h.readLoad},
			{"memory", h.readMemory},
			{"disk", h.readDisks},
			{"network", h.readNetworks},
		}
		return s, nil
	}
	c, err := findCgroup(cmp.Or(o.CgroupRoot, "/sys/fs/cgroup"), o.Cgroup, h)
	if err != nil {
		return nil, err
	}
	s.cgroup = c
	s.groups = append(c.groups(), group{"network", h.readNetworks})
	return s, nil
}

// Run takes a reading at once and then one every interval until ctx ends, and
// gives each but the first to emit with the sample that ends in it.
func (s *Sampler) Run(ctx context.Context, interval time.Duration, emit func(*Reading, Sample)) {
	ticks := time.NewTicker(max(interval, MinInterval))
	defer ticks.Stop()
	prev := s.Read()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticks.C:
		}
		r := s.Read()
		sample := r.Since(prev)
		s.seq++
		sample.Seq = s.seq
		emit(r, sample)
		prev = r
	}
}

// Read takes one reading. A group of numbers that cannot be read is absent
// from it, with the reason in Absent.
func (s *Sampler) Read() *Reading {
	now := time.Now()
	r := &Reading{WallNs: now.UnixNano(), MonoNs: now.Sub(s.start).Nanoseconds()}
	for _, g := range s.groups {
		if err := guard(g.read, r); err != nil {
			if r.Absent == nil {
				r.Absent = map[string]string{}
			}
			r.Absent[g.name] = err.Error()
		}
	}
	r.TookNs = time.Since(now).Nanoseconds()
	return r
}

// guard turns a panic into an error: gopsutil indexes into lines that may be
// shorter than it expects.
func guard(read func(*Reading) error, r *Reading) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("unexpected content: %v", p)
		}
	}()
	return read(r)
}

var errEmpty = errors.New("empty")
