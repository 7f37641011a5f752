package capture

import (
	"time"

	"heddle/traces"
)

// Origin is time 0 of the trace: the start of the capture.
func (s *Session) Origin() time.Time { return s.start }

// Add adds events from outside the capture to the trace, such as decisions and their
// outcomes. Event times count from Origin. After the first NodeLabel in them, the
// Session records no labels itself: who sets labels knows them better.
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
