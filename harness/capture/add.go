package capture

import (
	"time"

	"heddle/traces"
)

// Origin returns the start of the capture, from which the trace counts its times.
func (s *Session) Origin() time.Time { return s.start }

// Add adds events to the trace that the capture does not see itself, such as decisions
// and their outcomes. Event times count from Origin. After the first NodeLabel event
// added, the Session records no labels itself: the program that sets labels knows them
// better.
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
