package node

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"time"
)

// MinInterval is the shortest interval between two samples. A shorter one would
// be inexact, since the kernel counts CPU time in steps of 10 ms.
const MinInterval = 100 * time.Millisecond

// Options say what a Sampler measures.
type Options struct {
	// Cgroup is the path of the control group to measure below /sys/fs/cgroup,
	// such as "lab/worker1". Empty means the whole host.
	Cgroup string `flag:"cgroup" text:"measure the control group PATH and this network namespace, not the host" of:"PATH"`
	// ProcRoot and SysRoot are folders to read instead of /proc and /sys. If they
	// are empty, the environment variables HOST_PROC and HOST_SYS name these
	// folders. If those are not set either, /proc and /sys are read.
	ProcRoot string
	SysRoot  string
	// CgroupRoot is read instead of /sys/fs/cgroup, unless it is empty.
	CgroupRoot string
	// DropSocket is the path of a Unix socket of a service that empties the
	// host's page cache, for a process that may not do so itself. The service
	// does it whenever a client connects, and then answers "dropped". Empty
	// means that the process does it itself.
	DropSocket string `flag:"drop-caches-socket" text:"as --allow-drop-caches, for an agent that is not root: the service behind the Unix socket at PATH empties the machine's page cache" of:"PATH"`
}

// Sampler reads the kernel's counters of one node. Only one goroutine may use
// it at a time.
type Sampler struct {
	groups []metricGroup
	cgroup *cgroup
	host   *host
	start  time.Time
	seq    uint64
}

// metricGroup reads one kind of the kernel's counters, such as CPU or disk,
// into a Reading.
type metricGroup struct {
	name string
	read func(*Reading) error
}

// NewSampler returns a Sampler for the host or a control group. It fails if the
// control group does not exist under any controller. If it is missing under
// some controllers only, their numbers are absent in samples.
func NewSampler(o Options) (*Sampler, error) {
	h := newHost(
		cmp.Or(o.ProcRoot, os.Getenv("HOST_PROC"), "/proc"),
		cmp.Or(o.SysRoot, os.Getenv("HOST_SYS"), "/sys"),
	)
	h.drops = o.DropSocket
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

// Now returns the time by the node's own clock, in Unix ns, and by the clock of
// the samples' MonoNs. Any goroutine may call it.
func (s *Sampler) Now() (wallNs, monoNs int64) {
	now := time.Now()
	return now.UnixNano(), now.Sub(s.start).Nanoseconds()
}

// Run reads the kernel's counters at once and then at each interval, until ctx
// ends. For each reading but the first, it calls the function emit, with the
// reading and the sample of the interval that ends with this reading.
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

// Read reads the kernel's counters once. If one kind of counters cannot be
// read, the field Absent of the Reading has the reason.
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

// guard calls a function that reads counters, and turns a panic into an error.
// gopsutil panics on lines in the kernel's files that are shorter than it
// expects.
func guard(read func(*Reading) error, r *Reading) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("unexpected content: %v", p)
		}
	}()
	return read(r)
}

var errEmpty = errors.New("empty")
