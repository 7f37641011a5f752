// Package mend records the defects that an import finds in its input files, such
// as an impossible time, an id that appears twice or a damaged record.
//
// A mend is a defect together with what the import did about it: "a negative
// time: taken as unknown". A Log counts the mends by kind, and keeps the place
// of the first mend of each kind. A strict Log returns an error for each defect.
package mend

import "fmt"

// Kind is a kind of mend: a defect of an input file, and what the import does
// about the defect.
type Kind struct {
	Wrong string // the defect that was found, such as "a negative time"
	Done  string // what the import did about the defect, such as "taken as unknown"
	Loses Loss
}

// Loss is what a mend leaves out.
type Loss uint8

// What a mend leaves out: nothing, a part of a job or a number of jobs that is not known,
// or one job.
const (
	Nothing Loss = iota
	Part
	Job
)

func (k Kind) String() string { return k.Wrong + ": " + k.Done }

// Log counts mends. The zero value of Log is ready for use and accepts all
// defects.
type Log struct {
	// Strict makes Add return an error for each defect.
	Strict bool
	// File is the name of the input file that is being read, for messages about
	// defects.
	File string

	// LostJobs is the number of jobs that are left out.
	LostJobs int

	counts map[string]int
	first  map[string]string
	loses  map[string]bool
}

// Add counts a mend. The argument place is the place of the defect in the file,
// such as "byte 17" or "line 3"; about names the job, the value or the reason.
// If the Log is strict, Add returns an error instead.
func (l *Log) Add(k Kind, place, about string) error {
	if l.Strict {
		return fmt.Errorf("%s: %s: %s: %s; without --strict it is %s", l.File, place, about, k.Wrong, k.Done)
	}
	if l.counts == nil {
		l.counts, l.first, l.loses = map[string]int{}, map[string]string{}, map[string]bool{}
	}
	if k.Loses == Job {
		l.LostJobs++
	}
	name := k.String()
	if l.counts[name] == 0 {
		l.loses[name] = k.Loses != Nothing
		l.first[name] = l.File + ": " + place + ": " + about
	}
	l.counts[name]++
	return nil
}

// Counts returns the number of mends of each kind; nil if there are none.
func (l *Log) Counts() map[string]int { return l.counts }

// Loses reports whether mends of a kind leave something out.
func (l *Log) Loses(kind string) bool { return l.loses[kind] }

// First returns where the first mend of a kind was made: the file, the place in
// the file, and the job or value.
func (l *Log) First(kind string) string { return l.first[kind] }
