package capture

import (
	"time"

	"heddle/traces"
)

// Origin is time 0 of the trace.
func (s *Session) Origin() time.Time { return s.start }

// Add puts events of others into the trace: what was decided and done about it.
// Their times are from Origin. Once a NodeLabel is among them, labels are no
// longer sampled: whoever sets them knows better.
func (s *Session) Add(events ...traces.Event) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, e := range events {
		if _, ok := e.(*traces.NodeLabel); ok {
			s.labelsTold = true
		}
	}
	s.record(events...)
}
