package node

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"time"
)

// MinInterval is the shortest time between two samples. The kernel counts CPU
// time in steps of 10 ms.
const MinInterval = 100 * time.Millisecond

// Options say what to measure.
type Options struct {
	// Cgroup is the path of a control group below the mount, such as
	// "lab/worker1". Empty means the whole host.
	Cgroup string
	// ProcRoot and SysRoot replace /proc and /sys. If empty, the environment's
	// HOST_PROC and HOST_SYS do, and else the real folders are used.
	ProcRoot string
	SysRoot  string
	// CgroupRoot replaces /sys/fs/cgroup, unless empty.
	CgroupRoot string
}

// Sampler reads one node's counters. Only one goroutine may use it at a time.
type Sampler struct {
	groups []metricGroup
	cgroup *cgroup
	host   *host
	start  time.Time
	seq    uint64
}

// metricGroup reads one kind of numbers into a Reading.
type metricGroup struct {
	name string
	read func(*Reading) error
}

// NewSampler returns a Sampler. It fails if no controller has the control
// group. If only some controllers lack it, their numbers are absent.
func NewSampler(o Options) (*Sampler, error) {
	h := newHost(
		cmp.Or(o.ProcRoot, os.Getenv("HOST_PROC"), "/proc"),
		cmp.Or(o.SysRoot, os.Getenv("HOST_SYS"), "/sys"),
	)
	s := &Sampler{host: h, start: time.Now()}
	if o.Cgroup == "" {
		s.groups = []metricGroup{
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
	s.groups = append(c.groups(), metricGroup{"network", h.readNetworks})
	return s, nil
}

// Run takes a reading at once and then one per interval until ctx ends. It
// calls emit with each reading except the first, and with the sample that ends
// there.
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

// Read takes one reading. A metric group that cannot be read is missing, and
// Absent has the reason.
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

// guard turns a panic into an error, since gopsutil panics on lines that are
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
