package capture

import (
	"time"

	"heddle/traces"
)

// Origin is time 0 of the trace.
func (s *Session) Origin() time.Time { return s.start }

// Add adds events of others to the trace, such as decisions and their outcomes.
// Their times count from Origin. After the first NodeLabel among them the Session
// no longer samples labels: whoever sets them knows them better.
func (s *Session) Add(events ...traces.Event) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, e := range events {
		if _, ok := e.(*traces.NodeLabel); ok {
			s.labelsAdded = true
		}
	}
	s.record(events...)
}
