package agent

import (
	"fmt"
	"strconv"
	"strings"
	"sync"

	"heddle/collectors/node"
)

const (
	// maxKept bounds memory to 200 MB: a sample takes 2 KB with ten devices.
	maxKept = 100_000
	// maxPage bounds one answer.
	maxPage = 1000
)

// Cursor marks a place in an agent's samples. Use what a Page gave, or one of
// the constants.
type Cursor string

const (
	// FromOldest is before the oldest sample that the agent still has.
	FromOldest Cursor = ""
	// FromNow is after the newest sample.
	FromNow Cursor = "now"
)

// Page is an agent's samples after a cursor.
type Page struct {
	// Samples are in order; at most 1000.
	Samples []node.Sample `json:"samples"`
	// Next is the cursor for the samples after these.
	Next Cursor `json:"next"`
	// More is whether there are such already.
	More bool `json:"more"`
	// Lost counts samples after the cursor that were overwritten.
	Lost uint64 `json:"lost"`
	// Restarted is whether the cursor came from an earlier run of the agent:
	// what that run had after the cursor is gone, and not in Lost.
	Restarted bool `json:"restarted"`
}

// ring keeps the last samples, whose Seq counts up from 1 without gaps.
type ring struct {
	mu    sync.Mutex
	epoch int64 // tells this run's cursors from an earlier run's
	size  int
	kept  []node.Sample // a sample is at (Seq-1) % size
	last  uint64        // Seq of the newest, 0 before the first
}

func newRing(size int, epoch int64) *ring {
	return &ring{size: max(size, 1), epoch: epoch}
}

func (r *ring) add(s node.Sample) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.kept) < r.size {
		r.kept = append(r.kept, s)
	} else {
		r.kept[int((s.Seq-1)%uint64(r.size))] = s
	}
	r.last = s.Seq
}

// since returns at most limit samples after the cursor.
func (r *ring) since(after Cursor, limit int) (Page, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	oldest := r.last - uint64(len(r.kept)) + 1 // last+1 while empty
	p := Page{Samples: []node.Sample{}}
	from := oldest // Seq of the first sample to give
	switch after {
	case FromOldest:
	case FromNow:
		from = r.last + 1
	default:
		epoch, seq, err := after.parse()
		if err != nil {
			return p, err
		}
		switch {
		case epoch != r.epoch:
			p.Restarted = true
		case seq > r.last:
			return p, fmt.Errorf("cursor %q is of a sample yet to come", after)
		default:
			from = max(seq+1, oldest)
			p.Lost = from - (seq + 1)
		}
	}
	for seq := from; seq <= r.last && len(p.Samples) < limit; seq++ {
		p.Samples = append(p.Samples, r.kept[int((seq-1)%uint64(r.size))])
	}
	end := from + uint64(len(p.Samples)) - 1
	p.More = end < r.last
	p.Next = Cursor(strconv.FormatInt(r.epoch, 36) + "." + strconv.FormatUint(end, 10))
	return p, nil
}

func (c Cursor) parse() (epoch int64, seq uint64, err error) {
	left, right, _ := strings.Cut(string(c), ".")
	epoch, err = strconv.ParseInt(left, 36, 64)
	if err == nil {
		seq, err = strconv.ParseUint(right, 10, 64)
	}
	if err != nil {
		return 0, 0, fmt.Errorf("cursor %.40q: want %q, or one that an earlier answer gave as next", string(c), FromNow)
	}
	return epoch, seq, nil
}
