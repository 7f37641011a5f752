package traces

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"hash"
)

// ScheduleDigest is a hash of a schedule. Two runs with the same hash started
// and ended the same attempts on the same nodes at the same times.
//
// It is the sum, modulo 2^64, of one hash for each launched attempt, computed
// from its task, attempt number, node, start time and end time. A sum does not
// depend on the order of the attempts, so they need not be sorted. FORMAT.md
// defines the hash.
type ScheduleDigest uint64

// NoEnd is used as the end time of an attempt that was still running when the
// trace ended.
const NoEnd Time = -1

// Add adds a launched attempt to the hash of the schedule. For an attempt that
// is still running, the argument end must be NoEnd.
func (d *ScheduleDigest) Add(a Attempt, node Node, start, end Time) {
	d.AddHashed(HashName(string(a.Job)), a.Kind, a.Index, a.Number, HashName(string(node)), start, end)
}

// AddHashed does the same as Add, for callers that have already computed the
// hashes of the job's id and of the node's name with HashName.
func (d *ScheduleDigest) AddHashed(job uint64, kind TaskKind, index, number int32, node uint64, start, end Time) {
	h := Mix(job)
	h = Mix(h ^ (uint64(kind)<<32 | uint64(uint32(index))))
	h = Mix(h ^ uint64(uint32(number)))
	h = Mix(h ^ node)
	h = Mix(h ^ uint64(start))
	h = Mix(h ^ uint64(end))
	*d += ScheduleDigest(h)
}

// String returns the hash in 16 hexadecimal digits.
func (d ScheduleDigest) String() string { return fmt.Sprintf("%016x", uint64(d)) }

// HashName returns the 64-bit FNV-1a hash of a name, such as a job's id or a
// node's name.
func HashName(name string) uint64 {
	h := uint64(14695981039346656037)
	for i := range len(name) {
		h = (h ^ uint64(name[i])) * 1099511628211
	}
	return h
}

// Mix turns a number into 64 bits that look random, for hashes and random
// numbers: the output of the random number generator splitmix64 in the state x.
func Mix(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// Schedule computes the ScheduleDigest of a run from its events. The zero value
// of Schedule is ready for use.
type Schedule struct {
	digest ScheduleDigest
	// open has the attempts for which Add was called once so far: with the event
	// of the start or with that of the end, but not with both.
	open map[Attempt]half
}

type half struct {
	node  Node
	t     Time
	ended bool
}

// Add adds an event of the run to the schedule. The event of an attempt's end
// may be added before that of its start.
func (s *Schedule) Add(e Event) {
	switch e := e.(type) {
	case *AttemptStarted:
		if !s.AddEnded(e) {
			s.put(e.Attempt, half{node: e.Node, t: e.T})
		}
	case *AttemptFinished:
		if e.Unlaunched {
			return
		}
		if h, ok := s.open[e.Attempt]; ok && !h.ended {
			s.digest.Add(e.Attempt, h.node, h.t, e.T)
			delete(s.open, e.Attempt)
			return
		}
		s.put(e.Attempt, half{t: e.T, ended: true})
	}
}

// AddEnded adds the start of an attempt if its end was added before. It reports whether it was.
func (s *Schedule) AddEnded(e *AttemptStarted) bool {
	h, ok := s.open[e.Attempt]
	if !ok || !h.ended {
		return false
	}
	s.digest.Add(e.Attempt, e.Node, e.T, h.t)
	delete(s.open, e.Attempt)
	return true
}

// Include adds attempts whose hashes were summed up elsewhere.
func (s *Schedule) Include(d ScheduleDigest) { s.digest += d }

func (s *Schedule) put(a Attempt, h half) {
	if s.open == nil {
		s.open = map[Attempt]half{}
	}
	s.open[a] = h
}

// Digest returns the hash of the schedule, computed from the events added so
// far. Attempts that are still running get NoEnd as their end time.
func (s *Schedule) Digest() ScheduleDigest {
	d := s.digest
	for a, h := range s.open {
		if !h.ended {
			d.Add(a, h.node, h.t, NoEnd)
		}
	}
	return d
}

// TraceDigest is the SHA-256 of a trace's events, in the order of the trace and
// in a canonical form that FORMAT.md defines. The header is left out, so that
// equal events give equal hashes, whichever program wrote the trace. What a model saw
// (Decision.Seen) is left out too, so that a run has the same hash whether or not that was
// recorded.
type TraceDigest struct {
	hash  hash.Hash
	buf   []byte
	blind Decision // copy of a decision, without what the model saw
}

// NewTraceDigest returns a TraceDigest to which no event has been added.
func NewTraceDigest() *TraceDigest {
	return &TraceDigest{hash: sha256.New(), buf: make([]byte, 0, 1<<15)}
}

// Add adds the next event of the trace to the hash.
func (d *TraceDigest) Add(e Event) {
	if x, ok := e.(*Decision); ok && x.Seen != nil {
		d.blind = *x
		d.blind.Seen = nil
		e = &d.blind
	}
	w := Encoder{Stored: append(d.buf, byte(e.Kind()))}
	w.Event(e)
	d.took(w.Stored)
}

// Encode does what w.Event and Add do, in less time.
func (d *TraceDigest) Encode(e Event, w *Encoder) {
	if x, ok := e.(*Decision); ok && x.Seen != nil {
		w.Event(e)
		d.Add(e)
		return
	}
	w.plain = append(d.buf, byte(e.Kind()))
	w.Event(e)
	d.took(w.plain)
	w.plain = nil
}

func (d *TraceDigest) took(buf []byte) {
	if len(buf) > 1<<14 {
		d.hash.Write(buf)
		buf = buf[:0]
	}
	d.buf = buf
}

// String returns "sha256:" and the hash of the events so far in hexadecimal
// digits. More events may be added afterwards.
func (d *TraceDigest) String() string {
	d.hash.Write(d.buf)
	d.buf = d.buf[:0]
	return "sha256:" + hex.EncodeToString(d.hash.Sum(nil))
}
