package experiment

import (
	"cmp"
	"errors"
	"fmt"
	"runtime"
	"time"

	"golang.org/x/sys/unix"

	"heddle/collectors/node"
	"heddle/harness/results"
)

// busyOthers measures how much CPU other programs use on this machine: neither
// heddle with the programs that it starts, nor the cluster, whose processes are in
// one control group. Such a cluster is slower the more others use.
type busyOthers struct {
	host, cluster       *node.Sampler
	hostWas, clusterWas *node.Reading
	ownWas              time.Duration
	err                 error // why it cannot be measured
}

// watchOthers begins to measure. The argument options names the cluster's control
// group; if it names none, the cluster has machines of its own, and watchOthers
// returns nil.
func watchOthers(options node.Options) *busyOthers {
	if options.Cgroup == "" {
		return nil
	}
	b := &busyOthers{ownWas: ownCPU()}
	if b.cluster, b.err = node.NewSampler(options); b.err != nil {
		return b
	}
	options.Cgroup = ""
	if b.host, b.err = node.NewSampler(options); b.err == nil {
		b.hostWas, b.clusterWas = b.host.Read(), b.cluster.Read()
	}
	return b
}

// cores returns how many cores others have used on average since watchOthers. What
// the hypervisor took from this machine counts as used by others.
func (b *busyOthers) cores() (float64, error) {
	if b.err != nil {
		return 0, fmt.Errorf("measure what others use of this machine: %w", b.err)
	}
	host, cluster := b.host.Read().Since(b.hostWas), b.cluster.Read().Since(b.clusterWas)
	if host.CPU == nil || cluster.CPU == nil {
		why := cmp.Or(host.Absent["cpu"], cluster.Absent["cpu"], "no time has passed")
		return 0, errors.New("measure what others use of this machine: " + why)
	}
	used := host.CPU.UserCores + host.CPU.SystemCores
	if host.CPU.StealCores != nil {
		used += *host.CPU.StealCores
	}
	own := float64(ownCPU()-b.ownWas) / float64(host.IntervalNs)
	return max(0, used-cluster.CPU.UserCores-cluster.CPU.SystemCores-own), nil
}

// busyFrom is how many cores others may use before a trial warns of it. On an idle
// machine they use a few percent of one: the kernel writes files back and handles
// interrupts, also for the cluster.
const busyFrom = 0.1

// othersUsed sets the figure of a trial's result that says how much CPU others have
// used, and returns a warning if that is much or not known.
func (b *busyOthers) othersUsed(r *results.Trial) (warning string) {
	if b == nil {
		return ""
	}
	cores, err := b.cores()
	if err != nil {
		return err.Error()
	}
	r.OthersCores = &cores
	if cores < busyFrom {
		return ""
	}
	return fmt.Sprintf("other programs used %.2f of the %d cores of this machine, which the cluster runs on: its tasks may have taken "+
		"longer than on an idle machine", cores, runtime.NumCPU())
}

// ownCPU is the CPU time that this process and the programs that it has started and
// waited for have used.
func ownCPU() (used time.Duration) {
	for _, who := range []int{unix.RUSAGE_SELF, unix.RUSAGE_CHILDREN} {
		var u unix.Rusage
		if unix.Getrusage(who, &u) == nil {
			used += time.Duration(u.Utime.Nano() + u.Stime.Nano())
		}
	}
	return used
}
