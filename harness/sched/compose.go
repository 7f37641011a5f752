package sched

import (
	"fmt"
	"maps"
	"strings"

	"heddle/harness/state"
)

// reducesParam is the parameter of New that names a model for the reduces.
const reducesParam = "reduces"

// Compose makes one model of two: the first places maps, the second reduces. Each
// sees only the waiting tasks that it places, see View.Only. The model for reduces
// is asked first, as most models start a job's reduces before its maps. If the
// driver carries out nothing of its answer, the model for maps is asked in the same
// heartbeat. Of a model that is itself composed, Compose takes the part that is
// meant. Both hear all events and the clock, and the figures of both are reported.
func Compose(forMaps, forReduces Model) Model {
	name := forMaps.Name() + "+" + forReduces.Name()
	if c, ok := forMaps.(interface{ parts() *composed }); ok {
		forMaps = c.parts().maps
	}
	if c, ok := forReduces.(interface{ parts() *composed }); ok {
		forReduces = c.parts().reduces
	}
	return compose(name, forMaps, forReduces)
}

func compose(name string, forMaps, forReduces Model) Model {
	m := &composed{name: name, maps: forMaps, reduces: forReduces}
	tickers := &ticking{composed: m}
	for k, part := range []Model{forMaps, forReduces} {
		if t, ok := As[Ticker](part); ok {
			tickers.of[k] = t
		}
	}
	if tickers.of == [2]Ticker{} {
		return m
	}
	return tickers
}

// WithFIFOMaps makes a complete model of one that places only reduces: fifo places
// the maps. The name stays that of the model for reduces.
func WithFIFOMaps(forReduces Model) Model {
	return compose(forReduces.Name(), PerNode{&fifo{}}, forReduces)
}

// newComposed makes the composition of two models by their names. The parameters
// are those of both, see New.
func newComposed(name, second string, p Params) (Model, error) {
	of := [2]Params{{}, {}}
	for param, value := range p {
		if its, ok := strings.CutPrefix(param, reducesParam+"."); ok {
			of[1][its] = value
		} else if param != reducesParam {
			of[0][param] = value
		}
	}
	forMaps, err := newAlone(name, of[0])
	if err != nil {
		return nil, err
	}
	forReduces, err := newAlone(second, of[1])
	if err != nil {
		return nil, fmt.Errorf("reduces: %w", err)
	}
	return Compose(forMaps, forReduces), nil
}

// composed is a model of which one part places maps and the other reduces.
type composed struct {
	name          string
	maps, reduces Model
	placed        bool // the last answer was that of the model for reduces
	pass          bool // the model for reduces is passed over in the next Round
}

func (m *composed) parts() *composed { return m }

func (m *composed) Name() string { return m.name }

func (m *composed) Round(v *state.View, free []state.NodeID, out []Decision) []Decision {
	pass := m.pass
	m.placed, m.pass = false, false
	if !pass && len(v.WaitingJobs(state.Reduce)) > 0 {
		before := len(out)
		out = m.reduces.Round(v.Only(state.Reduce), m.shown(m.reduces, free), out)
		if m.placed = len(out) > before; m.placed {
			return out
		}
	}
	return m.maps.Round(v.Only(state.Map), m.shown(m.maps, free), out)
}

// shown returns the nodes that a part is shown: the first alone if it looks at no
// other.
func (m *composed) shown(part Model, free []state.NodeID) []state.NodeID {
	if _, first := part.(firstOnly); first {
		return free[:1]
	}
	return free
}

// passOver is called when the driver has carried out nothing of the last answer. If
// that was the answer of the model for reduces, the next Round asks the one for maps,
// and passOver returns true.
func (m *composed) passOver() bool {
	m.pass = m.placed
	return m.pass
}

// Observe passes an event on to both parts.
func (m *composed) Observe(v *state.View, e Event) {
	if o, ok := As[Observer](m.maps); ok {
		o.Observe(v.Only(state.Map), e)
	}
	if o, ok := As[Observer](m.reduces); ok {
		o.Observe(v.Only(state.Reduce), e)
	}
}

// Explain returns what the part says whose answer the last one was.
func (m *composed) Explain() string {
	if m.placed {
		return Explain(m.reduces)
	}
	return Explain(m.maps)
}

// KeepReasons makes those parts keep reasons that can.
func (m *composed) KeepReasons() {
	for _, part := range []Model{m.maps, m.reduces} {
		if r, ok := As[Reasoner](part); ok {
			r.KeepReasons()
		}
	}
}

// Reasons returns those of the part whose answer the last one was.
func (m *composed) Reasons() *Reasons {
	part := m.maps
	if m.placed {
		part = m.reduces
	}
	if r, ok := As[Reasoner](part); ok {
		return r.Reasons()
	}
	return nil
}

// Notes returns the figures of both parts. Those of the model for reduces have
// "reduces." before their names where both have a figure of one name.
func (m *composed) Notes() map[string]float64 {
	all := map[string]float64{}
	if n, ok := As[Noter](m.maps); ok {
		maps.Copy(all, n.Notes())
	}
	if n, ok := As[Noter](m.reduces); ok {
		for name, x := range n.Notes() {
			if _, taken := all[name]; taken {
				name = reducesParam + "." + name
			}
			all[name] = x
		}
	}
	if len(all) == 0 {
		return nil
	}
	return all
}

// ticking is a composition of which a part is a Ticker.
type ticking struct {
	*composed
	of [2]Ticker // by kind of task: the part that places them, nil if it is no Ticker
}

// Unwrap returns the composition, for what As does not find here.
func (m *ticking) Unwrap() Model { return m.composed }

// PeriodMs returns the longest period whose ticks are at all times at which a part
// ticks.
func (m *ticking) PeriodMs() int64 {
	period := int64(0)
	for _, t := range m.of {
		if t != nil {
			for a := t.PeriodMs(); a > 0; a, period = period%a, a { // Euclid's greatest common divisor
			}
		}
	}
	return period
}

// Tick passes a tick on to the parts for which it is time. A tick may be late, but
// comes before the next.
func (m *ticking) Tick(v *state.View) {
	now, period := v.Now(), m.PeriodMs()*1e6
	for k, t := range m.of {
		if t != nil && now/(t.PeriodMs()*1e6) > (now-period)/(t.PeriodMs()*1e6) {
			t.Tick(v.Only(state.Kind(k)))
		}
	}
}
