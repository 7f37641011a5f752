// Package mend records the defects that an import finds in its input files, such
// as an impossible time, an id that appears twice or a damaged record.
//
// A mend is a defect together with what the import did about it: "a negative
// time: taken as unknown". A Log counts the mends by kind, and keeps the place
// of the first mend of each kind. A strict Log returns an error for each defect.
package mend

import (
	"fmt"
	"strings"
)

// Kind is a kind of mend: a defect of an input file and what the import does about it,
// such as "a negative time: taken as unknown". At its end stands what that leaves out:
// " (job)" for one job, " (part)" for a part of a job or jobs of which the number is not
// known.
type Kind string

// Parts returns the defect, what is done about it, and what that leaves out.
func (k Kind) Parts() (wrong, done, loses string) {
	wrong, done, _ = strings.Cut(string(k), ": ")
	done, loses, _ = strings.Cut(done, " (")
	return wrong, done, loses
}

func (k Kind) String() string {
	wrong, done, _ := k.Parts()
	return wrong + ": " + done
}

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
	wrong, done, loses := k.Parts()
	if l.Strict {
		return fmt.Errorf("%s: %s: %s: %s; without --strict it is %s", l.File, place, about, wrong, done)
	}
	if l.counts == nil {
		l.counts, l.first, l.loses = map[string]int{}, map[string]string{}, map[string]bool{}
	}
	if loses == "job)" {
		l.LostJobs++
	}
	name := k.String()
	if l.counts[name] == 0 {
		l.loses[name] = loses != ""
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
