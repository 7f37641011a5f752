package traces

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"hash"
	"math"
)

// ScheduleDigest identifies a schedule: two runs with the same digest started
// and ended the same attempts on the same nodes at the same times.
//
// It is the sum, modulo 2^64, of one hash per launched attempt, over its task,
// number, node, start and end. The order of the attempts does not matter, so
// that no schedule has to be sorted for it. FORMAT.md defines the hash.
type ScheduleDigest uint64

// NoEnd is the end of an attempt that was still running when the trace ended.
const NoEnd Time = -1

// Add adds an attempt. The end of a running attempt is NoEnd.
func (d *ScheduleDigest) Add(a Attempt, node Node, start, end Time) {
	d.AddHashed(HashName(string(a.Job)), a.Kind, a.Index, a.Number, HashName(string(node)), start, end)
}

// AddHashed is Add for callers that have the HashName of the job and the node.
func (d *ScheduleDigest) AddHashed(job uint64, kind TaskKind, index, number int32, node uint64, start, end Time) {
	h := Mix(job)
	h = Mix(h ^ (uint64(kind)<<32 | uint64(uint32(index))))
	h = Mix(h ^ uint64(uint32(number)))
	h = Mix(h ^ node)
	h = Mix(h ^ uint64(start))
	h = Mix(h ^ uint64(end))
	*d += ScheduleDigest(h)
}

// String is the digest in 16 hexadecimal digits.
func (d ScheduleDigest) String() string { return fmt.Sprintf("%016x", uint64(d)) }

// HashName is the 64-bit FNV-1a hash of a name.
func HashName(name string) uint64 {
	h := uint64(14695981039346656037)
	for i := range len(name) {
		h = (h ^ uint64(name[i])) * 1099511628211
	}
	return h
}

// Mix is the finalizer of splitmix64 after adding its constant: it spreads a
// number over 64 bits.
func Mix(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// Schedule computes the ScheduleDigest of a run from its events. The zero
// Schedule is ready for use.
type Schedule struct {
	digest ScheduleDigest
	// open has the attempts of which only the start or only the end was added.
	open map[Attempt]half
}

type half struct {
	node  Node
	t     Time
	ended bool
}

// Add adds an event. An attempt's end may come before its start.
func (s *Schedule) Add(e Event) {
	switch e := e.(type) {
	case *AttemptStarted:
		if h, ok := s.open[e.Attempt]; ok && h.ended {
			s.digest.Add(e.Attempt, e.Node, e.T, h.t)
			delete(s.open, e.Attempt)
			return
		}
		s.put(e.Attempt, half{node: e.Node, t: e.T})
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

func (s *Schedule) put(a Attempt, h half) {
	if s.open == nil {
		s.open = map[Attempt]half{}
	}
	s.open[a] = h
}

// Digest returns the digest of the events so far. Attempts that still run have
// the end NoEnd.
func (s *Schedule) Digest() ScheduleDigest {
	d := s.digest
	for a, h := range s.open {
		if !h.ended {
			d.Add(a, h.node, h.t, NoEnd)
		}
	}
	return d
}

// TraceDigest identifies a trace's events: it is the SHA-256 of their canonical
// form, in their order. The header is left out, so that equal events have equal
// digests, whichever program wrote them. FORMAT.md defines the canonical form.
type TraceDigest struct {
	hash hash.Hash
	buf  canonical
}

// NewTraceDigest returns the digest of no events.
func NewTraceDigest() *TraceDigest {
	return &TraceDigest{hash: sha256.New(), buf: make([]byte, 0, 1<<15)}
}

// Add adds the next event.
func (d *TraceDigest) Add(e Event) {
	d.buf = append(d.buf, byte(e.Kind()))
	e.Fields(&d.buf)
	if len(d.buf) > 1<<14 {
		d.hash.Write(d.buf)
		d.buf = d.buf[:0]
	}
}

// String returns "sha256:" and the digest in hexadecimal digits. Events may be
// added afterwards.
func (d *TraceDigest) String() string {
	d.hash.Write(d.buf)
	d.buf = d.buf[:0]
	return "sha256:" + hex.EncodeToString(d.hash.Sum(nil))
}

// canonical is the Visitor that appends an event's canonical bytes. They are
// those of the file, except that T is no difference and that names are written
// out in place of their numbers.
type canonical []byte

func (c *canonical) When(t *Time)     { *c = binary.AppendVarint(*c, int64(*t)) }
func (c *canonical) Time(t *Time)     { *c = binary.AppendVarint(*c, int64(*t)) }
func (c *canonical) Int64(n *int64)   { *c = binary.AppendVarint(*c, *n) }
func (c *canonical) Int32(n *int32)   { *c = binary.AppendVarint(*c, int64(*n)) }
func (c *canonical) Uint64(n *uint64) { *c = binary.AppendUvarint(*c, *n) }
func (c *canonical) Uint8(n *uint8)   { *c = append(*c, *n) }
func (c *canonical) Name(s *string)   { c.text(*s) }
func (c *canonical) Text(s *string)   { c.text(*s) }
func (c *canonical) length(n int)     { *c = binary.AppendUvarint(*c, uint64(n)) }
func (c *canonical) text(s string)    { c.length(len(s)); *c = append(*c, s...) }
func (c *canonical) Float64(f *float64) {
	*c = binary.LittleEndian.AppendUint64(*c, math.Float64bits(*f))
}

func (c *canonical) Bool(b *bool) {
	if *b {
		*c = append(*c, 1)
	} else {
		*c = append(*c, 0)
	}
}

func (c *canonical) Nodes(nodes *[]Node) {
	c.length(len(*nodes))
	for _, n := range *nodes {
		c.text(string(n))
	}
}

func (c *canonical) Blocks(blocks *[]Block) {
	c.length(len(*blocks))
	for _, b := range *blocks {
		*c = binary.AppendUvarint(*c, uint64(b))
	}
}
