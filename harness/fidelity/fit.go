package fidelity

import (
	"slices"
	"sync"

	"heddle/harness/replay"
	"heddle/harness/replay/calibration"
	"heddle/harness/replay/recorded"
	"heddle/harness/sim"
)

// fit is a calibration of the simulator, with the names of the trials from
// which it was made.
type fit struct {
	calibration *calibration.Calibration
	trials      []string
}

func calibrate(list []measured, o Options) (fit, error) {
	var all []*recorded.Trace
	var f fit
	var fetches string
	for _, x := range list {
		all, f.trials, fetches = append(all, x.Trace), append(f.trials, x.name), x.behaviour.Fetches
	}
	var err error
	f.calibration, err = replay.Calibrate(all, o.Cluster, fetches)
	return f, err
}

// left names one repeat of a workload on a cluster. A calibration leaves this
// repeat out, so that the calibration can be used to predict it.
type left struct {
	workload, cluster string
	repeat            int
}

func leaving(x *measured) left { return left{x.workload, x.Header.Cluster.Name, x.repeat} }

// The function others returns, for each repeat of a workload, a function that
// calibrates the simulator on all other repeats. Such a function calibrates at
// its first call and keeps the result.
func others(list []measured, o Options) map[left]func() (fit, error) {
	fits := map[left]func() (fit, error){}
	for _, x := range list {
		k := leaving(&x)
		if fits[k] != nil {
			continue
		}
		fits[k] = sync.OnceValues(func() (fit, error) {
			if o.Interrupted != nil && o.Interrupted() != nil {
				return fit{}, sim.ErrInterrupted
			}
			return calibrate(slices.DeleteFunc(slices.Clone(list), func(y measured) bool {
				return y.workload != k.workload || y.Header.Cluster.Name != k.cluster || y.repeat == k.repeat
			}), o)
		})
	}
	return fits
}
