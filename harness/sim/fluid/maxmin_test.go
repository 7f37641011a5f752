package fluid

import (
	"math"
)

// exact is the reference: max-min fair rates by filling up, computed anew for
// every start and end, in floating point.
type exact struct {
	limit, most []float64 // by resource, work a ms; +Inf: none
	flows       []*exactFlow
	now         float64
}

type exactFlow struct {
	path   []uint32
	weight float64
	left   float64
	rate   float64 // of all its weight
	end    float64 // NaN while it runs
}

func newExact(s *System) *exact {
	e := &exact{}
	for i := range s.all {
		l := s.limits[s.all[i].limits]
		e.limit = append(e.limit, float64(l.rate)/(1<<point))
		e.most = append(e.most, float64(l.most)/(1<<point))
	}
	return e
}

// start adds the flow that s has just started.
func (e *exact) start(s *System, id Flow, now, work float64) *exactFlow {
	e.run(now)
	f := &exactFlow{weight: float64(s.flows[id].weight), left: work, end: math.NaN()}
	f.path = append(f.path, s.flows[id].path[:s.flows[id].passes+s.flows[id].counts]...)
	e.flows = append(e.flows, f)
	e.fill()
	return f
}

// run moves time to until, and ends what ends before.
func (e *exact) run(until float64) {
	for {
		next := math.Inf(1)
		for _, f := range e.flows {
			if math.IsNaN(f.end) {
				next = min(next, e.now+f.left/f.rate)
			}
		}
		to := min(next, until)
		for _, f := range e.flows {
			if math.IsNaN(f.end) {
				if f.left -= f.rate * (to - e.now); f.left <= f.rate*1e-9 {
					f.end = to
				}
			}
		}
		e.now = to
		if next > until || math.IsInf(next, 1) {
			return
		}
		e.fill()
	}
}

// fill raises all rates together; those stop that pass a full resource or have
// reached what one flow may get.
func (e *exact) fill() {
	free := append([]float64(nil), e.limit...)
	var rising []*exactFlow
	for _, f := range e.flows {
		if math.IsNaN(f.end) {
			f.rate = 0
			rising = append(rising, f)
		}
	}
	level := 0.0
	for len(rising) > 0 {
		weight := make([]float64, len(free))
		for _, f := range rising {
			for _, r := range f.path {
				weight[r] += f.weight
			}
		}
		step := math.Inf(1)
		for _, f := range rising {
			for _, r := range f.path {
				step = min(step, free[r]/weight[r], e.most[r]-level)
			}
		}
		level += step
		for r := range free {
			free[r] -= step * weight[r]
		}
		var still []*exactFlow
		for _, f := range rising {
			stop := false
			for _, r := range f.path {
				stop = stop || free[r] <= 1e-9*e.limit[r] || level >= e.most[r]*(1-1e-9)
			}
			f.rate = level * f.weight
			if !stop {
				still = append(still, f)
			}
		}
		rising = still
	}
}
