// Package mend keeps account of what an importer had to decide for itself: a
// time that cannot be, an id that comes twice, a record that is damaged. Each
// mend is counted by kind, with the place of the first, or refused where the
// caller wants files that need none.
package mend

import "fmt"

// Kind is one sort of defect and what is done about it.
type Kind struct {
	Wrong string // "a negative time"
	Done  string // "taken as unknown"
}

func (k Kind) String() string { return k.Wrong + ": " + k.Done }

// Log counts mends. The zero Log is ready for use and mends everything.
type Log struct {
	// Strict refuses the first defect.
	Strict bool
	// File is the file that is being read, for places.
	File string

	counts map[string]int
	first  map[string]string
}

// Add counts a mend at a place in the file ("byte 17", "line 3"); about is what
// it is about. In strict logs it returns an error that says the same.
func (l *Log) Add(k Kind, place, about string) error {
	if l.Strict {
		return fmt.Errorf("%s: %s: %s: %s; without --strict it is %s", l.File, place, about, k.Wrong, k.Done)
	}
	if l.counts == nil {
		l.counts, l.first = map[string]int{}, map[string]string{}
	}
	name := k.String()
	if l.counts[name] == 0 {
		l.first[name] = l.File + ": " + place + ": " + about
	}
	l.counts[name]++
	return nil
}

// Counts has the number of mends by kind, nil where there are none.
func (l *Log) Counts() map[string]int { return l.counts }

// First is where the first mend of a kind was, and what it was about.
func (l *Log) First(kind string) string { return l.first[kind] }
