package measure

import "heddle/traces"

// MapTimes collects how long the successful maps of a trace took, by how near they ran
// to a copy of their block. The zero value has none. It is apart from [Collector], since
// only pictures need it.
type MapTimes struct {
	at      [traces.LevelOff + 1]Durations
	running map[traces.Attempt]mapStart
}

type mapStart struct {
	t     traces.Time
	level traces.Level
}

// Add takes the next event of the trace into account.
func (m *MapTimes) Add(e traces.Event) {
	switch e := e.(type) {
	case *traces.AttemptStarted:
		if e.Attempt.Kind != traces.Map || !e.ReplicaLocality.Valid() {
			return
		}
		if m.running == nil {
			m.running = map[traces.Attempt]mapStart{}
		}
		m.running[e.Attempt] = mapStart{e.T, e.ReplicaLocality}
	case *traces.AttemptFinished:
		s, ok := m.running[e.Attempt]
		if !ok {
			return
		}
		delete(m.running, e.Attempt)
		if e.Outcome == traces.Succeeded {
			m.at[s.level].Add(e.T - s.t)
		}
	}
}

// At returns the times of the maps whose input was so near.
func (m *MapTimes) At(level traces.Level) *Durations { return &m.at[level] }
