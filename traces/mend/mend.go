// Package mend records the defects that an import finds in its files, such as an
// impossible time, an id that comes twice or a damaged record.
//
// A mend is a defect together with what the import did about it: "a negative
// time: taken as unknown". A Log counts mends by kind and keeps the place of the
// first of each. A strict Log refuses them.
package mend

import "fmt"

// Kind is a kind of mend: the defect, and what is done about it.
type Kind struct {
	Wrong string // "a negative time"
	Done  string // "taken as unknown"
}

func (k Kind) String() string { return k.Wrong + ": " + k.Done }

// Log counts mends. The zero Log is ready for use and accepts all.
type Log struct {
	// Strict refuses the first defect.
	Strict bool
	// File is the name of the file that is being read.
	File string

	counts map[string]int
	first  map[string]string
}

// Add counts a mend. place is where the defect is, "byte 17" or "line 3", and
// about names the job, value or reason. A strict Log returns an error instead.
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

// Counts returns the number of mends by kind, nil if there are none.
func (l *Log) Counts() map[string]int { return l.counts }

// First returns the file, place and subject of the first mend of a kind.
func (l *Log) First(kind string) string { return l.first[kind] }
